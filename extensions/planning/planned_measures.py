"""Measures of a planned study where it is not the share of right answers: d' from hits and false
alarms, or reaction times; assumed, or from people's data.

Spread over people comes from data by moments: of each person's value in both conditions, the
covariance is the variance of people; the variance of their differences, after what answers of so
many trials vary by themselves, is that of the effect.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from spanlab.analysis.data import Scored
from spanlab.analysis.effects import question_of, timed_questions
from spanlab.analysis.stats import scale_of, sort_cells, z_score
from spanlab.core import SpanLabError

PlannedValue = Literal["correct", "d_prime", "rt_ms"]
#: d' beyond this cannot be told from perfect answers by any number of trials that people take.
_MOST_DPRIME = 6.0
#: With fewer people than this, data tell nothing about their spread.
_FEWEST = 3


@dataclass(frozen=True)
class PlannedSensitivity:
    """A study of d', whose power is asked for.

    Parameters
    ----------
    d_prime, difference : d' in the first condition, and the second one's difference from it
    people, effect : standard deviations of d': over people, and of the effect (the difference of
        both conditions) over people
    criterion, criterion_people : its mean, and its standard deviation over people; it is the same
        in both conditions
    signals : share of the trials that have a signal
    forced : a choice between two sides in the place of a yes-no question
    between : two groups of people, one in each condition, in the place of people who have both
    """

    d_prime: float
    difference: float
    people: float
    effect: float
    criterion: float = 0.0
    criterion_people: float = 0.0
    signals: float = 0.5
    forced: bool = False
    between: bool = False

    def __post_init__(self) -> None:
        for value in (self.d_prime, self.d_prime + self.difference):
            if not abs(value) <= _MOST_DPRIME:
                raise SpanLabError(
                    f"a d′ of {value:g} cannot be measured: both conditions must lie between -{_MOST_DPRIME:g} and"
                    f" {_MOST_DPRIME:g}"
                )
        if min(self.people, self.effect, self.criterion_people) < 0:
            raise SpanLabError("standard deviations cannot be below 0")
        if not 0 < self.signals < 1:
            raise SpanLabError("d′ needs both kinds of trials: the share of signals lies between 0% and 100%")

    @property
    def words(self) -> str:
        """Say what is simulated, in a sentence."""
        spread = (
            f"standard deviations: people {self.people:.2f}, effect over people {self.effect:.2f}, criterion"
            f" {self.criterion_people:.2f}"
        )
        question = "a choice between two sides" if self.forced else f"{self.signals:.0%} signals"
        planted = f"d′ {self.d_prime:.2f} and {self.d_prime + self.difference:.2f}"
        return f"{design_in_words(self.between)}: {planted}, {question}, mean criterion {self.criterion:.2f}; {spread}."

    def answers(self, people: int, trials: int) -> int:
        """Return how many numbers a simulated study takes."""
        return 8 * people

    def simulated(
        self, difference: float, people: int, trials: int, many: int, random: np.random.RandomState
    ) -> tuple[np.ndarray, np.ndarray]:
        """Each person's d' in both conditions, of so many studies, from counts with half an answer
        added (log-linear), as pages compute it."""
        from scipy.special import ndtr

        signals = round(trials * self.signals)
        others = trials - signals
        if min(signals, others) < 1:
            raise SpanLabError(f"{trials} trials in each condition have no signal, or nothing else; d′ needs both")
        scale = scale_of(self.forced)
        shape, values = (many, people), []
        person, criterion = (
            random.normal(0, self.people, shape),
            random.normal(self.criterion, self.criterion_people, shape),
        )
        for mean in (self.d_prime, self.d_prime + difference):
            if self.between and values:
                person, criterion = (
                    random.normal(0, self.people, shape),
                    random.normal(self.criterion, self.criterion_people, shape),
                )
            half = (mean + person + random.normal(0, self.effect / math.sqrt(2), shape)) * scale / 2
            hits, alarms = (
                random.binomial(signals, ndtr(half - criterion)),
                random.binomial(others, ndtr(-half - criterion)),
            )
            z_hits, z_alarms = (
                z_score(count, np.full(shape, of), "log-linear") for count, of in ((hits, signals), (alarms, others))
            )
            values.append((z_hits - z_alarms) / scale)
        return values[0], values[1]


@dataclass(frozen=True)
class PlannedTimes:
    """A study of mean reaction times of correct answers, whose power is asked for. Single times are
    ex-Gaussian, with the same spread in both conditions.

    Parameters
    ----------
    rt, difference : mean in the first condition, and the second one's difference from it, in ms
    people, effect : standard deviations: over people, and of the effect (the difference of both
        conditions) over people
    trial : standard deviation of a person's single times in a condition
    tau : of their exponential part
    accuracy : share of answers that are correct, whose times count; a person has one at least
    between : two groups of people, one in each condition, in the place of people who have both
    """

    rt: float
    difference: float
    people: float
    effect: float
    trial: float
    tau: float
    accuracy: float = 1.0
    between: bool = False

    def __post_init__(self) -> None:
        for value in (self.rt, self.rt + self.difference):
            if not value > 0:
                raise SpanLabError(f"a mean reaction time of {value:g} ms cannot be: both conditions must lie above 0")
        if min(self.people, self.effect, self.trial) < 0:
            raise SpanLabError("standard deviations cannot be below 0")
        if not 0 <= self.tau <= self.trial:
            raise SpanLabError(
                f"the exponential part (tau, {self.tau:g} ms) is part of the spread of single times ({self.trial:g}"
                " ms): from 0 up to that"
            )
        if not 0 < self.accuracy <= 1:
            raise SpanLabError(
                f"times are those of correct answers, so that an accuracy of {self.accuracy:.0%} leaves none: it lies"
                " above 0%, up to 100%"
            )

    @property
    def words(self) -> str:
        """Say what is simulated, in a sentence."""
        spread = (
            f"people {self.people:.0f} ms, effect over people {self.effect:.0f} ms, single times {self.trial:.0f} ms"
            f" (tau {self.tau:.0f} ms)"
        )
        means = (
            f"mean reaction times of {self.rt:.0f} ms and {self.rt + self.difference:.0f} ms, {self.accuracy:.0%} of"
            " answers correct"
        )
        return f"{design_in_words(self.between)}: {means}; standard deviations: {spread}."

    def answers(self, people: int, trials: int) -> int:
        """Return how many numbers a simulated study takes."""
        return 8 * people

    def simulated(
        self, difference: float, people: int, trials: int, many: int, random: np.random.RandomState
    ) -> tuple[np.ndarray, np.ndarray]:
        """Each person's mean time of correct answers in both conditions, of so many studies."""
        shape, values = (many, people), []
        person, normal = random.normal(0, self.people, shape), math.sqrt(self.trial**2 - self.tau**2)
        for mean in (self.rt, self.rt + difference):
            if self.between and values:
                person = random.normal(0, self.people, shape)
            right = np.maximum(1, random.binomial(trials, self.accuracy, shape))
            noise = random.normal(0, 1, shape) * normal / np.sqrt(right) + self.tau * (
                random.standard_gamma(right) / right - 1
            )
            values.append(mean + person + random.normal(0, self.effect / math.sqrt(2), shape) + noise)
        return values[0], values[1]


