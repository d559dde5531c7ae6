"""The window on the lab's screen: opening it, measuring its refresh rate, and flipping on time; and a
virtual screen (Xvfb) for machines without a display and for simulated participants."""

from __future__ import annotations

import ctypes
import itertools
import math
import os
import shutil
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ....core.doors import how_to_install, need
from ....core.errors import SpanLabError
from ....stimuli.scene import BACKGROUND
from .frames import NO_VSYNC_HZ, FrameGrid, Refreshes

#: The clock of the computer may be set back by this (s) while a session runs: nothing waits for
#: longer than that.
SET_BACK = 1.0


@dataclass(frozen=True, slots=True)
class Screen:
    """Place and size of a window.

    Parameters
    ----------
    fullscreen : cover the whole screen
    screen : number of the screen, from 0
    size_px : width and height of the window where it is not full screen
    width_cm : visible width of the screen; None = not measured, :data:`ASSUMED_WIDTH_CM` is
        assumed, said and recorded
    distance_cm : from the eyes to the screen
    paced_hz : rate at which flips are paced by the clock where they do not wait for the screen
    """

    fullscreen: bool = True
    screen: int = 0
    size_px: tuple[int, int] = (1024, 768)
    width_cm: float | None = None
    distance_cm: float = 57.0
    paced_hz: float = 60.0


#: A 24-inch screen.
ASSUMED_WIDTH_CM = 53.1


def need_display() -> None:
    """Raise SpanLabError when there is no screen. To be called before PsychoPy is imported: listing
    keyboards without a screen crashes Python itself."""
    if sys.platform.startswith("linux") and not os.environ.get("DISPLAY"):
        raise SpanLabError(
            "there is no display (DISPLAY is not set), so no window can be opened; "
            "log in on a desktop, or run under a virtual screen: xvfb-run -a -s '-screen 0 1280x1024x24' spanlab ..."
        )


def need_window() -> None:
    """Check that a window can be opened, before anything begins: the packages first, then the
    display, and that it answers. PsychoPy is not imported.

    Raises
    ------
    SpanLabError
        with what is missing.
    """
    need("lab", "psychopy", "a window for participants")
    need_display()
    if not sys.platform.startswith("linux"):
        return
    try:
        from Xlib import display
    except ImportError:
        return  # the window itself will say so
    try:
        display.Display().close()
    except Exception as error:  # Xlib raises its own kinds
        raise SpanLabError(_unreachable(error)) from None


def import_psychopy() -> Any:
    """PsychoPy's ``visual`` module.

    Raises
    ------
    SpanLabError
        when there is no display, or PsychoPy is not installed or cannot reach the display
    """
    need("lab", "psychopy", "a window for participants")
    need_display()
    os.environ.setdefault("PSYCHOPYNOPACKAGES", "1")  # else PsychoPy rewrites PYTHONPATH and PATH
    try:
        from psychopy import logging

        logging.console.setLevel(logging.ERROR)
        from psychopy import visual
    except ImportError as error:
        raise SpanLabError(f"PsychoPy cannot be loaded ({error}); {how_to_install('lab')}") from error
    except Exception as error:  # pyglet raises its own kinds when a display does not answer
        raise SpanLabError(_unreachable(error)) from error
    return visual


def _unreachable(error: Exception) -> str:
    where = f"the display '{os.environ['DISPLAY']}'" if os.environ.get("DISPLAY") else "the display"
    return (
        f"no window can be opened on {where} ({type(error).__name__}: {error}); check that the display is running and"
        " that OpenGL works on it"
    )


def screen_size(screen: Screen) -> tuple[int, int]:
    """Width and height of a screen in pixels.

    Raises
    ------
    SpanLabError
        when there is no such screen; the message says which there are.
    """
    import pyglet

    screens = pyglet.canvas.get_display().get_screens()
    if screen.screen >= len(screens):
        available = ", ".join(
            f"{number} ({one.width} × {one.height} at {one.x}, {one.y})" for number, one in enumerate(screens)
        )
        raise SpanLabError(
            f"there is no screen {screen.screen}: this display has {available}; choose one of these with --screen"
        )
    return int(screens[screen.screen].width), int(screens[screen.screen].height)


