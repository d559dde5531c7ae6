"""Patterns of filled cells, by themselves or two side by side; several patterns or arrows at once,
from which an answer is chosen; squares at places of an invisible grid."""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, ClassVar, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from ...core.registry import Ints, as_tuple, as_tuples
from ..render.fast.tiling import Family, Tiling
from ..scene import (
    BACKGROUND,
    CANVAS,
    COLOURS,
    STEPS,
    Arrow,
    Colour,
    Direction,
    Line,
    Primitive,
    Rectangle,
    direction_words,
)
from ..stimulus import STIMULI, ColourName, Tiled, cell_list, check_cells, colour_words, rgb, rows_of

Grid = Annotated[int, Field(ge=2, le=16)]


def grid_cell(index: int, grid: int, cell: int, x: int, y: int, fill: Colour, radius: int = 0) -> Rectangle:
    """One cell of a grid with black lines; neighbouring cells share a line."""
    column, row = index % grid, index // grid
    return Rectangle(
        x + column * cell,
        y + row * cell,
        x + (column + 1) * cell,
        y + (row + 1) * cell,
        fill,
        COLOURS["black"],
        1,
        radius,
    )


@lru_cache(maxsize=64)
def grid_family(
    grid: int,
    colour: str,
    cell: int,
    places: tuple[tuple[int, int], ...],
    radius: int,
    below: tuple[Primitive, ...] = (),
    absent: bool = False,
) -> Family:
    """Grids side by side at ``places``: per cell white or filled and, when ``absent``, a state 0
    for grids that are not there."""
    fills = (COLOURS["white"], rgb(colour))
    tiles = []
    for x, y in places:
        for index in range(grid * grid):
            states = tuple((grid_cell(index, grid, cell, x, y, fill, radius),) for fill in fills)
            tiles.append(((), *states) if absent else states)
    return Family(tuple(tiles), below, group=grid * grid if absent else 0)


def _not_white(colour: str) -> str:
    if rgb(colour) == COLOURS["white"]:
        raise ValueError("cells that are not filled are white, so filled ones need another colour")
    return colour


#: A colour that differs from that of empty cells.
FillColour = Annotated[ColourName, AfterValidator(_not_white)]


@STIMULI.register
class Matrix(Tiled):
    """One grid in the middle of the screen; filled cells have a colour, the others are white."""

    name: ClassVar[str] = "matrix"

    grid: Grid = Field(6, description="rows and columns")
    filled: Ints = Field(description="the filled cells, from 0, row by row")
    colour: FillColour = Field("green", description="colour of filled cells")
    margin: Annotated[int, Field(ge=0, le=40)] = Field(
        9, description="distance from the edge of the screen, in canvas units"
    )
    radius: Annotated[int, Field(ge=0, le=10)] = Field(3, description="radius of the corners of cells, in canvas units")

    @model_validator(mode="after")
    def _canonical(self) -> Self:
        if self._cell < 2:
            raise ValueError(f"a margin of {self.margin} leaves no room for a {self.grid} x {self.grid} grid")
        object.__setattr__(
            self, "filled", check_cells(self.filled, self.grid**2, f"the {self.grid} x {self.grid} grid")
        )
        if not self.filled:
            object.__setattr__(self, "colour", "green")
        return self

    @property
    def _cell(self) -> int:
        return (CANVAS - 2 * self.margin) // self.grid

    def tiling(self) -> Tiling:
        states = bytearray(self.grid**2)
        for cell in self.filled:
            states[cell] = 1
        return Tiling(
            grid_family(self.grid, self.colour, self._cell, ((self.margin, self.margin),), self.radius), bytes(states)
        )

    def words(self) -> str:
        if not self.filled:
            return f"A {self.grid} x {self.grid} grid, all white."
        return (
            f"A {self.grid} x {self.grid} grid, row by row from the top (# = {colour_words(self.colour)}, . ="
            f" white):\n{rows_of(self.filled, self.grid)}"
        )


