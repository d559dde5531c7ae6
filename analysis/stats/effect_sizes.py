"""Effect sizes of two groups, with intervals. Pure functions of counts or of values, one
independent unit each.

Answers of one participant, and items of one trial, are not independent of each other: give shares
of participants (Cohen's d, rank-biserial) or independent trials here, and leave dependent answers
to :mod:`.mixed_model`. Every effect is above 0 (an odds ratio above 1) where the first group has
more.

* Odds ratio: interval after Woolf (1955, Annals of Human Genetics 19, 251-253). Where a count is 0,
  half an answer is added to all four, and ``note`` says so.
* Difference of shares: interval from two Wilson intervals (Newcombe, 1998, Statistics in Medicine
  17, 873-890, method 10); it never leaves -1 to 1.
* Cohen's h: difference of the arcsine-transformed shares (Cohen, 1988); its standard error is
  ``sqrt(1/n1 + 1/n2)``.
* Cohen's d: difference in standard deviations (pooled; of the differences in pairs), and Hedges' g,
  the same without its bias in small samples. Intervals from the noncentral t distribution (Steiger
  & Fouladi, 1997).
* Rank-biserial correlation: ``2 U / (n1 n2) - 1`` with U of the first group, which is the share of
  pairs in which the first is larger minus that in which it is smaller. Interval after Newcombe
  (2006, Statistics in Medicine 25, 559-573, method 5).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...core.errors import SpanLabError
from ..means.bootstrap import LEVEL


@dataclass(frozen=True, slots=True)
class EffectSize:
    """An effect size.

    Parameters
    ----------
    name : of the measure
    value, low, high : with its interval (NaN where there is none)
    n_first, n_second : units in both groups
    note : what to know of it; often empty
    """

    name: str
    value: float
    low: float
    high: float
    n_first: int
    n_second: int
    note: str = ""


def odds_ratio(right_first: int, n_first: int, right_second: int, n_second: int, level: float = LEVEL) -> EffectSize:
    """The odds of being right in the first group over those in the second."""
    _counted(right_first, n_first, right_second, n_second)
    cells = np.array([right_first, n_first - right_first, right_second, n_second - right_second], float)
    note = ""
    if not n_first or not n_second:
        return EffectSize("odds ratio", math.nan, math.nan, math.nan, n_first, n_second, "a group is empty")
    if (cells == 0).any():
        cells, note = cells + 0.5, "a count is 0: half an answer added to all"
    middle = math.log(cells[0] * cells[3] / (cells[1] * cells[2]))
    reach = _z(level) * math.sqrt((1 / cells).sum())
    return EffectSize(
        "odds ratio", math.exp(middle), math.exp(middle - reach), math.exp(middle + reach), n_first, n_second, note
    )


def risk_difference(
    right_first: int, n_first: int, right_second: int, n_second: int, level: float = LEVEL
) -> EffectSize:
    """The share of right answers in the first group minus that in the second."""
    _counted(right_first, n_first, right_second, n_second)
    if not n_first or not n_second:
        return EffectSize("difference of shares", math.nan, math.nan, math.nan, n_first, n_second, "a group is empty")
    one, other = right_first / n_first, right_second / n_second
    (low_one, high_one), (low_other, high_other) = wilson(one, n_first, level), wilson(other, n_second, level)
    low = one - other - math.hypot(one - low_one, high_other - other)
    high = one - other + math.hypot(high_one - one, other - low_other)
    return EffectSize("difference of shares", one - other, low, high, n_first, n_second)


def h_of(first: float, second: float) -> float:
    """Cohen's h of two shares."""
    return 2 * math.asin(math.sqrt(first)) - 2 * math.asin(math.sqrt(second))


def cohens_h(right_first: int, n_first: int, right_second: int, n_second: int, level: float = LEVEL) -> EffectSize:
    """Cohen's h: .2 is called small, .5 medium, .8 large."""
    _counted(right_first, n_first, right_second, n_second)
    if not n_first or not n_second:
        return EffectSize("Cohen's h", math.nan, math.nan, math.nan, n_first, n_second, "a group is empty")
    value, reach = (
        h_of(right_first / n_first, right_second / n_second),
        _z(level) * math.sqrt(1 / n_first + 1 / n_second),
    )
    return EffectSize("Cohen's h", value, max(value - reach, -math.pi), min(value + reach, math.pi), n_first, n_second)


