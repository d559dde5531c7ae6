"""The pictured example of the instructions: what one trial looks like, from a trial that no session has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...stimuli import Stimulus
from ...stimuli.kinds.plain import Blank, Tone
from ..compile import compile_trial, resolve_levels
from ..identity import trial_seed
from ..language.schema import Example
from ..paradigm import Generator, Paradigm
from ..practice_levels import LevelsInUse
from ..responses import ResponseKind
from ..trial import Step, Trial

#: Most displays in a picture.
MOST = 6
#: so many trials are looked at for one that has the answer which the file wants to be pictured
_MOST_TRIALS = 500


@dataclass(frozen=True, slots=True)
class ExampleDisplay:
    """One display of an example.

    Parameters
    ----------
    stimulus : what is drawn
    asks : the question that it belongs to, or None
    more : whether displays of the same phase follow that are not pictured
    """

    stimulus: Stimulus
    asks: ResponseKind | None = None
    more: bool = False


def example_levels(paradigm: Paradigm, language: str, levels: Mapping[str, Any], use: LevelsInUse | None = None) -> dict[str, Any]:
    """Levels for an example that goes with the instructions for ``levels``: those that the example declares, then those of practice, then the first ones; but
    what the instructions speak of is as they say, and levels that were chosen for the session are kept to.

    Parameters
    ----------
    use : the levels of the session; all when not given
    """
    wanted: dict[str, Any] = {name: factor.levels[0] if use is None else use.first(name) for name, factor in paradigm.factors.items()}
    for wishes in (paradigm.practice.factors if paradigm.practice is not None else {}, paradigm.example.factors if paradigm.example is not None else {}):
        for name, wish in wishes.items():
            level = wish if use is None else use.fitting(name, wish)
            if level is not None:
                wanted[name] = level
    told, chosen = paradigm.instructions_in(language, levels), dict(levels)
    for name, level in wanted.items():
        other = {**chosen, name: paradigm.level(name, level)}
        if paradigm.instructions_in(language, other) == told:
            chosen = other
    return chosen


def example_displays(
    paradigm: Paradigm, language: str, levels: Mapping[str, Any], generator: Generator = "corrected", use: LevelsInUse | None = None
) -> list[ExampleDisplay]:
    """The displays of an example: the first ones of each phase as people see them, without empty screens.

    Parameters
    ----------
    language, levels : of the instructions that it goes with
    use : the levels of the session; all when not given
    """
    example = paradigm.example or Example()
    first = trial_seed("check", 0, example.seed)  # sessions, practice and data sets have seeds of other purposes
    crossed = example_levels(paradigm, language, resolve_levels(paradigm, levels, first), use)
    displays: list[ExampleDisplay] = []
    for number in range(example.seed, example.seed + (1 if example.answer is None else _MOST_TRIALS)):
        trial = compile_trial(paradigm, crossed, trial_seed("check", 0, number), generator)
        pictured = displays_of(trial, example.each)
        if example.answer is None or example.answer in _answers(trial, pictured):
            return pictured
        displays = displays or pictured
    return displays  # no trial has that answer


def _answers(trial: Trial, pictured: list[ExampleDisplay]) -> list[Any]:
    """The correct answers to the questions that are pictured."""
    asked = [step.truth.answer for step in trial.steps if step.percept.ask is not None]
    return asked[: sum(display.asks is not None for display in pictured)]


def displays_of(trial: Trial, each: int) -> list[ExampleDisplay]:
    """The first ``each`` displays of every phase of a trial, in their order; fewer where they would be more than :data:`MOST`."""
    found: list[tuple[str, ExampleDisplay]] = []
    for step in trial.steps:
        stays = step.percept.ask is not None and step.percept.ask.window_ms is None
        for example in _seen(step):
            # What was there before says nothing new, unless it comes again and is asked about anew.
            if example not in [other for _, other in (found[-1:] if stays else found)] or (example.asks is not None and not stays):
                found.append((step.percept.phase, example))
    phases = list(dict.fromkeys(phase for phase, _ in found))
    while each > 1 and sum(min(each, sum(phase == shown_phase for shown_phase, _ in found)) for phase in phases) > MOST:
        each -= 1
    kept: list[ExampleDisplay] = []
    taken = dict.fromkeys(phases, 0)
    for number, (phase, example) in enumerate(found):
        taken[phase] += 1
        if taken[phase] <= each:
            more = taken[phase] == each and any(phase == other for other, _ in found[number + 1 :])
            kept.append(ExampleDisplay(example.stimulus, example.asks, more))
    return kept[:MOST]


def _seen(step: Step) -> list[ExampleDisplay]:
    percept = step.percept
    if step.feedback is not None:
        return []
    asks = percept.ask.kind if percept.ask is not None else None
    stimuli = [display.stimulus for display in percept.displays if not isinstance(display.stimulus, Tone)]
    shown = [stimulus for stimulus in stimuli if stimulus != Blank.model_validate({})]
    if asks is not None and not shown:
        shown = stimuli[:1]  # an empty screen on which one answers
    return [ExampleDisplay(stimulus, asks) for stimulus in shown]
