"""Weighted sums of the means of cells (a slope, a mean, a difference), with standard error, t-test and bootstrap, whatever units the cells share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .bootstrap import LEVEL, RESAMPLES
from .cell_means import Cells

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
    draws : bootstrap values, None where nothing can vary, and where the standard error alone says how sure it is
    level : of confidence
    sizes : how many units there are, where each is in all cells; how many in each of two cells that have none in common; empty for any other pattern
    """

    value: float
    se: float
    df: float
    n: int
    lone: int
    draws: np.ndarray | None
    level: float
    sizes: tuple[int, ...] = ()

    def against(self, expected: float) -> dict[str, float]:
        """Two-tailed t-test against a value: ``t``, ``df`` and ``p``."""
        from scipy.special import stdtr

        t = (self.value - expected) / self.se
        return {"t": t, "df": self.df, "p": float(2 * stdtr(self.df, -abs(t)))}

    def ends(self) -> tuple[float, float]:
        """The interval: of its bootstrap values, or where there are none Student's; NaN without a standard error."""
        from scipy.special import stdtrit

        if self.draws is not None:
            return self.limits(self.draws)
        reach = float(stdtrit(min(self.df, 1e9), (1 + self.level) / 2)) * self.se
        return self.value - reach, self.value + reach

    def limits(self, draws: np.ndarray) -> tuple[float, float]:
        """The expanded percentile interval of bootstrap values (of this contrast, or of something made of it)."""
        from scipy.special import ndtr, stdtrit

        draws = draws[np.isfinite(draws)]
        if len(draws) < 2:
            return math.nan, math.nan
        df = min(self.df, 1e9)
        tail = float(ndtr(-math.sqrt((df + 1) / df) * stdtrit(df, (1 + self.level) / 2)))
        low, high = np.quantile(draws, [tail, 1 - tail])
        return float(low), float(high)


def contrast_of(cells: Cells, numbers: Sequence[int], weights: np.ndarray, **options: Any) -> Contrast:
    """A weighted sum of the means of some cells; see :func:`contrast`."""
    picked = [[column[one] for one in numbers] for column in (cells.values, cells.ids, cells.many)]
    return contrast(picked[0], picked[1], weights, many=picked[2], **options)


def contrast(
    values: Sequence[np.ndarray],
    ids: Sequence[np.ndarray],
    weights: np.ndarray,
    *,
    many: Sequence[np.ndarray] | None = None,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Contrast:
    """``sum of weight x mean of the cell``.

    Units that are in the same cells (a person in all of them, a trial in all positions of its list) form a stratum. Each unit adds ``weight x value / n``
    of its cells to the sum; the spread of what units add is taken within strata, so that what a unit does in one cell may go with what it does in another.
    For units that are in all cells the test is the one-sample t-test of their own contrasts, for two cells without common units it is Welch's.

    Parameters
    ----------
    values, ids : of each cell, the values of its units and the units' numbers, as in :class:`.Cells`
    weights : of the cells
    many : of each cell, how many units each of its entries stands for (the same in all cells); one when not given
    """
    import pandas as pd

    if not values or any(not len(cell) for cell in values):
        return Contrast(math.nan, math.nan, math.nan, 0, 0, None, level)
    times = [np.ones(len(cell), np.int64) for cell in values] if many is None else [np.asarray(one, np.int64) for one in many]
    number, unit = pd.factorize(np.concatenate(ids))
    adds = np.concatenate([weight * np.asarray(cell, float) / one.sum() for weight, cell, one in zip(weights, values, times, strict=True)])
    added = np.bincount(number, weights=adds, minlength=len(unit))
    where = np.repeat(np.arange(len(values)), [len(cell) for cell in values])
    stratum = _alike(number, where, len(unit))
    copies = np.empty(len(unit), np.int64)
    copies[number] = np.concatenate(times)
    size = np.bincount(stratum, weights=copies).astype(np.int64)
    mean = np.bincount(stratum, weights=copies * added) / size
    square = np.bincount(stratum, weights=copies * (added - mean[stratum]) ** 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = np.where(size > 1, size * square / (size - 1), 0.0)
    parts[parts < 1e-24] = 0.0
    variance = float(parts.sum())
    real = parts > 0
    df = variance**2 / float((parts[real] ** 2 / (size[real] - 1)).sum()) if variance else math.nan
    draws = _draws(added, copies, stratum, size, resamples, seed) if variance else None
    plain = len(size) == 1 or (len(size) == len(values) == 2 and len(number) == len(unit))
    sizes = tuple(int(one) for one in size) if plain else ()
    return Contrast(float(copies @ added), math.sqrt(variance), df, int(copies.sum()), int((size == 1).sum()), draws, level, sizes)


def _alike(number: np.ndarray, where: np.ndarray, many: int) -> np.ndarray:
    """The stratum of each unit: units that are in exactly the same cells share one."""
    code = np.zeros(many, dtype=np.int64)
    for start in range(0, int(where.max()) + 1, _BITS):
        here = (where >= start) & (where < start + _BITS)
        mask = np.bincount(number[here], weights=2.0 ** (where[here] - start), minlength=many)  # exact: a unit is in a cell once
        _, inside = np.unique(mask, return_inverse=True)
        code = np.unique(code * (int(inside.max(initial=0)) + 1) + inside, return_inverse=True)[1]  # in an order that does not depend on that of the units
    return code


def _draws(added: np.ndarray, copies: np.ndarray, stratum: np.ndarray, size: np.ndarray, resamples: int, seed: int) -> np.ndarray:
    """Bootstrap values of the sum: units are drawn again within their strata; where there are very many different ones, sums are normal."""
    random = np.random.RandomState(seed)
    total = np.zeros(resamples)
    for one in range(len(size)):
        mine, times = added[stratum == one], copies[stratum == one]
        distinct, where = np.unique(np.round(mine, 14), return_inverse=True)
        counts = np.bincount(where, weights=times)
        if len(distinct) == 1:
            total += distinct[0] * size[one]
        elif len(distinct) > 5000:
            middle = float(times @ mine) / size[one]
            spread = math.sqrt(float(times @ (mine - middle) ** 2) / size[one])
            total += random.normal(float(times @ mine), math.sqrt(size[one]) * spread, size=resamples)
        else:
            share, step = counts / size[one], max(1, _CHUNK // len(distinct))
            for done in range(0, resamples, step):
                part = min(step, resamples - done)
                total[done : done + part] += random.multinomial(int(size[one]), share, size=part) @ distinct
    return total
