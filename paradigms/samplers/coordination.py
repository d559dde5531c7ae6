"""Spatial coordination: cells that are symmetric about the vertical middle line, or not quite."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field, model_validator

from ..language.diagnostics import listed, show
from .base import SAMPLERS, Sampler, ints

ANSWERS = ("asymmetric", "symmetric")


def mirrored_cells(random: np.random.RandomState, count: int, unpaired: int = 0, grid: int = 10, repeats: bool = False) -> list[int]:
    """Cells of a grid, half of them on the left and half on the right: mirror images of each other, but for ``unpaired`` cells that have none.

    Of the mirror images, half of ``unpaired`` are left out at random, and as many cells without a mirror image replace them. So both halves always have
    equally many cells, and each half by itself is a uniform draw: neither numbers nor one half tell whether the figure is symmetric.

    Parameters
    ----------
    count : of cells, even
    unpaired : even, at most ``count``; 0 = symmetric
    grid : rows and columns, even
    repeats : whether cells are drawn with replacement, as in the published generator
    """
    columns = grid // 2
    area = grid * columns
    left = ints(random.randint(area, size=count // 2) if repeats else random.permutation(area)[: count // 2])
    unmoved = [left[n] for n in random.permutation(len(left))[unpaired // 2 :]]
    others = [place for place in range(area) if place not in left]
    added = [others[n] for n in random.permutation(len(others))[: unpaired // 2]]
    rows_left = [divmod(place, columns) for place in left]
    rows_right = [divmod(place, columns) for place in unmoved + added]
    return [row * grid + column for row, column in rows_left] + [row * grid + grid - 1 - column for row, column in rows_right]


@SAMPLERS.register
class CoordinationFigure(Sampler):
    """Cells that make a figure, symmetric about the vertical middle line or not, each with probability 1/2 (WorM, spatial coordination).

    Gives ``cells`` in order of presentation, ``answer`` (symmetric or asymmetric) and ``offset`` (how many cells have no mirror image; 0 when symmetric).
    Half of the cells are on the left and half on the right in both cases.
    """

    name: ClassVar[str] = "coordination_figure"
    count: Annotated[int, Field(ge=2, multiple_of=2)] = Field(description="number of cells shown, an even number")
    offsets: list[Annotated[int, Field(ge=2, multiple_of=2)]] = Field(
        [2, 4, 6, 8], min_length=1, description="number of cells without a mirror image in asymmetric figures: even numbers, each equally likely"
    )
    grid: Annotated[int, Field(ge=2, le=16, multiple_of=2)] = Field(10, description="rows and columns of the grid, an even number")
    repeats: bool = Field(False, description="whether the same cell may be shown more than once, as in the published generator")

    @model_validator(mode="after")
    def _possible(self) -> CoordinationFigure:
        area = self.grid**2 // 2
        if max(self.offsets) > self.count:
            raise ValueError(f"{max(self.offsets)} of {self.count} cells cannot be without a mirror image")
        if self.count // 2 + max(self.offsets) // 2 > area:
            raise ValueError(f"{self.count} cells with up to {max(self.offsets)} of them changed are too many for a {self.grid} x {self.grid} grid")
        return self

    def draw(self, random: np.random.RandomState) -> dict[str, Any]:
        answer = ANSWERS[int(random.randint(2))]
        offset = self.offsets[int(random.randint(len(self.offsets)))] if answer == "asymmetric" else 0
        cells = mirrored_cells(random, self.count, offset, self.grid, self.repeats)
        return {"cells": [cells[n] for n in random.permutation(len(cells))], "answer": answer, "offset": offset}

    def check(self, value: Any) -> None:
        super().check(value)
        cells, answer, offset = value["cells"], value["answer"], value["offset"]
        if not all(type(cell) is int and 0 <= cell < self.grid**2 for cell in cells):
            raise ValueError(f"cells: expected cells from 0 to {self.grid**2 - 1}; found {show(cells)}")
        if not self.repeats and len(set(cells)) < len(cells):
            raise ValueError(f"cells: a cell occurs twice in {show(cells)}")
        if answer not in ANSWERS or offset not in (self.offsets if answer == "asymmetric" else [0]):
            raise ValueError(f"expected symmetric with offset 0, or asymmetric with {listed(self.offsets)}; found {show(answer)} with {show(offset)}")
        left = Counter(self._mirror(cell) for cell in cells if cell % self.grid < self.grid // 2)
        right = Counter(cell for cell in cells if cell % self.grid >= self.grid // 2)
        unmatched = (right - left).total()
        if left.total() != right.total() or unmatched != offset // 2:
            raise ValueError(f"cells: {show(cells)} have not {offset // 2} on the right that are not mirror images, with half of all cells on each side")

    def _mirror(self, cell: int) -> int:
        row, column = divmod(cell, self.grid)
        return row * self.grid + self.grid - 1 - column
