"""Evidence of the server's own clock about the times that a page reports: which of them cannot be
true, and why.

Every bound is one from below. A page cannot show a trial before the server has said that it begins,
and cannot report a step before its displays were shown. A slow line only makes reports later, so it
accuses nobody. How late they are beyond that is recorded, and judged by nobody.
"""

# pyright: strict
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

from spanlab.paradigms import Percept

from .reports import DisplayReport, StepReading, StepReport

Reason = Literal[
    "before its displays",
    "longer than the server waited",
    "before its question",
    "displays out of order",
    "before the picture",
]
#: Why a time cannot be true.
REASONS: tuple[Reason, ...] = get_args(Reason)

#: Clocks of two computers differ by this share at most, and what a browser rounds or foresees is
#: shorter than this (ms).
CLOCK_SHARE, SLACK_MS = 0.01, 250.0
#: A display may be shorter than planned by half a refresh; no screen in use has longer ones (ms).
_LONGEST_REFRESH_MS = 34.0
#: Reaction times of less than a refresh happen by chance. From so many on, and this share of all,
#: they do not.
_TOO_OFTEN, _SHARE = 3, 0.1


@dataclass(frozen=True, slots=True)
class Told:
    """Arrival of a report at the server.

    Parameters
    ----------
    at : on the server's clock (s)
    cut_s : for how long the line was cut since the trial began
    period_ms : from one refresh of the page's screen to the next
    """

    at: float
    cut_s: float
    period_ms: float


class TimeWitness:
    """The server's view of the times of one session.

    It is told when a trial begins and when each of its steps was reported, all in seconds of the
    server's clock, and says what cannot be true.
    """

    def __init__(self) -> None:
        self._began = 0.0
        self._least_ms = 0.0
        self._first_onset_ms: float | None = None
        self._last_end_ms: float | None = None
        self._answers = self._at_once = 0

    def trial_begins(self, at: float) -> None:
        """Say that the page was allowed to begin a trial, or to go on with one after it was loaded
        anew."""
        self._began, self._least_ms = at, 0.0
        self._first_onset_ms = self._last_end_ms = None

    def look(self, percept: Percept, report: StepReport, reading: StepReading, told: Told) -> dict[str, Any]:
        """Return notes on a step for the record.

        Parameters
        ----------
        reading : of the report, by the rules of the window
        told : when the report arrived, and over which line
        """
        since_ms = 1000.0 * (told.at - self._began)
        period_ms = min(told.period_ms, _LONGEST_REFRESH_MS)
        self._least_ms += least_ms(percept, period_ms, reading.answered)
        onset = report.displays[0].onset
        if self._first_onset_ms is None:
            self._first_onset_ms = onset
        played = max([*map(_end, report.displays), *(press.t for press in report.presses)]) - self._first_onset_ms
        longest = since_ms * (1 + CLOCK_SHARE) + SLACK_MS
        rt_ms = reading.rt_ms
        faults: dict[Reason, bool] = {
            "before its displays": since_ms < self._least_ms * (1 - CLOCK_SHARE) - SLACK_MS,
            "longer than the server waited": max(played, rt_ms or 0.0) > longest,
            "before its question": (rt_ms or 0.0) < 0 or any(press.t < onset for press in report.presses),
            "displays out of order": not self._in_order(report),
            "before the picture": self._answered_at_once(rt_ms, period_ms),
        }
        self._last_end_ms = _end(report.displays[-1])
        late_ms = since_ms - played - 1000.0 * told.cut_s
        notes: dict[str, Any] = {"reported_after_ms": round(since_ms, 1), "reported_late_ms": round(late_ms, 1)}
        if told.cut_s:
            notes["line_cut_ms"] = round(1000.0 * told.cut_s, 1)
        if any(faults.values()):
            notes["implausible"] = [reason for reason, holds in faults.items() if holds]
        return notes

    def _in_order(self, report: StepReport) -> bool:
        """Return whether the displays follow one another, and those of the step before."""
        before = self._last_end_ms
        if report.closing is not None:
            before = _end(report.closing)
        for display in report.displays:
            too_soon = before is not None and display.onset < before - SLACK_MS
            if too_soon or _end(display) < display.onset:
                return False
            before = _end(display)
        return True

    def _answered_at_once(self, rt_ms: float | None, period_ms: float) -> bool:
        """Return whether this answer came within a refresh of its question, as too many have."""
        if rt_ms is None:
            return False
        self._answers += 1
        at_once = 0 <= rt_ms < period_ms
        self._at_once += at_once
        return at_once and self._at_once >= max(_TOO_OFTEN, _SHARE * self._answers)


def least_ms(percept: Percept, period_ms: float, answered: bool) -> float:
    """Return for how long a step lasts at least (ms), whatever is pressed in it.

    Parameters
    ----------
    period_ms : from one refresh to the next: a display may be shorter than planned by half of it
    answered : whether its question was answered, which may end the step
    """
    ask = percept.ask
    if ask is not None and ask.ends == "on_answer" and answered:
        return 0.0
    times = [display.ms for display in percept.displays]
    least = sum(max(0.0, ms - period_ms / 2) for ms in times if ms is not None)
    if ask is not None and ask.window_ms is not None and times[-1] is None:
        return max(least, ask.window_ms - period_ms)
    return least


def _end(display: DisplayReport) -> float:
    return display.onset if display.end is None else display.end
