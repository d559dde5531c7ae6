"""A display as it was measured: its file, so that sessions can cite it and notice when they run on
another one, and the measurement: how often the screen is refreshed, how steadily flips come, how
often keyboard and mouse are looked at."""

from __future__ import annotations

import json
import os
import platform
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import Field

from ....core.atomic_files import write_whole
from ....core.errors import ParadigmError, SpanLabError
from ....core.locale import FALLBACK, sentence
from ....core.registry import Ints, StrictModel
from ....paradigms.identity import digest
from ....paradigms.language import yaml_source
from ....paradigms.language.diagnostics import validated
from ..input.keyboard import Backend, Keyboard
from .colours import MUTED
from .lettering import PictureStore, TextBlock, set_text
from .window import LabWindow, Screen

#: Where ``spanlab display`` writes when nothing else is said: in the folder from which sessions are
#: run, beside their data.
DEFAULT_FILE = Path("display.yaml")
#: A refresh rate that differs by more than this share is another one.
SAME_RATE = 0.01

Positive = Annotated[float, Field(gt=0, le=10_000)]
Time = Annotated[float, Field(ge=0)]
Count = Annotated[int, Field(ge=0)]


class Made(StrictModel):
    """Time and place at which a file was made: for people to read, and no part of the hash."""

    at: str = Field("", description="time of the measurement (UTC)")
    machine: str = Field("", description="name of the computer")
    system: str = Field("", description="operating system")
    spanlab: str = Field("", description="version of SpanLab")
    psychopy: str = Field("", description="version of PsychoPy")


class ScreenPart(StrictModel):
    """The screen and where the participant sits."""

    number: Annotated[int, Field(ge=0)] = Field(0, description="number of the screen, from 0")
    resolution_px: Ints = Field(description="width and height of the screen in pixels")
    width_cm: Positive = Field(description="visible width of the screen, as measured with a ruler")
    distance_cm: Positive = Field(description="distance from the eyes to the screen")


class RefreshPart(StrictModel):
    """Refresh rate of the screen, and the steadiness of its flips."""

    vsync: bool = Field(description="whether flips wait for the screen")
    hz: Positive | None = Field(
        description="refreshes per second; null if flips do not wait for the screen, because the rate is then unknown"
    )
    trouble: str = Field("", description="why the rate is unknown")
    flips_hz: Positive = Field(description="flips per second without synchronisation")
    paced_hz: Positive | None = Field(
        None, description="rate at which flips were timed by the clock, if they do not wait for the screen"
    )
    seconds: Time = Field(description="duration of the measurement")
    flips: Count = Field(description="number of flips measured")
    interval_ms: Time = Field(description="mean time from one flip to the next")
    sd_ms: Time = Field(description="standard deviation of that time")
    p99_ms: Time = Field(description="99th percentile of that time")
    longest_ms: Time = Field(description="the longest of these times")
    missed: Count = Field(description="number of missed refreshes")


class KeyboardPart(StrictModel):
    """Keyboard: its back end and precision."""

    backend: Literal["ptb", "event"] = Field(description="ptb (precise) or event (precise to one frame)")
    devices: Count = Field(0, description="number of keyboards in use")
    polled_ms: Time = Field(description="median time between polls of keyboard and mouse")
    polled_p99_ms: Time = Field(
        description="99th percentile of that time, flips included; mouse clicks are no more precise than this"
    )


class OpenGLPart(StrictModel):
    """The graphics driver."""

    vendor: str = ""
    renderer: str = ""
    version: str = ""


