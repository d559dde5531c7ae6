"""Reports of a page about a step, checked, and read by the rules of the window: the server decides
what was answered, never the page."""

# pyright: strict
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from spanlab.agents import Response, Shown
from spanlab.agents.human.input import AnswerSheet, Button, Press, StepAccount, Writing, time_of
from spanlab.core import SpanLabError
from spanlab.paradigms import Percept

#: Times of a page are ms since it was loaded.
_Ms = Annotated[float, Field(ge=0, le=1e10, allow_inf_nan=False)]
_Place = Annotated[float, Field(ge=-1e4, le=1e4, allow_inf_nan=False)]
_Frames = Annotated[int, Field(ge=0, le=10_000_000)]
#: A text has no more characters.
_MOST_TEXT = 4_000
#: More presses than this in one step nobody makes.
_MOST_PRESSES = 2_000


class _Report(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class PressReport(_Report):
    """A key or a button going down at ``t``; the browser told the page at ``heard``. ``display`` is
    the number of the display on the screen, from 0."""

    device: Literal["key", "click"]
    t: _Ms
    heard: _Ms | None = None
    key: Annotated[str, Field(max_length=24)] = ""
    x: _Place = 0.0
    y: _Place = 0.0
    button: Button = ""
    held: bool = False
    touch: bool = False
    display: Annotated[int, Field(ge=0, le=1000)] = 0

    def press(self) -> Press:
        """The press as the window has it, in seconds."""
        return Press(self.device, self.t / 1000.0, self.key, self.x, self.y, self.held, self.button)


class DisplayReport(_Report):
    """Showing of a display: from ``onset`` until ``end``, which is None while it is still on the
    screen."""

    onset: _Ms
    end: _Ms | None
    planned: _Frames | None
    frames: _Frames
    dropped: _Frames


class Absence(_Report):
    """A time in which the page had no focus, or in which a step was paused."""

    at: _Ms
    until: _Ms


class ScreenChange(_Report):
    """The screen was not as before from ``at`` on: the page had another size, or other pixels
    (zoom), and the canvas took ``shown_px`` of them."""

    at: _Ms
    window_px: tuple[_Frames, _Frames]
    pixel_ratio: Annotated[float, Field(gt=0, le=20, allow_inf_nan=False)]
    shown_px: _Frames


_Pulses = Annotated[list[_Ms], Field(max_length=10_000)]
_Presses = Annotated[list[PressReport], Field(max_length=_MOST_PRESSES)]


class StepReport(_Report):
    """A step as the page has played it.

    Parameters
    ----------
    presses : in the order of their times
    left_out : how often a key that lay down repeated itself beyond what is told
    complete : whether the page takes the question for answered
    text : what was written, where somebody was asked to
    earlier : presses that happened before this step came on, and were passed on after the step
        before was told
    closing : the end of the display before, where the step before was told while it was on the
        screen
    before : presses since the trial before
    interval_ms : the empty screen before the trial
    waited_ms : for the server's verdict
    waited_frames : until no answer could come any more
    paused : when the step was paused: the display was covered, or the page hidden
    changes : of the screen, since the report before
    pulses : of a scanner, since the report before
    tone : how a tone was given
    """

    displays: Annotated[list[DisplayReport], Field(min_length=1, max_length=1000)]
    presses: _Presses
    left_out: _Frames = 0
    complete: bool = False
    text: Annotated[str, Field(max_length=_MOST_TEXT)] | None = None
    earlier: _Presses = []
    closing: DisplayReport | None = None
    before: _Presses = []
    interval_ms: _Ms | None = None
    waited_ms: _Ms | None = None
    waited_frames: _Frames = 0
    absences: Annotated[list[Absence], Field(max_length=1000)] = []
    paused: Annotated[list[Absence], Field(max_length=1000)] = []
    left_fullscreen: bool = False
    changes: Annotated[list[ScreenChange], Field(max_length=1000)] = []
    pulses: _Pulses = []
    tone: Literal["sound (Web Audio)", "ring"] | None = None


class EndReport(_Report):
    """The trial is over for the page."""

    closing: DisplayReport | None = None
    earlier: _Presses = []
    pulses: _Pulses = []


class PulseReport(_Report):
    """The pulses that the page has waited for."""

    pulses: _Pulses


def checked(model: type[StepReport] | type[EndReport] | type[PulseReport], body: Mapping[str, Any]) -> Any:
    """A report of this kind.

    Raises
    ------
    SpanLabError
        when the page has told something else.
    """
    try:
        return model.model_validate(body)
    except ValidationError as error:
        first = error.errors()[0]
        where = " > ".join(map(str, first["loc"]))
        raise SpanLabError(
            f"the page reported a step in a way that cannot be read ({where}: {first['msg']}): the session ends here,"
            " and can be resumed"
        ) from None


class StepReading:
    """A step as it is recorded; what was ``shown`` in it and its ``notes`` are completed by what the page tells with
    the step after it.

    Parameters
    ----------
    percept : as the participant was asked
    before : the press that ended the step before
    """

    def __init__(self, percept: Percept, report: StepReport, before: Press | None) -> None:
        if len(report.displays) > len(percept.displays):
            raise SpanLabError(
                "the page showed more displays than the step has: the session ends here, and can be resumed"
            )
        self._displays, self._paused = report.displays, report.paused
        onset = report.displays[0].onset / 1000.0
        sheet = None if percept.ask is None else AnswerSheet(percept.ask, onset, writing=Writing(report.text or ""))
        shown = [_shown(percept, number, one, report.paused) for number, one in enumerate(report.displays)]
        #: what became of it, by the rules of the window
        self.step = StepAccount(percept, onset, sheet, before=before, shown=shown)
        self._note(report)
        number = 0
        for press in report.presses:
            for _ in range(number, press.display):
                self.step.next_display()
            number = max(number, press.display)
            self._take(press)
        if sheet is not None:
            sheet.paused = self._paused_until(None)
        self.agrees = sheet is None or sheet.complete == report.complete

    @property
    def answered(self) -> bool:
        """True if the step had a question, and it was answered."""
        return self.step.sheet is not None and self.step.sheet.complete

    @property
    def rt_ms(self) -> float | None:
        """The reaction time of the answer; None where there is none."""
        return None if self.step.sheet is None else self.step.sheet.reaction_time_ms

    def _note(self, report: StepReport) -> None:
        onset = self.step.onset
        if report.before:
            self.step.notes["before_trial"] = [press.press().record(onset) for press in report.before]
        if report.interval_ms is not None:
            self.step.notes["interval_ms"] = round(report.interval_ms, 3)
        if report.waited_ms is not None:
            self.step.notes["waited_for_verdict_ms"] = round(report.waited_ms, 3)
        if report.waited_frames:
            self.step.notes["waited_frames"] = report.waited_frames
        if report.left_out:
            self.step.notes["repeats_left_out"] = report.left_out
        if report.paused:
            self.step.notes["paused"] = [_away(pause, onset) for pause in report.paused]
        if report.absences:
            self.step.notes["focus_lost"] = [_away(absence, onset) for absence in report.absences]
        if report.tone is not None:
            self.step.notes["tone"] = report.tone
        if report.left_fullscreen:
            self.step.notes["left_fullscreen"] = True
        if report.changes:
            self.step.notes["screen_changed"] = [_changed(change, onset) for change in report.changes]
        delays = [press.heard - press.t for press in report.presses if press.heard is not None]
        if delays:
            self.step.notes["heard_after_ms"] = round(max(0.0, *delays), 3)
        if any(press.touch for press in report.presses):
            self.step.notes["touch"] = True

    def _take(self, report: PressReport) -> None:
        """Let a press have its effect, as at the window."""
        step, number = self.step, min(report.display, len(self._displays) - 1)
        if step.sheet is not None:
            step.sheet.paused = self._paused_until(report.t)
        step.take(report.press(), number, self._displays[number].onset / 1000.0)

    def _paused_until(self, at: float | None) -> float:
        """For how long (s) the step was paused before a moment; altogether where none is given."""
        return sum(pause.until - pause.at for pause in self._paused if at is None or pause.at <= at) / 1000.0

    def complete(self, closing: DisplayReport | None, earlier: Sequence[PressReport]) -> None:
        """Complete what is known of the step once the one after it has begun."""
        if closing is not None:
            self.step.shown[-1] = _shown(self.step.percept, len(self.step.shown) - 1, closing, self._paused)
        for report in earlier:
            self.step.take_late(report.press())

    def response(self) -> Response | None:
        """The answer; None where nothing was asked."""
        step = self.step
        return None if step.sheet is None or step.percept.ask is None else step.sheet.response(self.step.notes)


def _shown(percept: Percept, number: int, report: DisplayReport, paused: Sequence[Absence]) -> Shown:
    """Return how a display was shown, without the time for which it was covered; for 0 ms as long
    as its end is not known."""
    end = report.onset if report.end is None else report.end
    shown_ms = (
        end - report.onset - sum(max(0.0, min(pause.until, end) - max(pause.at, report.onset)) for pause in paused)
    )
    return Shown(
        planned_ms=time_of(percept, number),
        onset_ms=round(report.onset, 3),
        shown_ms=round(max(0.0, shown_ms), 3),
        planned_frames=report.planned,
        shown_frames=report.frames,
        dropped_frames=report.dropped,
    )


def _away(absence: Absence, onset: float) -> dict[str, float]:
    return {"at_ms": round(absence.at - onset * 1000.0, 1), "for_ms": round(max(0.0, absence.until - absence.at), 1)}


def _changed(change: ScreenChange, onset: float) -> dict[str, Any]:
    return {
        "at_ms": round(change.at - onset * 1000.0, 1),
        "window_px": list(change.window_px),
        "pixel_ratio": change.pixel_ratio,
        "canvas_px": change.shown_px,
    }
