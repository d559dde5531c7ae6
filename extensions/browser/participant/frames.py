"""The frames that a page shows: drawn by the renderer of the window at the very size of the page's canvas, and sent as PNG files."""

# pyright: strict
from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

from PIL import Image

from spanlab.agents.human.display import Theme
from spanlab.agents.human.pages import strip
from spanlab.paradigms import Display, Surface
from spanlab.paradigms.preview import ExampleDisplay
from spanlab.stimuli import Stimulus
from spanlab.stimuli.kinds import Tone
from spanlab.stimuli.render import PALETTES, PaletteName, recoloured

from .drawing import DRAWING, Drawable, Drawer, draw_here


def random_name() -> str:
    """A name that says nothing about what it names."""
    return secrets.token_hex(16)


class FrameStore:
    """Frames by what they show, for all visits of a server; those that were not wanted for longest go first.

    Parameters
    ----------
    room : bytes of frames to keep
    draw : draws them
    """

    def __init__(self, room: int = 256 * 2**20, draw: Drawer = draw_here) -> None:
        self._room, self._draw = room, draw
        self._lock = threading.Lock()
        self._drawn: OrderedDict[Drawable, bytes] = OrderedDict()
        self._bytes = 0

    def frame(self, stimulus: Stimulus, size_px: int, palette: PaletteName, owner: str = "") -> bytes:
        """The PNG file of a stimulus on a canvas of so many pixels.

        Parameters
        ----------
        owner : for whom it is drawn
        """
        return self._kept(Drawable(size_px, stimulus=stimulus, palette=palette), owner)

    def ring(self, size_px: int, owner: str = "") -> bytes:
        """The PNG file of what is shown for a tone where no sound can be played."""
        return self._kept(Drawable(size_px), owner)

    def overlay(self, surface: Surface, size_px: int, owner: str = "") -> bytes:
        """The PNG file of the keys or the scale of a surface, see-through elsewhere."""
        return self._kept(Drawable(size_px, surface=surface), owner)

    def _kept(self, drawable: Drawable, owner: str) -> bytes:
        with self._lock:
            if drawable in self._drawn:
                self._drawn.move_to_end(drawable)
                return self._drawn[drawable]
        made = self._draw(drawable, owner)
        with self._lock:
            if drawable not in self._drawn:
                self._bytes += len(made)
            self._drawn[drawable] = made
            while self._bytes > self._room and len(self._drawn) > 1:
                _, gone = self._drawn.popitem(last=False)
                self._bytes -= len(gone)
        return made


class TrialPictures:
    """The pictures of one trial, as they are drawn for it.

    Each has a name of its own, drawn anew: names of equal pictures differ, so nothing can be told from a name.

    Parameters
    ----------
    size_px : width and height of the canvas
    name : draws a name
    owner : for whom they are drawn
    """

    def __init__(self, frames: FrameStore, size_px: int, palette: PaletteName, name: Callable[[], str] = random_name, owner: str = "") -> None:
        self._frames, self.size_px, self._name, self._owner = frames, size_px, name, owner
        self._palette: PaletteName = palette
        #: PNG files by name
        self.pictures: dict[str, bytes] = {}

    def frame(self, display: Display) -> dict[str, Any]:
        """What a display is called, and how it sounds: a tone has a ring, too, for where no sound can be played."""
        stimulus = display.stimulus
        shown = {"frame": self._known(self._frames.frame(stimulus, self.size_px, self._palette, self._owner))}
        if not isinstance(stimulus, Tone):
            return shown
        return {**shown, "tone": {"hz": stimulus.frequency_hz, "ms": stimulus.ms, "ring": self._known(self._frames.ring(self.size_px, self._owner))}}

    def overlay(self, surface: Surface) -> str | None:
        """What the keys or the scale are called that lie on the canvas; None where there are none."""
        if surface.scale is None and (surface.ordered is None or not surface.ordered.labels):
            return None
        return self._known(self._frames.overlay(surface, self.size_px, self._owner))

    def _known(self, picture: bytes) -> str:
        name = self._name()
        self.pictures[name] = picture
        return name


def example_picture(
    example: Sequence[ExampleDisplay], room: tuple[int, int], letter: int, language: str, theme: Theme, palette: PaletteName
) -> Image.Image | None:
    """The displays of an example side by side, as at the window; None where there are none, or no room for them."""
    if not example:
        return None
    with DRAWING:
        return strip(example, room, letter, language, theme, lambda scene: recoloured(scene, PALETTES[palette]))
