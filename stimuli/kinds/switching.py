"""Four boxes with a marker in one of them, and cues that say which of two judgements to make: task
switching."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from ..scene import COLOURS, Line, Primitive, Rectangle
from ..stimulus import STIMULI, Stimulus, row_column
from .arrays import grid_cell


@STIMULI.register
class SwitchBoxes(Stimulus):
    """Two by two white boxes, with a cue (bars above and below, or left and right) or a red marker
    in one box."""

    name: ClassVar[str] = "switch_boxes"

    cue: Literal["up_down", "left_right"] | None = Field(
        None, description="bars above and below the boxes (up_down) or left and right of them (left_right)"
    )
    marker: Annotated[int, Field(ge=0, le=3)] | None = Field(
        None, description="the box that holds the marker, 0 to 3, row by row"
    )

    @model_validator(mode="after")
    def _one_or_none(self) -> Self:
        if self.cue is not None and self.marker is not None:
            raise ValueError("show either a cue or a marker; they follow one another")
        return self

    def primitives(self) -> Iterable[Primitive]:
        black = COLOURS["black"]
        for index in range(4):
            box = grid_cell(index, 2, 28, 20, 20, COLOURS["white"])
            yield Rectangle(box.x0, box.y0, box.x1, box.y1, box.fill, black, 2, 2)
        if self.cue == "up_down":
            yield from (Line(48, 4, 48, 16, black, 3), Line(48, 80, 48, 92, black, 3))
        elif self.cue == "left_right":
            yield from (Line(4, 48, 16, 48, black, 3), Line(80, 48, 92, 48, black, 3))
        if self.marker is not None:
            x, y = 28 + 28 * (self.marker % 2), 28 + 28 * (self.marker // 2)
            yield Rectangle(x, y, x + 12, y + 12, COLOURS["red"], radius=1)

    def words(self) -> str:
        says = "Four white boxes, two rows of two, as row,column from 1,1 (top left) to 2,2 (bottom right)."
        if self.cue == "up_down":
            return f"{says} A cue: one bar above and one bar below the boxes."
        if self.cue == "left_right":
            return f"{says} A cue: one bar to the left and one bar to the right of the boxes."
        return says if self.marker is None else f"{says} A red marker in box {row_column(self.marker, 2)}."
