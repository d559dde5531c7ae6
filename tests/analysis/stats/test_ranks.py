"""Tests of ranks are those of SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from spanlab.analysis.stats.ranks import friedman, kruskal, midranks


@pytest.mark.parametrize("seed", range(5))
def test_tests_of_ranks_are_those_of_scipy(seed: int) -> None:
    random = np.random.RandomState(seed)
    samples = [random.randint(0, 4, size) / 3 for size in (5, 9, 14)]
    table = random.randint(0, 3, (4, 7)) / 2
    assert midranks(samples[2]) == pytest.approx(stats.rankdata(samples[2]), abs=0)
    assert kruskal(samples) == pytest.approx(stats.kruskal(*samples).pvalue, rel=1e-12)
    assert friedman(table) == pytest.approx(stats.friedmanchisquare(*table).pvalue, rel=1e-12)


def test_units_that_tell_nothing_apart_have_no_friedman_test() -> None:
    assert np.isnan(friedman(np.ones((3, 4))))
