"""Signal detection from counts: published vectors, an independent computation, and what must hold
for all counts."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanlab.analysis.stats.signal_detection import CORRECTIONS, Correction, detection
from spanlab.core.errors import SpanLabError

#: Of the N-back study: hits of 8, false alarms of 16, d' with its sign.
VECTORS = [
    (8, 0, 4.6527),
    (7, 0, 3.4767),
    (2, 1, 0.8596),
    (0, 0, 0.0),
    (0, 2, -1.1760),
    (1, 3, -0.2632),
    (6, 1, 2.2086),
    (0, 1, -0.7922),
]

some = st.integers(0, 40)
counts = st.tuples(some, some, some, some).filter(lambda four: four[0] + four[1] > 0 and four[2] + four[3] > 0)
corrections = st.sampled_from(["clip", "log-linear"])


@pytest.mark.parametrize(("hits", "alarms", "expected"), VECTORS)
def test_vectors_of_the_nback_study(hits: int, alarms: int, expected: float) -> None:
    found = detection(hits, 8 - hits, alarms, 16 - alarms, "clip")
    assert found.dprime == pytest.approx(expected, abs=5e-5)
    assert found.dprime_abs == pytest.approx(abs(expected), abs=5e-5)
    assert (found.hit_rate, found.false_alarm_rate) == (hits / 8, alarms / 16)
    assert found.accuracy == (hits + 16 - alarms) / 24


@given(counts, corrections)
def test_agrees_with_a_computation_of_its_own(four: tuple[int, int, int, int], correction: Correction) -> None:
    hit, miss, alarm, rejection = four

    def z(count: int, of: int) -> float:
        rate = (count + 0.5) / (of + 1) if correction == "log-linear" else min(0.99, max(0.01, count / of))
        return NormalDist().inv_cdf(rate)

    first, second = z(hit, hit + miss), z(alarm, alarm + rejection)
    found = detection(*four, correction)
    assert found.dprime == pytest.approx(first - second, abs=1e-9)
    assert found.criterion == pytest.approx(-(first + second) / 2, abs=1e-9)


def test_log_linear_by_hand() -> None:
    """8 of 8 and 0 of 16: rates 8.5/9 and 0.5/17, z 1.5932 and -1.8895."""
    found = detection(8, 0, 0, 16)
    assert found.correction == "log-linear"
    assert found.dprime == pytest.approx(3.4827, abs=5e-5)
    assert found.criterion == pytest.approx(0.1481, abs=5e-5)


def test_without_correction_rates_at_the_ends_are_infinite_or_undefined() -> None:
    assert detection(8, 0, 1, 15, "none").dprime == math.inf
    assert detection(0, 8, 1, 15, "none").dprime == -math.inf
    assert math.isnan(detection(0, 8, 0, 16, "none").dprime)
    assert detection(6, 2, 1, 15, "none").dprime == detection(6, 2, 1, 15, "clip").dprime


@given(counts)
def test_clipped_values_keep_their_range_and_log_linear_ones_are_finite(four: tuple[int, int, int, int]) -> None:
    assert abs(detection(*four, "clip").dprime) <= 4.65270
    assert math.isfinite(detection(*four, "log-linear").dprime)


@pytest.mark.parametrize("correction", CORRECTIONS)
def test_nothing_counted_gives_no_number(correction: Correction) -> None:
    found = detection([0, 3, 0], [0, 1, 0], [2, 0, 0], [2, 0, 0], correction)
    assert np.isnan(found.dprime).all()
    assert np.isnan(found.criterion).all()
    np.testing.assert_equal(found.hit_rate, [math.nan, 0.75, math.nan])
    np.testing.assert_equal(found.accuracy, [0.5, 0.75, math.nan])


def test_mistakes_are_told() -> None:
    with pytest.raises(SpanLabError, match=r"unknown correction 'loglinear'.*none, clip, log-linear"):
        detection(1, 1, 1, 1, "loglinear")  # type: ignore[arg-type]
    with pytest.raises(SpanLabError, match="none may be below 0"):
        detection(1, -1, 1, 1)
