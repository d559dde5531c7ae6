"""Letters, texts, grids with a letter in one cell, and words, each by itself or at places in an array."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar, Self

from pydantic import BeforeValidator, Field, field_validator, model_validator

from ...core.registry import Places
from ..scene import CANVAS, COLOURS, Line, Primitive, Rectangle, Text
from ..stimulus import STIMULI, ColourName, Stimulus, colour_words, rgb

#: What the text has at most for itself on the 96 × 96 canvas.
_ROOM = 88.0
#: The smallest legible font size, in canvas units.
_SMALLEST = 1.5
#: Lines between the cells of a grid: lighter than what stands in them, which then shows even in
#: small frames.
_GRID_LINE = (170, 170, 170)


def drawable(text: str) -> str:
    """The text, when the typeface has all its letters.

    Raises
    ------
    ValueError
        which names the first one that is missing.
    """
    from ..render.fonts import unreadable

    if why := unreadable(text):
        raise ValueError(why)
    return text


def _in_colour(colour: str, usual: str) -> str:
    """Describe an unusual colour."""
    return "" if colour == usual else f" (in {colour_words(colour)})"


@STIMULI.register
class Letter(Stimulus):
    """One letter, digit or short string, large in the middle. In words it is just itself, as N-back
    studies give it to language models."""

    name: ClassVar[str] = "letter"
    shorthand: ClassVar[str] = "symbol"

    symbol: Annotated[str, Field(min_length=1, max_length=12)] = Field(description="the symbol")
    colour: ColourName = Field("black", description="its colour")
    size: Annotated[int, Field(ge=4, le=90)] = Field(
        48, description="font size in canvas units; strings that are too wide are made smaller"
    )
    columns: Annotated[int, Field(ge=1, le=6)] | None = Field(
        None,
        description=(
            "largest number of characters in a row; longer strings are broken into even rows of the same font size; one"
            " line if not given"
        ),
    )

    @field_validator("symbol")
    @classmethod
    def _visible(cls, value: str) -> str:
        if value != value.strip() or "\n" in value:
            raise ValueError("a symbol must not begin or end with a space or a line break")
        return drawable(value)

    def primitives(self) -> Iterable[Primitive]:
        from ..render.fonts import width

        colour = rgb(self.colour)
        if self.columns is None or len(self.symbol) == 1:
            return (Text(47.5, 47.5, self.symbol, colour, min(self.size, _ROOM / width(self.symbol, 1.0))),)
        rows = -(-len(self.symbol) // self.columns)
        across = -(-len(self.symbol) // rows)
        # The size does not depend on the string (as long as it has no more rows than columns), so
        # that strings of a block look alike.
        cell = _ROOM / max(self.columns, rows)
        size = min(self.size, 0.96 * cell)
        marks = []
        for row in range(rows):
            line = self.symbol[row * across : (row + 1) * across]
            y = 47.5 + (row - (rows - 1) / 2) * cell
            marks += [
                Text(47.5 + (column - (len(line) - 1) / 2) * cell, y, mark, colour, size)
                for column, mark in enumerate(line)
                if mark != " "
            ]
        return marks

    def words(self) -> str:
        return self.symbol + _in_colour(self.colour, "black")


def tidied(text: str) -> str:
    """A text without blanks that nobody sees."""
    return "\n".join(" ".join(line.split()) for line in text.strip().split("\n"))


@STIMULI.register
class Lines(Stimulus):
    """Text of one or several lines, centred: instructions and feedback. Long lines are broken; a
    text that is too long is made smaller."""

    name: ClassVar[str] = "text"
    shorthand: ClassVar[str] = "text"

    text: Annotated[str, Field(min_length=1, max_length=4000)] = Field(description="the text; line breaks are kept")
    colour: ColourName = Field("ink", description="its colour")
    size: Annotated[int, Field(ge=2, le=60)] = Field(6, description="font size in canvas units (the canvas is 96 high)")

    @field_validator("text")
    @classmethod
    def _visible(cls, value: str) -> str:
        if not (tidy := tidied(value)):
            raise ValueError("the text is empty; for an empty screen show blank")
        return drawable(tidy)

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self._set()[1] < _SMALLEST:
            raise ValueError(f"a text of {len(self.text)} characters is too long for one screen")
        return self

    def _set(self) -> tuple[list[str], float]:
        """The text in lines, and the size at which it fits the screen."""
        from ..render.fonts import width, wrap

        size = float(self.size)
        while True:
            lines = wrap(self.text, size, _ROOM)
            if size < _SMALLEST or (
                len(lines) * size * 1.35 <= _ROOM + 2 and all(width(line, size) <= _ROOM for line in lines)
            ):
                return lines, size
            size *= 0.94

    def primitives(self) -> Iterable[Primitive]:
        lines, size = self._set()
        top = 47.5 - (len(lines) - 1) * size * 1.35 / 2
        return [
            Text(47.5, top + number * size * 1.35, line, rgb(self.colour), size)
            for number, line in enumerate(lines)
            if line
        ]

    def words(self) -> str:
        return self.text + _in_colour(self.colour, "ink")


def _noise(value: Any) -> Any:
    # keys of YAML are texts
    pairs = value
    if isinstance(value, Mapping):
        pairs = [(int(cell) if str(cell).isdecimal() else cell, mark) for cell, mark in value.items()]
    if not isinstance(pairs, (list, tuple)):
        return value
    if not all(
        isinstance(pair, (list, tuple)) and len(pair) == 2 and type(pair[0]) is int and isinstance(pair[1], str)
        for pair in pairs
    ):
        raise ValueError("noise is given as cell: symbol, such as {0: '%', 5: '#'}")
    return tuple(sorted(tuple(pair) for pair in pairs))


@STIMULI.register
class LetterGrid(Stimulus):
    """A grid of empty cells with a letter in one of them, and perhaps noise symbols in others.

    In words it is one line of cells between bars, the form in which a published study of spatial
    N-back gave grids to language models (Gong, Wan & Wang, 2024).
    """

    name: ClassVar[str] = "letter_grid"

    grid: Annotated[int, Field(ge=2, le=10)] = Field(3, description="rows and columns")
    at: int = Field(description="the cell that holds the letter, from 0, row by row")
    symbol: Annotated[str, Field(min_length=1, max_length=1)] = Field("X", description="the letter")
    noise: Annotated[tuple[tuple[int, str], ...], BeforeValidator(_noise)] = Field(
        (), description="noise symbols, as cell: symbol"
    )
    colour: ColourName = Field("black", description="colour of the letter and the noise")

    @field_validator("symbol")
    @classmethod
    def _visible(cls, value: str) -> str:
        if value in " _|`":
            raise ValueError(f"'{value}' cannot be told from the grid itself")
        return drawable(value)

    @model_validator(mode="after")
    def _inside(self) -> Self:
        cells = [self.at, *(cell for cell, _ in self.noise)]
        for cell in cells:
            if not 0 <= cell < self.grid**2:
                raise ValueError(
                    f"cell {cell} is outside the {self.grid} x {self.grid} grid: cells are 0 to {self.grid**2 - 1}, row"
                    " by row"
                )
        if len(set(cells)) != len(cells):
            raise ValueError("two symbols share a cell")
        for _, mark in self.noise:
            if len(mark) != 1 or mark == self.symbol:
                raise ValueError(f"a noise symbol must be one character other than '{self.symbol}'; found '{mark}'")
            self._visible(mark)
        return self

    def _contents(self) -> dict[int, str]:
        return {**dict(self.noise), self.at: self.symbol}

    def primitives(self) -> Iterable[Primitive]:
        cell = 84 // self.grid
        start = (95 - cell * self.grid) // 2
        colour = rgb(self.colour)
        end = start + cell * self.grid
        yield Rectangle(start, start, end, end, fill=COLOURS["white"])
        for line in range(1, self.grid):
            at = start + cell * line
            yield Line(at, start, at, end, _GRID_LINE)
            yield Line(start, at, end, at, _GRID_LINE)
        yield Rectangle(start, start, end, end, outline=COLOURS["black"])
        for index, mark in sorted(self._contents().items()):
            x, y = (start + cell * part + cell / 2 for part in (index % self.grid, index // self.grid))
            yield Text(x, y, mark, colour, cell)

    def words(self) -> str:
        contents = self._contents()
        rows = [
            "|" + "|".join(contents.get(row * self.grid + column, "_") for column in range(self.grid)) + "|"
            for row in range(self.grid)
        ]
        return f"``` {' '.join(rows)} ```{_in_colour(self.colour, 'black')}"


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
