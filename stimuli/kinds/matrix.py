"""Grids of cells that are filled or white: patterns to keep in mind, one or two at a time."""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, ClassVar, Self

from pydantic import AfterValidator, Field, model_validator

from ...core.registry import Ints
from ..render.fast.tiling import Family, Tiling
from ..scene import CANVAS, COLOURS, Colour, Line, Primitive, Rectangle
from ..stimulus import STIMULI, ColourName, Tiled, check_cells, colour_words, rgb, rows_of

Grid = Annotated[int, Field(ge=2, le=16)]


def grid_cell(index: int, grid: int, cell: int, x: int, y: int, fill: Colour, radius: int = 0) -> Rectangle:
    """One cell of a grid with black lines; neighbouring cells share a line."""
    column, row = index % grid, index // grid
    return Rectangle(x + column * cell, y + row * cell, x + (column + 1) * cell, y + (row + 1) * cell, fill, COLOURS["black"], 1, radius)


@lru_cache(maxsize=64)
def grid_family(
    grid: int, colour: str, cell: int, places: tuple[tuple[int, int], ...], radius: int, below: tuple[Primitive, ...] = (), absent: bool = False
) -> Family:
    """Grids side by side at ``places``: per cell white or filled and, when ``absent``, a state 0 for grids that are not there."""
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
    margin: Annotated[int, Field(ge=0, le=40)] = Field(9, description="distance from the edge of the screen, in canvas units")
    radius: Annotated[int, Field(ge=0, le=10)] = Field(3, description="radius of the corners of cells, in canvas units")

    @model_validator(mode="after")
    def _canonical(self) -> Self:
        if self._cell < 2:
            raise ValueError(f"a margin of {self.margin} leaves no room for a {self.grid} x {self.grid} grid")
        object.__setattr__(self, "filled", check_cells(self.filled, self.grid**2, f"the {self.grid} x {self.grid} grid"))
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
        return Tiling(grid_family(self.grid, self.colour, self._cell, ((self.margin, self.margin),), self.radius), bytes(states))

    def words(self) -> str:
        if not self.filled:
            return f"A {self.grid} x {self.grid} grid, all white."
        return f"A {self.grid} x {self.grid} grid, row by row from the top (# = {colour_words(self.colour)}, . = white):\n{rows_of(self.filled, self.grid)}"


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
            object.__setattr__(self, side, check_cells(getattr(self, side), self.grid**2, f"the {side} {self.grid} x {self.grid} grid"))
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
        legend = f"Two {self.grid} x {self.grid} grids side by side, each row by row from the top (# = {colour_words(self.colour)}, . = white)."
        return f"{legend}\nLeft:\n{rows_of(self.left, self.grid)}\nRight:\n{rows_of(self.right, self.grid)}"