def design_in_words(between: bool) -> str:
    """Say who has which condition of a planned study."""
    return "Two groups of people, one in each condition" if between else "People who have both conditions"


@dataclass(frozen=True)
class _People:
    """Several people in two conditions, a row each.

    Parameters
    ----------
    rows : their answers, with ``condition`` (0 or 1) and ``person``
    words : who they are, and of which conditions
    """

    rows: pd.DataFrame
    words: str


def from_people(
    scored: Scored,
    paradigm: str,
    value: PlannedValue,
    by: str | None,
    conditions: Sequence[str],
    difference: float | None,
    between: bool,
) -> tuple[PlannedSensitivity | PlannedTimes, str]:
    """Return what people's data tell of d' or of reaction times in two conditions, and who these
    people and which these conditions are, in words.

    Parameters
    ----------
    conditions : two of the column's; the first and the last when there are none
    difference : to be planted; the one that was seen when None

    Raises
    ------
    SpanLabError
        where the data are not those of several people in two conditions, or have no such measure.
    """
    part = scored.parts[paradigm]
    if value == "rt_ms":
        every = timed_questions(part, correct_only=False)
        every = every.assign(correct=every.index.isin(timed_questions(part).index))
        sample = _two_conditions(
            Scored(every, part.intrusions, ()), paradigm, by, conditions, ("participant", "rt_ms"), "reaction times"
        )
        return _times(sample, difference, between), sample.words
    (signal, other), sensitivity = question_of(part.items, (), paradigm, "plan")
    rows = sensitivity.of_words(part, {signal}, {other}).items
    columns = Scored(rows.assign(correct=rows["signal_response"]), part.intrusions, ())
    sample = _two_conditions(columns, paradigm, by, conditions, ("participant", "signal"), "answers")
    return _sensitivity(sample, difference, between, sensitivity.kind == "forced choice"), sample.words


def _two_conditions(
    scored: Scored, paradigm: str, by: str | None, conditions: Sequence[str], beside: Sequence[str], what: str
) -> _People:
    if not len(scored.items):
        raise SpanLabError(f"these data have no {what} of people in {paradigm}")
    cells = sort_cells(scored, paradigm, by, beside=beside)
    several = cells.table[cells.table["persons"] > 1]
    if not len(several):
        raise SpanLabError(
            "no answerer in these data is a group of people, so their spread is unknown; give all assumptions as"
            " options instead"
        )
    agent = sorted(several["agent"].unique())[0]
    there = {str(condition): number for number, condition in several[several["agent"] == agent]["condition"].items()}
    names = chosen_conditions([*there], conditions, agent)
    rows = cells.items[cells.items["cell"].isin([there[name] for name in names])]
    rows = rows.assign(condition=(rows["cell"] == there[names[1]]).astype(int), person=rows["participant"].astype(str))
    who = (
        f"{rows['person'].nunique()} people, {cells.by.removeprefix('factor_').removeprefix('record_')} {names[0]} and"
        f" {names[1]}"
    )
    return _People(rows, who)


