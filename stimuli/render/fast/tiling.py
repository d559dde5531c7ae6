"""Stimuli as tiles and scattered shapes, so that thousands of small frames can be made without
drawing each of them.

A grid whose cells are filled or not, boxes that hold a marker or not: such stimuli are members of a
family of *tilings* and differ only in the states of their tiles. Bars at any place are *scattered*:
figures that come in few shapes, each somewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ...scene import BACKGROUND, Colour, Primitive


@dataclass(frozen=True, eq=False)
class Family:
    """The common parts of a family of tilings. Families are compared by identity: build them in
    cached functions.

    Parameters
    ----------
    tiles : for each tile and each of its states, what is drawn
    below : what is drawn before the tiles
    group : the number of consecutive tiles that are absent together: when one of them is in state
        0, all are; 0 = tiles are free of each other
    """

    tiles: tuple[tuple[tuple[Primitive, ...], ...], ...]
    below: tuple[Primitive, ...] = ()
    group: int = 0
    background: Colour = BACKGROUND


class Tiling(NamedTuple):
    """One member of a family: ``states`` has one byte per tile."""

    family: Family
    states: bytes

    def primitives(self) -> Iterator[Primitive]:
        """Return the primitives in drawing order."""
        yield from self.family.below
        for tile, state in zip(self.family.tiles, self.states, strict=True):
            yield from tile[state]


#: Draws a shape with its corner at whole x, y: what is drawn moves with the corner, and does not
#: change otherwise.
Paint = Callable[[Any, float, float], Iterable[Primitive]]


class Scatter(NamedTuple):
    """Shapes at places, drawn one after another.

    Parameters
    ----------
    paint : draws one of them; a function that all scatters of a kind share
    shapes : what is drawn, in drawing order
    corners : where: x and y of each shape in turn, whole numbers from 0 to 95
    """

    paint: Paint
    shapes: Sequence[Hashable]
    corners: Sequence[float]
    background: Colour = BACKGROUND

    def primitives(self) -> Iterator[Primitive]:
        """Return the primitives in drawing order."""
        for shape, x, y in zip(self.shapes, self.corners[::2], self.corners[1::2], strict=True):
            yield from self.paint(shape, x, y)
