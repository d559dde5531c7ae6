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
