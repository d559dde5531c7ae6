"""Several patterns or arrows at once, each in its place: the displays from which an answer is chosen."""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, Any, ClassVar, Self

from pydantic import BeforeValidator, Field, model_validator

from ...core.json_values import as_tuple
from ...core.registry import Ints
from ..directions import STEPS, Direction, direction_words
from ..render.fast.tiling import Family, Tiling
from ..scene import COLOURS, Arrow, Line, Primitive, Rectangle
from ..stimulus import STIMULI, Tiled, check_cells, colour_words, rows_of
from .matrix import FillColour, grid_family

_NINE = "Nine positions in three rows of three, numbered 1 to 9 row by row from the top left."
_EIGHT = "Eight positions in rows of three, three and two, numbered 1 to 8 row by row from the top left."


def _patterns(value: Any) -> Any:
    return tuple(tuple(cell) if isinstance(cell, list) else cell for cell in value) if isinstance(value, (list, tuple)) else value


def eight_corners() -> tuple[tuple[int, int], ...]:
    """Top left corners of eight places in rows of three, three and two."""
    return tuple((32 * (place % 3) + (3 if place < 6 else 19), 32 * (place // 3) + 3) for place in range(8))


def _layout(grid: int, count: int) -> tuple[int, tuple[tuple[int, int], ...], tuple[Primitive, ...]]:
    """Cell size, corners of the patterns, and lines between the places."""
    if count == 8:
        return 26 // grid, eight_corners(), ()
    cell = 28 // grid
    lines = [Line(0, at, 96, at, COLOURS["black"]) for at in (32, 64)] + [Line(at, 0, at, 96, COLOURS["black"]) for at in (32, 64)]
    return cell, tuple((32 * (place % 3) + 2, 32 * (place // 3) + 2) for place in range(9)), tuple(lines)


@lru_cache(maxsize=64)
def _family(grid: int, colour: str, count: int) -> Family:
    cell, corners, lines = _layout(grid, count)
    return grid_family(grid, colour, cell, corners, 0, lines, absent=True)


@lru_cache(maxsize=4096)
def _states(pattern: tuple[int, ...] | None, count: int) -> bytes:
    """The states of one place's cells: 0 where nothing is, 1 white, 2 filled."""
    if pattern is None:
        return bytes(count)
    states = bytearray(b"\x01" * count)
    for cell in pattern:
        states[cell] = 2
    return bytes(states)


@STIMULI.register
class PatternArray(Tiled):
    """Small patterns, each in one of nine places between lines (or of eight places in rows of three, three and two); places may be empty."""

    name: ClassVar[str] = "pattern_array"

    grid: Annotated[int, Field(ge=2, le=8)] = Field(6, description="rows and columns of each pattern")
    cells: Annotated[tuple[Ints | None, ...], BeforeValidator(_patterns)] = Field(
        description="nine (or eight) patterns by position, each a list of filled cells, or null for an empty place"
    )
    colour: FillColour = Field("green", description="colour of filled cells")

    @model_validator(mode="after")
    def _canonical(self) -> Self:
        if len(self.cells) not in (8, 9):
            raise ValueError(f"cells must have nine places (or eight); found {len(self.cells)}")
        patterns = tuple(
            None if pattern is None else check_cells(pattern, self.grid**2, f"the {self.grid} x {self.grid} pattern at position {place}")
            for place, pattern in enumerate(self.cells, start=1)
        )
        object.__setattr__(self, "cells", patterns)
        if not any(patterns):
            object.__setattr__(self, "colour", "green")
        if all(pattern is None for pattern in patterns):
            object.__setattr__(self, "grid", 6)
        return self

    def tiling(self) -> Tiling:
        states = b"".join(_states(pattern, self.grid**2) for pattern in self.cells)
        return Tiling(_family(self.grid, self.colour, len(self.cells)), states)

    def words(self) -> str:
        legend = (
            f"Each holds a {self.grid} x {self.grid} grid or is empty; grids are given row by row from the top (# = {colour_words(self.colour)}, . = white)."
        )
        places = [
            f"Position {place}: empty" if pattern is None else f"Position {place}:\n{rows_of(pattern, self.grid)}"
            for place, pattern in enumerate(self.cells, start=1)
        ]
        return "\n".join((_EIGHT if len(self.cells) == 8 else _NINE, legend, *places))


_DIRECTIONS = tuple(STEPS)


@lru_cache(maxsize=1)
def _arrows() -> Family:
    """An arrow in one of eight directions on each of eight squares."""
    corners, ink = eight_corners(), COLOURS["ink"]
    tiles = [[(Arrow(x + 12 - 8 * dx, y + 12 - 8 * dy, x + 12 + 8 * dx, y + 12 + 8 * dy, ink, 2),) for dx, dy in STEPS.values()] for x, y in corners]
    return Family(tuple(map(tuple, tiles)), tuple(Rectangle(x, y, x + 24, y + 24, COLOURS["red"]) for x, y in corners))


@STIMULI.register
class ArrowArray(Tiled):
    """Eight arrows on red squares, in rows of three, three and two."""

    name: ClassVar[str] = "arrow_array"

    directions: Annotated[tuple[Direction, ...], BeforeValidator(as_tuple)] = Field(description="eight directions by position, such as up or down_left")

    @model_validator(mode="after")
    def _eight(self) -> Self:
        if len(self.directions) != 8:
            raise ValueError(f"directions must have eight places; found {len(self.directions)}")
        return self

    def tiling(self) -> Tiling:
        return Tiling(_arrows(), bytes(map(_DIRECTIONS.index, self.directions)))

    def words(self) -> str:
        places = [f"Position {place}: {direction_words(direction)}" for place, direction in enumerate(self.directions, start=1)]
        return "\n".join((_EIGHT, "Each holds a red square with an arrow that points in a direction.", *places))
