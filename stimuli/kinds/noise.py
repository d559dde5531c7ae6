"""Random noise: a display that holds no information, to fill an interval."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from ..scene import CANVAS, Image, Primitive
from ..stimulus import STIMULI, Stimulus

_CELLS = 32


@STIMULI.register
class Noise(Stimulus):
    """The whole canvas in 32 x 32 cells, each of a random colour: red, green and blue are independent and uniform from 0 to 255."""

    name: ClassVar[str] = "noise"
    shorthand: ClassVar[str] = "seed"

    seed: Annotated[int, Field(ge=0, le=2**32 - 1)] = Field(description="seed of the noise")

    def primitives(self) -> Iterable[Primitive]:
        colours = np.random.RandomState(self.seed).randint(0, 256, (_CELLS, _CELLS, 3), np.uint8)
        wide = CANVAS // _CELLS
        return (Image(0, 0, CANVAS, CANVAS, colours.repeat(wide, 0).repeat(wide, 1).tobytes()),)

    def words(self) -> str:
        return f"Random noise: a field of {_CELLS} x {_CELLS} cells, each of a colour drawn at random (noise number {self.seed})."
