"""Measuring a display: how often it is refreshed, how steadily flips come, how often keyboard and
mouse are looked at."""

from __future__ import annotations

import platform
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import pairwise
from typing import Any

from ....core.locale import FALLBACK, sentence
from ..input.keyboard import Backend, Keyboard
from .colours import MUTED
from .file import DisplayFile
from .lettering import PictureStore, TextBlock, set_text
from .window import LabWindow, Screen

#: Seconds before each refresh at which waiting ends, as in sessions.
_GUARD = 0.003


@dataclass(frozen=True, slots=True)
class Flips:
    """Measurements of some seconds of flips.

    Parameters
    ----------
    times : of the flips, in seconds
    passed : refreshes from the flip before to each one but the first
    polls : when keyboard and mouse were looked at, in seconds
    """

    times: Sequence[float]
    passed: Sequence[int]
    polls: Sequence[float]

    @property
    def hz(self) -> float:
        """Refreshes per second; missed refreshes are counted, too."""
        return sum(self.passed) / (self.times[-1] - self.times[0])

    def intervals_ms(self) -> list[float]:
        """From one flip to the next."""
        return [(later - earlier) * 1000.0 for earlier, later in pairwise(self.times)]


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which ``share`` of the values lie."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def watch(window: LabWindow, draw: Callable[[], object], poll: Callable[[], object], seconds: float) -> Flips:
    """Flip for some seconds just as in a session: waiting, looking after keyboard and mouse all the
    while, drawing, flipping."""
    times, passed, polls = [], [], []

    def look() -> None:
        polls.append(window.now())
        poll()

    for _ in range(10):  # nothing of the start-up counts
        draw()
        window.flip()
    while not times or times[-1] - times[0] < seconds:
        window.wait(_GUARD, look)
        draw()
        at, refreshes = window.flip()
        passed += [refreshes] if times else []
        times.append(at)
    return Flips(times, passed, polls)


def measure_display(
    *,
    width_cm: float,
    distance_cm: float,
    screen: int = 0,
    seconds: float = 5.0,
    keyboard: Backend = "ptb",
    fullscreen: bool = True,
    language: str = FALLBACK,
    say: Callable[[str], None] = lambda sentence: None,
) -> DisplayFile:
    """Open the window, measure, close it again.

    Parameters
    ----------
    width_cm, distance_cm : visible width of the screen and distance of the eyes, as measured with a
        ruler
    screen : number of the screen, from 0
    seconds : how long to measure
    keyboard : how keys are to be read
    language : of the notice on the screen
    say : told, in a sentence, what is not as a lab would want it

    Raises
    ------
    SpanLabError
        when no window can be opened.
    """
    window = LabWindow(Screen(fullscreen, screen, width_cm=width_cm, distance_cm=distance_cm), say)
    try:
        keys = Keyboard(keyboard, say)
        handle = window.win.winHandle
        notice = PictureStore(window.win).once(
            set_text((TextBlock(sentence("display.measuring", language), 24, MUTED),), window.size[0])
        )

        def draw() -> None:
            notice.draw()

        def poll() -> None:
            keys.poll()
            handle.dispatch_events()

        flips = watch(window, draw, poll, seconds)
        backend, devices = keys.backend, keys.devices
        apparatus = window.apparatus()
        keys.close()
    finally:
        window.close()
    return described(apparatus, flips, backend, devices, window.trouble, seconds)


def described(
    apparatus: dict[str, Any], flips: Flips, backend: Backend, devices: int, trouble: str, seconds: float
) -> DisplayFile:
    """The measurements as a display file."""
    intervals = flips.intervals_ms()
    gaps = [(later - earlier) * 1000.0 for earlier, later in pairwise(flips.polls)]
    vsync = bool(apparatus["vsync"])
    return DisplayFile.model_validate(
        {
            "made": {
                "at": datetime.now(UTC).isoformat(timespec="seconds"),
                "machine": platform.node(),
                "system": f"{platform.system()} {platform.release()}",
                "spanlab": version("spanlab"),
                "psychopy": apparatus["psychopy"],
            },
            "screen": {
                "number": apparatus["screen"],
                "resolution_px": tuple(apparatus["screen_px"]),
                "width_cm": float(apparatus["screen_width_cm"]),
                "distance_cm": float(apparatus["distance_cm"]),
            },
            "refresh": {
                "vsync": vsync,
                "hz": round(flips.hz, 4) if vsync else None,
                "trouble": trouble,
                "flips_hz": float(apparatus["measured_hz"]),
                "paced_hz": None if vsync else float(apparatus["hz"]),
                "seconds": float(seconds),
                "flips": len(intervals),
                "interval_ms": round(statistics.fmean(intervals), 4),
                "sd_ms": round(statistics.pstdev(intervals), 4),
                "p99_ms": round(percentile(intervals, 0.99), 3),
                "longest_ms": round(max(intervals), 3),
                "missed": sum(passed - 1 for passed in flips.passed),
            },
            "keyboard": {
                "backend": backend,
                "devices": devices,
                "polled_ms": round(statistics.median(gaps), 3),
                "polled_p99_ms": round(percentile(gaps, 0.99), 3),
            },
            "opengl": apparatus["opengl"],
        }
    )
