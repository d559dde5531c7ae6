"""A compiled trial: an immutable list of steps, the same on every machine and for every agent.

Every step is in two halves that never mix: the *percept*, which is all that an agent may see, and
the *truth*, which is for scoring and for the record.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from ..core.locale import FALLBACK, ordinal
from ..stimuli import Stimulus
from .identity import canonical, digest
from .responses import Answer, ResponseKind

#: How an answer went, as far as feedback may tell it.
Verdict = Literal["right", "wrong", "missed"]


@dataclass(frozen=True, slots=True)
class Display:
    """One stimulus for a time.

    Parameters
    ----------
    stimulus : what is shown
    ms : for how long; None = until the participant goes on or answers
    for_machines : whether this is the display of its step that machines get (otherwise they get the
        first)
    """

    stimulus: Stimulus
    ms: float | None = None
    for_machines: bool = False


@dataclass(frozen=True, slots=True)
class Prompt:
    """The wording of a question for people, or the reason why its answer is right.

    Parameters
    ----------
    texts : by language; in gaps ``{ordinal}`` stands the number as a word (second, zweites), in
        ``{position}`` as a figure
    number : of the question in its loop, from 1, if the texts have such gaps
    """

    texts: tuple[tuple[str, str], ...]
    number: int | None = None

    def text_in(self, language: str, **values: str) -> str:
        """The text in a language; if there is none, in English, or in the first language there is.

        Parameters
        ----------
        values : for other gaps, such as the answer
        """
        by_language = dict(self.texts)
        language = next(name for name in (language, FALLBACK, *by_language) if name in by_language)
        text = by_language[language]
        if self.number is not None:
            values = {**values, "ordinal": ordinal(self.number, language), "position": str(self.number)}
        for name, value in values.items():
            text = text.replace(f"{{{name}}}", value)
        return text


@dataclass(frozen=True, slots=True)
class Reason:
    """The reason why an answer is right, for worked examples alone.

    Parameters
    ----------
    text : in words, by language
    frames : areas of the canvas that it is about, each as (x0, y0, x1, y1)
    way : what has to be followed goes along these points, from the first to the last
    compare : with which of the displays before it, counted back among those of its kind, it has to
        be compared; 0 = with none
    """

    text: Prompt | None = None
    frames: tuple[tuple[float, float, float, float], ...] = ()
    way: tuple[tuple[float, float], ...] = ()
    compare: int = 0


#: where the file gives none
NO_REASON = Reason()


@dataclass(frozen=True, slots=True)
class Ask:
    """A question: which answers are possible and when the window for them closes.

    Parameters
    ----------
    kind : the response kind with its public parameters
    ends : whether the step ends with the answer or only when its displays are over
    window_ms : time for the answer from the onset of the step; None = self-paced
    no_answer_means : the answer that silence stands for (go/no-go), or None
    counts : which press counts when there are several
    late : what becomes of a press after the window: ignored, or recorded as such
    classes : for networks, the class of each allowed answer in the task's head; 0, 1, ... when None
    prompt : what is asked, in words, for people; no part of a trial's hashes
    scored : whether the answer is scored, or only recorded
    """

    kind: ResponseKind
    ends: Literal["on_answer", "on_time"] = "on_answer"
    window_ms: float | None = None
    no_answer_means: Answer | None = None
    counts: Literal["first", "last"] = "first"
    late: Literal["ignore", "record"] = "record"
    classes: tuple[int, ...] | None = None
    prompt: Prompt | None = None
    scored: bool = True


@dataclass(frozen=True, slots=True)
class Percept:
    """All that an agent may see of a step.

    Parameters
    ----------
    phase : such as ``present`` or ``probe``
    displays : in sequence, at least one
    ask : the question, or None
    model_step : False for steps that only people get (fixation, intervals, masks, tones)
    """

    phase: str
    displays: tuple[Display, ...]
    ask: Ask | None = None
    model_step: bool = True

    @property
    def for_machine(self) -> Display:
        """The one display that machines get: the one so marked, else the first."""
        return next((display for display in self.displays if display.for_machines), self.displays[0])


@dataclass(frozen=True, slots=True)
class WorkedExample:
    """A trial with its right answers, to be shown before others. Its seed is in no session, practice or
    data set.

    Parameters
    ----------
    name : of the example
    percepts : what is shown and asked, step by step
    answers : the right answer to each question
    """

    name: str
    percepts: tuple[Percept, ...]
    answers: tuple[Answer, ...]


@dataclass(frozen=True, slots=True)
class Truth:
    """The hidden half of a step, for scoring, the record and declared oracles only.

    Parameters
    ----------
    answer : the correct answer, or None when nothing is asked
    record : serial position and whatever else the step records, by column
    levels : factor levels of the trial, with ``set_size`` and ``list_length``
    chance : probability that a uniformly random allowed answer scores as correct, per scored item
    blind : the same for the best guess of somebody who knows paradigm, condition and question, but
        has not looked
    """

    answer: Answer | None = None
    record: Mapping[str, Any] = field(default_factory=dict)
    chance: float | None = None
    levels: Mapping[str, Any] = field(default_factory=dict)
    blind: float | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """One step, with at most one question.

    ``feedback`` is set on feedback steps: one percept per verdict on the answer before
    (:meth:`shown_after`); ``percept`` is then that for ``missed``.
    """

    index: int
    percept: Percept
    truth: Truth
    feedback: Mapping[Verdict, Percept] | None = None

    @property
    def percepts(self) -> Sequence[Percept]:
        """The possible percepts of a step: one, or one for each verdict on the answer before."""
        return [self.percept] if self.feedback is None else [*self.feedback.values()]

    def shown_after(self, verdict: Verdict) -> Percept:
        """The percept of this step, given the verdict on the last answer."""
        return (self.feedback or {}).get(verdict, self.percept)


@dataclass(frozen=True, slots=True)
class Trial:
    """One compiled trial.

    ``trial_id`` is a hash of paradigm, version, generator, factor levels and seed (and of the
    draws, where these were given); :func:`fingerprint` hashes the content.
    """

    paradigm: str
    version: int
    generator: str
    levels: Mapping[str, Any]
    seed: int
    trial_id: str
    set_size: int | None
    list_length: int | None
    steps: tuple[Step, ...]

    @property
    def kinds(self) -> tuple[ResponseKind, ...]:
        """The different questions, in order of first use."""
        return tuple(dict.fromkeys(step.percept.ask.kind for step in self.steps if step.percept.ask is not None))

    @property
    def asks(self) -> int:
        """The number of questions."""
        return sum(step.percept.ask is not None for step in self.steps)


def _ask_data(ask: Ask | None) -> list[Any] | None:
    if ask is None:
        return None
    more = [] if ask.classes is None else [ask.classes]
    if not ask.scored:
        more = [*more, "unscored"]
    kind = ask.kind.model_dump(mode="json", exclude=set(ask.kind.beside_the_trial))
    return [type(ask.kind).name, kind, ask.ends, ask.window_ms, ask.no_answer_means, ask.counts, ask.late, *more]


def percept_bytes(percept: Percept) -> bytes:
    """A percept as bytes: equal bytes, equal percepts."""
    return canonical(
        [
            percept.phase,
            [
                [type(one.stimulus).name, one.stimulus.model_dump(mode="json"), one.ms, one.for_machines]
                for one in percept.displays
            ],
            _ask_data(percept.ask),
            percept.model_step,
        ]
    ).encode("ascii")


def fingerprint(trial: Trial) -> str:
    """A hash of everything in a trial: steps, percepts, truth. Golden tests hold it fixed over
    machines and numpy versions."""
    steps = [
        [
            percept_bytes(step.percept).decode("ascii"),
            step.truth.answer,
            dict(step.truth.record),
            step.truth.chance if step.truth.blind == step.truth.chance else [step.truth.chance, step.truth.blind],
            {verdict: percept_bytes(percept).decode("ascii") for verdict, percept in (step.feedback or {}).items()},
        ]
        for step in trial.steps
    ]
    return digest([trial.trial_id, trial.set_size, trial.list_length, dict(trial.levels), steps], length=32)
