"""The frames that a page shows: drawn by the renderer of the window at the very size of the page's
canvas, and sent as PNG files."""

# pyright: strict
from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from spanlab.paradigms.responses import Surface
from spanlab.paradigms.trial import Display
from spanlab.stimuli import Stimulus
from spanlab.stimuli.kinds import Tone
from spanlab.stimuli.render import PaletteName

from .drawing import Drawable, Drawer, Frame, draw_here


def random_name() -> str:
    """A name that says nothing about what it names."""
    return secrets.token_hex(16)


class FrameStore:
    """Pictures by what they show, for all visits of a server: each is drawn once, and those that
    were not wanted for longest go first.

    Parameters
    ----------
    room : bytes of pictures to keep
    draw : draws them
    """

    def __init__(self, room: int = 256 * 2**20, draw: Drawer = draw_here) -> None:
        self._room, self._draw = room, draw
        self._lock = threading.Lock()
        #: those that are drawn, and those that are being drawn
        self._drawn: OrderedDict[Drawable, Future[bytes]] = OrderedDict()
        self._under_way: dict[Drawable, Future[bytes]] = {}
        self._bytes = 0

    def get(self, drawable: Drawable, owner: str = "") -> Future[bytes]:
        """The PNG file of a picture, as soon as it is drawn.

        Parameters
        ----------
        owner : for whom it is drawn
        """
        with self._lock:
            if (drawn := self._drawn.get(drawable)) is not None:
                self._drawn.move_to_end(drawable)
                return drawn
            if (drawn := self._under_way.get(drawable)) is not None:
                return drawn
            promised: Future[bytes] = Future()
            self._under_way[drawable] = promised
        self._draw(drawable, owner).add_done_callback(lambda drawn: self._keep(drawable, drawn, promised))
        return promised

    def frame(self, stimulus: Stimulus, size_px: int, palette: PaletteName, owner: str = "") -> Future[bytes]:
        """The PNG file of a stimulus on a canvas of so many pixels."""
        return self.get(Frame(size_px, stimulus=stimulus, palette=palette), owner)

    def ring(self, size_px: int, owner: str = "") -> Future[bytes]:
        """The PNG file of what is shown for a tone where no sound can be played."""
        return self.get(Frame(size_px), owner)

    def overlay(self, surface: Surface, size_px: int, owner: str = "") -> Future[bytes]:
        """The PNG file of the keys or the scale of a surface, see-through elsewhere."""
        return self.get(Frame(size_px, surface=surface), owner)

    def _keep(self, drawable: Drawable, drawn: Future[bytes], promised: Future[bytes]) -> None:
        """Hand over a picture that is drawn, and keep it. What could not be drawn is tried again
        when it is wanted again."""
        error = RuntimeError("the processes that draw have ended") if drawn.cancelled() else drawn.exception()
        if error is not None:
            with self._lock:
                del self._under_way[drawable]
            promised.set_exception(error)
            return
        promised.set_result(drawn.result())
        with self._lock:
            del self._under_way[drawable]
            self._drawn[drawable] = promised
            self._bytes += len(promised.result())
            while self._bytes > self._room and len(self._drawn) > 1:
                _, gone = self._drawn.popitem(last=False)
                self._bytes -= len(gone.result())


class TrialPictures:
    """The pictures of one trial, as they are drawn for it.

    Each has a name of its own, drawn anew: names of equal pictures differ, so nothing can be told
    from a name.

    Parameters
    ----------
    size_px : width and height of the canvas
    name : draws a name
    owner : for whom they are drawn
    """

    def __init__(
        self,
        frames: FrameStore,
        size_px: int,
        palette: PaletteName,
        name: Callable[[], str] = random_name,
        owner: str = "",
    ) -> None:
        self._frames, self.size_px, self._name, self._owner = frames, size_px, name, owner
        self._palette: PaletteName = palette
        #: PNG files by name, each as soon as it is drawn
        self.pictures: dict[str, Future[bytes]] = {}

    def wait(self) -> None:
        """Wait until all are drawn."""
        for picture in self.pictures.values():
            picture.result()

    def frame(self, display: Display) -> dict[str, Any]:
        """Return the name of a display, and its sound: a tone has a ring, too, for where no sound
        can be played."""
        stimulus = display.stimulus
        shown = {"frame": self._known(self._frames.frame(stimulus, self.size_px, self._palette, self._owner))}
        if not isinstance(stimulus, Tone):
            return shown
        return {
            **shown,
            "tone": {
                "hz": stimulus.frequency_hz,
                "ms": stimulus.ms,
                "ring": self._known(self._frames.ring(self.size_px, self._owner)),
            },
        }

    def overlay(self, surface: Surface) -> str | None:
        """Return the name of the keys or the scale that lie on the canvas; None where there are
        none."""
        if surface.scale is None and (surface.ordered is None or not surface.ordered.labels):
            return None
        return self._known(self._frames.overlay(surface, self.size_px, self._owner))

    def _known(self, picture: Future[bytes]) -> str:
        name = self._name()
        self.pictures[name] = picture
        return name
