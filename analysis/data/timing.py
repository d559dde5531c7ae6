"""The timing of a session: planned and shown durations, onsets, the clock of reaction times,
dropped frames, and a verdict in one line."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any

from ...core.errors import SpanLabError, in_number
from ...core.json_values import as_object
from ...sessions.record.displays import Displays, implausible_in, read_displays, refresh_ms, replacements
from ...sessions.record.reader import find_sessions, read_events, read_session
from ...sessions.record.session_info import in_browser

#: The share of timed displays that must last for exactly their planned refreshes.
ON_PLAN = 0.995
#: The rate found over a session may differ by this share from the one measured when its window
#: opened.
SAME_RATE = 0.01
#: A picture may have come on so many refreshes before its time stamp, in all but (1 - ON_PLAN) of
#: the displays.
EARLY = 0.5
#: So many trials may be cut off and replaced, or such a share of those that were begun, before it
#: is worth a look.
FEW_REPLACED, SHARE_REPLACED = 3, 0.1
#: Presses without an effect, by what the record says of them.
_IDLE = {
    "too soon": "too soon after the one before",
    "extra": "after the answer",
    "full": "marks too many",
    "not yet": "confirmations too early",
    "nothing": "without a meaning",
    "late": "too late",
    "between": "between trials",
}
#: Reaction times are checked for clumping at refreshes from so many on, and called clumped below
#: this probability.
_ENOUGH_RTS, _BY_CHANCE = 40, 0.001

#: what the times of a browser are, and what nobody can know there
IN_BROWSERS = (
    "durations are counted refreshes, and onsets the time stamps of animation frames: as a rule the light comes on one"
    " to three refreshes later. Reaction times contain this delay and that of a keyboard, mouse or touch screen, which"
    " nobody has measured: compare conditions within people"
)


@dataclass(frozen=True, slots=True)
class TimedPress:
    """One reaction time, and when the hand acted, where a simulated participant recorded it."""

    rt_ms: float
    injected_ms: float | None = None


@dataclass(frozen=True, slots=True)
class SessionTiming:
    """Everything that a session's record holds about its timing.

    Parameters
    ----------
    name : of the session
    displays : those with a time to last, and counts of the others
    hz : refresh rate by which durations were turned into frames
    by_screen : whether flips waited for the screen (otherwise they were paced by the clock)
    measured_ms : from one refresh to the next, found over the session; None for too few displays
    keyboard : how keys were read: ptb or event; empty when not recorded
    presses : reaction times
    clock : (s from the first step, ms by which the clock of onsets has moved against the computer's
        own) of each step
    jumps_ms : jumps of the clock that were noticed while the session ran
    differences : in which ways the display was not the one of the display file that the session
        cites
    notes : what else happened in each step
    idle : how many presses had no effect, by why
    at_page : whether it was taken at a page in a browser
    implausible : of the trials whose times cannot be true by the clock of the server, the reasons
    trials, replaced : trials that were begun, and how many of them were cut off and replaced
    """

    name: str
    displays: Displays
    hz: float
    by_screen: bool
    measured_ms: float | None
    keyboard: str
    presses: tuple[TimedPress, ...]
    clock: tuple[tuple[float, float], ...]
    jumps_ms: tuple[float, ...]
    differences: tuple[str, ...]
    notes: tuple[Mapping[str, Any], ...]
    idle: Mapping[str, int] = field(default_factory=dict)
    at_page: bool = False
    implausible: tuple[tuple[str, ...], ...] = ()
    trials: int = 0
    replaced: int = 0

    @property
    def frame_ms(self) -> float:
        """The time from one refresh to the next: as measured over the session where the screen sets
        the pace, as planned where the clock does."""
        return self.measured_ms if self.by_screen and self.measured_ms is not None else 1000.0 / self.hz

    def onset_errors(self) -> list[tuple[float, float, float]]:
        """For each onset of a run: s since the first one, ms by which it is off the plan, and ms by
        which it is off the refreshes that were counted. Runs lie on their refreshes as a whole
        (their median), so that no single onset, the first least of all, is taken as the measure of
        the others."""
        errors = []
        for run in self.displays.runs:
            ends = [display.onset_ms + display.shown_ms - run[0].onset_ms for display in run]
            shown = [0, *accumulate(display.shown_frames for display in run)]
            planned = [0, *accumulate(display.planned_frames + display.waited for display in run)]
            stray = [since - count * self.frame_ms for since, count in zip([0.0, *ends], shown, strict=True)]
            middle = statistics.median(stray)
            for since, off, count, plan in zip([0.0, *ends], stray, shown, planned, strict=True):
                errors.append((since / 1000.0, off - middle + (count - plan) * self.frame_ms, off - middle))
        return errors

    def clumping(self) -> float | None:
        """The probability that reaction times lie as unevenly between two refreshes by chance
        (Rayleigh test); None for too few.

        People do not keep step with a screen: times that do are times at which keys were looked at,
        not pressed.
        """
        if len(self.presses) < _ENOUGH_RTS:
            return None
        angles = [2 * math.pi * press.rt_ms / self.frame_ms for press in self.presses]
        count = len(angles)
        z = (sum(map(math.cos, angles)) ** 2 + sum(map(math.sin, angles)) ** 2) / count
        return min(1.0, math.exp(-z) * (1 + (2 * z - z * z) / (4 * count)))

    def early_ms(self) -> float | None:
        """Return how many ms before the time stamp of its onset a picture can have appeared, at
        most; None in older records, in which this was not measured."""
        return max(self.displays.early_ms, default=None)

    def idle_presses(self) -> str:
        """Return how many presses had no effect, and why, in a sentence; empty where all had one."""
        return ", ".join(f"{self.idle[why]:,} {words}" for why, words in _IDLE.items() if self.idle.get(why))


def session_timing(folder: Path) -> SessionTiming | None:
    """The timing of one session; None where nothing was shown for a given time, as in sessions of
    machines.

    Raises
    ------
    SpanLabError
        when the session cannot be read.
    """
    info, events = read_session(folder), read_events(folder)
    displays = read_displays(events)
    if not displays.timed:
        return None
    apparatus = info.get("apparatus") or {}
    measured_ms = refresh_ms(displays)
    hz = apparatus.get("hz") or (1000.0 / measured_ms if measured_ms else None)
    if hz is None:
        raise SpanLabError(
            f"{folder} does not have the refresh rate of its display: the session ended before its first trial did"
        )
    steps: list[Mapping[str, Any]] = [event for event in events if event["event"] == "step" and event.get("shown")]
    return SessionTiming(
        name=str(info.get("session") or folder.name),
        displays=displays,
        hz=float(hz),
        by_screen=apparatus.get("frames_by") == "screen",
        measured_ms=measured_ms,
        keyboard=str(apparatus.get("keyboard") or ""),
        presses=tuple(_presses(steps)),
        clock=tuple(_clock(steps)),
        jumps_ms=tuple(float(step["clock_jump_ms"]) for step in map(_notes_of, steps) if "clock_jump_ms" in step),
        differences=tuple((apparatus.get("display") or {}).get("differences", ())),
        notes=tuple(map(_notes_of, steps)),
        idle=_idle(events),
        at_page=in_browser(info),
        implausible=implausible_trials(steps),
        trials=sum(event["event"] == "trial_start" for event in events),
        replaced=replacements(events),
    )


def implausible_trials(steps: Iterable[Mapping[str, Any]]) -> tuple[tuple[str, ...], ...]:
    """The reasons why times cannot be true, of each attempt at a trial that has any."""
    reasons: dict[tuple[str, int], dict[str, None]] = {}
    for step in steps:
        if found := implausible_in(step):
            reasons.setdefault((str(step["trial"]), int(step["attempt"])), {}).update(dict.fromkeys(found))
    return tuple(map(tuple, reasons.values()))


def _idle(events: Iterable[Mapping[str, Any]]) -> Mapping[str, int]:
    """Return how many presses had no effect, by why."""
    counts: Counter[str] = Counter()
    for event in events:
        notes = _notes_of(event)
        presses = [*as_object(event.get("raw")).get("presses", ()), *notes.get("presses", ())]
        counts.update(press["does"] for press in presses if press.get("does") in _IDLE)
        counts["late"] += len(notes.get("late", ())) + len(event.get("after_trial", ()))
        counts["between"] += len(notes.get("before_trial", ()))
    return {why: count for why, count in counts.items() if count}


def _notes_of(step: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**(step.get("notes") or {}), **(step.get("happened") or {})}


def _presses(steps: Iterable[Mapping[str, Any]]) -> Iterable[TimedPress]:
    for step in steps:
        if step.get("rt_ms") is not None:
            injected = _notes_of(step).get("injected_ms") or []
            nearest = min(injected, key=lambda ms: abs(ms - step["rt_ms"]), default=None)
            yield TimedPress(float(step["rt_ms"]), nearest)


def _clock(steps: Sequence[Mapping[str, Any]]) -> Iterable[tuple[float, float]]:
    """Both clocks at each step, from the first on. The computer's own is read within a few ms after
    the onset, never before: of each ten steps in a row, the one at which it was read soonest
    counts."""
    both = [
        (step["shown"][0]["onset_ms"] / 1000.0, float(_notes_of(step)["monotonic_s"]))
        for step in steps
        if "monotonic_s" in _notes_of(step)
    ]
    if not both:
        return
    first = both[0]
    parted = [(onset - first[0], ((onset - first[0]) - (computer - first[1])) * 1000.0) for onset, computer in both]
    soonest = [max(parted[n : n + 10], key=lambda point: point[1]) for n in range(0, len(parted), 10)]
    for at, ms in soonest:
        yield at, ms - soonest[0][1]


@dataclass(frozen=True, slots=True)
class TimingVerdict:
    """The verdict on a session: whether its timing holds, the sentence, its numbers alone, and what
    to look at."""

    holds: bool
    line: str
    numbers: str
    look: tuple[str, ...]


def verdict(session: SessionTiming) -> TimingVerdict:
    """Judge the timing of a session: ``pass``, or ``look`` with what is not as it should be."""
    timed = session.displays.timed
    off = [display for display in timed if display.off]
    silent = [display for display in off if not display.owned_up]
    stray = max((abs(ms) for _, _, ms in session.onset_errors()), default=0.0)
    look = []
    if len(off) > (1 - ON_PLAN) * len(timed):
        look.append(
            f"{len(off)} of {len(timed)} timed displays ({len(off) / len(timed):.1%}) did not last for their planned"
            " refreshes"
        )
    if silent:
        look.append(f"{_plural(len(silent), 'display')} off plan without a recorded late frame")
    if stray > session.frame_ms:  # a refresh was counted that did not come, or came and was not counted
        look.append(f"onsets are up to {stray:.1f} ms away from the refreshes that were counted")
    if session.measured_ms is not None and abs(session.measured_ms * session.hz / 1000.0 - 1) > SAME_RATE:
        look.append(
            f"refreshes came at {1000 / session.measured_ms:.2f} Hz, and durations were planned for {session.hz:.2f} Hz"
        )
    frames, lasted = sum(display.shown_frames for display in timed), sum(display.shown_ms for display in timed)
    away_ms = abs(lasted - 1000.0 * frames / session.hz)
    if session.measured_ms is None and away_ms > max(SAME_RATE * lasted, session.frame_ms / 2):
        look.append(f"{frames:,} refreshes took {lasted:,.0f} ms, and durations were planned for {session.hz:.2f} Hz")
    if not session.by_screen:
        look.append("flips did not wait for the screen: this says what the program did, not what the screen showed")
    early = session.displays.early_ms
    if (often := sum(ms > EARLY * session.frame_ms for ms in early)) > (1 - ON_PLAN) * len(early):
        look.append(
            f"{often:,} of {len(early):,} pictures may have come on more than half a refresh before the time stamps of"
            " their onsets"
        )
    if lost := sum("passed_on_too_late" in note for note in session.notes):
        look.append(f"in {_plural(lost, 'step')}, a press within the window reached the program too late to count")
    if away := sum("focus_lost" in note for note in session.notes):
        look.append(f"in {_plural(away, 'step')}, another window had the focus and may have covered the display")
    if session.keyboard == "event":
        look.append("keys were read once a refresh: reaction times are precise to a refresh only")
    elif session.presses and not session.keyboard and not session.at_page:
        look.append("the record does not say how keys were read, so the precision of reaction times is not known")
    elif (clumping := session.clumping()) is not None and clumping < _BY_CHANCE:
        look.append("reaction times clump at refreshes")
    look += session.differences
    if worst := max(session.jumps_ms, key=abs, default=0.0):
        look.append(
            f"the computer's clock jumped ({_plural(len(session.jumps_ms), 'time')}, by {worst:+.0f} ms at most)"
        )
    if session.implausible:
        why = Counter(reason for reasons in session.implausible for reason in reasons)
        listed = ", ".join(f"{reason}: {count:,}" for reason, count in why.most_common())
        look.append(f"in {_plural(len(session.implausible), 'trial')}, times cannot be true ({listed})")
    if session.replaced > max(FEW_REPLACED, SHARE_REPLACED * session.trials):
        look.append(f"{_plural(session.replaced, 'trial')} of {session.trials:,} that were begun had to be replaced")
    numbers = (
        f"{len(timed) - len(off):,} of {len(timed):,} timed displays on plan, onsets within {stray:.2f} ms of their"
        f" refreshes, {session.displays.dropped:,} of {session.displays.frames:,} frames late, {session.hz:.2f} Hz by"
        f" the {'screen' if session.by_screen else 'clock'}"
        + (
            f", pictures at most {worst_early:.1f} ms before their time stamps"
            if (worst_early := session.early_ms()) is not None
            else ""
        )
    )
    return TimingVerdict(
        not look,
        f"{session.name}: {'pass' if not look else 'look'} ({numbers})" + (f": {'; '.join(look)}" if look else ""),
        numbers,
        tuple(look),
    )


def timing_in_short(folder: Path) -> str:
    """The verdict on the timing of a session in a few words: ``pass``, or ``look`` with the
    numbers; empty where nothing was shown for a given time."""
    timing = session_timing(folder)
    if timing is None:
        return ""
    judged = verdict(timing)
    timed, off = len(timing.displays.timed), sum(bool(display.off) for display in timing.displays.timed)
    return (
        "pass"
        if judged.holds
        else f"look ({timed - off} of {timed} displays on plan, {_plural(len(judged.look), 'remark')})"
    )


def _plural(count: int, word: str) -> str:
    return f"{count:,} {in_number(count, word)}"


def read_timings(paths: Sequence[str | Path]) -> tuple[list[SessionTiming], list[str]]:
    """The timing of sessions, or of data folders full of them, and the names of those in which
    nothing was shown for a given time.

    Raises
    ------
    SpanLabError
        when nothing was timed at all, or a session cannot be read.
    """
    timings, others = [], []
    for folder in find_sessions(paths):
        timing = session_timing(folder)
        if timing is None:
            others.append(folder.name)
        else:
            timings.append(timing)
    if not timings:
        raise SpanLabError(
            "no display was shown for a given time in " + ", ".join(others) + ": only sessions at a window have timing"
        )
    return timings, others
