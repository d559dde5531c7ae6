"""The benchmark's arrows as bitmaps, and the geometry of arrows at larger scales.

The WorM benchmark draws arrows with OpenCV (``arrowedLine``, ``tipLength`` 0.4). Only two lengths occur, in eight directions; they are kept here as bitmaps,
relative to the starting point, so that frames match to the pixel without OpenCV.
"""

from __future__ import annotations

import math
from functools import lru_cache

from ..scene import Arrow

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
    return tuple((x - start[0], y - start[1]) for y, row in enumerate(rows) for x, mark in enumerate(row) if mark == "#")


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
    """The canvas points that the benchmark paints for an arrow, or None for an arrow that it never draws."""
    points = _bitmaps().get((arrow.x1 - arrow.x0, arrow.y1 - arrow.y0, arrow.width)) if arrow.head == 0.4 else None
    return None if points is None else tuple((arrow.x0 + x, arrow.y0 + y) for x, y in points)


def strokes(arrow: Arrow) -> tuple[float, list[tuple[float, float, float, float]]]:
    """Stroke width and the three strokes of an arrow (shaft and the two sides of its head), between pixel centres, in canvas units.

    OpenCV's lines of even thickness come out one pixel wider; so do these.
    """
    dx, dy = arrow.x1 - arrow.x0, arrow.y1 - arrow.y0
    length, angle = math.hypot(dx, dy) * arrow.head, math.atan2(dy, dx)
    lines = [(float(arrow.x0), float(arrow.y0), float(arrow.x1), float(arrow.y1))]
    for turn in (-math.pi / 4, math.pi / 4):
        lines.append((float(arrow.x1), float(arrow.y1), arrow.x1 - length * math.cos(angle + turn), arrow.y1 - length * math.sin(angle + turn)))
    return (arrow.width if arrow.width % 2 else arrow.width + 1), lines