@lru_cache(maxsize=16)
def _two_grids(grid: int, colour: str) -> Family:
    return grid_family(grid, colour, 36 // grid, ((4, 28), (52, 28)), 1, (Line(46, 20, 46, 76, COLOURS["black"]),))


@STIMULI.register
class SideBySide(Tiled):
    """Two grids, left and right of a line: which of them was there before?"""

    name: ClassVar[str] = "side_by_side"

    grid: Grid = Field(6, description="rows and columns of each grid")
    left: Ints = Field(description="the filled cells of the left grid, from 0, row by row")
    right: Ints = Field(description="the filled cells of the right grid")
    colour: FillColour = Field("green", description="colour of filled cells")

    @model_validator(mode="after")
    def _canonical(self) -> Self:
        for side in ("left", "right"):
            object.__setattr__(
                self, side, check_cells(getattr(self, side), self.grid**2, f"the {side} {self.grid} x {self.grid} grid")
            )
        if not self.left and not self.right:
            object.__setattr__(self, "colour", "green")
        return self

    def tiling(self) -> Tiling:
        count = self.grid**2
        states = bytearray(2 * count)
        for cell in self.left:
            states[cell] = 1
        for cell in self.right:
            states[count + cell] = 1
        return Tiling(_two_grids(self.grid, self.colour), bytes(states))

    def words(self) -> str:
        legend = (
            f"Two {self.grid} x {self.grid} grids side by side, each row by row from the top (# ="
            f" {colour_words(self.colour)}, . = white)."
        )
        return f"{legend}\nLeft:\n{rows_of(self.left, self.grid)}\nRight:\n{rows_of(self.right, self.grid)}"


_NINE = "Nine positions in three rows of three, numbered 1 to 9 row by row from the top left."
_EIGHT = "Eight positions in rows of three, three and two, numbered 1 to 8 row by row from the top left."


def eight_corners() -> tuple[tuple[int, int], ...]:
    """Top left corners of eight places in rows of three, three and two."""
    return tuple((32 * (place % 3) + (3 if place < 6 else 19), 32 * (place // 3) + 3) for place in range(8))


def _layout(grid: int, count: int) -> tuple[int, tuple[tuple[int, int], ...], tuple[Primitive, ...]]:
    """Cell size, corners of the patterns, and lines between the places."""
    if count == 8:
        return 26 // grid, eight_corners(), ()
    cell = 28 // grid
    lines = [Line(0, at, 96, at, COLOURS["black"]) for at in (32, 64)] + [
        Line(at, 0, at, 96, COLOURS["black"]) for at in (32, 64)
    ]
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
    """Small patterns, each in one of nine places between lines (or of eight places in rows of
    three, three and two); places may be empty."""

    name: ClassVar[str] = "pattern_array"

    grid: Annotated[int, Field(ge=2, le=8)] = Field(6, description="rows and columns of each pattern")
    cells: Annotated[tuple[Ints | None, ...], BeforeValidator(as_tuples)] = Field(
        description="nine (or eight) patterns by position, each a list of filled cells, or null for an empty place"
    )
    colour: FillColour = Field("green", description="colour of filled cells")

    @model_validator(mode="after")
    def _canonical(self) -> Self:
        if len(self.cells) not in (8, 9):
            raise ValueError(f"cells must have nine places (or eight); found {len(self.cells)}")
        patterns = tuple(
            (
                None
                if pattern is None
                else check_cells(pattern, self.grid**2, f"the {self.grid} x {self.grid} pattern at position {place}")
            )
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
            f"Each holds a {self.grid} x {self.grid} grid or is empty; grids are given row by row from the top (# ="
            f" {colour_words(self.colour)}, . = white)."
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
    tiles = [
        [
            (Arrow(x + 12 - 8 * dx, y + 12 - 8 * dy, x + 12 + 8 * dx, y + 12 + 8 * dy, ink, 2),)
            for dx, dy in STEPS.values()
        ]
        for x, y in corners
    ]
    return Family(tuple(map(tuple, tiles)), tuple(Rectangle(x, y, x + 24, y + 24, COLOURS["red"]) for x, y in corners))


@STIMULI.register
class ArrowArray(Tiled):
    """Eight arrows on red squares, in rows of three, three and two."""

    name: ClassVar[str] = "arrow_array"

    directions: Annotated[tuple[Direction, ...], BeforeValidator(as_tuple)] = Field(
        description="eight directions by position, such as up or down_left"
    )

    @model_validator(mode="after")
    def _eight(self) -> Self:
        if len(self.directions) != 8:
            raise ValueError(f"directions must have eight places; found {len(self.directions)}")
        return self

    def tiling(self) -> Tiling:
        return Tiling(_arrows(), bytes(map(_DIRECTIONS.index, self.directions)))

    def words(self) -> str:
        places = [
            f"Position {place}: {direction_words(direction)}"
            for place, direction in enumerate(self.directions, start=1)
        ]
        return "\n".join((_EIGHT, "Each holds a red square with an arrow that points in a direction.", *places))


@lru_cache(maxsize=16)
def _squares(grid: int) -> Family:
    cell = (CANVAS - 6) // grid

    def square(index: int, colour: str) -> tuple[Primitive, ...]:
        x, y = 3 + cell * (index % grid), 3 + cell * (index // grid)
        return (Rectangle(x, y, x + cell, y + cell, COLOURS[colour], BACKGROUND, 2),)

    return Family(tuple(((), square(index, "green"), square(index, "red")) for index in range(grid * grid)))


@STIMULI.register
class Squares(Tiled):
    """Green and red squares at some places of an invisible grid."""

    name: ClassVar[str] = "squares"

    grid: Annotated[int, Field(ge=2, le=15)] = Field(10, description="rows and columns of the invisible grid")
    green: Ints = Field((), description="cells with a green square, from 0, row by row")
    red: Ints = Field((), description="cells with a red square")

    @model_validator(mode="after")
    def _canonical(self) -> Self:
        for colour in ("green", "red"):
            object.__setattr__(
                self, colour, check_cells(getattr(self, colour), self.grid**2, f"the {self.grid} x {self.grid} grid")
            )
        both = set(self.green) & set(self.red)
        if both:
            raise ValueError(f"cell {min(both)} is both green and red")
        if not self.green and not self.red:
            object.__setattr__(self, "grid", 10)
        return self

    def tiling(self) -> Tiling:
        states = bytearray(self.grid**2)
        for cell in self.green:
            states[cell] = 1
        for cell in self.red:
            states[cell] = 2
        return Tiling(_squares(self.grid), bytes(states))

    def words(self) -> str:
        return (
            f"Squares on an invisible {self.grid} x {self.grid} grid, each as row,column from 1,1 (top left) to"
            f" {self.grid},{self.grid} (bottom right).\nGreen: {cell_list(self.green, self.grid)}\nRed:"
            f" {cell_list(self.red, self.grid)}"
        )
