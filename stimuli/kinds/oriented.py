"""One thing at any angle: a bar, or a patch of stripes."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Annotated, ClassVar

from pydantic import AfterValidator, Field, model_validator

from ...core.registry import Real
from ..scene import BACKGROUND, CANVAS, Polygon, Primitive
from ..stimulus import STIMULI, ColourName, Stimulus, colour_words, rgb


def _half_turn(value: float) -> float:
    """The orientation from 0 to 180 degrees, exact to what words tell."""
    return round(value % 180.0, 3) % 180.0


def _rounded(value: float) -> float:
    """As exact as words tell."""
    return round(value, 3)


Length = Annotated[Real, Field(ge=0.5, le=CANVAS), AfterValidator(_rounded)]
Place = Annotated[Real, Field(ge=0, le=CANVAS), AfterValidator(_rounded)]
#: Degrees clockwise from upright.
Angle = Annotated[Real, Field(ge=-100_000, le=100_000), AfterValidator(_half_turn)]
_UPRIGHT = "degrees clockwise from upright; 0 and 180 are the same"
#: strips of one shade in a cycle of stripes, and points along the end of a strip
_STRIPS, _ROUND = 16, 3


def turned_points(
    points: Iterable[tuple[float, float]], angle: float, x: float, y: float
) -> tuple[tuple[float, float], ...]:
    """Points about the origin (y down), turned clockwise and moved."""
    cosine, sine = math.cos(math.radians(angle)), math.sin(math.radians(angle))
    return tuple((round(x + a * cosine - b * sine, 6), round(y + a * sine + b * cosine, 6)) for a, b in points)


@STIMULI.register
class OrientedBar(Stimulus):
    """One thing at any angle: a bar, or a patch of stripes."""

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


@STIMULI.register
class Grating(Stimulus):
    """A round patch of stripes, whose brightness goes up and down like a sine, at any angle."""

    name: ClassVar[str] = "grating"
    shorthand: ClassVar[str] = "angle"

    angle: Angle = Field(description=_UPRIGHT)
    size: Length = Field(40.0, description="width of the patch, in canvas units")
    cycles: Annotated[Real, Field(ge=0.5, le=20), AfterValidator(_rounded)] = Field(
        4.0, description="number of pairs of a bright and a dark stripe"
    )
    contrast: Annotated[Real, Field(ge=0.01, le=1), AfterValidator(_rounded)] = Field(
        1.0,
        description="contrast of the stripes, as a proportion of the largest possible around the gray of the screen",
    )
    phase: Annotated[Real, Field(ge=0, le=359), AfterValidator(_rounded)] = Field(
        0.0, description="phase of the stripes, in degrees of a cycle"
    )
    x: Place = Field(48.0, description="distance of its centre from the left, in canvas units")
    y: Place = Field(48.0, description="distance of its centre from the top, in canvas units")

    def primitives(self) -> Iterable[Primitive]:
        radius, strips = self.size / 2, max(2, math.ceil(self.cycles * _STRIPS))
        middle = sum(BACKGROUND) / 3
        reach = min(middle, 255 - middle)
        for number in range(strips):
            left, right = (-radius + self.size * end / strips for end in (number, number + 1))
            across = [left + (right - left) * n / (_ROUND - 1) for n in range(_ROUND)]
            ends = [math.sqrt(max(0.0, radius**2 - u**2)) for u in across]
            points = [
                *((u, -high) for u, high in zip(across, ends, strict=True)),
                *((u, high) for u, high in zip(across[::-1], ends[::-1], strict=True)),
            ]
            shade = round(
                middle
                + reach
                * self.contrast
                * math.sin(2 * math.pi * self.cycles * (number + 0.5) / strips + math.radians(self.phase))
            )
            yield Polygon(turned_points(points, self.angle, self.x, self.y), (shade, shade, shade))

    def words(self) -> str:
        phase = f", beginning at {self.phase:g} degrees of a cycle" if self.phase else ""
        return (
            f"A round patch of {self.cycles:g} cycles of bright and dark stripes{phase}, {self.size:g} units wide, at a"
            f" contrast of {self.contrast:g}, with its middle at {self.x:g} from the left and {self.y:g} from the top"
            f" (of {CANVAS}); the stripes are turned {self.angle:g} degrees clockwise from upright."
        )