def cohens_d(
    first: Sequence[float] | np.ndarray,
    second: Sequence[float] | np.ndarray,
    *,
    paired: bool = False,
    unbiased: bool = False,
    level: float = LEVEL,
) -> EffectSize:
    """Cohen's d of two groups of values, or of pairs.

    Parameters
    ----------
    paired : values belong together in pairs; the difference is in standard deviations of the
        differences (d_z), and pairs with NaN are left out
    unbiased : Hedges' g instead
    """
    one, other = np.asarray(first, float), np.asarray(second, float)
    if paired and len(one) != len(other):
        raise SpanLabError(f"pairs need as many values in both groups; found {len(one)} and {len(other)}")
    name = ("Hedges' g" if unbiased else "Cohen's d") + (" of pairs" if paired else "")
    if paired:
        difference = (one - other)[~np.isnan(one - other)]
        n = other_n = len(difference)
        df, scale = n - 1, math.sqrt(n) if n else math.nan
        middle, spread = (difference.mean(), difference.std(ddof=1)) if n > 1 else (math.nan, 0.0)
    else:
        one, other = one[~np.isnan(one)], other[~np.isnan(other)]
        n, other_n = len(one), len(other)
        df = n + other_n - 2
        enough = n > 0 and other_n > 0 and df > 0
        scale = math.sqrt(n * other_n / (n + other_n)) if enough else math.nan
        spread = (
            math.sqrt((((one - one.mean()) ** 2).sum() + ((other - other.mean()) ** 2).sum()) / df) if enough else 0.0
        )
        middle = one.mean() - other.mean() if enough else math.nan
    if not spread > 1e-12 * max(1.0, abs(middle)):
        note = "too few values" if math.isnan(middle) else "no spread: values within a group are all alike"
        return EffectSize(name, math.nan, math.nan, math.nan, n, other_n, note)
    d = middle / spread
    low, high = (bound / scale for bound in _noncentrality(d * scale, df, level))
    factor = (
        math.exp(math.lgamma(df / 2) - math.lgamma((df - 1) / 2)) / math.sqrt(df / 2) if unbiased and df > 1 else 1.0
    )
    return EffectSize(name, float(d * factor), float(low * factor), float(high * factor), n, other_n)


def rank_biserial(
    first: Sequence[float] | np.ndarray, second: Sequence[float] | np.ndarray, level: float = LEVEL
) -> EffectSize:
    """The rank-biserial correlation of two groups of values."""
    from scipy.optimize import brentq
    from scipy.stats import rankdata

    one, other = (np.asarray(values, float)[~np.isnan(np.asarray(values, float))] for values in (first, second))
    n, many = len(one), len(other)
    if not n or not many:
        return EffectSize("rank-biserial r", math.nan, math.nan, math.nan, n, many, "a group is empty")
    share = float((rankdata(np.concatenate([one, other]))[:n].sum() - n * (n + 1) / 2) / (n * many))
    half, z = (n + many) / 2, _z(level)

    def beyond(p: float) -> float:
        variance = p * (1 - p) * (1 + (half - 1) * ((1 - p) / (2 - p) + p / (1 + p))) / (n * many)
        return (share - p) ** 2 - z**2 * variance

    # the ends at which the observed share would be just within reach
    tiny = 1e-12
    low = float(brentq(beyond, tiny, min(share, 1 - tiny))) if share > tiny else 0.0  # type: ignore[arg-type]
    high = float(brentq(beyond, max(share, tiny), 1 - tiny)) if share < 1 - tiny else 1.0  # type: ignore[arg-type]
    return EffectSize("rank-biserial r", 2 * share - 1, 2 * low - 1, 2 * high - 1, n, many)


def _counted(*counts: int) -> None:
    for right, n in (counts[:2], counts[2:]):
        if not 0 <= right <= n:
            raise SpanLabError(f"there can be 0 to {n} right answers among {n}; found {right}")


def _z(level: float) -> float:
    from scipy.special import ndtri

    return float(ndtri((1 + level) / 2))


def wilson(share: float, n: int, level: float) -> tuple[float, float]:
    """The score interval of a share of ``n`` independent cases (Wilson, 1927)."""
    z = _z(level)
    middle, reach = share + z * z / (2 * n), z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return (middle - reach) / (1 + z * z / n), (middle + reach) / (1 + z * z / n)


def _noncentrality(t: float, df: int, level: float) -> tuple[float, float]:
    """The noncentralities for which ``t`` lies just at the ends of the middle ``level`` of the
    noncentral t distribution."""
    from scipy.optimize import brentq
    from scipy.special import chdtri, ndtr

    # P(T <= t) is the mean of Phi(t * s - nc) over the distribution of s, a standard deviation with
    # df degrees of freedom. SciPy's own is NaN in places.
    places, weights = np.polynomial.legendre.leggauss(400)
    spread = np.sqrt(chdtri(df, (1 + places) / 2) / df)

    def below(nc: float) -> float:
        return float(weights @ ndtr(t * spread - nc)) / 2

    tail, reach = (1 - level) / 2, 10 + 10 * abs(t)
    low, high = (brentq(lambda nc, at=at: below(nc) - at, t - reach, t + reach) for at in (1 - tail, tail))
    return float(low), float(high)  # type: ignore[arg-type]
