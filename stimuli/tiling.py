"""Stimuli that are put together from tiles, so that thousands of small frames can be made without drawing each of them.

A grid whose cells are filled or not, boxes that hold a marker or not: such stimuli are members of a family of *tilings*
and differ only in the states of their tiles.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from .scene import BACKGROUND, Colour, Primitive


@dataclass(frozen=True, eq=False)
class Family:
    """The common parts of a family of tilings. Families are compared by identity: build them in
    cached functions.

    Parameters
    ----------
    tiles : for each tile and each of its states, what is drawn
    below : what is drawn before the tiles
    """

    tiles: tuple[tuple[tuple[Primitive, ...], ...], ...]
    below: tuple[Primitive, ...] = ()
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
