"""Many network frames at once, identical to the last bit to those that are drawn one by one.

What a tile paints at scale 1 hides whatever is below it and depends on nothing else. So each state of each tile of a
family is drawn once, and large frames are put together from these pieces before they are made small.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from PIL import Image

from ..kinds.files import refuse_sounds
from ..scene import CANVAS, Colour, Primitive, Scene
from ..stimulus import Stimulus
from ..tiling import Family, Tiling
from .pixels import NETWORK, network_frame, render

#: Drawing on two backgrounds tells paint in the colour of the background from no paint.
_GROUNDS: tuple[Colour, Colour] = ((1, 2, 3), (250, 251, 252))
#: Drawing the pieces of a family takes as long as drawing some of its members.
_WORTH = 64
#: Frames that are put together at once.
_CHUNK = 256


@dataclass(frozen=True, slots=True)
class _Pieces:
    """What the tiles of a family paint. Pixels that every state of every tile paints alike are one *area*. Colours are
    whole numbers, made of the bytes of red, green, blue and 0.

    Parameters
    ----------
    area_of : the area of each pixel of the canvas
    empty : the colour of each area below the tiles
    painted : by tile and state, some areas and their colours
    """

    area_of: np.ndarray
    empty: np.ndarray
    painted: list[list[tuple[np.ndarray, np.ndarray]]]


def _colours(primitives: tuple[Primitive, ...], ground: Colour) -> np.ndarray:
    """The colour of each pixel of a scene."""
    image = render(Scene(primitives, ground)).reshape(-1, 3)
    return np.pad(image, ((0, 0), (0, 1))).view("<u4")[:, 0]


@lru_cache(maxsize=64)
def _pieces(family: Family) -> _Pieces:
    unpainted = np.uint32(2**32 - 1)
    layers = [_colours(family.below, family.background)]
    for tile in family.tiles:
        for state in tile:
            one, other = (_colours(state, ground) for ground in _GROUNDS)
            layers.append(np.where(one == other, one, unpainted))
    areas, area_of = np.unique(np.stack(layers), axis=1, return_inverse=True)
    painted = iter([(np.flatnonzero(layer != unpainted), layer[layer != unpainted]) for layer in areas[1:]])
    return _Pieces(area_of.ravel(), areas[0], [[next(painted) for _ in tile] for tile in family.tiles])


def _put_together(family: Family, states: np.ndarray) -> Iterator[np.ndarray]:
    """The frames of members of a family, whose states are uint8 (n, tiles)."""
    pieces = _pieces(family)
    for start in range(0, len(states), _CHUNK):
        some = states[start : start + _CHUNK]
        canvases = np.tile(pieces.empty, (len(some), 1))
        for number, tile in enumerate(pieces.painted):
            for state, (areas, colours) in enumerate(tile):
                canvases[np.flatnonzero(some[:, number] == state)[:, None], areas] = colours
        for canvas in canvases:
            large = Image.frombuffer("RGBX", (CANVAS, CANVAS), canvas[pieces.area_of], "raw", "RGBX", 0, 1)
            yield np.asarray(large.resize((NETWORK, NETWORK), Image.Resampling.BILINEAR))[:, :, :3]


def network_frames(stimuli: Sequence[Stimulus]) -> np.ndarray:
    """Render many stimuli for networks: uint8 (n, 32, 32, 3), identical to :func:`.network_frame`
    of each scene, and much faster."""
    tilings = [stimulus.tiling() for stimulus in stimuli]
    families: defaultdict[Family, dict[bytes, None]] = defaultdict(dict)
    for tiling in tilings:
        if tiling is not None:
            families[tiling.family][tiling.states] = None
    made: dict[Tiling | None, np.ndarray] = {}
    for family, members in families.items():
        if len(members) >= _WORTH:
            states = np.frombuffer(b"".join(members), np.uint8).reshape(len(members), -1)
            made |= zip((Tiling(family, own) for own in members), _put_together(family, states), strict=True)
    frames = np.empty((len(stimuli), NETWORK, NETWORK, 3), np.uint8)
    for frame, stimulus, tiling in zip(frames, stimuli, tilings, strict=True):
        frame[:] = made[tiling] if tiling in made else _drawn(stimulus)  # pyright: ignore[reportArgumentType] (frozen pydantic models are hashable)
    return frames


@lru_cache(maxsize=2048)
def _drawn(stimulus: Stimulus) -> np.ndarray:
    refuse_sounds((stimulus,), "networks")
    return network_frame(stimulus.scene())
