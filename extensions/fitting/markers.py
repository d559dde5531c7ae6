"""Markers that move from cell to cell in their boxes: what each cell of a box is to somebody who is
asked where its marker is now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from spanlab.core import SpanLabError
from spanlab.paradigms import Percept
from spanlab.stimuli import STEPS

#: What a cell can be, in the order of the answers of models: no marker was ever there; the marker
#: of the box is there; that of another box is there; the marker of the box was there; that of
#: another box was there; that of another box is there, and that of the box was.
ROLES = ("new", "current", "current elsewhere", "outdated", "outdated elsewhere", "current elsewhere and outdated")
#: Rows and columns of a box.
_GRID = 3


class MovingMarkers:
    """The cells of all markers, now and before, as displays show them."""

    def __init__(self) -> None:
        self.now: list[int] = []
        self._before: list[set[int]] = []

    def see(self, stimulus: Mapping[str, Any]) -> None:
        """Take in a display: markers where they begin, or an arrow that moves one of them."""
        markers, arrow = stimulus.get("markers"), stimulus.get("arrow")
        if markers is not None and None not in markers:
            self.now, self._before = list(markers), [set() for _ in markers]
        elif arrow is not None and self.now:
            box = arrow["box"]
            row, column = divmod(self.now[box], _GRID)
            right, down = STEPS[arrow["direction"]]
            self._before[box].add(self.now[box])
            self.now[box] = (row + down) * _GRID + column + right

    def roles(self, box: int) -> list[int]:
        """Return what each cell is in a question about a box: places in :data:`ROLES`."""
        return [self._role(cell, box) for cell in range(_GRID**2)]

    def _role(self, cell: int, box: int) -> int:
        if cell == self.now[box]:
            return 1
        outdated = cell in self._before[box]
        if cell in self.now:
            return 5 if outdated else 2
        if outdated:
            return 3
        return 4 if any(cell in before for before in self._before) else 0


def roles_asked(percepts: Iterable[Percept]) -> list[list[int]]:
    """Return what each cell is in each question of a trial.

    Raises
    ------
    SpanLabError
        when its questions are not about markers in boxes.
    """
    markers, asked = MovingMarkers(), []
    for percept in percepts:
        shown = percept.for_machine.stimulus.model_dump()
        markers.see(shown)
        if percept.ask is not None:
            if not markers.now or shown.get("probed") is None:
                raise SpanLabError(
                    "its answers are neither on a circle, nor yes or no, nor lists in order, nor cells of markers that"
                    " were moved"
                )
            asked.append(markers.roles(shown["probed"]))
    return asked