def need_screen(number: int) -> None:
    """Check that there is a screen with this number, before anything begins. PsychoPy is imported
    unless it is the first one, which is always there.

    Raises
    ------
    SpanLabError
        when there is none; the message says which there are.
    """
    if number > 0:
        import_psychopy()
        screen_size(Screen(screen=number))


class LabWindow:
    """The open window and its clock.

    Parameters
    ----------
    screen : where and how large
    say : told, in a sentence, what is not as a lab would want it

    Raises
    ------
    SpanLabError
        when no window can be opened
    """

    def __init__(self, screen: Screen, say: Callable[[str], None]) -> None:
        visual = import_psychopy()
        from psychopy import clock, logging, monitors

        self.screen = screen
        self.now: Callable[[], float] = clock.getTime
        self.sleep: Callable[[float], None] = time.sleep
        self._logging = logging
        screen_px = screen_size(screen)
        size = screen_px if screen.fullscreen else screen.size_px
        self.width_cm = screen.width_cm or ASSUMED_WIDTH_CM
        monitor = monitors.Monitor("spanlab", width=self.width_cm, distance=screen.distance_cm)
        monitor.setSizePix(size)
        try:
            self.win: Any = visual.Window(
                size=size,
                fullscr=screen.fullscreen,
                screen=screen.screen,
                monitor=monitor,
                units="pix",
                color=BACKGROUND,
                colorSpace="rgb255",
                checkTiming=False,
                allowGUI=not screen.fullscreen,
                winType="pyglet",
            )
        except Exception as error:  # pyglet and GL raise their own kinds
            raise SpanLabError(_unreachable(error)) from error
        self.size: tuple[int, int] = (int(self.win.size[0]), int(self.win.size[1]))
        if screen.width_cm is None:
            say(
                f"The width of the screen was not given: {ASSUMED_WIDTH_CM} cm is assumed, so sizes in degrees of"
                " visual angle are only as accurate as that; measure the screen and give its width in cm."
            )
        #: by how many s the picture of the last flip can have come on before its time stamp, at
        #: most
        self.stamp_late = 0.0
        self._swapping = self.now()
        self._stamp_swaps()
        #: the rate at which flips come (Hz), and why it is not that of the screen (empty when it
        #: is)
        self.measured_hz, self.trouble = self._measure()
        self.vsync = not self.trouble
        if self.vsync:
            self.grid = FrameGrid(self.measured_hz)
        else:
            say(
                f"Flips do not wait for the screen ({self.trouble}): they are paced by the clock at {screen.paced_hz:g}"
                " Hz. Do not trust single frames on this display."
            )
            self.grid = FrameGrid(screen.paced_hz, paced=True)
        self._refreshes = Refreshes(self.grid.period)

    def _stamp_swaps(self) -> None:
        """Have it noted when the buffers are handed over: PsychoPy does other things before and
        after."""
        window, swap = self.win.winHandle, self.win.winHandle.flip

        def stamped() -> None:
            self._swapping = self.now()
            swap()

        window.flip = stamped

    def _intervals(self, flips: int, pause: float = 0.0) -> list[float]:
        """Seconds between flips, each after a pause."""
        times = []
        for _ in range(flips + 1):
            if pause:
                time.sleep(pause)
            self.win.flip()
            times.append(self.now())
        return [later - earlier for earlier, later in itertools.pairwise(times)]

    def _measure(self) -> tuple[float, str]:
        """The rate at which flips come (Hz), and why it is not that of the screen (empty when it
        is).

        Flips that wait for the screen come steadily, and come no later when there is half a frame
        of work before each; flips that do not wait come later by just that.
        """
        self._intervals(20)
        free = statistics.median(intervals := self._intervals(60))
        hz = 1 / free
        if hz > NO_VSYNC_HZ:
            return hz, f"they come at {hz:.0f} Hz"
        if statistics.median(self._intervals(30, pause=free / 2)) > 1.2 * free:
            return hz, f"they come at {hz:.0f} Hz, and later when there is more to do"
        if sum(abs(interval - free) < 0.1 * free for interval in intervals) < 0.8 * len(intervals):
            return hz, "they come at no steady rate"
        return hz, ""

    @property
    def screen_px(self) -> tuple[int, int]:
        """Width and height of the whole screen in pixels."""
        return self.size if self.screen.fullscreen else screen_size(self.screen)

    @property
    def px_per_cm(self) -> float:
        """Pixels in a centimetre of the screen."""
        return self.screen_px[0] / self.width_cm

    def pixels(self, degrees: float) -> int:
        """The even number of pixels that ``degrees`` of visual angle take at the middle of the
        screen: 2 d tan(angle / 2), in cm, times pixels per cm."""
        cm = 2 * self.screen.distance_cm * math.tan(math.radians(degrees) / 2)
        return max(2, 2 * round(cm * self.px_per_cm / 2))

    def corner(self) -> tuple[int, int]:
        """Return where the upper left corner of the window is on the screen, in pixels."""
        x, y = self.win.winHandle.get_location()
        return int(x), int(y)

    @property
    def connection(self) -> Any:
        """The window's connection to the X server; None where windows are not X11's."""
        return getattr(self.win.winHandle, "_x_display", None)

    def wait(self, guard: float, poll: Callable[[], object] | None) -> None:
        """Wait until ``guard`` seconds before the next refresh is due, calling ``poll`` about once
        a millisecond.

        Raises
        ------
        SpanLabError
            when the clock of the computer was set back by more than :data:`SET_BACK`.
        """
        while True:
            left = self._left() - guard
            if poll is not None:
                poll()
            if left <= 0:
                return
            time.sleep(min(left, 0.0008))

    def flip(self) -> tuple[float, int]:
        """Show what was drawn at the next refresh.

        Returns
        -------
        time : when it appeared, in seconds on PsychoPy's clock
        refreshes : how many refreshes have passed since the flip before; more than one means that
            some were missed
        """
        if self.grid.paced:
            self._sleep()
        shown = self.win.flip()
        at = shown + self._logging.defaultClock.getLastResetTime() if shown is not None else self.now()
        begun = self._swapping
        self.stamp_late = max(0.0, at - (begun if self.grid.paced else self._refreshes.earliest(begun, at)))
        self._refreshes.stamps.append(at)
        return at, self.grid.tick(at)

    def on_flip(self, call: Callable[[], object]) -> None:
        """Have something done within the next flip, right after its time was read."""
        self.win.callOnFlip(call)

    def skip(self) -> int:
        """Let a refresh pass at which nothing changes, where flips are paced by the clock anyway;
        returns the refreshes since the last one."""
        self._sleep()
        return self.grid.tick(self.now())

    def _sleep(self) -> None:
        """Wait until the next refresh is due."""
        while (left := self._left()) > 0:
            time.sleep(left - 0.0004 if left > 0.0008 else 0)

    def _left(self) -> float:
        """Seconds until the next refresh. It is never far; where it is, the window would stand
        still, and take no press, until the clock is again where it was."""
        left = self.grid.due - self.now()
        if left > SET_BACK + 2 * self.grid.period:
            raise SpanLabError(
                f"the computer's clock was set back by {left:.0f} s while the session ran, and presses can no longer be"
                " timed; leave the clock alone, and resume the session"
            )
        return left

    def apparatus(self) -> dict[str, Any]:
        """Return what was found, fit for JSON."""
        import psychopy

        return {
            "psychopy": psychopy.__version__,
            "platform": sys.platform,
            "screen": self.screen.screen,
            "screen_px": list(self.screen_px),
            "window_px": list(self.size),
            "fullscreen": self.screen.fullscreen,
            "screen_width_cm": self.width_cm,
            "screen_width_given": self.screen.width_cm is not None,
            "distance_cm": self.screen.distance_cm,
            "measured_hz": round(self.measured_hz, 3),
            "vsync": self.vsync,
            "frames_by": "screen" if self.vsync else "clock",
            "hz": round(self.grid.hz, 3),
            "opengl": self._opengl(),
            "gamma": "as the screen has it (not linearised)",
        }

    @staticmethod
    def _opengl() -> dict[str, str]:
        from pyglet.gl import gl_info

        return {
            "vendor": str(gl_info.get_vendor()),
            "renderer": str(gl_info.get_renderer()),
            "version": str(gl_info.get_version()),
        }

    def close(self) -> None:
        """Close the window."""
        self._logging.flush()
        self.win.close()


