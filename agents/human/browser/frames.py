"""The frames that a page shows: drawn by the renderer of the window at the very size of the page's canvas, and sent as PNG files."""

# pyright: strict
from __future__ import annotations

import hashlib
import io
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence

from PIL import Image

from ....paradigms.preview.example import ExampleDisplay
from ....stimuli import Stimulus
from ....stimuli.render.palette import PALETTES, PaletteName, recoloured
from ....stimuli.render.pixels import picture
from ....stimuli.render.window import ring
from ..display.theme import Theme
from ..pages.pictured import strip

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
        self._drawn: OrderedDict[tuple[Stimulus | None, int, PaletteName], tuple[str, bytes]] = OrderedDict()
        self._bytes = 0

    def frame(self, stimulus: Stimulus, size_px: int, palette: PaletteName) -> tuple[str, bytes]:
        """The name and the PNG file of a stimulus on a canvas of so many pixels."""
        return self._kept((stimulus, size_px, palette), lambda: picture(recoloured(stimulus.scene(), PALETTES[palette]), size_px))

    def ring(self, size_px: int) -> tuple[str, bytes]:
        """The name and the PNG file of what is shown for a tone where no sound can be played."""
        return self._kept((None, size_px, "published"), lambda: ring(size_px))

    def _kept(self, key: tuple[Stimulus | None, int, PaletteName], draw: Callable[[], Image.Image]) -> tuple[str, bytes]:
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
