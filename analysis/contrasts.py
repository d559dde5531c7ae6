"""Weighted sums of the means of cells (a slope, a mean, a difference), with standard error, t-test and bootstrap, whatever units the cells share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .resampling import LEVEL, RESAMPLES

_CHUNK = 4_000_000
#: Whole numbers below 2 to this power are exact in floating point.
_BITS = 50


@dataclass(frozen=True)
class Contrast:
    """A weighted sum of means.

    Parameters
    ----------
    value, se, df : the sum, its standard error and its degrees of freedom (after Satterthwaite); NaN where undefined
    n : units that enter it
    lone : units that are alone in their set of cells, so that their spread is unknown and counted as 0
    draws : bootstrap values, None where nothing can vary
    level : of confidence
    """

    value: float
    se: float
    df: float
    n: int
    lone: int
    draws: np.ndarray | None
    level: float

    def against(self, expected: float) -> dict[str, float]:
        """Two-tailed t-test against a value: ``t``, ``df`` and ``p``."""
        from scipy.special import stdtr

        t = (self.value - expected) / self.se
        return {"t": t, "df": self.df, "p": float(2 * stdtr(self.df, -abs(t)))}

    def limits(self, draws: np.ndarray) -> tuple[float, float]:
        """The expanded percentile interval of bootstrap values (of this contrast, or of something made of it)."""
        from scipy.special import ndtr, stdtrit

        draws = draws[np.isfinite(draws)]
        if len(draws) < 2:
            return math.nan, math.nan
        tail = float(ndtr(-math.sqrt((self.df + 1) / self.df) * stdtrit(self.df, (1 + self.level) / 2)))
        low, high = np.quantile(draws, [tail, 1 - tail])
        return float(low), float(high)


def contrast(
    values: Sequence[np.ndarray], ids: Sequence[np.ndarray], weights: np.ndarray, *, level: float = LEVEL, resamples: int = RESAMPLES, seed: int = 0
) -> Contrast:
    """``sum of weight x mean of the cell``.

    Units that are in the same cells (a person in all of them, a trial in all positions of its list) form a stratum. Each unit adds ``weight x value / n``
    of its cells to the sum; the spread of what units add is taken within strata, so that what a unit does in one cell may go with what it does in another.
    For units that are in all cells the test is the one-sample t-test of their own contrasts, for two cells without common units it is Welch's.

    Parameters
    ----------
    values, ids : of each cell, the values of its units and the units' numbers, as in :class:`.Cells`
    weights : of the cells
    """
    import pandas as pd

    if not values or any(not len(cell) for cell in values):
        return Contrast(math.nan, math.nan, math.nan, 0, 0, None, level)
    sizes = [len(cell) for cell in values]
    number, unit = pd.factorize(np.concatenate(ids))
    adds = np.concatenate([weight * np.asarray(cell, float) / len(cell) for weight, cell in zip(weights, values, strict=True)])
    added = np.bincount(number, weights=adds, minlength=len(unit))
    where = np.repeat(np.arange(len(values)), sizes)
    stratum = _alike(number, where, len(unit))
    many = np.bincount(stratum)
    mean = np.bincount(stratum, weights=added) / many
    square = np.bincount(stratum, weights=(added - mean[stratum]) ** 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = np.where(many > 1, many * square / (many - 1), 0.0)
    parts[parts < 1e-24] = 0.0
    variance = float(parts.sum())
    real = parts > 0
    df = variance**2 / float((parts[real] ** 2 / (many[real] - 1)).sum()) if variance else math.nan
    draws = _draws(added, stratum, many, resamples, seed) if variance else None
    return Contrast(float(added.sum()), math.sqrt(variance), df, len(unit), int((many == 1).sum()), draws, level)


def _alike(number: np.ndarray, where: np.ndarray, many: int) -> np.ndarray:
    """The stratum of each unit: units that are in exactly the same cells share one."""
    import pandas as pd

    code = np.zeros(many, dtype=np.int64)
    for start in range(0, int(where.max()) + 1, _BITS):
        here = (where >= start) & (where < start + _BITS)
        mask = np.bincount(number[here], weights=2.0 ** (where[here] - start), minlength=many)  # exact: a unit is in a cell once
        _, inside = np.unique(mask, return_inverse=True)
        code = pd.factorize(code * (int(inside.max(initial=0)) + 1) + inside)[0]
    return code


def _draws(added: np.ndarray, stratum: np.ndarray, many: np.ndarray, resamples: int, seed: int) -> np.ndarray:
    """Bootstrap values of the sum: units are drawn again within their strata; where there are very many different ones, sums are normal."""
    random = np.random.RandomState(seed)
    total = np.zeros(resamples)
    for one in range(len(many)):
        distinct, counts = np.unique(np.round(added[stratum == one], 14), return_counts=True)
        if len(distinct) == 1:
            total += distinct[0] * many[one]
        elif len(distinct) > 5000:
            mine = added[stratum == one]
            total += random.normal(mine.sum(), math.sqrt(many[one]) * mine.std(), size=resamples)
        else:
            share, step = counts / many[one], max(1, _CHUNK // len(distinct))
            for done in range(0, resamples, step):
                size = min(step, resamples - done)
                total[done : done + size] += random.multinomial(many[one], share, size=size) @ distinct
    return total
