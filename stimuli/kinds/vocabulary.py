"""Words to remember: one at a time, and several to choose from, each in its place."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import ClassVar, Self

from pydantic import Field, field_validator, model_validator

from ...core.registry import Places
from ..scene import CANVAS, COLOURS, Line, Primitive, Text
from ..stimulus import STIMULI, Stimulus
from .lettering import drawable

#: Longest word; a longer one would be too small in its place.
_LONGEST = 24
#: How wide words of an array may be, in font sizes, before all of it is written smaller: words of
#: seven letters mostly are not that wide.
_WIDE = 4.2
#: Side of a square of places, in words.
_SIDES = {2: ("Four", "two rows of two"), 3: ("Nine", "three rows of three"), 4: ("Sixteen", "four rows of four")}


def _word(value: str) -> str:
    if value != value.strip() or len(value.split()) != 1:
        raise ValueError(f"expected one word; found '{value}'")
    if len(value) > _LONGEST:
        raise ValueError(f"'{value}' is longer than {_LONGEST} letters")
    return drawable(value)


def _fitting(words: Iterable[str], size: float, room: float) -> float:
    """The font size, or less where the widest word needs more than the room."""
    from ..render.fonts import width

    return min([size, *(room / width(word, 1.0) for word in words)])


@STIMULI.register
class Word(Stimulus):
    """One word in the middle. In words it is just itself."""

    name: ClassVar[str] = "word"
    shorthand: ClassVar[str] = "word"

    word: str = Field(description="the word")

    @field_validator("word")
    @classmethod
    def _one(cls, value: str) -> str:
        return _word(value)

    def primitives(self) -> Iterable[Primitive]:
        return (Text(47.5, 47.5, self.word, COLOURS["black"], _fitting([self.word], 16, CANVAS - 8)),)

    def words(self) -> str:
        return self.word

    def shown_words(self) -> tuple[str, ...]:
        return (self.word,)


@STIMULI.register
class WordArray(Stimulus):
    """Words, each in one of nine places between lines (or of four, or sixteen); places may be
    empty. All are written in one size."""

    name: ClassVar[str] = "word_array"
    shorthand: ClassVar[str] = "places"

    places: Places = Field(
        description="nine words (or four, or sixteen) by position, row by row, null for an empty place"
    )

    @field_validator("places")
    @classmethod
    def _all_words(cls, value: tuple[str | None, ...]) -> tuple[str | None, ...]:
        return tuple(None if word is None else _word(word) for word in value)

    @model_validator(mode="after")
    def _square(self) -> Self:
        if math.isqrt(len(self.places)) not in _SIDES or self._side**2 != len(self.places):
            raise ValueError(f"a word array has nine places (or four, or sixteen); found {len(self.places)}")
        return self

    @property
    def _side(self) -> int:
        return math.isqrt(len(self.places))

    def primitives(self) -> Iterable[Primitive]:
        cell = CANVAS // self._side
        for at in range(cell, CANVAS, cell):
            yield Line(0, at, CANVAS, at, COLOURS["black"])
            yield Line(at, 0, at, CANVAS, COLOURS["black"])
        size = _fitting([word for word in self.places if word is not None], (cell - 4) / _WIDE, cell - 4)
        for place, word in enumerate(self.places):
            if word is not None:
                x, y = (cell * (part + 0.5) - 0.5 for part in (place % self._side, place // self._side))
                yield Text(x, y, word, COLOURS["black"], size)

    def shown_words(self) -> tuple[str, ...]:
        return tuple(word for word in self.places if word is not None)

    def words(self) -> str:
        many, rows = _SIDES[self._side]
        # "no word" cannot be a word: it has a space.
        places = [f"Position {place}: {word or 'no word'}" for place, word in enumerate(self.places, start=1)]
        return "\n".join(
            (
                f"{many} positions in {rows}, numbered 1 to {len(places)} row by row from the top left.",
                "Each holds one word or none.",
                *places,
            )
        )
