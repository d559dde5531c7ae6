"""General samplers: permutations, choices with and without replacement, placement, numbers from
distributions, patterns (filled cells of a square grid), and words to remember.

The list of 200 nouns was made for SpanLab. Its words have three to seven letters, none is a plural,
none is a part of another, and any two differ by at least two letters put in, left out or changed; so
that one word is not taken for another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from math import comb
from pathlib import Path
from typing import Annotated, Any, ClassVar, cast

import numpy as np
from pydantic import Field, model_validator

from ...core.registry import Real, nearest
from ..identity import canonical
from ..language.diagnostics import listed, show
from .base import SAMPLERS, Sampler

#: Something to draw from: a number n stands for 0 ... n-1.
Pool = Annotated[int, Field(ge=1, le=100_000)] | list[Any]


def members(of: int | list[Any]) -> Sequence[Any]:
    """The members of a pool."""
    return range(of) if isinstance(of, int) else of


def check_members(value: Any, length: int, pool: Sequence[Any]) -> None:
    """Return whether a value is a list of so many members of a pool."""
    if type(value) is not list or len(value) != length:
        raise ValueError(
            f"expected a list of {length}; found {f'one of {len(value)}' if type(value) is list else show(value)}"
        )
    if isinstance(pool, range):  # there may be a hundred thousand
        strange = [element for element in value if type(element) is not int or element not in pool]
    else:
        elements = set(map(canonical, pool))
        strange = [element for element in value if canonical(element) not in elements]
    if strange:
        raise ValueError(f"{show(strange[0])} is not among those it is drawn from ({listed(pool)})")


@SAMPLERS.register
class Permutation(Sampler):
    """Different members of a pool, in random order: ``take`` of ``of``."""

    name: ClassVar[str] = "permutation"
    of: Pool = Field(description="number of values (drawn as 0, 1, ...), or the list to draw from")
    take: Annotated[int, Field(ge=0)] | None = Field(None, description="number to draw; all if not given")

    @model_validator(mode="after")
    def _possible(self) -> Permutation:
        if self.take is not None and self.take > len(members(self.of)):
            raise ValueError(f"cannot take {self.take} different ones of {len(members(self.of))}")
        return self

    def draw(self, random: np.random.RandomState) -> list[Any]:
        pool = members(self.of)
        return [pool[n] for n in random.permutation(len(pool))[: self.take]]

    def check(self, value: Any) -> None:
        pool = members(self.of)
        check_members(value, len(pool) if self.take is None else self.take, pool)
        left = Counter(map(canonical, pool))
        left.subtract(map(canonical, value))
        if min(left.values(), default=0) < 0:
            raise ValueError(f"{next(element for element, many in left.items() if many < 0)} occurs too often")


@SAMPLERS.register
class OneOf(Sampler):
    """One member of a pool, each equally likely."""

    name: ClassVar[str] = "one_of"
    shorthand: ClassVar[str] = "of"
    of: Pool = Field(description="number of values (drawn as 0, 1, ...), or the list to draw from")

    @model_validator(mode="after")
    def _possible(self) -> OneOf:
        if not members(self.of):
            raise ValueError("cannot draw from an empty list")
        return self

    def draw(self, random: np.random.RandomState) -> Any:
        pool = members(self.of)
        return pool[int(random.randint(len(pool)))]

    def check(self, value: Any) -> None:
        check_members([value], 1, members(self.of))


@SAMPLERS.register
class Several(Sampler):
    """Members of a pool drawn independently, with replacement."""

    name: ClassVar[str] = "several"
    of: Pool = Field(description="number of values (drawn as 0, 1, ...), or the list to draw from")
    count: Annotated[int, Field(ge=0, le=10_000)] = Field(description="number to draw")

    @model_validator(mode="after")
    def _possible(self) -> Several:
        if self.count and not members(self.of):
            raise ValueError("cannot draw from an empty list")
        return self

    def draw(self, random: np.random.RandomState) -> list[Any]:
        pool = members(self.of)
        return [pool[n] for n in random.randint(len(pool), size=self.count).tolist()] if self.count else []

    def check(self, value: Any) -> None:
        check_members(value, self.count, members(self.of))


@SAMPLERS.register
class Place(Sampler):
    """Items put at places: a list of ``of`` places, null where empty. Nothing is random."""

    name: ClassVar[str] = "place"
    arranges: ClassVar[bool] = True
    items: list[Any] = Field(description="the items")
    at: list[Annotated[int, Field(ge=0)]] = Field(description="the place of each item, from 0")
    of: Annotated[int, Field(ge=1, le=1000)] = Field(description="number of places")

    @model_validator(mode="after")
    def _possible(self) -> Place:
        if len(self.items) != len(self.at):
            raise ValueError(f"{len(self.items)} items for {len(self.at)} places")
        if len(set(self.at)) != len(self.at):
            raise ValueError("two items at the same place")
        if any(place >= self.of for place in self.at):
            raise ValueError(f"place {max(self.at)} of {self.of} (places count from 0)")
        return self

    def draw(self, random: np.random.RandomState) -> list[Any]:
        places: list[Any] = [None] * self.of
        for item, place in zip(self.items, self.at, strict=True):
            places[place] = item
        return places


Number = Annotated[Real, Field(allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0, le=10_000)]


#: so often a number is drawn anew that falls outside its limits
_MOST_TRIES = 1000
_COUNT = "how many to draw, independently, as a list; one number when not given"
_DECIMALS = "decimals that are kept; 0 for whole numbers"


class _Numbers(Sampler):
    """One number, or a list of them."""

    count: Count | None = Field(None, description=_COUNT)
    decimals: Annotated[int, Field(ge=0, le=9)] = Field(3, description=_DECIMALS)

    def _one(self, random: np.random.RandomState) -> float:
        raise NotImplementedError

    def _fits(self, value: float) -> bool:
        raise NotImplementedError

    def draw(self, random: np.random.RandomState) -> Any:
        values = [self._rounded(self._one(random)) for _ in range(1 if self.count is None else self.count)]
        return values[0] if self.count is None else values

    def _rounded(self, value: float) -> float | int:
        return round(value, self.decimals) if self.decimals else round(value)

    def check(self, value: Any) -> None:
        super().check(value)
        for number in [value] if self.count is None else value:
            if not self._fits(number):
                raise ValueError(f"{number} lies outside what is drawn")


@SAMPLERS.register
class Uniform(_Numbers):
    """Numbers between two limits, each equally likely: such as a duration that is also to be
    recorded."""

    name: ClassVar[str] = "uniform"
    shorthand: ClassVar[str] = "between"
    between: Annotated[list[Number], Field(min_length=2, max_length=2)] = Field(description="lowest and highest")

    @model_validator(mode="after")
    def _ordered(self) -> Uniform:
        if self.between[0] > self.between[1]:
            raise ValueError(f"the lowest ({self.between[0]:g}) is above the highest ({self.between[1]:g})")
        return self

    def _one(self, random: np.random.RandomState) -> float:
        low, high = self.between
        if not self.decimals:  # rounding would give each limit half as often
            low, high = low - 0.5, high + 0.5
        return low + (high - low) * float(random.random_sample())

    def _fits(self, value: float) -> bool:
        return self._rounded(self.between[0]) <= value <= self._rounded(self.between[1])


@SAMPLERS.register
class Normal(_Numbers):
    """Numbers from a normal distribution; those outside the limits, where there are some, are drawn
    anew."""

    name: ClassVar[str] = "normal"
    mean: Number = Field(description="mean of the distribution, before limits")
    sd: Annotated[Number, Field(ge=0)] = Field(description="its standard deviation, before limits")
    least: Number | None = Field(None, description="nothing below this is drawn")
    most: Number | None = Field(None, description="nothing above this is drawn")

    @model_validator(mode="after")
    def _ordered(self) -> Normal:
        if self.least is not None and self.most is not None and self.least >= self.most:
            raise ValueError(f"least ({self.least:g}) must be below most ({self.most:g})")
        return self

    def _one(self, random: np.random.RandomState) -> float:
        for _ in range(_MOST_TRIES):
            value = float(random.normal(self.mean, self.sd))
            if self._fits(self._rounded(value)):
                return value
        raise ValueError(f"none of {_MOST_TRIES} numbers lay within the limits: they are too far from the mean")

    def _fits(self, value: float) -> bool:
        return (self.least is None or value >= self.least) and (self.most is None or value <= self.most)


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


Word = Annotated[str, Field(min_length=1, max_length=40)]


@lru_cache(maxsize=1)
def nouns() -> tuple[str, ...]:
    """The words of the list, in alphabetical order."""
    return tuple((Path(__file__).parent / "nouns.txt").read_text(encoding="ascii").split())


@SAMPLERS.register
class Nouns(Sampler):
    """Different words in random order, from a list of 200 common English nouns for things that one
    can see or touch."""

    name: ClassVar[str] = "nouns"
    shorthand: ClassVar[str] = "take"
    take: Annotated[int, Field(ge=1, le=200)] = Field(description="number to draw")

    @classmethod
    def vocabulary(cls) -> tuple[str, ...]:
        return nouns()

    def draw(self, random: np.random.RandomState) -> list[str]:
        return [nouns()[n] for n in random.permutation(len(nouns()))[: self.take]]

    def check(self, value: Any) -> None:
        super().check(value)
        _numbers(value)
        again = next((word for n, word in enumerate(value) if word in value[:n]), None)
        if again is not None:
            raise ValueError(f"{show(again)} occurs twice")


@SAMPLERS.register
class NounNumbers(Sampler):
    """The numbers of words in that list, from 0 in alphabetical order: their classes in the head of
    a network. Nothing is random."""

    name: ClassVar[str] = "noun_numbers"
    shorthand: ClassVar[str] = "of"
    arranges: ClassVar[bool] = True
    of: list[Word] = Field(description="the words")

    def draw(self, random: np.random.RandomState) -> list[int]:
        return _numbers(self.of)


def _numbers(words: list[str]) -> list[int]:
    known_nouns = nouns()
    strange = next((word for word in words if word not in known_nouns), None)
    if strange is not None:
        raise ValueError(f"{show(strange)} is none of the {len(known_nouns)} nouns{nearest(strange, known_nouns)}")
    return [known_nouns.index(word) for word in words]
