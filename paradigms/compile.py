"""The compiler: (paradigm, factor levels, seed, generator) to a trial.

Factor levels are resolved, values are drawn, and the timeline is unrolled into steps. Each draw has a
random stream of its own, or is given (in trials that come from elsewhere). What a session compiles are
the trials that its design has planned (:class:`PlannedTrial`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.errors import ParadigmError, Problem, SpanLabError
from ..core.json_values import is_whole, weigh
from ..core.registry import nearest
from .identity import lent_stream, stream_of, trial_id, trial_root
from .language.diagnostics import listed, show
from .language.expressions import start_trial
from .language.timeline import MAX_STEPS, StepSpec
from .paradigm import GENERATORS, Draw, Draws, Generator, GivenDrawError, Paradigm
from .trial import Step, Trial

#: the largest seed of a trial
_MAX_SEED = 2**63 - 1
MAX_SESSION_TRIALS = 1_000_000
#: ms between trials, for people, when a design says nothing (ours)
DEFAULT_INTERVAL_MS = 1000.0
#: how many trials a paradigm keeps; the largest sessions of people have fewer
KEPT_TRIALS = 1024


def compile_trial(
    paradigm: Paradigm,
    levels: Mapping[str, Any] | None = None,
    seed: int = 0,
    generator: Generator = "corrected",
    draws: Draws | None = None,
) -> Trial:
    """Compile one trial: the same on every machine, for every agent, forever.

    Parameters
    ----------
    paradigm : a loaded paradigm
    levels : a level for every crossed factor; random factors may be given or are drawn
    seed : 0 ... 2**63 - 1
    generator : ``corrected`` or ``published``
    draws : values to use instead of drawing them, by name, for trials that come from elsewhere; what is not among
        them, and uniform durations, come from the seed.

    Raises
    ------
    SpanLabError
        for wrong levels, seed, generator or given draws.
    ParadigmError
        when the file cannot be filled in for these levels; with file, line and key.

    Examples
    --------
    >>> trial = spanlab.compile_trial(spanlab.load_paradigm("vsr"), {"list_length": 3}, seed=1)
    >>> len(trial.steps)
    6
    """
    resolved = resolve_levels(paradigm, levels, seed)
    try:
        env = drawn_names(paradigm, resolved, seed, generator, draws)
        sizes = {key: _size(paradigm, key, env, resolved) for key in ("set_size", "list_length")}
        steps = _unroll(paradigm, env, trial_root(paradigm.name, seed, resolved), {**resolved, **sizes})
    except ParadigmError as error:
        at = [*(f"{name} = {level}" for name, level in resolved.items()), f"seed {seed}"]
        context = f" (with {', '.join(at)}{'' if draws is None else ', draws given'})"
        raise ParadigmError(
            [Problem(problem.where, problem.key, problem.message + context) for problem in error.problems]
        ) from None
    return Trial(
        paradigm=paradigm.name,
        version=paradigm.version,
        generator=generator,
        levels=resolved,
        seed=seed,
        trial_id=trial_id(paradigm.name, paradigm.version, generator, resolved, seed, draws),
        set_size=sizes["set_size"],
        list_length=sizes["list_length"],
        steps=steps,
    )


def resolve_levels(paradigm: Paradigm, levels: Mapping[str, Any] | None, seed: int) -> dict[str, Any]:
    """All factor levels of a trial, in the order of the file; random factors that are not given are
    drawn.

    Raises
    ------
    SpanLabError
        for a seed that is none, an unknown factor or level, or a crossed factor that is not given.
    """
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed <= _MAX_SEED:
        raise SpanLabError(f"a seed is a whole number from 0 to {_MAX_SEED}; found {show(seed)}")
    chosen = dict(levels or {})
    for name, level in chosen.items():
        chosen[name] = paradigm.level(name, level)
    # the levels of random factors are drawn from streams that depend on the crossed ones alone
    crossed = {
        name: chosen.get(name, factor.levels[0])
        for name, factor in paradigm.factors.items()
        if factor.mode == "crossed"
    }
    root = trial_root(paradigm.name, seed, crossed)
    resolved: dict[str, Any] = {}
    for name, factor in paradigm.factors.items():
        if name in chosen:
            resolved[name] = chosen[name]
        elif factor.mode == "random":
            with lent_stream(root, f"factor:{name}") as random:
                resolved[name] = factor.levels[int(random.randint(len(factor.levels)))]
        elif len(factor.levels) == 1:
            resolved[name] = factor.levels[0]
        else:
            raise SpanLabError(f"{paradigm.name}: choose a level of '{name}' ({listed(factor.levels)})")
    return resolved


def drawn_names(
    paradigm: Paradigm,
    levels: Mapping[str, Any] | None = None,
    seed: int = 0,
    generator: Generator = "corrected",
    draws: Draws | None = None,
) -> dict[str, Any]:
    """Everything that a trial is built from, by name: generator, factor levels and draws, in the order of the file.

    Parameters
    ----------
    draws : values to use instead of drawing them, by name

    Raises
    ------
    GivenDrawError
        when a given value is none that could have been drawn.
    ParadigmError
        when the file asks for the impossible.
    SpanLabError
        for wrong levels, seed or generator, and for draws that there are not.
    """
    if generator not in GENERATORS:
        raise SpanLabError(
            f"the generator is {' or '.join(GENERATORS)}; found {show(generator)}{nearest(generator, GENERATORS)}"
        )
    resolved = resolve_levels(paradigm, levels, seed)
    prescribed = paradigm.given(draws or {})
    start_trial()  # expressions of this trial may cost this much work, and no more
    env = {"generator": generator, **resolved}
    root = trial_root(paradigm.name, seed, resolved)
    for draw in paradigm.draws:
        if draw.name in prescribed:
            env[draw.name] = _given(paradigm, draw, prescribed[draw.name], env)
        else:
            env[draw.name] = _drawn(paradigm, draw, root, env)
    return env


def _given(paradigm: Paradigm, draw: Draw, value: Any, env: Mapping[str, Any]) -> Any:
    """A value in place of a drawn one, after a look at it."""
    if draw.sampler is not None:
        try:
            draw.sampler.build(env).check(value)
        except ValueError as error:
            raise GivenDrawError(paradigm.name, draw.name, str(error)) from None
    return value


def _drawn(paradigm: Paradigm, draw: Draw, root: str, env: Mapping[str, Any]) -> Any:
    path = ("draw", draw.name)
    if draw.sampler is None:
        assert draw.value is not None
        return paradigm.reader.fill(draw.value, path, env)
    sampler = draw.sampler.build(env)
    try:
        with lent_stream(root, draw.name) as random:
            value = sampler.draw(random)
        weigh(value)
    except ValueError as error:
        raise ParadigmError([paradigm.reader.document.problem(path, str(error))]) from None
    return value


def _size(paradigm: Paradigm, key: str, env: Mapping[str, Any], levels: Mapping[str, Any]) -> int | None:
    template = paradigm.set_size if key == "set_size" else paradigm.list_length
    if template is None:
        return levels.get(key)
    value = paradigm.reader.fill(template, (key,), env)
    if not is_whole(value):
        raise ParadigmError([paradigm.reader.document.problem((key,), f"expected a whole number; found {show(value)}")])
    return value


def _unroll(paradigm: Paradigm, env: dict[str, Any], root: str, levels: Mapping[str, Any]) -> tuple[Step, ...]:
    streams: dict[str, np.random.RandomState] = {}

    def streams_by_name(name: str) -> np.random.RandomState:
        if name not in streams:
            streams[name] = stream_of(root, name)
        return streams[name]

    steps: list[Step] = []
    scored_before = False
    for step, names in paradigm.timeline.unroll(dict(env)):
        if len(steps) >= MAX_STEPS:
            raise ParadigmError([paradigm.reader.document.problem(("timeline",), f"more than {MAX_STEPS} steps")])
        paradigm.reader.spend(step.cost, ("timeline",))
        steps.append(step.build(len(steps), names, streams_by_name, scored_before, levels))
        scored_before = scored_before or (step.ask is not None and step.ask.scored)
    if all(step.percept.ask is None for step in steps):
        raise ParadigmError(
            [
                paradigm.reader.document.problem(
                    ("timeline",), "a trial without a question: no step asks" if steps else "a trial without steps"
                )
            ]
        )
    return tuple(steps)


def drawn_values(
    paradigm: Paradigm,
    levels: Mapping[str, Any] | None = None,
    seed: int = 0,
    generator: Generator = "corrected",
    draws: Draws | None = None,
) -> dict[str, Any]:
    """Return the random draws of a trial, by name. With them, its levels, seed and generator,
    :func:`compile_trial` makes the same steps again."""
    names = drawn_names(paradigm, levels, seed, generator, draws)
    return {draw.name: names[draw.name] for draw in paradigm.draws if draw.is_random}


def asking_steps(
    paradigm: Paradigm,
    levels: Mapping[str, Any] | None = None,
    seed: int = 0,
    generator: Generator = "corrected",
    phase: str | None = None,
) -> list[tuple[StepSpec, dict[str, Any]]]:
    """The steps of a trial that ask for a right answer, each with the values of the names in it: enough to
    know the answers, and much faster than the whole trial.

    Parameters
    ----------
    phase : only the questions of this phase
    """
    return [
        (step, names)
        for step, names in paradigm.timeline.unroll(drawn_names(paradigm, levels, seed, generator))
        if step.ask is not None and step.ask.scored and phase in (None, step.phase)
    ]


@dataclass(frozen=True, slots=True)
class PlannedTrial:
    """A trial that is going to happen.

    Parameters
    ----------
    block, trial : from 1; practice trials are numbered by themselves
    levels : of all crossed factors (random ones are drawn when the trial is compiled, unless given)
    seed : of the trial
    practice : whether it is practice
    interval_ms : blank time before the trial, for people
    draws : of a trial that comes from elsewhere, by name; None = drawn from the seed
    name : of a trial that comes from elsewhere, such as ``train_000012``
    varies : in an adaptive design, the factor whose level is decided when the trials before are
        finished; ``levels`` has the first trial's
    """

    block: int
    trial: int
    levels: Mapping[str, Any]
    seed: int
    practice: bool = False
    interval_ms: float = DEFAULT_INTERVAL_MS
    draws: Draws | None = None
    name: str = ""
    varies: str = ""

    def compile(self, paradigm: Paradigm, generator: Generator) -> Trial:
        """The trial itself; a paradigm keeps those that it compiled last."""
        key = (repr(dict(self.levels)), self.seed, generator, id(self.draws))
        kept = paradigm.compiled
        draws, trial = kept.get(key) or (
            self.draws,
            compile_trial(paradigm, self.levels, self.seed, generator, self.draws),
        )
        kept[key] = draws, trial  # with the draws: as long as they are kept, no others have their id
        if len(kept) > KEPT_TRIALS:
            kept.pop(next(iter(kept)), None)
        return trial


def one_of_each(plan: Sequence[PlannedTrial]) -> list[PlannedTrial]:
    """The first trial of each combination of levels, and all whose draws are given."""
    first: dict[Any, PlannedTrial] = {}
    for number, planned in enumerate(plan):
        first.setdefault(repr(dict(planned.levels)) if planned.draws is None else number, planned)
    return [*first.values()]


def network_tasks(paradigm: Paradigm, trials: Iterable[PlannedTrial]) -> frozenset[str]:
    """The tasks that these trials set a network; none where there is nothing for networks."""
    views = (paradigm.network_view(resolve_levels(paradigm, trial.levels, trial.seed)) for trial in trials)
    return frozenset(view.task for view in views if view is not None)
