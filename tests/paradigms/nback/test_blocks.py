"""N-back blocks: labels and lures are what they are said to be, nothing is favoured, and the
published generator's faults come at their rate."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence

import pytest
from nback_sets import CONSONANTS, GENERATORS, LEVELS, LURES, SETS, Block, alike, blocks, unlabelled
from sampling import RARE, fits
from scipy import stats

from spanlab.paradigms import Generator


def check_block(name: str, n: int, block: Block) -> None:
    """What holds for every block, by whatever generator."""
    assert Counter(item["label"] for item in block) == {"m": len(block) // 3, "-": len(block) - len(block) // 3}
    for i, item in enumerate(block):
        assert item.keys() == {"symbol", "label", "lag", "prefilled"}
        assert item["prefilled"] is False
        grid = SETS[name][1]
        assert item["symbol"] in CONSONANTS if grid is None else item["symbol"] in range(grid**2)
        if item["label"] == "m":
            assert i >= n
            assert alike(name, item["symbol"], block[i - n]["symbol"])
        lags = [
            lag for lag in (n - 1, n + 1) if 1 <= lag <= i and alike(name, item["symbol"], block[i - lag]["symbol"])
        ]
        assert item["lag"] == (lags[0] if lags and item["label"] == "-" else None)


@pytest.mark.slow
@pytest.mark.parametrize("generator", GENERATORS)
@pytest.mark.parametrize("name", SETS)
def test_every_block_is_what_it_says(name: str, generator: Generator) -> None:
    for n, length in itertools.product(LEVELS, (24, 30)):
        for block in blocks(name, n, generator, length=length, times=600 if length == 24 else 60):
            check_block(name, n, block)
            assert set(unlabelled(name, n, block)) <= ({n} if generator == "published" else set())


@pytest.mark.parametrize("name", SETS)
@pytest.mark.slow
def test_lures_are_exactly_as_many_as_they_should_be(name: str) -> None:
    """And all of them where they can be taken for matches. Also with the faults of the published
    generator, which had no control of lures."""
    for (level, counts), n, (length, count), generator in itertools.product(
        LURES[SETS[name][0]].items(), LEVELS, ((24, 0), (30, 1)), GENERATORS
    ):
        for block in blocks(name, n, generator, level, length, times=6 if generator == "corrected" else 2):
            check_block(name, n, block)
            lures = [i for i, item in enumerate(block) if item["lag"] is not None]
            assert len(lures) == counts[count]
            assert all(i >= n for i in lures)
            assert set(unlabelled(name, n, block)) <= ({n} if generator == "published" else set())


@pytest.mark.slow
@pytest.mark.parametrize(("lures", "times"), [("free", 3000), ("high", 300)])
@pytest.mark.parametrize("n", LEVELS)
def test_match_positions_are_uniform(n: int, lures: str, times: int) -> None:
    drawn = blocks("letters", n, lures=lures, times=times)
    where = Counter(i for block in drawn for i, item in enumerate(block) if item["label"] == "m")
    assert fits(Counter(block[0]["symbol"] for block in drawn).values())
    assert set(where) == set(range(n, 24))
    assert _places_fit([where[i] for i in range(n, 24)], matches=8)


def _places_fit(counts: Sequence[int], matches: int) -> bool:
    """Chi-square of places that were drawn without replacement: their counts vary less than
    independent ones."""
    places = len(counts)
    expected = sum(counts) / places
    statistic = (
        sum((count - expected) ** 2 / expected for count in counts) * (places - 1) / places / (1 - matches / places)
    )
    return float(stats.chi2.sf(statistic, places - 1)) > RARE


@pytest.mark.parametrize("name", SETS)
@pytest.mark.slow
def test_symbols_are_equally_frequent(name: str) -> None:
    for n in LEVELS:
        counts = Counter(item["symbol"] for block in blocks(name, n) for item in (block[0], block[-1]))
        grid = SETS[name][1]
        assert len(counts) == (20 if grid is None else grid**2)
        # First and last items are hardly related.
        assert fits(counts.values())
