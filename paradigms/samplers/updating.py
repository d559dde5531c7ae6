"""Spatial updating: markers that wander through the cells of their boxes."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from .base import SAMPLERS, Sampler

#: The eight directions by name (from_to) with their steps in rows and columns.
DIRECTIONS: dict[str, tuple[int, int]] = {
    "up_down": (1, 0),
    "down_up": (-1, 0),
    "left_right": (0, 1),
    "right_left": (0, -1),
    "upleft_downright": (1, 1),
    "downright_upleft": (-1, -1),
    "upright_downleft": (1, -1),
    "downleft_upright": (-1, 1),
}


@SAMPLERS.register
class MarkerWalk(Sampler):
    """A marker in each box, moved one cell at a time; boxes take turns clockwise (WorM, spatial memory updating).

    Gives ``start`` (cell of each box), ``updates`` (each with ``box`` and ``direction``) and ``final`` (cell of each box). Start cells are uniform; each direction is
    uniform among those that stay inside the box.
    """

    name: ClassVar[str] = "marker_walk"
    boxes: Annotated[int, Field(ge=1, le=8)] = Field(description="how many boxes")
    updates: Annotated[int, Field(ge=0, le=100)] = Field(description="how many updates in all")
    grid: Annotated[int, Field(ge=2, le=3)] = Field(3, description="rows and columns of each box")

    def draw(self, random: np.random.RandomState) -> dict[str, Any]:
        start = [int(random.randint(self.grid**2)) for _ in range(self.boxes)]
        cells = list(start)
        updates = []
        for n in range(self.updates):
            box = n % self.boxes
            row, column = divmod(cells[box], self.grid)
            inside = [
                (direction, (row + down) * self.grid + column + right)
                for direction, (down, right) in DIRECTIONS.items()
                if 0 <= row + down < self.grid and 0 <= column + right < self.grid
            ]
            direction, cells[box] = inside[int(random.randint(len(inside)))]
            updates.append({"box": box, "direction": direction})
        return {"start": start, "updates": updates, "final": cells}
