"""The mark of a value on a dial, as a picture: for the window, for worked examples and for
previews."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

from PIL import Image, ImageDraw

from ...stimuli.scene import CANVAS, Colour
from ..responses import Dial

#: in canvas units: radii of a ring and of a dot, length and width of a bar, width of the pale edge
#: that lets them be seen on any colour
_RING, _DOT, _BAR, _EDGE = 4.6, 2.4, (24.0, 3.4), 0.8
_INK, _PALE = (20, 20, 20), (255, 255, 255)


@lru_cache(maxsize=32)
def mark_picture(mark: Literal["ring", "dot", "bar"], unit: float, ink: Colour = _INK) -> Image.Image:
    """A mark that is see-through where there is nothing, of even width and height, upright.

    Parameters
    ----------
    unit : pixels in one canvas unit
    """
    fine = 4
    reach = (max(_BAR) / 2 if mark == "bar" else _RING) + 1.5
    side = 2 * round(reach * unit)
    image = Image.new("RGBA", (side * fine, side * fine), (*_PALE, 0))
    draw, middle, scale = ImageDraw.Draw(image), side * fine / 2, unit * fine

    def box(across: float, down: float) -> tuple[float, float, float, float]:
        return middle - across * scale, middle - down * scale, middle + across * scale - 1, middle + down * scale - 1

    if mark == "bar":
        long, wide = _BAR[0] / 2, _BAR[1] / 2
        draw.rectangle(box(wide, long), (*ink, 255))
    elif mark == "dot":
        draw.ellipse(box(_DOT + _EDGE, _DOT + _EDGE), (*_PALE, 255))
        draw.ellipse(box(_DOT, _DOT), (*ink, 255))
    else:
        draw.ellipse(box(_RING, _RING), None, (*_PALE, 255), max(1, round(3 * _EDGE * scale)))
        draw.ellipse(box(_RING - _EDGE, _RING - _EDGE), None, (*ink, 255), max(1, round(_EDGE * scale)))
    return image.reduce(fine)


def mark_place(dial: Dial, value: int) -> tuple[float, float, float]:
    """Return the middle of a value's mark, in canvas units, and its clockwise rotation in degrees."""
    if dial.mark == "bar":
        return dial.x, dial.y, dial.direction_of(value)
    return *dial.place_of(value), 0.0


def paste_mark(image: Image.Image, dial: Dial, value: int, left: int, top: int, side: int, ink: Colour = _INK) -> None:
    """Draw the mark of a value into a picture, in which the canvas lies at ``left`` and ``top`` and
    is ``side`` pixels wide."""
    x, y, turned = mark_place(dial, value)
    unit = side / CANVAS
    mark = mark_picture(dial.mark, unit, ink).rotate(-turned, Image.Resampling.BICUBIC)
    image.paste(mark, (round(left + x * unit - mark.width / 2), round(top + y * unit - mark.height / 2)), mark)
