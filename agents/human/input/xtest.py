"""The input of the simulated participant: real key presses and mouse clicks, made through the X
server's own test extension (XTEST) from a thread."""

from __future__ import annotations

import heapq
import itertools
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ....core.errors import SpanLabError
from ..display.frames import apart

#: What X adds to the number of a sign that is not in Latin 1.
_UNICODE = 0x1000000
_NAMED = {
    "space": "space",
    "\n": "Return",
    "return": "Return",
    "escape": "Escape",
    "backspace": "BackSpace",
    "left": "Left",
    "right": "Right",
    "up": "Up",
    "down": "Down",
    "tab": "Tab",
    "home": "Home",
    "end": "End",
    "pageup": "Prior",
    "pagedown": "Next",
    "insert": "Insert",
    "delete": "Delete",
    **{
        f"{side}{name}": f"{sign}_{side.upper()}"
        for side in "lr"
        for name, sign in (("shift", "Shift"), ("ctrl", "Control"), ("alt", "Alt"))
    },
    **{f"f{number}": f"F{number}" for number in range(1, 13)},
    **{f"num_{name.lower()}": f"KP_{name}" for name in ("Enter", "Add", "Subtract", "Multiply", "Divide", "Decimal")},
}


@dataclass(frozen=True, slots=True)
class InputEvent:
    """One press of a key, or one click.

    Parameters
    ----------
    key : name of a key as PsychoPy calls it; empty for a click
    x, y : place of a click, in pixels from the middle of the window (y up)
    hold : seconds until the release
    """

    key: str = ""
    x: float = 0.0
    y: float = 0.0
    hold: float = 0.06


