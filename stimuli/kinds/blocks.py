"""Blocks at places of one's own, one of which may be lit: the board of block-tapping tests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, ClassVar, Self

from pydantic import BeforeValidator, Field, model_validator

from ...core.registry import as_tuple
from ..scene import CANVAS, COLOURS, Primitive, Rectangle
from ..stimulus import STIMULI, ColourName, Stimulus, colour_words, rgb

Box = Annotated[tuple[int, int, int, int], BeforeValidator(as_tuple)]
Boxes = Annotated[tuple[Box, ...], BeforeValidator(as_tuple)]
#: Colours that words leave out, because only the light tells blocks apart.
_COLOUR, _LIGHT = "#6b7280", "#ffd21f"


@STIMULI.register
class Blocks(Stimulus):
    """Blocks at given places, all alike but for the one that is lit."""

    name: ClassVar[str] = "blocks"

    areas: Boxes = Field(description="where each block is, as [x0, y0, x1, y1] in canvas units")
    lit: int | None = Field(None, description="the block that is lit, from 0; none when not given")
    colour: ColourName = Field(_COLOUR, description="colour of the blocks")
    light: ColourName = Field(_LIGHT, description="colour of the one that is lit")

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if not self.areas:
            raise ValueError("there are no blocks: give at least one area")
        for area in self.areas:
            x0, y0, x1, y1 = area
            if not (0 <= x0 < x1 <= CANVAS and 0 <= y0 < y1 <= CANVAS):
                raise ValueError(
                    f"an area is [x0, y0, x1, y1], from its top left to its bottom right corner, within 0 to {CANVAS};"
                    f" found {list(area)}"
                )
        if self.lit is not None and not 0 <= self.lit < len(self.areas):
            raise ValueError(f"there is no block {self.lit}: blocks are 0 to {len(self.areas) - 1}")
        return self

    def primitives(self) -> Iterable[Primitive]:
        for number, (x0, y0, x1, y1) in enumerate(self.areas):
            yield Rectangle(
                x0, y0, x1 - 1, y1 - 1, rgb(self.light if number == self.lit else self.colour), COLOURS["black"]
            )

    def words(self) -> str:
        named = (self.colour, self.light) != (_COLOUR, _LIGHT)
        many = f"{len(self.areas)} {colour_words(self.colour)} blocks" if named else f"{len(self.areas)} blocks"
        if self.lit is None:
            return f"{many}, none of them lit."
        return f"{many}; block {self.lit + 1} is lit{f' ({colour_words(self.light)})' if named else ''}."
