"""Checking a paradigm by compiling it: every combination of factor levels, several seeds, both
generators; and by drawing a trial of each combination."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from ..core.errors import ParadigmError, Problem, SpanLabError
from ..core.json_values import as_list
from ..stimuli import Stimulus
from ..stimuli.kinds.files import refuse_sounds
from ..stimuli.render.pixels import drawn, picture
from ..stimuli.scene import CANVAS
from .balance import BalanceError
from .compile import PlannedTrial, compile_trial
from .design import plan_session, staircase_rule
from .identity import trial_seed
from .language.diagnostics import in_order
from .language.expressions import MAX_WORK, work_done
from .language.schema import SessionDesign
from .language.yaml_source import YamlPath
from .network_view import labels_of
from .paradigm import GENERATORS, Generator, Paradigm, load_paradigm
from .responses import ResponseKind
from .responses.keys import key_problem
from .score_check import probe_trial
from .translation import illegible
from .trial import Step, Trial
from .triggers import unanswerable

_SEEDS = 3
_MAX_TRIALS = 600
#: each of so many combinations is compiled, however many trials that makes
_MAX_COMBINATIONS = 5000
_MAX_FAILURES = 30
#: when trials are huge, fewer of them are compiled
_MAX_WORK = 3 * MAX_WORK
#: different displays and questions that are looked at; then trials are only compiled
_MAX_LOOKED_AT = 2000
#: how large a display is drawn as shapes, as people and vision models get it
_SHAPES_PX = 2 * CANVAS


def check_paradigm(
    source: str | Path, inspect: Callable[[Paradigm, Trial], None] = lambda paradigm, trial: None
) -> str:
    """Validate a paradigm, compile trials of it and draw one of each combination of levels; one
    line that says what was checked.

    Parameters
    ----------
    inspect : called with the paradigm and every trial of the corrected generator that was compiled

    Raises
    ------
    ParadigmError
        with everything that is wrong; each place once.
    """
    paradigm = load_paradigm(source)
    combinations = paradigm.combinations()
    problems: dict[tuple[str, str], Problem] = {}
    kinds: dict[ResponseKind, None] = {}
    deaf = ""
    seen: set[Stimulus | ResponseKind] = set()
    compiled = failures = work = drawn_of = 0
    most = max(_MAX_TRIALS, len(GENERATORS) * min(len(combinations), _MAX_COMBINATIONS))
    once = [*itertools.islice(itertools.product((0,), combinations, GENERATORS), most)]
    needed = [*once, *_random_levels(paradigm, combinations)]
    again = itertools.islice(itertools.product(range(1, _SEEDS), combinations, GENERATORS), most - len(once))
    for index, levels, generator in (*needed, *again):
        try:
            trial = compile_trial(paradigm, levels, trial_seed("check", 0, index), generator)
            kinds |= dict.fromkeys(step.percept.ask.kind for step in trial.steps if step.percept.ask is not None)
            deaf = deaf or _refused_by_networks(paradigm, trial)
            probe_trial(trial)
            if generator == GENERATORS[0]:
                inspect(paradigm, trial)
                if index in (0, _SEEDS):
                    drawn_of += _look_at(paradigm, trial, seen) and not index
        except ParadigmError as error:
            failures += 1
            for problem in error.problems:
                problems.setdefault((problem.where, problem.key), problem)
        compiled += 1
        work += work_done()
        if failures >= _MAX_FAILURES or work >= _MAX_WORK:
            break
    for problem in _problems_of_file(paradigm, kinds, deaf):
        problems.setdefault((problem.where, problem.key), problem)
    if problems:
        raise ParadigmError(in_order(problems.values()))
    wrong = paradigm.triggers and unanswerable(paradigm.triggers, kinds)
    if wrong is not None:
        raise ParadigmError([paradigm.reader.document.problem(("triggers", "responses"), wrong)])
    _check_designs(paradigm)
    looked_at = "all" if drawn_of >= len(combinations) else f"{drawn_of} conditions"
    reached = min(compiled, most) // len(GENERATORS)
    many = f"{len(combinations)} condition{'s' * (len(combinations) > 1)}, {compiled} trials compiled"
    many += f" of the first {reached} conditions alone" if reached < len(combinations) else ""
    many += f", without {len(needed) - compiled} levels drawn at random" if len(once) <= compiled < len(needed) else ""
    file = paradigm.reader.document.name
    return (
        f"{'' if file == f'{paradigm.name}.yaml' else f'{file}: '}{paradigm.name} is fine ({many}, {looked_at} drawn)"
    )


def _problems_of_file(paradigm: Paradigm, kinds: dict[ResponseKind, None], deaf: str) -> Iterator[Problem]:
    """Problems that are there whatever the trial: words that cannot be written, keys that no
    question has, and a network that cannot take part.

    Parameters
    ----------
    kinds : of all questions of its trials
    deaf : why a network cannot take them; empty where one can
    """
    for path, why in illegible(paradigm.data, paradigm.instructions, browser=True):
        yield paradigm.reader.document.problem(path, why)
    yield from _dead_keys(paradigm, kinds)
    yield from _not_for_networks(paradigm, kinds)
    if deaf:
        yield paradigm.reader.document.problem(("network",), f"{deaf}; or leave out 'network'")


def _check_designs(paradigm: Paradigm) -> None:
    """Plan a session of each design that is adaptive or chooses its trials.

    Raises
    ------
    ParadigmError
        when one cannot be planned.
    """
    for name, design in paradigm.designs.items():
        if isinstance(design, SessionDesign) and (design.adaptive is not None or design.chooses):
            try:
                _climbable(paradigm, name, design, plan_session(paradigm, 0, design))
            except BalanceError as error:
                raise ParadigmError(
                    [paradigm.reader.document.problem(("designs", name, error.key), error.why)]
                ) from None
            except SpanLabError as error:
                raise ParadigmError([paradigm.reader.document.problem(("designs", name), str(error))]) from None


def _climbable(paradigm: Paradigm, name: str, design: SessionDesign, planned: list[PlannedTrial]) -> None:
    """Let somebody who is always right climb the stairs of an adaptive design.

    Raises
    ------
    SpanLabError
        when the trials end before the hardest level, or the first one has it already.
    """
    rule = design.adaptive
    if rule is None or rule.rule == "span" or (record := staircase_rule(paradigm, name, planned)) is None:
        return
    stairs = record["stairs"]
    way = len(stairs) - 1 - stairs.index(rule.start)
    if way and way * rule.up_after < len(planned):
        return
    last = f"{rule.factor} = {stairs[-1]}, the last level in the file, which is taken for the hardest"
    if not way:
        raise SpanLabError(f"the staircase begins at {last}: write levels from easy to hard, and begin at an easy one")
    raise SpanLabError(
        f"somebody who is always right does not reach {last}, in {len(planned)} trials: begin further up, or plan more"
        f" than {way * rule.up_after}"
    )


def _random_levels(
    paradigm: Paradigm, combinations: list[dict[str, Any]]
) -> Iterator[tuple[int, dict[str, Any], Generator]]:
    """A trial for each level of the factors that are drawn at random, with the first combination of
    the others."""
    for name, factor in paradigm.factors.items():
        if factor.mode == "random":
            for level in factor.levels[:_MAX_TRIALS]:
                yield _SEEDS, {**combinations[0], name: level}, GENERATORS[0]


def _look_at(paradigm: Paradigm, trial: Trial, seen: set[Stimulus | ResponseKind]) -> bool:
    """Draw what a trial shows, and put its questions, each once for the paradigm; false where that would be more than a
    check should take.

    Parameters
    ----------
    seen : what was looked at before; grows

    Raises
    ------
    ParadigmError
        for the first that cannot be drawn or said.
    """
    if len(seen) >= _MAX_LOOKED_AT:
        return False
    for step in trial.steps:
        shown = [display.stimulus for percept in step.percepts for display in percept.displays]
        asked = [] if step.percept.ask is None else [step.percept.ask.kind]
        for part in (*shown, *asked):
            if part not in seen:
                seen.add(part)
                try:
                    _use(part, paradigm.instructions)
                except Exception as error:  # whatever somebody's own stimulus raises
                    raise _unusable(paradigm, trial, step, part.name, error) from error
    return True


def _use(part: Stimulus | ResponseKind, languages: Iterable[str]) -> None:
    """Show a stimulus, in pixels, shapes and words, or put a question."""
    if isinstance(part, Stimulus):
        scene = part.scene()
        drawn(scene)
        picture(scene, _SHAPES_PX)
        part.words()
        return
    part.surface()
    part.question()
    part.legend("words")
    for language in languages:
        part.legend("participant", language)


def _unusable(paradigm: Paradigm, trial: Trial, step: Step, part: str, error: Exception) -> ParadigmError:
    timeline = paradigm.data.get("timeline")
    path = next(_paths_to(timeline, ("timeline",), lambda key, value: key == part), ("timeline",))
    why = str(error)
    if not isinstance(error, SpanLabError):
        why = f"'{part}' cannot be shown in pixels and in words ({type(error).__name__}: {error})"
    levels = "".join(f"{name} = {level}, " for name, level in trial.levels.items())
    at = f"in step {step.index + 1} of a trial with {levels}seed {trial.seed}"
    return ParadigmError([paradigm.reader.document.problem(path, f"{why}, {at}")])


def _refused_by_networks(paradigm: Paradigm, trial: Trial) -> str:
    """Why no network can take a trial; empty where one can, or none is meant to."""
    view = paradigm.network_view(trial.levels)
    if view is None:
        return ""
    shown = (step.percept.for_machine.stimulus for step in trial.steps if step.percept.model_step)
    try:
        refuse_sounds(shown, "networks")
        labels_of(trial, view)
    except SpanLabError as error:
        return str(error)
    return ""


def _not_for_networks(paradigm: Paradigm, kinds: dict[ResponseKind, None]) -> Iterator[Problem]:
    """Questions that no network can answer, in a paradigm for networks."""
    if (
        paradigm.network is not None
        and (kind := next((kind for kind in kinds if kind.not_for_networks), None)) is not None
    ):
        yield paradigm.reader.document.problem(
            ("network",),
            f"networks cannot answer the question '{kind.name}': {kind.not_for_networks}; or leave out 'network'",
        )


def _dead_keys(paradigm: Paradigm, kinds: dict[ResponseKind, None]) -> Iterator[Problem]:
    """Keys of questions that no press can be told of, at the place in the file where they are
    given."""
    for kind in kinds:
        surface = kind.surface()
        for key, value in surface.keys:
            why = key_problem(key)
            if why and not (surface.ordered is not None and any(region.value == value for region in surface.regions)):
                named = _paths_to(
                    paradigm.data.get("timeline"),
                    ("timeline",),
                    lambda at, values, key=key: at == "keys" and key in map(str, as_list(values)),
                )
                paths = _paths_to(
                    paradigm.data.get("timeline"), ("timeline",), lambda at, values, kind=kind: at == kind.name
                )
                path = next(itertools.chain(named, paths), ("timeline",))
                yield paradigm.reader.document.problem(
                    path, f"the answer '{kind.label(value)}' could not be given: {why}"
                )


def _paths_to(value: Any, path: YamlPath, matches: Callable[[str, Any], bool]) -> Iterator[YamlPath]:
    """The paths below ``path`` whose last key (with what stands there) is wanted, as they come in
    the file."""
    if not isinstance(value, dict | list):
        return
    for key, below in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(key, str) and matches(key, below):
            yield (*path, key)
        yield from _paths_to(below, (*path, key), matches)
