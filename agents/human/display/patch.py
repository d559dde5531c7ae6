"""A square in a corner of the screen for a photodiode: white on the first frame of a display, black
otherwise. No part of the canvas."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from PIL import Image

from ....core.errors import SpanLabError
from .lettering import PictureStore

#: Corner: on which side of the middle it is, horizontally and vertically (up is positive).
CORNERS = {"upper-left": (-1, 1), "upper-right": (1, 1), "lower-left": (-1, -1), "lower-right": (1, -1)}
#: Width and height in cm when nothing else is said.
USUAL_CM = 2.0
#: Large enough for any photodiode, in cm.
_LARGEST_CM = 20.0


@dataclass(frozen=True, slots=True)
class Patch:
    """A corner patch as it is asked for.

    Parameters
    ----------
    corner : one of :data:`CORNERS`
    cm : its width and height on the screen
    """

    corner: str
    cm: float = USUAL_CM


def read_patch(text: str) -> Patch:
    """``CORNER`` or ``CORNER:CM``, such as ``upper-left:1.5``.

    Raises
    ------
    SpanLabError
        when it is none of these.
    """
    corner, _, size = text.partition(":")
    if corner not in CORNERS:
        raise SpanLabError(
            f"the patch is in one of the corners {', '.join(CORNERS)} (such as upper-left:{USUAL_CM:g}, the number"
            f" being its size in cm); found '{text}'"
        )
    try:
        cm = float(size) if size else USUAL_CM
    except ValueError:
        cm = 0.0
    if not 0 < cm <= _LARGEST_CM:
        raise SpanLabError(
            f"the size of the patch is a number of cm up to {_LARGEST_CM:g}, such as {corner}:{USUAL_CM:g}; found"
            f" '{text}'"
        )
    return Patch(corner, cm)


class PatchView:
    """The patch in the window.

    Parameters
    ----------
    patch : what is asked for
    pictures : where pictures are uploaded
    window_px : width and height of the window
    canvas_px : width and height of the canvas in its middle
    px_per_cm : of the screen

    Raises
    ------
    SpanLabError
        when it would lie on the canvas.
    """

    def __init__(
        self, patch: Patch, pictures: PictureStore, window_px: tuple[int, int], canvas_px: int, px_per_cm: float
    ) -> None:
        self.patch = patch
        self.px = max(2, 2 * round(patch.cm * px_per_cm / 2))
        room = max((side - canvas_px) // 2 for side in window_px)
        if self.px > room:
            raise SpanLabError(
                f"a patch of {patch.cm:g} cm would lie on the canvas: there is room for {room / px_per_cm:.1f} cm"
                " beside it; choose a smaller patch or canvas"
            )
        self._at = tuple(
            sign * (side - self.px) / 2 for sign, side in zip(CORNERS[patch.corner], window_px, strict=True)
        )
        self._white, self._black = (
            pictures.once(Image.new("RGB", (self.px, self.px), (level,) * 3)) for level in (255, 0)
        )

    def draw(self, marked: bool) -> None:
        """Draw it to the frame that is shown next."""
        PictureStore.draw(self._white if marked else self._black, *self._at)

    def facts(self) -> dict[str, Any]:
        """Return what was found, fit for JSON."""
        return {**asdict(self.patch), "px": self.px, "white": "on the first frame of a display"}
