"""One bar at any angle."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Annotated, ClassVar

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from ..scene import CANVAS, Polygon, Primitive
from ..stimulus import STIMULI, ColourName, Stimulus, colour_words, rgb


def _as_float(value: object) -> object:
    return float(value) if type(value) is int else value


def _half_turn(value: float) -> float:
    """The orientation from 0 to 180 degrees, exact to what words tell."""
    return round(value % 180.0, 3) % 180.0


def _rounded(value: float) -> float:
    """As exact as words tell."""
    return round(value, 3)


Length = Annotated[float, BeforeValidator(_as_float), Field(ge=0.5, le=CANVAS), AfterValidator(_rounded)]
Place = Annotated[float, BeforeValidator(_as_float), Field(ge=0, le=CANVAS), AfterValidator(_rounded)]
#: Degrees clockwise from upright.
Angle = Annotated[float, BeforeValidator(_as_float), Field(ge=-100_000, le=100_000), AfterValidator(_half_turn)]
_UPRIGHT = "degrees clockwise from upright; 0 and 180 are the same"


def turned_points(
    points: Iterable[tuple[float, float]], angle: float, x: float, y: float
) -> tuple[tuple[float, float], ...]:
    """Points about the origin (y down), turned clockwise and moved."""
    cosine, sine = math.cos(math.radians(angle)), math.sin(math.radians(angle))
    return tuple((round(x + a * cosine - b * sine, 6), round(y + a * sine + b * cosine, 6)) for a, b in points)


@STIMULI.register
class OrientedBar(Stimulus):
    """One bar at any angle."""

    name: ClassVar[str] = "oriented_bar"
    shorthand: ClassVar[str] = "angle"

    angle: Angle = Field(description=_UPRIGHT)
    length: Length = Field(30.0, description="in canvas units")
    width: Length = Field(6.0, description="in canvas units")
    x: Place = Field(48.0, description="distance of its centre from the left, in canvas units")
    y: Place = Field(48.0, description="distance of its centre from the top, in canvas units")
    colour: ColourName = Field("black", description="its colour")

    @model_validator(mode="after")
    def _longer_than_wide(self) -> OrientedBar:
        if self.width >= self.length:
            raise ValueError(
                f"a bar is longer than wide, or its orientation could not be told; found length {self.length:g} and"
                f" width {self.width:g}"
            )
        return self

    def primitives(self) -> Iterable[Primitive]:
        a, b = self.width / 2, self.length / 2
        return (
            Polygon(turned_points(((-a, -b), (a, -b), (a, b), (-a, b)), self.angle, self.x, self.y), rgb(self.colour)),
        )

    def words(self) -> str:
        return (
            f"A {colour_words(self.colour)} bar, {self.length:g} units long and {self.width:g} wide, with its middle at"
            f" {self.x:g} from the left and {self.y:g} from the top (of {CANVAS}), turned {self.angle:g} degrees"
            " clockwise from upright."
        )
