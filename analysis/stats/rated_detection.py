"""Receiver operating characteristics from ratings: points, the area under the curve, and signal
detection with unequal variances by maximum likelihood.

Evidence is a number for each answer that is higher the more the answer speaks for a signal: the
answer and how sure one was of it, in one order. Each of its values is a criterion, and gives a
point of the curve: the shares of signals and of others at that value or above it.

* Area: the share of pairs of a signal and another question in which the signal has more evidence,
  equal ones counted half (Bamber, 1975, Journal of Mathematical Psychology 12, 387-415). Its
  variance is that of DeLong, DeLong and Clarke-Pearson (1988, Biometrics 44, 837-845); where trials
  have several questions, that of Obuchowski (1997, Biometrics 53, 567-578). The interval is taken
  on the logit; at 0 and 1 it is that of Newcombe (2006, Statistics in Medicine 25, 559-573, method
  5).
* Model: evidence is normal, with mean 0 and standard deviation 1 without a signal, and with another
  mean and standard deviation with one. The curve of z-scores is then a line, z(H) = intercept +
  slope x z(F), whose slope is the ratio of the two standard deviations (others to signals). d_a is
  the distance of the means in units of the root mean square of both standard deviations: sqrt(2 /
  (1 + slope²)) x intercept (Simpson & Fitter, 1973, Psychological Bulletin 80, 481-488; Macmillan &
  Creelman, 2005, chapter 3). With a slope of 1 it is d'. Fitted by Fisher's scoring (Dorfman & Alf,
  1969, Journal of Mathematical Psychology 6, 487-496).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..means.bootstrap import LEVEL

#: Least questions of each kind (signals, others) for a fit: below, planted parameters are not
#: recovered in simulation (docs/measurements.md has the table).
ENOUGH = 50
#: Least different values of evidence for a fit: with three the model has as many parameters as the
#: curve has numbers.
LEAST_LEVELS = 4
#: Least questions of each kind for the interval of an area.
ENOUGH_FOR_AREA = 5
_SLOPES = (0.1, 10.0)
_STEPS = 200


@dataclass(frozen=True)
class RatingCounts:
    """Counts of each value of evidence.

    Parameters
    ----------
    values : of the evidence, ascending; each was given at least once
    signals, others : counts of each value, where there was a signal and where there was none
    """

    values: np.ndarray
    signals: np.ndarray
    others: np.ndarray

    @classmethod
    def of(cls, evidence: np.ndarray, signal: np.ndarray) -> RatingCounts:
        """The counts of some answers."""
        values, codes = np.unique(evidence, return_inverse=True)
        return cls(
            values,
            np.bincount(codes[signal], minlength=len(values)),
            np.bincount(codes[~signal], minlength=len(values)),
        )

    def points(self) -> tuple[np.ndarray, np.ndarray]:
        """Shares of others and of signals at each value or above it, from the strictest criterion
        on; the corners (0, 0) and (1, 1) are left out."""
        alarms, hits = (np.cumsum(counts[::-1])[:-1] / counts.sum() for counts in (self.others, self.signals))
        return alarms, hits


@dataclass(frozen=True)
class Area:
    """The area under a curve, with its interval; NaN where there is none."""

    value: float
    low: float
    high: float


def area_under_curve(
    evidence: np.ndarray, signal: np.ndarray, trials: np.ndarray | None = None, level: float = LEVEL
) -> Area:
    """The area under the curve.

    Parameters
    ----------
    evidence, signal : of each answer its evidence, and whether there was a signal
    trials : the trial of each answer; each has its own when not given
    level : of the interval; there is none below :data:`ENOUGH_FOR_AREA` questions of each kind
    """
    from scipy.special import ndtri

    many, others = int(signal.sum()), int((~signal).sum())
    if not many or not others:
        return Area(math.nan, math.nan, math.nan)
    counts = RatingCounts.of(evidence, signal)
    place = np.searchsorted(counts.values, evidence)
    below_signal = (np.cumsum(counts.others) - counts.others / 2) / others
    above_other = 1 - (np.cumsum(counts.signals) - counts.signals / 2) / many
    each = np.where(signal, below_signal[place], above_other[place])
    value = float(each[signal].mean())
    if min(many, others) < ENOUGH_FOR_AREA:
        return Area(value, math.nan, math.nan)
    variance = _variance(each - value, signal, trials, many, others)
    if not 0 < value < 1 or not variance > 0:
        return Area(value, *_limits_without_spread(value, many, others, level))
    middle, reach = (
        math.log(value / (1 - value)),
        float(ndtri((1 + level) / 2)) * math.sqrt(variance) / (value * (1 - value)),
    )
    low, high = (1 / (1 + math.exp(-end)) for end in (middle - reach, middle + reach))
    return Area(value, low, high)


def _limits_without_spread(value: float, many: int, others: int, level: float) -> tuple[float, float]:
    """The areas from which one of 0 or 1 is just within reach (Newcombe, 2006, method 5)."""
    from scipy.optimize import brentq
    from scipy.special import ndtri

    half, z, tiny = (many + others) / 2, float(ndtri((1 + level) / 2)), 1e-12

    def beyond(area: float) -> float:
        skew = (1 - area) / (2 - area) + area / (1 + area)
        return (value - area) ** 2 - z**2 * area * (1 - area) * (1 + (half - 1) * skew) / (many * others)

    low = float(brentq(beyond, tiny, min(value, 1 - tiny))) if value > tiny else 0.0  # type: ignore[arg-type]
    high = float(brentq(beyond, max(value, tiny), 1 - tiny)) if value < 1 - tiny else 1.0  # type: ignore[arg-type]
    return low, high


def _variance(away: np.ndarray, signal: np.ndarray, trials: np.ndarray | None, many: int, others: int) -> float:
    """Of an area, from how far the component of each answer is from it."""
    if trials is None or len(np.unique(trials)) == len(trials):
        return float((away[signal] ** 2).sum() / (many - 1) / many + (away[~signal] ** 2).sum() / (others - 1) / others)
    adds = np.bincount(np.unique(trials, return_inverse=True)[1], weights=np.where(signal, away / many, away / others))
    return float((adds**2).sum() * len(adds) / (len(adds) - 1)) if len(adds) > 1 else math.nan


@dataclass(frozen=True)
class UnequalVariance:
    """Signal detection with unequal variances.

    Parameters
    ----------
    intercept, slope : of the line of z-scores
    criteria : ascending, in standard deviations of the evidence without a signal, whose mean is 0
    d_a_low, d_a_high : the interval of :attr:`d_a`
    slope_low, slope_high : the interval of the slope, taken on its logarithm
    g2, df, p : how far the counts are from those that the model expects (likelihood ratio)
    """

    intercept: float
    slope: float
    criteria: tuple[float, ...] = ()
    d_a_low: float = math.nan
    d_a_high: float = math.nan
    slope_low: float = math.nan
    slope_high: float = math.nan
    g2: float = math.nan
    df: int = 0
    p: float = math.nan

    @property
    def d_a(self) -> float:
        """The distance of both distributions."""
        return self.intercept * math.sqrt(2 / (1 + self.slope**2))

    def hits(self, alarms: np.ndarray) -> np.ndarray:
        """The share of hits that the model expects at some shares of false alarms."""
        from scipy.special import ndtr, ndtri

        return ndtr(self.intercept + self.slope * ndtri(alarms))


def fit_unequal_variance(counts: RatingCounts, level: float = LEVEL) -> UnequalVariance | None:
    """The model of maximum likelihood; None where the likelihood has no peak, as where signals and
    others never share a rating."""
    from scipy.special import chdtrc, ndtri

    signals, others = counts.signals.astype(float), counts.others.astype(float)
    if len(counts.values) < LEAST_LEVELS or not signals.sum() or not others.sum():
        return None
    at = _start(signals, others)
    here = _log_likelihood(at, signals, others)
    for _ in range(_STEPS):
        slope, information = _score(at, signals, others)
        try:
            step = np.linalg.solve(information, slope)
        except np.linalg.LinAlgError:
            return None
        factor, there = 1.0, _log_likelihood(at + step, signals, others)
        while not there >= here and factor > 1e-8:
            factor /= 2
            there = _log_likelihood(at + factor * step, signals, others)
        if not there >= here:
            break
        at, gained, here = at + factor * step, there - here, there
        if gained < 1e-10 and float(np.abs(step).max()) < 1e-6:
            break
    slope, information = _score(at, signals, others)
    if (
        not np.isfinite(information).all()
        or np.linalg.eigvalsh(information)[0] <= 1e-8
        or not _SLOPES[0] < at[1] < _SLOPES[1]
        or float(slope @ np.linalg.solve(information, slope)) > 1e-4  # not at the peak
    ):
        return None
    covariance = np.linalg.inv(information)
    intercept, ratio = float(at[0]), float(at[1])
    scale = math.sqrt(2 / (1 + ratio**2))
    gradient = np.zeros(len(at))
    gradient[:2] = scale, -intercept * ratio * scale / (1 + ratio**2)
    z = float(ndtri((1 + level) / 2))
    reach, spread = z * math.sqrt(gradient @ covariance @ gradient), z * math.sqrt(covariance[1, 1]) / ratio
    df = len(signals) - 3
    g2 = max(0.0, 2 * (_saturated(signals) + _saturated(others) - here))
    d_a = scale * intercept
    return UnequalVariance(
        intercept,
        ratio,
        tuple(map(float, at[2:])),
        d_a - reach,
        d_a + reach,
        ratio * math.exp(-spread),
        ratio * math.exp(spread),
        g2,
        df,
        float(chdtrc(df, g2)) if df else math.nan,
    )


def _start(signals: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Criteria from the others, and the line through the z-scores of both; half an answer is added
    to each count."""
    from scipy.special import ndtri

    below = [ndtri(np.cumsum(counts + 0.5)[:-1] / (counts + 0.5).sum()) for counts in (others, signals)]
    ratio = float(np.clip(np.std(below[1]) / np.std(below[0]), 0.3, 3.0))
    return np.concatenate([[float(np.mean(ratio * below[0] - below[1])), ratio], below[0]])


