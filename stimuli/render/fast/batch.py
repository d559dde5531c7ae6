"""Many network frames at once.

Every stimulus goes the quickest way that there is for it: tilings are looked up, scattered shapes are pasted, and what has few members is drawn once and kept.
Whichever way, a frame is to the last bit what drawing and resizing give.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Sequence
from functools import lru_cache
from operator import attrgetter
from threading import RLock
from typing import Generic, TypeVar

import numpy as np

from ...scene import Colour
from ...stimulus import Stimulus
from ..pixels import NETWORK, network_frame
from .sprites import Sprites
from .tables import Table
from .tiling import Family, Paint, Scatter

#: Filling a table, or drawing the pictures of shapes, takes as long as drawing some hundred frames; so many must have been wanted before it is done.
_WORTH = 256
_LOCK = RLock()

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


class _Made(Generic[K, T]):
    """What takes long to make: made as soon as it is worth it; ``most`` are kept, those that were wanted last."""

    def __init__(self, make: Callable[[K], T], most: int) -> None:
        self._make, self._most = make, most
        self._wanted: OrderedDict[K, int] = OrderedDict()
        self._made: dict[K, T] = {}

    def get(self, key: K, frames: int) -> T | None:
        """What was made for ``key``, of which so many frames are wanted now; None when it is not worth making yet."""
        self._wanted[key] = min(_WORTH, self._wanted.pop(key, 0) + frames)
        if len(self._wanted) > self._most:
            self._made.pop(self._wanted.popitem(last=False)[0], None)
        if self._wanted[key] < _WORTH:
            return None
        if key not in self._made:
            self._made[key] = self._make(key)
        return self._made[key]


_TABLES: _Made[Family, Table | None] = _Made(Table.of, most=64)
_SPRITES: _Made[tuple[Paint, Colour], Sprites] = _Made(lambda key: Sprites(*key), most=8)


def network_frames(stimuli: Sequence[Stimulus]) -> np.ndarray:
    """What a network sees of many stimuli: uint8 (n, 32, 32, 3), identical to :func:`.network_frame` of each scene, and much faster."""
    frames, numbers = network_frames_indexed(stimuli)
    return frames[numbers]


def network_frames_indexed(stimuli: Sequence[Stimulus]) -> tuple[np.ndarray, np.ndarray]:
    """Frames, uint8 (m, 32, 32, 3), and for each stimulus the number of its frame, int64 (n,).

    Stimuli share a frame when it is seen without drawing that they look the same; two of the m frames may still be alike.
    """
    with _LOCK:
        return _frames(list(stimuli))


def _frames(stimuli: list[Stimulus]) -> tuple[np.ndarray, np.ndarray]:
    ids = list(map(id, stimuli))
    tilings: defaultdict[Family, dict[bytes, int]] = defaultdict(dict)
    scatters: defaultdict[tuple[Paint, Colour], dict[int, Scatter]] = defaultdict(dict)
    others: dict[Hashable, int] = {}
    shown: list[Stimulus] = []
    numbers: dict[int, int] = {}
    for key, stimulus in dict(zip(ids, stimuli, strict=True)).items():
        number = len(shown)
        if (tiling := stimulus.tiling()) is not None:
            number = tilings[tiling.family].setdefault(tiling.states, number)
        elif (scatter := stimulus.scatter()) is not None:
            scatters[scatter.paint, scatter.background][number] = scatter
        else:
            number = others.setdefault(_look(type(stimulus))(stimulus), number)
        numbers[key] = number
        if number == len(shown):
            shown.append(stimulus)
    # Frames of one family, and of one paint, lie one after another, so that they are written in one go.
    result = np.empty((len(shown), NETWORK, NETWORK, 3), np.uint8)
    places = np.empty(len(shown), np.int64)
    single = list(others.values())
    end = 0
    for family, members in tilings.items():
        own = list(members.values())
        start, end = end, end + len(own)
        places[own] = np.arange(start, end)
        table = _TABLES.get(family, len(own))
        if table is None:
            single += own
        else:
            table.look_up(np.frombuffer(b"".join(members), np.uint8).reshape(len(own), -1), result[start:end])
    for paint, scattered in scatters.items():
        own = list(scattered)
        start, end = end, end + len(own)
        places[own] = np.arange(start, end)
        sprites = _SPRITES.get(paint, len(own))
        single += own if sprites is None else [own[number] for number in sprites.paste(list(scattered.values()), result[start:end])]
    places[list(others.values())] = np.arange(end, len(shown))
    for number in single:
        result[places[number]] = _drawn(shown[number])  # pyright: ignore[reportArgumentType] (frozen pydantic models are hashable)
    return result, places[np.fromiter(map(numbers.__getitem__, ids), np.int64, len(ids))]


@lru_cache(maxsize=256)
def _look(cls: type[Stimulus]) -> Callable[[Stimulus], Hashable]:
    """What tells members of a class apart; comparing the models themselves takes much longer."""
    fields = list(cls.model_fields)
    if cls.__private_attributes__ or not fields:
        return lambda stimulus: stimulus  # pyright: ignore[reportReturnType] (frozen pydantic models are hashable)
    values = attrgetter(*fields)
    return lambda stimulus: (cls, values(stimulus))


@lru_cache(maxsize=2048)
def _drawn(stimulus: Stimulus) -> np.ndarray:
    return network_frame(stimulus.scene())
