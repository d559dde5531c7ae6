"""Line figures on a lattice of points, in parts or whole: spatial integration."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field, StrictInt, field_validator

from ..parameters import ColourName, colour_words, rgb
from ..scene import COLOURS, Line, Primitive, Rectangle
from ..stimulus import STIMULI, Stimulus

Point = tuple[StrictInt, StrictInt]
Segment = tuple[Point, Point]


def _is_point(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and len(value) == 2 and all(type(part) is int for part in value)


def _segments(value: Any) -> Any:
    """Segments as sorted pairs of sorted points, from a path (points in order) or from pairs of points."""
    if not isinstance(value, (list, tuple)) or len(value) < 1:
        return value
    if all(_is_point(point) for point in value):
        value = list(pairwise(value))
    if not all(isinstance(pair, (list, tuple)) and len(pair) == 2 and all(_is_point(point) for point in pair) for pair in value):
        raise ValueError("lines are a path of points, each [row, column], or a list of pairs of points")
    return tuple(sorted({tuple(sorted((tuple(one), tuple(other)))) for one, other in value}))


@STIMULI.register
class Figure(Stimulus):
    """Straight segments between neighbouring points of a 5 x 5 lattice; in a red frame (and somewhat smaller) when the figure is to be judged."""

    name: ClassVar[str] = "figure"

    lines: Annotated[tuple[Segment, ...], BeforeValidator(_segments)] = Field(
        description="a path of points in order, each [row, column] from 0 to 4, at most one row and one column apart; or a list of pairs of points"
    )
    framed: bool = Field(False, description="whether it is in a red frame")
    colour: ColourName = Field("green", description="colour of the segments")

    @field_validator("lines")
    @classmethod
    def _on_lattice(cls, value: tuple[Segment, ...]) -> tuple[Segment, ...]:
        if not value:
            raise ValueError("a figure needs at least two points")
        for one, other in value:
            for point in (one, other):
                if not all(0 <= part <= 4 for part in point):
                    raise ValueError(f"point {list(point)} is outside the lattice: rows and columns are 0 to 4")
            if max(abs(one[0] - other[0]), abs(one[1] - other[1])) != 1:
                raise ValueError(f"points {list(one)} and {list(other)} are not neighbours")
        return value

    def primitives(self) -> Iterable[Primitive]:
        start, step = (15, 16) if self.framed else (10, 19)
        if self.framed:
            yield Rectangle(5, 5, 91, 91, None, COLOURS["red"], 3)
        for one, other in self.lines:
            yield Line(start + step * one[1], start + step * one[0], start + step * other[1], start + step * other[0], rgb(self.colour), 3)

    def words(self) -> str:
        lines = "; ".join(f"{a + 1},{b + 1} to {c + 1},{d + 1}" for (a, b), (c, d) in self.lines)
        frame = " in a red frame" if self.framed else ""
        return (
            f"A figure of {colour_words(self.colour)} lines{frame} on a lattice of 5 x 5 points, "
            "each as row,column from 1,1 (top left) to 5,5 (bottom right).\n"
            f"Lines: {lines}"
        )
