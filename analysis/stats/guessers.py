"""People at guessing among people who are nearly always right: whom a mean and its interval do not see.

An interval of few people is made of those who came. Where one in ten guesses among people at 95 %, a
sample of eight contains none in four of ten, and no rule can see what is not there; where it contains
one, mean and spread are that one's. The rule names somebody whose answers may be guesses where the
others are right in nine of ten, and who is further below them than one of these would be in a sample
of this size; how often it does is measured (``benchmarks/populations.py``, docs/measurements.md).
"""

from __future__ import annotations

import math

import numpy as np

#: Share of right answers of the others, from which somebody who guesses does not belong to them.
NEAR_CEILING = 0.9
#: As many others tell how people differ.
FEWEST = 4
#: Probability that one of the others lies below the bound, over all people of a sample.
_BEYOND = 0.4


def at_guessing(right: np.ndarray, asked: np.ndarray, guess: float) -> np.ndarray:
    """Who of some people may guess, far below the others.

    Parameters
    ----------
    right, asked : of each person, how many answers were right, and how many there are
    guess : the share that the best blind guess has right

    Returns
    -------
    numpy.ndarray
        for each person whether it is one of these
    """
    from scipy.special import bdtr, stdtrit

    may_guess = 1 - bdtr(right - 1, asked.astype(int), guess) > 0.05
    others = ~may_guess
    if others.sum() < FEWEST or np.median(right[others] / asked[others]) < NEAR_CEILING:
        return np.zeros(len(right), bool)
    odds = np.log((right + 0.5) / (asked - right + 0.5))
    many = int(others.sum())
    away = (
        float(stdtrit(many - 1, 1 - _BEYOND / len(right))) * float(odds[others].std(ddof=1)) * math.sqrt(1 + 1 / many)
    )
    return may_guess & (odds < odds[others].mean() - away)