class Focus:
    """Notes when the window loses the focus, and when it has it again.

    Parameters
    ----------
    window : pyglet's
    now : PsychoPy's clock (s)
    """

    def __init__(self, window: Any, now: Callable[[], float]) -> None:
        self._now = now
        #: when it was lost and came back (s); None while it is still away
        self._spans: list[tuple[float, float | None]] = []
        window.push_handlers(on_deactivate=self._lost, on_activate=self._back)

    def _lost(self) -> None:
        if not self._spans or self._spans[-1][1] is not None:
            self._spans.append((self._now(), None))

    def _back(self) -> None:
        if self._spans and self._spans[-1][1] is None:
            self._spans[-1] = self._spans[-1][0], self._now()

    def lacked(self, at: float) -> bool:
        """Return whether another window had the focus at a moment (s)."""
        return any(lost <= at and (back is None or at < back) for lost, back in self._spans)

    def away(self, since: float, until: float) -> list[tuple[float, float]]:
        """From when to when (s) the focus was away between two moments. What lies before ``until``
        is forgotten then."""
        clipped = [(max(since, lost), min(until, until if back is None else back)) for lost, back in self._spans]
        self._spans = [(lost, back) for lost, back in self._spans if back is None or back > until]
        return [(lost, back) for lost, back in clipped if back > lost]


