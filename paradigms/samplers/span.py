"""Complex span: items to store with the displays from which they are chosen, the decisions that
interrupt, and figures to coordinate."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from ...stimuli.scene import STEPS
from ..language.diagnostics import listed, show
from .base import SAMPLERS, Sampler
from .lists import MatrixPatterns, PatternDistractors

_OPTIONS = 8
# Patterns of the benchmark: eight of sixteen cells are filled, and a distractor differs from its
# item in six.
_GRID, _FILLED, _DIFFERENCE = 4, 8, 6
#: The movements of the benchmark: three cells of a 3 x 3 grid in a row, a column or a diagonal,
#: either way.
_LINES = (
    [[3 * n, 3 * n + 1, 3 * n + 2] for n in range(3)] + [[n, n + 3, n + 6] for n in range(3)] + [[0, 4, 8], [2, 4, 6]]
)
MOVEMENTS = [*_LINES, *(line[::-1] for line in _LINES)]

#: The shades that stand for red and for blue in the benchmark.
SHADES = {
    "red": ("#880808", "#EE4B2B", "#C41E3A", "#D2042D", "#DC143C", "#8B0000", "#800000"),
    "blue": ("#0000FF", "#0096FF", "#0047AB", "#1C05B3", "#00008B", "#3F00FF", "#0437F2"),
}

_Item = dict[str, Any]


def direction_of(movement: list[int]) -> str:
    """The direction of a movement through a 3 x 3 grid, from its first and last cell."""
    (top, left), (bottom, right) = divmod(movement[0], 3), divmod(movement[-1], 3)
    step = ((right > left) - (right < left), (bottom > top) - (bottom < top))
    return next(name for name, direction in STEPS.items() if direction == step)


@SAMPLERS.register
class SpanItems(Sampler):
    """Items to store (WorM, complex span): patterns of eight of sixteen cells, or movements of a
    dot over three of nine cells.

    Each item has ``memory`` (its cells, in order for a movement), ``options`` (eight patterns, or
    the names of the eight directions) and ``slot`` (which option is right, uniform). A movement
    counts by its direction alone.

    ``balanced``: the items of a trial differ, and the eight directions are equally likely. A
    pattern's eight options differ from one another in six cells each, so that none stands out:
    without the item, the options tell nothing.

    Otherwise as the benchmark draws them: two items may be the same, all 16 movements are equally
    likely (an axis is then three times as likely as a diagonal), and seven distractors differ from
    the item in six cells each but from one another in up to twelve, or not at all.
    """

    name: ClassVar[str] = "span_items"
    storage: Literal["spatial", "visual"] = Field(description="spatial: movements of a dot; visual: patterns")
    count: Annotated[int, Field(ge=1, le=8)] = Field(2, description="number of items")
    balanced: bool = Field(
        True,
        description=(
            "whether items differ, directions are equally likely and no option stands out; false: as in the benchmark"
        ),
    )

    def draw(self, random: np.random.RandomState) -> list[_Item]:
        if self.storage == "spatial":
            return self._movements(random)
        items = [_equidistant(random) if self.balanced else _varied(random) for _ in range(self.count)]
        while self.balanced and len({tuple(item["memory"]) for item in items}) < self.count:
            items = [_equidistant(random) for _ in range(self.count)]
        return items

    def _movements(self, random: np.random.RandomState) -> list[_Item]:
        directions = list(STEPS)
        if self.balanced:
            chosen = [directions[n] for n in random.permutation(len(directions))[: self.count]]
            alike = [
                [movement for movement in MOVEMENTS if direction_of(movement) == direction] for direction in chosen
            ]
        else:
            alike = [MOVEMENTS] * self.count
        items = []
        for pool in alike:
            movement = list(pool[int(random.randint(len(pool)))])
            options = [directions[n] for n in random.permutation(len(directions))]
            items.append({"memory": movement, "options": options, "slot": options.index(direction_of(movement))})
        return items

    def check(self, value: Any) -> None:
        super().check(value)
        for n, item in enumerate(value, start=1):
            memory, options = item["memory"], item["options"]
            if type(item["slot"]) is not int or not 0 <= item["slot"] < _OPTIONS:
                raise ValueError(f"item {n}: the slot is one of 0 to {_OPTIONS - 1}; found {show(item['slot'])}")
            right = options[item["slot"]]
            if self.storage == "spatial":
                if memory not in MOVEMENTS or sorted(options) != sorted(STEPS):
                    raise ValueError(
                        f"item {n}: expected a straight movement over three cells and the eight directions; found"
                        f" {show(memory)}, {show(options)}"
                    )
                if right != direction_of(memory):
                    raise ValueError(
                        f"item {n}: {show(memory)} is a movement {direction_of(memory)}, but the slot holds {right}"
                    )
            elif sorted(right) != sorted(memory):
                raise ValueError(f"item {n}: the slot holds {show(right)}, which is not the pattern {show(memory)}")


def _varied(random: np.random.RandomState) -> _Item:
    """A pattern and seven variations of it, drawn one by one."""
    (memory,) = MatrixPatterns(count=1, grid=_GRID, filled=_FILLED).draw(random)
    distractors = PatternDistractors(
        of=[memory] * (_OPTIONS - 1), difference=_DIFFERENCE, grid=_GRID, unlike=[], distinct=False
    ).draw(random)
    slot = int(random.randint(_OPTIONS))
    return {"memory": memory, "options": [*distractors[:slot], memory, *distractors[slot:]], "slot": slot}


def _equidistant(random: np.random.RandomState) -> _Item:
    """Eight patterns, each of which differs from each other in six cells; one of them is the item.

    The sets {1, 3, 4, 5, 9} + n modulo 11 (the squares modulo 11 and their translations) share two
    members, whichever two are taken, so they differ in six. Eight of them, with three cells that
    are filled in all and two that are white in all, on sixteen cells in random order: every pattern
    is equally likely to be the item, and so is each of its variations to be a given distractor.
    """
    cells = random.permutation(_GRID**2).tolist()
    sets = random.permutation(11)[:_OPTIONS].tolist()
    options = [sorted([*cells[11:14], *(cells[(square + shift) % 11] for square in (1, 3, 4, 5, 9))]) for shift in sets]
    slot = int(random.randint(_OPTIONS))
    return {"memory": options[slot], "options": options, "slot": slot}


@SAMPLERS.register
class SpanDistractors(Sampler):
    """Decisions that interrupt storage (WorM, complex span): is a colour red or blue, is a figure
    symmetric?

    Each has ``answer``, a fair coin, and what is shown: ``colour`` (one of seven shades), or
    ``cells`` (a figure of spatial coordination: 20 of 10 x 10 cells, 4 of them without a mirror
    image when it is asymmetric).
    """

    name: ClassVar[str] = "span_distractors"
    domain: Literal["spatial", "visual"] = Field(description="spatial: symmetry of figures; visual: colours")
    count: Annotated[int, Field(ge=0, le=100)] = Field(description="number of decisions")
    repeats: bool = Field(
        False, description="whether a cell of a figure may be drawn more than once, as in the benchmark"
    )

    @property
    def _figures(self) -> CoordinationFigure:
        return CoordinationFigure(count=20, offsets=[4], grid=10, repeats=self.repeats)

    def draw(self, random: np.random.RandomState) -> list[dict[str, Any]]:
        if self.domain == "spatial":
            figures = [self._figures.draw(random) for _ in range(self.count)]
            return [{"answer": figure["answer"], "cells": figure["cells"]} for figure in figures]
        answers = [("red", "blue")[n] for n in random.randint(2, size=self.count).tolist()]
        return [
            {"answer": answer, "colour": SHADES[answer][int(random.randint(len(SHADES[answer])))]} for answer in answers
        ]

    def check(self, value: Any) -> None:
        super().check(value)
        for n, decision in enumerate(value, start=1):
            if self.domain == "spatial":
                self._figures.check({**decision, "offset": 4 if decision["answer"] == "asymmetric" else 0})
            elif decision["colour"].upper() not in SHADES.get(decision["answer"], ()):
                raise ValueError(
                    f"decision {n}: {show(decision['colour'])} is not a shade of {show(decision['answer'])}"
                )


ANSWERS = ("asymmetric", "symmetric")


def mirrored_cells(
    random: np.random.RandomState, count: int, unpaired: int = 0, grid: int = 10, repeats: bool = False
) -> list[int]:
    """Cells of a grid, half of them on the left and half on the right: mirror images of each other,
    but for ``unpaired`` cells that have none.

    Of the mirror images, half of ``unpaired`` are left out at random, and as many cells without a
    mirror image replace them. So both halves always have equally many cells, and each half by
    itself is a uniform draw: neither numbers nor one half tell whether the figure is symmetric.

    Parameters
    ----------
    count : of cells, even
    unpaired : even, at most ``count``; 0 = symmetric
    grid : rows and columns, even
    repeats : whether cells are drawn with replacement, as in the published generator
    """
    columns = grid // 2
    area = grid * columns
    left = (random.randint(area, size=count // 2) if repeats else random.permutation(area)[: count // 2]).tolist()
    unmoved = [left[n] for n in random.permutation(len(left))[unpaired // 2 :]]
    others = [place for place in range(area) if place not in left]
    added = [others[n] for n in random.permutation(len(others))[: unpaired // 2]]
    rows_left = [divmod(place, columns) for place in left]
    rows_right = [divmod(place, columns) for place in unmoved + added]
    return [row * grid + column for row, column in rows_left] + [
        row * grid + grid - 1 - column for row, column in rows_right
    ]


@SAMPLERS.register
class CoordinationFigure(Sampler):
    """Cells that make a figure, symmetric about the vertical middle line or not, each with
    probability 1/2 (WorM, spatial coordination).

    Gives ``cells`` in order of presentation, ``answer`` (symmetric or asymmetric) and ``offset``
    (how many cells have no mirror image; 0 when symmetric). Half of the cells are on the left and
    half on the right in both cases.
    """

    name: ClassVar[str] = "coordination_figure"
    count: Annotated[int, Field(ge=2, multiple_of=2)] = Field(description="number of cells shown, an even number")
    offsets: list[Annotated[int, Field(ge=2, multiple_of=2)]] = Field(
        [2, 4, 6, 8],
        min_length=1,
        description="number of cells without a mirror image in asymmetric figures: even numbers, each equally likely",
    )
    grid: Annotated[int, Field(ge=2, le=16, multiple_of=2)] = Field(
        10, description="rows and columns of the grid, an even number"
    )
    repeats: bool = Field(
        False, description="whether the same cell may be shown more than once, as in the published generator"
    )

    @model_validator(mode="after")
    def _possible(self) -> CoordinationFigure:
        area = self.grid**2 // 2
        if max(self.offsets) > self.count:
            raise ValueError(f"{max(self.offsets)} of {self.count} cells cannot be without a mirror image")
        if self.count // 2 + max(self.offsets) // 2 > area:
            raise ValueError(
                f"{self.count} cells with up to {max(self.offsets)} of them changed are too many for a {self.grid} x"
                f" {self.grid} grid"
            )
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
            raise ValueError(
                f"expected symmetric with offset 0, or asymmetric with {listed(self.offsets)}; found {show(answer)}"
                f" with {show(offset)}"
            )
        left = Counter(self._mirror(cell) for cell in cells if cell % self.grid < self.grid // 2)
        right = Counter(cell for cell in cells if cell % self.grid >= self.grid // 2)
        if left.total() != right.total() or (right - left).total() != offset // 2:
            raise ValueError(
                f"cells: expected half of them on each side, and {offset // 2} on the right without a mirror image;"
                f" found {show(cells)}"
            )

    def _mirror(self, cell: int) -> int:
        row, column = divmod(cell, self.grid)
        return row * self.grid + self.grid - 1 - column
