"""The mouse: every click with its place and time, none lost between two polls."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from ..display.frames import apart
from .answering import Button, Press

#: An X server stamps what happens with its own time: whole ms, in this many bits.
_SERVER_MS, _BITS = 0.001, 32
#: A stamp further from the time at which it is read than this (s, beyond the time since the poll
#: before) is of another clock than this computer's.
_OTHER_CLOCK = 2.0


class Mouse:
    """The clicks of the participant in the window.

    Clicks are taken from the window's own events, so that none is lost, however short. A click
    happened between the poll before and the moment at which its event is read, and is dated half
    way between them (half way back at most :attr:`LONGEST_GAP`), but within the millisecond that
    the X server has stamped it with, where there is one on this computer: a program that was busy
    meanwhile reads several clicks at once, and only the server knows when and in which order with
    keys they came.

    Parameters
    ----------
    win : the PsychoPy window
    to_canvas : turns pixels from the centre of the window (y up) into canvas units
    """

    #: seconds; polls are about a millisecond apart while an answer is awaited
    LONGEST_GAP = 0.01

    def __init__(self, win: Any, to_canvas: Callable[[float, float], tuple[float, float]]) -> None:
        from psychopy import clock

        self._now: Callable[[], float] = clock.getTime
        self._win = win
        self._to_canvas = to_canvas
        self._clicks: list[tuple[float, float, float]] = []
        self._polled = self._now()
        #: the X server's time of the event that is being read (ms); None where there is none
        self._stamp: int | None = None
        #: where the pointer is, in pixels from the centre of the window (y up)
        self.at: tuple[float, float] = (0.0, 0.0)
        win.winHandle.push_handlers(on_mouse_press=self._press, on_mouse_motion=self._move, on_mouse_drag=self._move)
        if sys.platform.startswith("linux"):
            self._read_stamps(win.winHandle)

    def _read_stamps(self, window: Any) -> None:
        """Have the X server's time of each press at hand while it is read: pyglet keeps it to
        itself."""
        from pyglet.libs.x11 import xlib

        read = window._view_event_handlers[xlib.ButtonPress]

        def stamped(event: Any) -> None:
            self._stamp = int(event.xbutton.time)
            try:
                read(event)
            finally:
                self._stamp = None

        window._view_event_handlers[xlib.ButtonPress] = stamped

    def _time(self) -> float:
        """Return the time of the press whose event is being read."""
        now = self._now()
        gap = now - self._polled
        half_way = now - min(gap, self.LONGEST_GAP) / 2
        if self._stamp is None:
            return half_way
        around = 2**_BITS * _SERVER_MS
        monotonic = now - apart(self._now, time.monotonic)[0]
        ago = (monotonic - self._stamp * _SERVER_MS + around / 2) % around - around / 2
        if not -2 * _SERVER_MS <= ago <= gap + _OTHER_CLOCK:
            return half_way
        began = now - ago
        return min(now, max(began, min(half_way, began + _SERVER_MS)))

    def _centred(self, x: float, y: float) -> tuple[float, float]:
        scale = float(self._win.getContentScaleFactor())  # points to pixels on high-density screens
        width, height = (float(side) for side in self._win.size)
        return (x + 0.5) * scale - width / 2, (y - 0.5) * scale - height / 2  # the middle of the pixel

    def _press(self, x: float, y: float, button: int, modifiers: int) -> None:
        if button == 1:
            self._clicks.append((self._time(), *self._centred(x, y)))
        self.at = self._centred(x, y)

    def _move(self, x: float, y: float, *more: float) -> None:
        self.at = self._centred(x, y)

    def poll(self, button_at: Callable[[float, float], Button] = lambda x, y: "") -> list[Press]:
        """Every click of the left button since the last poll; ``button_at`` says which button of
        the window is at a place (pixels)."""
        self._win.winHandle.dispatch_events()
        self._polled = self._now()
        clicks, self._clicks = self._clicks, []
        presses = []
        for at, x, y in clicks:
            on_canvas = self._to_canvas(x, y)
            presses.append(Press("click", at, x=on_canvas[0], y=on_canvas[1], button=button_at(x, y)))
        return presses
