"""Words to remember, from a list that ships: 200 common English nouns for things that one can see
or touch.

The list was made for SpanLab. Its words have three to seven letters, none is a plural, none is a
part of another, and any two differ by at least two letters put in, left out or changed; so that one
word is not taken for another.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from ...core.registry import nearest
from ..language.diagnostics import show
from .base import SAMPLERS, Sampler

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
