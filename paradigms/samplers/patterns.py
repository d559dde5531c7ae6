"""Matrix patterns: filled cells of a square grid, and distractors that are much like them."""

from __future__ import annotations

from math import comb
from typing import Annotated, Any, ClassVar, cast

import numpy as np
from pydantic import Field, model_validator

from ..language.diagnostics import show
from .base import SAMPLERS, Sampler

Pattern = list[Annotated[int, Field(ge=0)]]


@SAMPLERS.register
class MatrixPatterns(Sampler):
    """Patterns of filled cells, all different from one another.

    Each is drawn uniformly without replacement (WorM: 18 of 36 cells); the whole set is drawn again
    until all differ as sets, as in the benchmark.
    """

    name: ClassVar[str] = "matrix_patterns"
    count: Annotated[int, Field(ge=1, le=100)] = Field(description="number of patterns")
    grid: Annotated[int, Field(ge=2, le=12)] = Field(description="rows and columns of the grid")
    filled: Annotated[int, Field(ge=1)] = Field(description="number of filled cells in each pattern")

    @model_validator(mode="after")
    def _possible(self) -> MatrixPatterns:
        cells = self.grid**2
        if self.filled > cells:
            raise ValueError(f"cannot fill {self.filled} of {cells} cells")
        # Redrawing whole sets ends quickly only while collisions are rare.
        if self.count**2 > comb(cells, self.filled):
            raise ValueError(
                f"too many different patterns: {self.count} out of only {comb(cells, self.filled)} possible ones"
            )
        return self

    def draw(self, random: np.random.RandomState) -> list[list[int]]:
        while True:
            patterns = [sorted(random.permutation(self.grid**2)[: self.filled].tolist()) for _ in range(self.count)]
            if len({tuple(pattern) for pattern in patterns}) == self.count:
                return patterns

    def check(self, value: Any) -> None:
        super().check(value)
        for n, pattern in enumerate(value, start=1):
            if len(set(pattern)) < self.filled or not all(
                type(cell) is int and 0 <= cell < self.grid**2 for cell in pattern
            ):
                raise ValueError(
                    f"pattern {n}: expected {self.filled} different cells from 0 to {self.grid**2 - 1}; found"
                    f" {show(pattern)}"
                )
        if len({frozenset(pattern) for pattern in value}) < self.count:
            raise ValueError("two patterns are the same")


@SAMPLERS.register
class PatternDistractors(Sampler):
    """A pattern much like the given one, or one for each of the given ones.

    In each, half of ``difference`` filled cells, drawn uniformly, are white instead, and as many
    white ones are filled.
    """

    name: ClassVar[str] = "pattern_distractors"
    of: Pattern | list[Pattern] = Field(
        description="a pattern (gives one distractor), or a list of patterns (gives a list with one for each)"
    )
    difference: Annotated[int, Field(ge=2, multiple_of=2)] = Field(
        description="number of cells in which a distractor differs from its pattern, an even number"
    )
    grid: Annotated[int, Field(ge=2, le=12)] = Field(description="rows and columns of the grid")
    unlike: list[Pattern] = Field([], description="patterns that no distractor may be equal to")
    distinct: bool = Field(False, description="whether the distractors must differ from one another")

    @property
    def _single(self) -> bool:
        return not self.of or not isinstance(self.of[0], list)

    @property
    def _patterns(self) -> list[Pattern]:
        return cast("list[Pattern]", [self.of] if self._single else self.of)

    @model_validator(mode="after")
    def _possible(self) -> PatternDistractors:
        cells, half = self.grid**2, self.difference // 2
        excluded = len(self.unlike) + (len(self._patterns) - 1 if self.distinct else 0)
        for pattern in self._patterns:
            if max(pattern, default=0) >= cells or len(set(pattern)) < len(pattern):
                raise ValueError(f"expected different cells from 0 to {cells - 1}; found {show(pattern)}")
            if half > min(len(pattern), cells - len(pattern)):
                raise ValueError(
                    f"no pattern differs in {self.difference} cells from one with {len(pattern)} of {cells} cells"
                    " filled"
                )
            possible = comb(len(pattern), half) * comb(cells - len(pattern), half)
            if possible <= excluded:
                raise ValueError(f"too few possible distractors: {possible}, of which up to {excluded} are excluded")
        return self

    def draw(self, random: np.random.RandomState) -> Any:
        excluded_patterns = {tuple(sorted(pattern)) for pattern in self.unlike}
        distractors: list[list[int]] = []
        for pattern in self._patterns:
            distractor = self._changed(pattern, random)
            while tuple(distractor) in excluded_patterns:
                distractor = self._changed(pattern, random)
            if self.distinct:
                excluded_patterns.add(tuple(distractor))
            distractors.append(distractor)
        return distractors[0] if self._single else distractors

    def _changed(self, pattern: Pattern, random: np.random.RandomState) -> list[int]:
        half, filled = self.difference // 2, sorted(pattern)
        white = [cell for cell in range(self.grid**2) if cell not in pattern]
        return sorted(
            [filled[n] for n in random.permutation(len(filled))[half:]]
            + [white[n] for n in random.permutation(len(white))[:half]]
        )

    def check(self, value: Any) -> None:
        super().check(value)
        distractors = [value] if self._single else value
        for n, (pattern, distractor) in enumerate(zip(self._patterns, distractors, strict=True), start=1):
            good = all(type(cell) is int and 0 <= cell < self.grid**2 for cell in distractor) and len(
                set(distractor)
            ) == len(distractor)
            if not good or len(set(pattern) ^ set(distractor)) != self.difference:
                raise ValueError(
                    f"distractor {n}: expected a pattern that differs from {show(pattern)} in {self.difference} cells;"
                    f" found {show(distractor)}"
                )
        sets = [frozenset(distractor) for distractor in distractors]
        if {frozenset(pattern) for pattern in self.unlike} & set(sets):
            raise ValueError("a distractor is equal to a pattern that it must not be equal to")
        if self.distinct and len(set(sets)) < len(sets):
            raise ValueError("two distractors are the same")