class DisplayFile(StrictModel):
    """The measurements of one display."""

    spanlab_display: Literal[1] = Field(1, description="number of this format")
    made: Made = Field(Made.model_validate({}), description="time, computer and software of the measurement")
    screen: ScreenPart = Field(description="the screen and the distance")
    refresh: RefreshPart = Field(description="the refresh rate")
    keyboard: KeyboardPart = Field(description="the keyboard back end")
    opengl: OpenGLPart = Field(OpenGLPart.model_validate({}), description="the graphics driver")

    @property
    def hash(self) -> str:
        """The hash of the measurements, independent of when and on which computer the file was
        written."""
        return digest(self.model_dump(mode="json", exclude={"made"}))

    def cited(self) -> dict[str, Any]:
        """The entry for a session's record."""
        return {"hash": self.hash, **self.model_dump(mode="json", exclude={"made"})}

    def differences(self, apparatus: Mapping[str, Any], language: str = "en") -> list[str]:
        """Return how the present display (:meth:`.window.LabWindow.apparatus` and the keyboard's
        back end) differs from the measured one, in sentences."""
        vsync, hz, then = apparatus["vsync"], apparatus["measured_hz"], self.refresh.hz or 0.0
        now_px, then_px = tuple(apparatus["screen_px"]), tuple(self.screen.resolution_px)
        now_gl, then_gl = apparatus["opengl"]["renderer"], self.opengl.renderer
        found = (
            ("other_screen", apparatus["screen"] != self.screen.number, apparatus["screen"], self.screen.number),
            ("other_size", now_px != then_px, "{} x {}".format(*now_px), "{} x {}".format(*then_px)),
            ("unsynchronised", self.refresh.vsync and not vsync, "", f"{then:.2f}"),
            ("synchronised", vsync and not self.refresh.vsync, f"{hz:.2f}", ""),
            ("other_rate", vsync and then and abs(hz / then - 1) > SAME_RATE, f"{hz:.2f}", f"{then:.2f}"),
            (
                "other_keyboard",
                apparatus["keyboard"] != self.keyboard.backend,
                apparatus["keyboard"],
                self.keyboard.backend,
            ),
            ("other_graphics", now_gl != then_gl, now_gl, then_gl),
        )
        return [sentence(f"window.{key}", language, now=now, then=then) for key, differs, now, then in found if differs]


_HEAD = """\
# A display as spanlab display measured it. Sessions cite it: spanlab run PARADIGM --display FILE
# Measure again when anything changes: screen, resolution, cable, driver, distance. Only screen > width_cm and distance_cm may be corrected by hand.
"""  # noqa: E501


def write_display(measured: DisplayFile, path: Path, replace: bool = False) -> None:
    """Write a display file.

    Raises
    ------
    SpanLabError
        when there is one already and it is not to be replaced, or it cannot be written.
    """
    text = _HEAD + yaml.safe_dump(measured.model_dump(mode="json"), sort_keys=False, allow_unicode=True)
    if os.path.exists(path) and not replace:
        raise SpanLabError(
            f"{path} exists already; give --replace to overwrite it with a new measurement, or name another file"
            " with -o"
        )
    write_whole(path, text.encode("utf-8"), "choose another file with -o", folders="all")


def read_display(path: str | Path) -> DisplayFile:
    """Read a display file.

    Raises
    ------
    SpanLabError
        when it cannot be read, or with everything that is wrong with it: file, line and key.
    """
    path = Path(path)
    if not path.is_file():
        raise SpanLabError(
            f"there is no display file at {path}; make one on the computer on which sessions run: spanlab display -o"
            f" {path}"
        )
    document = yaml_source.read(path)
    if not isinstance(document.data, dict) or "spanlab_display" not in document.data:
        raise SpanLabError(
            f"{path} is not a display file (it has no key spanlab_display); make one with: spanlab display -o FILE"
        )
    return _checked(document)


def _checked(document: yaml_source.Document) -> DisplayFile:
    read, errors = validated(DisplayFile, document.data)
    if errors or not isinstance(read, DisplayFile):
        raise ParadigmError([document.problem(place, message) for place, message in errors])
    if len(read.screen.resolution_px) != 2 or min(read.screen.resolution_px) < 1:
        raise ParadigmError(
            [document.problem(("screen", "resolution_px"), "expected the width and the height of the screen in pixels")]
        )
    if read.refresh.vsync != (read.refresh.hz is not None):
        raise ParadigmError(
            [document.problem(("refresh", "hz"), "expected a rate exactly where flips wait for the screen (vsync)")]
        )
    return read


def cited_display(cited: Mapping[str, Any]) -> DisplayFile:
    """The display file that a session cites, from the session's own record."""
    return DisplayFile.model_validate_json(json.dumps({key: value for key, value in cited.items() if key != "hash"}))


# -- measuring ----------------------------------------------------------------------------------

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
    intervals = [(later - earlier) * 1000.0 for earlier, later in pairwise(flips.times)]
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