def _log_likelihood(at: np.ndarray, signals: np.ndarray, others: np.ndarray) -> float:
    if not at[1] > 0 or not (np.diff(at[2:]) > 0).all():
        return -math.inf
    expected = [_shares(at[2:]), _shares(at[1] * at[2:] - at[0])]
    if min(share[count > 0].min() for share, count in zip(expected, (others, signals), strict=True)) <= 0:
        return -math.inf
    return float(
        sum(
            (count[count > 0] * np.log(share[count > 0])).sum()
            for share, count in zip(expected, (others, signals), strict=True)
        )
    )


def _saturated(counts: np.ndarray) -> float:
    """The log-likelihood of counts at their own shares."""
    seen = counts[counts > 0]
    return float((seen * np.log(seen / counts.sum())).sum())


def _shares(criteria: np.ndarray) -> np.ndarray:
    """Return the shares of a normal distribution between criteria; from the nearer tail, so that
    small shares keep their digits."""
    from scipy.special import ndtr

    ends = np.concatenate([[-np.inf], criteria, [np.inf]])
    low, high = ends[:-1], ends[1:]
    return np.where(low > 0, ndtr(-low) - ndtr(-high), ndtr(high) - ndtr(low))


def _score(at: np.ndarray, signals: np.ndarray, others: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The slope of the log-likelihood and the expected information, in the intercept, the slope and
    the criteria."""
    many = len(signals)
    slope, information = np.zeros(len(at)), np.zeros((len(at), len(at)))
    for counts, times, shift in ((others, 1.0, 0.0), (signals, at[1], at[0])):
        places = times * at[2:] - shift
        density = np.exp(-(places**2) / 2) / math.sqrt(2 * math.pi)
        change = np.zeros((many - 1, len(at)))  # of what lies below each criterion
        change[np.arange(many - 1), np.arange(2, len(at))] = density * times
        if counts is signals:
            change[:, 0], change[:, 1] = -density, density * at[2:]
        none = np.zeros((1, len(at)))
        shares, changes = np.maximum(_shares(places), 1e-300), np.diff(np.concatenate([none, change, none]), axis=0)
        slope += (counts / shares) @ changes
        information += counts.sum() * (changes / shares[:, None]).T @ changes
    return slope, information
