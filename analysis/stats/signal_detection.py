"""Signal detection from counts: hit and false-alarm rate, accuracy, d' and criterion. Pure
functions of numbers or arrays of any shape.

Rates of 0 and 1 have no finite z-score, so they need a correction. Each has a name:

``none``
    nothing; a rate of 0 or 1 makes d' infinite, and undefined where both rates are at the same end.
``clip``
    rates are kept within 0.01 and 0.99, whatever the number of items, as in the N-back study of
    Gong, Wan and Wang (2024, AAAI 38, 10048-10056). d' then lies within -4.65 and 4.65.
``log-linear``
    half an item is added to hits and false alarms and one to the numbers of signals and of others,
    in every cell and not only at the ends (Hautus, 1995, Behavior Research Methods, Instruments, &
    Computers 27, 46-51). Small blocks are pulled towards 0.

The model is that of equal variances: d' = z(hit rate) - z(false-alarm rate), criterion c = -(z(hit
rate) + z(false-alarm rate)) / 2 (Macmillan & Creelman, 2005, Detection Theory). c is above 0 for
somebody who rarely says that there was a signal.
"""

from __future__ import annotations

import functools
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from ...core.errors import SpanLabError

Correction = Literal["none", "clip", "log-linear"]
CORRECTIONS: tuple[Correction, ...] = get_args(Correction)
#: Words that say that there was something, and beside each the one that says that there was
#: nothing.
SIGNALS = ("different", "asymmetric", "match", "present", "yes", "old", "change")
NOISE = ("same", "symmetric", "no match", "absent", "no", "new", "no change")
#: Pairs of words that are not a yes-no question: alternatives that are both shown.
SIDES = (("left", "right"), ("first", "second"), ("top", "bottom"))


def signal_of(words: Collection[str]) -> tuple[str, str]:
    """What a hit is where one of two words answers a question: the word that names the signal, and the
    other. Every table, figure, model and test takes it from here."""
    one, other = sorted(words)
    sides = next((pair for pair in SIDES if set(pair) == {one, other}), None)
    if sides is not None:
        return sides
    return (one, other) if one in SIGNALS or (other in NOISE and other not in SIGNALS) else (other, one)


#: The rates within which ``clip`` keeps them.
CLIP = (0.01, 0.99)


#: Where more than this share of people (or sessions) have a rate of 0 or 1, the mean of their d' has
#: no interval: for these, d' is what the correction makes of it, and their spread says how many
#: questions they had.
MOST_AT_AN_END = 0.5


@dataclass(frozen=True, slots=True)
class Detection:
    """Detection of signals among others; every field is a number or an array in the shape of the
    counts.

    Parameters
    ----------
    hit_rate, false_alarm_rate : as counted, without any correction; NaN where nothing was counted
    accuracy : hits and correct rejections among everything counted
    dprime, criterion : after ``correction``; NaN where a rate is unknown, infinite only without
        correction
    correction : by its name
    """

    hit_rate: Any
    false_alarm_rate: Any
    accuracy: Any
    dprime: Any
    criterion: Any
    correction: Correction

    @property
    def dprime_abs(self) -> Any:
        """d' without its sign, as the N-back study has it: whoever answers the wrong way round
        looks good."""
        return np.abs(self.dprime)


def detection(
    hits: Any, misses: Any, false_alarms: Any, correct_rejections: Any, correction: Correction = "log-linear"
) -> Detection:
    """Rates, d' and criterion from the four counts.

    Parameters
    ----------
    hits, misses : answers to signals; numbers or arrays, from 0
    false_alarms, correct_rejections : answers to others
    correction : for rates of 0 and 1, see the module

    Raises
    ------
    SpanLabError
        for an unknown correction, and for counts below 0.
    """
    if correction not in CORRECTIONS:
        raise SpanLabError(f"unknown correction '{correction}' for d'; there are {', '.join(CORRECTIONS)}")
    hit, miss, alarm, rejection = (
        np.asarray(count, dtype=float) for count in (hits, misses, false_alarms, correct_rejections)
    )
    if any((count < 0).any() for count in (hit, miss, alarm, rejection)):
        raise SpanLabError("hits, misses, false alarms and correct rejections are counts: none may be below 0")
    signals, others = hit + miss, alarm + rejection
    z_hit, z_alarm = z_score(hit, signals, correction), z_score(alarm, others, correction)
    with np.errstate(invalid="ignore"):
        return Detection(
            hit_rate=_share(hit, signals),
            false_alarm_rate=_share(alarm, others),
            accuracy=_share(hit + rejection, signals + others),
            dprime=z_hit - z_alarm,
            criterion=-(z_hit + z_alarm) / 2,
            correction=correction,
        )


