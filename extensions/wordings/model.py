"""A linear mixed model of scores with random wordings, repeats and trials, solved in closed form.

Every model takes the same trials in the same wordings, so the design is balanced, and mean squares
give what a numerical fit would. The score of wording w, repeat r and trial t is mean + w + r(w) + t
+ w x t + rest. The variance of its mean is (MS_w + MS_t - MS_wt) / number of scores; the two
crossed random factors are those of Clark (1973, Journal of Verbal Learning and Verbal Behavior 12,
335-359). An interval reaches as far as that over wordings (MS_w) and that over trials (MS_t -
MS_wt) together, the root of the sum of squares (Zou & Donner, 2008, Statistics in Medicine 27,
1693-1702). Satterthwaite's degrees of freedom held too much: up to 100 % over three wordings.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtridf, stdtrit

from spanlab.analysis.means import p_of_ends

#: Fewer wordings say nothing about how much others would differ.
FEWEST = 3


@dataclass(frozen=True, slots=True)
class MeanSquares:
    """Mean squares of scores by wording, trial and wording x trial, each with its degrees of
    freedom; and how many scores there are."""

    wording: float
    trial: float
    both: float
    df: tuple[int, int, int]
    scores: int


@dataclass(frozen=True, slots=True)
class Pooled:
    """A mean over wordings and trials.

    Parameters
    ----------
    mean, low, high : with its 95 % interval
    p : that the mean is 0, two-sided; NaN where nothing varies and the mean is 0
    df : degrees of freedom with which Student's interval would be as long
    """

    mean: float
    low: float
    high: float
    p: float
    df: float


@dataclass(frozen=True, slots=True)
class Components:
    """Variances of one score.

    Parameters
    ----------
    wording, repeat, trial, both, sampling : of the mean of a wording, of a repeat within it, of a
        trial, of a wording with a trial, and the rest. Without repeats the last cannot be told from
        ``both`` and is None, and so is ``repeat``.
    """

    wording: float
    repeat: float | None
    trial: float
    both: float
    sampling: float | None


def mean_squares(scores: np.ndarray, strata: Sequence[int]) -> MeanSquares:
    """Return the mean squares of scores.

    Parameters
    ----------
    scores : wordings x repeats x trials
    strata : the condition of each trial; trials are random within conditions
    """
    wordings, repeats, trials = scores.shape
    cells = scores.mean(axis=1)
    conditions = [np.flatnonzero(np.asarray(strata) == condition) for condition in np.unique(strata)]
    within = sum(len(at) - 1 for at in conditions)
    by_trial = by_both = 0.0
    for at in conditions:
        part = cells[:, at]
        columns, rows = part.mean(axis=0), part.mean(axis=1, keepdims=True)
        by_trial += float(((columns - columns.mean()) ** 2).sum())
        by_both += float(((part - columns - rows + columns.mean()) ** 2).sum())
    means = cells.mean(axis=1)
    return MeanSquares(
        wording=repeats * trials * float(means.var(ddof=1)),
        trial=repeats * wordings * by_trial / max(within, 1),
        both=repeats * by_both / max((wordings - 1) * within, 1),
        df=(wordings - 1, within, (wordings - 1) * within),
        scores=scores.size,
    )


def pooled(scores: np.ndarray, strata: Sequence[int], level: float = 0.95) -> Pooled | None:
    """Return the mean over random wordings and trials; None of fewer than three wordings, or where
    no condition has two trials.

    Repeats are averaged first. So those that are identical (temperature 0) leave the interval as it
    is.

    Parameters
    ----------
    scores : wordings x repeats x trials
    strata : the condition of each trial
    """
    cells = scores.mean(axis=1, keepdims=True)
    squares = mean_squares(cells, strata)
    if len(scores) < FEWEST or squares.df[1] < 1:
        return None
    mean = float(cells.mean())
    both = (squares.wording, max(squares.trial - squares.both, 0.0))
    # scores may balance so that neither wordings nor trials vary, but each wording in its own trials
    parts = zip(both if any(both) else (squares.both, 0.0), squares.df, strict=False)
    errors = [(math.sqrt(part / squares.scores), df) for part, df in parts if part > 0]
    if not errors:
        return Pooled(mean, mean, mean, math.nan if mean == 0 else 0.0, math.inf)

    def ends(level: float) -> tuple[float, float]:
        reach = math.hypot(*(error * float(stdtrit(df, (1 + level) / 2)) for error, df in errors))
        return mean - reach, mean + reach

    low, high = ends(level)
    df = float(stdtridf((1 + level) / 2, (high - mean) / math.hypot(*(error for error, _ in errors))))
    return Pooled(mean, low, high, p_of_ends(ends, 0.0), df)


def components(scores: np.ndarray, strata: Sequence[int]) -> Components:
    """Return the variances of a model's scores; an estimate below 0 is 0.

    Parameters
    ----------
    scores : wordings x repeats x trials
    strata : the condition of each trial
    """
    squares = mean_squares(scores, strata)
    wordings, repeats, trials = scores.shape
    sampling = repeat = None
    of_repeats = squares.both
    rest = squares.both
    if repeats > 1:
        away = scores - scores.mean(axis=1, keepdims=True)
        means = away.mean(axis=2, keepdims=True)
        rest = float(((away - means) ** 2).sum()) / (wordings * (repeats - 1) * (trials - 1)) if trials > 1 else 0.0
        of_repeats = trials * float((means**2).sum()) / (wordings * (repeats - 1))
        sampling, repeat = rest, max(0.0, (of_repeats - rest) / trials)
    both = max(0.0, (squares.both - rest) / repeats) if repeats > 1 else squares.both
    of_wordings = squares.wording - squares.both - (of_repeats - rest if repeats > 1 else 0.0)
    return Components(
        max(0.0, of_wordings / (repeats * trials)),
        repeat,
        max(0.0, (squares.trial - squares.both) / (repeats * wordings)),
        both,
        sampling,
    )
