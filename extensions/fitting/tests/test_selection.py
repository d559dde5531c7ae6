"""Bayesian model selection over people: against exact integration, and with planted shares."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp

from spanlab.extensions.fitting.study import select


def exact(evidence: np.ndarray) -> tuple[float, float, float]:
    """Of two models: the expected share of the first, the probability that it is above a half, and
    that of equal frequencies."""
    share = (np.arange(20_000) + 0.5) / 20_000
    logs = np.log(np.exp(evidence[:, [0]]) * share + np.exp(evidence[:, [1]]) * (1 - share)).sum(0)
    weights = np.exp(logs - logs.max()) / np.exp(logs - logs.max()).sum()
    different, equal = float(logsumexp(logs)) - np.log(20_000), float(np.sum(logsumexp(evidence, axis=1, b=0.5)))
    return float(weights @ share), float(weights @ (share > 0.5)), float(1 / (1 + np.exp(different - equal)))


@pytest.mark.parametrize("first", [0, 6, 9, 12, 15])
def test_frequencies_are_those_of_exact_integration(first: int) -> None:
    evidence = np.array([[0.0, -8.0]] * first + [[-8.0, 0.0]] * (15 - first))
    found = select(evidence)
    share, most, equal = exact(evidence)
    assert found.frequency[0] == pytest.approx(share, abs=0.01)
    assert found.exceedance[0] == pytest.approx(most, abs=0.01)
    assert found.equal == pytest.approx(equal, abs=0.02)
    assert found.protected == pytest.approx((1 - found.equal) * found.exceedance + found.equal / 2)


def test_the_most_frequent_model_is_found_among_three() -> None:
    found = select(
        np.random.RandomState(4).normal(0, 1, (30, 3))
        + 6 * np.eye(3)[np.r_[np.full(21, 2), np.full(5, 0), np.full(4, 1)]]
    )
    assert found.frequency == pytest.approx([6 / 33, 5 / 33, 22 / 33], abs=0.03)
    assert found.protected[2] > 0.95


def test_models_that_say_the_same_are_equally_frequent() -> None:
    """Without protection, ten people of whom no one decides anything would still leave a model
    ahead by chance."""
    found = select(np.random.RandomState(1).normal(0, 0.3, (10, 2)))
    assert found.equal > 0.5
    assert abs(found.protected[0] - 0.5) < abs(found.exceedance[0] - 0.5)
    assert found.protected.max() < 0.9
