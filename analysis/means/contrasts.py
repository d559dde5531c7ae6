"""Weighted sums of the means of cells (a slope, a mean, a difference), with standard error, t-test
and interval, whatever units the cells share."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from ..data.coding import mean_or_nan
from .bootstrap import LEVEL, MeanEstimate
from .cell_means import Cells

#: Below this many right or wrong answers in a cell the spread between units tells too little: there
#: shares have the standard error of independent answers at least (see the table of coverage in
#: ``docs/measurements.md``).
_RARE = 10
#: A share that is nearer to 0 or 1 than this is skewed over people, and so is what it is a part of.
NEAR = 0.1
#: Units whose cells are counted at a time.
_CHUNK = 100_000


@dataclass(frozen=True)
class SkewedShares:
    """Shares, some of them near 0 or 1, from which a weighted sum is made: how far it may lie
    further out than it was found.

    Where nearly all answers of a condition are right, a few poor performers make its mean, and are
    seldom among few people: then both a difference and its standard error are too small, and
    Student's intervals held down to 88 %, with people who differ by 1.0 in log odds.

    Parameters
    ----------
    means, ses, sizes : of each share its mean (not quite 0 or 1), its standard error and its number
        of units
    weights : of each
    together : correlations of the weighted means, with the signs of the weights
    """

    means: tuple[float, ...]
    ses: tuple[float, ...]
    sizes: tuple[int, ...]
    weights: tuple[float, ...]
    together: np.ndarray

    def reach(self, up: bool, level: float) -> float:
        """The most by which the sum may go up or down: Wilson's intervals of the shares (Zou &
        Donner, 2008, Statistics in Medicine 27, 1693-1702)."""
        away = []
        for mean, se, size, weight in zip(self.means, self.ses, self.sizes, self.weights, strict=True):
            low, high = wilson_limits(mean, se, size - 1, level)
            away.append(abs(weight) * (high - mean if (weight > 0) == up else mean - low))
        return math.sqrt(max(0.0, float(np.array(away) @ self.together @ np.array(away))))


@dataclass(frozen=True)
class Contrast:
    """A weighted sum of means.

    Parameters
    ----------
    value, se, df : the sum, its standard error and its degrees of freedom (after Satterthwaite);
        NaN where undefined
    n : units that enter it
    lone : cells with a single unit, whose spread is unknown; with any, there is no standard error
    level : of confidence
    share : whether it is a mean of shares, which lies within 0 and 1
    skewed : the shares that it is made from, where some of them are near 0 or 1
    span : the least and the most that it can be; without limits unless it is made from shares
    right : how many of ``n`` units were right, where each is right or wrong; -1 elsewhere
    """

    value: float
    se: float
    df: float
    n: int
    lone: int = 0
    level: float = LEVEL
    share: bool = False
    skewed: SkewedShares | None = None
    span: tuple[float, float] = (-math.inf, math.inf)
    right: int = -1

    def against(self, expected: float) -> dict[str, float]:
        """Two-tailed t-test against a value: ``t``, ``df`` and ``p``."""
        from scipy.special import stdtr

        t = (self.value - expected) / self.se
        return {"t": t, "df": self.df, "p": float(2 * stdtr(self.df, -abs(t)))}

    def ends(self, level: float | None = None) -> tuple[float, float]:
        """The interval: of units that are right or wrong :func:`.binomial_limits`, of another mean of
        shares :func:`.share_limits`, else Student's, which holds 0
        where the t-test against 0 does not reject; NaN without a standard error. Of skewed shares
        the end that is further from 0 is that of :meth:`SkewedShares.reach`, where this is further
        out. No end lies beyond what the sum can be.
        """
        from scipy.special import stdtrit

        level = self.level if level is None else level
        if 0 < self.right < self.n:
            return binomial_limits(self.right, self.n, level)
        if self.share:
            return share_limits(self.value, self.se, self.df, self.n, level)
        reach = float(stdtrit(min(self.df, 1e9), (1 + level) / 2)) * self.se if self.se > 0 else math.nan
        down = up = reach
        if self.skewed and reach > 0:  # a sum of 0 is further from 0 on both sides, whatever rounding makes of it
            down = max(reach, self.skewed.reach(False, level)) if self.value < 1e-12 else reach
            up = max(reach, self.skewed.reach(True, level)) if self.value > -1e-12 else reach
        return _within(self.span, self.value - down, self.value + up)

    @property
    def interval(self) -> str:
        """What its interval is: ``binomial``, ``score``, ``exact``, ``t`` or ``none``."""
        if math.isnan(self.ends()[0]):
            return "none"
        if 0 < self.right < self.n:
            return "binomial"
        if not self.share:
            return "t"
        return "score" if self.se else "exact"

    def p(self, expected: float = 0.0) -> float:
        """Two-sided p against a value: that of the t-test, or where the interval is not Student's that
        of :func:`p_of_ends`; so that interval and test never contradict each other."""
        if self.share or self.skewed is not None:
            return p_of_ends(self.ends, expected)
        return self.against(expected)["p"] if self.se > 0 else math.nan


@dataclass(frozen=True)
class Apart:
    """The difference of two weighted sums that have no unit in common, or of one and a number that
    has no spread.

    Parameters
    ----------
    first, second : the difference is the first minus the second
    """

    first: Contrast
    second: Contrast | float

    @property
    def value(self) -> float:
        return self.first.value - (self.second.value if isinstance(self.second, Contrast) else self.second)

    def ends(self, level: float = LEVEL) -> tuple[float, float]:
        """The interval: each end is as far away as the ends of both intervals together, the root of
        the sum of squares (Zou & Donner, 2008, Statistics in Medicine 27, 1693-1702); NaN where one
        of them has none.

        Satterthwaite's degrees of freedom hold too little where three people are beside many
        answers of a machine; these ends do not need them.
        """
        low, high = self.first.ends(level)
        down, up = self.first.value - low, high - self.first.value
        if isinstance(self.second, Contrast):
            low, high = self.second.ends(level)
            down, up = math.hypot(down, high - self.second.value), math.hypot(up, self.second.value - low)
        low, high = self.first.span
        least, most = self.second.span if isinstance(self.second, Contrast) else (self.second, self.second)
        return _within((low - most, high - least), self.value - down, self.value + up)

    def p(self, expected: float = 0.0) -> float:
        """Two-sided p against a value, see :func:`p_of_ends`."""
        return p_of_ends(self.ends, expected)


def _within(span: tuple[float, float], low: float, high: float) -> tuple[float, float]:
    """Return the part of an interval that lies in a span; NaN stays NaN."""
    return float(np.clip(low, *span)), float(np.clip(high, *span))


def p_of_ends(ends: Callable[[float], tuple[float, float]], expected: float) -> float:
    """Two-sided p against a value: 1 minus the level of the interval that ends there; NaN without
    an interval.

    Parameters
    ----------
    ends : the interval of a level
    """
    if math.isnan(ends(LEVEL)[0]):
        return math.nan
    low, high = -700.0, 0.0  # of the logarithm of p
    for _ in range(60):
        middle = (low + high) / 2
        limits = ends(-math.expm1(middle))
        low, high = (low, middle) if not limits[0] <= expected <= limits[1] else (middle, high)
    return math.exp(high)


def over_both(over_wordings: Contrast, over_trials: Contrast) -> Contrast:
    """A sum over wordings whose standard error holds for other wordings and other trials: all
    wordings have the same trials, so that their spread is not that of trials.

    Both variances are added. What wordings and trials have together is in both, so that this is on
    the safe side. Degrees of freedom are those with which the 95% interval reaches as far as those
    over wordings and over trials together, the root of the sum of squares: those of Satterthwaite
    held down to 88% of means over two wordings, whose own spread has one.
    """
    from scipy.special import stdtridf, stdtrit

    parts = [(part.se**2, part.df) for part in (over_wordings, over_trials) if part.se != 0]
    variance = sum(part for part, _ in parts)
    if not variance > 0:
        return replace(over_wordings, se=math.nan if parts else 0.0)
    error, end = math.sqrt(variance), (1 + LEVEL) / 2
    reach = math.hypot(*(math.sqrt(part) * float(stdtrit(df, end)) for part, df in parts))
    return replace(over_wordings, se=error, df=float(stdtridf(end, reach / error)) if len(parts) > 1 else parts[0][1])


def contrast_of(
    cells: Cells, numbers: Sequence[int], weights: np.ndarray, *, shares: bool = False, level: float = LEVEL
) -> Contrast:
    """A weighted sum of the means of some cells; see :func:`contrast`, and :func:`over_both` where
    units are wordings.

    Parameters
    ----------
    shares : whether they are shares of right answers
    """
    if (of_trials := cells.of_trials(numbers)) is not None:
        over_trials = contrast_of(of_trials, numbers, weights, shares=shares, level=level)
        return over_both(
            contrast_of(replace(cells, over_trials={}), numbers, weights, shares=shares, level=level), over_trials
        )
    picked = [[column[one] for one in numbers] for column in (cells.values, cells.ids, cells.many)]
    is_mean = shares and bool((weights >= 0).all()) and abs(float(weights.sum()) - 1) < 1e-9
    answers = np.array([answers_of(cells, number) for number in numbers]) if shares and not is_mean else None
    summed = contrast(picked[0], picked[1], weights, many=picked[2], level=level, answers=answers, share=is_mean)
    if shares:
        summed = replace(summed, span=(float(np.minimum(weights, 0).sum()), float(np.maximum(weights, 0).sum())))
    over_items = of_shared_trials(cells, numbers, weights)
    if over_items is not None and summed.se > 0:
        return over_both(summed, replace(summed, se=math.sqrt(over_items[0]), df=over_items[1]))
    return _counted(summed, picked[0][0], picked[2][0]) if is_mean and len(numbers) == 1 else summed


def _counted(mean: Contrast, values: np.ndarray, many: np.ndarray) -> Contrast:
    """A mean of shares, with the number of right units where each is right or wrong."""
    return replace(mean, right=round(float(values @ many))) if np.isin(values, (0.0, 1.0)).all() else mean


def estimate(values: Sequence[float] | np.ndarray, *, proportion: bool = True, level: float = LEVEL) -> MeanEstimate:
    """Mean, s.e.m. and interval of units that are independent of each other, as :class:`Contrast` has
    them. The order of the units does not matter.

    Parameters
    ----------
    values : one number per unit; NaN is left out
    proportion : whether the units lie in 0..1
    """
    # sums depend on the order in the last digit
    units = np.sort(np.round(np.asarray(values, float), 12))
    units = units[~np.isnan(units)]
    n, mean = len(units), mean_or_nan(units)
    if n < 2:
        return MeanEstimate(n, mean, math.nan, math.nan, math.nan, "none")
    share = proportion and 0 <= mean <= 1
    found = contrast([units], [np.arange(n)], np.ones(1), level=level, share=share)
    found = _counted(found, units, np.ones(n)) if share else found
    return MeanEstimate(n, found.value, found.se, *found.ends(), found.interval)


def of_shared_trials(cells: Cells, numbers: Sequence[int], weights: np.ndarray) -> tuple[float, float] | None:
    """What the choice of trials adds to the variance of a weighted sum where several people (or
    sessions) took the same trials, and its degrees of freedom; None where it adds nothing.

    Clusters are trials, beside people (Cameron, Gelbach & Miller, 2011, Journal of Business &
    Economic Statistics 29, 238-249): the variance between trials, without what answers of one person
    to one trial add to it.
    """
    asked = [(number, weight) for number, weight in zip(numbers, weights, strict=True) if weight]
    if not asked or any(number not in cells.crossed for number, _ in asked):
        return None
    trials, adds, places, fewest = [], [], [], math.inf
    for place, (number, weight) in enumerate(asked):
        unit, trial, value = cells.crossed[number]
        unit = np.unique(unit, return_inverse=True)[1]
        n, many, different = np.bincount(unit), int(unit.max()) + 1, len(np.unique(trial))
        if different < 2 or many < 2:
            return None
        away = value - (np.bincount(unit, value) / n)[unit]
        adds.append(weight * away / (many * n[unit]) * math.sqrt(different / (different - 1)))
        trials.append(trial)
        places.append(np.full(len(trial), place))
        fewest = min(fewest, many)
    number, add = np.unique(np.concatenate(trials), return_inverse=True)[1], np.concatenate(adds)
    there = np.zeros((int(number.max()) + 1, len(asked)), bool)
    there[number, np.concatenate(places)] = True
    variance = float((np.bincount(number, add) ** 2).sum() - (add**2).sum()) * fewest / (fewest - 1)
    degrees = len(there) - len(np.unique(there, axis=0))
    return (variance, float(degrees)) if variance > 0 and degrees > 0 else None


def answers_of(cells: Cells, number: int) -> float:
    """Return how many independent answers would tell as much of the mean of a cell."""
    many = cells.many[number]
    return (
        float(many.sum()) ** 2 / float((many / (cells.trials[number] * questions_of(cells, number))).sum())
        if len(many)
        else 1.0
    )


def are_rare(means: np.ndarray, answers: np.ndarray) -> np.ndarray:
    """Whether fewer than ten answers are right, or wrong. Ten of them may come out as 9.9999 by
    rounding, in one order of people and not in another; they are ten."""
    return np.minimum(means, 1 - means) * answers < _RARE - 1e-6


def least_variances(means: np.ndarray, answers: np.ndarray) -> np.ndarray:
    """The variances of shares if all answers were independent, with one right and one wrong answer
    more in each."""
    share = (means * answers + 1) / (answers + 2)
    return share * (1 - share) / answers


def questions_of(cells: Cells, number: int) -> float:
    """Return how many questions a trial of a cell has."""
    trials = int(cells.counts["n_trials"][number])
    return float(cells.counts["n_items"][number]) / trials if trials else 1.0


def contrast(
    values: Sequence[np.ndarray],
    ids: Sequence[np.ndarray],
    weights: np.ndarray,
    *,
    many: Sequence[np.ndarray] | None = None,
    level: float = LEVEL,
    answers: np.ndarray | None = None,
    share: bool = False,
) -> Contrast:
    """``sum of weight x mean of the cell``.

    What a unit (a person, a trial) adds to the sum are its distances from the means of its cells,
    so that what it does in one cell may go with what it does in another, and a unit may lack cells.
    The variance is that of Bell and McCaffrey (2002, Survey Methodology 28, 169-181) with units as
    clusters; so are the degrees of freedom of cells that some units lack, and of sets of cells
    without a common unit Satterthwaite's. For units that are in all cells the test is the
    one-sample t-test of their own contrasts, for two cells without common units it is Welch's.

    Parameters
    ----------
    values, ids : of each cell, the values of its units and the units' numbers, as in
        :class:`.Cells`
    weights : of the cells; those of weight 0 say nothing about the spread
    many : of each cell, how many units each of its entries stands for (the same in all cells); one
        when not given
    answers : of each cell, if all are shares of right answers: how many independent answers tell as
        much (see :func:`answers_of`). Of people who were nearly always right a few may happen to have
        made as many mistakes as one another, which says little about how much people differ; the
        variance is then not taken to be below that of independent answers
    share : whether it is a mean of shares
    """
    if not values or any(not len(cell) for cell in values):
        return Contrast(math.nan, math.nan, math.nan, 0, level=level)
    times = (
        [np.ones(len(cell), np.int64) for cell in values]
        if many is None
        else [np.asarray(one, np.int64) for one in many]
    )
    number, unit = pd.factorize(np.concatenate(ids))
    where = np.repeat(np.arange(len(values)), [len(cell) for cell in values])
    copies = np.empty(len(unit), np.int64)
    copies[number] = np.concatenate(times)
    size = np.array([one.sum() for one in times])
    means = np.array([float(np.asarray(cell, float) @ one) for cell, one in zip(values, times, strict=True)]) / size
    value, n, asked = float(weights @ means), int(copies.sum()), np.flatnonzero(weights)
    lone = int((size[asked] == 1).sum())
    if lone or not len(asked):
        return Contrast(value, math.nan, math.nan, n, lone, level, share=share)
    weight, size, kept = weights[asked], size[asked], np.asarray(weights)[where] != 0
    entry, cell = number[kept], np.searchsorted(asked, where[kept])
    there = np.zeros((len(unit), len(asked)), bool)
    there[entry, cell] = True
    both = np.zeros((len(asked), len(asked)))
    for at in range(0, len(unit), _CHUNK):
        both += (there[at : at + _CHUNK] * copies[at : at + _CHUNK, None]).T @ there[at : at + _CHUNK].astype(float)
    away = (np.concatenate(values)[kept] - means[asked][cell]) * (weight / np.sqrt(size * (size - 1.0)))[cell]
    sets = _sets(both > 0)
    set_of_unit = np.zeros(len(unit), np.int64)
    set_of_unit[entry] = sets[cell]
    parts = np.bincount(
        set_of_unit, weights=copies * np.bincount(entry, weights=away, minlength=len(unit)) ** 2, minlength=len(asked)
    )
    real = np.flatnonzero(parts > 1e-24)
    variance = float(parts[real].sum())
    if not variance:
        return Contrast(value, 0.0, math.nan, n, 0, level, share=share)
    spread = sum(
        parts[one] ** 2 / _degrees(both[np.ix_(sets == one, sets == one)], weight[sets == one], size[sets == one])
        for one in real
    )
    df = float(variance**2 / spread)
    if answers is None:
        return Contrast(value, math.sqrt(variance), df, n, 0, level, share)
    shares, answers = means[asked], answers[asked]
    floors, skewed = least_variances(shares, answers), None
    if are_rare(shares, answers).any():
        variance = max(variance, float(weight**2 @ floors))
    if (np.minimum(shares, 1 - shares) < NEAR).any():
        entries = np.zeros((len(unit), len(asked)))
        entries[entry, cell] = away
        covariance = (entries * copies[:, None]).T @ entries
        skewed = _skewed(shares, answers, weight, size, floors, covariance)
    return Contrast(value, math.sqrt(variance), df, n, 0, level, share, skewed)


def _skewed(
    shares: np.ndarray,
    answers: np.ndarray,
    weight: np.ndarray,
    size: np.ndarray,
    floors: np.ndarray,
    covariance: np.ndarray,
) -> SkewedShares:
    """Return :class:`SkewedShares` of some cells, from the covariance of their weighted means."""
    ses = np.sqrt(np.diag(covariance))
    together = covariance / np.where(ses, ses, 1.0)[:, None] / np.where(ses, ses, 1.0)
    np.fill_diagonal(together, 1.0)
    inside = np.clip(shares, 0.5 / answers, 1 - 0.5 / answers)
    ses = np.sqrt(np.maximum((ses / weight) ** 2, floors))
    return SkewedShares(
        tuple(inside.tolist()), tuple(ses.tolist()), tuple(size.tolist()), tuple(weight.tolist()), together
    )


def _sets(meet: np.ndarray) -> np.ndarray:
    """The set of each cell: cells are in one set where they meet, or where each meets a third one."""
    sets = np.arange(len(meet))
    for _ in meet:
        sets = np.array([sets[row].min() for row in meet])
    return sets


def _degrees(both: np.ndarray, weight: np.ndarray, size: np.ndarray) -> float:
    """Degrees of freedom of the variance of a weighted sum of cells, for units that are independent
    and equally variable: n - 1 where all are in all cells."""
    square = weight**2 / (size * (size - 1))
    inner, outer = square * (1 - 1 / size), square / size
    return float((weight**2 / size).sum() ** 2 / (inner @ both @ inner + outer @ (both * (both - 1.0)) @ outer))


# Intervals of shares


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
