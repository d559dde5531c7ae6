"""Boxes: on a circle, with a marker in one of the nine cells of each; the blocks of block-tapping
tests, one of which may be lit; and four with a cue that says what to judge."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Annotated, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from ...core.registry import StrictModel, as_tuple
from ..render.fast.tiling import Family, Tiling
from ..scene import CANVAS, COLOURS, STEPS, Arrow, Direction, Line, Primitive, Rectangle, direction_words
from ..stimulus import STIMULI, ColourName, Stimulus, Tiled, colour_words, rgb, row_column
from .arrays import grid_cell

# Boxes are 15 units wide, at 48 + 35 cos(2πi/n), 48 + 35 sin(2πi/n) (a single one in the middle);
# drawing truncates fractions. The last bit of a cosine may differ between mathematical libraries,
# so the whole numbers are kept: first x, middle x / first y, middle y of each box.
_PLACES: dict[int, str] = {
    1: "40,48/40,48",
    2: "75,83/40,48; 5,13/40,48",
    3: "75,83/40,48; 23,30/70,78; 22,30/10,17",
    4: "75,83/40,48; 40,48/75,83; 5,13/40,48; 40,47/5,13",
    5: "75,83/40,48; 51,58/73,81; 12,19/61,68; 12,19/19,27; 51,58/7,14",
    6: "75,83/40,48; 58,65/70,78; 23,30/70,78; 5,13/40,48; 22,30/10,17; 58,65/10,17",
    7: "75,83/40,48; 62,69/67,75; 32,40/74,82; 8,16/55,63; 8,16/25,32; 32,40/6,13; 62,69/13,20",
    8: "75,83/40,48; 65,72/65,72; 40,48/75,83; 15,23/65,72; 5,13/40,48; 15,23/15,23; 40,47/5,13; 65,72/15,23",
}
_DIRECTIONS = tuple(STEPS)


def places(count: int) -> tuple[tuple[tuple[int, int], tuple[int, int]], ...]:
    """((first x, middle x), (first y, middle y)) of each of ``count`` boxes, clockwise from 3
    o'clock."""

    def pair(text: str) -> tuple[int, int]:
        first, middle = text.split(",")
        return int(first), int(middle)

    return tuple((pair(x), pair(y)) for x, y in (place.split("/") for place in _PLACES[count].split("; ")))


def _contents(x: tuple[int, int], y: tuple[int, int]) -> Iterator[tuple[Primitive, ...]]:
    """The possible contents of the box at (first, middle) coordinates: nothing, a marker in one of
    nine cells, an arrow in one of eight directions; last, the red box."""
    green, red = (
        Rectangle(x[0], y[0], x[0] + 15, y[0] + 15, COLOURS[colour], COLOURS["white"]) for colour in ("green", "red")
    )
    yield (green,)
    for cell in range(9):
        left, top = x[0] + 1 + 5 * (cell % 3), y[0] + 1 + 5 * (cell // 3)
        yield green, Rectangle(left, top, left + 3, top + 3, COLOURS["red"])
    for steps in STEPS.values():
        ends = (
            {1: (first + 3, first + 12), -1: (first + 12, first + 3), 0: (middle, middle)} for first, middle in (x, y)
        )
        (x0, x1), (y0, y1) = (of_step[step] for of_step, step in zip(ends, steps, strict=True))
        yield green, Arrow(x0, y0, x1, y1, COLOURS["ink"])
    yield (red,)


@lru_cache(maxsize=8)
def _family(count: int) -> Family:
    return Family(tuple(tuple(_contents(x, y)) for x, y in places(count)))


class BoxArrow(StrictModel):
    """An arrow in one of the boxes."""

    box: Annotated[int, Field(ge=0)] = Field(description="the box, from 0, clockwise from 3 o'clock")
    direction: Direction = Field(description="its direction, such as up or down_left")


@STIMULI.register
class Boxes(Tiled):
    """Green boxes on a circle; a box may hold a red marker in one of nine cells, or an arrow, or be
    red itself (the one that is asked about)."""

    name: ClassVar[str] = "boxes"

    count: Annotated[int, Field(ge=1, le=8)] = Field(description="number of boxes")
    markers: Annotated[tuple[int | None, ...] | None, BeforeValidator(as_tuple)] = Field(
        None, description="the marker's cell in each box (0 to 8, row by row), or null for a box without one"
    )
    arrow: BoxArrow | None = Field(None, description="an arrow, as {box: 0, direction: up_left}")
    probed: int | None = Field(None, description="the red box")

    @model_validator(mode="after")
    def _canonical(self) -> Self:
        if self.markers is not None:
            if len(self.markers) != self.count:
                raise ValueError(
                    f"markers must have one cell (or null) for each of the {self.count} boxes; found"
                    f" {len(self.markers)}"
                )
            outside = next((cell for cell in self.markers if cell is not None and not 0 <= cell < 9), None)
            if outside is not None:
                raise ValueError(f"marker cell {outside} is outside the box: cells are 0 to 8, row by row")
            if all(cell is None for cell in self.markers):
                object.__setattr__(self, "markers", None)
        for what, box in (("arrow", self.arrow and self.arrow.box), ("probed", self.probed)):
            if box is not None and not 0 <= box < self.count:
                raise ValueError(f"{what} is in box {box}, but boxes are 0 to {self.count - 1}")
        for box in range(self.count):
            if (self._marker(box) is not None) + (self._direction(box) is not None) + (self.probed == box) > 1:
                raise ValueError(f"box {box} can hold a marker or an arrow or be red (probed), only one of these")
        return self

    def _marker(self, box: int) -> int | None:
        return None if self.markers is None else self.markers[box]

    def _direction(self, box: int) -> str | None:
        return self.arrow.direction if self.arrow is not None and self.arrow.box == box else None

    def tiling(self) -> Tiling:
        states = bytearray(self.count)
        for box, marker in enumerate(self.markers or ()):
            if marker is not None:
                states[box] = 1 + marker
        if self.arrow is not None:
            states[self.arrow.box] = 10 + _DIRECTIONS.index(self.arrow.direction)
        if self.probed is not None:
            states[self.probed] = 18
        return Tiling(_family(self.count), bytes(states))

    def words(self) -> str:
        if self.count == 1:
            lines = ["One box in the middle of the screen: box 1."]
        else:
            lines = [
                f"{self.count} boxes evenly spaced on a circle, numbered 1 to {self.count} clockwise from 3 o'clock."
            ]
        lines.append("Each box is a 3 x 3 grid of cells, numbered 1 to 9 row by row from its top left.")
        for box in range(self.count):
            says = ["red" if self.probed == box else "green"]
            if (marker := self._marker(box)) is not None:
                says.append(f"a red marker in cell {marker + 1}")
            if (direction := self._direction(box)) is not None:
                says.append(f"an arrow that points {direction_words(direction)}")
            lines.append(f"Box {box + 1}: {', '.join(says)}")
        return "\n".join(lines)


Area = Annotated[tuple[int, int, int, int], BeforeValidator(as_tuple)]
Areas = Annotated[tuple[Area, ...], BeforeValidator(as_tuple)]
#: Colours that words leave out, because only the light tells blocks apart.
_COLOUR, _LIGHT = "#6b7280", "#ffd21f"


@STIMULI.register
class Blocks(Stimulus):
    """Blocks at given places, all alike but for the one that is lit."""

    name: ClassVar[str] = "blocks"

    areas: Areas = Field(description="where each block is, as [x0, y0, x1, y1] in canvas units")
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
