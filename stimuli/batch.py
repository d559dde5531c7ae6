"""Many network frames at once.

A pixel of a 32 × 32 frame is a weighted mean of a small patch of the 96 × 96 frame, so in a family of tilings it depends on the states of a few tiles only.
For each family, the value of every pixel for every combination of those states is kept in a table. It is filled from frames that are drawn and resized in the
ordinary way, so that looking up and drawing agree to the last bit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from weakref import WeakKeyDictionary

import numpy as np

from .pixels import NETWORK, network_frame, render
from .scene import CANVAS, Colour, Scene
from .stimulus import Stimulus
from .tiling import Family, Tiling

#: Filling a table takes as long as drawing some hundred frames; so many members of a family must be wanted at once before it is filled.
_WORTH_A_TABLE = 256
#: A table whose pixels depend on more combinations of states than this is not built.
_MOST_COMBINATIONS = 2048
#: Frames that are looked up together (they and their indices fit the cache of a core).
_CHUNK = 256


def frames(stimuli: Sequence[Stimulus]) -> np.ndarray:
    """uint8 (n, 32, 32, 3), one frame per stimulus."""
    places: dict[int, int] = {}
    distinct: list[Stimulus] = []
    order = np.empty(len(stimuli), np.intp)
    for number, stimulus in enumerate(stimuli):
        place = places.setdefault(id(stimulus), len(distinct))
        if place == len(distinct):
            distinct.append(stimulus)
        order[number] = place
    result = np.empty((len(distinct), NETWORK, NETWORK, 3), np.uint8)
    members: dict[Family, tuple[list[int], list[int], dict[bytes, int]]] = {}
    single: list[int] = []
    for number, stimulus in enumerate(distinct):
        tiling = stimulus.tiling()
        if tiling is None:
            single.append(number)
        else:
            numbers, rows, states = members.setdefault(tiling.family, ([], [], {}))
            numbers.append(number)
            rows.append(states.setdefault(tiling.states, len(states)))
    for family, (numbers, rows, states) in members.items():
        table = _table(family, len(states))
        if table is None:
            single += numbers
        else:
            result[numbers] = table.look_up(np.frombuffer(b"".join(states), np.uint8).reshape(len(states), -1))[rows]
    for number in single:
        result[number] = _drawn(distinct[number])  # pyright: ignore[reportArgumentType] (frozen pydantic models are hashable)
    return result if len(distinct) == len(stimuli) else result[order]


@lru_cache(maxsize=8192)
def _drawn(stimulus: Stimulus) -> np.ndarray:
    return network_frame(stimulus.scene())


_TABLES: WeakKeyDictionary[Family, _Table | None] = WeakKeyDictionary()


def _table(family: Family, members: int) -> _Table | None:
    """The family's table, filled when it is first worth it; None when there is none."""
    if family not in _TABLES:
        if members < _WORTH_A_TABLE:
            return None
        _TABLES[family] = _Table.of(family)
    return _TABLES[family]


#: What a pixel depends on: the group that must be there (-1 when tiles are free of each other) and the tiles whose states matter.
_Cause = tuple[int, tuple[int, ...]]


