"""Items whose feature is to be reported on a continuous scale, at places round a circle, and the
wheel on which that is done."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import cos, pi, radians, sin
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from ...core.registry import Ints, Real, as_tuple
from ..colour_wheel import STEPS, wheel_colour
from ..scene import CANVAS, COLOURS, Polygon, Primitive
from ..stimulus import STIMULI, ColourName, Stimulus, colour_words
from .bars import Angle, Length, longer_than_wide, turned_bar

#: coordinates are those of the middles of pixels
_MIDDLE = (CANVAS - 1) / 2
PLACES = 8
#: where the wheel lies, in canvas units from the middle
WHEEL_INSIDE, WHEEL_OUTSIDE = 39.0, 46.0
#: degrees of the wheel that one patch of colour covers, and corners of the plain wheel's circle
_WEDGE = 2
#: how wide outlines are: at least one pixel of the small frames of networks
_THIN, _THICK, _LINE = 1.0, 2.0, (90, 90, 90)
_CIRCLE = tuple((sin(radians(angle)), -cos(radians(angle))) for angle in range(0, 360, 5))

Colours = Annotated[tuple[Annotated[int, Field(ge=0, lt=STEPS)] | None, ...], BeforeValidator(as_tuple)]
Angles = Annotated[tuple[Angle | None, ...], BeforeValidator(as_tuple)]
Distance = Annotated[Real, Field(ge=1, le=CANVAS / 2)]
_RADIUS = "distance of the places from the middle of the screen, in canvas units"


def _in_order(value: tuple[int, ...]) -> tuple[int, ...]:
    if len(set(value)) < len(value):
        raise ValueError("a place is given twice")
    return tuple(sorted(value))


def _eight(value: tuple[object, ...]) -> tuple[object, ...]:
    if len(value) != PLACES:
        raise ValueError(f"expected eight places, with null for empty ones; found {len(value)}")
    if all(angle is None for angle in value):
        raise ValueError("at least one of the places must hold something; an empty screen is a 'blank'")
    return value


def place_on_circle(number: int, radius: float) -> tuple[float, float]:
    """The middle of one of the eight places round a circle: number 0 is at the top, and the others
    follow clockwise."""
    angle = 2 * pi * number / PLACES
    return _MIDDLE + radius * sin(angle), _MIDDLE - radius * cos(angle)


def _numbered(places: Sequence[int]) -> str:
    return ", ".join(str(place + 1) for place in places)


def _round(items: str) -> str:
    return f"Eight places round a circle, numbered clockwise from the top; {items}"


@STIMULI.register
class ColourPatches(Stimulus):
    """Squares in colours of the wheel, at some of the places round a circle; places may be empty."""

    name: ClassVar[str] = "colour_patches"
    shorthand: ClassVar[str] = "colours"

    colours: Annotated[Colours, AfterValidator(_eight)] = Field(
        description=(
            "the colour at each of eight places, clockwise from the top: its number on the wheel (0 to 359), or null"
            " for an empty place"
        )
    )
    size: Length = Field(10.0, description="width and height of a square, in canvas units")
    radius: Distance = Field(22.0, description=_RADIUS)

    def primitives(self) -> Iterable[Primitive]:
        half = self.size / 2
        for place, colour in enumerate(self.colours):
            if colour is not None:
                x, y = place_on_circle(place, self.radius)
                yield Polygon(
                    ((x - half, y - half), (x + half, y - half), (x + half, y + half), (x - half, y + half)),
                    wheel_colour(colour),
                )

    def words(self) -> str:
        squares = (
            f"squares {self.size:g} units wide, {self.radius:g} from the middle, in colours that are numbered round a"
            " wheel from 0 to 359."
        )
        lines = [
            _round(squares),
            *(
                f"Place {place}: {'empty' if colour is None else f'colour {colour}'}"
                for place, colour in enumerate(self.colours, start=1)
            ),
        ]
        return "\n".join(lines)


@STIMULI.register
class BarPatches(Stimulus):
    """Bars at any angles, at some of the places round a circle; places may be empty."""

    name: ClassVar[str] = "bar_patches"
    shorthand: ClassVar[str] = "angles"

    angles: Annotated[Angles, AfterValidator(_eight)] = Field(
        description=(
            "the angle at each of eight places, clockwise from the top: degrees clockwise from upright, or null for an"
            " empty place"
        )
    )
    length: Length = Field(14.0, description="of a bar, in canvas units")
    width: Length = Field(3.0, description="of a bar, in canvas units")
    radius: Distance = Field(22.0, description=_RADIUS)
    colour: ColourName = Field("black", description="colour of all bars")

    @model_validator(mode="after")
    def _longer_than_wide(self) -> BarPatches:
        longer_than_wide(self.length, self.width)
        return self

    def primitives(self) -> Iterable[Primitive]:
        for place, angle in enumerate(self.angles):
            if angle is not None:
                yield turned_bar((self.length, self.width), angle, place_on_circle(place, self.radius), self.colour)

    def words(self) -> str:
        bars = (
            f"{colour_words(self.colour)} bars, {self.length:g} units long and {self.width:g} wide, {self.radius:g}"
            " from the middle,"
        )
        lines = [
            _round(f"{bars} turned clockwise from upright."),
            *(
                f"Place {place}: {'empty' if angle is None else f'{angle:g} degrees'}"
                for place, angle in enumerate(self.angles, start=1)
            ),
        ]
        return "\n".join(lines)


@STIMULI.register
class ReportWheel(Stimulus):
    """The wheel on which a value is reported, of all colours or a plain circle; within it outlines
    where items were, that of the one asked about thick."""

    name: ClassVar[str] = "report_wheel"

    wheel: Literal["colours", "plain"] = Field(
        description="what the wheel looks like: all colours, or a plain circle for orientations and locations"
    )
    turned: Annotated[int, Field(ge=0, lt=360)] = Field(
        0, description="how far a wheel of colours is turned clockwise, in degrees; 0: colour 0 is at the top"
    )
    filled: Annotated[Ints, AfterValidator(_in_order)] = Field(
        (), description="places with an outline, 0 to 7, clockwise from the top"
    )
    probed: int | None = Field(None, description="the place whose outline is thick: that of the item asked about")
    outline: Literal["square", "circle"] = Field("square", description="shape of outlines")
    size: Length = Field(10.0, description="width of outlines, in canvas units")
    radius: Distance = Field(22.0, description=_RADIUS)

    @model_validator(mode="after")
    def _possible(self) -> ReportWheel:
        wrong = next((place for place in self.filled if not 0 <= place < PLACES), None)
        if wrong is not None:
            raise ValueError(f"there is no place {wrong}: places are 0 to {PLACES - 1}")
        if self.probed is not None and self.probed not in self.filled:
            raise ValueError(f"the probed place ({self.probed}) must be among those filled")
        if self.turned and self.wheel == "plain":
            raise ValueError("a plain wheel looks the same however far it is turned; leave 'turned' out")
        if self.radius + self.size / 2 > WHEEL_INSIDE:
            reach = self.radius + self.size / 2
            raise ValueError(
                f"outlines must lie within the wheel: radius and half the size are {reach:g} together, and its inside"
                f" is {WHEEL_INSIDE:g}"
            )
        if not self.filled:
            for name in ("outline", "size", "radius"):
                object.__setattr__(self, name, type(self).model_fields[name].default)
        return self

    def primitives(self) -> Iterable[Primitive]:
        if self.wheel == "colours":
            for begin in range(0, STEPS, _WEDGE):
                yield _wedge(begin - _WEDGE / 2 + self.turned, begin + _WEDGE / 2 + self.turned, wheel_colour(begin))
        else:
            middle = (WHEEL_INSIDE + WHEEL_OUTSIDE) / 2
            for begin in range(0, 360, _WEDGE):
                yield _wedge(begin, begin + _WEDGE, _LINE, middle - _THIN / 2, middle + _THIN / 2)
        for place in self.filled:
            yield from self._outlined(place, _THICK if place == self.probed else _THIN)

    def _outlined(self, place: int, thick: float) -> Iterable[Primitive]:
        x, y = place_on_circle(place, self.radius)
        half = self.size / 2
        for reach, colour in ((half, COLOURS["black"]), (half - thick, COLOURS["gray"])):
            corners = ((-1, -1), (1, -1), (1, 1), (-1, 1)) if self.outline == "square" else _CIRCLE
            yield Polygon(tuple((round(x + reach * a, 6), round(y + reach * b, 6)) for a, b in corners), colour)

    def words(self) -> str:
        if self.wheel == "colours":
            turned = (
                f"A wheel of all colours; going round it clockwise, their numbers rise, and colour 0 is {self.turned}"
                " degrees clockwise from the top."
            )
        else:
            turned = "A plain wheel."
        shapes = f"{self.outline} outlines {self.size:g} units wide, {self.radius:g} from the middle"
        inside = f"with {shapes} at {_numbered(self.filled)}" if self.filled else "all empty"
        probed = (
            ""
            if self.probed is None
            else f"\nThe outline at {self.probed + 1} is thick: it is asked about the item that was there."
        )
        return f"{turned}\n{_round(inside)}.{probed}"


def _wedge(
    begin: float, end: float, colour: tuple[int, int, int], inside: float = WHEEL_INSIDE, outside: float = WHEEL_OUTSIDE
) -> Polygon:
    """A part of the wheel, between two directions in degrees clockwise from the top."""
    return Polygon(
        tuple(
            (round(_MIDDLE + far * sin(radians(angle)), 6), round(_MIDDLE - far * cos(radians(angle)), 6))
            for angle, far in ((begin, inside), (begin, outside), (end, outside), (end, inside))
        ),
        colour,
    )
