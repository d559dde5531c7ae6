"""N-back blocks with a given number of lures, all equally likely.

There are far too many blocks to list, but not to count: how a block may go on depends on the last n+1 items only, and of these only on which are equal (for
grids: which rows are equal, and which columns). Going from the end of the block to its beginning, the ways to go on are counted for every such pattern and
every number of lures still to come; then the block is drawn item by item, each with the share of the blocks that begin so.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, product
from math import prod
from typing import Literal, NamedTuple

import numpy as np

Relation = Literal["identical", "row_or_column", "row_or_column_not_identical"]
#: An item by its coordinates: (place in the alphabet,) or (row, column).
Item = tuple[int, ...]
#: Of the last items, which are equal, for each coordinate: numbered in order of their first appearance, such as (0, 1, 0).
_Pattern = tuple[tuple[int, ...], ...]


def largest_n(relation: Relation) -> int:
    """Up to which n there are few enough patterns to count with."""
    return 5 if relation == "identical" else 3


def related(relation: Relation, one: Item, other: Item) -> bool:
    """Whether two items match."""
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
    """One of all blocks with these match positions and exactly so many lures; None when there is none.

    Parameters
    ----------
    sizes : how many values each coordinate of an item has
    matching : positions of matches
    check_first : whether a non-match at position n is kept from matching
    repeats : whether a non-match may repeat the item before it
    """
    tables = _tables(sizes, relation, n)
    # For each position, way to go on and pattern: how many items go that way, and the row of ``ends`` that says in how many ways the block ends after it.
    ways = [_ways(sizes, relation, n, min(p, n + 1), p in matching, check_first, repeats) for p in range(length)]
    ends = [_with_one_less(np.array([[1.0] + [0.0] * lures] * tables[-1].patterns))]
    for items, row in reversed(ways):
        # A sum over the first axis is made term by term, and so the same on every machine, to the last bit.
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
    """Patterns x lures still to come; below them the same again for when the next item is one of these lures."""
    patterns, lures = counts.shape
    both = np.zeros((2 * patterns, lures))
    both[:patterns] = counts
    both[patterns:, 1:] = counts[:, :-1]
    return both


@dataclass(frozen=True, slots=True)
class _Table:
    """How patterns of the last items go on: arrays of ways to go on x patterns (columns are filled up with ways that nothing takes).

    Parameters
    ----------
    patterns : how many different ones there are after the next item
    following : which of them it is
    items : how many different items go this way
    match, lure, repeat : whether these are related to the item n back; to the one n-1 or n+1 back; whether they equal the last item
    values : for each coordinate, the number that a value has in the pattern; one more than the highest is any new value
    """

    patterns: int
    following: np.ndarray
    items: np.ndarray
    match: np.ndarray
    lure: np.ndarray
    repeat: np.ndarray
    values: tuple[tuple[tuple[int, ...], ...], ...]


@lru_cache(maxsize=64)
def _tables(sizes: tuple[int, ...], relation: Relation, n: int) -> tuple[_Table, ...]:
    """The tables for 0, 1, ... n+1 items that have gone before; the last one leads back to its own patterns."""
    tables: list[_Table] = []
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
                many[way, state], match[way, state], lure[way, state], repeat[way, state] = cell.items, cell.match, cell.lure, cell.repeat
        table = _Table(len(numbers), following, many, match, lure, repeat, tuple(tuple(cell.values for cell in row) for row in rows))
        tables.append(table)
        patterns = list(numbers)
    return tuple(tables)


class _Way(NamedTuple):
    """One way in which a pattern goes on; fields as in :class:`_Table`."""

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
        ways.append(_Way(item, prod(many for _, many in chosen), like(item, n), lure, bool(before) and item == before[-1], after))
    return ways


def _renumbered(values: Sequence[int]) -> tuple[int, ...]:
    numbers: dict[int, int] = {}
    return tuple(numbers.setdefault(value, len(numbers)) for value in values)


@lru_cache(maxsize=64)
def _ways(sizes: tuple[int, ...], relation: Relation, n: int, position: int, match: bool, check_first: bool, repeats: bool) -> tuple[np.ndarray, np.ndarray]:
    """For each pattern and way to go on from a position (n+1 stands for all from there on): how many items may come, and the row to look up; lures look into
    the lower half."""
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


def _with_values(numbers: Sequence[int], before: Sequence[Item], sizes: tuple[int, ...], random: np.random.RandomState) -> Item:
    """The item that has these numbers in the pattern of the items before; a new value is uniform among those that are not there."""
    item: list[int] = []
    for coordinate, (number, size) in enumerate(zip(numbers, sizes, strict=True)):
        there = list(dict.fromkeys(item[coordinate] for item in before))
        if number < len(there):
            item.append(there[number])
        else:
            new = [value for value in range(size) if value not in there]
            item.append(new[int(random.randint(len(new)))])
    return tuple(item)
