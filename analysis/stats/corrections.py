"""p values of a family of tests, corrected: Bonferroni's way, and Holm's step-down way, which is
never weaker.

Holm, 1979, Scandinavian Journal of Statistics 6, 65-70.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def bonferroni(p: Sequence[float] | np.ndarray) -> np.ndarray:
    """p values times the number of tests, at most 1; NaN is not a test."""
    values = np.asarray(p, dtype=float)
    return np.minimum(1.0, values * np.isfinite(values).sum())


def holm(p: Sequence[float] | np.ndarray) -> np.ndarray:
    """Holm's p values, at most 1 and in the order of the p values; NaN is not a test."""
    values = np.asarray(p, dtype=float)
    order = np.argsort(values, kind="stable")[: np.isfinite(values).sum()]  # NaN comes last
    corrected = np.full(len(values), np.nan)
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(values[order] * np.arange(len(order), 0, -1)))
    return corrected
