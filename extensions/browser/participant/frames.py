"""The frames that a page shows: drawn by the renderer of the window at the very size of the page's canvas, and sent as PNG files."""

# pyright: strict
from __future__ import annotations

import hashlib
import io
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from PIL import Image

from spanlab.agents.human.display import Theme, keys_picture
from spanlab.agents.human.pages import strip
from spanlab.paradigms import Display, Surface
from spanlab.paradigms.preview import ExampleDisplay
from spanlab.stimuli import Stimulus
from spanlab.stimuli.kinds import Tone
from spanlab.stimuli.render import PALETTES, PaletteName, picture, recoloured, ring

#: Fonts are not made for several threads at once.
_DRAWING = threading.Lock()


class FrameStore:
    """Frames by the hash of their content, for all visits of a server; those that were not wanted for longest go first.

    Parameters
    ----------
    room : bytes of frames to keep
    """

    def __init__(self, room: int = 256 * 2**20) -> None:
        self._room = room
        self._lock = threading.Lock()
        self._drawn: OrderedDict[Hashable, tuple[str, bytes]] = OrderedDict()
        self._bytes = 0

    def frame(self, stimulus: Stimulus, size_px: int, palette: PaletteName) -> tuple[str, bytes]:
        """The name and the PNG file of a stimulus on a canvas of so many pixels."""
        return self._kept((stimulus, size_px, palette), lambda: picture(recoloured(stimulus.scene(), PALETTES[palette]), size_px))

    def ring(self, size_px: int) -> tuple[str, bytes]:
        """The name and the PNG file of what is shown for a tone where no sound can be played."""
        return self._kept((None, size_px, "published"), lambda: ring(size_px))

    def overlay(self, surface: Surface, size_px: int) -> tuple[str, bytes]:
        """The name and the PNG file of the keys or the scale of a surface, see-through elsewhere."""
        return self._kept((surface, size_px), lambda: keys_picture(surface, size_px))

    def _kept(self, key: Hashable, draw: Callable[[], Image.Image]) -> tuple[str, bytes]:
        with self._lock:
            if key in self._drawn:
                self._drawn.move_to_end(key)
                return self._drawn[key]
        with _DRAWING:
            drawn = draw()
        made = png(drawn)
        with self._lock:
            if key not in self._drawn:
                self._bytes += len(made[1])
            self._drawn[key] = made
            while self._bytes > self._room and len(self._drawn) > 1:
                _, (_, gone) = self._drawn.popitem(last=False)
                self._bytes -= len(gone)
        return made


class TrialPictures:
    """The pictures of one trial, as they are drawn for it.

    Parameters
    ----------
    size_px : width and height of the canvas
    """

    def __init__(self, frames: FrameStore, size_px: int, palette: PaletteName) -> None:
        self._frames, self.size_px = frames, size_px
        self._palette: PaletteName = palette
        #: PNG files by name
        self.pictures: dict[str, bytes] = {}

    def frame(self, display: Display) -> dict[str, Any]:
        """What a display is called, and how it sounds: a tone has a ring, too, for where no sound can be played."""
        stimulus = display.stimulus
        shown = {"frame": self._known(self._frames.frame(stimulus, self.size_px, self._palette))}
        if not isinstance(stimulus, Tone):
            return shown
        return {**shown, "tone": {"hz": stimulus.frequency_hz, "ms": stimulus.ms, "ring": self._known(self._frames.ring(self.size_px))}}

    def overlay(self, surface: Surface) -> str | None:
        """What the keys or the scale are called that lie on the canvas; None where there are none."""
        if surface.scale is None and (surface.ordered is None or not surface.ordered.labels):
            return None
        return self._known(self._frames.overlay(surface, self.size_px))

    def _known(self, picture: tuple[str, bytes]) -> str:
        name, content = picture
        self.pictures[name] = content
        return name


def png(image: Image.Image) -> tuple[str, bytes]:
    """The name of a picture, which is a hash of its content, and its PNG file."""
    file = io.BytesIO()
    image.save(file, "PNG", compress_level=1)
    content = file.getvalue()
    return hashlib.sha256(content).hexdigest()[:32], content


def example_picture(
    example: Sequence[ExampleDisplay], room: tuple[int, int], letter: int, language: str, theme: Theme, palette: PaletteName
) -> Image.Image | None:
    """The displays of an example side by side, as at the window; None where there are none, or no room for them."""
    if not example:
        return None
    with _DRAWING:
        return strip(example, room, letter, language, theme, lambda scene: recoloured(scene, PALETTES[palette]))
