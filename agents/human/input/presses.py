"""The presses of keyboard, mouse and button box together, from when they are read until somebody
takes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from .answering import Button, Press
from .buttons import Box
from .keyboard import Keyboard
from .mouse import Mouse


class Presses:
    """The presses of a session: those that nobody has taken yet, and those that meant nothing.

    Parameters
    ----------
    keyboard, mouse : what they are read from, and ``box``, where there is one
    button_at : which button of the window is at a place (pixels)
    lacked : whether another window had the focus at a moment (s)
    check : asked before anything is read; raises SpanLabError when nothing can be read any more
    """

    def __init__(
        self,
        keyboard: Keyboard,
        mouse: Mouse,
        button_at: Callable[[float, float], Button],
        lacked: Callable[[float], bool],
        check: Callable[[], object],
    ) -> None:
        self.keyboard, self.mouse = keyboard, mouse
        self.box: Box | None = None
        #: asked whenever presses are read; each raises SpanLabError when nothing more can come from
        #: its side
        self.checks: list[Callable[[], object]] = [check]
        self.waiting: list[Press] = []
        #: what was pressed between two trials, such as an answer to the last question of the one
        #: before that came too late
        self.aside: list[Press] = []
        #: takes what is pressed after a trial, until the next one begins, and counts from when its
        #: last step came on; None before the first one
        self.afterwards: Callable[[Sequence[Press]], None] | None = None
        #: until when (s) somebody may still want to answer the last question, too late
        self.late_until: float | None = None
        #: the press that ended the last step or page; None where the clock ended it
        self.ended_by: Press | None = None
        self._button_at, self._lacked = button_at, lacked

    def collect(self) -> None:
        """Read keyboard, mouse and box into :attr:`waiting`, ordered by time.

        Raises
        ------
        SpanLabError
            when the display or a keyboard has gone away, or the simulated participant cannot press
            keys any more.
        """
        for check in self.checks:
            check()
        clicks = self.mouse.poll(self._button_at)  # first: the window hears of the focus in the same breath
        keys = [replace(key, elsewhere=True) if self._lacked(key.time) else key for key in self.keyboard.poll()]
        if self.box is not None:
            keys = self.box.with_buttons(keys)
        if fresh := keys + clicks:
            self.waiting = sorted(self.waiting + fresh, key=lambda press: press.time)

    def take(self) -> list[Press]:
        """Everything that was pressed and not yet taken."""
        presses, self.waiting = self.waiting, []
        return presses

    def forget(self) -> None:
        """Forget every press until now."""
        self.keyboard.clear()
        self.mouse.clear()
        if self.box is not None:
            self.box.with_buttons(())
        self.waiting, self.aside = [], []

    def set_aside(self) -> list[Press]:
        """Nobody waits for what was pressed until now; the record of the next trial has it all the
        same. Returns it."""
        self.collect()
        presses = self.take()
        self.aside += presses
        return presses

    def note_aside(self) -> None:
        """Put what was pressed since the last trial, and meant nothing, on its record. Before the
        first trial nobody waits for presses: they are forgotten."""
        if self.afterwards is not None and self.aside:
            self.afterwards(self.aside)
        self.aside = []
