"""Equivalence, Bayes factors and reliability: published values, independent implementations, size by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats
from observed import along, table, together

from spanlab.analysis.data.scoring import score_table
from spanlab.analysis.stats.equivalence import alike, bayes_factor, equivalence, reliability, spearman_brown
from spanlab.core.errors import SpanLabError


@pytest.mark.parametrize(
    ("t", "n", "second", "scale", "wanted"),
    [
        (3.5, 20, 20, math.sqrt(2) / 2, 26.743),  # pingouin's documentation, which has it from BayesFactor
        (3.5, 20, 0, math.sqrt(2) / 2, 17.185),
    ],
)
def test_bayes_factors_as_published(t: float, n: int, second: int, scale: float, wanted: float) -> None:
    assert bayes_factor(t, n, second, scale=scale) == pytest.approx(wanted, rel=0.02)
    assert bayes_factor(-t, n, second, scale=scale) == pytest.approx(bayes_factor(t, n, second, scale=scale))


def test_bayes_factors_are_ratios_of_integrals_over_the_cauchy_prior() -> None:
    t, n = 1.3, 25
    from scipy.integrate import quad

    over = quad(lambda d: scipy.stats.nct.pdf(t, n - 1, d * math.sqrt(n)) * scipy.stats.cauchy.pdf(d, scale=0.5), -3, 3, limit=200)[0]
    assert bayes_factor(t, n, scale=0.5) == pytest.approx(over / scipy.stats.t.pdf(t, n - 1), rel=0.01)
    assert bayes_factor(0.0, 1000) < 0.05


def test_equivalence_is_two_one_sided_tests() -> None:
    values = np.random.RandomState(2).normal(0.01, 0.1, 30)
    found = alike(values, np.zeros(30), 0.06)
    low = scipy.stats.t.sf((values.mean() + 0.06) / scipy.stats.sem(values), 29)
    high = scipy.stats.t.cdf((values.mean() - 0.06) / scipy.stats.sem(values), 29)
    assert found.p == pytest.approx(max(low, high))
    assert (found.verdict == "within the margin") == (found.low > -0.06 and found.high < 0.06)
    assert equivalence(0.5, 0.05, 20, 0.1).verdict == "beyond the margin"
    assert equivalence(0.05, 0.1, 20, 0.1).verdict == "undecided"
    with pytest.raises(SpanLabError, match="without one there is no verdict"):
        equivalence(0.0, 0.1, 20, 0.0)


def test_at_the_margin_equivalence_is_found_as_often_as_it_says() -> None:
    random = np.random.RandomState(0)
    found = [alike(random.normal(0.2, 0.3, 20), np.zeros(20), 0.2).verdict == "within the margin" for _ in range(2000)]
    assert np.mean(found) == pytest.approx(0.05, abs=0.015)


def test_reliability_of_people_who_differ_and_of_people_who_do_not() -> None:
    def crowd(spread: float, sessions: int = 1) -> float:
        random = np.random.RandomState(1)
        parts = []
        for at in range(30):
            right = float(np.clip(0.6 + random.normal(0, spread), 0.02, 0.98))
            for number in range(sessions):
                one = table(along("set_size", {2: right, 4: right}), 40, agent="participant", kind="participant", participant=f"P{at}", seed=10 * at + number)
                parts.append(one.assign(session=f"P{at}-{number}"))
        found = reliability(score_table(together(*parts))).set_index("kind")
        assert found["low"].iloc[0] < found["whole"].iloc[0] < found["high"].iloc[0]
        return float(found["whole" if sessions == 1 else "r"].loc["split half" if sessions == 1 else "retest"])

    assert crowd(0.2) == pytest.approx(0.04 / (0.04 + 0.2 / 40), abs=0.12)
    assert abs(crowd(0.0)) < 0.5
    assert crowd(0.2, 2) > 0.7
    assert spearman_brown(0.5) == pytest.approx(2 / 3)
