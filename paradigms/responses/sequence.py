"""Several places or symbols in order: serial recall in one answer, with correction, and with "don't
know" for an item."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from math import comb, perm
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from ...core.locale import sentence
from ...core.registry import Ints, Words
from .base import (
    RESPONSES,
    Answer,
    Area,
    Areas,
    ItemScore,
    Ordered,
    Region,
    ResponseKind,
    Surface,
    items_of,
    row_regions,
)
from .choice import layout_rows, values_of
from .keys import is_key, own_keys
from .wording import read_symbols


def edit_distance(response: Sequence[object], correct: Sequence[object]) -> int:
    """The fewest insertions, deletions and substitutions of single items that turn one sequence
    into the other (Levenshtein, 1966)."""
    row = list(range(len(correct) + 1))
    for number, item in enumerate(response, start=1):
        before, row[0] = row[0], number
        for place, expected in enumerate(correct, start=1):
            before, row[place] = row[place], min(row[place] + 1, row[place - 1] + 1, before + (item != expected))
    return row[-1]


#: The word that models write for an item that they do not know.
BLANK = "blank"
_SYMBOL = re.compile(r"[^\W_]{1,12}")
#: The part of the area that the line of what was given takes, and of the space of a key that is
#: free on each side.
_LINE, _FREE = 0.22, 0.06


@RESPONSES.register
class SerialOrder(ResponseKind):
    """Several places or symbols in order, one after another, with correction. Scored by position,
    and by edit distance.

    With ``options: 9`` the answers are places: 0 to 8 in the record, 1 to 9 for people and models.
    With a list of words they are these symbols, which people type or click on.
    """

    name: ClassVar[str] = "sequence"
    varying: ClassVar[frozenset[str]] = frozenset({"positions"})
    not_for_networks: ClassVar[str] = (
        "a network answers with one class at a step; ask for one item a step with 'choice', as the paradigm vsr does"
    )

    options: Annotated[int, Field(ge=2, le=40)] | Words = Field(
        description="how many places there are, or the list of symbols (letters, digits or short words)"
    )
    take: Annotated[int, Field(ge=1, le=40)] = Field(description="how many items the right answer has")
    free: bool = Field(
        False,
        description=(
            "whether the answer may have fewer or more items; people and models are then not told how many there are"
        ),
    )
    repeats: bool = Field(True, description="whether the same place or symbol may be given more than once")
    unknown: bool = Field(True, description='whether "don\'t know" may be given for an item')
    positions: Ints | None = Field(
        None,
        description=(
            "serial position in presentation, from 1, of each item of the right answer; 1, 2, ... when not given"
        ),
    )
    areas: Areas | None = Field(None, description="where each place is, as [x0, y0, x1, y1]")
    layout: str | None = Field(
        None, description="where places or symbols are: columns x rows, such as 3x3, or centred rows, such as 3+3+3+1"
    )
    within: Area = Field(
        (4.0, 2.0, 92.0, 94.0),
        description="the part of the canvas for places, or for symbols and the line of those that were given",
    )
    keys: Words | None = Field(
        None, description="one key per option, as PsychoPy names them; the symbols' own keys when not given"
    )

    @model_validator(mode="after")
    def _consistent(self) -> SerialOrder:
        if isinstance(self.options, tuple):
            self._check_symbols(self.options)
        if self.areas is not None and (
            not isinstance(self.options, int) or len(self.areas) != self.options or self.layout is not None
        ):
            raise ValueError("areas go with a number of places, one area for each, and without a layout")
        if self.layout is not None and (not all(self._rows) or sum(self._rows) < self.count):
            raise ValueError(
                f"layout must be columns x rows with room for {self.count} options, such as 3x3 (or rows, such as"
                f" 3+3+3+1); found '{self.layout}'"
            )
        if not self.repeats and self.take > self.count:
            raise ValueError(f"cannot take {self.take} different ones of {self.count}")
        if self.positions is not None and (
            len(set(self.positions)) != self.take or len(self.positions) != self.take or min(self.positions) < 1
        ):
            raise ValueError(
                f"positions must be {self.take} different numbers from 1, one for each item of the right answer; found"
                f" {list(self.positions)}"
            )
        if self.keys is not None and (
            len(self.keys) != self.count or len(set(self.keys)) != self.count or not all(map(is_key, self.keys))
        ):
            raise ValueError(
                f"keys must name {self.count} different keys, one per option; found {', '.join(self.keys)}"
            )
        return self

    def _check_symbols(self, symbols: tuple[str, ...]) -> None:
        if len(symbols) < 2 or len(set(symbols)) != len(symbols):
            raise ValueError("options must be at least two different symbols")
        for symbol in symbols:
            if not _SYMBOL.fullmatch(symbol) or symbol.casefold() == BLANK:
                raise ValueError(
                    f"a symbol is a word of at most 12 letters and digits, and not '{BLANK}', which stands for an"
                    f" unknown item; found '{symbol}'"
                )

    @property
    def count(self) -> int:
        """The number of options."""
        return len(self.values)

    @property
    def values(self) -> tuple[int | str, ...]:
        """The places or symbols, as recorded."""
        return values_of(self.options)

    @property
    def labels(self) -> tuple[str, ...]:
        """The places or symbols, as written."""
        return tuple(self.label(value) for value in self.values)

    @property
    def most(self) -> int:
        """The largest number of items in an answer."""
        most = max(2 * self.take, self.take + 4) if self.free else self.take
        return most if self.repeats else min(most, self.count)

    @property
    def _rows(self) -> tuple[int, ...]:
        """The number of options in each row."""
        if self.layout is None:
            columns = next(columns for columns in range(1, self.count + 1) if columns * columns >= self.count)
            return tuple(min(columns, self.count - start) for start in range(0, self.count, columns))
        return layout_rows(self.layout) or (0,)

    def allows(self, value: Any) -> bool:
        if not isinstance(value, tuple) or not (1 <= len(value) <= self.most if self.free else len(value) == self.take):
            return False
        items = [item for item in value if item is not None]
        return (
            all(isinstance(item, int | str) and not isinstance(item, bool) and item in self.values for item in items)
            and (self.unknown or len(items) == len(value))
            and (self.repeats or len(set(items)) == len(items))
        )

    # -- in words ----------------------------------------------------------------------------------

    def question(self) -> str:
        many = "the items" if self.free else f"{self.take} item{'s' * (self.take != 1)}"
        return f"Answer with {many} in the order that is asked for, separated by spaces: {self._each()}."

    def _each(self) -> str:
        unknown = f" Write {BLANK} for an item that you do not know" if self.unknown else ""
        if isinstance(self.options, tuple):
            each = f"each is one of {', '.join(self.options)}"
        else:
            each = f"each is the number of a place from 1 to {self.options}{self._where()}"
        return f"{each}{' (the same one may come again)' if self.repeats else ''}{'.' if unknown else ''}{unknown}"

    def _where(self) -> str:
        """Describe the positions of numbered places, for models, which do not see the numbers."""
        if self.areas is None:
            return f", counted row by row from the top left ({'+'.join(map(str, self._rows))})"
        middles = (
            f"{n} at {round((x0 + x1) / 2 / 0.96)},{round((y0 + y1) / 2 / 0.96)}"
            for n, (x0, y0, x1, y1) in enumerate(self.areas, start=1)
        )
        return f". Their middles, in percent of the picture from the left and from the top: {'; '.join(middles)}"

    def allowed_values(self) -> str:
        many = f"1 to {self.most}" if self.free else str(self.take)
        different = "" if self.repeats else "different "
        unknown = ", or None for an item that is not known" if self.unknown else ""
        if isinstance(self.options, int):
            places = f"{different}whole numbers from 0 to {self.options - 1}{unknown}"
            return f"a tuple of {many} {places} (places count from 0, so 1 in the words of the question is 0 here)"
        return f"a tuple of {many} {different}texts, each one of {', '.join(map(repr, self.values))}{unknown}"

    def legend(self, reader: Literal["participant", "words"], language: str = "en") -> str:
        if reader == "words":
            return (
                "Answer with as many items as you are asked for, in the order that is asked for, separated by spaces:"
                f" {self._each()}."
            )
        how = "sequence_keys" if self._keys() else "sequence_click"
        names = [how, "sequence_undo", *(["sequence_unknown"] if self.unknown else []), "sequence_done"]
        return " ".join(sentence(f"legend.{name}", language) for name in names)

    def parse(self, text: str) -> Answer | None:
        """Read symbols or numbers in order; None unless there are as many as there have to be, and
        the reply gives no other sequence."""
        numbers = read_symbols(text, self.labels, BLANK if self.unknown else "", None if self.free else self.take)
        return self.allowed(tuple(None if number is None else self.values[number] for number in numbers or ()))

    def write(self, answer: Answer) -> str:
        assert isinstance(answer, tuple)
        return " ".join(BLANK if item is None else self.label(item) for item in answer)

    def answer_schema(self) -> dict[str, Any] | None:
        names = [*self.labels, *([BLANK] if self.unknown else [])]
        least, most = (1, self.most) if self.free else (self.take, self.take)
        different = {} if self.repeats or self.unknown else {"uniqueItems": True}
        return {
            "type": "array",
            "items": {"type": "string", "enum": names},
            "minItems": least,
            "maxItems": most,
            **different,
        }

    def answer_from_json(self, value: Any) -> Answer | None:
        names: dict[str, int | str | None] = dict(zip(self.labels, self.values, strict=True))
        if self.unknown:
            names[BLANK] = None
        if not isinstance(value, list) or not all(isinstance(name, str) and name in names for name in value):
            return None
        return self.allowed(tuple(names[name] for name in value))

    # -- at the window -----------------------------------------------------------------------------

    def surface(self) -> Surface:
        labels = tuple(zip(self.options, self.options, strict=True)) if isinstance(self.options, tuple) else ()
        ordered = Ordered(self.most, self.repeats, self.unknown, line=self._line(), labels=labels)
        return Surface(
            keys=self._keys(),
            regions=self._regions(),
            several=True,
            take=None if self.free else self.take,
            outlined=self._line() is None and self.areas is None,
            ordered=ordered,
        )

    def _line(self) -> tuple[float, float, float, float] | None:
        x0, y0, x1, y1 = self.within
        return (x0, y0, x1, y0 + _LINE * (y1 - y0)) if isinstance(self.options, tuple) else None

    def _regions(self) -> tuple[Region, ...]:
        if self.areas is not None:
            return tuple(Region(place, *area) for place, area in enumerate(self.areas))
        x0, y0, x1, y1 = self.within
        top = y0 if self._line() is None else y0 + _LINE * (y1 - y0)
        return row_regions(self.values, self._rows, (x0, top, x1, y1))

    def _keys(self) -> tuple[tuple[str, int | str], ...]:
        keys_of_values = self.keys or self._natural_keys()
        keys = list(zip(keys_of_values, self.values, strict=True)) if keys_of_values else []
        return tuple(
            keys
            + [(f"num_{key}", value) for key, value in keys if key.isdigit() and f"num_{key}" not in keys_of_values]
        )

    def _natural_keys(self) -> tuple[str, ...]:
        """The symbols' own keys, where each has one; places have none, because nobody could see
        which."""
        if isinstance(self.options, int):
            return ()
        return own_keys(self.options)

    # -- scores ------------------------------------------------------------------------------------

    def guess(self, random: np.random.RandomState) -> Answer:
        """As many items as there are, each place or symbol equally likely."""
        if self.repeats:
            return tuple(self.values[int(random.randint(self.count))] for _ in range(self.take))
        return tuple(self.values[int(place)] for place in random.permutation(self.count)[: self.take])

    def chance(self) -> float:
        """Of one item, for somebody who gives as many as there are."""
        return 1 / self.count

    def right_by_guessing(self) -> tuple[float, ...]:
        return _right_by_guessing(self.count, self.take, self.repeats)

    def score(self, answer: Answer | None, correct: Answer) -> list[ItemScore]:
        """One score per item of the right answer, by its position, then one per item too many. All
        have the edit distance of the whole answer."""
        responses = answer if isinstance(answer, tuple) else ()
        expected = items_of(correct)
        distance = edit_distance(responses, expected)
        scores = []
        for place, item in enumerate(expected):
            response = responses[place] if place < len(responses) else None
            scores.append(
                ItemScore(
                    answer=response,
                    correct_answer=item,
                    correct=response is not None and response == item,
                    serial_position=(
                        self.positions[place]
                        if self.positions is not None and len(self.positions) > place
                        else place + 1
                    ),
                    output_position=place + 1,
                    edit_distance=distance,
                )
            )
        return scores + [
            ItemScore(item, None, False, output_position=place, edit_distance=distance)
            for place, item in list(enumerate(responses, start=1))[len(expected) :]
            if item is not None
        ]


@lru_cache(maxsize=256)
def _right_by_guessing(count: int, take: int, repeats: bool) -> tuple[float, ...]:
    """The probability of 0, 1, ... items in their places, when as many as there are are guessed."""
    if repeats:
        return tuple(comb(take, right) * (count - 1) ** (take - right) / count**take for right in range(take + 1))

    def none_right(places: int, free: int) -> int:
        """Orders of ``places`` of ``free`` items, all of the places' own items among them, in which
        none is in its place."""
        return sum((-1) ** n * comb(places, n) * perm(free - n, places - n) for n in range(places + 1))

    return tuple(
        comb(take, right) * none_right(take - right, count - right) / perm(count, take) for right in range(take + 1)
    )
