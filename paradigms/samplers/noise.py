"""Noise around the items of N-back blocks: symbols that are to be ignored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field, model_validator

from ...core.registry import Ints, Words
from ..language.diagnostics import show
from .base import SAMPLERS, Sampler, misfit


class _Noise(Sampler):
    """The base of both kinds of noise: different symbols, whose number is uniform."""

    marks: Words = Field(description="the noise symbols")
    least: Annotated[int, Field(ge=0, le=20)] = Field(description="smallest number of symbols")
    most: Annotated[int, Field(ge=0, le=20)] = Field(description="largest number of symbols")

    @model_validator(mode="after")
    def _enough(self) -> _Noise:
        if any(len(mark) != 1 for mark in self.marks) or len(set(self.marks)) < len(self.marks):
            raise ValueError(f"the noise symbols are different single characters; found {show(list(self.marks))}")
        if not self.least <= self.most <= len(self.marks):
            raise ValueError(
                f"expected at most {len(self.marks)} different noise symbols, and least not above most; found"
                f" {self.least} to {self.most}"
            )
        return self

    def _some(self, random: np.random.RandomState) -> list[str]:
        """Different symbols in random order, their number uniform."""
        count = self.least + int(random.randint(self.most - self.least + 1))
        return [self.marks[int(place)] for place in random.permutation(len(self.marks))[:count]]

    def _check_marks(self, marks: Sequence[str], where: str) -> None:
        if (
            len(set(marks)) < len(marks)
            or not set(marks) <= set(self.marks)
            or not self.least <= len(marks) <= self.most
        ):
            raise ValueError(
                f"{where}: expected from {self.least} to {self.most} different ones of {' '.join(self.marks)}; found"
                f" {show(list(marks))}"
            )


@SAMPLERS.register
class LetterNoise(_Noise):
    """Each letter hidden among noise symbols, as one string such as ``%@l#``.

    For each letter: the number of symbols is uniform from ``least`` to ``most``, the symbols are
    drawn without replacement, and letter and symbols are put in a uniformly random order (N-back
    study, 3 to 6 of 8 symbols).
    """

    name: ClassVar[str] = "letter_noise"
    letters: Words = Field(description="the letters, one string for each")

    @model_validator(mode="after")
    def _distinct(self) -> LetterNoise:
        if wrong := next((letter for letter in self.letters if len(letter) != 1 or letter in self.marks), None):
            raise ValueError(f"a letter is one character that is not a noise symbol; found '{wrong}'")
        return self

    def draw(self, random: np.random.RandomState) -> list[str]:
        strings = []
        for letter in self.letters:
            parts = [letter, *self._some(random)]
            strings.append("".join(parts[int(place)] for place in random.permutation(len(parts))))
        return strings

    def check(self, value: Any) -> None:
        if problem := misfit(value, ["%l"] * len(self.letters)):
            raise ValueError(problem)
        for number, (letter, text) in enumerate(zip(self.letters, value, strict=True), start=1):
            if text.count(letter) != 1:
                raise ValueError(f"{number}: expected '{letter}' once among noise; found {show(text)}")
            self._check_marks(text.replace(letter, ""), str(number))


@SAMPLERS.register
class CellNoise(_Noise):
    """Noise symbols in empty cells of grids in each of which one cell is taken: for each grid a
    list of [cell, symbol], ordered by cell.

    The number of symbols is uniform from ``least`` to ``most``; cells and symbols are drawn without
    replacement (N-back study, 1 to 3 of 8 symbols).
    """

    name: ClassVar[str] = "cell_noise"
    taken: Ints = Field(description="the taken cell of each grid, from 0, row by row")
    grid: Annotated[int, Field(ge=2, le=10)] = Field(description="rows and columns")

    @model_validator(mode="after")
    def _room(self) -> CellNoise:
        if self.most >= self.grid**2:
            raise ValueError(f"{self.most} noise symbols do not fit into the {self.grid**2 - 1} empty cells")
        if any(not 0 <= cell < self.grid**2 for cell in self.taken):
            raise ValueError(
                f"taken cells are cells of the grid, from 0 to {self.grid**2 - 1}; found {show(list(self.taken))}"
            )
        return self

    def draw(self, random: np.random.RandomState) -> list[list[list[Any]]]:
        noise = []
        for cell_of_item in self.taken:
            marks = self._some(random)
            empty = [cell for cell in range(self.grid**2) if cell != cell_of_item]
            cells = [empty[int(place)] for place in random.permutation(len(empty))[: len(marks)]]
            noise.append(sorted([cell, mark] for cell, mark in zip(cells, marks, strict=True)))
        return noise

    def check(self, value: Any) -> None:
        if type(value) is not list or len(value) != len(self.taken):
            raise ValueError(
                f"expected a list of {len(self.taken)}; found"
                f" {f'one of {len(value)}' if type(value) is list else show(value)}"
            )
        for number, (cell_of_item, pairs) in enumerate(zip(self.taken, value, strict=True), start=1):
            if type(pairs) is not list or not all(
                type(pair) is list and len(pair) == 2 and type(pair[0]) is int and type(pair[1]) is str
                for pair in pairs
            ):
                raise ValueError(f"{number}: expected a list of [cell, symbol]; found {show(pairs)}")
            cells = [cell for cell, _ in pairs]
            if not all(0 <= cell < self.grid**2 and cell != cell_of_item for cell in cells) or len(set(cells)) < len(
                cells
            ):
                raise ValueError(
                    f"{number}: expected different empty cells (cell {cell_of_item} is taken); found {show(cells)}"
                )
            self._check_marks([mark for _, mark in pairs], str(number))
