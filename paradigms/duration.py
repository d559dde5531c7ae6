"""The expected duration of a session with people: the times in the timeline, and assumed times for
self-paced steps."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .compile import PlannedTrial, compile_trial
from .design import plan_practice, plan_session, session_design
from .paradigm import Generator, Paradigm
from .trial import Step, Trial

#: Seconds that a self-paced answer is taken to last: the first for the question, the second for
#: each item that is given.
ASSUMED: Mapping[str, tuple[float, float]] = {
    "choice": (2.0, 0.0),
    "rating": (2.0, 0.0),
    "cells": (1.0, 1.5),
    "sequence": (1.0, 1.5),
    "text": (4.0, 0.0),
    "open_text": (45.0, 0.0),
    "continuous": (4.0, 0.0),
}
#: Of kinds from other packages, and of steps without a question that a key ends.
_OTHERS, _GO_ON = (3.0, 0.0), 2.0
#: Trials of each combination of levels that are compiled.
_SAMPLES = 3


@dataclass(frozen=True, slots=True)
class Duration:
    """The expected duration of a session's trials, in seconds.

    Parameters
    ----------
    trials : how many
    given_s : displays, answers with a window up to its end, and intervals between trials
    assumed_s : self-paced answers and steps
    answers, steps : how many answers, and steps without a question, are self-paced
    windows : how many answers have a window, and end their step
    """

    trials: float = 0.0
    given_s: float = 0.0
    assumed_s: float = 0.0
    answers: float = 0.0
    steps: float = 0.0
    windows: float = 0.0

    def __add__(self, other: Duration) -> Duration:
        return Duration(*(getattr(self, name) + getattr(other, name) for name in self.__slots__))

    def __mul__(self, times: float) -> Duration:
        return Duration(*(getattr(self, name) * times for name in self.__slots__))

    @property
    def seconds(self) -> float:
        """In all."""
        return self.given_s + self.assumed_s

    @property
    def grounds(self) -> str:
        """The basis of the estimate, in words."""
        parts = [f"{minutes(self.given_s)} of displays, windows and intervals"]
        if round(self.answers):
            parts.append(
                f"{self.answers:,.0f} self-paced answers, assumed to take"
                f" {(self.assumed_s - _GO_ON * self.steps) / self.answers:.1f} s each on average"
            )
        if round(self.steps):
            parts.append(f"{self.steps:,.0f} self-paced steps, assumed to take {_GO_ON:g} s each")
        if round(self.windows):
            parts.append(f"{self.windows:,.0f} answers can end their window sooner")
        return "; ".join(parts)


def duration_of(paradigm: Paradigm, plan: Sequence[PlannedTrial], generator: Generator = "corrected") -> Duration:
    """The duration of planned trials: of each combination of levels a few are compiled, and stand
    for the others."""
    counts = Counter(tuple(planned.levels.items()) for planned in plan)
    samples: dict[Any, list[PlannedTrial]] = defaultdict(list)
    for planned in plan:
        sample = samples[tuple(planned.levels.items())]
        if len(sample) < _SAMPLES:
            sample.append(planned)
    total = Duration(given_s=sum(planned.interval_ms for planned in plan) / 1000)
    for levels, some in samples.items():
        compiled = sum((trial_duration(planned.compile(paradigm, generator)) for planned in some), Duration())
        total += compiled * (counts[levels] / len(some))
    return total


def design_duration(paradigm: Paradigm, design: str | None = None) -> tuple[Duration, Duration]:
    """The duration of a session of one of the paradigm's designs (that of people when not given),
    and of one round of practice before it."""
    plan = plan_session(paradigm, 1, session_design(paradigm, design).unchosen)
    return duration_of(paradigm, plan), duration_of(paradigm, plan_practice(paradigm, 1))


def trial_duration(trial: Trial) -> Duration:
    """The duration of one trial, as a person takes it."""
    return sum(map(_step, trial.steps), Duration(trials=1))


def _step(step: Step) -> Duration:
    shown = [sum(display.ms or 0.0 for display in percept.displays) / 1000 for percept in step.percepts]
    given_s, ask = sum(shown) / len(shown), step.percept.ask
    self_paced = any(display.ms is None for display in step.percept.displays)
    if ask is None:
        return Duration(given_s=given_s, assumed_s=_GO_ON, steps=1) if self_paced else Duration(given_s=given_s)
    if ask.window_ms is not None:
        return Duration(given_s=max(given_s, ask.window_ms / 1000), windows=ask.ends == "on_answer")
    if ask.ends == "on_time" and not self_paced:
        return Duration(given_s=given_s)
    answer = step.truth.answer
    once, each = ASSUMED.get(ask.kind.name, _OTHERS)
    return Duration(
        given_s=given_s, assumed_s=once + each * (len(answer) if isinstance(answer, tuple) else 1), answers=1
    )


def minutes(seconds: float) -> str:
    """``12 min``, ``40 s``."""
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


# The time-mapping table, rebuilt from the paradigms

PUBLISHED = "published (WorM, Table A2)"


@dataclass(frozen=True, slots=True)
class TableRow:
    """Duration of one phase: ``ms`` is a number, several in sequence (``500 + 2500``), or
    ``variable`` for self-paced steps."""

    task: str
    phase: str
    ms: str
    source: str


def timetable(paradigm: Paradigm) -> list[TableRow]:
    """The rows of one paradigm, phases in order of first occurrence over all factor combinations,
    those of random factors included."""

    def spelt(shown: tuple[float | None, ...]) -> str:
        return "variable" if None in shown else " + ".join(f"{ms:g}" for ms in shown if ms is not None)

    return [
        TableRow(
            paradigm.name,
            phase,
            " or ".join(dict.fromkeys(map(spelt, listed))),
            f"ours: {paradigm.source.ours[phase]}" if phase in paradigm.source.ours else PUBLISHED,
        )
        for phase, listed in durations(paradigm).items()
    ]


def durations(paradigm: Paradigm) -> dict[str, list[tuple[float | None, ...]]]:
    """Phase to the durations of its displays (ms, None for self-paced ones), in every form in which
    they occur over all factor combinations, those of random factors included."""
    by_phase: dict[str, list[tuple[float | None, ...]]] = {}
    for levels in paradigm.combinations({name: factor.levels for name, factor in paradigm.factors.items()}):
        for step in compile_trial(paradigm, levels, seed=0).steps:
            shown = tuple(display.ms for display in step.percept.displays)
            forms = by_phase.setdefault(step.percept.phase, [])
            if shown not in forms:
                forms.append(shown)
    return by_phase
