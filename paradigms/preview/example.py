"""The worked example of the instructions: what one trial looks like, with the right answers and why
they are right, from a trial that no session has.

Here and nowhere else is told what is right, before anybody has answered: examples have seeds of a
purpose of their own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Literal

from ...core.locale import sentence
from ...stimuli import Stimulus
from ...stimuli.kinds.files import seen_in
from ...stimuli.kinds.plain import Blank, Tone
from ..compile import compile_trial, drawn_names, resolve_levels
from ..design import LevelsInUse
from ..identity import trial_seed
from ..language.schema import Example
from ..paradigm import Generator, Paradigm
from ..responses import Answer, ResponseKind
from ..responses.keys import key_label
from ..trial import NO_REASON, Percept, Prompt, Reason, Step, Trial

#: Most displays in a picture.
MOST = 18
#: Most displays of a phase, in an example whose file leaves that open, where not all of the trial
#: has room.
_EACH = 6
#: so many trials are looked at for one that has the answer which the file wants to be pictured
_MOST_TRIALS = 500


@dataclass(frozen=True, slots=True)
class WorkedQuestion:
    """A question of an example with its right answer, why it is right where the file says so, and
    its number in its trial where not all of them are pictured."""

    kind: ResponseKind
    answer: Answer
    prompt: Prompt | None = None
    why: Reason = NO_REASON
    number: int | None = None

    def shown_answer(self, language: str) -> str:
        """Return the answer as people read it, with its key where it has one of its own; empty
        where the picture marks it, as it does places and values on a dial."""
        surface = self.kind.surface()
        at_a_place = any(
            region.value == self.answer for region in surface.regions
        )  # whose number is not that of a key on the number pad
        if isinstance(self.answer, int) and getattr(self.kind, "layout", None) == "3x3":
            return sentence("counting.places", language).split(", ")[self.answer]
        if surface.dial is not None or (isinstance(self.answer, int) and at_a_place):
            return ""
        if isinstance(self.answer, tuple):
            if surface.ordered is None or not surface.ordered.labels:
                return ""
            return "\u00a0".join("?" if value is None else self.kind.label(value) for value in self.answer)
        label = self.kind.label(self.answer)
        key = next((key_label(key, language) for key, value in surface.keys if value == self.answer), label)
        return label if at_a_place or isinstance(self.answer, int) or key == label else f"{label} ({key})"

    def describe(self, language: str) -> str:
        """Return the right answer and the reason, for people."""
        answer = self.shown_answer(language)
        surface = self.kind.surface()
        shown = "_shown" if surface.several or surface.dial is not None else "_marked"
        right = sentence(f"session.worked{'' if answer else shown}", language, answer=answer)
        label = self.kind.label(self.answer) if isinstance(self.answer, int | str) else ""
        return right if self.why.text is None else f"{right} {self.why.text.text_in(language, answer=label)}"


@dataclass(frozen=True, slots=True)
class OwnMark:
    """A mark that somebody made in a practice trial.

    Parameters
    ----------
    value : the place that was marked
    verdict : ``right``, ``wrong``, ``elsewhere`` where it belongs to the list, at another place in
        its order, or ``missed`` where it should have been marked
    number : at which place in the order it was given; None where there is no order
    """

    value: int | str
    verdict: Literal["right", "wrong", "elsewhere", "missed"]
    number: int | None = None


@dataclass(frozen=True, slots=True)
class ExampleDisplay:
    """One display of an example.

    Parameters
    ----------
    stimulus : what is drawn
    asks : the question that it belongs to, or None
    more : whether displays of the same phase follow that are not pictured
    questions : those that are asked while it is there, with their answers
    marks : after a practice trial, the marks that somebody made
    phase : of its step
    caption : after a practice trial, the sentence of the window that stands below it; empty where
        that follows from questions and marks
    """

    stimulus: Stimulus
    asks: ResponseKind | None = None
    more: bool = False
    questions: tuple[WorkedQuestion, ...] = ()
    marks: tuple[OwnMark, ...] = ()
    phase: str = ""
    caption: str = ""


def called(questions: Sequence[WorkedQuestion], language: str) -> list[str]:
    """Return what several questions are called: by what they ask where that is said once, else by
    their numbers; a question that is alone in its trial has no name."""
    if [question.number for question in questions] == [None]:
        return [""]
    asked = [question.prompt and question.prompt.text_in(language) for question in questions]
    return [
        words if words is not None and asked.count(words) == 1 < len(asked) else numbered(question, place, language)
        for place, (words, question) in enumerate(zip(asked, questions, strict=True), start=1)
    ]


def numbered(question: WorkedQuestion, place: int, language: str) -> str:
    """Return what a question is called by its number, or its place among those of an example."""
    return sentence("window.question", language, n=question.number or place)


def worked_answers(displays: Sequence[ExampleDisplay], language: str) -> list[str]:
    """Return what an example's questions ask, and their right answers: each question once where it
    comes several times in a row, and the answers numbered where there are several."""
    questions = [question for display in displays for question in display.questions]
    lines: list[str] = []
    for prompt, run in groupby(enumerate(questions, start=1), lambda item: item[1].prompt):
        alike = list(run)
        asked = [] if prompt is None else [prompt.text_in(language)]
        if len(alike) == 1:
            lines.append(" ".join([*asked, alike[0][1].describe(language)]))
            continue
        answers = [f"{numbered(question, place, language)}. {question.describe(language)}" for place, question in alike]
        reasons = any(question.why.text is not None for _, question in alike)
        lines += [*asked, *answers] if reasons else [" ".join([*asked, *answers])]
    return lines


def example_levels(
    paradigm: Paradigm, language: str, levels: Mapping[str, Any], use: LevelsInUse | None = None
) -> dict[str, Any]:
    """Levels for an example that goes with the instructions for ``levels``: those that the example
    declares, then those of practice, then the first ones; but what the instructions speak of is as
    they say, and levels that were chosen for the session are kept to.

    Parameters
    ----------
    use : the levels of the session; all when not given
    """
    proposed: dict[str, Any] = {
        name: factor.levels[0] if use is None else use.first(name) for name, factor in paradigm.factors.items()
    }
    for part in filter(None, (paradigm.practice, paradigm.example)):
        for name, wish in part.factors.items():
            level = wish if use is None else use.fitting(name, wish)
            if level is not None:
                proposed[name] = level
    instructions, chosen = paradigm.instructions_in(language, levels), dict(levels)
    for name, level in proposed.items():
        other = {**chosen, name: paradigm.level(name, level)}
        if paradigm.instructions_in(language, other) == instructions:
            chosen = other
    return chosen


def example_displays(
    paradigm: Paradigm,
    language: str,
    levels: Mapping[str, Any],
    generator: Generator = "corrected",
    use: LevelsInUse | None = None,
) -> list[ExampleDisplay]:
    """The displays of an example: the first ones of each phase as people see them, without empty
    screens; none where the paradigm wants no example.

    Parameters
    ----------
    language, levels : of the instructions that it goes with
    use : the levels of the session; all when not given
    """
    example = paradigm.example or Example()
    if not example.show or paradigm.is_questionnaire:
        return []
    crossed, chosen = _example_trial(paradigm, language, levels, generator, use)
    reasons = [
        step.ask.reason(names)
        for step, names in paradigm.timeline.unroll(drawn_names(paradigm, crossed, chosen, generator))
        if step.ask is not None and step.ask.kind is not None and step.ask.kind.cls.scored  # as each has an answer
    ]
    return displays_of(compile_trial(paradigm, crossed, chosen, generator), example.each, reasons)


def _example_trial(
    paradigm: Paradigm, language: str, levels: Mapping[str, Any], generator: Generator, use: LevelsInUse | None
) -> tuple[dict[str, Any], int]:
    """The levels and the seed of the example for instructions; the seed is that of no session."""
    example = paradigm.example or Example()
    first = trial_seed("example", 0, example.seed)  # sessions, practice and data sets have seeds of other purposes
    crossed = example_levels(paradigm, language, resolve_levels(paradigm, levels, first), use)
    for number in range(example.seed, example.seed + (0 if example.answer is None else _MOST_TRIALS)):
        pictured = displays_of(
            compile_trial(paradigm, crossed, seed := trial_seed("example", 0, number), generator), example.each
        )
        if example.answer in [question.answer for display in pictured for question in display.questions]:
            return crossed, seed
    return crossed, first  # where no trial has the answer that is wanted


def displays_of(trial: Trial, each: int | None, reasons: Sequence[Reason] = ()) -> list[ExampleDisplay]:
    """The first ``each`` displays of every phase of a trial, in their order; fewer where they would
    be more than :data:`MOST`.

    Parameters
    ----------
    each : all of the trial when None, where they are not more than :data:`MOST`
    reasons : why the answer to each question is right, in their order
    """
    displays: list[ExampleDisplay] = []
    why = iter(reasons)
    for step in trial.steps:
        ask, answer = step.percept.ask, step.truth.answer
        questions = (
            ()
            if ask is None or answer is None
            else (WorkedQuestion(ask.kind, answer, ask.prompt, next(why, NO_REASON)),)
        )
        views = _seen(step)
        for place, view in enumerate(views):
            worked = questions if place == len(views) - 1 else ()
            if view.asks is not None or not _repeats(step.percept, view, displays):
                displays.append(replace(view, questions=worked, phase=step.percept.phase))
    return _first(displays, each)


def _repeats(percept: Percept, view: ExampleDisplay, before: Sequence[ExampleDisplay]) -> bool:
    """Return whether a display without a question says nothing new: it stays on, or comes again and
    is no item."""
    alike = [
        number for number, other in enumerate(before, start=1) if (other.stimulus, other.asks) == (view.stimulus, None)
    ]
    stays = len(before) in alike and all(display.ms is not None for display in percept.displays)
    return stays or (bool(alike) and not percept.model_step)


def _first(displays: Sequence[ExampleDisplay], each: int | None) -> list[ExampleDisplay]:
    """Return the first ``each`` displays of every phase, each with whether others of its phase
    follow that are left out."""
    counts = Counter(display.phase for display in displays)
    if each is None:
        each = max(counts.values(), default=1) if len(displays) <= MOST else _EACH
    while each > 1 and sum(min(each, count) for count in counts.values()) > MOST:
        each -= 1
    examples: list[ExampleDisplay] = []
    numbers: Counter[str] = Counter()
    for display in displays:
        numbers[display.phase] += 1
        if (number := numbers[display.phase]) <= each:
            examples.append(replace(display, more=number == each < counts[display.phase]))
    examples = examples[:MOST]
    while len(examples) > 1 and examples[-1].asks is None and any(display.asks is not None for display in examples):
        examples.pop()  # nothing follows that asks for it
    return examples


def _seen(step: Step) -> list[ExampleDisplay]:
    percept = step.percept
    if step.feedback is not None:
        return []
    asks = percept.ask and percept.ask.kind
    pictured = (seen_in(display.stimulus) for display in percept.displays)
    stimuli = [stimulus for stimulus in pictured if not isinstance(stimulus, Tone)]
    shown = [stimulus for stimulus in stimuli if stimulus != Blank.model_validate({})]
    if asks is not None and not shown:
        shown = stimuli[:1]  # an empty screen on which one answers
    return [ExampleDisplay(stimulus, asks) for stimulus in shown]