class _Table:
    """Every pixel's value for every combination of the states that it depends on."""

    def __init__(self, family: Family, causes: list[_Cause], cause_of: np.ndarray) -> None:
        self._family = family
        self._grouped = int(family.group > 0)
        self._causes = causes
        self._cause_of = cause_of
        self._sizes = [[len(family.tiles[tile]) - self._grouped for tile in tiles] for _, tiles in causes]
        self._combinations = np.array([math.prod(sizes) for sizes in self._sizes])
        depth = max(1, max(len(tiles) for _, tiles in causes))
        self._tiles = np.zeros((depth, len(causes)), np.intp)
        self._weights = np.zeros((depth, len(causes)), np.intp)
        for number, (_, tiles) in enumerate(causes):
            weight = 1
            for rank, tile in enumerate(tiles):
                self._tiles[rank, number], self._weights[rank, number] = tile, weight
                weight *= self._sizes[number][rank]
        self._first_of_group = np.array([max(group, 0) * family.group for group, _ in causes])
        self._free = np.array([group < 0 for group, _ in causes])
        rows = self._combinations[cause_of] + self._grouped
        self._offsets = np.concatenate(([0], np.cumsum(rows)[:-1]))
        self._values = np.zeros((int(rows.sum()), 3), np.uint8)
        self._fill()

    @classmethod
    def of(cls, family: Family) -> _Table | None:
        """The table of a family, or None when its pixels depend on too much."""
        causes: dict[_Cause, int] = {}
        changes = np.stack([_patches(_changes(family, tile, int(family.group > 0))) for tile in range(len(family.tiles))])
        if family.group:
            appears = np.stack([_patches(_changes(family, tile, 0)) for tile in range(len(family.tiles))])
            groups = appears.reshape(-1, family.group, NETWORK * NETWORK).any(1)
            if (groups.sum(0) > 1).any():
                return None
            group_of = np.where(groups.any(0), groups.argmax(0), -1)
        else:
            group_of = np.full(NETWORK * NETWORK, -1)
        cause_of = np.empty(NETWORK * NETWORK, np.intp)
        for pixel in range(NETWORK * NETWORK):
            tiles = tuple(int(tile) for tile in np.flatnonzero(changes[:, pixel]))
            if math.prod(len(family.tiles[tile]) for tile in tiles) > _MOST_COMBINATIONS:
                return None
            cause_of[pixel] = causes.setdefault((int(group_of[pixel]), tiles), len(causes))
        return cls(family, list(causes), cause_of)

    def look_up(self, states: np.ndarray) -> np.ndarray:
        """Frames, uint8 (n, 32, 32, 3), of members with the given states, uint8 (n, tiles)."""
        result = np.empty((len(states), NETWORK * NETWORK, 3), np.uint8)
        for start in range(0, len(states), _CHUNK):
            index = self._codes(states[start : start + _CHUNK]).take(self._cause_of, axis=1)
            index += self._offsets
            np.take(self._values, index, axis=0, out=result[start : start + _CHUNK], mode="clip")
        return result.reshape(-1, NETWORK, NETWORK, 3)

    def _codes(self, states: np.ndarray) -> np.ndarray:
        """The number of the combination, for each member and cause."""
        codes = np.zeros((len(states), len(self._causes)), np.intp)
        own = states - np.uint8(1) if self._grouped else states
        for tiles, weights in zip(self._tiles, self._weights, strict=True):
            codes += own.take(tiles, axis=1) * weights
        if self._grouped:
            codes = np.where(self._free | (states[:, self._first_of_group] > 0), codes + 1, 0)
        return codes

    def _fill(self) -> None:
        """Draw frames in which many causes at once go through their combinations."""
        pixels = [np.flatnonzero(self._cause_of == number) for number in range(len(self._causes))]
        if self._grouped:
            absent = self._draw(np.zeros(len(self._family.tiles), np.uint8))
            self._values[self._offsets] = absent
        base = np.full(len(self._family.tiles), self._grouped, np.uint8)
        for together in self._apart():
            for combination in range(max(int(self._combinations[number]) for number in together)):
                going = [number for number in together if combination < self._combinations[number]]
                states = base.copy()
                for number in going:
                    rest = combination
                    for tile, size in zip(self._causes[number][1], self._sizes[number], strict=True):
                        states[tile] = rest % size + self._grouped
                        rest //= size
                frame = self._draw(states)
                for number in going:
                    self._values[self._offsets[pixels[number]] + combination + self._grouped] = frame[pixels[number]]

    def _apart(self) -> list[list[int]]:
        """The causes in classes that share no tile, so that one frame serves all causes of a class."""
        classes: list[tuple[set[int], list[int]]] = []
        for number, (_, tiles) in sorted(enumerate(self._causes), key=lambda item: -int(self._combinations[item[0]])):
            for taken, together in classes:
                if taken.isdisjoint(tiles):
                    taken.update(tiles)
                    together.append(number)
                    break
            else:
                classes.append((set(tiles), [number]))
        return [together for _, together in classes]

    def _draw(self, states: np.ndarray) -> np.ndarray:
        scene = Scene(tuple(Tiling(self._family, states.tobytes()).primitives()), self._family.background)
        return network_frame(scene).reshape(-1, 3)


def _changes(family: Family, tile: int, first: int) -> np.ndarray:
    """Where on the canvas the states of a tile (from ``first`` on) make a difference: bool (96, 96).

    Drawing on two backgrounds tells paint in the colour of the background from no paint.
    """
    grounds: tuple[Colour, ...] = ((1, 2, 3), (250, 251, 252))
    different = np.zeros((CANVAS, CANVAS), bool)
    for ground in grounds:
        drawn = [render(Scene(primitives, ground)) for primitives in family.tiles[tile][first:]]
        for other in drawn[1:]:
            different |= (other != drawn[0]).any(-1)
    return different


def _patches(canvas: np.ndarray) -> np.ndarray:
    """For each pixel of the small frame, whether anything is set in the patch that it is made of: bool (1024,).

    Pillow's bilinear filter reaches three pixels to each side of the middle of a small pixel, at canvas coordinate 3 i + 1.5.
    """
    reach = np.abs(np.arange(CANVAS)[None] + 0.5 - (np.arange(NETWORK)[:, None] + 0.5) * 3) < 3
    return ((reach.astype(np.float32) @ canvas.astype(np.float32) @ reach.T.astype(np.float32)) > 0).ravel()
