"""The field's findings as a benchmark: what people show, what an agent shows, and whether it is the
same. Each finding is one number, computed in the same way for a person and for a part of an agent's
trials."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict, Field

from spanlab.analysis.data import Scored, decoded, load
from spanlab.analysis.effects import answer_places, first_recalls, lags, transpositions, written
from spanlab.analysis.stats import testable
from spanlab.core import SpanLabError, nearest
from spanlab.human_data import of_persons

from .card import sessions_of
from .suite import Effect, Suite, read_suite

SHIPPED = "findings"
#: So many parts of an agent's trials, each with all conditions, have a value of their own.
PARTS = 10
Verdict = Literal["same direction", "opposite", "not resolved"]


class Finding(BaseModel):
    """A finding, and how it is measured."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    finding: str
    paradigm: str
    measure: str = Field(description="one of MEASURES")
    margin: float = Field(gt=0, description="in the unit of the agent's measure")
    study: str = Field(default="", description="whose people show it; none for a suite of one's own")
    says: str = Field(description="what they show")
    column: str = Field(
        default="", description="the conditions, in the agent's sessions; of the measure 'effect', its name in the file"
    )
    theirs: str = Field(default="", description="in the people's table, where they are another column")


class FindingSuite(Suite):
    """The suite of findings."""

    effects: list[Effect] = Field(default=[])
    findings: list[Finding] = Field(min_length=1)


class Interval(NamedTuple):
    """A mean with its 95% interval over people, or over parts of an agent's trials."""

    mean: float
    low: float
    high: float
    n: int


def read_findings(path: Path | None = None) -> FindingSuite:
    """The suite that ships, or that of a file."""
    path = path or Path(str(files(__package__ or "").joinpath("suites", f"{SHIPPED}.yaml")))
    suite = read_suite(path, FindingSuite)
    if unknown := next((one.measure for one in suite.findings if one.measure not in MEASURES), ""):
        raise SpanLabError(f"{path.name}: there is no measure '{unknown}'{nearest(unknown, MEASURES)}")
    return suite


def _at_ends(items: pd.DataFrame, column: str, values: pd.Series) -> tuple[float, float, float]:
    """The mean of values at the lowest and at the highest level of a condition, and how far these are
    apart."""
    levels = decoded(items[column]).astype(float)
    low, high = levels.min(), levels.max()
    return float(values[levels == low].mean()), float(values[levels == high].mean()), float(high - low)


def fall(scored: Scored, column: str) -> float:
    """How much more is right at the lowest level than at the highest."""
    first, last, _ = _at_ends(scored.items, column, scored.items["correct"])
    return first - last


def slowing(scored: Scored, column: str) -> float:
    """How much longer right answers take with each step of the condition, in ms."""
    right = scored.items[scored.items["correct"] == 1]
    first, last, steps = _at_ends(right, column, right["rt_ms"])
    return (last - first) / steps


def widening(scored: Scored, column: str) -> float:
    """How much larger errors are at the highest level than at the lowest, in degrees."""
    first, last, _ = _at_ends(scored.items, column, scored.items["error"].astype(float).abs())
    return last - first


def _by_position(scored: Scored) -> np.ndarray:
    return scored.items.groupby("serial_position")["correct"].mean().to_numpy(float)


def primacy(scored: Scored, _: str) -> float:
    """The first position minus the mean of those in the middle."""
    right = _by_position(scored)
    return float(right[0] - right[1:-1].mean())


def recency(scored: Scored, _: str) -> float:
    """The last position minus the one before it."""
    right = _by_position(scored)
    return float(right[-1] - right[-2])


def locality(scored: Scored, _: str) -> float:
    """How much more often an item's neighbour is answered in its place than an item farther away."""
    moved = transpositions(scored).items
    near = moved["distance"] == 1
    return float(moved.loc[near, "correct"].mean() - moved.loc[~near, "correct"].mean())


def fill_in(scored: Scored, _: str) -> float:
    """After an item was passed over: the share in which it comes next, minus the share in which the
    list goes on, of all cases in which one of both happens."""
    trial, asked, given = answer_places(scored)
    here = (given[:-1] == asked[:-1] + 1) & (trial[1:] == trial[:-1])
    filled, went_on = (here & (given[1:] == asked[:-1] + step) for step in (0, 2))
    both = int(filled.sum() + went_on.sum())
    return float((filled.sum() - went_on.sum()) / both) if both else math.nan


def first_recall(scored: Scored, _: str) -> float:
    """How much more often recall begins with the first or the last item than with another one."""
    items = first_recalls(scored).items
    items = items[items["list_length"] > 2]
    ends = (items["serial_position"] == 1) | (items["serial_position"] == items["list_length"])
    return float(items.loc[ends, "correct"].mean() - items.loc[~ends, "correct"].mean())


