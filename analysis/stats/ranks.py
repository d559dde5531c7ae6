"""Tests of ranks by their large-sample distributions, as scipy.stats has them; importing that takes
half a second."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def midranks(values: np.ndarray) -> np.ndarray:
    """Ranks from 1; equal values share the mean of theirs."""
    _, where, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts - 1) / 2)[where]


def _ties(values: np.ndarray) -> float:
    """The sum of ``t ** 3 - t`` over groups of ``t`` equal values."""
    counts = np.unique(values, return_counts=True)[1].astype(float)
    return float((counts**3 - counts).sum())


def kruskal(samples: Sequence[np.ndarray]) -> float:
    """Test whether independent samples have one distribution: p of Kruskal and Wallis's test,
    corrected for ties. Some two values must differ."""
    from scipy.special import chdtrc

    together = np.concatenate(samples)
    n, ranks = len(together), midranks(together)
    parts = np.split(ranks, np.cumsum([len(sample) for sample in samples])[:-1])
    h = 12 / (n * (n + 1)) * sum(float(part.sum()) ** 2 / len(part) for part in parts) - 3 * (n + 1)
    return float(chdtrc(len(samples) - 1, max(0.0, h / (1 - _ties(together) / (n**3 - n)))))


def friedman(samples: np.ndarray) -> float:
    """Test whether three or more conditions of the same units have one distribution: p of
    Friedman's test, corrected for ties; NaN where no unit tells any apart.

    Parameters
    ----------
    samples : a row for each condition, a column for each unit
    """
    from scipy.special import chdtrc

    conditions, units = samples.shape
    ranks = np.array([midranks(sample) for sample in samples.T])
    free = 1 - sum(_ties(sample) for sample in samples.T) / (units * conditions * (conditions**2 - 1))
    if free <= 0:
        return float("nan")
    chi = (
        12 / (units * conditions * (conditions + 1)) * float((ranks.sum(axis=0) ** 2).sum())
        - 3 * units * (conditions + 1)
    ) / free
    return float(chdtrc(conditions - 1, max(0.0, chi)))
