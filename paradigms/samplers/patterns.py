"""Matrix patterns: filled cells of a square grid."""

from __future__ import annotations

from math import comb
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field, model_validator

from ..problems import show
from .base import SAMPLERS, Sampler, ints


@SAMPLERS.register
class MatrixPatterns(Sampler):
    """Patterns of filled cells, all different from one another.

    Each is drawn uniformly without replacement (WorM: 18 of 36 cells); the whole set is drawn again until all differ as sets, as in the benchmark.
    """

    name: ClassVar[str] = "matrix_patterns"
    count: Annotated[int, Field(ge=1, le=100)] = Field(description="how many patterns")
    grid: Annotated[int, Field(ge=2, le=12)] = Field(description="rows and columns of the grid")
    filled: Annotated[int, Field(ge=1)] = Field(description="filled cells in each pattern")

    @model_validator(mode="after")
    def _possible(self) -> MatrixPatterns:
        cells = self.grid**2
        if self.filled > cells:
            raise ValueError(f"cannot fill {self.filled} of {cells} cells")
        # Redrawing whole sets ends quickly only while collisions are rare.
        if self.count**2 > comb(cells, self.filled):
            raise ValueError(f"too many different patterns: {self.count} out of only {comb(cells, self.filled)} possible ones")
        return self

    def draw(self, random: np.random.RandomState) -> list[list[int]]:
        while True:
            patterns = [sorted(ints(random.permutation(self.grid**2)[: self.filled])) for _ in range(self.count)]
            if len({tuple(pattern) for pattern in patterns}) == self.count:
                return patterns

    def check(self, value: Any) -> None:
        super().check(value)
        for n, pattern in enumerate(value, start=1):
            if len(set(pattern)) < self.filled or not all(type(cell) is int and 0 <= cell < self.grid**2 for cell in pattern):
                raise ValueError(f"pattern {n}: expected {self.filled} different cells from 0 to {self.grid**2 - 1}; found {show(pattern)}")
        if len({frozenset(pattern) for pattern in value}) < self.count:
            raise ValueError("two patterns are the same")
