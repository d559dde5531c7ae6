"""The plainest displays: nothing, a cross, a tone, noise; and the dot and the colour field of
complex span."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from ..scene import CANVAS, COLOURS, Colour, Ellipse, Image, Line, Primitive, Rectangle
from ..stimulus import STIMULI, ColourName, Stimulus, colour_words, rgb, row_column


@STIMULI.register
class Blank(Stimulus):
    """An empty screen."""

    name: ClassVar[str] = "blank"
    shorthand: ClassVar[str] = "colour"

    colour: ColourName = Field("gray", description="colour of the screen")

    def primitives(self) -> Iterable[Primitive]:
        return ()

    def background(self) -> Colour:
        return rgb(self.colour)

    def words(self) -> str:
        return (
            "An empty screen." if self.colour == "gray" else f"An empty screen, {colour_words(self.colour)} all over."
        )


@STIMULI.register
class Fixation(Stimulus):
    """A cross to look at, in the middle of the screen."""

    name: ClassVar[str] = "fixation"

    colour: ColourName = Field("black", description="colour of the cross")
    arm: Annotated[int, Field(ge=1, le=40)] = Field(4, description="length of each arm, in canvas units")

    def primitives(self) -> Iterable[Primitive]:
        colour = rgb(self.colour)
        return Line(48 - self.arm, 48, 48 + self.arm, 48, colour), Line(48, 48 - self.arm, 48, 48 + self.arm, colour)

    def words(self) -> str:
        return (
            f"A {colour_words(self.colour)} fixation cross in the middle of the screen, {2 * self.arm + 1} units wide."
        )


@STIMULI.register
class Tone(Stimulus):
    """A tone, such as the signal to begin recall; nothing is drawn."""

    name: ClassVar[str] = "tone"

    frequency_hz: Annotated[int, Field(ge=20, le=20000)] = Field(1000, description="pitch, in hertz")
    ms: Annotated[int, Field(ge=1, le=60000)] = Field(200, description="duration of the tone, in milliseconds")

    def primitives(self) -> Iterable[Primitive]:
        return ()

    def words(self) -> str:
        return f"A tone of {self.frequency_hz} Hz sounds for {self.ms} ms; the screen is empty."


@STIMULI.register
class Noise(Stimulus):
    """The whole canvas in 32 x 32 cells, each of a random colour: red, green and blue are
    independent and uniform from 0 to 255."""

    name: ClassVar[str] = "noise"
    shorthand: ClassVar[str] = "seed"
    cells: ClassVar[int] = 32

    seed: Annotated[int, Field(ge=0, le=2**32 - 1)] = Field(description="seed of the noise")

    def primitives(self) -> Iterable[Primitive]:
        colours = np.random.RandomState(self.seed).randint(0, 256, (self.cells, self.cells, 3), np.uint8)
        wide = CANVAS // self.cells
        return (Image(0, 0, CANVAS, CANVAS, colours.repeat(wide, 0).repeat(wide, 1).tobytes()),)

    def words(self) -> str:
        return (
            f"Random noise: a field of {self.cells} x {self.cells} cells, each of a colour drawn at random (noise"
            f" number {self.seed})."
        )


@STIMULI.register
class PixelNoise(Noise):
    """The whole canvas with a random colour for each of its 96 x 96 pixels, as in the WorM benchmark."""

    name: ClassVar[str] = "pixel_noise"
    cells: ClassVar[int] = CANVAS


@STIMULI.register
class Dot(Stimulus):
    """A red dot at one of nine places in a green frame; shown one after another, dots make a
    movement."""

    name: ClassVar[str] = "dot"

    cell: Annotated[int, Field(ge=0, le=8)] = Field(description="the place, 0 to 8, row by row")

    def primitives(self) -> Iterable[Primitive]:
        x, y = 9 + 26 * (self.cell % 3), 9 + 26 * (self.cell // 3)
        return Rectangle(6, 6, 90, 90, None, COLOURS["green"], 2), Ellipse(x + 6, y + 6, x + 20, y + 20, COLOURS["red"])

    def words(self) -> str:
        return (
            f"A red dot in a green frame, at row,column {row_column(self.cell, 3)} of 3 rows and 3 columns (1,1 is top"
            " left)."
        )


@STIMULI.register
class ColourField(Stimulus):
    """A large square filled with one colour."""

    name: ClassVar[str] = "colour_field"
    shorthand: ClassVar[str] = "colour"

    colour: ColourName = Field(description="the colour")

    def primitives(self) -> Iterable[Primitive]:
        return (Rectangle(6, 6, 90, 90, rgb(self.colour), COLOURS["black"], 2),)

    def words(self) -> str:
        return f"A large square filled with one colour: {colour_words(self.colour)}."
