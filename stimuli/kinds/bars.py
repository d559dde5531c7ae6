"""Bars and gratings: arrays of bars that differ in colour, orientation, length and gap (change
detection), and a bar or a grating at any angle."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Any, ClassVar, Self

from pydantic import AfterValidator, BeforeValidator, Field, field_validator, model_validator

from ...core.errors import in_number
from ...core.registry import Real, StrictModel, as_tuple
from ..render.fast.tiling import Scatter
from ..scene import BACKGROUND, CANVAS, COLOURS, Line, Polygon, Primitive
from ..stimulus import STIMULI, ColourName, Scattered, Stimulus, colour_words, rgb


def _ends(value: Any) -> Any:
    if not isinstance(value, (list, tuple)) or not all(type(v) in (int, float) for v in value):
        return value
    if not all(-1000 < v < 1000 for v in value):
        raise ValueError(f"the bar lies outside the 96 x 96 canvas; found ends {list(value)}")
    return tuple(float(v) for v in value)


Ends = Annotated[tuple[float, float, float, float], BeforeValidator(_ends)]


class Bar(StrictModel):
    """One horizontal or vertical bar, three units thick, perhaps with a black gap."""

    at: Ends = Field(description="its ends, as [x0, y0, x1, y1] on the 96 x 96 canvas; fractions are truncated")
    colour: ColourName = Field("red", description="its colour")
    gap: Ends | None = Field(None, description="the ends of its black gap, or null for a whole bar")

    @field_validator("at", "gap")
    @classmethod
    def _straight(cls, value: tuple[float, ...] | None) -> tuple[float, ...] | None:
        if value is None:
            return None
        x0, y0, x1, y1 = map(float, map(int, value))
        if (x0 != x1) + (y0 != y1) != 1:
            raise ValueError(f"bars are horizontal or vertical; found ends {list(value)}")
        left, top, right, bottom = min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1)
        # The benchmark's longest bars end one unit beyond the canvas and are cut off there.
        right, bottom = right - (left < CANVAS == right), bottom - (top < CANVAS == bottom)
        if not (0 <= left <= right < CANVAS and 0 <= top <= bottom < CANVAS) or (left, top) == (right, bottom):
            raise ValueError(f"the bar lies outside the 96 x 96 canvas; found ends {list(value)}")
        return left, top, right, bottom

    @model_validator(mode="after")
    def _gap_inside(self) -> Self:
        if self.gap is not None and not (
            self.at[0] <= self.gap[0]
            and self.gap[2] <= self.at[2]
            and self.at[1] <= self.gap[1]
            and self.gap[3] <= self.at[3]
        ):
            raise ValueError("the gap must lie on the bar")
        return self

    @property
    def horizontal(self) -> bool:
        return self.at[1] == self.at[3]

    @property
    def box(self) -> _Box:
        """The pixels that it covers: from its first column and row to its last."""
        x0, y0, x1, y1 = self.at
        return (x0, y0 - 1, x1, y1 + 1) if y0 == y1 else (x0 - 1, y0, x1 + 1, y1)


_Box = tuple[float, float, float, float]


def meet(one: _Box, other: _Box) -> bool:
    """Return whether two bars share a pixel; then it is visible which is on top."""
    return one[0] <= other[2] and other[0] <= one[2] and one[1] <= other[3] and other[1] <= one[3]


def _by_place(bars: Sequence[Bar]) -> tuple[Bar, ...]:
    """Bars from top to bottom and left to right, except that a bar stays above those that it was
    put on."""
    boxes = [bar.box for bar in bars]
    below = {n: {lower for lower in range(n) if meet(box, boxes[lower])} for n, box in enumerate(boxes)}
    waiting = sorted(range(len(bars)), key=lambda n: (bars[n].at[1], bars[n].at[0], bars[n].at))
    ordered: list[Bar] = []
    while waiting:
        first = next(n for n in waiting if below[n].isdisjoint(waiting))
        waiting.remove(first)
        ordered.append(bars[first])
    return tuple(ordered)


#: A bar that begins at 0, 0: its colour, where it ends, and its gap.
Shape = tuple[str, float, float, tuple[float, float, float, float] | None]


def _bar(shape: Shape, x: float, y: float) -> Iterator[Primitive]:
    colour, dx, dy, gap = shape
    yield Line(x, y, x + dx, y + dy, rgb(colour), 3)
    if gap is not None:
        yield Line(x + gap[0], y + gap[1], x + gap[2], y + gap[3], COLOURS["black"], 3)


@STIMULI.register
class Bars(Scattered):
    """Bars of different colour, orientation, length and gap."""

    name: ClassVar[str] = "bars"
    shorthand: ClassVar[str] = "bars"

    bars: Annotated[tuple[Bar, ...], BeforeValidator(as_tuple)] = Field(
        description="the bars, each as {at: [x0, y0, x1, y1], colour: red, gap: [x0, y0, x1, y1] or null}"
    )

    @model_validator(mode="after")
    def _canonical(self) -> Self:
        if len({bar.at for bar in self.bars}) < len(self.bars):
            raise ValueError("two bars lie in the same place")
        object.__setattr__(self, "bars", _by_place(self.bars))
        return self

    def scatter(self) -> Scatter:
        shapes: list[Shape] = []
        corners: list[float] = []
        for bar in self.bars:
            x0, y0, x1, y1 = bar.at
            gap = bar.gap
            shapes.append(
                (
                    bar.colour,
                    x1 - x0,
                    y1 - y0,
                    None if gap is None else (gap[0] - x0, gap[1] - y0, gap[2] - x0, gap[3] - y0),
                )
            )
            corners += x0, y0
        return Scatter(_bar, shapes, corners)

    def words(self) -> str:
        many = len(self.bars)
        lines = [
            f"{many} {in_number(many, 'bar')} on a canvas of 96 x 96 units (x to the right, y down, from the top left)."
            " Where two overlap, the later one is on top."
        ]
        for number, bar in enumerate(self.bars, start=1):
            x0, y0, x1, y1 = (int(v) for v in bar.at)
            says = [
                colour_words(bar.colour),
                "horizontal" if bar.horizontal else "vertical",
                f"from x={x0}, y={y0} to x={x1}, y={y1}",
            ]
            if bar.gap is None:
                says.append("no gap")
            else:
                gx0, gy0, gx1, gy1 = (int(v) for v in bar.gap)
                says.append(
                    f"with a black gap from {f'x={gx0} to x={gx1}' if bar.horizontal else f'y={gy0} to y={gy1}'}"
                )
            lines.append(f"Bar {number}: {', '.join(says)}")
        return "\n".join(lines)


def _rounded(value: float) -> float:
    """As exact as words tell."""
    return round(value, 3)


Length = Annotated[Real, Field(ge=0.5, le=CANVAS), AfterValidator(_rounded)]
Place = Annotated[Real, Field(ge=0, le=CANVAS), AfterValidator(_rounded)]
#: Degrees clockwise from upright, from 0 to 180, exact to what words tell.
Angle = Annotated[Real, Field(ge=-100_000, le=100_000), AfterValidator(lambda value: round(value % 180.0, 3) % 180.0)]
_UPRIGHT = "degrees clockwise from upright; 0 and 180 are the same"
#: strips of one shade in a cycle of stripes, and points along the end of a strip
_STRIPS, _ROUND = 16, 3


def turned_points(
    points: Iterable[tuple[float, float]], angle: float, x: float, y: float
) -> tuple[tuple[float, float], ...]:
    """Points about the origin (y down), turned clockwise and moved."""
    cosine, sine = math.cos(math.radians(angle)), math.sin(math.radians(angle))
    return tuple((round(x + a * cosine - b * sine, 6), round(y + a * sine + b * cosine, 6)) for a, b in points)


def longer_than_wide(length: float, width: float) -> None:
    """See to it that the orientation of a bar can be told.

    Raises
    ------
    ValueError
        when it cannot, for the validation of a stimulus.
    """
    if width >= length:
        raise ValueError(
            f"a bar is longer than wide, or its orientation could not be told; found length {length:g} and"
            f" width {width:g}"
        )


def turned_bar(size: tuple[float, float], angle: float, at: tuple[float, float], colour: str) -> Polygon:
    """A bar of a length and a width, turned clockwise from upright, with its middle at a place."""
    a, b = size[1] / 2, size[0] / 2
    return Polygon(turned_points(((-a, -b), (a, -b), (a, b), (-a, b)), angle, *at), rgb(colour))


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
        longer_than_wide(self.length, self.width)
        return self

    def primitives(self) -> Iterable[Primitive]:
        return (turned_bar((self.length, self.width), self.angle, (self.x, self.y), self.colour),)

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
