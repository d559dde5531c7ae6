"""Spatial integration: a line figure, shown in parts, and a whole to compare it with."""

from __future__ import annotations

import itertools
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field, model_validator

from ...stimuli.scene import STEPS
from ..language.diagnostics import listed, show
from .base import SAMPLERS, Sampler

ANSWERS = ("different", "same")
#: rows and columns of the lattice
SIDE = 5
#: tries to find the next points of a walk, each in one of eight directions; then it is given up
#: (WorM)
_TRIES = 51
_MOVES = tuple((down, right) for right, down in STEPS.values())

Point = tuple[int, int]


def whole(parts: list[list[list[int]]]) -> list[list[int]]:
    """The path whose parts these are, in whatever order.

    Raises
    ------
    ValueError
        when they do not go together.
    """
    following = {tuple(part[0]): part for part in parts}
    ends = {tuple(part[-1]) for part in parts}
    first = [part for part in parts if tuple(part[0]) not in ends]
    if len(first) != 1 or len(following) != len(parts):
        raise ValueError("the parts do not make one path")
    path, used = list(first[0]), 1
    while (part := following.get(tuple(path[-1]))) is not None:
        path += part[1:]
        used += 1
    if used != len(parts):
        raise ValueError("the parts do not make one path")
    return path


@SAMPLERS.register
class IntegrationFigure(Sampler):
    """A path over neighbouring points of a 5 x 5 lattice, cut into parts, and the whole that is
    shown at the end: the same, or with other last segments (WorM, spatial integration).

    Gives ``parts`` (each a path of points [row, column], in the order shown), ``probe`` (a path),
    ``answer`` (same or different) and ``changed`` (segments that differ; 0 when it is the same). A
    path is a random walk that visits no point twice; the other ending is a walk that avoids all
    points of the first.

    When ``balanced``, same and different are equally likely, and so are the numbers of changed
    segments. Every figure that is shown then has another ending, whichever the answer, and which of
    the two is shown in parts is a coin's choice: neither the parts alone nor the probe alone tell
    anything. Otherwise, as published, everything is drawn again when no other ending is found, the
    answer too: "same" becomes more frequent than "different", and small changes than large ones.
    """

    name: ClassVar[str] = "integration_figure"
    part_size: Annotated[int, Field(ge=1)] = Field(description="segments in each part")
    segments: Annotated[int, Field(ge=2, le=14)] = Field(12, description="segments of the whole figure")
    changes: list[Annotated[int, Field(ge=1)]] = Field(
        [1, 2, 3, 4],
        min_length=1,
        description=(
            "number of segments at the end that differ in a different figure; each number is tried with equal"
            " probability"
        ),
    )
    balanced: bool = Field(
        True, description="whether answers and numbers of changed segments are balanced; not in the published generator"
    )

    @model_validator(mode="after")
    def _possible(self) -> IntegrationFigure:
        if self.segments % self.part_size:
            raise ValueError(f"{self.segments} segments cannot be cut into parts of {self.part_size}")
        if max(self.changes) >= self.segments or self.segments + 1 + max(self.changes) > SIDE**2 - 4:
            raise ValueError(f"{max(self.changes)} of {self.segments} segments are too many to change")
        return self

    def draw(self, random: np.random.RandomState) -> dict[str, Any]:
        answer, changed = self._coins(random)
        while True:
            figure = self._walk(random)
            other = self._extended(random, figure[: len(figure) - changed], changed, avoid=figure)
            if other is not None or (answer == "same" and not self.balanced):
                break
            if not self.balanced:
                answer, changed = self._coins(random)
        if self.balanced and other is not None and random.randint(2):
            figure, other = other, figure
        parts = [figure[start : start + self.part_size + 1] for start in range(0, self.segments, self.part_size)]
        probe = figure if answer == "same" or other is None else other
        return {
            "parts": [[list(point) for point in parts[n]] for n in random.permutation(len(parts))],
            "probe": [list(point) for point in probe],
            "answer": answer,
            "changed": changed if answer == "different" else 0,
        }

    def _coins(self, random: np.random.RandomState) -> tuple[str, int]:
        return ANSWERS[int(random.randint(2))], self.changes[int(random.randint(len(self.changes)))]

    def _walk(self, random: np.random.RandomState) -> list[Point]:
        while True:
            row, column = divmod(int(random.randint(SIDE**2)), SIDE)
            walk = self._extended(random, [(row, column)], self.segments)
            if walk is not None:
                return walk

    @staticmethod
    def _extended(
        random: np.random.RandomState, path: list[Point], steps: int, avoid: list[Point] | None = None
    ) -> list[Point] | None:
        """A path made longer by so many steps, or None when that fails."""
        path, occupied = list(path), {*path, *(avoid or ())}
        length = len(path) + steps
        row, column = path[-1]
        for way in random.randint(8, size=_TRIES).tolist():
            point = (row + _MOVES[way][0], column + _MOVES[way][1])
            if point in occupied or not (0 <= point[0] < SIDE and 0 <= point[1] < SIDE):
                continue
            row, column = point
            occupied.add(point)
            path.append(point)
            if len(path) == length:
                return path
        return None

    def check(self, value: Any) -> None:
        super().check(value)
        try:
            figure = whole(value["parts"])
        except ValueError as error:
            raise ValueError(f"parts: {error}") from None
        probe, answer, changed = value["probe"], value["answer"], value["changed"]
        for name, path in (("parts", figure), ("probe", probe)):
            if not _is_path(path):
                raise ValueError(
                    f"{name}: expected neighbouring points of a {SIDE} x {SIDE} lattice, none visited twice; found"
                    f" {show(path)}"
                )
        if answer not in ANSWERS or changed not in (self.changes if answer == "different" else [0]):
            raise ValueError(
                f"expected same with 0 changed, or different with {listed(self.changes)}; found {show(answer)} with"
                f" {show(changed)}"
            )
        unchanged = len(figure) - changed
        if probe[:unchanged] != figure[:unchanged] or any(point in figure for point in probe[unchanged:]):
            how = f", its last {changed} points others that it does not have" if changed else ""
            raise ValueError(f"probe: expected the figure of the parts{how}; found {show(probe)}")


def _is_path(path: list[list[int]]) -> bool:
    inside = all(type(part) is int and 0 <= part < SIDE for point in path for part in point)
    return (
        inside
        and all(max(abs(one[0] - other[0]), abs(one[1] - other[1])) == 1 for one, other in itertools.pairwise(path))
        and len({tuple(point) for point in path}) == len(path)
    )
