"""The displays of a session, as its events say: which had a time to last, how they were shown, and what of
that stands in the response table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any

from typing_extensions import TypedDict

from .marking import Holds, InTable
from .session_info import in_browser

#: why a trial was cut off whose page was loaded anew
RELOADED = "reloaded"


#: An answer is followed by the end of its display within so many refreshes, where it ends the
#: display; and what late frames and a late press took.
_REFRESHES_AFTER_ANSWER = 3


@dataclass(frozen=True, slots=True)
class TimedDisplay:
    """A display with a planned duration that was shown to its end: not cut off by an answer or a
    pause.

    Parameters
    ----------
    trial : of the session, and which attempt at it
    onset_ms : on the session's clock
    planned_ms, planned_frames : how long it was to last
    shown_ms, shown_frames : how long it lasted
    dropped : refreshes at which a frame was missing
    waited : refreshes that were added on purpose, because the answer decides what comes next and
        the window was still open
    """

    trial: tuple[str, int]
    phase: str
    onset_ms: float
    planned_ms: float
    planned_frames: int
    shown_ms: float
    shown_frames: int
    dropped: int
    waited: int = 0

    @property
    def off(self) -> int:
        """The number of refreshes shown minus the number planned."""
        return self.shown_frames - self.planned_frames - self.waited

    @property
    def owned_up(self) -> bool:
        """True if the recorded late frames account for this difference."""
        return 0 <= self.off <= self.dropped


@dataclass(frozen=True, slots=True)
class Displays:
    """The displays of a session.

    Parameters
    ----------
    runs : displays with a given time that followed one another without anything else between them,
        each run within one trial
    cut : how many had a time to last and were ended by an answer
    paused : how many had a time to last and were covered by a pause
    frames, dropped : refreshes of all displays, self-paced ones among them, and those at which a
        frame was missing
    drops : of each trial in order
    early_ms : of every display, with or without a time to last, by how much its picture can have
        come on before its onset, at most
    """

    runs: tuple[tuple[TimedDisplay, ...], ...]
    cut: int
    paused: int
    frames: int
    dropped: int
    drops: Mapping[tuple[str, int], int]
    early_ms: tuple[float, ...] = ()

    @property
    def timed(self) -> list[TimedDisplay]:
        """All displays with a planned duration."""
        return [display for run in self.runs for display in run]


def read_displays(events: Iterable[Mapping[str, Any]]) -> Displays:
    """Read the displays of a session from its events."""
    runs: list[list[TimedDisplay]] = [[]]
    cut = paused = frames = dropped = 0
    drops: dict[tuple[str, int], int] = {}
    early: list[float] = []
    for event, shown, last in _shown(events):
        trial = _attempt(event)
        late = int(shown.get("dropped_frames") or 0)
        frames, dropped = frames + int(shown.get("shown_frames") or 0), dropped + late
        drops[trial] = drops.get(trial, 0) + late
        if shown.get("onset_bound_ms") is not None:
            early.append(float(shown["onset_bound_ms"]))
        if runs[-1] and runs[-1][-1].trial != trial:
            runs.append([])
        if shown.get("planned_ms") is None or not shown.get("planned_frames") or not shown.get("shown_frames"):
            runs.append([])
        elif _notes_of(event).get("paused"):
            paused += 1
            runs.append([])
        elif last and _ended_by_answer(event, shown):
            cut += 1
            runs.append([])
        else:
            waited = int(_notes_of(event).get("waited_frames", 0)) if last else 0
            values = (
                float(shown["onset_ms"]),
                float(shown["planned_ms"]),
                int(shown["planned_frames"]),
                float(shown["shown_ms"]),
                int(shown["shown_frames"]),
            )
            runs[-1].append(TimedDisplay(trial, str(event.get("phase", "")), *values, late, waited))
    return Displays(tuple(tuple(run) for run in runs if run), cut, paused, frames, dropped, drops, tuple(early))


def _shown(events: Iterable[Mapping[str, Any]]) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any], bool]]:
    """Every display with its step, and whether it is the step's last."""
    for event in events:
        if event.get("event") == "step":
            listed: Sequence[Mapping[str, Any]] = event.get("shown") or []
            for number, display in enumerate(listed):
                yield event, display, number == len(listed) - 1


def _notes_of(event: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**(event.get("notes") or {}), **(event.get("happened") or {})}


def _ended_by_answer(event: Mapping[str, Any], shown: Mapping[str, Any]) -> bool:
    """Return whether the answer ended this last display of its step before its time."""
    answered = event.get("rt_ms")
    if answered is None or shown["shown_frames"] >= shown["planned_frames"]:
        return False
    frame = shown["shown_ms"] / shown["shown_frames"]
    end = shown["onset_ms"] + shown["shown_ms"] - event["shown"][0]["onset_ms"]
    late = int(shown.get("dropped_frames") or 0) * frame + float(_notes_of(event).get("heard_after_ms", 0.0))
    return 0 <= end - answered <= _REFRESHES_AFTER_ANSWER * frame + late


