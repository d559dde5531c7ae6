"""N-back blocks with a given number of lures: all equally likely, for every set of match positions;
and what does not exist is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from nback_sets import MARKS
from pydantic import ValidationError
from sampling import loaded, sampler


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


def test_blocks_of_any_length_are_labelled_as_they_are() -> None:
    block = sampler("nback_block", symbols=list("bcdfghjklnpqrstvwxyz"), n=2, length=400, matches=80, lures=0)
    block.check(drawn := block.draw(np.random.RandomState(0)))
    assert not block.unlabelled(drawn)  # type: ignore[attr-defined]
