"""Mean, standard error and interval of independent units (participants, sessions or trials); a
bootstrap for statistics of summed counts."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

#: Below this many units an interval is called rough.
FEW = 10
RESAMPLES = 10_000
LEVEL = 0.95
_CHUNK = 4_000_000
#: Draws of so many numbers at most are kept (4 MB).
_KEPT = 500_000


@dataclass(frozen=True)
class MeanEstimate:
    """A mean with its uncertainty.

    Parameters
    ----------
    n : units
    mean, sem : mean and standard error of the mean of the units (NaN where undefined)
    low, high : limits of the interval (NaN when there is none)
    interval : ``score``, ``t``, ``binomial``, ``exact``, ``none``, or of summed counts
        ``bootstrap``
    """

    n: int
    mean: float
    sem: float
    low: float
    high: float
    interval: str


def share_limits(mean: float, sem: float, df: float, n: int, level: float = LEVEL) -> tuple[float, float]:
    """The interval of a share, from its standard error and the number of its units.

    It is Wilson's score interval for as many independent answers as have that standard error
    (:func:`score_limits`). Where every unit is at 0 or every unit at 1, it ends at the exact
    binomial limit (Clopper & Pearson, 1934): ``(alpha/2) ** (1/n)`` for all at 1. That also holds
    for units that are themselves means in 0..1, since their expectation is at least the probability
    of a 1. Where units are alike in between, there is none (NaN).
    """
    if sem > 0 and 0 < mean < 1:
        return score_limits(mean, sem, df, level)
    edge, limit = round(mean), ((1 - level) / 2) ** (1 / n) if n else math.nan
    if sem != 0 or n < 2 or abs(mean - edge) > 1e-12:
        return math.nan, math.nan
    return (limit, 1.0) if edge else (0.0, 1 - limit)


@functools.lru_cache(maxsize=4096)
def binomial_limits(right: int, n: int, level: float = LEVEL) -> tuple[float, float]:
    """The exact interval of a share, from ``right`` of ``n`` (neither none nor all): shares whose
    mid-p, in either direction, is above (1 - level) / 2."""
    from scipy.special import betainc

    def beyond(share: float) -> float:
        """Return the probability of more, plus half of that of as many."""
        return float(betainc(right + 1, n - right, share) + betainc(right, n - right + 1, share)) / 2

    def where(wanted: float) -> float:
        low, high = 0.0, 1.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if beyond(middle) < wanted else (low, middle)
        return (low + high) / 2

    return where((1 - level) / 2), where((1 + level) / 2)


def score_limits(mean: float, sem: float, df: float, level: float = LEVEL) -> tuple[float, float]:
    """The shares of which a mean is as far away as Student's t allows, where the variance of a mean
    grows with ``share x (1 - share)``.

    That of independent answers grows in proportion to it (:func:`wilson_limits`). People who differ
    by a standard deviation in log odds have a variance that grows with its square: a few poor
    performers make the mean of a crowd that is nearly always right, and are seldom among few
    people. The end that is further from 0 and 1 therefore grows with the power of 1.5, where this
    is further out. Without it, intervals of shares above 90 % held down to 91 % where people differ
    by 1.0.

    Parameters
    ----------
    mean, sem, df : a share within 0 and 1, its standard error (above 0), and the degrees of freedom
        of that
    """
    from scipy.special import stdtrit

    low, high = wilson_limits(mean, sem, df, level)
    reach = float(stdtrit(df, (1 + level) / 2)) * sem
    return (_further(mean, low, 0.0, reach), high) if mean > 0.5 else (low, _further(mean, high, 1.0, reach))


def wilson_limits(mean: float, sem: float, df: float, level: float = LEVEL) -> tuple[float, float]:
    """:func:`score_limits` where the variance of a mean is in proportion to ``share x (1 -
    share)``.

    This is the interval of Wilson (1927, Journal of the American Statistical Association 22,
    209-212) with the effective number of answers in the place of their number, as survey statistics
    has it for clusters (Dean & Pagano, 2015, Journal of Survey Statistics and Methodology 3,
    484-503).
    """
    from scipy.special import stdtrit

    wide = float(stdtrit(df, (1 + level) / 2)) ** 2 * sem**2 / (mean * (1 - mean))
    middle, reach = (mean + wide / 2) / (1 + wide), math.sqrt(wide * mean * (1 - mean) + wide**2 / 4) / (1 + wide)
    return max(0.0, middle - reach), min(1.0, middle + reach)


def _further(mean: float, end: float, edge: float, reach: float) -> float:
    """An end of a score interval, moved towards ``edge`` until the mean is as far away as t allows
    where the variance grows with the power of 1.5."""
    spread = mean * (1 - mean)
    inner, outer = end, edge
    if end * (1 - end) <= spread:
        return end
    for _ in range(40):
        share = (inner + outer) / 2
        inner, outer = (
            (share, outer) if abs(mean - share) <= reach * (share * (1 - share) / spread) ** 0.75 else (inner, share)
        )
    return inner


@functools.lru_cache(maxsize=8)
def _resampled(distinct: bytes, shared: bytes, resamples: int, seed: int) -> np.ndarray:
    """Sums of counts in resamples of units; statistics of the same counts, such as d' and
    criterion, share them.

    Parameters
    ----------
    distinct, shared : different rows of counts (float64), and how many units have each (int64)
    """
    times = np.frombuffer(shared, np.int64)
    rows = np.frombuffer(distinct, float).reshape(len(times), -1)
    drawn = _kept_draws if len(times) * resamples <= _KEPT else _draws
    sums = np.concatenate([times_drawn @ rows for times_drawn in drawn(shared, resamples, seed)])
    sums.flags.writeable = False
    return sums


def _draws(shared: bytes, resamples: int, seed: int) -> Iterator[np.ndarray]:
    """How often each of the different rows is drawn in every resample, chunk by chunk."""
    times, random = np.frombuffer(shared, np.int64), np.random.RandomState(seed)
    n, step = int(times.sum()), max(1, _CHUNK // len(times))
    for done in range(0, resamples, step):
        yield random.multinomial(n, times / n, size=min(step, resamples - done))


@functools.lru_cache(maxsize=16)
def _kept_draws(shared: bytes, resamples: int, seed: int) -> Sequence[np.ndarray]:
    """The draws of :func:`_draws`: other counts of as many units, as other answerers have them,
    share them."""
    return tuple(_draws(shared, resamples, seed))


def estimate_pooled(
    counts: np.ndarray,
    statistic: Callable[[np.ndarray], np.ndarray],
    *,
    many: np.ndarray | None = None,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> MeanEstimate:
    """A statistic of summed counts (such as d'), with an interval from resampling the units that
    were summed.

    The interval is the expanded percentile bootstrap: as the plain percentile interval is too
    narrow in small samples, its quantiles are taken at ``Phi(-sqrt(n / (n - 1)) * t(1 - alpha/2; n
    - 1))`` and its mirror image (Hesterberg, 2015, The American Statistician 69, 371-386). It is
    for trials and blocks, of which there are many. ``sem`` is the standard deviation of the
    statistic over resamples. Where units are all alike, or no resample differs, there is no
    interval.

    Parameters
    ----------
    counts : a row for each unit, a column for each count
    many : how many units have each row; one when not given
    statistic : from rows of summed counts to one number each
    level, resamples, seed : of the bootstrap; the same counts give the same interval in every
        process, whatever their order
    """
    from scipy.special import ndtr, stdtrit

    times = np.ones(len(counts), np.int64) if many is None else np.asarray(many, np.int64)
    n = int(times.sum())
    if n == 0:
        return MeanEstimate(0, math.nan, math.nan, math.nan, math.nan, "none")
    whole = float(np.asarray(statistic((times @ np.asarray(counts, float))[None]))[0])
    nothing = MeanEstimate(n, whole, math.nan, math.nan, math.nan, "none")
    if n == 1 or not math.isfinite(whole):
        return nothing
    distinct, kind = np.unique(np.asarray(counts, float), axis=0, return_inverse=True)
    shared = np.bincount(kind.reshape(-1), weights=times).astype(np.int64)
    sums = _resampled(distinct.tobytes(), shared.tobytes(), resamples, seed)
    drawn = np.asarray(statistic(sums), dtype=float)
    drawn = drawn[np.isfinite(drawn)]
    if len(drawn) < 2 or np.ptp(drawn) < 1e-12:
        return nothing
    tail = float(ndtr(-math.sqrt(n / (n - 1)) * stdtrit(n - 1, (1 + level) / 2)))
    low, high = np.quantile(drawn, [tail, 1 - tail])
    return MeanEstimate(n, whole, float(drawn.std(ddof=1)), float(low), float(high), "bootstrap")