def refresh_ms(displays: Displays) -> float | None:
    """The time from one refresh to the next, from the onsets of displays: the most precise measure
    in a session. None for too few displays."""
    gaps = [
        (later.onset_ms - earlier.onset_ms, earlier.shown_frames)
        for run in displays.runs
        for earlier, later in pairwise(run)
    ]
    if len(gaps) < 10:
        return None
    return sum(ms for ms, _ in gaps) / sum(frames for _, frames in gaps)


class TrialTiming(TypedDict):
    """The timing of a trial's displays, including those without a question."""

    trial_off_ms: Annotated[
        float | None,
        Holds(
            "largest deviation of a display of the trial from its planned duration; null if no display had one",
            "ms",
            measured=True,
        ),
        InTable(),
    ]
    trial_dropped_frames: Annotated[
        int | None,
        Holds(
            "number of late frames in displays of the trial with a planned duration; null if no display had one",
            "frames",
            measured=True,
        ),
        InTable(),
    ]
    trial_paused_ms: Annotated[
        float | None,
        Holds("time for which the trial was paused; null except in a window", "ms", measured=True),
        InTable(),
    ]
    trial_unfocused_ms: Annotated[
        float | None,
        Holds(
            "time for which another window had the focus in the trial; null if this was not monitored",
            "ms",
            measured=True,
        ),
        InTable(),
    ]
    trial_implausible: Annotated[
        str | None,
        Holds(
            "why times of the trial cannot be true by the server's own clock, separated by commas; empty if nothing"
            " speaks against them; null except at a page in a browser whose server kept its own time",
            measured=True,
        ),
        InTable(),
    ]
    trial_cuts: Annotated[
        int | None,
        Holds(
            "how many times the trial was begun before: cut off, and replaced by another one; null except in a window",
            measured=True,
        ),
        InTable(),
    ]
    trial_reloads: Annotated[
        int | None,
        Holds("how many of these times the page was loaded anew; null except in a browser", measured=True),
        InTable(),
    ]


def trial_timing(session: Mapping[str, Any], events: Sequence[Mapping[str, Any]]) -> dict[tuple[str, int], TrialTiming]:
    """Return the timing of the displays of each attempt at a trial; only where there was a window.

    Returns
    -------
    of each trial and attempt the values, None where nothing had a time to last, or nobody watched
    """
    apparatus: Mapping[str, Any] = session.get("apparatus") or {}
    watched = apparatus.get("focus") == "watched"
    timings: dict[tuple[str, int], TrialTiming] = {}
    reloads: Counter[str] = Counter()
    for event in events:
        if event.get("event") == "trial_cut" and event.get("why") == RELOADED:
            reloads[str(event["trial"])] += 1
        if event.get("event") == "step" and event.get("shown"):
            trial, attempt = _attempt(event)
            new = TrialTiming(
                trial_off_ms=None,
                trial_dropped_frames=None,
                trial_paused_ms=0.0,
                trial_unfocused_ms=0.0 if watched else None,
                trial_implausible=None,
                trial_cuts=attempt - 1,
                trial_reloads=reloads[trial] if in_browser(session) else None,
            )
            timing = timings.setdefault((trial, attempt), new)
            notes = _notes_of(event)
            if "reported_after_ms" in notes or "implausible" in notes:
                timing["trial_implausible"] = _joined(timing["trial_implausible"], implausible_in(event))
            timing["trial_paused_ms"] = round((timing["trial_paused_ms"] or 0.0) + _away(notes.get("paused")), 1)
            if watched:
                timing["trial_unfocused_ms"] = round(
                    (timing["trial_unfocused_ms"] or 0.0) + _away(notes.get("focus_lost")), 1
                )
    for display in read_displays(events).timed:
        timing = timings[display.trial]
        on_purpose = display.waited * display.shown_ms / display.shown_frames
        timing["trial_off_ms"] = max(
            timing["trial_off_ms"] or 0.0, round(abs(display.shown_ms - on_purpose - display.planned_ms), 3)
        )
        timing["trial_dropped_frames"] = int(timing["trial_dropped_frames"] or 0) + display.dropped
    return timings


def _attempt(event: Mapping[str, Any]) -> tuple[str, int]:
    return str(event["trial"]), int(event.get("attempt", 1))


def implausible_in(step: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the reasons why times of a step cannot be true, as the server saw it."""
    return tuple(map(str, _notes_of(step).get("implausible") or ()))


def replacements(events: Iterable[Mapping[str, Any]]) -> int:
    """Count the trials that were begun once more, because the attempt before was not finished."""
    attempts: dict[str, int] = {}
    for event in events:
        if event.get("event") == "trial_start":
            attempts[event["trial"]] = max(attempts.get(event["trial"], 1), int(event["attempt"]))
    return sum(attempts.values()) - len(attempts)


def _joined(before: str | None, reasons: Iterable[str]) -> str:
    """Reasons separated by commas, each once."""
    return ", ".join(dict.fromkeys([*filter(None, (before or "").split(", ")), *reasons]))


def _away(times: Any) -> float:
    return sum(float(absence.get("for_ms") or 0.0) for absence in times or ())
