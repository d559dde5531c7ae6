"""Mean, standard error and bootstrap interval of independent units (participants or trials)."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

#: Below this many units an interval is called rough.
FEW = 10
RESAMPLES = 10_000
#: Above this many units resampling tells nothing that the normal distribution does not.
MANY = 5000
_SKEW = 0.05
LEVEL = 0.95
_CHUNK = 4_000_000


@dataclass(frozen=True)
class Estimate:
    """A mean with its uncertainty.

    Parameters
    ----------
    n : units
    mean, sem : mean and standard error of the mean of the units (NaN where undefined)
    low, high : limits of the interval (NaN when there is none)
    interval : ``score``, ``bootstrap``, ``normal``, ``binomial``, ``exact`` or ``none``
    """

    n: int
    mean: float
    sem: float
    low: float
    high: float
    interval: str


def estimate(
    values: Sequence[float] | np.ndarray,
    *,
    many: np.ndarray | None = None,
    proportion: bool = True,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Estimate:
    """Mean, s.e.m. and interval of units that are independent of each other. The order of the units does not matter.

    * s.e.m. = sample standard deviation (n - 1) over the square root of n.
    * Interval of proportions: Wilson's score interval for as many independent answers as have the variance that was seen between units, with Student's t for
      their number (:func:`score_limits`). A resampled one holds too little near 0 and 1, where most units are alike and the others rare.
    * Interval of other values: expanded percentile bootstrap. The plain percentile interval is too narrow in small samples; its quantiles are therefore taken
      at ``Phi(-sqrt(n / (n - 1)) * t(1 - alpha/2; n - 1))`` and its mirror image (Hesterberg, 2015, The American Statistician 69, 371-386).
    * Of more than 5,000 units whose mean is as good as normal (skewness below 0.05 times the root of n, which moves the limits by less than a fortieth of the
      s.e.m.), the interval is the normal one, which resampling would give too.
    * Proportions whose units are all 0 or 1 (one question a trial) are counts: their interval is the binomial one with mid-p (Lancaster, 1961).
    * Proportions where every unit is at 0 or every unit at 1 have no spread to resample. There the far limit is the exact binomial one (Clopper & Pearson,
      1934): ``(alpha/2) ** (1/n)`` for all at 1. It also holds for units that are themselves means in 0..1, since their expectation is at least the
      probability of a 1.
    * One unit, or units that are all equal but not at 0 or 1: no interval.

    Parameters
    ----------
    values : one number per unit; NaN is left out
    many : how many units have each value; one when not given
    proportion : whether the units lie in 0..1
    level : of confidence
    resamples, seed : of the bootstrap; the same values give the same interval in every process
    """
    units = np.asarray(values, dtype=float)
    times = np.ones(len(units), np.int64) if many is None else np.asarray(many, np.int64)
    missing = np.isnan(units)
    if missing.any():
        units, times = units[~missing], times[~missing]
    n = int(times.sum())
    if n > MANY:
        normal = _of_very_many(units, times, n, level)
        if normal is not None:
            return normal
    if n == 0:
        return Estimate(0, math.nan, math.nan, math.nan, math.nan, "none")
    order = np.argsort(units)  # sums depend on the order in the last digit
    units, times = units[order], times[order]
    # rounding makes equal averages of items equal, whatever the order in which they were added up
    distinct, where = np.unique(np.round(units, 12), return_inverse=True)
    counts = np.bincount(where, weights=times).astype(np.int64)
    mean = float(distinct @ counts / n)
    if n == 1:
        return Estimate(1, mean, math.nan, math.nan, math.nan, "none")
    if len(distinct) == 1:
        edge = distinct[0]
        limit = ((1 - level) / 2) ** (1 / n)
        if proportion and edge == 1:
            return Estimate(n, 1.0, 0.0, limit, 1.0, "exact")
        if proportion and edge == 0:
            return Estimate(n, 0.0, 0.0, 0.0, 1 - limit, "exact")
        return Estimate(n, mean, 0.0, math.nan, math.nan, "none")
    sem = math.sqrt(float(counts @ (distinct - mean) ** 2) / (n - 1) / n)
    if proportion and len(distinct) == 2 and distinct[0] == 0 and distinct[1] == 1:
        return Estimate(n, mean, sem, *binomial_limits(int(counts[1]), n, level), "binomial")
    if proportion and 0 < mean < 1:
        return Estimate(n, mean, sem, *score_limits(mean, sem, n - 1, level), "score")
    low, high = _interval(tuple(distinct), tuple(int(count) for count in counts), level, resamples, seed)
    return Estimate(n, mean, sem, low, high, "bootstrap")


@functools.lru_cache(maxsize=4096)
def binomial_limits(right: int, n: int, level: float = LEVEL) -> tuple[float, float]:
    """The exact interval of a share, from ``right`` of ``n`` (neither none nor all): shares whose mid-p, in either direction, is above (1 - level) / 2."""
    from scipy.special import betainc

    def beyond(share: float) -> float:
        """How probable more are, and half of as many."""
        return float(betainc(right + 1, n - right, share) + betainc(right, n - right + 1, share)) / 2

    def where(wanted: float) -> float:
        low, high = 0.0, 1.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if beyond(middle) < wanted else (low, middle)
        return (low + high) / 2

    return where((1 - level) / 2), where((1 + level) / 2)


def score_limits(mean: float, sem: float, df: float, level: float = LEVEL) -> tuple[float, float]:
    """The shares of which a mean is as far away as Student's t allows, where the variance of a mean is in proportion to ``share x (1 - share)``.

    This is the interval of Wilson (1927, Journal of the American Statistical Association 22, 209-212) with the effective number of answers in the place of
    their number, as survey statistics has it for clusters (Dean & Pagano, 2015, Journal of Survey Statistics and Methodology 3, 484-503).

    Parameters
    ----------
    mean, sem, df : a share within 0 and 1, its standard error (above 0), and the degrees of freedom of that
    """
    from scipy.special import stdtrit

    wide = float(stdtrit(df, (1 + level) / 2)) ** 2 * sem**2 / (mean * (1 - mean))
    middle, reach = (mean + wide / 2) / (1 + wide), math.sqrt(wide * mean * (1 - mean) + wide**2 / 4) / (1 + wide)
    return max(0.0, middle - reach), min(1.0, middle + reach)


def _of_very_many(units: np.ndarray, times: np.ndarray, n: int, level: float) -> Estimate | None:
    """The normal estimate, where the mean of so many units is as good as normal."""
    from scipy.special import ndtri

    mean = float(units @ times) / n
    away = units - mean
    spread = math.sqrt(float(times @ away**2) / n)
    if spread < 1e-12 or abs(float(times @ away**3) / n / spread**3) >= _SKEW * math.sqrt(n):
        return None
    sem = spread / math.sqrt(n - 1)
    reach = float(ndtri((1 + level) / 2)) * sem
    return Estimate(n, mean, sem, mean - reach, mean + reach, "normal")


@functools.lru_cache(maxsize=4096)
def _interval(distinct: tuple[float, ...], counts: tuple[int, ...], level: float, resamples: int, seed: int) -> tuple[float, float]:
    """Limits of the expanded percentile interval of the mean of ``counts[i]`` units of value ``distinct[i]``."""
    from scipy.special import ndtr, stdtrit  # the normal and t distributions; scipy.stats takes a second to import

    n = sum(counts)
    random = np.random.RandomState(seed)
    share = np.asarray(counts) / n
    step = max(1, _CHUNK // len(distinct))
    means = np.concatenate([random.multinomial(n, share, size=min(step, resamples - done)) @ np.asarray(distinct) / n for done in range(0, resamples, step)])
    tail = float(ndtr(-math.sqrt(n / (n - 1)) * stdtrit(n - 1, (1 + level) / 2)))
    low, high = np.quantile(means, [tail, 1 - tail])
    return float(low), float(high)


def estimate_pooled(
    counts: np.ndarray,
    statistic: Callable[[np.ndarray], np.ndarray],
    *,
    many: np.ndarray | None = None,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Estimate:
    """A statistic of summed counts (such as d'), with an interval from resampling the units that were summed.

    The interval is the expanded percentile bootstrap of :func:`estimate`; ``sem`` is the standard deviation of the statistic over resamples. Where
    units are all alike, or no resample differs, there is no interval.

    Parameters
    ----------
    counts : a row for each unit, a column for each count
    many : how many units have each row; one when not given
    statistic : from rows of summed counts to one number each
    level, resamples, seed : of the bootstrap; the same counts give the same interval in every process, whatever their order
    """
    from scipy.special import ndtr, stdtrit

    whole, drawn, n = pooled_draws(counts, statistic, many=many, resamples=resamples, seed=seed)
    if drawn is None:
        return Estimate(n, whole, math.nan, math.nan, math.nan, "none")
    tail = float(ndtr(-math.sqrt(n / (n - 1)) * stdtrit(n - 1, (1 + level) / 2)))
    low, high = np.quantile(drawn, [tail, 1 - tail])
    return Estimate(n, whole, float(drawn.std(ddof=1)), float(low), float(high), "bootstrap")


def pooled_draws(
    counts: np.ndarray,
    statistic: Callable[[np.ndarray], np.ndarray],
    *,
    many: np.ndarray | None = None,
    strata: np.ndarray | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> tuple[float, np.ndarray | None, int]:
    """A statistic of summed counts, its values over resamples (None where it cannot vary), and how many units there are; see :func:`estimate_pooled`.

    Parameters
    ----------
    strata : the number of each unit's stratum, within which units are drawn again (as many as there are in it); one for all when not given
    """
    import pandas as pd

    times = np.ones(len(counts), np.int64) if many is None else np.asarray(many, np.int64)
    n = int(times.sum())
    if n == 0:
        return math.nan, None, 0
    whole = float(np.asarray(statistic((times @ np.asarray(counts, float))[None]))[0])
    if n == 1 or not math.isfinite(whole):
        return whole, None, n
    columns, random = list(range(counts.shape[1])), np.random.RandomState(seed)
    drawn_sums: np.ndarray | float = 0.0
    for stratum in [slice(None)] if strata is None else [strata == one for one in np.unique(strata)]:
        alike = pd.DataFrame(counts[stratum], columns=columns).assign(times=times[stratum]).groupby(columns, sort=True)["times"].sum()
        distinct, shared = np.array(alike.index.to_list(), dtype=float).reshape(len(alike), -1), alike.to_numpy()
        n_units, step = int(shared.sum()), max(1, _CHUNK // len(distinct))
        draws = [random.multinomial(n_units, shared / n_units, size=min(step, resamples - done)) @ distinct for done in range(0, resamples, step)]
        drawn_sums = drawn_sums + np.concatenate(draws)
    drawn = np.asarray(statistic(np.asarray(drawn_sums)), dtype=float)
    drawn = drawn[np.isfinite(drawn)]
    return whole, None if len(drawn) < 2 or np.ptp(drawn) < 1e-12 else drawn, n
