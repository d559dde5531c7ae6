"""N-back blocks."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field, model_validator

from ...components import Words
from .base import SAMPLERS, Sampler


@SAMPLERS.register
class NBackBlock(Sampler):
    """A sequence with a given number of matches: each item has ``symbol`` and ``label``.

    Match positions are uniform without replacement from n ... length-1; every other item differs from the one n back (no unlabelled match).
    """

    name: ClassVar[str] = "nback_block"
    symbols: Words = Field(description="what the items are drawn from")
    n: Annotated[int, Field(ge=1, le=10)] = Field(description="how far back the matching item lies")
    length: Annotated[int, Field(ge=2, le=1000)] = Field(24, description="items in the block")
    matches: Annotated[int, Field(ge=0)] = Field(8, description="items that match")
    match: str = Field("m", description="label of a match")
    other: str = Field("-", description="label of the others")

    @model_validator(mode="after")
    def _possible(self) -> NBackBlock:
        if self.n >= self.length:
            raise ValueError(f"no item has one {self.n} back among {self.length}")
        if self.matches > self.length - self.n:
            raise ValueError(f"cannot place {self.matches} matches among the {self.length - self.n} items that have one {self.n} back")
        if len(set(self.symbols)) < 2:
            raise ValueError("at least two different symbols are needed")
        return self

    def draw(self, random: np.random.RandomState) -> list[dict[str, Any]]:
        matching = set(random.permutation(self.length - self.n)[: self.matches] + self.n)
        items: list[str] = []
        for position in range(self.length):
            if position in matching:
                items.append(items[position - self.n])
                continue
            pool = [symbol for symbol in self.symbols if position < self.n or symbol != items[position - self.n]]
            items.append(pool[int(random.randint(len(pool)))])
        return [{"symbol": symbol, "label": self.match if n in matching else self.other} for n, symbol in enumerate(items)]
