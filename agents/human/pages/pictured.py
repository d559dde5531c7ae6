"""Pictures of a trial for the instructions: its displays side by side, with arrows from one to the next, drawn at the size at which they are shown."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache

from PIL import Image, ImageDraw

from ....core.locale import sentence
from ....paradigms import ResponseKind
from ....paradigms.preview.example import ExampleDisplay
from ....stimuli.render.fonts import face, width
from ....stimuli.render.pixels import picture
from ....stimuli.scene import CANVAS, Scene
from ..display.theme import STANDARD, Theme

#: Space between two displays, and width of a large display, in letters' heights.
_GAP, _LARGEST = 2.4, 9.0
#: From so many canvas units on the lines of a grid of cells are drawn.
_FINE = 4


def strip(
    displays: Sequence[ExampleDisplay],
    room: tuple[int, int],
    letter: int,
    language: str,
    theme: Theme = STANDARD,
    look: Callable[[Scene], Scene] = lambda scene: scene,
    smallest: float = 3.0,
) -> Image.Image | None:
    """Displays in one row, or in several where they are larger so.

    Parameters
    ----------
    room : width and height that there are, in pixels
    letter : height of letters
    look : what the window makes of a scene before it is drawn
    smallest : width that a display needs at least, in letters' heights

    Returns
    -------
    None when there is nothing to show, or no room for it
    """
    gap, caption = round(_GAP * letter), round(1.5 * letter)
    words = sentence("window.your_turn", language)
    least = math.ceil(max(width(words, round(letter * 0.85), "semibold") + 4, 4 * letter))

    def side_for(columns: int) -> int:
        rows = -(-len(displays) // columns)
        return min((room[0] - 2 - columns * gap) // columns, (room[1] - 2 - rows * (caption + letter // 2)) // rows, round(_LARGEST * letter))

    columns = max(range(1, len(displays) + 1), key=lambda many: (side_for(many), many), default=0)
    if not columns or side_for(columns) < smallest * letter:
        return None
    side = side_for(columns) // 2 * 2
    rows = -(-len(displays) // columns)
    columns = -(-len(displays) // rows)  # rows of about the same length
    high = side + caption + letter // 2
    image = Image.new("RGB", (columns * (side + gap) - gap + 2, rows * high + 2), theme.background)
    draw = ImageDraw.Draw(image)
    edge = max(1, round(letter / 14))
    for number, display in enumerate(displays):
        left, top = (number % columns) * (side + gap) + 1, (number // columns) * high + 1
        image.paste(picture(look(display.stimulus.scene()), side), (left, top))
        asked = display.asks is not None
        if display.asks is not None:
            _cells(draw, display.asks, left, top, side)
            size = letter * 0.85 * min(1.0, side / least)
            draw.text((left + side / 2, top + side + caption / 2), words, theme.accent, face(words, round(size), "semibold"), anchor="mm")
        draw.rectangle((left, top, left + side - 1, top + side - 1), None, theme.accent if asked else theme.muted, edge * (2 if asked else 1))
        if number + 1 < len(displays):
            end = number % columns == columns - 1
            if not end:
                _arrow(image, left + side, top + side // 2, gap, display.more, letter, theme)
    return image


def _cells(draw: ImageDraw.ImageDraw, asks: ResponseKind, left: int, top: int, side: int) -> None:
    """The outlines of cells that can be marked, as the window draws them."""
    surface = asks.surface()
    if not surface.several or any(region.x1 - region.x0 < _FINE for region in surface.regions):
        return
    factor = side / CANVAS
    for region in surface.regions:
        x0, y0, x1, y1 = (round(value * factor) for value in (region.x0, region.y0, region.x1, region.y1))
        draw.rectangle((left + x0, top + y0, left + min(x1, side - 1), top + min(y1, side - 1)), None, STANDARD.pale)


def _arrow(image: Image.Image, left: int, middle: int, gap: int, more: bool, letter: int, theme: Theme) -> None:
    drawn = _arrow_picture(gap, letter, more, theme.muted, theme.background)
    image.paste(drawn, (left, middle - drawn.height // 2))


@lru_cache(maxsize=8)
def _arrow_picture(gap: int, letter: int, more: bool, ink: tuple[int, int, int], ground: tuple[int, int, int]) -> Image.Image:
    """An arrow in the gap between two displays; with dots before it where something is left out."""
    fine = 4
    image = Image.new("RGB", (gap * fine, letter * fine), ground)
    draw = ImageDraw.Draw(image)
    unit, middle = letter * fine, letter * fine / 2
    start = 0.4 * unit
    if more:
        for number in range(3):
            x, radius = start + number * 0.28 * unit, 0.07 * unit
            draw.ellipse((x - radius, middle - radius, x + radius, middle + radius), ink)
        start += 0.8 * unit
    end, thick = gap * fine - 0.4 * unit, max(fine, round(0.1 * unit))
    draw.line((start, middle, end - thick, middle), ink, thick)
    head = 0.3 * unit
    draw.polygon(((end, middle), (end - head, middle - head * 0.8), (end - head, middle + head * 0.8)), ink)
    return image.reduce(fine)


def progress_bar(share: float, length: int, letter: int, theme: Theme = STANDARD) -> Image.Image:
    """How much is done, as a bar."""
    fine, high = 4, 2 * max(3, round(letter * 0.35))
    image = Image.new("RGB", (length * fine, high * fine), theme.background)
    draw = ImageDraw.Draw(image)
    radius, done = high * fine / 2, max(high, round(length * min(1.0, max(0.0, share)))) * fine
    draw.rounded_rectangle((0, 0, length * fine - 1, high * fine - 1), radius, theme.pale)
    if share > 0:
        draw.rounded_rectangle((0, 0, done - 1, high * fine - 1), radius, theme.accent)
    return image.reduce(fine)
