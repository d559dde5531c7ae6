"""The mouse: every click with its place and time, none lost between two polls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .answering import Press


class Mouse:
    """The clicks of the participant in the window.

    Clicks are taken from the window's own events, so that none is lost, however short. A click is stamped when its event is read: it happened between the
    poll before and that moment, and is dated half way between them (half way back at most :attr:`LONGEST_GAP`).

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
        #: where the pointer is, in pixels from the centre of the window (y up)
        self.at: tuple[float, float] = (0.0, 0.0)
        win.winHandle.push_handlers(on_mouse_press=self._press, on_mouse_motion=self._move, on_mouse_drag=self._drag)

    def _centred(self, x: float, y: float) -> tuple[float, float]:
        scale = float(self._win.getContentScaleFactor())  # points to pixels on high-density screens
        width, height = (float(side) for side in self._win.size)
        return (x + 0.5) * scale - width / 2, (y - 0.5) * scale - height / 2  # the middle of the pixel

    def _press(self, x: float, y: float, button: int, modifiers: int) -> None:
        now = self._now()
        time = now - min(now - self._polled, self.LONGEST_GAP) / 2
        if button == 1:
            self._clicks.append((time, *self._centred(x, y)))
        self.at = self._centred(x, y)

    def _move(self, x: float, y: float, dx: float, dy: float) -> None:
        self.at = self._centred(x, y)

    def _drag(self, x: float, y: float, dx: float, dy: float, buttons: int, modifiers: int) -> None:
        self.at = self._centred(x, y)

    def poll(self, done: Callable[[float, float], bool] = lambda x, y: False) -> list[Press]:
        """Every click of the left button since the last poll; ``done`` says whether a place (pixels) is on the done button."""
        self._win.winHandle.dispatch_events()
        self._polled = self._now()
        clicks, self._clicks = self._clicks, []
        presses = []
        for time, x, y in clicks:
            on_canvas = self._to_canvas(x, y)
            presses.append(Press("click", time, x=on_canvas[0], y=on_canvas[1], done=done(x, y)))
        return presses

    def clear(self) -> None:
        """Forget every click until now."""
        self.poll()
