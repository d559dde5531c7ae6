"""The lab room: the open window with everything in it, shared by all trials and pages of a session;
and the presses of keyboard, mouse and button box together, until somebody takes them."""

from __future__ import annotations

import gc
import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from ...core.errors import SpanLabError
from ...core.json_values import where_given
from ...paradigms.trial import Display
from ...stimuli.render.palette import PaletteName
from ...stimuli.render.speaker import Speaker
from ...stimuli.render.window import WindowRenderer
from ..base import Shown
from .display.colours import BACKGROUND
from .display.frames import SessionClock
from .display.lettering import PictureStore
from .display.patch import Patch, PatchView
from .display.surface import SurfaceView
from .display.watchdog import Watchdog
from .display.window import Focus, LabWindow, Screen
from .input.answering import Button, Press
from .input.buttons import PULSE, Box
from .input.keyboard import Backend, Keyboard
from .input.mouse import Mouse
from .input.steps import USUAL, Refractory

#: Width of the canvas in degrees of visual angle, or as large as the window allows.
CanvasSize = float | Literal["largest"]
#: Lines of text that a window has room for where letters go by its height, and those that are kept
#: free above and below the canvas together.
_LINES, _BESIDE = 42, 13
#: Height of letters, in pixels, below which words would not be read.
_SMALLEST = 11
_NOTHING = object()


class Presses:
    """The presses of a session: those that nobody has taken yet, and those that meant nothing.

    Parameters
    ----------
    keyboard, mouse : what they are read from, and ``boxes``, where there are some
    button_at : which button of the window is at a place (pixels)
    lacked : whether another window had the focus at a moment (s)
    check : asked before anything is read; raises SpanLabError when nothing can be read any more
    now : PsychoPy's clock (s)
    """

    def __init__(
        self,
        keyboard: Keyboard,
        mouse: Mouse,
        button_at: Callable[[float, float], Button],
        lacked: Callable[[float], bool],
        check: Callable[[], object],
        now: Callable[[], float],
    ) -> None:
        self.keyboard, self.mouse, self._now = keyboard, mouse, now
        self.boxes: Sequence[Box] = ()
        #: pulses of a scanner (s), which are no presses: nothing forgets them but who takes them
        self.pulses: list[float] = []
        #: whether keys answer nothing that are pressed while another window has the focus
        self.needs_focus = True
        #: keys from before this moment (s) are forgotten
        self._since = -math.inf
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
        keys = self.keyboard.poll()
        if self.needs_focus:
            keys = [replace(key, elsewhere=True) if self._lacked(key.time) else key for key in keys]
        for box in self.boxes:
            keys = box.with_buttons(keys)
        self.pulses += [key.time for key in keys if key.key == PULSE and not key.held]
        if fresh := [key for key in keys if key.key != PULSE and key.time >= self._since] + clicks:
            self.waiting = sorted(self.waiting + fresh, key=lambda press: press.time)

    def take(self) -> list[Press]:
        """Everything that was pressed and not yet taken."""
        presses, self.waiting = self.waiting, []
        return presses

    def forget(self) -> None:
        """Forget every press until now."""
        self.collect()
        self._since, self.waiting, self.aside = self._now(), [], []

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


@dataclass(slots=True)
class OnScreen:
    """The display that is on the screen now.

    ``planned_ms`` is its own time, or what is left of the window of its question where that is
    longer. ``refreshes`` counts from its onset to the last flip; ``away`` is the time (s) for which
    a pause page covered it;
    ``stamp_late``: by how much (s) its picture can have come on before ``onset``. What became of it
    is written to ``sink[index]``.
    """

    display: Display
    planned_ms: float | None
    planned_frames: int | None
    onset: float
    onset_ms: float
    sink: list[Shown]
    index: int
    refreshes: int = 0
    dropped: int = 0
    away: float = 0.0
    stamp_late: float = 0.0

    def put(self, end: float, refreshes: int) -> None:
        """Write what is known: shown until ``end`` (s), for so many refreshes."""
        shown = Shown(
            planned_ms=self.planned_ms,
            onset_ms=round(self.onset_ms, 3),
            shown_ms=round((end - self.onset - self.away) * 1000.0, 3),
            planned_frames=self.planned_frames,
            shown_frames=refreshes,
            dropped_frames=self.dropped,
            onset_bound_ms=round(self.stamp_late * 1000.0, 3),
        )
        self.sink[self.index : self.index + 1] = [shown]


