"""What a pixel of the small frame depends on.

Bringing 96 × 96 to 32 × 32 with Pillow's bilinear filter makes each small pixel of a patch of 5 × 5 pixels: those less than three pixels from its middle,
which lies at 3 i + 1.5. What is outside its patch cannot change a small pixel, not even by rounding.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...scene import CANVAS, Colour, Primitive, Scene
from ..pixels import NETWORK, render

#: Small pixels of a frame.
PIXELS = NETWORK * NETWORK
_REACH = (np.abs(np.arange(CANVAS)[None] + 0.5 - (np.arange(NETWORK)[:, None] + 0.5) * CANVAS / NETWORK) < CANVAS / NETWORK).astype(np.float32)
#: Drawing on two backgrounds tells paint in the colour of the background from no paint.
_GROUNDS: tuple[Colour, ...] = ((1, 2, 3), (250, 251, 252))


def painted(alternatives: Sequence[tuple[Primitive, ...]]) -> np.ndarray:
    """Where on the canvas it makes a difference which of the alternatives is drawn, on whatever is below: bool (96, 96)."""
    different = np.zeros((CANVAS, CANVAS, 3), bool)
    for ground in _GROUNDS:
        drawn = [render(Scene(primitives, ground)) for primitives in alternatives]
        for other in drawn[1:]:
            different |= other != drawn[0]
    return np.logical_or.reduce(different, axis=-1)


def reached(alternatives: Sequence[tuple[Primitive, ...]]) -> np.ndarray:
    """Which small pixels can depend on which of the alternatives is drawn: bool (1024,)."""
    return ((_REACH @ painted(alternatives).astype(np.float32) @ _REACH.T) > 0).ravel()