def scale_of(forced: bool) -> float:
    """How many times larger the difference of the two z-scores is than d′: a choice between two sides has twice
    the evidence."""
    return float(np.sqrt(2)) if forced else 1.0


def z_score(count: np.ndarray, of: np.ndarray, correction: Correction) -> Any:
    """The z-score of ``count`` out of ``of`` after the correction; NaN out of none."""
    from scipy.special import ndtri  # the inverse normal distribution; scipy.stats takes a second to import

    if correction == "log-linear":
        return ndtri(np.where(of > 0, (count + 0.5) / (of + 1), np.nan))[()]
    rate = np.asarray(_share(count, of))
    return ndtri(np.clip(rate, *CLIP) if correction == "clip" else rate)[()]


def thinned_z(count: np.ndarray, asked: np.ndarray, to: int) -> np.ndarray:
    """The log-linear z-score that fewer questions are expected to have: the mean over every choice
    of ``to`` of those that were asked.

    Half an answer pulls a z-score towards 0 the more, the fewer questions there are, so that equal
    answerers differ where one was asked more. The mean over choices has the expectation of a
    z-score of ``to`` questions, however many were asked: whatever is compared at one number differs
    by chance alone.

    Parameters
    ----------
    count : of the answers; whole numbers
    asked : of the questions; where they are no more than ``to``, all of them count
    """
    numbers = zip(np.round(count).reshape(-1).tolist(), np.round(asked).reshape(-1).tolist(), strict=True)
    return np.array([_thinned(int(said), int(of), to) for said, of in numbers]).reshape(np.shape(count))


@functools.lru_cache(maxsize=65536)
def _thinned(count: int, asked: int, to: int) -> float:
    from scipy.special import gammaln

    if asked <= to:
        return float(z_score(np.asarray(float(count)), np.asarray(float(asked)), "log-linear"))

    def ways(of: Any, picked: Any) -> Any:
        return gammaln(of + 1) - gammaln(picked + 1) - gammaln(of - picked + 1)

    said = np.arange(max(0, to - asked + count), min(count, to) + 1)
    share = np.exp(ways(count, said) + ways(asked - count, to - said) - ways(asked, to))  # hypergeometric
    return float(share @ z_score(said, np.full(len(said), to), "log-linear"))


def _share(count: np.ndarray, of: np.ndarray) -> Any:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(of > 0, count / of, np.nan)[()]


def at_an_end(hits: Any, signals: Any, false_alarms: Any, others: Any) -> Any:
    """Whether a hit rate or a false-alarm rate is 0 or 1."""
    ends = [(said == 0) | (said == asked) for said, asked in ((hits, signals), (false_alarms, others))]
    return ends[0] | ends[1]


def always_the_same(hits: Any, signals: Any, false_alarms: Any, others: Any) -> Any:
    """Whether somebody gave the same answer to everything. Their d' is 0: how large a correction makes it
    depends on the numbers of questions alone."""
    said, asked = hits + false_alarms, signals + others
    return (said == 0) | (said == asked)


def without_interval(ends: np.ndarray, unit: str) -> str:
    """Return why the mean of d' of these people has no interval; empty where it may have one.

    Parameters
    ----------
    ends : of each person (or session), :func:`at_an_end`
    unit : what they are: ``participant``, ``session``
    """
    many = int(ends.sum())
    if many <= MOST_AT_AN_END * len(ends):
        return ""
    return f"{many} of {len(ends)} {unit}s have a rate of 0% or 100%: no interval"
