"""Designs: which trials a session or a data set has, in which order. Everything follows from the
design and one seed.

Practice and worked examples have the levels that the session uses. What the file wishes for practice
(``practice: factors``) holds, unless it is about a factor whose levels were chosen for the session
(``--set``, a study's ``set``): these are the experimenter's, and practice keeps to them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from ..core.errors import SpanLabError
from ..core.json_values import grouped, in_a_list, is_number
from ..core.registry import nearest
from .balance import balanced, replaced_seed
from .compile import DEFAULT_INTERVAL_MS, MAX_SESSION_TRIALS, PlannedTrial, resolve_levels
from .identity import stream, trial_seed
from .language.diagnostics import listed, show
from .language.schema import Adaptive, DatasetDesign, SessionDesign, Uniform
from .paradigm import Generator, Paradigm, same_level

#: whole orders are tried so often, of long sessions less often; then orders are grown
_SHUFFLES, _SHUFFLE_WORK, _GROWN = 2000, 1_000_000, 20

#: replacements that keep their answers: number of the first seed, attempts and seeds for each, and
#: for how many trials there is room
_KEEPING, _ATTEMPTS, _KEEPING_TRIES = 2**29, 32, 2048
_KEEPING_TRIALS = 2**29 // (_ATTEMPTS * _KEEPING_TRIES)

Split = Literal["train", "validation", "test"]


def session_design(paradigm: Paradigm, name: str | None = None) -> SessionDesign:
    """A named session design; ``human`` when none is named, and one trial of each combination when
    the paradigm has none.

    Raises
    ------
    SpanLabError
        when there is no such design, or it is a data set.
    """
    if name is None and "human" not in paradigm.designs:
        return SessionDesign()
    design = paradigm.designs.get(name or "human")
    if design is None:
        raise SpanLabError(
            f"{paradigm.name} has no design '{name}'{nearest(name, paradigm.designs)}; there are"
            f" {', '.join(paradigm.designs) or 'none'}"
        )
    if isinstance(design, DatasetDesign):
        raise SpanLabError(
            f"the design '{name}' of {paradigm.name} is a data set for networks, not a session for people"
        )
    return design


def plan_session(
    paradigm: Paradigm,
    seed: int,
    design: SessionDesign | str | None = None,
    levels: Mapping[str, Any] | None = None,
    trials: int | None = None,
    generator: Generator = "corrected",
) -> list[PlannedTrial]:
    """The trials of a session.

    Parameters
    ----------
    seed : of the session
    design : a session design, or the name of one of the paradigm's; ``human``, or one trial of each
        combination where there is none, when not given
    levels : levels to use for some factors: one level or a list of them
    trials : how many trials instead of the design's repetitions: shared out over the combinations
        as evenly as possible
    generator : of the session's trials; where the design balances answers, they depend on it

    Raises
    ------
    BalanceError
        when the design asks for a balance of answers that cannot be had.
    SpanLabError
        for unknown factors or levels, or when the design leaves no trials or asks for an impossible
        order.
    """
    if trials is not None and (isinstance(trials, bool) or not isinstance(trials, int)):
        raise SpanLabError(f"the number of trials is a whole number, 1 or more; found {show(trials)}")
    if trials is not None and trials < 1:
        raise SpanLabError(f"a session has at least one trial; found {show(trials)}")
    design = design if isinstance(design, SessionDesign) else session_design(paradigm, design)
    combinations = combinations_of(paradigm, design, levels)
    random = stream(paradigm.name, seed, "design")
    if design.adaptive is not None:
        return _adaptive(paradigm, seed, design, design.adaptive, levels or {}, combinations, trials)
    blocks = design.blocks if trials is None else 1
    weights = paradigm.weights(combinations)
    if trials is None:
        shares = [design.repetitions * weight for weight in weights]
    else:
        # What is left goes to the combinations that lack most of their share; among equals it is
        # drawn, so that none is favoured over many sessions.
        shares = [trials * weight // sum(weights) for weight in weights]
        lacking = sorted(random.permutation(len(weights)), key=lambda n: -(trials * weights[n] % sum(weights)))
        for n in lacking[: trials - sum(shares)]:
            shares[n] += 1
    many = sum(shares) * blocks
    if many > MAX_SESSION_TRIALS:
        raise SpanLabError(f"{paradigm.name}: a session of {many} trials; at most {MAX_SESSION_TRIALS} are possible")
    pools: list[list[dict[str, Any]]] = []
    for _ in range(blocks):
        for group in _groups(combinations, design.blocked_by, design.block_order, random):
            pool = [combinations[n] for turn in range(max(shares)) for n in group if turn < shares[n]]
            pools.append(
                pool
                if design.order == "fixed" or not pool
                else _shuffled(pool, random, design.run_of_levels, paradigm.name)
            )
    planned: list[PlannedTrial] = []
    for block, pool in enumerate((pool for pool in pools if pool), start=1):
        for combination in pool:
            index = len(planned)
            interval = _interval(design, random)
            planned.append(
                PlannedTrial(block, index + 1, combination, trial_seed("session", seed, index), interval_ms=interval)
            )
    return balanced(paradigm, seed, design, planned, generator) if planned and design.chooses else planned


def _adaptive(
    paradigm: Paradigm,
    seed: int,
    design: SessionDesign,
    adaptive: Adaptive,
    levels: Mapping[str, Any],
    combinations: Sequence[dict[str, Any]],
    trials: int | None,
) -> list[PlannedTrial]:
    """As many trials as an adaptive session may have, all at the level of the first one."""
    if adaptive.factor in levels:
        raise SpanLabError(
            f"{paradigm.name}: this design is adaptive and chooses {adaptive.factor} itself: leave out {{levels}}"
            f" {adaptive.factor}",
            names=["levels"],
        )
    others, stairs = _stairs_of(paradigm, combinations, adaptive)
    many = (
        adaptive.trials
        if adaptive.rule == "staircase"
        else adaptive.lists * (len(stairs) - stairs.index(adaptive.start))
    )
    random = stream(paradigm.name, seed, "design")
    first = {**others, adaptive.factor: adaptive.start}
    return [
        PlannedTrial(
            1,
            n + 1,
            first,
            trial_seed("session", seed, n),
            interval_ms=_interval(design, random),
            varies=adaptive.factor,
        )
        for n in range(many if trials is None else trials)
    ]


def staircase_rule(paradigm: Paradigm, design: str, planned: Sequence[PlannedTrial]) -> dict[str, Any] | None:
    """Describe how the levels of planned trials are decided, for the record of a session; None if
    they are fixed already.

    Parameters
    ----------
    design : the name of the design by which the trials were planned

    Raises
    ------
    SpanLabError
        when that design does not decide what the trials leave open.
    """
    varies = {trial.varies for trial in planned}
    if varies == {""}:
        return None
    chosen = paradigm.designs.get(design)
    adaptive = chosen.adaptive if isinstance(chosen, SessionDesign) else None
    if adaptive is None or varies != {adaptive.factor}:
        raise SpanLabError(
            f"{paradigm.name}: these trials leave {', '.join(sorted(varies - {''}))} open, and the design '{design}'"
            " does not decide it"
        )
    assert isinstance(chosen, SessionDesign)
    fixed = {name: level for name, level in planned[0].levels.items() if name != adaptive.factor}
    _, stairs = _stairs_of(paradigm, combinations_of(paradigm, chosen, fixed), adaptive)
    return adaptive.to_record(len(planned), stairs)


def plan_practice(
    paradigm: Paradigm, seed: int, round_: int = 1, levels: Sequence[Mapping[str, Any]] | None = None
) -> list[PlannedTrial]:
    """The practice trials of one round (rounds count from 1); empty when the paradigm has no
    practice.

    Parameters
    ----------
    levels : the combinations of factor levels to draw from
        (:func:`practice_levels`); all that fit the file's wishes when not given
    """
    practice = paradigm.practice
    if practice is None:
        return []
    combinations = paradigm.combinations(practice.factors) if levels is None else levels
    weighted = zip(combinations, paradigm.weights(combinations), strict=True)
    combinations = [combination for combination, weight in weighted for _ in range(weight)]
    random = stream(paradigm.name, seed, f"practice:{round_}")
    start = (round_ - 1) * practice.trials
    chosen = [combinations[int(random.randint(len(combinations)))] for _ in range(practice.trials)]
    return [
        PlannedTrial(round_, start + n + 1, combination, trial_seed("practice", seed, start + n), practice=True)
        for n, combination in enumerate(chosen)
    ]


def replacement(
    paradigm: Paradigm,
    planned: PlannedTrial,
    seed: int,
    attempt: int,
    design: SessionDesign | None = None,
    generator: Generator = "corrected",
) -> PlannedTrial:
    """Plan the trial that replaces an interrupted one: the same levels of all factors, random ones
    too, with other stimuli; and the same answers, where the design balances them or limits their
    runs. Where trials have so many questions that no other has these answers, the answers are
    others.

    A trial whose draws are given cannot be drawn anew, and comes again as it is.

    Parameters
    ----------
    seed : of the session
    attempt : the number of the attempt, from 2
    design : by which the session was planned
    generator : of the session's trials
    """
    if planned.draws is not None:
        return planned
    place = (attempt - 2) * 2 + planned.practice
    levels = resolve_levels(paradigm, planned.levels, planned.seed)
    new_seed = None
    if design is not None and design.of_answers and not planned.practice:
        new_seed = replaced_seed(
            paradigm, design, levels, planned, generator, _candidates(seed, planned.trial, attempt)
        )
    if new_seed is None:
        new_seed = trial_seed("replacement", seed, place * MAX_SESSION_TRIALS + planned.trial - 1)
    return replace(planned, levels=levels, seed=new_seed)


def _candidates(seed: int, trial: int, attempt: int) -> Iterator[int]:
    """Seeds for a replacement that is to have certain answers. Their numbers lie above those of
    replacements that need none, and no two trials or attempts share one."""
    first = _KEEPING + ((trial - 1) * _ATTEMPTS + attempt - 2) * _KEEPING_TRIES
    room = trial <= _KEEPING_TRIALS and attempt - 2 < _ATTEMPTS
    return (trial_seed("replacement", seed, first + n) for n in range(_KEEPING_TRIES if room else 0))


def plan_dataset(
    paradigm: Paradigm, seed: int, split: Split, count: int, restrict: Mapping[str, Any] | None = None, start: int = 0
) -> Iterator[PlannedTrial]:
    """``count`` trials of one split of a data set, from number ``start`` on, going round the
    combinations so that each has the same share.

    Splits come from streams of seeds that cannot overlap (:func:`..identity.trial_seed`).

    Raises
    ------
    SpanLabError
        for an unknown split, factor or level, and for a seed that is none.
    """
    if split not in get_args(Split):
        raise SpanLabError(f"there is no split {split!r}; there are {listed(get_args(Split))}")
    combinations = paradigm.combinations(restrict)
    for index in range(start, start + count):
        yield PlannedTrial(1, index + 1, combinations[index % len(combinations)], trial_seed(split, seed, index))


def combinations_of(
    paradigm: Paradigm, design: SessionDesign, levels: Mapping[str, Any] | None
) -> list[dict[str, Any]]:
    """The combinations of factor levels that a design leaves; ``levels`` are those chosen for some
    factors.

    Raises
    ------
    SpanLabError
        for unknown factors or levels, or when none is left.
    """
    combinations = [
        combination
        for combination in paradigm.combinations({**design.factors, **(levels or {})})
        if not any(
            same_level(combination.get(name), held) is not None
            for name, held in design.hold_out.items()
            if name not in (levels or {})
        )
    ]
    if not combinations:
        raise SpanLabError(f"{paradigm.name}: the design leaves no factor levels to run")
    return combinations


def _groups(
    combinations: Sequence[dict[str, Any]], blocked_by: Sequence[str], order: str, random: np.random.RandomState
) -> list[list[int]]:
    """The combinations (by number) that share a block; blocks in random order, or in that of the
    levels."""
    if not blocked_by:
        return [list(range(len(combinations)))]
    groups = grouped(
        (tuple(combination.get(name) for name in blocked_by), n) for n, combination in enumerate(combinations)
    )
    ordered = list(groups.values())
    drawn = [ordered[n] for n in random.permutation(len(ordered))]
    return ordered if order == "fixed" else drawn


def _shuffled(
    pool: list[dict[str, Any]], random: np.random.RandomState, max_run: int | None, name: str
) -> list[dict[str, Any]]:
    """A random order without a run of the same levels longer than ``max_run``: uniform among them
    where such orders are common, else grown trial by trial. Trials that all have the same levels
    are one run by necessity: no limit can be meant for them."""
    limit = None if all(levels == pool[0] for levels in pool) else max_run
    for _ in range(min(_SHUFFLES, 1 + _SHUFFLE_WORK // len(pool))):
        order = [pool[n] for n in random.permutation(len(pool))]
        if limit is None or all(sum(1 for _ in run) <= limit for _, run in itertools.groupby(order)):
            return order
    assert limit is not None
    for _ in range(_GROWN):
        order = _grown(pool, random, limit)
        if order is not None:
            return order
    raise SpanLabError(
        f"{name}: no order with at most {max_run} trials of the same levels in a row was found; allow longer runs, or"
        " run more levels"
    )


def _grown(pool: Sequence[dict[str, Any]], random: np.random.RandomState, limit: int) -> list[dict[str, Any]] | None:
    """An order in which each trial is drawn from those left, save the levels whose run is as long
    as it may be; None when that leads nowhere."""
    kinds: list[dict[str, Any]] = []
    left: list[int] = []
    for levels in pool:
        if levels not in kinds:
            kinds.append(levels)
            left.append(0)
        left[kinds.index(levels)] += 1
    order: list[dict[str, Any]] = []
    last, run = -1, 0
    for _ in pool:
        weights = np.array([0 if kind == last and run == limit else count for kind, count in enumerate(left)])
        if not weights.any():
            return None
        kind = int(np.searchsorted(np.cumsum(weights), int(random.randint(weights.sum())), side="right"))
        left[kind] -= 1
        last, run = kind, run + 1 if kind == last else 1
        order.append(kinds[kind])
    return order


def _interval(design: SessionDesign, random: np.random.RandomState) -> float:
    interval = design.interval
    if isinstance(interval, Uniform):
        low, high = interval.uniform
        return round(low + (high - low) * float(random.random_sample()), 3)
    return DEFAULT_INTERVAL_MS if interval is None else float(interval)


def _stairs_of(
    paradigm: Paradigm, combinations: Sequence[Mapping[str, Any]], adaptive: Adaptive
) -> tuple[dict[str, Any], list[int | float]]:
    """Return the factors that stay the same in all trials, and the levels in use, from easy to hard:
    in the order of the file.

    Parameters
    ----------
    combinations : of factor levels that the design leaves

    Raises
    ------
    SpanLabError
        when another factor has several levels, a level is not a number, or the first trial's is not
        in use.
    """
    name, factor = paradigm.name, adaptive.factor
    several = [
        other
        for other in combinations[0]
        if other != factor and any(combination[other] != combinations[0][other] for combination in combinations)
    ]
    if several:
        raise SpanLabError(
            f"{name}: an adaptive design moves one factor ({factor}), so {listed(several)} must have one level: give it"
            " in the design, or by {levels}",
            names=["levels"],
        )
    # of a factor that is drawn for each trial, none is
    in_use = [combination[factor] for combination in combinations if factor in combination]
    stairs = [level for level in paradigm.factors[factor].levels if same_level(level, in_use) is not None]
    if not all(map(is_number, stairs)):
        raise SpanLabError(
            f"{name}: the levels of an adaptive factor are numbers; those of {factor} are {listed(stairs)}"
        )
    if adaptive.start not in stairs:
        raise SpanLabError(
            f"{name}: an adaptive design begins at one of the levels in use ({listed(stairs) or 'none'}); found"
            f" {show(adaptive.start)}"
        )
    return {key: value for key, value in combinations[0].items() if key != factor}, stairs


@dataclass(frozen=True, slots=True)
class LevelsInUse:
    """The levels of a session.

    Parameters
    ----------
    paradigm : whose levels they are
    combinations : of crossed factors; in an adaptive session, those of the first trial
    chosen : for the factors whose levels were chosen for this session, these levels
    """

    paradigm: Paradigm
    combinations: tuple[Mapping[str, Any], ...]
    chosen: Mapping[str, Sequence[Any]]

    def first(self, factor: str) -> Any:
        """A level to begin with: the first one in use."""
        return self.combinations[0].get(factor, self.paradigm.factors[factor].levels[0])

    def fitting(self, factor: str, wish: Any) -> Any:
        """The level that comes nearest to a wish of the file: the wish itself, unless other levels
        were chosen. Of numbers that is the next one above, or else the highest; where levels are
        words, None: any level in use will do."""
        wish = self.paradigm.level(factor, wish)
        if factor not in self.chosen or same_level(wish, self.chosen[factor]) is not None:
            return wish
        numbers = [level for level in self.chosen[factor] if is_number(level)]
        if not numbers or not is_number(wish):
            return None
        return min((level for level in numbers if level >= wish), default=max(numbers))


def levels_in_use(paradigm: Paradigm, design: SessionDesign, chosen: Mapping[str, Any]) -> LevelsInUse:
    """The levels of a session.

    Parameters
    ----------
    design : of the session
    chosen : levels of some factors that were chosen for this session: one level or a list of them

    Raises
    ------
    SpanLabError
        for unknown factors or levels.
    """
    chosen_levels = {
        name: [paradigm.level(name, level) for level in in_a_list(value)] for name, value in chosen.items()
    }
    combinations = combinations_of(paradigm, design, chosen_levels)
    if design.adaptive is not None:
        factor, start = design.adaptive.factor, design.adaptive.start
        combinations = _different({**combination, factor: start} for combination in combinations)
    return LevelsInUse(paradigm, tuple(combinations), chosen_levels)


def chosen_levels(paradigm: Paradigm, design: SessionDesign, plan: Sequence[PlannedTrial]) -> dict[str, list[Any]]:
    """The levels that a plan keeps to although its design has more, by factor: as good as chosen,
    where nobody says what was. A plan with fewer trials than the design has combinations cannot
    have all levels, and tells nothing of those that it lacks."""
    usual = combinations_of(paradigm, design, None)
    chosen: dict[str, list[Any]] = {}
    for name, factor in paradigm.factors.items():
        planned = [
            level
            for level in factor.levels
            if any(same_level(level, [trial.levels[name]]) is not None for trial in plan if name in trial.levels)
        ]
        by_design = [
            level
            for level in factor.levels
            if any(
                name not in combination or same_level(level, [combination[name]]) is not None for combination in usual
            )
        ]
        tells = len(plan) >= len(usual) or name not in usual[0]
        if tells and planned and len(planned) < len(by_design) and not any(trial.varies == name for trial in plan):
            chosen[name] = planned
    return chosen


def practice_levels(use: LevelsInUse) -> list[dict[str, Any]]:
    """The combinations of levels from which practice trials are drawn; empty when the paradigm has
    no practice."""
    practice = use.paradigm.practice
    if practice is None:
        return []
    wishes = {name: use.fitting(name, wish) for name, wish in practice.factors.items()}
    held = {name: level for name, level in wishes.items() if level is not None}
    return _different(
        {name: {**combination, **held}[name] for name in use.paradigm.factors if name in combination or name in held}
        for combination in use.combinations
    )


def _different(combinations: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    different: list[dict[str, Any]] = []
    for combination in combinations:
        if combination not in different:
            different.append(combination)
    return different