def chosen_conditions(there: Sequence[str], wanted: Sequence[str], agent: str) -> tuple[str, str]:
    """Two conditions: those that are wanted, or the first and the last.

    Raises
    ------
    SpanLabError
        where there is one only, and for names that are not there.
    """
    if len(there) < 2:
        raise SpanLabError(
            f"{agent} have one condition only; name another column with --by, or give all assumptions as options"
            " instead"
        )
    names = [str(name) for name in wanted] or [there[0], there[-1]]
    if len(names) != 2 or any(name not in there for name in names):
        raise SpanLabError(f"takes two of {', '.join(there)}; found {', '.join(names)}", option="conditions")
    return names[0], names[1]


def _sensitivity(sample: _People, difference: float | None, between: bool, forced: bool) -> PlannedSensitivity:
    counts = (
        sample.rows.groupby(["person", "condition", "signal"])["correct"]
        .agg(["sum", "size"])
        .unstack("signal")
        .dropna()
    )
    reports, asked = (counts[name].to_numpy(float) for name in ("sum", "size"))
    if not len(counts) or reports.shape[1] < 2:
        raise SpanLabError("nobody has both kinds of questions in these conditions; d′ needs both")
    z = z_score(reports, asked, "log-linear")
    rate = (reports + 0.5) / (asked + 1)
    spread = (
        rate * (1 - rate) / ((asked + 1) * (np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)) ** 2)
    )  # Gourevitch & Galanter, 1967
    scale = scale_of(forced)
    table = counts.index.to_frame(index=False).assign(
        value=(z[:, 1] - z[:, 0]) / scale,
        error=spread.sum(axis=1) / scale**2,
        criterion=-z.sum(axis=1) / 2,
        criterion_error=spread.sum(axis=1) / 4,
    )
    means = table.groupby("condition")["value"].mean()
    people, effect = _moments(table)
    each = table.groupby("person").agg(
        criterion=("criterion", "mean"), error=("criterion_error", "sum"), many=("criterion", "size")
    )
    between_people = float(each["criterion"].var(ddof=1)) - float((each["error"] / each["many"] ** 2).mean())
    return PlannedSensitivity(
        d_prime=float(means[0]),
        difference=float(means[1] - means[0]) if difference is None else difference,
        people=people,
        effect=effect,
        criterion=float(each["criterion"].mean()),
        criterion_people=math.sqrt(max(0.0, between_people)),
        signals=float(asked[:, 1].sum() / asked.sum()),
        forced=forced,
        between=between,
    )


def _times(sample: _People, difference: float | None, between: bool) -> PlannedTimes:
    right = sample.rows[sample.rows["correct"] == 1]
    times = right.groupby(["person", "condition"])["rt_ms"]
    table = times.agg(value="mean", variance="var", many="size").reset_index()
    if table["condition"].nunique() < 2 or not (table["many"] > 1).any():
        raise SpanLabError(
            "these data have too few correct answers with a reaction time in both conditions to plan from"
        )
    away = (right["rt_ms"] - times.transform("mean")).to_numpy(float)
    variance = float((away**2).sum()) / float((table["many"] - 1).sum())
    skewed = max(0.0, float((away**3).mean())) / 2  # the third moment of an ex-Gaussian is twice the cube of tau
    table = table.assign(error=variance / table["many"])
    means = table.groupby("condition")["value"].mean()
    people, effect = _moments(table)
    spread = math.sqrt(variance)
    return PlannedTimes(
        rt=float(means[0]),
        difference=float(means[1] - means[0]) if difference is None else difference,
        people=people,
        effect=effect,
        trial=spread,
        tau=min(skewed ** (1 / 3), spread),
        accuracy=len(right) / len(sample.rows),
        between=between,
    )


def _moments(table: pd.DataFrame) -> tuple[float, float]:
    """The standard deviations of people and of the effect over them (NaN where nobody has two
    conditions), from everybody's values and what these vary by themselves (``error``)."""
    values, errors = (
        table.pivot_table(index="person", columns="condition", values=name) for name in ("value", "error")
    )
    both = values.notna().all(axis=1)
    if int(both.sum()) >= _FEWEST:
        first, second = values[both].to_numpy(float).T
        effect = np.var(second - first, ddof=1) - float(errors[both].to_numpy(float).sum(axis=1).mean())
        return math.sqrt(max(0.0, float(np.cov(first, second)[0, 1]))), math.sqrt(max(0.0, float(effect)))
    if both.any() or len(values) < _FEWEST:
        raise SpanLabError(
            f"fewer than {_FEWEST} people have these conditions, so their spread is unknown; give all assumptions as"
            " options instead"
        )
    spread = [
        float(values[name].var(ddof=1)) - float(errors[name].mean()) for name in values.columns
    ]  # everybody has one condition
    return math.sqrt(max(0.0, float(np.nanmean(spread)))), math.nan
