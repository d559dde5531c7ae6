"""Several stimuli in one display, each placed and sized."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainSerializer,
    ValidationError,
    model_validator,
)
from typing_extensions import override

from ...core.errors import SpanLabError
from ...core.registry import Real, StrictModel, as_tuple
from ..own_files import Files
from ..scene import CANVAS, Arrow, Ellipse, FileImage, Image, Line, Polygon, Primitive, Rectangle, Text
from ..stimulus import STIMULI, Stimulus
from .bars import Place
from .files import ImageOfFile, SoundOfFile, written

_MIDDLE = CANVAS / 2


def _read(value: Any) -> Any:
    """A stimulus as a display names it: ``{letter: A}``."""
    if not isinstance(value, Mapping):
        return value
    if len(value) != 1 or not isinstance(name := next(iter(value)), str):
        raise ValueError(f"expected one stimulus with its parameters, such as {{letter: A}}; found {len(value)}")
    try:
        cls = STIMULI.get(name)
    except SpanLabError as error:
        raise ValueError(str(error)) from None
    parameters = value[name]
    if not isinstance(parameters, Mapping):
        parameters = {cls.shorthand: parameters} if cls.shorthand else {}
    try:
        return cls.model_validate(dict(parameters))
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(map(str, fault['loc']))}: {fault['msg'].removeprefix('Value error, ')}".removeprefix(": ")
            for fault in error.errors()
        )
        raise ValueError(f"'{name}': {problems}") from None


def _placeable(stimulus: Stimulus) -> Stimulus:
    if isinstance(stimulus, Together):
        raise ValueError("'together' cannot hold another 'together'")
    if isinstance(stimulus, SoundOfFile):
        raise ValueError(
            "a sound has no place: write it beside 'together', as in show: {together: [...], sound: sounds/01.wav}"
        )
    if isinstance(stimulus, ImageOfFile):
        return stimulus  # looked at within its paradigm
    if not stimulus.scene().primitives or any(
        isinstance(primitive, Image) for primitive in stimulus.scene().primitives
    ):
        raise ValueError(f"'{stimulus.name}' cannot be placed: nothing of it could be drawn smaller")
    return stimulus


Shown = Annotated[
    Stimulus,
    BeforeValidator(_read),
    AfterValidator(_placeable),
    PlainSerializer(written),
]


class PlacedStimulus(StrictModel):
    """One stimulus of several."""

    show: Shown = Field(description="the stimulus, as a display names it: {letter: A}")
    x: Place = Field(48.0, description="distance of the centre of its canvas from the left, in canvas units")
    y: Place = Field(48.0, description="distance of the centre of its canvas from the top, in canvas units")
    size: Annotated[Real, Field(ge=0.05, le=1)] = Field(
        1.0, description="size of its canvas, as a proportion of the screen's"
    )


@STIMULI.register
class Together(Stimulus):
    """Several stimuli in one display: the canvas of each is drawn smaller, at its place."""

    name: ClassVar[str] = "together"
    shorthand: ClassVar[str] = "parts"

    parts: Annotated[tuple[PlacedStimulus, ...], BeforeValidator(as_tuple), Field(min_length=1, max_length=50)] = Field(
        description="the stimuli, each as {show: {letter: A}, x: 24, y: 48, size: 0.5}"
    )

    @model_validator(mode="after")
    def _by_place(self) -> Self:
        places = [(part.y, part.x) for part in self.parts]
        if len(set(places)) < len(places):
            raise ValueError("two stimuli have the same place: which of them is in front could not be told")
        object.__setattr__(self, "parts", tuple(sorted(self.parts, key=lambda part: (part.y, part.x))))
        return self

    @override
    def bound(self, files: Files) -> Stimulus:
        parts = tuple(part.model_copy(update={"show": part.show.bound(files)}) for part in self.parts)
        return self if parts == self.parts else self.model_copy(update={"parts": parts})

    @property
    @override
    def said_in_words(self) -> bool:
        return all(part.show.said_in_words for part in self.parts)

    def primitives(self) -> Iterable[Primitive]:
        for part in self.parts:
            for primitive in part.show.scene().primitives:
                yield _placed(primitive, part.x, part.y, part.size)

    def words(self) -> str:
        lines = [
            f"{len(self.parts)} displays together, each drawn smaller; places are those of their middles (of {CANVAS}),"
            " and sizes parts of the screen's width."
        ]
        lines += [
            f"Display {number}, at {part.x:g} from the left and {part.y:g} from the top, size"
            f" {part.size:g}:\n{part.show.words()}"
            for number, part in enumerate(self.parts, start=1)
        ]
        return "\n".join(lines)


def _placed(primitive: Primitive, x: float, y: float, size: float) -> Primitive:
    """A primitive of the whole canvas on a smaller one."""

    def across(value: float) -> float:
        return x + (value - _MIDDLE) * size

    def down(value: float) -> float:
        return y + (value - _MIDDLE) * size

    if isinstance(primitive, Polygon):
        return replace(primitive, points=tuple((across(a), down(b)) for a, b in primitive.points))
    if isinstance(primitive, Text):
        return replace(primitive, x=across(primitive.x), y=down(primitive.y), size=primitive.size * size)
    assert not isinstance(primitive, Image)
    ends: tuple[float, float, float, float] = (
        across(primitive.x0),
        down(primitive.y0),
        across(primitive.x1),
        down(primitive.y1),
    )
    if isinstance(primitive, FileImage):
        return replace(primitive, x0=ends[0], y0=ends[1], x1=ends[2], y1=ends[3])
    width = max(1, round(primitive.width * size))
    if isinstance(primitive, Arrow):
        x0, y0, x1, y1 = (round(end) for end in ends)
        return Arrow(x0, y0, x1, y1, primitive.colour, width, primitive.head)
    if isinstance(primitive, Line):
        return Line(*ends, primitive.colour, width)
    if isinstance(primitive, Ellipse):
        return Ellipse(*ends, primitive.fill, primitive.outline, width)
    return Rectangle(*ends, primitive.fill, primitive.outline, width, round(primitive.radius * size))
