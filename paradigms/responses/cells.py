"""Several cells of a grid, in any order: free recall. In a reply, rows and columns that could mean
other cells mean none."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import comb
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from ...core.locale import sentence
from .base import RESPONSES, WHOLE_CANVAS, Answer, Area, ItemScore, ResponseKind, Surface, items_of, row_regions
from .wording import OR, negated, without_line_numbers

_NUMBER = re.compile(r"\d+")
#: Between the row and the column of one cell.
_COMMA = re.compile(r" ?, ?")
_NAMED = re.compile(r"(?<![^\W\d_])(row|column|col|r|c)(?:\.? ?[:=#]? ?)(\d{1,3})(?!\d)", re.IGNORECASE)
_NUMBERED_LINE = re.compile(r"^ ?(\d{1,3})[.)] (?=\D*\d)", re.MULTILINE)
_LONGEST = 3


def read_pairs(text: str, count: int) -> list[tuple[int, int]] | None:
    """The ``count`` pairs of a row and a column in a reply, or None when it has any other number of
    them, or any further number.

    Pairs are written ``1,4``, in brackets or not, or as ``row 1, column 4`` (or the other way
    round); lines may be numbered from 1.
    """
    text = re.sub(r"[^\S\n]+", " ", text)
    if negated(text) or OR.search(text):
        return None
    text = without_line_numbers(text, _NUMBERED_LINE, least=1)
    numbers = list(_NUMBER.finditer(text))
    if len(numbers) != 2 * count or any(len(number[0]) > _LONGEST for number in numbers):
        return None
    named = list(_NAMED.finditer(text))
    if named:
        return _named_pairs([(match[1][0].lower(), int(match[2])) for match in named], count)
    for number in numbers:
        before, after = text[number.start() - 1 : number.start()], text[number.end() : number.end() + 1]
        if before in ("-", "+", "−", ".", "\ufffd") or before.isalpha() or after.isalpha() or after == "\ufffd":
            return None
    if not all(
        _COMMA.fullmatch(text, row.end(), column.start())
        for row, column in zip(numbers[::2], numbers[1::2], strict=True)
    ):
        return None
    return [(int(row[0]), int(column[0])) for row, column in zip(numbers[::2], numbers[1::2], strict=True)]


def _named_pairs(named: list[tuple[str, int]], count: int) -> list[tuple[int, int]] | None:
    """Rows and columns that are called so: always in the same order."""
    order = [name for name, _ in named[:2]]
    if len(named) != 2 * count or set(order) != {"r", "c"} or [name for name, _ in named] != order * count:
        return None
    numbers = [number for _, number in named]
    row, column = order.index("r"), order.index("c")
    return list(zip(numbers[row::2], numbers[column::2], strict=True))


@RESPONSES.register
class Cells(ResponseKind):
    """Several different cells of a square grid, in any order. Cells are numbered from 0, row by
    row."""

    name: ClassVar[str] = "cells"

    grid: Annotated[int, Field(ge=2, le=20)] = Field(description="rows and columns of the grid")
    take: Annotated[int, Field(ge=1)] = Field(description="number of cells in the answer")
    within: Area = Field(WHOLE_CANVAS, description="the part of the canvas that the grid covers, as [x0, y0, x1, y1]")

    @model_validator(mode="after")
    def _possible(self) -> Cells:
        if self.take > self.grid**2:
            raise ValueError(f"cannot take {self.take} of {self.grid**2} cells")
        return self

    def allows(self, value: Any) -> bool:
        return (
            isinstance(value, tuple)
            and len(value) == self.take
            and all(isinstance(cell, int) and not isinstance(cell, bool) and 0 <= cell < self.grid**2 for cell in value)
            and len(set(value)) == len(value)
        )

    def question(self) -> str:
        many = "1 cell" if self.take == 1 else f"{self.take} different cells"
        return (
            f"Answer with {many}, each as row,column from 1,1 (top left) to {self.grid},{self.grid} (bottom right),"
            " separated by semicolons."
        )

    def allowed_values(self) -> str:
        return (
            f"a tuple of {self.take} different whole numbers from 0 to {self.grid**2 - 1} (cells count from 0, row by"
            f" row, so 1,1 in the words of the question is 0 here, and {self.grid},{self.grid} is {self.grid**2 - 1})"
        )

    def legend(self, reader: Literal["participant", "words"], language: str = "en") -> str:
        if reader == "words":
            return self.question().replace(
                f"with {'1 cell' if self.take == 1 else f'{self.take} different cells'}",
                "with as many cells as you are asked for",
            )
        return sentence("legend.cells", language)

    def surface(self) -> Surface:
        return Surface(
            regions=row_regions(range(self.grid**2), [self.grid] * self.grid, self.within),
            several=True,
            take=self.take,
            outlined=True,
        )

    def parse(self, text: str) -> Answer | None:
        """Read ``row,column`` pairs; None unless there are exactly ``take`` different ones inside
        the grid, and no other number."""
        pairs = read_pairs(text, self.take)
        if pairs is None or any(not 1 <= number <= self.grid for pair in pairs for number in pair):
            return None
        return self.allowed(tuple((row - 1) * self.grid + column - 1 for row, column in pairs))

    def write(self, answer: Answer) -> str:
        assert isinstance(answer, tuple)
        return "; ".join(self._cell(cell) for cell in answer)

    def _cell(self, cell: int | str | None) -> str:
        assert isinstance(cell, int)
        return f"{cell // self.grid + 1},{cell % self.grid + 1}"

    def answer_schema(self) -> dict[str, Any] | None:
        # Cells as the question names them. Their numbers would have to be reckoned out first: that
        # is another task.
        return {
            "type": "array",
            "items": {"type": "string", "enum": [self._cell(cell) for cell in range(self.grid**2)]},
            "minItems": self.take,
            "maxItems": self.take,
            "uniqueItems": True,
        }

    def answer_from_json(self, value: Any) -> Answer | None:
        names = {self._cell(cell): cell for cell in range(self.grid**2)}
        if not isinstance(value, list) or not all(isinstance(name, str) and name in names for name in value):
            return None
        return self.allowed(tuple(names[name] for name in value))

    def from_logits(
        self, logits: np.ndarray, classes: Sequence[int] | None = None, all_classes: bool = False
    ) -> Answer | None:
        cell_logits = logits[: self.grid**2] if classes is None else logits[list(classes)]
        return tuple(int(cell) for cell in np.argsort(-cell_logits, kind="stable")[: self.take])

    def target(self, answer: Answer) -> int | tuple[int, ...]:
        return tuple(cell for cell in items_of(answer) if isinstance(cell, int))

    def guess(self, random: np.random.RandomState) -> Answer:
        return tuple(int(cell) for cell in random.permutation(self.grid**2)[: self.take])

    def chance(self) -> float:
        return self.take / self.grid**2

    def right_by_guessing(self) -> tuple[float, ...]:
        """Hypergeometric: the cells are named without replacement."""
        cells = self.grid**2
        return tuple(
            comb(self.take, right) * comb(cells - self.take, self.take - right) / comb(cells, self.take)
            for right in range(self.take + 1)
        )

    def score(self, answer: Answer | None, correct: Answer) -> list[ItemScore]:
        """One score per presented item (``correct`` is in presentation order), then one per
        intrusion."""
        named = answer if isinstance(answer, tuple) else ()
        presented = items_of(correct)
        return [
            *(
                ItemScore(
                    answer=cell if cell in named else None,
                    correct_answer=cell,
                    correct=cell in named,
                    serial_position=position,
                    output_position=named.index(cell) + 1 if cell in named else None,
                )
                for position, cell in enumerate(presented, start=1)
            ),
            *(
                ItemScore(answer=cell, correct_answer=None, correct=False, output_position=position)
                for position, cell in enumerate(named, start=1)
                if cell not in presented
            ),
        ]
