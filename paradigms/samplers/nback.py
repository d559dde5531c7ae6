"""N-back blocks: sequences in which some items match the one n back.

Blocks with a given number of lures are all equally likely. There are far too many blocks to list,
but not to count: how a block may go on depends on the last n+1 items only, and of these only on
which are equal (for grids: which rows are equal, and which columns). Going from the end of the
block to its beginning, the ways to go on are counted for every such pattern and every number of
lures still to come; then the block is drawn item by item, each with the share of the blocks that
begin so. Noise around the items is drawn here, too.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate, product
from math import prod
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
from pydantic import Field, model_validator

from ...core.registry import Ints, Words
from ..language.diagnostics import show
from .base import SAMPLERS, Sampler, misfit

Relation = Literal["identical", "row_or_column", "row_or_column_not_identical"]
#: An item by its coordinates: (place in the alphabet,) or (row, column).
Item = tuple[int, ...]
#: Of the last items, which are equal, for each coordinate: numbered in order of their first
#: appearance, such as (0, 1, 0).
_Pattern = tuple[tuple[int, ...], ...]


def largest_n(relation: Relation) -> int:
    """Up to which n there are few enough patterns to count with."""
    return 5 if relation == "identical" else 3


def related(relation: Relation, one: Item, other: Item) -> bool:
    """Return whether two items match."""
    if relation == "identical":
        return one == other
    return any(a == b for a, b in zip(one, other, strict=True)) and (relation == "row_or_column" or one != other)


def draw_with_lures(
    sizes: tuple[int, ...],
    relation: Relation,
    n: int,
    length: int,
    matching: AbstractSet[int],
    lures: int,
    check_first: bool,
    repeats: bool,
    random: np.random.RandomState,
) -> list[Item] | None:
    """One of all blocks with these match positions and exactly so many lures; None when there is
    none.

    Parameters
    ----------
    sizes : how many values each coordinate of an item has
    matching : positions of matches
    check_first : whether a non-match at position n is kept from matching
    repeats : whether a non-match may repeat the item before it
    """
    tables = _tables(sizes, relation, n)
    # For each position, way to go on and pattern: how many items go that way, and the row of
    # ``ends`` that says in how many ways the block ends after it.
    ways = [_ways(sizes, relation, n, min(p, n + 1), p in matching, check_first, repeats) for p in range(length)]
    ends = [_with_one_less(np.array([[1.0] + [0.0] * lures] * tables[-1].patterns))]
    for items, row in reversed(ways):
        # A sum over the first axis is made term by term, and so the same on every machine, to the
        # last bit.
        ends.append(_with_one_less(np.add.reduce(items[:, :, None] * ends[-1].take(row, 0), 0)))
    ends.reverse()
    if ends[0][0, lures] == 0:
        return None
    block: list[Item] = []
    state, left = 0, lures
    for position in range(length):
        table = tables[min(position, n + 1)]
        items, row = (every[:, state] for every in ways[position])
        # Few numbers: Python's own are quicker, and the same to the last bit.
        reached = list(accumulate((items * ends[position + 1][row, left]).tolist()))
        chosen = bisect_right(reached, random.random_sample() * reached[-1])
        chosen = min(chosen, bisect_left(reached, reached[-1]))  # a product that was rounded up to the whole
        block.append(_with_values(table.values[state][chosen], block[-(n + 1) :], sizes, random))
        left -= int(row[chosen] != table.following[chosen, state])
        state = int(table.following[chosen, state])
    return block


def _with_one_less(counts: np.ndarray) -> np.ndarray:
    """Patterns x lures still to come; below them the same again for when the next item is one of
    these lures."""
    counts = counts / 2.0 ** np.frexp(counts.max())[1]  # exact, and keeps long blocks finite: only ratios count
    both = np.zeros((2 * len(counts), counts.shape[1]))
    both[: len(counts)] = counts
    both[len(counts) :, 1:] = counts[:, :-1]
    return both


@dataclass(frozen=True, slots=True)
class _Continuations:
    """The possible continuations of patterns of the last items: arrays of continuations x patterns
    (columns are padded with unused ones).

    Parameters
    ----------
    patterns : how many different ones there are after the next item
    following : which of them it is
    items : how many different items go this way
    match, lure, repeat : whether these are related to the item n back; to the one n-1 or n+1 back;
        whether they equal the last item
    values : for each coordinate, the number that a value has in the pattern; one more than the
        highest is any new value
    """

    patterns: int
    following: np.ndarray
    items: np.ndarray
    match: np.ndarray
    lure: np.ndarray
    repeat: np.ndarray
    values: tuple[tuple[tuple[int, ...], ...], ...]


@lru_cache(maxsize=64)
def _tables(sizes: tuple[int, ...], relation: Relation, n: int) -> tuple[_Continuations, ...]:
    """The tables for 0, 1, ... n+1 items that have gone before; the last one leads back to its own
    patterns."""
    tables: list[_Continuations] = []
    patterns: list[_Pattern] = [((),) * len(sizes)]
    for known in range(n + 2):
        numbers = {pattern: number for number, pattern in enumerate(patterns)} if known == n + 1 else {}
        rows = [_ways_on(pattern, sizes, relation, n) for pattern in patterns]
        shape = (max(map(len, rows)), len(rows))
        following, many = np.zeros(shape, np.intp), np.zeros(shape)
        match, lure, repeat = (np.zeros(shape, bool) for _ in range(3))
        for state, row in enumerate(rows):
            for way, cell in enumerate(row):
                following[way, state] = numbers.setdefault(cell.after, len(numbers))
                many[way, state], match[way, state], lure[way, state], repeat[way, state] = (
                    cell.items,
                    cell.match,
                    cell.lure,
                    cell.repeat,
                )
        table = _Continuations(
            len(numbers),
            following,
            many,
            match,
            lure,
            repeat,
            tuple(tuple(cell.values for cell in row) for row in rows),
        )
        tables.append(table)
        patterns = list(numbers)
    return tuple(tables)


class _Way(NamedTuple):
    """One way in which a pattern goes on; fields as in :class:`_Continuations`."""

    values: tuple[int, ...]
    items: int
    match: bool
    lure: bool
    repeat: bool
    after: _Pattern


def _ways_on(pattern: _Pattern, sizes: tuple[int, ...], relation: Relation, n: int) -> list[_Way]:
    before: list[Item] = list(zip(*pattern, strict=True))
    choices: list[list[tuple[int, int]]] = []
    for numbers, size in zip(pattern, sizes, strict=True):
        new = max(numbers, default=-1) + 1
        choices.append([(value, 1) for value in range(new)] + ([(new, size - new)] if size > new else []))

    def like(item: Item, lag: int) -> bool:
        return 0 < lag <= len(before) and related(relation, item, before[-lag])

    ways = []
    for chosen in product(*choices):
        item = tuple(value for value, _ in chosen)
        after = tuple(_renumbered((*numbers, value)[-(n + 1) :]) for numbers, value in zip(pattern, item, strict=True))
        lure = like(item, n - 1) or like(item, n + 1)
        ways.append(
            _Way(
                item, prod(many for _, many in chosen), like(item, n), lure, bool(before) and item == before[-1], after
            )
        )
    return ways


def _renumbered(values: Sequence[int]) -> tuple[int, ...]:
    numbers: dict[int, int] = {}
    return tuple(numbers.setdefault(value, len(numbers)) for value in values)


@lru_cache(maxsize=64)
def _ways(
    sizes: tuple[int, ...], relation: Relation, n: int, position: int, match: bool, check_first: bool, repeats: bool
) -> tuple[np.ndarray, np.ndarray]:
    """For each pattern and way to go on from a position (n+1 stands for all from there on): how
    many items may come, and the row to look up; lures look into the lower half."""
    table = _tables(sizes, relation, n)[position]
    if match:
        return table.items * table.match, table.following
    allowed = table.items.copy()
    if position > n or (position == n and check_first):
        allowed *= ~table.match
    if not repeats:
        allowed *= ~table.repeat
    if position < n:
        # Nobody can take these for matches: they are to be no lures either.
        return allowed * ~table.lure, table.following
    return allowed, table.following + table.patterns * table.lure


def _with_values(
    numbers: Sequence[int], before: Sequence[Item], sizes: tuple[int, ...], random: np.random.RandomState
) -> Item:
    """The item that has these numbers in the pattern of the items before; a new value is uniform
    among those that are not there."""
    item: list[int] = []
    for coordinate, (number, size) in enumerate(zip(numbers, sizes, strict=True)):
        values = list(dict.fromkeys(item[coordinate] for item in before))
        if number < len(values):
            item.append(values[number])
        else:
            new = [value for value in range(size) if value not in values]
            item.append(new[int(random.randint(len(new)))])
    return tuple(item)


_Pool = tuple[Item, ...]

#: Sets of match positions that are tried before a number of lures counts as impossible.
_TRIES = 200


@SAMPLERS.register
class NBackBlock(Sampler):
    """A block in which a given number of items match the one n back. Each item has ``symbol``,
    ``label``, ``lag`` and ``prefilled``.

    An item matches another when it stands in ``relation`` to it: the same symbol or, on a grid, a
    cell in the same row or column. A *lure* is an item that does not match the one n back but would
    match the one n-1 or n+1 back; its ``lag`` says which (n-1 when both), and is null for all
    others. ``prefilled`` is false here; imported blocks have it true where the published protocol
    gave the answer itself.

    Match positions are uniform without replacement from n ... length-1. Given these:

    * Without ``lures`` the block is filled from left to right, each item uniform among those that
      its label allows; lures fall as they may. With ``check_first`` and ``repeats`` all blocks that
      have these match positions and right labels are equally likely.
    * With a number of ``lures`` all blocks that have these match positions, right labels and
      exactly so many lures are equally likely (they are counted, see :func:`draw_with_lures`). All
      lures lie at n or later, where they can be taken for matches; where there, and whether n-1 or
      n+1, is as it falls. Match positions that leave no room for so many lures are drawn again. In
      the paradigms of the library there are none such (the tests prove it), so that positions stay
      uniform.

    ``check_first: false`` and ``repeats: false`` are faults of the published generator, kept for
    replication: the first item that has one n back is not compared with it, so that it may match
    although its label says that it does not; and a non-match never repeats the item just before (in
    the tasks about rows and columns), so that a repetition gives a match away.
    """

    name: ClassVar[str] = "nback_block"
    symbols: Words | None = Field(None, description="symbols that the items are drawn from; alternatively, give a grid")
    grid: Annotated[int, Field(ge=2, le=10)] | None = Field(
        None, description="rows and columns of a grid, whose cells are the symbols, from 0, row by row"
    )
    unused: Ints = Field((), description="cells of the grid that are never used")
    relation: Relation = Field("identical", description="what makes two items match")
    n: Annotated[int, Field(ge=1, le=10)] = Field(description="distance to the matching item")
    length: Annotated[int, Field(ge=2, le=1000)] = Field(24, description="number of items in the block")
    matches: Annotated[int, Field(ge=0)] = Field(8, description="number of items that match")
    lures: Annotated[int, Field(ge=0)] | None = Field(
        None, description="number of lures among the other items; by chance if not given"
    )
    check_first: bool = Field(
        True,
        description=(
            "whether the first item that has another item n back is also compared, so that no match lacks a label"
        ),
    )
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
            raise ValueError(
                f"unused cells are cells of the grid, from 0 to {self.grid**2 - 1}; found {show(list(self.unused))}"
            )
        if len(self._alphabet) < 2:
            raise ValueError("at least two different symbols are needed")
        if self.symbols is not None and len(self.symbols) > len(self._alphabet):
            raise ValueError("a symbol occurs twice")
        if self.n >= self.length:
            raise ValueError(f"no item has one {self.n} back among {self.length}")
        if self.matches > self.length - self.n:
            raise ValueError(
                f"cannot place {self.matches} matches among the {self.length - self.n} items that have one {self.n}"
                " back"
            )
        if self.lures is not None and self.lures > self.length - self.n - self.matches:
            raise ValueError(
                f"cannot place {self.lures} lures among the {self.length - self.n - self.matches} items from {self.n}"
                " back on that do not match"
            )
        if self.lures is not None and self.n > largest_n(self.relation):
            raise ValueError(
                f"the number of lures can be set for n up to {largest_n(self.relation)}; found n = {self.n}"
            )
        return self

    @cached_property
    def _alphabet(self) -> list[str | int]:
        if self.grid is None:
            return list(dict.fromkeys(self.symbols or ()))
        return [cell for cell in range(self.grid**2) if cell not in self.unused]

    @cached_property
    def _sizes(self) -> tuple[int, ...]:
        """Return the number of values of each coordinate of an item: of rows and columns, or only
        of the position in the alphabet."""
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
            items = (
                self._filled(matching, random) if self.lures is None else self._counted(matching, self.lures, random)
            )
            if items is not None:
                return self.described(
                    [self._symbols[item] for item in items],
                    [self.match if n in matching else self.other for n in range(self.length)],
                )
        what = "" if self.lures is None else f" and {self.lures} lures"
        raise ValueError(
            f"there is no block of {self.length} items with {self.matches} matches{what}, or hardly any; ask for fewer,"
            " or for more symbols"
        )

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
        return draw_with_lures(
            self._sizes, self.relation, self.n, self.length, matching, lures, self.check_first, self.repeats, random
        )

    def described(
        self, symbols: Sequence[Any], labels: Sequence[str], prefilled: Sequence[bool] = ()
    ) -> list[dict[str, Any]]:
        """Items as they are drawn, from the symbols and labels of a block (also of one that comes
        from elsewhere).

        Raises
        ------
        ValueError
            for a symbol that is none of this task.
        """
        for number, symbol in enumerate(symbols, start=1):
            if isinstance(symbol, (bool, float, list, dict)) or symbol not in self._items:
                raise ValueError(f"item {number}: {show(symbol)} is not among the symbols of this task")
        items = [self._items[symbol] for symbol in symbols]
        answered_before = prefilled or [False] * len(symbols)
        return [
            {
                "symbol": symbol,
                "label": label,
                "lag": None if label == self.match else self._lag(items, position),
                "prefilled": answered,
            }
            for position, (symbol, label, answered) in enumerate(zip(symbols, labels, answered_before, strict=True))
        ]

    def _lag(self, items: Sequence[Item], position: int) -> int | None:
        return next(
            (
                lag
                for lag in (self.n - 1, self.n + 1)
                if 0 < lag <= position and related(self.relation, items[position], items[position - lag])
            ),
            None,
        )

    def unlabelled(self, block: Sequence[dict[str, Any]]) -> list[int]:
        """Positions (from 0) of items that match the one n back although their label says that they
        do not."""
        items = [self._items[entry["symbol"]] for entry in block]
        return [
            p
            for p in range(self.n, len(items))
            if block[p]["label"] != self.match and related(self.relation, items[p], items[p - self.n])
        ]

    def check(self, value: Any) -> None:
        """Return whether the labels, the number of matches and lures, and the lags are right.
        Unlabelled matches are let through: published blocks have some."""
        item = {"symbol": self._alphabet[0], "label": self.other, "lag": None, "prefilled": False}
        problem = misfit(value, [item] * self.length)
        if problem is not None:
            raise ValueError(problem)
        again = self.described(
            [entry["symbol"] for entry in value],
            [entry["label"] for entry in value],
            [entry["prefilled"] for entry in value],
        )
        items = [self._items[entry["symbol"]] for entry in value]
        for position, (entry, expected) in enumerate(zip(value, again, strict=True)):
            if entry["label"] not in (self.match, self.other):
                raise ValueError(
                    f"item {position + 1}: the label is {show(self.match)} or {show(self.other)}; found"
                    f" {show(entry['label'])}"
                )
            if entry["label"] == self.match and (
                position < self.n or not related(self.relation, items[position], items[position - self.n])
            ):
                raise ValueError(
                    f"item {position + 1} is labelled {show(self.match)}, and does not match the one {self.n} back"
                )
            if entry["lag"] != expected["lag"]:
                raise ValueError(
                    f"item {position + 1}: expected lag {show(expected['lag'])}; found {show(entry['lag'])}"
                )
        for what, declared, count in (
            ("matches", self.matches, sum(entry["label"] == self.match for entry in value)),
            ("lures", self.lures, sum(entry["lag"] is not None for entry in value)),
        ):
            if declared is not None and count != declared:
                raise ValueError(f"expected {declared} {what}; found {count}")


@lru_cache(maxsize=64)
def _pools(sizes: tuple[int, ...], relation: Relation) -> dict[Item, tuple[_Pool, _Pool]]:
    """For each item those that do not match it, and those that do."""
    every = list(product(*map(range, sizes)))
    return {
        item: (
            tuple(x for x in every if not related(relation, x, item)),
            tuple(x for x in every if related(relation, x, item)),
        )
        for item in every
    }


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
