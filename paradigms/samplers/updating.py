"""Spatial updating: markers that wander through the cells of their boxes."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from ...stimuli.directions import STEPS
from ...stimuli.kinds.boxes import places
from ..language.diagnostics import listed, show
from .base import SAMPLERS, Sampler


def moves(cell: int, grid: int) -> list[tuple[str, int]]:
    """The directions in which a marker can move without leaving its box, each with the cell that it
    leads to."""
    row, column = divmod(cell, grid)
    return [
        (direction, (row + down) * grid + column + right)
        for direction, (right, down) in STEPS.items()
        if 0 <= row + down < grid and 0 <= column + right < grid
    ]


@SAMPLERS.register
class MarkerWalk(Sampler):
    """A marker in each box, moved one cell at a time; boxes take turns clockwise (WorM, spatial
    memory updating).

    Gives ``start`` (cell of each box), ``updates`` (each with ``box`` and ``direction``) and
    ``final`` (cell of each box). Start cells are uniform; each direction is uniform among those
    that stay inside the box.
    """

    name: ClassVar[str] = "marker_walk"
    boxes: Annotated[int, Field(ge=1, le=8)] = Field(description="number of boxes")
    updates: Annotated[int, Field(ge=0, le=100)] = Field(description="number of updates in all")
    grid: Annotated[int, Field(ge=2, le=3)] = Field(3, description="rows and columns of each box")

    def draw(self, random: np.random.RandomState) -> dict[str, Any]:
        start = [int(random.randint(self.grid**2)) for _ in range(self.boxes)]
        cells = list(start)
        updates = []
        for n in range(self.updates):
            box = n % self.boxes
            inside = moves(cells[box], self.grid)
            direction, cells[box] = inside[int(random.randint(len(inside)))]
            updates.append({"box": box, "direction": direction})
        return {"start": start, "updates": updates, "final": cells}

    def check(self, value: Any) -> None:
        super().check(value)
        cells = list(value["start"])
        if not all(type(cell) is int and 0 <= cell < self.grid**2 for cell in cells):
            raise ValueError(f"start: expected cells from 0 to {self.grid**2 - 1}; found {show(cells)}")
        for n, update in enumerate(value["updates"], start=1):
            box, direction = update["box"], update["direction"]
            if type(box) is not int or not 0 <= box < self.boxes or direction not in STEPS:
                raise ValueError(
                    f"update {n}: expected a box from 0 to {self.boxes - 1} and one of the directions {listed(STEPS)};"
                    f" found {show(update)}"
                )
            inside = dict(moves(cells[box], self.grid))
            if direction not in inside:
                raise ValueError(f"update {n} ({direction}) moves the marker out of box {box}")
            cells[box] = inside[direction]
        if cells != value["final"]:
            raise ValueError(f"final: the updates lead to {show(cells)}; found {show(value['final'])}")


@SAMPLERS.register
class MarkerOdds(Sampler):
    """For each box of a marker walk, how often the best guess of its final cell is right when
    nothing was seen: the probability of the likeliest cell. Nothing is random. Moves that would
    leave the box are never made, so markers gather in the middle.
    """

    name: ClassVar[str] = "marker_odds"
    arranges: ClassVar[bool] = True
    boxes: Annotated[int, Field(ge=1, le=8)] = Field(description="number of boxes")
    updates: Annotated[int, Field(ge=0, le=100)] = Field(description="number of updates in all")
    grid: Annotated[int, Field(ge=2, le=3)] = Field(3, description="rows and columns of each box")

    def draw(self, random: np.random.RandomState) -> list[float]:
        each, left = divmod(self.updates, self.boxes)
        return [_likeliest(each + (box < left), self.grid) for box in range(self.boxes)]


@cache
def _likeliest(updates: int, grid: int) -> float:
    """The probability of the likeliest cell after so many moves from anywhere."""
    where = [Fraction(1, grid**2)] * grid**2
    for _ in range(updates):
        moved = [Fraction(0)] * grid**2
        for cell, probability in enumerate(where):
            reached = moves(cell, grid)
            for _, to in reached:
                moved[to] += probability / len(reached)
        where = moved
    return float(max(where))


@SAMPLERS.register
class BoxAreas(Sampler):
    """The areas of the boxes of spatial updating on the canvas, each as [x0, y0, x1, y1], so that a
    click can name a cell. Nothing is random."""

    name: ClassVar[str] = "box_areas"
    arranges: ClassVar[bool] = True
    boxes: Annotated[int, Field(ge=1, le=8)] = Field(description="number of boxes")

    def draw(self, random: np.random.RandomState) -> list[list[float]]:
        # Three cells of five units each, inside the box's outline.
        return [[x + 0.5, y + 0.5, x + 15.5, y + 15.5] for (x, _), (y, _) in places(self.boxes)]
