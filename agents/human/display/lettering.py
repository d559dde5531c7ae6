"""Words on the lab's screen: drawn by Pillow at the size at which they are shown, uploaded once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from PIL import Image, ImageDraw

from ....stimuli.render.fonts import Weight, face, wrap
from ....stimuli.scene import Colour
from .colours import BACKGROUND, TEXT

Align = Literal["left", "centre"]


@dataclass(frozen=True, slots=True)
class TextBlock:
    """Some text of one kind.

    Parameters
    ----------
    size : height of the font in pixels
    colour : that of text when not given
    after : space below, in pixels
    anew : whether a sheet of its own begins with it
    """

    text: str
    size: int
    colour: Colour | None = None
    weight: Weight = "regular"
    after: int = 0
    anew: bool = False


def line_height(size: int) -> int:
    """Distance of two lines."""
    return round(size * 1.45)


def pixels_of(words: str, size: int) -> float:
    """The width of bold words in pixels, to which small letters are aligned."""
    return face(words, size, "semibold").getlength(words)


def fitting(words: str, size: int, room: float, least: int = 1) -> int:
    """Return the size of bold letters, at most ``size``, at which words have room; ``least`` where
    they have none."""
    return next((smaller for smaller in range(size, least, -1) if pixels_of(words, smaller) <= room), least)


def balanced(text: str, size: float, room: float, weight: Weight = "regular") -> list[str]:
    """Break text into as few lines as fit, of about equal length."""
    lines = wrap(text, size, room, weight)
    narrower = room
    while len(lines) > 1 and narrower > room / 2:
        narrower -= room / 40
        closer = wrap(text, size, narrower, weight)
        if len(closer) > len(lines):
            break
        lines = closer
    return lines


def set_text(blocks: tuple[TextBlock, ...], room: int, align: Align = "centre") -> Image.Image:
    """Blocks of text below one another, wrapped to ``room`` pixels, as an opaque picture of even
    width and height. The space below the last one is not part of it."""
    broken = wrap if align == "left" else balanced
    lines: list[tuple[str, TextBlock, int]] = []  # each with the space that it takes
    for block in blocks:
        texts, step = broken(block.text, block.size, room, block.weight), line_height(block.size)
        lines += [(text, block, step) for text in texts[:-1]] + [
            (text, block, step + block.after) for text in texts[-1:]
        ]
    # the ink of a last letter may reach over its width
    inked = [(line, face(line, block.size, block.weight)) for line, block, _ in lines]
    widths = [max(font.getlength(line), font.getbbox(line)[2]) for line, font in inked]
    height = sum(high for _, _, high in lines) - (blocks[-1].after if lines else 0)
    image = Image.new("RGB", (_even(max([*widths, 1]) + 2), _even(height)), BACKGROUND)
    draw, top = ImageDraw.Draw(image), 0
    for (line, block, high), wide in zip(lines, widths, strict=True):
        left = 0 if align == "left" else round((image.width - wide) / 2)
        middle, letters = top + line_height(block.size) / 2, face(line, block.size, block.weight)
        draw.text((left, middle), line, block.colour or TEXT, letters, anchor="lm")
        top += high
    return image


@lru_cache(maxsize=64)
def pill(text: str, size: int, fill: Colour, ink: Colour, edge: Colour) -> Image.Image:
    """A button: text on a box with round ends, smooth, on the background of the window."""
    width, height = _even(face(text, size, "semibold").getlength(text) + 2.4 * size), _even(2.1 * size)
    fine = 4
    large = Image.new("RGB", (width * fine, height * fine), BACKGROUND)
    ImageDraw.Draw(large).rounded_rectangle(
        (0, 0, width * fine - 1, height * fine - 1), height * fine / 2.6, fill, edge, round(fine * max(1.0, size / 14))
    )
    image = large.reduce(fine)
    ImageDraw.Draw(image).text((width / 2, height / 2), text, ink, face(text, size, "semibold"), anchor="mm")
    return image


def _even(length: float) -> int:
    return 2 * max(1, -int(-length // 2))


class PictureStore:
    """Pictures in a window at whole pixels, uploaded once and kept.

    Parameters
    ----------
    win : the PsychoPy window
    """

    def __init__(self, win: Any) -> None:
        self._win = win
        self._kept: dict[Any, Any] = {}

    def put(self, key: Any, make: Any, smooth: bool = False) -> Any:
        """The picture called ``key``; ``make()`` draws it when it is not there yet. One that is to
        be turned is ``smooth``."""
        if key not in self._kept:
            self._kept[key] = self.once(make(), smooth)
        return self._kept[key]

    def once(self, image: Image.Image, smooth: bool = False) -> Any:
        """A picture that is not kept."""
        from psychopy import visual

        # Drivers may put the upload off until the first use, so it is drawn: outside the window, as
        # a frame may be half drawn already.
        aside = (int(self._win.size[0]) + image.width, 0)
        stimulus = visual.ImageStim(
            self._win, image=image, units="pix", size=image.size, pos=aside, interpolate=smooth, autoLog=False
        )
        stimulus.draw()
        return stimulus

    @staticmethod
    def draw(stimulus: Any, x: float, y: float, turned: float = 0.0) -> None:
        """Draw with the middle at (x, y), in pixels from the middle of the window, ``turned``
        clockwise (degrees). A picture that stays in its place costs far less than one that moves."""
        if turned != stimulus.ori:
            stimulus.setOri(turned, log=False)
        if (round(x), round(y)) != tuple(stimulus.pos):
            stimulus.setPos((round(x), round(y)), log=False)
        stimulus.draw()