def letter_beside(letter: int, high: int, canvas: int) -> int:
    """Return the height of letters (pixels) in a window ``high`` pixels high: ``letter``, or less
    where a ``canvas`` leaves little room above and below it."""
    return min(letter, max(_SMALLEST, (high - canvas) // _BESIDE))


class Stage:
    """The open window with its renderer, the presses of the participant, and the session's clock.

    Parameters
    ----------
    screen : where the window is and how large
    size_deg : width and height of the canvas, in degrees of visual angle; or as large as the window
        allows, with letters to go with it
    keyboard : the back end that is wanted
    say : told, in a sentence, what is not as a lab would want it
    patch : a square for a photodiode, when one is wanted
    palette : colours of the stimuli
    refractory : how soon a self-paced step takes presses after the one that ended the step before

    Raises
    ------
    SpanLabError
        when no window can be opened, or the canvas (or the patch beside it) does not fit into it
    """

    def __init__(
        self,
        screen: Screen,
        size_deg: CanvasSize,
        keyboard: Backend,
        say: Callable[[str], None],
        patch: Patch | None = None,
        palette: PaletteName = "published",
        refractory: Refractory = USUAL,
    ) -> None:
        self.refractory = refractory
        self.window = LabWindow(screen, say)
        self.window.win.color = BACKGROUND
        self.pictures = PictureStore(self.window.win)
        self.letter_px = max(
            14, round(self.window.size[1] / _LINES if size_deg == "largest" else self.window.pixels(0.5))
        )
        try:
            self.canvas_px = self._fit(size_deg)
            if size_deg != "largest":
                self.letter_px = letter_beside(self.letter_px, self.window.size[1], self.canvas_px)
            self.patch = patch and PatchView(
                patch, self.pictures, self.window.size, self.canvas_px, self.window.px_per_cm
            )
        except SpanLabError:
            self.window.close()
            raise
        self.canvas_deg = (
            round(self.canvas_px / self.window.pixels(100) * 100, 2) if size_deg == "largest" else size_deg
        )
        self.speaker = Speaker(self.window.now)
        self.renderer = WindowRenderer(self.window.win, self.canvas_px, self.speaker, say, palette=palette)
        self.surface = SurfaceView(self.window.win, self.pictures, self.canvas_px, self.letter_px)
        self.focus = Focus(self.window.win.winHandle, self.window.now)
        left, top = self.window.corner()
        self.watchdog = Watchdog(
            (left + self.window.size[0] // 2, top + self.window.size[1] // 2), self.window.connection
        )
        self.presses = Presses(
            Keyboard(keyboard, say),
            Mouse(self.window.win, self.surface.to_canvas),
            self.surface.button_at,
            self.focus.lacked,
            self.watchdog.check,
            self.window.now,
        )
        self.clock = SessionClock(self.window.now, say)
        self.attendant: Callable[[str, float], object] | None = None
        self.on: OnScreen | None = None
        #: when the interval before the coming trial began, in seconds on PsychoPy's clock
        self.rested: float | None = None
        self._drawn: Hashable = _NOTHING
        self._ahead: Hashable = _NOTHING
        for _ in range(2):  # a window takes a new colour with its next flip
            self.flip(lambda: None)
        gc.collect()
        gc.freeze()  # what PsychoPy has loaded is not looked through again at every collection

    def _fit(self, size_deg: CanvasSize) -> int:
        if size_deg == "largest":
            width, height = self.window.size
            return 2 * int(min(width - self.letter_px, height - _BESIDE * self.letter_px) / 2)
        canvas = self.window.pixels(size_deg)
        width, height = self.window.size
        largest = min(width, height * 0.72)  # the legend and the done button need room below
        if canvas > largest:
            fits = size_deg * largest / canvas
            raise SpanLabError(
                f"a canvas of {size_deg:g} degrees takes {canvas} pixels here, but the window of {width} x {height}"
                f" pixels has room for {int(largest)}; choose at most {int(fits * 10) / 10:g} degrees, a larger window,"
                " or check the given width of the screen and the distance"
            )
        return canvas

    # -- the screen --------------------------------------------------------------------------------

    def flip(self, draw: Callable[[], object], marked: bool = False) -> tuple[float, int]:
        """Draw and flip; returns the time and the refreshes since the last flip. The corner patch,
        if there is one, is white on this frame when ``marked``."""
        if self._ahead is not _NOTHING:
            self.window.win.clearBuffer()
            self._ahead = _NOTHING
        draw()
        if self.patch is not None:
            self.patch.draw(marked)
        self._drawn = _NOTHING
        return self._flip()

    def _flip(self) -> tuple[float, int]:
        try:
            return self.window.flip()
        finally:
            self.watchdog.check()  # whatever OpenGL says when the display is gone

    def clear(self) -> float:
        """Show an empty window; returns the time of the change."""
        return self.replace(None, lambda: None)

    def guard(self, seconds: float, attend: Callable[[], object] | None = None) -> None:
        """Wait until shortly before the next refresh, looking after keyboard and mouse all the
        while; ``attend`` is called when something was pressed."""

        def look() -> None:
            self.presses.collect()
            if attend is not None and self.presses.waiting:
                attend()

        self.window.wait(seconds, look)

    def replace(self, what: OnScreen | None, draw: Callable[[], object]) -> float:
        """Put something else on the screen and close the account of what was there; returns the
        time of the change."""
        at, passed = self.flip(draw, what is not None)
        if self.on is not None:
            self.on.dropped += passed - 1
            self.on.put(at, self.on.refreshes + passed)
        self.on = what
        if what is not None:
            what.onset, what.onset_ms, what.stamp_late = at, self.clock.ms(at), self.window.stamp_late
        return at

    def ready(self, draw: Callable[[], object], state: Hashable) -> None:
        """Draw the next frame of the same display ahead of time, so that nothing but the flip is
        left to do when the refresh is due.

        What is drawn depends on ``state`` alone: where it is as it was, and flips do not wait for
        the screen, nothing is drawn anew.
        """
        if self._ahead is _NOTHING and not (self.window.grid.paced and state == self._drawn):
            draw()
            if self.patch is not None:
                self.patch.draw(False)
            self._ahead = state

    def again(self) -> None:
        """Show the same display for one more refresh, as it was made ready."""
        if self._ahead is _NOTHING:
            passed = self.window.skip()
        else:
            _, passed = self._flip()
            self._drawn, self._ahead = self._ahead, _NOTHING
        if self.on is not None:
            self.on.refreshes += passed
            self.on.dropped += passed - 1

    def pointer(self, visible: bool) -> None:
        """Show or hide the mouse pointer."""
        if bool(self.window.win.mouseVisible) != visible:
            self.window.win.mouseVisible = visible

    def tell(self, for_what: str, onset: float) -> None:
        """Tell the attendant that the window waits."""
        if self.attendant is not None:
            self.attendant(for_what, onset)

    def apparatus(self) -> dict[str, Any]:
        """Return what was found, fit for JSON."""
        keyboard = self.presses.keyboard
        return {
            **self.window.apparatus(),
            "canvas_px": self.canvas_px,
            "keyboard": keyboard.backend,
            "keyboard_precision_ms": keyboard.precision_ms,
            "key_names": keyboard.key_names,
            "tones": self.renderer.tones,
            **where_given(sound=self.speaker.facts()),
            "refractory": asdict(self.refractory),
            "focus": "watched",
            **where_given(patch=self.patch and self.patch.facts()),
        }

    def close(self) -> None:
        """Close keyboard and window."""
        self.watchdog.close()
        self.speaker.close()
        if not self.watchdog.trouble:  # Psychtoolbox would wait for ever for a keyboard that is gone
            self.presses.keyboard.close()
        if not self.watchdog.gone:
            self.window.close()
