"""Many network frames at once.

Every stimulus goes the quickest way that there is for it: tilings are looked up, scattered shapes
are pasted, and what has few members is drawn once and kept. Whichever way, a frame is to the last
bit what drawing and resizing give.

Of scattered shapes: what a shape is in the small frame depends on its place only through the
remainders of its coordinates by three (and, next to the edges, where fewer pixels are averaged, on
the place itself). So there are few small pictures of each shape. They are drawn and resized in the
ordinary way once, and pasted from then on. Where two shapes are so close that a small pixel depends
on both, the frame is drawn after all.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Sequence
from functools import lru_cache
from itertools import chain
from operator import attrgetter
from threading import RLock
from typing import Generic, TypeVar

import numpy as np

from ...kinds.files import refuse_sounds
from ...scene import CANVAS, Colour, Scene
from ...stimulus import Stimulus
from ..pixels import NETWORK, network_frame
from .tables import PIXELS, Table, painted, reached
from .tiling import Family, Paint, Scatter

_STEP = CANVAS // NETWORK
#: When there are more shapes, or more pixels in small pictures, than this, all are forgotten, and
#: found anew when they are needed.
_MOST_SHAPES = 4096
_MOST_PIXELS = 2**21
#: Frames that are pasted together.
_CHUNK = 256


class _Numbering(dict[Hashable, int]):
    """Numbers shapes as they come."""

    def __missing__(self, shape: Hashable) -> int:
        self[shape] = number = len(self)
        return number


class Sprites:
    """Small pictures of the shapes of one paint, on one background."""

    def __init__(self, paint: Paint, background: Colour) -> None:
        self._paint, self._background = paint, background
        self._empty = network_frame(Scene((), background))
        self._forget()

    def _forget(self) -> None:
        self._numbers = _Numbering()
        #: for each shape, the first and last x and y at which it is away from all edges
        self._inner = np.zeros((0, 2, 2), np.int64)
        #: number of the picture of (shape, x, y), in one integer
        self._pictures: dict[int, int] = {}
        #: for each picture, the pixels that it covers (when fewer than others do, one of them again
        #: and again), and their values
        self._covered = np.zeros((0, 1), np.int64)
        self._values = np.zeros((0, 1, 3), np.uint8)

    def paste(self, scatters: Sequence[Scatter], into: np.ndarray) -> list[int]:
        """Write the frames of ``scatters`` into a contiguous uint8 (n, 32, 32, 3); returns the
        numbers of those that must be drawn."""
        close: list[int] = []
        for start in range(0, len(scatters), _CHUNK):
            if len(self._numbers) > _MOST_SHAPES or self._covered.size > _MOST_PIXELS:
                self._forget()
            close += (start + self._paste(scatters[start : start + _CHUNK], into[start : start + _CHUNK])).tolist()
        return close

    def _paste(self, scatters: Sequence[Scatter], into: np.ndarray) -> np.ndarray:
        into[:] = self._empty
        counts = [len(scatter.shapes) for scatter in scatters]
        shapes = np.fromiter(
            map(self._numbers.__getitem__, chain.from_iterable(scatter.shapes for scatter in scatters)),
            np.int64,
            sum(counts),
        )
        corners = (
            np.fromiter(chain.from_iterable(scatter.corners for scatter in scatters), np.float64, 2 * sum(counts))
            .astype(np.int64)
            .reshape(-1, 2)
        )
        if ((corners < 0) | (corners >= CANVAS)).any():
            raise ValueError(f"corners of shapes lie on the canvas, from 0 to {CANVAS - 1}")
        self._measure()
        first, last = self._inner[shapes].transpose(1, 0, 2)
        like = np.where((first <= corners) & (corners <= last), first + (corners - first) % _STEP, corners)
        pictures = self._pictures_of(shapes, like)
        frames = np.repeat(np.arange(len(scatters)), counts)
        moved = (corners - like) // _STEP
        pixels = self._covered.take(pictures, axis=0) + (frames * PIXELS + moved[:, 1] * NETWORK + moved[:, 0])[:, None]
        into.reshape(-1).view("V3")[pixels] = self._values.view("V3")[:, :, 0].take(pictures, axis=0)
        # A pixel that two shapes reach belongs to one of them only.
        owner = np.empty(len(scatters) * PIXELS, np.int32)
        shape = np.arange(len(shapes), dtype=np.int32)[:, None]
        owner[pixels] = shape
        return np.unique(frames[(owner[pixels] != shape).any(1)])

    def _measure(self) -> None:
        """Return where new shapes are away from all edges: no pixel that they reach is in the first
        or last row or column."""
        new = list(self._numbers)[len(self._inner) :]
        if not new:
            return
        middle = CANVAS // 2
        inner = []
        for shape in new:
            at = painted(((), tuple(self._paint(shape, middle, middle))))
            axes = [np.flatnonzero(at.any(axis)) for axis in (0, 1)]
            if not at.any() or any(axis[0] == 0 or axis[-1] == CANVAS - 1 for axis in axes):
                inner.append([[CANVAS, CANVAS], [-1, -1]])  # nowhere
            else:
                inner.append(
                    [
                        [_STEP + 1 + middle - axis[0] for axis in axes],
                        [CANVAS - 2 - _STEP + middle - axis[-1] for axis in axes],
                    ]
                )
        self._inner = np.concatenate((self._inner, np.array(inner)))

    def _pictures_of(self, shapes: np.ndarray, corners: np.ndarray) -> np.ndarray:
        keys, places = np.unique((shapes * CANVAS + corners[:, 0]) * CANVAS + corners[:, 1], return_inverse=True)
        unknown = [key for key in keys.tolist() if key not in self._pictures]
        if unknown:
            self._draw(unknown)
        # only the different ones are looked for one by one
        return np.array([self._pictures[key] for key in keys.tolist()], np.int64)[places]

    def _draw(self, keys: Sequence[int]) -> None:
        shapes = list(self._numbers)
        covered, values = [], []
        for key in keys:
            rest, y = divmod(key, CANVAS)
            number, x = divmod(rest, CANVAS)
            primitives = tuple(self._paint(shapes[number], x, y))
            pixels = np.flatnonzero(reached(((), primitives)))
            covered.append(pixels if len(pixels) else np.zeros(1, np.int64))
            values.append(network_frame(Scene(primitives, self._background)).reshape(-1, 3)[covered[-1]])
            self._pictures[key] = len(self._pictures)
        most = max(self._covered.shape[1], *map(len, covered))
        self._covered = np.concatenate(
            (_widened(self._covered, 1, most), [_widened(rows, 0, most) for rows in covered])
        )
        self._values = np.concatenate((_widened(self._values, 1, most), [_widened(rows, 0, most) for rows in values]))


def _widened(array: np.ndarray, axis: int, length: int) -> np.ndarray:
    """An array made longer along an axis by repeating what is last."""
    return np.pad(
        array, [(0, length - array.shape[axis] if number == axis else 0) for number in range(array.ndim)], mode="edge"
    )


#: Filling a table, or drawing the pictures of shapes, takes as long as drawing some hundred frames;
#: so many must have been wanted before it is done.
_WORTH = 256
_LOCK = RLock()

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


class _Made(Generic[K, T]):
    """Cache of things that take long to make: made as soon as it is worth it; the ``most`` recently
    used are kept."""

    def __init__(self, make: Callable[[K], T], most: int) -> None:
        self._make, self._most = make, most
        self._wanted: OrderedDict[K, int] = OrderedDict()
        self._made: dict[K, T] = {}

    def get(self, key: K, frames: int) -> T | None:
        """Return the entry for ``key``, of which so many frames are needed now; None if it is not
        worth making yet."""
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
    """Render many stimuli for networks: uint8 (n, 32, 32, 3), identical to :func:`.network_frame`
    of each scene, and much faster."""
    with _LOCK:
        frames, numbers = _frames(list(stimuli))
    return frames[numbers]


def _frames(stimuli: list[Stimulus]) -> tuple[np.ndarray, np.ndarray]:
    """Frames, uint8 (m, 32, 32, 3), and for each stimulus the number of its frame, int64 (n,)."""
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
    # Frames of one family, and of one paint, lie one after another, so that they are written in one
    # go.
    result = np.empty((len(shown), NETWORK, NETWORK, 3), np.uint8)
    places = np.empty(len(shown), np.int64)
    single = list(others.values())
    end = 0
    for family, members in tilings.items():
        numbers_of_frames = list(members.values())
        start, end = end, end + len(numbers_of_frames)
        places[numbers_of_frames] = np.arange(start, end)
        table = _TABLES.get(family, len(numbers_of_frames))
        if table is None:
            single += numbers_of_frames
        else:
            table.look_up(
                np.frombuffer(b"".join(members), np.uint8).reshape(len(numbers_of_frames), -1), result[start:end]
            )
    for paint, scattered in scatters.items():
        numbers_of_frames = list(scattered)
        start, end = end, end + len(numbers_of_frames)
        places[numbers_of_frames] = np.arange(start, end)
        sprites = _SPRITES.get(paint, len(numbers_of_frames))
        single += (
            numbers_of_frames
            if sprites is None
            else [numbers_of_frames[number] for number in sprites.paste(list(scattered.values()), result[start:end])]
        )
    places[list(others.values())] = np.arange(end, len(shown))
    for number in single:
        result[places[number]] = _drawn(shown[number])  # pyright: ignore[reportArgumentType] (frozen pydantic models are hashable)
    return result, places[np.fromiter(map(numbers.__getitem__, ids), np.int64, len(ids))]


@lru_cache(maxsize=256)
def _look(cls: type[Stimulus]) -> Callable[[Stimulus], Hashable]:
    """Return the key of a stimulus among those of its class. Comparing the models themselves takes
    much longer."""
    fields = list(cls.model_fields)
    if cls.__private_attributes__ or not fields:
        return lambda stimulus: stimulus  # pyright: ignore[reportReturnType] (frozen pydantic models are hashable)
    values = attrgetter(*fields)
    return lambda stimulus: (cls, values(stimulus))


@lru_cache(maxsize=2048)
def _drawn(stimulus: Stimulus) -> np.ndarray:
    refuse_sounds((stimulus,), "networks")
    return network_frame(stimulus.scene())
