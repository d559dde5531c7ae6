"""Line figures on a lattice of points, in parts or whole: spatial integration."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field, StrictInt, field_validator

from ..render.fast.tiling import Family, Tiling
from ..scene import COLOURS, Line, Rectangle
from ..stimulus import STIMULI, ColourName, Tiled, colour_words, rgb

Point = tuple[StrictInt, StrictInt]
Segment = tuple[Point, Point]


def _is_point(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and len(value) == 2 and type(value[0]) is int and type(value[1]) is int


def _segments(value: Any) -> Any:
    """Segments as sorted pairs of sorted points, from a path (points in order) or from pairs of
    points."""
    if not isinstance(value, (list, tuple)) or len(value) < 1:
        return value
    if all(map(_is_point, value)):
        value = list(pairwise(value))
    elif not all(isinstance(pair, (list, tuple)) and len(pair) == 2 and all(map(_is_point, pair)) for pair in value):
        raise ValueError("lines are a path of points, each [row, column], or a list of pairs of points")
    return tuple(sorted({tuple(sorted((tuple(one), tuple(other)))) for one, other in value}))


def _lattice() -> tuple[Segment, ...]:
    """All segments between neighbouring points, in drawing order."""
    points: list[Point] = [(row, column) for row in range(5) for column in range(5)]
    return tuple(
        (one, other)
        for one in points
        for other in points
        if one < other and max(abs(one[0] - other[0]), abs(one[1] - other[1])) == 1
    )


_NUMBERS = {segment: number for number, segment in enumerate(_lattice())}


@lru_cache(maxsize=16)
def _family(colour: str, framed: bool) -> Family:
    """Segments that are there or not."""
    start, step = (15, 16) if framed else (10, 19)
    lines = [
        Line(start + step * b, start + step * a, start + step * d, start + step * c, rgb(colour), 3)
        for (a, b), (c, d) in _NUMBERS
    ]
    return Family(
        tuple(((), (line,)) for line in lines), (Rectangle(5, 5, 91, 91, None, COLOURS["red"], 3),) if framed else ()
    )


@STIMULI.register
class Figure(Tiled):
    """Straight segments between neighbouring points of a 5 x 5 lattice; in a red frame (and
    somewhat smaller) when the figure is to be judged."""

    name: ClassVar[str] = "figure"

    lines: Annotated[tuple[Segment, ...], BeforeValidator(_segments)] = Field(
        description=(
            "a path of points in order, each [row, column] from 0 to 4, at most one row and one column apart; or a list"
            " of pairs of points"
        )
    )
    framed: bool = Field(False, description="whether it is in a red frame")
    colour: ColourName = Field("green", description="colour of the segments")

    @field_validator("lines")
    @classmethod
    def _on_lattice(cls, value: tuple[Segment, ...]) -> tuple[Segment, ...]:
        if not value:
            raise ValueError("a figure needs at least two points")
        if _NUMBERS.keys() >= set(value):
            return value
        for one, other in value:
            for point in (one, other):
                if not all(0 <= part <= 4 for part in point):
                    raise ValueError(f"point {list(point)} is outside the lattice: rows and columns are 0 to 4")
            if max(abs(one[0] - other[0]), abs(one[1] - other[1])) != 1:
                raise ValueError(f"points {list(one)} and {list(other)} are not neighbours")
        return value

    def tiling(self) -> Tiling:
        states = bytearray(len(_NUMBERS))
        for segment in self.lines:
            states[_NUMBERS[segment]] = 1
        return Tiling(_family(self.colour, self.framed), bytes(states))

    def words(self) -> str:
        lines = "; ".join(f"{a + 1},{b + 1} to {c + 1},{d + 1}" for (a, b), (c, d) in self.lines)
        frame = " in a red frame" if self.framed else ""
        return (
            f"A figure of {colour_words(self.colour)} lines{frame} on a lattice of 5 x 5 points, "
            "each as row,column from 1,1 (top left) to 5,5 (bottom right).\n"
            f"Lines: {lines}"
        )
