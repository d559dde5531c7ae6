"""Squares at places of an invisible grid."""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator

from ...core.registry import Ints
from ..render.fast.tiling import Family, Tiling
from ..scene import BACKGROUND, CANVAS, COLOURS, Primitive, Rectangle
from ..stimulus import STIMULI, Tiled, cell_list, check_cells


@lru_cache(maxsize=16)
def _family(grid: int) -> Family:
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
        return Tiling(_family(self.grid), bytes(states))

    def words(self) -> str:
        return (
            f"Squares on an invisible {self.grid} x {self.grid} grid, each as row,column from 1,1 (top left) to"
            f" {self.grid},{self.grid} (bottom right).\nGreen: {cell_list(self.green, self.grid)}\nRed:"
            f" {cell_list(self.red, self.grid)}"
        )
