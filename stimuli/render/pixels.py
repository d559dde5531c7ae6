"""Rendering of scenes as pixels. No other module does this.

At scale 1 everything is drawn as the WorM benchmark draws it (Pillow without antialiasing,
fractions truncated), so that frames are identical to its frames. At any larger size the same scene
is drawn as shapes: pixel boxes become areas, curves, slanted lines, arrows and text are smooth.

The benchmark draws arrows with OpenCV (``arrowedLine``, ``tipLength`` 0.4). Only two lengths occur,
in eight directions; they are kept here as bitmaps, relative to the starting point, so that frames
match to the pixel without OpenCV.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from PIL import Image as Pillow
from PIL import ImageDraw

from ..own_files import pixels_at
from ..scene import CANVAS, Arrow, Ellipse, FileImage, Image, Line, Polygon, Primitive, Rectangle, Scene, Text
from .fonts import CAP_HEIGHT, face

Point = tuple[int, int]

_THIN_DOWN = """
...#...
...#...
...#...
...#...
...#...
...#...
#..#..#
.#.#.#.
..###..
...#...
"""
_THIN_DOWN_RIGHT = """
#.........
.#........
..#.......
...#......
....#....#
.....#...#
......#..#
.......#.#
........##
....######
"""
_THICK_DOWN = """
......#......
.....###.....
.....###.....
.....###.....
.....###.....
.....###.....
.....###.....
.....###.....
.....###.....
.....###.....
.....###.....
.##..###..##.
####.###.####
#############
.###########.
..#########..
...#######...
....#####....
.....###.....
"""
_THICK_DOWN_RIGHT = """
.##................
####...............
#####..............
.#####.............
..#####............
...#####...........
....#####..........
.....#####.......#.
......#####.....###
.......#####....###
........#####...###
.........#####..###
..........#####.###
...........########
............#######
.............######
........###########
.......############
........##########.
"""


def _points(bitmap: str, start: Point) -> tuple[Point, ...]:
    rows = bitmap.split()
    return tuple(
        (x - start[0], y - start[1]) for y, row in enumerate(rows) for x, mark in enumerate(row) if mark == "#"
    )


@lru_cache(maxsize=1)
def _bitmaps() -> dict[tuple[int, int, int], tuple[Point, ...]]:
    """Painted points relative to the start, by (dx, dy, width)."""
    table: dict[tuple[int, int, int], tuple[Point, ...]] = {}
    for length, width, down, diagonal in (
        (9, 1, _points(_THIN_DOWN, (3, 0)), _points(_THIN_DOWN_RIGHT, (0, 0))),
        (16, 2, _points(_THICK_DOWN, (6, 1)), _points(_THICK_DOWN_RIGHT, (1, 1))),
    ):
        for sign in (1, -1):
            table[0, sign * length, width] = tuple((x, sign * y) for x, y in down)
            table[sign * length, 0, width] = tuple((sign * y, x) for x, y in down)
            for other in (1, -1):
                table[sign * length, other * length, width] = tuple((sign * x, other * y) for x, y in diagonal)
    return table


def painted(arrow: Arrow) -> tuple[Point, ...] | None:
    """The canvas points that the benchmark paints for an arrow, or None for an arrow that it never
    draws."""
    points = _bitmaps().get((arrow.x1 - arrow.x0, arrow.y1 - arrow.y0, arrow.width)) if arrow.head == 0.4 else None
    return None if points is None else tuple((arrow.x0 + x, arrow.y0 + y) for x, y in points)


def strokes(arrow: Arrow) -> tuple[float, list[tuple[float, float, float, float]]]:
    """Stroke width and the three strokes of an arrow (shaft and the two sides of its head), between
    pixel centres, in canvas units.

    OpenCV's lines of even thickness come out one pixel wider; so do these.
    """
    dx, dy = arrow.x1 - arrow.x0, arrow.y1 - arrow.y0
    length, angle = math.hypot(dx, dy) * arrow.head, math.atan2(dy, dx)
    x1, y1 = float(arrow.x1), float(arrow.y1)
    lines = [(float(arrow.x0), float(arrow.y0), x1, y1)]
    lines += [
        (x1, y1, arrow.x1 - length * math.cos(angle + turn), arrow.y1 - length * math.sin(angle + turn))
        for turn in (-math.pi / 4, math.pi / 4)
    ]
    return (arrow.width if arrow.width % 2 else arrow.width + 1), lines


#: Width and height of what networks see.
NETWORK = 32


def render(scene: Scene, scale: int = 1) -> np.ndarray:
    """Draw a scene.

    Parameters
    ----------
    scale : pixels per canvas unit; 1 gives the benchmark's frame

    Returns
    -------
    uint8 RGB of shape (96 · scale, 96 · scale, 3)
    """
    if scale < 1:
        raise ValueError("scale must be at least 1")
    return np.array(drawn(scene) if scale == 1 else picture(scene, CANVAS * scale))


def picture(scene: Scene, size_px: int) -> Pillow.Image:
    """Draw a scene as shapes, ``size_px`` wide and high, smooth at any size."""
    straight = size_px % CANVAS == 0 and all(_is_straight(primitive) for primitive in scene.primitives)
    oversampling = 4 if size_px <= 1200 else 2
    if straight:
        oversampling = 1
    side = size_px * oversampling
    image = Pillow.new("RGB", (side, side), scene.background)
    pen = _Pen(image, side / CANVAS)
    for primitive in scene.primitives:
        pen.draw(primitive)
    return image if oversampling == 1 else image.reduce(oversampling)


def network_frame(scene: Scene) -> np.ndarray:
    """Render a scene for networks: the 96 × 96 frame scaled to 32 × 32 with Pillow's bilinear
    filter, as torchvision does. uint8 (32, 32, 3)."""
    return np.array(drawn(scene).resize((NETWORK, NETWORK), Pillow.Resampling.BILINEAR))


def drawn(scene: Scene) -> Pillow.Image:
    """The 96 × 96 frame as a Pillow image: coordinates go to Pillow as they are, which truncates
    them."""
    image = Pillow.new("RGB", (CANVAS, CANVAS), scene.background)
    draw = ImageDraw.Draw(image)
    for primitive in scene.primitives:
        match primitive:
            case Rectangle(x0, y0, x1, y1, fill, outline, width, radius):
                if radius:
                    draw.rounded_rectangle((x0, y0, x1, y1), radius, fill, outline, width)
                else:
                    draw.rectangle((x0, y0, x1, y1), fill, outline, width)
            case Line(x0, y0, x1, y1, colour, width):
                draw.line((x0, y0, x1, y1), colour, width)
            case Ellipse(x0, y0, x1, y1, fill, outline, width):
                draw.ellipse((x0, y0, x1, y1), fill, outline, width)
            case Polygon(points, fill):
                draw.polygon(points, fill)
            case Arrow(colour=colour, width=width):
                points = painted(primitive)
                if points is not None:
                    draw.point([(float(x), float(y)) for x, y in points], colour)
                else:
                    for stroke in strokes(primitive)[1]:
                        draw.line([round(value) for value in stroke], colour, width)
            case Text():
                _write(draw, primitive, 1.0)
            case Image(x, y, width, height, rgb):
                image.paste(Pillow.frombytes("RGB", (width, height), rgb), (x, y))
            case FileImage():
                _paste(image, primitive, 1.0)
    return image


def _paste(onto: Pillow.Image, shown: FileImage, factor: float) -> None:
    """An image from a file, in its area rounded to whole pixels."""
    left, top, right, bottom = (round(edge * factor) for edge in (shown.x0, shown.y0, shown.x1, shown.y1))
    image = pixels_at(shown.sha256, max(1, right - left), max(1, bottom - top))
    onto.paste(image, (left, top), image)


def _write(draw: ImageDraw.ImageDraw, text: Text, factor: float) -> None:
    """Text with the middle of its capitals at the given point."""
    baseline = (text.y + 0.5) * factor + CAP_HEIGHT * text.size * factor / 2
    draw.text(
        ((text.x + 0.5) * factor, baseline), text.text, text.colour, face(text.text, text.size * factor), anchor="ms"
    )


def _is_straight(primitive: Primitive) -> bool:
    """Return whether a primitive has only horizontal and vertical edges, which need no
    antialiasing."""
    match primitive:
        case Rectangle(radius=radius):
            return radius == 0
        case Line(x0, y0, x1, y1):
            return int(x0) == int(x1) or int(y0) == int(y1)
        case Image() | FileImage():
            return True
    return False


class _Pen:
    """Draws primitives as shapes. A canvas pixel p covers [p, p + 1); ``factor`` is the number of
    pixels per canvas unit."""

    def __init__(self, image: Pillow.Image, factor: float) -> None:
        self.image = image
        self.factor = factor
        self.canvas = ImageDraw.Draw(image)

    def _area(self, x0: float, y0: float, x1: float, y1: float) -> tuple[int, int, int, int]:
        """A half-open area in canvas units as an inclusive box of pixels, at least one pixel wide
        and high."""
        left, top, right, bottom = (round(value * self.factor) for value in (x0, y0, x1, y1))
        return left, top, max(left, right - 1), max(top, bottom - 1)

    def _covered(self, x0: float, y0: float, x1: float, y1: float) -> tuple[int, int, int, int]:
        """A box with inclusive corners, truncated as at scale 1."""
        return self._area(int(x0), int(y0), int(x1) + 1, int(y1) + 1)

    def _thickness(self, width: int) -> int:
        return max(1, round(width * self.factor))

    def draw(self, primitive: Primitive) -> None:
        factor = self.factor
        match primitive:
            case Rectangle(x0, y0, x1, y1, fill, outline, width, radius):
                box = self._covered(x0, y0, x1, y1)
                if radius:
                    self.canvas.rounded_rectangle(box, radius * factor, fill, outline, self._thickness(width))
                else:
                    self.canvas.rectangle(box, fill, outline, self._thickness(width))
            case Line(x0, y0, x1, y1, colour, width):
                self._line(int(x0), int(y0), int(x1), int(y1), colour, width)
            case Ellipse(x0, y0, x1, y1, fill, outline, width):
                self.canvas.ellipse(self._covered(x0, y0, x1, y1), fill, outline, self._thickness(width))
            case Polygon(points, fill):
                self.canvas.polygon([((x + 0.5) * factor, (y + 0.5) * factor) for x, y in points], fill)
            case Arrow(colour=colour):
                width, lines = strokes(primitive)
                for stroke in lines:
                    self._stroke(*stroke, colour, width)
            case Text():
                _write(self.canvas, primitive, factor)
            case Image(x, y, width, height, rgb):
                left, top, right, bottom = self._area(x, y, x + width, y + height)
                larger = Pillow.frombytes("RGB", (width, height), rgb).resize(
                    (right - left + 1, bottom - top + 1), Pillow.Resampling.NEAREST
                )
                self.image.paste(larger, (left, top))
            case FileImage():
                _paste(self.image, primitive, factor)

    def _line(self, x0: int, y0: int, x1: int, y1: int, colour: tuple[int, int, int], width: int) -> None:
        (left, right), (top, bottom), across = sorted((x0, x1)), sorted((y0, y1)), (width - 1) // 2
        if x0 == x1:
            self.canvas.rectangle(self._area(x0 - across, top, x0 - across + width, bottom + 1), colour)
        elif y0 == y1:
            self.canvas.rectangle(self._area(left, y0 - across, right + 1, y0 - across + width), colour)
        else:
            self._stroke(x0, y0, x1, y1, colour, width)

    def _stroke(self, x0: float, y0: float, x1: float, y1: float, colour: tuple[int, int, int], width: float) -> None:
        """A line between pixel centres with round ends."""
        ends = [((x + 0.5) * self.factor, (y + 0.5) * self.factor) for x, y in ((x0, y0), (x1, y1))]
        self.canvas.line(ends, colour, max(1, round(width * self.factor)))
        radius = width * self.factor / 2
        for x, y in ends:
            self.canvas.ellipse((x - radius, y - radius, x + radius, y + radius), colour)
