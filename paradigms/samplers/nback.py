"""N-back blocks: sequences in which some items match the one n back."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from itertools import product
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field, model_validator

from ...core.registry import Ints, Words
from ..language.diagnostics import show
from .base import SAMPLERS, Sampler, misfit
from .nback_lures import Item, Relation, draw_with_lures, largest_n, related

_Pool = tuple[Item, ...]

#: Sets of match positions that are tried before a number of lures counts as impossible.
_TRIES = 200


@SAMPLERS.register
class NBackBlock(Sampler):
    """A block in which a given number of items match the one n back. Each item has ``symbol``, ``label``, ``lag`` and ``prefilled``.

    An item matches another when it stands in ``relation`` to it: the same symbol or, on a grid, a cell in the same row or column. A *lure* is an item that
    does not match the one n back but would match the one n-1 or n+1 back; its ``lag`` says which (n-1 when both), and is null for all others. ``prefilled``
    is false here; imported blocks have it true where the published protocol gave the answer itself.

    Match positions are uniform without replacement from n ... length-1. Given these:

    * Without ``lures`` the block is filled from left to right, each item uniform among those that its label allows; lures fall as they may. With
      ``check_first`` and ``repeats`` all blocks that have these match positions and right labels are equally likely.
    * With a number of ``lures`` all blocks that have these match positions, right labels and exactly so many lures are equally likely (they are counted, see
      :mod:`.nback_lures`). All lures lie at n or later, where they can be taken for matches; where there, and whether n-1 or n+1, is as it falls. Match
      positions that leave no room for so many lures are drawn again. In the paradigms of the library there are none such (the tests prove it), so that
      positions stay uniform.

    ``check_first: false`` and ``repeats: false`` are faults of the published generator, kept for replication: the first item that has one n back is not
    compared with it, so that it may match although its label says that it does not; and a non-match never repeats the item just before (in the tasks about
    rows and columns), so that a repetition gives a match away.
    """

    name: ClassVar[str] = "nback_block"
    symbols: Words | None = Field(None, description="what the items are drawn from; or give a grid")
    grid: Annotated[int, Field(ge=2, le=10)] | None = Field(None, description="rows and columns of a grid: the symbols are its cells, from 0, row by row")
    unused: Ints = Field((), description="cells of the grid that never come")
    relation: Relation = Field("identical", description="what makes two items match")
    n: Annotated[int, Field(ge=1, le=10)] = Field(description="how far back the matching item lies")
    length: Annotated[int, Field(ge=2, le=1000)] = Field(24, description="items in the block")
    matches: Annotated[int, Field(ge=0)] = Field(8, description="items that match")
    lures: Annotated[int, Field(ge=0)] | None = Field(None, description="how many of the others are lures; as they fall when not given")
    check_first: bool = Field(True, description="whether also the first item that has one n back is kept from matching without a label")
    repeats: bool = Field(True, description="whether an item that does not match may repeat the one just before")
    match: str = Field("m", description="label of a match")
    other: str = Field("-", description="label of the others")

    @model_validator(mode="after")
    def _possible(self) -> NBackBlock:
        if (self.symbols is None) == (self.grid is None):
            raise ValueError("give either symbols or a grid")
        if self.grid is None and (self.relation != "identical" or self.unused):
            raise ValueError("rows, columns and unused cells need a grid")
        if self.unused and self.relation != "identical":
            raise ValueError("with rows and columns all cells of the grid are used")
        if self.grid is not None and any(not 0 <= cell < self.grid**2 for cell in self.unused):
            raise ValueError(f"unused cells are cells of the grid, from 0 to {self.grid**2 - 1}; found {show(list(self.unused))}")
        if len(self._alphabet) < 2:
            raise ValueError("at least two different symbols are needed")
        if self.symbols is not None and len(self.symbols) > len(self._alphabet):
            raise ValueError("a symbol stands twice")
        if self.n >= self.length:
            raise ValueError(f"no item has one {self.n} back among {self.length}")
        if self.matches > self.length - self.n:
            raise ValueError(f"cannot place {self.matches} matches among the {self.length - self.n} items that have one {self.n} back")
        if self.lures is not None and self.lures > self.length - self.n - self.matches:
            raise ValueError(f"cannot place {self.lures} lures among the {self.length - self.n - self.matches} items from {self.n} back on that do not match")
        if self.lures is not None and self.n > largest_n(self.relation):
            raise ValueError(f"the number of lures can be set for n up to {largest_n(self.relation)}; found n = {self.n}")
        return self

    @cached_property
    def _alphabet(self) -> list[str | int]:
        if self.grid is None:
            return list(dict.fromkeys(self.symbols or ()))
        return [cell for cell in range(self.grid**2) if cell not in self.unused]

    @cached_property
    def _sizes(self) -> tuple[int, ...]:
        """How many values each coordinate of an item has: of rows and columns, or only of the place in the alphabet."""
        return (len(self._alphabet),) if self.relation == "identical" or self.grid is None else (self.grid, self.grid)

    @cached_property
    def _items(self) -> dict[str | int, Item]:
        return dict(zip(self._alphabet, product(*map(range, self._sizes)), strict=True))

    @cached_property
    def _symbols(self) -> dict[Item, str | int]:
        return {item: symbol for symbol, item in self._items.items()}

    def draw(self, random: np.random.RandomState) -> list[dict[str, Any]]:
        for _ in range(_TRIES):
            matching = {int(place) + self.n for place in random.permutation(self.length - self.n)[: self.matches]}
            items = self._filled(matching, random) if self.lures is None else self._counted(matching, self.lures, random)
            if items is not None:
                return self.described([self._symbols[item] for item in items], [self.match if n in matching else self.other for n in range(self.length)])
        what = "" if self.lures is None else f" and {self.lures} lures"
        raise ValueError(f"there is no block of {self.length} items with {self.matches} matches{what}, or hardly any; ask for fewer, or for more symbols")

    def _filled(self, matching: set[int], random: np.random.RandomState) -> list[Item] | None:
        """Item after item; None when there is none to go on with."""
        every, pools = tuple(self._symbols), _pools(self._sizes, self.relation)
        items: list[Item] = []
        for position in range(self.length):
            match = position in matching
            unchecked = position < self.n or (position == self.n and not match and not self.check_first)
            pool = every if unchecked else pools[items[-self.n]][match]
            if items and not match and not self.repeats:
                pool = tuple(item for item in pool if item != items[-1])
            if not pool:
                return None
            items.append(pool[int(random.randint(len(pool)))])
        return items

    def _counted(self, matching: set[int], lures: int, random: np.random.RandomState) -> list[Item] | None:
        return draw_with_lures(self._sizes, self.relation, self.n, self.length, matching, lures, self.check_first, self.repeats, random)

    def described(self, symbols: Sequence[Any], labels: Sequence[str], prefilled: Sequence[bool] = ()) -> list[dict[str, Any]]:
        """Items as they are drawn, from the symbols and labels of a block (also of one that comes from elsewhere).

        Raises
        ------
        ValueError
            for a symbol that is none of this task.
        """
        for number, symbol in enumerate(symbols, start=1):
            if isinstance(symbol, (bool, float, list, dict)) or symbol not in self._items:
                raise ValueError(f"item {number}: {show(symbol)} is not among the symbols of this task")
        items = [self._items[symbol] for symbol in symbols]
        given = prefilled or [False] * len(symbols)
        return [
            {"symbol": symbol, "label": label, "lag": None if label == self.match else self._lag(items, position), "prefilled": answered}
            for position, (symbol, label, answered) in enumerate(zip(symbols, labels, given, strict=True))
        ]

    def _lag(self, items: Sequence[Item], position: int) -> int | None:
        return next((lag for lag in (self.n - 1, self.n + 1) if 0 < lag <= position and related(self.relation, items[position], items[position - lag])), None)

    def unlabelled(self, block: Sequence[dict[str, Any]]) -> list[int]:
        """Positions (from 0) of items that match the one n back although their label says that they do not."""
        items = [self._items[entry["symbol"]] for entry in block]
        return [p for p in range(self.n, len(items)) if block[p]["label"] != self.match and related(self.relation, items[p], items[p - self.n])]

    def check(self, value: Any) -> None:
        """Whether the labels, the number of matches and lures, and the lags are right. Unlabelled matches are let through: published blocks have some."""
        item = {"symbol": self._alphabet[0], "label": self.other, "lag": None, "prefilled": False}
        found = misfit(value, [item] * self.length)
        if found is not None:
            raise ValueError(found)
        again = self.described([entry["symbol"] for entry in value], [entry["label"] for entry in value], [entry["prefilled"] for entry in value])
        items = [self._items[entry["symbol"]] for entry in value]
        for position, (entry, expected) in enumerate(zip(value, again, strict=True)):
            if entry["label"] not in (self.match, self.other):
                raise ValueError(f"item {position + 1}: the label is {show(self.match)} or {show(self.other)}; found {show(entry['label'])}")
            if entry["label"] == self.match and (position < self.n or not related(self.relation, items[position], items[position - self.n])):
                raise ValueError(f"item {position + 1} is labelled {show(self.match)}, and does not match the one {self.n} back")
            if entry["lag"] != expected["lag"]:
                raise ValueError(f"item {position + 1}: expected lag {show(expected['lag'])}; found {show(entry['lag'])}")
        for what, wanted, there in (
            ("matches", self.matches, sum(entry["label"] == self.match for entry in value)),
            ("lures", self.lures, sum(entry["lag"] is not None for entry in value)),
        ):
            if wanted is not None and there != wanted:
                raise ValueError(f"expected {wanted} {what}; found {there}")


@lru_cache(maxsize=64)
def _pools(sizes: tuple[int, ...], relation: Relation) -> dict[Item, tuple[_Pool, _Pool]]:
    """For each item those that do not match it, and those that do."""
    every = list(product(*map(range, sizes)))
    return {item: (tuple(x for x in every if not related(relation, x, item)), tuple(x for x in every if related(relation, x, item))) for item in every}
