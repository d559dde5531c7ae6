"""Markers in boxes: spatial updating, where they wander from cell to cell, and task switching, where
a cue says what to tell of them."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from ...stimuli.kinds.boxes import places
from ...stimuli.scene import STEPS
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


_TASKS = ("up_down", "left_right")
_BOXES = (0, 1, 2, 3)


@SAMPLERS.register
class TaskSequence(Sampler):
    """A sequence of cues and probes for two tasks (WorM, spatial task switching).

    Each entry has ``task``, ``cue`` (true for a cue), ``marker`` (cell of the 2 × 2 boxes, row by
    row) and ``answer`` (0 = top or left, 1 = bottom or right); of a cue the last two are null. The
    sequence begins with a cue; before every later probe the task switches with the given
    probability, with a cue, as long as there is room for the cue and its probe. Answers are fair
    coins. Places are equally likely, so that both tasks have the same answer to half of the markers
    (they are congruent), unless another share is given.
    """

    name: ClassVar[str] = "task_sequence"
    length: Annotated[int, Field(ge=2, le=1000)] = Field(20, description="number of cues and probes together")
    switch: Annotated[float, Field(ge=0, le=1)] = Field(0.2, description="probability of a switch before a probe")
    congruent: Annotated[float, Field(ge=0, le=1)] | None = Field(
        None,
        description=(
            "probability that both tasks have the same answer to a marker; if not given, all places are equally likely,"
            " as in the benchmark"
        ),
    )

    def draw(self, random: np.random.RandomState) -> list[dict[str, Any]]:
        task = _TASKS[int(random.randint(2))]
        sequence = [self._cue(task), self._probe(task, random)]
        while len(sequence) < self.length:
            if random.random_sample() < self.switch and len(sequence) < self.length - 1:
                task = _TASKS[1 - _TASKS.index(task)]
                sequence.append(self._cue(task))
            sequence.append(self._probe(task, random))
        return sequence

    def check(self, value: Any) -> None:
        super().check(value)
        task, after_cue = "", False
        for place, entry in enumerate(value, start=1):
            cue, marker = entry["cue"], entry["marker"]
            if (
                entry["task"] not in _TASKS
                or (entry["task"] == task) == cue
                or (cue and (after_cue or place == len(value)))
            ):
                raise ValueError(
                    f"entry {place}: tasks are {' and '.join(_TASKS)}, begin with a cue, change at cues only, and a"
                    f" probe follows each; found {show(entry)}"
                )
            task, after_cue = entry["task"], cue
            row, column = divmod(marker, 2) if marker in _BOXES else (None, None)
            if (
                (marker in _BOXES) == cue
                or (cue and marker is not None)
                or entry["answer"] != (row if task == "up_down" else column)
            ):
                raise ValueError(
                    f"entry {place}: the answer to a marker in box 0, 1, 2 or 3 is its row or its column, and a cue has"
                    f" neither; found {show(entry)}"
                )
            if not cue and self.congruent in (0, 1) and (row == column) != self.congruent:
                raise ValueError(
                    f"entry {place}: expected {'only' if self.congruent else 'no'} congruent markers; found"
                    f" {show(entry)}"
                )

    @staticmethod
    def _cue(task: str) -> dict[str, Any]:
        return {"task": task, "cue": True, "marker": None, "answer": None}

    def _probe(self, task: str, random: np.random.RandomState) -> dict[str, Any]:
        answer = int(random.randint(2))
        alike = (
            bool(random.randint(2)) == bool(answer)
            if self.congruent is None
            else random.random_sample() < self.congruent
        )
        other = answer if alike else 1 - answer
        marker = 2 * answer + other if task == "up_down" else answer + 2 * other
        return {"task": task, "cue": False, "marker": marker, "answer": answer}
