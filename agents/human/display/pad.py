"""Input of ordered answers: keys on the screen, the line of items given so far, and numbers on
places."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PIL import Image, ImageDraw

from ....paradigms import Ordered, Region, Surface
from ....paradigms.responses import Scale
from ....stimuli.render.fonts import face, wrap
from ....stimuli.render.fonts import width as width_of
from ....stimuli.scene import BACKGROUND, CANVAS
from .colours import ACCENT, MUTED, ON_ACCENT, PALE, TEXT
from .lettering import fitting

#: Free space around a key, as a part of its smaller side; height of what stands on it, and of what
#: was given in its line.
_FREE, _LETTERS, _GIVEN = 0.07, 0.5, 0.62
_KEY = (222, 224, 227)
#: What stands for an item that is not known.
OPEN = "?"


def draw_keys(draw: ImageDraw.ImageDraw, surface: Surface, left: int, top: int, side: int) -> None:
    """The keys of a surface on a canvas of ``side`` pixels whose corner is at (left, top)."""
    if surface.scale is not None:
        draw_scale(draw, surface, surface.scale, left, top, side)
    if surface.ordered is None:
        return
    labels = dict(surface.ordered.labels)
    for region in surface.regions:
        if (label := labels.get(region.value)) is not None:
            _draw_key(draw, label, region, left, top, side / CANVAS)


def _draw_key(draw: ImageDraw.ImageDraw, label: str, region: Region, left: int, top: int, factor: float) -> None:
    x0, y0, x1, y1 = (value * factor for value in (region.x0, region.y0, region.x1, region.y1))
    short = min(x1 - x0, y1 - y0)
    free = _FREE * short
    box = (left + x0 + free, top + y0 + free, left + x1 - free, top + y1 - free)
    draw.rounded_rectangle(box, short / 8, _KEY, PALE, max(1, round(short / 40)))
    size = _size(label, _LETTERS * short, 0.86 * (x1 - x0 - 2 * free))
    draw.text((left + (x0 + x1) / 2, top + (y0 + y1) / 2), label, TEXT, face(label, size, "semibold"), anchor="mm")


def draw_scale(draw: ImageDraw.ImageDraw, surface: Surface, scale: Scale, left: int, top: int, side: int) -> None:
    """A scale of numbers: boxes, or a line with ticks; and below it what numbers mean."""
    factor = side / CANVAS
    middles: dict[int | str, float] = {}
    first, last = surface.regions[0], surface.regions[-1]
    high = (first.y1 - first.y0) * factor
    for region in surface.regions:
        middles[region.value] = left + (region.x0 * factor + region.x1 * factor) / 2
        if not scale.slider:
            _draw_key(draw, str(region.value), region, left, top, factor)
    if scale.slider:
        y = top + (first.y0 + first.y1) / 2 * factor
        draw.line((middles[first.value], y, middles[last.value], y), MUTED, max(2, round(high / 16)))
        for value in sorted({first.value, last.value, *dict(scale.labels)}, key=str):
            draw.line(
                (middles[value], y - 0.3 * high, middles[value], y + 0.3 * high),
                MUTED,
                max(2, round(high / 20)),
            )
    _draw_labels(draw, scale, middles, (left, top, factor))


def _draw_labels(
    draw: ImageDraw.ImageDraw, scale: Scale, middles: Mapping[int | str, float], place: tuple[int, int, float]
) -> None:
    """Draw the meanings of numbers below them: words in lines of their own, all of one size; those
    at the ends stay within the width of the scale."""
    left, top, factor = place
    x0, y0, x1, y1 = scale.below
    texts = [(middles[number], f"{number}: {text}" if scale.slider else text) for number, text in scale.labels]
    if not texts:
        return
    width, high = (x1 - x0) * factor, (y1 - y0) * factor
    room = 0.94 * width / len(texts)
    size = min(0.36 * high, 5 * factor)
    wrapped = [wrap(text, size, room) for _, text in texts]
    while size > 0.12 * high and any(
        len(one) * 1.15 * size > high or max(width_of(line, size) for line in one) > room for one in wrapped
    ):
        size *= 0.92
        wrapped = [wrap(text, size, room) for _, text in texts]
    for (middle, _), rows in zip(texts, wrapped, strict=True):
        wide = max(width_of(row, size) for row in rows)
        x = min(max(middle, left + x0 * factor + wide / 2), left + x1 * factor - wide / 2)
        for number, row in enumerate(rows):
            draw.text((x, top + y0 * factor + (0.8 + 1.15 * number) * size), row, TEXT, face(row, size), anchor="mm")


def keys_picture(surface: Surface, side: int) -> Image.Image:
    """The keys of a surface, see-through where there are none."""
    image = Image.new("RGBA", (side, side), (*BACKGROUND, 0))
    draw_keys(ImageDraw.Draw(image), surface, 0, 0, side)
    return image


def grid_picture(regions: Sequence[Region], side: int, colour: tuple[int, ...]) -> Image.Image:
    """Thin outlines of regions, see-through elsewhere."""
    image, factor = Image.new("RGBA", (side, side), (*BACKGROUND, 0)), side / CANVAS
    for region in regions:
        x0, y0, x1, y1 = (
            min(round(value * factor), side - 1) for value in (region.x0, region.y0, region.x1, region.y1)
        )
        ImageDraw.Draw(image).rectangle((x0, y0, x1, y1), None, colour)
    return image


def line_picture(
    ordered: Ordered, take: int | None, labels: Sequence[str | None], size: tuple[int, int]
) -> Image.Image:
    """The line of what was given so far: a slot for each item where their number is known.

    Parameters
    ----------
    take : how many items there will be; None where that is open
    labels : of the values given so far, as people read them; None for an item that is not known
    size : of the picture, in pixels
    """
    wide, high = size
    image = Image.new("RGB", size, BACKGROUND)
    draw = ImageDraw.Draw(image)
    given = [OPEN if one is None else one for one in labels]
    if ordered.joined:
        text = "".join(given)
        letters = _size(text or "x", _GIVEN * high, 0.94 * wide)
        draw.text((wide / 2, high / 2), text, TEXT, face(text, letters, "semibold"), anchor="mm")
        draw.line((0.04 * wide, 0.9 * high, 0.96 * wide, 0.9 * high), MUTED, max(1, round(high / 40)))
        return image
    slots = max(take or 0, len(labels), 1)
    step = min(wide / slots, 1.6 * high)
    start = (wide - step * slots) / 2
    for place in range(slots):
        middle = start + (place + 0.5) * step
        if take is not None or place < len(labels):
            draw.line(
                (middle - 0.38 * step, 0.9 * high, middle + 0.38 * step, 0.9 * high),
                MUTED,
                max(1, round(high / 40)),
            )
        if place < len(labels):
            letters = _size(given[place], _GIVEN * high, 0.9 * step)
            draw.text((middle, 0.46 * high), given[place], TEXT, face(given[place], letters, "semibold"), anchor="mm")
    return image


def number_picture(text: str, side: int) -> Image.Image:
    """The number of a mark, for a place of about ``side`` pixels."""
    size = max(8, round(0.42 * side))
    wide = 2 * -(-round(face(text, size, "semibold").getlength(text) + 4) // 2)
    image = Image.new("RGB", (wide, 2 * (size * 5 // 8)), ACCENT)
    ImageDraw.Draw(image).text(
        (image.width / 2, image.height / 2), text, ON_ACCENT, face(text, size, "semibold"), anchor="mm"
    )
    return image


def numbers_of(marks: Sequence[int | str | None], region: Region) -> str:
    """The places in the answer, from 1, at which a region was given, such as ``2`` or ``2, 5``."""
    return ", ".join(str(number) for number, mark in enumerate(marks, start=1) if mark == region.value)


def _size(text: str, size: float, room: float) -> int:
    return fitting(text, max(6, round(size)), room, least=6)
