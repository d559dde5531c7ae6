"""Stimuli that are put together from tiles, so that thousands of frames can be drawn at once.

A grid whose cells are filled or not, boxes that hold a marker or not: such stimuli are members of a family and differ only in the states of their tiles.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .scene import BACKGROUND, Colour, Primitive


@dataclass(frozen=True, eq=False)
class Family:
    """What the members of a family share. Families are compared by identity: build them in cached functions.

    Parameters
    ----------
    tiles : for each tile and each of its states, what is drawn
    below : what is drawn before the tiles
    group : the number of consecutive tiles that are absent together: when one of them is in state 0, all are; 0 = tiles are free of each other
    """

    tiles: tuple[tuple[tuple[Primitive, ...], ...], ...]
    below: tuple[Primitive, ...] = ()
    group: int = 0
    background: Colour = BACKGROUND


@dataclass(frozen=True)
class Tiling:
    """One member of a family: ``states`` has one byte per tile."""

    family: Family
    states: bytes

    def primitives(self) -> Iterator[Primitive]:
        """What to draw, in drawing order."""
        yield from self.family.below
        for tile, state in zip(self.family.tiles, self.states, strict=True):
            yield from tile[state]
