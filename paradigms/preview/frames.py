"""What a trial's picture shows: its displays in sequence, each drawn once where the same comes again and again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ...stimuli import Stimulus
from ...stimuli.kinds.plain import Blank
from ..trial import Ask, Step, Trial, Truth

#: With more displays than this, those that come between others again and again are drawn once and then only named.
_MANY = 18


@dataclass(frozen=True)
class Frame:
    """A display of the timeline, or several equal ones in a row.

    Parameters
    ----------
    first, last : numbers of the steps; None for a display that goes on with a step
    phase : in words
    stimulus : what is drawn
    ms : its durations, that of the empty screen after it included; None = self-paced
    people_only : whether machines do not get it
    ask, truth : the question that belongs to it, and the step's truth
    variants : of feedback, what is shown after each verdict
    copies : how many equal displays it stands for
    then : what comes after it and was drawn before
    """

    first: int | None
    last: int | None
    phase: str
    stimulus: Stimulus
    ms: tuple[float | None, ...]
    people_only: bool
    ask: Ask | None
    truth: Truth
    variants: tuple[tuple[str, Stimulus], ...] = ()
    copies: int = 1
    then: tuple[str, ...] = ()

    @property
    def number(self) -> str:
        """The number of the step, or of the first and the last."""
        if self.first is None:
            return ""
        return str(self.first) if self.first == self.last else f"{self.first}–{self.last}"

    @property
    def time(self) -> str:
        """The duration in words."""
        lasts = " + ".join("self-paced" if ms is None else str(round(ms)) for ms in self.ms)
        return (f"{self.copies} × " if self.copies > 1 else "") + lasts + ("" if self.ms[-1] is None else " ms")


def frames_of(trial: Trial) -> list[Frame]:
    """The displays of a trial, folded: an empty screen after a display is part of it, equal displays in a row are one, and in a long trial what comes between
    others again and again (intervals, feedback, empty screens) is drawn the first time only."""
    frames = _in_a_row(frame for step in trial.steps for frame in _frames(step))
    return _named(frames) if len(frames) > _MANY else frames


def _frames(step: Step) -> list[Frame]:
    """The displays of a step; the question belongs to the one that machines get."""
    percept = step.percept
    frames: list[Frame] = []
    for place, display in enumerate(percept.displays):
        shown_to_machines = display is percept.for_machine
        if place and not shown_to_machines and step.feedback is None and display.stimulus == Blank.model_validate({}) and display.ms is not None:
            frames[-1] = replace(frames[-1], ms=(*frames[-1].ms, display.ms))
            continue
        frames.append(
            Frame(
                first=step.index + 1 if place == 0 else None,
                last=step.index + 1 if place == 0 else None,
                phase=percept.phase.replace("_", " "),
                stimulus=display.stimulus,
                ms=(display.ms,),
                people_only=not percept.model_step or not shown_to_machines,
                ask=percept.ask if shown_to_machines else None,
                truth=step.truth,
                variants=()
                if step.feedback is None
                else tuple((verdict, step_of_verdict.displays[place].stimulus) for verdict, step_of_verdict in step.feedback.items()),
            )
        )
    return frames


def _alike(one: Frame, other: Frame) -> bool:
    """Whether nobody could tell the displays apart, nor has to answer them."""
    same = (one.phase, one.stimulus, one.ms, one.people_only, one.variants) == (other.phase, other.stimulus, other.ms, other.people_only, other.variants)
    return same and one.ask is None and other.ask is None


def _in_a_row(frames: Iterable[Frame]) -> list[Frame]:
    folded: list[Frame] = []
    for frame in frames:
        if folded and _alike(folded[-1], frame) and frame.first is not None and None not in frame.ms:
            folded[-1] = replace(folded[-1], copies=folded[-1].copies + 1, last=frame.last)
        else:
            folded.append(frame)
    return folded


def _named(frames: Sequence[Frame]) -> list[Frame]:
    named: list[Frame] = []
    for frame in frames:
        between = frame.people_only or frame.variants or isinstance(frame.stimulus, Blank)
        if between and any(_alike(frame, kept_frame) and frame.copies == kept_frame.copies for kept_frame in named):
            named[-1] = replace(named[-1], then=(*named[-1].then, f"{frame.phase} {frame.time}"))
        else:
            named.append(frame)
    return named
