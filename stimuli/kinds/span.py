"""What complex span shows besides patterns: a dot that moves through a square, and fields of colour to judge."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, ClassVar

from pydantic import Field

from ..scene import COLOURS, Ellipse, Primitive, Rectangle
from ..stimulus import STIMULI, ColourName, Stimulus, colour_words, rgb, row_column


@STIMULI.register
class Dot(Stimulus):
    """A red dot at one of nine places in a green frame; shown one after another, dots make a movement."""

    name: ClassVar[str] = "dot"

    cell: Annotated[int, Field(ge=0, le=8)] = Field(description="the place, 0 to 8, row by row")

    def primitives(self) -> Iterable[Primitive]:
        x, y = 9 + 26 * (self.cell % 3), 9 + 26 * (self.cell // 3)
        return Rectangle(6, 6, 90, 90, None, COLOURS["green"], 2), Ellipse(x + 6, y + 6, x + 20, y + 20, COLOURS["red"])

    def words(self) -> str:
        return f"A red dot in a green frame, at row,column {row_column(self.cell, 3)} of 3 rows and 3 columns (1,1 is top left)."


@STIMULI.register
class ColourField(Stimulus):
    """A large square filled with one colour."""

    name: ClassVar[str] = "colour_field"
    shorthand: ClassVar[str] = "colour"

    colour: ColourName = Field(description="the colour")

    def primitives(self) -> Iterable[Primitive]:
        return (Rectangle(6, 6, 90, 90, rgb(self.colour), COLOURS["black"], 2),)

    def words(self) -> str:
        return f"A large square filled with one colour: {colour_words(self.colour)}."