class XTestInput:
    """Presses keys and clicks at given times.

    Parameters
    ----------
    now : the clock on which times are given, in seconds
    size_px : width and height of the window
    corner : function that gives the window's upper left corner on the screen

    Raises
    ------
    SpanLabError
        where there is no X server with XTEST, or python-xlib is not installed.
    """

    def __init__(
        self, now: Callable[[], float], size_px: tuple[int, int], corner: Callable[[], tuple[int, int]]
    ) -> None:
        if not sys.platform.startswith("linux"):
            raise SpanLabError(
                "the simulated participant presses keys through X11, which this system does not have; run it on Linux"
                " (or take another agent)"
            )
        try:
            from Xlib import XK, X, display
            from Xlib.ext import xtest
        except ImportError as error:
            raise SpanLabError(
                "the simulated participant needs python-xlib; install it with: pip install 'spanlab[lab]'"
            ) from error
        self._x, self._keysyms, self._xtest = X, XK, xtest
        try:
            self._display: Any = display.Display()
        except Exception as error:  # Xlib raises its own kinds
            raise SpanLabError(
                f"the display '{os.environ.get('DISPLAY', '')}' cannot be reached ({error}); check that it is running"
            ) from error
        if not self._display.has_extension("XTEST"):
            raise SpanLabError(
                "this X server has no XTEST extension, so no keys can be pressed; use a virtual screen (Xvfb)"
            )
        self._release_all()
        self._now, self._size, self._corner = now, size_px, corner
        #: what presses the buttons of a box that is no keyboard, by their names
        self.buttons: Mapping[str, Callable[[], object]] = {}
        self._due: list[tuple[float, int, InputEvent, tuple[int, int]]] = []
        self._count = itertools.count()
        self._change = threading.Condition()
        self._open = True
        self._error: Exception | None = None
        #: what was done: the event and when (s on the clock of ``now``) the X server had it
        self.done: list[tuple[InputEvent, float]] = []
        self._thread = threading.Thread(target=self._work, name="xtest", daemon=True)
        self._thread.start()

    def _release_all(self) -> None:
        """Release what a program left pressed that was killed meanwhile: the X server takes no press
        of a key that is down, and the window would wait for ever."""
        keys = self._display.query_keymap()
        for code in (8 * byte + bit for byte, mask in enumerate(keys) for bit in range(8) if mask >> bit & 1):
            self._fake(self._x.KeyRelease, code)
        if self._display.screen().root.query_pointer().mask & self._x.Button1Mask:
            self._fake(self._x.ButtonRelease, 1)

    def at(self, when: float, event: InputEvent) -> None:
        """Do something at a time (s on the clock of ``now``)."""
        self.check()
        # The thread waits on the system's monotonic clock and is told where the window is, so that
        # only one thread ever asks PsychoPy's clock and the window's connection: the latter is not
        # made for two at a time everywhere.
        due = when - apart(self._now, time.perf_counter)[0]
        corner = (0, 0) if event.key else self._corner()
        with self._change:
            heapq.heappush(self._due, (due, next(self._count), event, corner))
            self._change.notify()

    def cancel(self) -> None:
        """Cancel all events that are still to come."""
        self.check()
        with self._change:
            self._due.clear()
            self._change.notify()

    def close(self) -> None:
        """End the thread and leave the display."""
        with self._change:
            self._open = False
            self._due.clear()
            self._change.notify()
        self._thread.join(5)
        with suppress(Exception):  # the display may be gone; Xlib raises its own kinds
            self._display.close()

    def check(self) -> None:
        """Raise SpanLabError when an event could not be made: the rest would not be made either,
        and a question would wait for ever."""
        if self._error is not None:
            raise SpanLabError(
                f"the simulated participant cannot press keys any more ({self._error}); check that the virtual screen"
                " is still running"
            )

    def _work(self) -> None:
        try:
            while (what := self._next()) is not None:
                self._perform(*what)
        except Exception as error:  # told to the main thread at its next call
            self._error = error

    def _next(self) -> tuple[InputEvent, tuple[int, int]] | None:
        """Wait until the next event is due, and tell where the window's corner is; None when it is
        over."""
        with self._change:
            while self._open:
                left = self._due[0][0] - time.perf_counter() if self._due else None
                if left is not None and left <= 0:
                    return heapq.heappop(self._due)[2:]
                self._change.wait(left - 0.001 if left is not None and left > 0.002 else left)
            return None

    def _perform(self, event: InputEvent, corner: tuple[int, int] = (0, 0)) -> None:
        x, shift = self._x, 0
        if event.key in self.buttons:
            self.done.append((event, time.perf_counter()))
            self.buttons[event.key]()
            return
        if event.key:
            detail, shifted = self._code(event.key)
            down, up, shift = x.KeyPress, x.KeyRelease, self._code("lshift")[0] if shifted else 0
        else:
            left, top = corner
            self._fake(
                x.MotionNotify,
                x=round(left + self._size[0] / 2 + event.x - 0.5),
                y=round(top + self._size[1] / 2 - event.y - 0.5),
            )
            down, up, detail = x.ButtonPress, x.ButtonRelease, 1
        if shift:
            self._fake(x.KeyPress, shift)
        before = time.perf_counter()
        self._fake(down, detail)
        self.done.append((event, before))
        time.sleep(event.hold)
        self._fake(up, detail)
        if shift:
            self._fake(x.KeyRelease, shift)

    def _fake(self, what: int, detail: int = 0, **place: int) -> None:
        self._xtest.fake_input(self._display, what, detail, **place)
        self._display.sync()

    def _code(self, key: str) -> tuple[int, bool]:
        """The code of a key, by its name or the sign that it writes, and whether the sign needs the
        shift key; keys of the keypad count by their places, whatever Num Lock is."""
        name = _NAMED.get(key) or (f"KP_{key[4:]}" if key.startswith("num_") else key)
        keysym = int(self._keysyms.string_to_keysym(name))
        if not keysym and len(key) == 1:
            keysym = ord(key) + (_UNICODE if ord(key) > 0xFF else 0)
        codes = sorted(self._display.keysym_to_keycodes(keysym), key=lambda place: place[1]) if keysym else []
        if not codes:
            raise SpanLabError(f"there is no key '{key}' on this keyboard")
        return codes[0][0], codes[0][1] == 1 and not name.startswith("KP_")

    def done_since(self, number: int) -> list[tuple[InputEvent, float]]:
        """Return the events that were made from the ``number``-th event on, with times on the clock
        of ``now``."""
        ahead = apart(self._now, time.perf_counter)[0]
        return [(event, when + ahead) for event, when in self.done[number:]]