def contiguity(scored: Scored, _: str) -> float:
    """How much more often recall goes on with a neighbour than it would in another order."""
    near = lags(scored).items
    near = near[near["lag"].abs() == 1]
    return float((near["correct"] - near["chance"]).mean())


def effect(scored: Scored, name: str) -> float:
    """An effect of right answers or times that the paradigm's file declares: its first levels compared."""
    declared = scored.of_file.effects.get(name)
    if declared is None or declared.value == "d_prime":
        there = [one.name for one in scored.of_file.effects.values() if one.value != "d_prime"]
        raise SpanLabError(f"the paradigm declares no effect '{name}' of right answers or times{nearest(name, there)}")
    items = scored.items[declared.concerned(scored.items)]
    if declared.value != "correct":
        items = items[items["correct"] == 1]
    words, values = written(items[declared.of]), items["correct" if declared.value == "correct" else "rt_ms"]
    one, other = (float(values[words.eq(level).to_numpy(bool)].mean()) for level in declared.pairs[0])
    return one - other


MEASURES: Mapping[str, Callable[[Scored, str], float]] = {
    one.__name__: one
    for one in (fall, slowing, widening, primacy, recency, locality, fill_in, first_recall, contiguity, effect)
}


def values_of(finding: Finding, scored: Scored, unit: pd.Series, column: str) -> dict[Any, float]:
    """The value of each unit: of each person, or of each part of an agent's trials."""
    found: dict[Any, float] = {}
    for name in unit.unique():
        items = scored.items[unit == name].reset_index(drop=True)
        extra = scored.intrusions[scored.intrusions["unit_trial"].isin(items["unit_trial"])]
        value = MEASURES[finding.measure](replace(scored, items=items, intrusions=extra), column)
        if math.isfinite(value):
            found[name] = value
    return found


def parts_of(items: pd.DataFrame, column: str) -> pd.Series:
    """The part that each trial belongs to: each has trials of all conditions."""
    trials = items.drop_duplicates("unit_trial")
    conditions = decoded(trials[column]) if column in trials else pd.Series(0, index=trials.index)
    number = trials.groupby(conditions).cumcount() % PARTS
    return items["unit_trial"].map(dict(zip(trials["unit_trial"], number, strict=True)))


def interval(values: list[float]) -> Interval | None:
    """The mean of values with Student's 95% interval; None for fewer than two."""
    from scipy import stats

    if len(values) < 2:
        return None
    mean, error = float(np.mean(values)), float(np.std(values, ddof=1)) / len(values) ** 0.5
    half = float(stats.t.isf(0.025, len(values) - 1)) * error
    return Interval(mean, mean - half, mean + half, len(values))


def verdict(people: Interval | None, agent: Interval | None, margin: float) -> Verdict:
    """Judge an agent's value: beyond the margin in people's direction (above 0 where there are none),
    beyond it in the other one, or neither.

    >>> people = Interval(0.2, 0.1, 0.3, 20)
    >>> verdict(people, Interval(0.1, 0.05, 0.15, 10), 0.03)
    'same direction'
    >>> verdict(people, Interval(-0.1, -0.15, -0.05, 10), 0.03)
    'opposite'
    >>> verdict(people, Interval(0.02, 0.01, 0.05, 10), 0.03)
    'not resolved'
    """
    if agent is None:
        return "not resolved"
    same = people is None or people.mean > 0
    low, high = (agent.low, agent.high) if same else (-agent.high, -agent.low)
    if low > margin:
        return "same direction"
    return "opposite" if high < -margin else "not resolved"


def compared(suite: FindingSuite, sessions: Path, accept_unread: bool = False) -> list[dict[str, Any]]:
    """What people show, what the agent shows whose sessions these are, and the verdict, for each
    finding; conditions of which too many replies could not be read have none, unless that is accepted."""
    theirs = of_persons(SHIPPED)
    folders = [folder for folder, _ in sessions_of(suite, sessions)]
    scored = load(folders, accept_unread=accept_unread).scored.parts
    rows = []
    for one in suite.findings:
        people = interval([*theirs.loc[theirs["finding"] == one.finding, "value"]]) if one.study else None
        part, agent = scored.get(one.paradigm), None
        if part is not None:
            part = testable(part, (one.column,))
            agent = interval([*values_of(one, part, parts_of(part.items, one.column), one.column).values()])
        rows.append(
            {
                "finding": one.finding,
                "paradigm": one.paradigm,
                "says": one.says,
                "study": one.study,
                "people": people and people._asdict(),
                "agent": agent and agent._asdict(),
                "margin": one.margin,
                "verdict": verdict(people, agent, one.margin),
            }
        )
    return rows
