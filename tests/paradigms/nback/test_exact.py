"""N-back blocks with a given number of lures: all equally likely, for every set of match positions;
and what does not exist is refused."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from nback_sets import MARKS
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
