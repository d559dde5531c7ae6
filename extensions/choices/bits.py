"""Bits per choice: how surprised a model is by the answers that a person gave, compared with chance
and with a blind guess.

* **Bits**: the negative logarithm (base 2) of the probability that the model gives to the answer,
  among the allowed ones. 0 where it is sure and right.
* **Chance**: as many bits as a uniform guess among the allowed answers has.
* **Blind**: somebody who knows how often this person gives each answer, and nothing of the trial.
  Each answer is guessed from the person's other answers to questions with the same allowed answers,
  each allowed answer counted half a time more than it was given (Krichevsky & Trofimov, 1981). So
  it never knows the answer that it guesses. Where this has more bits than chance, as with few
  answers, or with none of them preferred, the blind guess is chance.

Answers in the same trial depend on each other, so intervals (95 %) are those of a mean with trials
as clusters, by Student's t (number of trials minus one).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats
from typing_extensions import override

from spanlab.core import SpanLabError, in_number

#: what an allowed answer counts more than it was given, for a blind guess
_PRIOR = 0.5
LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean with its interval; NaN for a limit that does not exist."""

    mean: float
    low: float
    high: float

    @override
    def __str__(self) -> str:
        limits = "" if math.isnan(self.low) else f" [{self.low:.2f}, {self.high:.2f}]"
        return f"{self.mean:.2f}{limits}"


@dataclass(frozen=True, slots=True)
class ChoiceBits:
    """Bits per choice of one person and one model.

    Parameters
    ----------
    answers, trials : that are scored
    model, chance, blind : bits per choice
    below_chance, below_blind : how many bits the model is better
    at_least : answers of which the model's bits are a lower bound, since the server did not tell
        all probabilities
    """

    answers: int
    trials: int
    model: Mean
    chance: float
    blind: float
    below_chance: Mean
    below_blind: Mean
    at_least: int = 0

    def to_record(self) -> dict[str, Any]:
        """The values for a record, fit for JSON."""

        def known(value: Any) -> Any:
            if isinstance(value, dict):
                return {key: known(one) for key, one in value.items()}
            return None if isinstance(value, float) and math.isnan(value) else value

        return known(asdict(self))

    @override
    def __str__(self) -> str:
        bound = "at least " if self.at_least else ""
        text = (
            f"{bound}{self.model} bits per choice in {self.answers:,} answers of {self.trials:,}"
            f" {in_number(self.trials, 'trial')}; chance {self.chance:.2f}, blind guess {self.blind:.2f};"
            f" gain over chance {_gain(self.below_chance, self.at_least > 0)}, over the blind guess"
            f" {_gain(self.below_blind, self.at_least > 0)} bits"
        )
        if self.at_least:
            text += (
                f" (of {self.at_least:,} answers the server does not tell all probabilities, and no more is known than"
                " this bound)"
            )
        return text


def _gain(by: Mean, at_most: bool) -> str:
    return f"{'at most ' if at_most else ''}{by}"


def choice_bits(table: Path | pd.DataFrame) -> ChoiceBits:
    """Bits per choice of a table of choices (``choices.csv``).

    Raises
    ------
    SpanLabError
        when no answer in it is scored.
    """
    read = (
        pd.read_csv(table, keep_default_na=False, na_values={"log_probability": [""]}, dtype={"answer": str})
        if isinstance(table, Path)
        else table
    )
    rows = read[read["left_out"] == ""]
    if rows.empty:
        raise SpanLabError(
            "no answer could be scored: "
            + "; ".join(f"{count:,}: {why}" for why, count in Counter(read["left_out"]).items())
        )
    bits = -rows["log_probability"].to_numpy(float) / math.log(2)
    chance, blind = (
        np.log2(rows["allowed"].to_numpy(float)),
        blind_bits(rows["answer"].tolist(), rows["answers"].tolist(), rows["allowed"].tolist()),
    )
    if blind.mean() > chance.mean():
        blind = chance
    trials = rows["trial"].to_numpy()
    bound = rows["at_most"].astype(str).str.lower().eq("true").sum()
    return ChoiceBits(
        len(rows),
        len(set(trials)),
        clustered(bits, trials),
        float(chance.mean()),
        float(blind.mean()),
        clustered(chance - bits, trials),
        clustered(blind - bits, trials),
        int(bound),
    )


def over_people(some: Sequence[ChoiceBits], people: Sequence[str]) -> str:
    """Bits per choice of one model over several sessions, each counting once, with intervals (95 %)
    for people like these.

    Parameters
    ----------
    people : whose session each of them is
    """

    def mean(values: Sequence[float]) -> Mean:
        return clustered(np.array(values), np.array(people))

    bounds, many = sum(one.at_least > 0 for one in some), len(set(people))
    text = (
        f"{'at least ' if bounds else ''}{mean([one.model.mean for one in some])} bits per choice in"
        f" {len(some):,} sessions of {many:,} {in_number(many, 'person', 'people')}, each session counting once; chance"
        f" {math.fsum(one.chance for one in some) / len(some):.2f}, blind guess"
        f" {math.fsum(one.blind for one in some) / len(some):.2f}; gain over chance"
        f" {_gain(mean([one.below_chance.mean for one in some]), bounds > 0)}, over the blind guess"
        f" {_gain(mean([one.below_blind.mean for one in some]), bounds > 0)} bits"
    )
    return f"{text} (in {bounds:,} no more is known than a bound)" if bounds else text


def blind_bits(answers: Sequence[str], sets: Sequence[str], allowed: Sequence[int]) -> np.ndarray:
    """Bits of each answer for somebody who knows the person's other answers to questions with the
    same allowed answers, and nothing else.

    Parameters
    ----------
    sets, allowed : of each answer, which answers were allowed, and how many
    """
    given, asked = Counter(zip(sets, answers, strict=True)), Counter(sets)
    shares = [
        (given[which, answer] - 1 + _PRIOR) / (asked[which] - 1 + _PRIOR * count)
        for answer, which, count in zip(answers, sets, allowed, strict=True)
    ]
    return -np.log2(shares)


def clustered(values: np.ndarray, clusters: np.ndarray) -> Mean:
    """The mean of values that depend on each other within clusters, with its interval."""
    mean = float(values.mean())
    _, place = np.unique(clusters, return_inverse=True)
    sums = np.bincount(place, values - mean)
    count = len(sums)
    if count < 2:
        return Mean(mean, math.nan, math.nan)
    error = math.sqrt(count / (count - 1) * float((sums**2).sum())) / len(values)
    reach = float(stats.t.ppf(0.5 + LEVEL / 2, count - 1)) * error
    return Mean(mean, mean - reach, mean + reach)
