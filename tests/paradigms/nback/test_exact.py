"""N-back blocks with a given number of lures: all equally likely, for every set of match positions;
and what does not exist is refused."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
from nback_sets import LEVELS, MARKS
from pydantic import ValidationError
from sampling import fits, loaded, sampler


@pytest.mark.slow
@pytest.mark.parametrize("lures", [None, 1, 2])
@pytest.mark.parametrize(
    ("relation", "alphabet", "n", "length"),
    [
        ("identical", {"symbols": ["p", "q", "r", "s"]}, 2, 5),
        ("identical", {"symbols": ["p", "q", "r"]}, 1, 6),
        ("row_or_column_not_identical", {"grid": 2}, 1, 6),
    ],
)
def test_all_blocks_are_equally_likely(
    relation: str, alphabet: dict[str, Any], n: int, length: int, lures: int | None
) -> None:
    """Against a list of all sequences there are, for short blocks: given the match positions, every
    sequence comes as often as any other."""
    one = sampler("nback_block", relation=relation, n=n, length=length, matches=1, lures=lures, **alphabet)
    symbols = alphabet.get("symbols") or list(range(4))

    def match(a: Any, b: Any) -> bool:
        return a == b if relation == "identical" else (a // 2 == b // 2 or a % 2 == b % 2) and a != b

    def lured(block: Sequence[Any], i: int) -> bool:
        return any(1 <= lag <= i and match(block[i], block[i - lag]) for lag in (n - 1, n + 1))

    possible: dict[int, list[tuple[Any, ...]]] = {}
    for block in itertools.product(symbols, repeat=length):
        matching = [i for i in range(n, length) if match(block[i], block[i - n])]
        places = [i for i in range(length) if i not in matching and lured(block, i)]
        if len(matching) == 1 and (lures is None or (len(places) == lures and all(i >= n for i in places))):
            possible.setdefault(matching[0], []).append(block)
    random = np.random.RandomState(1)
    if not possible:
        with pytest.raises(ValueError, match=f"no block of {length} items with 1 matches and {lures} lures"):
            one.draw(random)
        return
    drawn = Counter(tuple(item["symbol"] for item in one.draw(random)) for _ in range(1500))
    every = [(block, 1 / len(possible) / len(same)) for same in possible.values() for block in same]
    assert set(drawn) <= {block for block, _ in every}
    assert fits([drawn[block] for block, _ in every], [share for _, share in every])


#: relation, values of each coordinate, n, length, and the numbers of lures that the paradigms ask
#: for; some take a minute
ROOM = [
    *(
        ("identical", (20,), n, length, (0, 2, 6 if length == 24 else 7))
        for n in LEVELS
        for length in (24, 30)
        if n + length < 33
    ),
    pytest.param("identical", (20,), 3, 30, (0, 2, 7), marks=pytest.mark.slow),
    *(
        ("row_or_column", (3, 3), n, length, (6, 12) if length == 24 else (7, 15))
        for n in (1, 2)
        for length in (24, 30)
    ),
    *(
        pytest.param("row_or_column", (3, 3), 3, length, (length // 4, length // 2), marks=pytest.mark.slow)
        for length in (24, 30)
    ),
    *(
        ("row_or_column_not_identical", (3, 3), n, length, (0, length // 4, length // 2))
        for n in (1, 2)
        for length in (24, 30)
    ),
    *(
        pytest.param(
            "row_or_column_not_identical", (3, 3), 3, length, (0, length // 4, length // 2), marks=pytest.mark.slow
        )
        for length in (24, 30)
    ),
]

_Window = tuple[tuple[int, ...], ...]


@pytest.mark.slow
@pytest.mark.parametrize(("relation", "sizes", "n", "length", "lures"), ROOM)
def test_every_set_of_match_positions_leaves_room_for_the_lures(
    relation: str, sizes: tuple[int, ...], n: int, length: int, lures: tuple[int, ...]
) -> None:
    """A proof: all ways to choose the positions are gone through, those together that leave the
    same possibilities. So positions are uniform with lures, too.

    (Grids of other sizes have the same possibilities as letters, as there are at least five
    different cells; the published generator has a few more.)
    """
    most = max(lures)
    start: frozenset[tuple[_Window, int]] = frozenset([(((),) * len(sizes), 0)])
    reached = {(0, start)}
    for i in range(length):
        following: set[tuple[int, frozenset[tuple[_Window, int]]]] = set()
        for used, possible in reached:
            left = length // 3 - used
            if left and i >= n:
                following.add(
                    (
                        used + 1,
                        frozenset(
                            (after, lured)
                            for window, lured in possible
                            for after, match, _ in _next(relation, window, sizes, n)
                            if match
                        ),
                    )
                )
            if left < length - i:
                others = (
                    (after, lured + lure)
                    for window, lured in possible
                    for after, match, lure in _next(relation, window, sizes, n)
                    if not match and not (lure and (i < n or lured == most))
                )
                following.add((used, frozenset(others)))
        reached = following
    assert {used for used, _ in reached} == {length // 3}
    for _, possible in reached:
        assert set(lures) <= {lured for _, lured in possible}


@cache
def _next(relation: str, window: _Window, sizes: tuple[int, ...], n: int) -> frozenset[tuple[_Window, bool, bool]]:
    """What may follow on the last n+1 items (by coordinate, numbered anew): the next window,
    whether the item matches, and whether it would be a lure."""
    known = len(window[0])
    found = set()
    for item in itertools.product(
        *(range(min(size, max(values, default=-1) + 2)) for values, size in zip(window, sizes, strict=True))
    ):
        like = dict.fromkeys(range(n + 2), False)
        for lag in range(1, known + 1):
            same = [value == values[known - lag] for value, values in zip(item, window, strict=True)]
            like[lag] = (
                all(same) if relation == "identical" else any(same) and (relation == "row_or_column" or not all(same))
            )
        after = tuple(_renumbered((*values, value)[-(n + 1) :]) for value, values in zip(item, window, strict=True))
        found.add((after, like[n], (n > 1 and like[n - 1]) or like[n + 1]))
    return frozenset(found)


def _renumbered(values: Sequence[int]) -> tuple[int, ...]:
    return tuple(list(dict.fromkeys(values)).index(value) for value in values)


@pytest.mark.parametrize(
    ("name", "parameters", "says"),
    [
        ("nback_block", {"n": 1}, "either symbols or a grid"),
        ("nback_block", {"n": 1, "symbols": ["p", "q"], "grid": 3}, "either symbols or a grid"),
        ("nback_block", {"n": 1, "symbols": ["p", "q", "p"]}, "occurs twice"),
        ("nback_block", {"n": 1, "symbols": ["p", "q"], "relation": "row_or_column"}, "need a grid"),
        ("nback_block", {"n": 1, "symbols": ["p", "q"], "unused": [1]}, "need a grid"),
        ("nback_block", {"n": 1, "grid": 3, "unused": [9]}, "from 0 to 8"),
        ("nback_block", {"n": 1, "grid": 3, "unused": [1], "relation": "row_or_column"}, "all cells"),
        ("nback_block", {"n": 1, "grid": 3, "lures": 16}, "cannot place 16 lures among the 15 items"),
        ("nback_block", {"n": 6, "grid": 3, "lures": 0}, "n up to 5"),
        ("nback_block", {"n": 4, "grid": 3, "lures": 0, "relation": "row_or_column"}, "n up to 3"),
        ("letter_noise", {"letters": ["b"], "marks": ["#", "#"], "least": 1, "most": 1}, "different single characters"),
        ("letter_noise", {"letters": ["b"], "marks": ["#"], "least": 1, "most": 2}, "at most 1"),
        ("letter_noise", {"letters": ["#"], "marks": ["#"], "least": 1, "most": 1}, "not a noise symbol"),
        ("cell_noise", {"taken": [9], "grid": 3, "marks": ["#"], "least": 1, "most": 1}, "from 0 to 8"),
        ("cell_noise", {"taken": [0], "grid": 2, "marks": list(MARKS), "least": 1, "most": 4}, "do not fit"),
    ],
)
def test_the_impossible_is_refused(name: str, parameters: dict[str, Any], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        sampler(name, **parameters)


def test_blocks_that_do_not_exist() -> None:
    """Without lures there is no 2-back block about rows and columns of a 3 x 3 grid; that is why
    this level is missing there."""
    with pytest.raises(ValueError, match="there is no block of 24 items with 8 matches and 0 lures"):
        sampler("nback_block", grid=3, relation="row_or_column", n=2, lures=0).draw(np.random.RandomState(0))
    assert list(loaded("nback_abstraction").factors["lures"].levels) == ["low", "high", "free"]
