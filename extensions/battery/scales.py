"""Questionnaires: means of scales with reversed items, and how well their items hang together."""

from __future__ import annotations

import numpy as np

#: Below this change of communalities the factor is final.
_FINAL = 1e-13


def alpha(answers: np.ndarray) -> float:
    """Cronbach's alpha: k / (k − 1) × (1 − sum of the items' variances / variance of their sum); NaN of fewer than two items, or without spread.

    Parameters
    ----------
    answers : a row for each person, a column for each item; reversed items turned round
    """
    people, items = answers.shape
    if items < 2 or people < 3:
        return np.nan
    whole = answers.sum(axis=1).var(ddof=1)
    return float(items / (items - 1) * (1 - answers.var(axis=0, ddof=1).sum() / whole)) if whole > 0 else np.nan


def omega(answers: np.ndarray) -> float:
    """McDonald's omega of one common factor of the covariances, by least squares: (sum of loadings)² over that plus the sum of what is unique.

    NaN of fewer than three items, without spread, or where an item has no unique variance left.

    Parameters
    ----------
    answers : a row for each person, a column for each item; reversed items turned round
    """
    people, items = answers.shape
    if items < 3 or people < 4 or (answers.var(axis=0) == 0).any():
        return np.nan
    covariance = np.cov(answers.T)
    common = np.diag(covariance) / 2
    loadings = np.sqrt(common)
    for _ in range(100_000):
        reduced = covariance - np.diag(np.diag(covariance) - common)
        values, vectors = np.linalg.eigh(reduced)
        loadings = vectors[:, -1] * np.sqrt(max(values[-1], 0.0))
        change = float(np.abs(loadings**2 - common).max())
        common = loadings**2
        if change < _FINAL * float(np.diag(covariance).max()):
            break
    unique = np.diag(covariance) - common
    if (unique < 0).any():
        return np.nan
    general = float(loadings.sum() ** 2)
    return general / (general + float(unique.sum()))
