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


@given(counts, corrections)
def test_swapping_hits_and_false_alarms_turns_the_sign(four: tuple[int, int, int, int], correction: Correction) -> None:
    hit, miss, alarm, rejection = four
    there, back = detection(hit, miss, alarm, rejection, correction), detection(alarm, rejection, hit, miss, correction)
    assert there.dprime == pytest.approx(-back.dprime, abs=1e-12)
    assert there.criterion == pytest.approx(back.criterion, abs=1e-12)
    assert there.dprime_abs == pytest.approx(back.dprime_abs, abs=1e-12)


@given(counts, corrections)
def test_answering_the_other_way_round_turns_both_signs(
    four: tuple[int, int, int, int], correction: Correction
) -> None:
    hit, miss, alarm, rejection = four
    there, back = detection(hit, miss, alarm, rejection, correction), detection(miss, hit, rejection, alarm, correction)
    assert there.dprime == pytest.approx(-back.dprime, abs=1e-9)
    assert there.criterion == pytest.approx(-back.criterion, abs=1e-9)


@given(counts, corrections)
@pytest.mark.slow
def test_a_hit_more_never_lowers_and_a_false_alarm_more_never_raises(
    four: tuple[int, int, int, int], correction: Correction
) -> None:
    hit, miss, alarm, rejection = four
    now = detection(*four, correction)
    if miss:
        more = detection(hit + 1, miss - 1, alarm, rejection, correction)
        assert more.dprime >= now.dprime
        assert more.criterion <= now.criterion
    if rejection:
        more = detection(hit, miss, alarm + 1, rejection - 1, correction)
        assert more.dprime <= now.dprime
        assert more.criterion <= now.criterion


@given(counts)
def test_clipped_values_keep_their_range_and_log_linear_ones_are_finite(four: tuple[int, int, int, int]) -> None:
    assert abs(detection(*four, "clip").dprime) <= 4.65270
    assert math.isfinite(detection(*four, "log-linear").dprime)


@given(st.lists(counts, min_size=1, max_size=5), st.sampled_from(CORRECTIONS))
@pytest.mark.slow
def test_arrays_are_computed_element_by_element(many: list[tuple[int, int, int, int]], correction: Correction) -> None:
    hits, misses, alarms, rejections = np.array(many).T
    together = detection(hits, misses, alarms, rejections, correction)
    for place, four in enumerate(many):
        alone = detection(*four, correction)
        for name in ("hit_rate", "false_alarm_rate", "accuracy", "dprime", "criterion"):
            np.testing.assert_equal(getattr(together, name)[place], getattr(alone, name))


@pytest.mark.parametrize("correction", CORRECTIONS)
def test_nothing_counted_gives_no_number(correction: Correction) -> None:
    found = detection([0, 3, 0], [0, 1, 0], [2, 0, 0], [2, 0, 0], correction)
    assert np.isnan(found.dprime).all()
    assert np.isnan(found.criterion).all()
    np.testing.assert_equal(found.hit_rate, [math.nan, 0.75, math.nan])
    np.testing.assert_equal(found.accuracy, [0.5, 0.75, math.nan])


@pytest.mark.parametrize(("sensitivity", "bias"), [(0.0, 0.0), (1.0, 0.5), (2.5, -0.3), (-1.0, 0.2)])
def test_recovers_what_was_planted_from_many_answers(sensitivity: float, bias: float) -> None:
    random = np.random.RandomState(1)
    signals, others = (
        random.normal(sensitivity / 2, 1, 200_000) > bias,
        random.normal(-sensitivity / 2, 1, 200_000) > bias,
    )
    found = detection(signals.sum(), (~signals).sum(), others.sum(), (~others).sum())
    assert found.dprime == pytest.approx(sensitivity, abs=0.02)
    assert found.criterion == pytest.approx(bias, abs=0.02)


def test_mistakes_are_told() -> None:
    with pytest.raises(SpanLabError, match=r"unknown correction 'loglinear'.*none, clip, log-linear"):
        detection(1, 1, 1, 1, "loglinear")  # type: ignore[arg-type]
    with pytest.raises(SpanLabError, match="none may be below 0"):
        detection(1, -1, 1, 1)