# -- without a display -----------------------------------------------------------------------------

#: of Linux: what a process is told when the one that started it is gone
_PR_SET_PDEATHSIG = 1


def _end_with_parent() -> None:
    """Runs in the child before it becomes Xvfb: Linux is to end it when the process that started it
    is gone, however that ended."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


@contextmanager
def virtual_screen(width: int = 1280, height: int = 1024) -> Iterator[str]:
    """Have ``DISPLAY`` point at a virtual screen, which is started when this process has none yet.

    It stops when the process ends (in any way, also by ``kill -9``), and not with the ``with``
    block: PsychoPy and its keyboard stay connected to the first display that they meet, and no X
    client outlives its display. So a process has one virtual screen in its life.

    Parameters
    ----------
    width, height : in pixels, of a screen that is started

    Yields
    ------
    The display, such as ``:7``.

    Raises
    ------
    SpanLabError
        when Xvfb is not installed or does not start.
    """
    global _started
    _started = _started or _start(width, height)
    before = os.environ.get("DISPLAY")
    os.environ["DISPLAY"] = _started
    try:
        yield _started
    finally:
        if before is None:
            os.environ.pop("DISPLAY", None)
        else:
            os.environ["DISPLAY"] = before


#: the virtual screen of this process
_started = ""


def _start(width: int, height: int) -> str:
    server = shutil.which("Xvfb")
    if server is None:
        where = (
            "install it with: sudo apt-get install xvfb"
            if sys.platform.startswith("linux")
            else "it exists on Linux only; use a real display"
        )
        raise SpanLabError(f"a virtual screen needs the X server Xvfb, which is not installed; {where}")
    reader, writer = os.pipe()
    process = subprocess.Popen(
        [server, "-displayfd", str(writer), "-screen", "0", f"{width}x{height}x24", "-nolisten", "tcp", "-noreset"],
        pass_fds=[writer],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # an interrupt from the keyboard is for us, not for the screen
        preexec_fn=_end_with_parent if sys.platform.startswith("linux") else None,
    )
    os.close(writer)
    with os.fdopen(reader) as pipe:
        number = pipe.readline().strip()
    if not number:
        process.wait(10)
        raise SpanLabError(f"Xvfb did not start (it ended with status {process.returncode}); try it by hand: Xvfb :99")
    process.returncode = 0  # left running on purpose: it ends with this process
    return f":{number}"
