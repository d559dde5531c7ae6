"""Small parts of frames that are the same: what a convolution makes of equal surroundings is equal,
so that each different one needs to be looked at once.

Frames of experiments repeat themselves: a grid has the same corners everywhere, most of an array of
bars is empty, and a display changes little from step to step. In a joint batch of all tasks of the
benchmark, the different surroundings are about a tenth, two fifths and three quarters of the places
that the second, third and fourth layer of the published eye go over.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from ..settings import FRAME


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Parts of each different surrounding.

    Parameters
    ----------
    parts : int64 (n, 9) or (n, 4): rows of the layer below; -1 beyond the border of the frame
    users, starts : the same the other way round, for gradients: ``users[starts[i]:starts[i + 1]]``
        are the surroundings in which row ``i // 9`` of the layer below is at place ``i % 9``. None
        for neighbourhoods of four, and where nothing is learned
    """

    parts: np.ndarray
    users: np.ndarray | None = None
    starts: np.ndarray | None = None


@dataclass(frozen=True, slots=True)
class Patches:
    """Frames taken apart as the layers of the published eye see them: 3 × 3, 3 × 3, the largest of
    2 × 2, 3 × 3, the largest of 2 × 2, 3 × 3, the mean.

    Parameters
    ----------
    pixels : uint8 (n, 9, 3): the different surroundings of a pixel, zeros beyond the border
    second, third, fourth : of the convolutions after the first
    first_pool, second_pool : of the two steps that take the largest of four
    frames : int64 (frames, 64): rows of the fourth layer
    """

    pixels: np.ndarray
    second: Neighbours
    first_pool: Neighbours
    third: Neighbours
    second_pool: Neighbours
    fourth: Neighbours
    frames: np.ndarray

    @property
    def places(self) -> tuple[int, int, int, int]:
        """Number of different surroundings that each convolution goes over."""
        return len(self.pixels), len(self.second.parts), len(self.third.parts), len(self.fourth.parts)


def take_apart(frames: np.ndarray, gradients: bool = True) -> Patches:
    """The different parts of frames, uint8 (n, 32, 32, 3); with what gradients need, or without
    where nothing is learned."""
    colours = frames.astype(np.int32)
    shown, colour = _different((colours[..., 0] << 16 | colours[..., 1] << 8 | colours[..., 2]).reshape(-1, 1))
    table = np.concatenate([shown[:, 0], [0]])  # beyond the border: zeros, which are black
    around, first = _different(_around(colour.reshape(len(frames), FRAME, FRAME)))
    packed = table[around]
    pixels = np.stack([packed >> 16, packed >> 8 & 255, packed & 255], -1).astype(np.uint8)
    second, places = _different(_around(first.reshape(len(frames), FRAME, FRAME)))
    first_pool, places = _different(_fours(places.reshape(len(frames), FRAME, FRAME)))
    third, places = _different(_around(places.reshape(len(frames), FRAME // 2, FRAME // 2)))
    second_pool, places = _different(_fours(places.reshape(len(frames), FRAME // 2, FRAME // 2)))
    fourth, places = _different(_around(places.reshape(len(frames), FRAME // 4, FRAME // 4)))
    back = _both_ways if gradients else lambda parts, below: Neighbours(parts)
    return Patches(
        pixels,
        back(second, len(pixels)),
        Neighbours(first_pool),
        back(third, len(first_pool)),
        Neighbours(second_pool),
        back(fourth, len(second_pool)),
        places.reshape(len(frames), -1),
    )


def _around(numbers: np.ndarray) -> np.ndarray:
    """The nine numbers at and around each place, (places, 9); -1 beyond the border."""
    count, height, width = numbers.shape
    wide = np.full((count, height + 2, width + 2), -1, np.int64)
    wide[:, 1:-1, 1:-1] = numbers
    around = np.empty((9, count, height, width), np.int64)
    for place in range(9):
        row, column = divmod(place, 3)
        around[place] = wide[:, row : row + height, column : column + width]
    return around.reshape(9, -1).T


def _fours(numbers: np.ndarray) -> np.ndarray:
    """The four numbers of each square of 2 × 2 places, (squares, 4)."""
    return np.stack([numbers[:, row::2, column::2].reshape(-1) for row in range(2) for column in range(2)], 1)


def _different(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The different rows in the order in which they come, and for each row which of them it is."""
    import pandas as pd

    for attempt in itertools.count():
        # Odd numbers by which what is at the places is told apart. Should two different rows have
        # one key, others are tried.
        factors = np.random.RandomState(attempt).randint(0, 2**62, rows.shape[1], dtype=np.int64).astype(
            np.uint64
        ) * np.uint64(2) + np.uint64(1)
        keys = np.zeros(len(rows), np.uint64)
        for column, factor in enumerate(factors):
            keys += (rows[:, column] + 2).astype(np.uint64) * factor
        keys ^= keys >> np.uint64(32)
        numbers = pd.factorize(keys)[0]
        first = np.empty(int(numbers.max(initial=-1)) + 1, np.int64)
        first[numbers[::-1]] = np.arange(len(rows) - 1, -1, -1)
        found = np.ascontiguousarray(rows[first])
        if all(np.array_equal(found[:, column][numbers], rows[:, column]) for column in range(rows.shape[1])):
            return found, numbers
    raise AssertionError("unreachable")


def _both_ways(parts: np.ndarray, below: int) -> Neighbours:
    """Neighbourhoods of nine, also from the layer below."""
    slots = np.where(parts < 0, below * 9, parts * 9 + np.arange(9)).ravel()
    order = np.argsort(slots, kind="stable")
    starts = np.searchsorted(slots[order], np.arange(below * 9 + 1))
    return Neighbours(parts, order[: starts[-1]] // 9, starts)
