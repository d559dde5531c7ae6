"""Designs with few people, few sessions, unequal trials, missing conditions, and accuracy near 0,
chance and 1: what the report says of each, with known truth.

Statistics are computed by the functions that the report uses, from the cells that it would have;
designs called "from answers to a sentence" go the whole way.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from _samples_of_figures import answerers, scored
from scipy.special import expit, logit, ndtr

from spanlab.analysis.effects.capacity import cowan_k, least_variance, over_units, pashler_k
from spanlab.analysis.effects.curves import primacy_recency
from spanlab.analysis.effects.effect import table_of, tested
from spanlab.analysis.effects.registry import effect
from spanlab.analysis.figures.effect_figure import ComputedEffect
from spanlab.analysis.means.cell_means import Cells, unit_means
from spanlab.analysis.means.contrasts import Apart, Contrast, contrast, contrast_of, estimate
from spanlab.analysis.means.over_people import within_people
from spanlab.analysis.report.paradigm import effect_claims
from spanlab.analysis.stats.signal_detection import at_an_end, detection, without_interval

Random = np.random.RandomState
Limits = tuple[float, float]
PEOPLE, SESSIONS, SETS = (3, 4, 5, 6, 8, 12, 24), (2, 3, 5, 9, 20), 2000
HOLDS, CLAIMS = "interval holds", "sentence claims a difference"
_MANY, _SPREAD, _AT_ONCE = 100_000, 0.6, 100
_SLOPE = np.array([-0.3, -0.1, 0.1, 0.3])


@dataclass(frozen=True)
class Design:
    """One row of the table.

    Parameters
    ----------
    asked, whom : in words
    counted : what is counted
    sizes : numbers of people, or of sessions
    make : from one of these numbers to how one set is made, and the truth
    sets : how many
    """

    asked: str
    whom: str
    make: Callable[[int], tuple[Callable[[Random], Limits], float]]
    sizes: Sequence[int] = PEOPLE
    counted: str = HOLDS
    sets: int = SETS


# cells --------------------------------------------------------------------------------------------


def cells_of(right: np.ndarray, trials: np.ndarray, unit: Any = "participant") -> Cells:
    """Numbers of right answers of people or sessions (rows) in conditions (columns), each of so
    many trials; 0 trials where somebody lacks a condition."""
    there = [np.flatnonzero(column) for column in trials.T]
    conditions = trials.shape[1]
    counts = {name: trials.sum(axis=0) for name in ("n_trials", "n_items")}
    values = [right[rows, at] / trials[rows, at] for at, rows in enumerate(there)]
    ones = [np.ones(len(rows), np.int64) for rows in there]
    asked = [trials[rows, at] for at, rows in enumerate(there)]
    keys = pd.DataFrame({"at": range(conditions)})
    return Cells(
        keys,
        values,
        there,
        ones,
        asked,
        np.zeros(conditions),
        [unit] * conditions,
        np.ones(conditions, bool),
        counts,
        np.zeros(conditions),
    )


def of_trials(random: Random, share: float, trials: int) -> Contrast:
    """The mean of one machine, whose trials are the units."""
    return contrast([(random.rand(trials) < share).astype(float)], [np.arange(trials)], np.ones(1), share=True)


def shares_of(shares: Sequence[float], spread: float = _SPREAD, slope: float = 0.2) -> np.ndarray:
    """Many people, each with a share in every condition: they differ in level and in what
    conditions cost them (log odds)."""
    along = np.linspace(-0.5, 0.5, len(shares)) if len(shares) > 1 else np.zeros(1)
    random = Random(0)
    levels, costs = spread * random.normal(size=(_MANY, 1)), slope * random.normal(size=(_MANY, 1))
    return expit(logit(np.array(shares)) + levels + costs * along)


def trials_of(people: int, conditions: int, trials: int, unequal: bool) -> np.ndarray:
    """As many trials of everybody, or from half to one and a half of them."""
    each = np.round(np.linspace(0.5, 1.5, people) * trials).astype(np.int64) if unequal else np.full(people, trials)
    return np.repeat(each[:, None], conditions, axis=1)


# what is asked ------------------------------------------------------------------------------------


def share(level: float, trials: int = 24, *, unequal: bool = False, spread: float = _SPREAD) -> Any:
    own = shares_of([level], spread)

    def make(people: int) -> Any:
        asked = trials_of(people, 1, trials, unequal)

        def once(random: Random) -> Limits:
            found = estimate(random.binomial(asked, own[random.choice(_MANY, people)])[:, 0] / asked[:, 0])
            return found.low, found.high

        return once, float(own.mean())

    return make


def weighted(
    levels: Sequence[float],
    weights: Sequence[float] | np.ndarray,
    trials: int = 24,
    *,
    unequal: bool = False,
    lacking: str = "",
    spread: float = _SPREAD,
) -> Any:
    """A slope or difference of shares within people."""
    own, weight = shares_of(levels, spread), np.asarray(weights, float)

    def make(people: int) -> Any:
        asked = trials_of(people, len(levels), trials, unequal) * pattern(lacking, people, len(levels))

        def once(random: Random) -> Limits:
            right = random.binomial(asked, own[random.choice(_MANY, people)])
            return contrast_of(cells_of(right, asked), range(len(levels)), weight, shares=True).ends()

        return once, float((own @ weight).mean())

    return make


def pattern(lacking: str, people: int, conditions: int) -> np.ndarray:
    """Who has which condition."""
    there = np.ones((people, conditions), bool)
    if lacking == "half":
        there[: people // 2, -1] = False
    if lacking == "one":
        there[0, -1] = False
    if lacking == "each":
        there[np.arange(people), np.arange(people) % conditions] = False
    return there


def times(weights: Sequence[float] | np.ndarray, *, lacking: str = "", unequal: bool = False) -> Any:
    """A mean, difference or slope of mean times of correct answers, which are skewed within people
    and over people."""
    weight = np.asarray(weights, float)

    def make(people: int) -> Any:
        there = pattern(lacking, people, len(weight))
        trials = trials_of(people, 1, 24, unequal)

        def once(random: Random) -> Limits:
            level = np.exp(random.normal(math.log(700), 0.2, (people, 1)))
            cost = 15 * random.normal(size=(people, 1)) * np.arange(len(weight))
            noise = (
                random.gamma(trials * 1.0, 180 / trials, (people, len(weight)))
                - 180
                + random.normal(0, 60, (people, len(weight))) / np.sqrt(trials)
            )
            values = level + cost + noise
            if len(weight) == 1:
                found = estimate(values[:, 0], proportion=False)
                return found.low, found.high
            rows = [np.flatnonzero(column) for column in there.T]
            return contrast([values[row, at] for at, row in enumerate(rows)], rows, weight).ends()

        return once, 700 * math.exp(0.2**2 / 2) if len(weight) == 1 else 0.0

    return make


def dprime(level: float, other: float | None = None, trials: int = 48) -> Any:
    """Mean d′ over people, withheld as a page withholds it, or its difference between two
    conditions; the log-linear correction is in the value that is to be held."""
    half = trials // 2

    def of(random: Random, many: int) -> tuple[np.ndarray, np.ndarray]:
        own = random.normal(level, 0.4, many)
        pairs, ends = [], []
        for mean in (own, own + (other or level) - level):
            hits, alarms = random.binomial(half, ndtr(mean / 2 - 0.2)), random.binomial(half, ndtr(-mean / 2 - 0.2))
            pairs.append(detection(hits, half - hits, alarms, half - alarms).dprime)
            ends.append(at_an_end(hits, half, alarms, half))
        return np.array(pairs), ends[0]

    large, _ = of(Random(0), _MANY)
    truth = float((large[0] - large[1]).mean()) if other is not None else float(large[0].mean())

    def make(people: int) -> Any:
        def once(random: Random) -> Limits:
            values, ends = of(random, people)
            if other is None:
                found = estimate(values[0], proportion=False)
                return (math.nan, math.nan) if without_interval(ends, "participant") else (found.low, found.high)
            return contrast([*values], [np.arange(people)] * 2, np.array([1.0, -1.0])).ends()

        return once, truth

    return make


def capacity(planted: float, size: int, formula: Callable[..., Any], trials: int = 36) -> Any:
    """Mean K over people; whoever holds K of N items sees every change of these, and says "change"
    else in three of ten."""

    def of(random: Random, many: int) -> tuple[np.ndarray, float]:
        own = np.clip(random.normal(planted, 0.6, many), 0, size)
        guess = 0.3 * (1 - own / size) if formula is cowan_k else np.full(many, 0.3)
        hits, alarms = (
            random.binomial(trials, own / size + (1 - own / size) * 0.3) / trials,
            random.binomial(trials, guess) / trials,
        )
        least = least_variance(hits, np.full(many, trials), alarms, "Cowan" if formula is cowan_k else "Pashler")
        return np.asarray(formula(np.full(many, size), hits, alarms, float(trials))), least

    truth = float(np.nanmean(of(Random(0), _MANY)[0]))

    def make(people: int) -> Any:
        def once(random: Random) -> Limits:
            values, least = of(random, people)
            found = over_units(values, "participant", size, least)
            return found["low"], found["high"]

        return once, truth

    return make


def from_people(machine: float, people_level: float, trials: int = 48) -> Any:
    own = shares_of([people_level])[:, 0]

    def make(people: int) -> Any:
        def once(random: Random) -> Limits:
            crowd = contrast(
                [random.binomial(48, random.choice(own, people)) / 48], [np.arange(people)], np.ones(1), share=True
            )
            return Apart(of_trials(random, machine, trials), crowd).ends()

        return once, machine - float(own.mean())

    return make


def sessions(level: float, people: int = 0, weights: Sequence[float] | np.ndarray = (1.0,)) -> Any:
    """A machine that differs between sessions (seeds of a network): its share, its slope, and its
    difference from people."""
    own, crowd, weight = shares_of([level] * len(weights), 0.5), shares_of([0.75])[:, 0], np.asarray(weights, float)

    def make(many: int) -> Any:
        asked = np.full((many, len(weight)), 48)

        def once(random: Random) -> Limits:
            cells = cells_of(random.binomial(asked, own[random.choice(_MANY, many)]), asked, "session")
            mine = contrast_of(cells, range(len(weight)), weight, shares=True)
            if not people:
                return mine.ends()
            theirs = contrast(
                [random.binomial(48, random.choice(crowd, people)) / 48], [np.arange(people)], np.ones(1), share=True
            )
            return Apart(mine, theirs).ends()

        return once, float((own @ weight).mean()) - (float(crowd.mean()) if people else 0.0)

    return make


def many_alike(people: int, trials: int, paradigm: str) -> pd.DataFrame:
    """Rows of :func:`answerers` of many studies at once, each of people with a name of their own: a
    table of all costs little more than that of one."""
    base = answerers(people * _AT_ONCE, trials, paradigm)
    study = np.repeat(np.arange(_AT_ONCE), people * trials)
    return base.assign(agent=[f"People {number:03d}" for number in study], study=study)


def from_many(studies: Callable[[Random], Sequence[Limits]]) -> Callable[[Random], Limits]:
    """One set after another, of studies that are made many at once."""
    ready: list[Limits] = []

    def once(random: Random) -> Limits:
        if not ready:
            ready.extend(reversed(studies(random)))
        return ready.pop()

    return once


def claims(level: float, trials: int = 16) -> Any:
    """The whole way, from answers of people whose accuracy does not depend on the set size to the
    sentence of the page."""
    shown = effect("set_size")

    def make(people: int) -> Any:
        base = many_alike(people, 3 * trials, "cd")
        base = base.assign(set_size=np.tile(np.repeat([2.0, 4.0, 6.0], trials), people * _AT_ONCE))

        def studies(random: Random) -> Sequence[Limits]:
            own = np.repeat(expit(logit(level) + _SPREAD * random.normal(size=people * _AT_ONCE)), 3 * trials)
            part = scored(base.assign(correct=(random.rand(len(base)) < own).astype(float)))
            limits: list[Limits] = []
            for slope in tested(shown, part, "cd"):
                rows = table_of([slope], shown.panels, None)
                computed = ComputedEffect(
                    title="",
                    caption="",
                    table=part.items,
                    shown=rows,
                    picture=lambda looks: {},
                    effect=shown,
                    trends=rows,
                    between=rows,
                    claims=[slope.claim],
                )
                claims = effect_claims([computed], part)
                assert claims is not None
                (claim,) = claims.claims
                limits.append(claim.interval if claim.interval[0] != claim.interval[0] or claim.told else (-1.0, 1.0))
            return limits

        return from_many(studies), 0.0

    return make


def primacy(trials: int = 24) -> Any:
    """The first item of a list minus those in the middle, over people, from answers to the table of
    the page."""
    odds = np.array([1.6, 0.8, 0.7, 0.8, 1.4])

    def make(people: int) -> Any:
        base = many_alike(people, 5 * trials, "vsr")
        place = np.tile(np.arange(1, 6), people * trials * _AT_ONCE)
        unit = np.repeat(np.arange(people * trials * _AT_ONCE), 5)
        base = base.assign(
            serial_position=place.astype(float), list_length=5.0, unit_trial=unit, trial=unit, set_size=5.0
        )

        def studies(random: Random) -> Sequence[Limits]:
            own = np.repeat(_SPREAD * random.normal(size=people * _AT_ONCE), 5 * trials)
            table = primacy_recency(
                scored(base.assign(correct=(random.rand(len(base)) < expit(odds[place - 1] + own)).astype(float)))
            )
            return list(table.loc[table["index"] == "primacy", ["low", "high"]].itertuples(index=False, name=None))

        shares = expit(odds + _SPREAD * Random(0).normal(size=(_MANY, 1))).mean(axis=0)
        return from_many(studies), float(shares[0] - shares[1:4].mean())

    return make


def within() -> Any:
    """The difference of two conditions in time, by the intervals without differences between people
    (over the root of 2)."""

    def make(people: int) -> Any:
        base = many_alike(people, 3, "own").assign(factor_load=np.tile([1.0, 2.0, 3.0], people * _AT_ONCE))

        def studies(random: Random) -> Sequence[Limits]:
            values = np.repeat(random.normal(600, 60, people * _AT_ONCE), 3) + random.normal(0, 30, len(base))
            cells = unit_means(scored(base.assign(rt_ms=values)), ("factor_load",), value="rt_ms")
            found = within_people(cells, len(cells.keys.columns) - 1)
            limits = []
            for agent in sorted(set(cells.keys["agent"])):
                first, second = np.flatnonzero(cells.keys["agent"] == agent)[:2]
                (low, high), (other_low, other_high) = found[first], found[second]
                middle, reach = (
                    (other_low + other_high - low - high) / 2,
                    math.sqrt(2) * (high - low + other_high - other_low) / 4,
                )
                limits.append((middle - reach, middle + reach))
            return limits

        return from_many(studies), 0.0

    return make


_DIFFERENCE = (1.0, -1.0)
DESIGNS: Sequence[Design] = (
    Design("mean reaction time", "people, 24 trials", times([1.0])),
    Design("mean reaction time", "people, 12 to 36 trials", times([1.0], unequal=True)),
    Design("difference of two conditions, time", "people, 24 trials", times(_DIFFERENCE)),
    Design("slope, time", "people, 24 trials", times(_SLOPE)),
    Design("slope, time", "half of the people lack a condition", times(_SLOPE, lacking="half"), PEOPLE[1:]),
    Design("slope, time", "one person lacks a condition", times(_SLOPE, lacking="one")),
    Design("slope, time", "each lacks one of three conditions", times([-0.5, 0.0, 0.5], lacking="each")),
    Design("intervals within people, time", "people, 3 conditions", within()),
    Design("share", "people at 50%", share(0.5)),
    Design("share", "people at 75%, 12 to 36 trials", share(0.75, unequal=True)),
    Design("share", "people at 75% who differ much (SD 1.2)", share(0.75, spread=1.2)),
    Design("share", "people at 95%", share(0.95)),
    Design("share", "people at 98%", share(0.98)),
    Design("share", "people at 99.5%, 12 trials", share(0.995, 12)),
    Design("share", "people at 2%", share(0.02)),
    Design("share", "people at 98% who differ much (SD 1), 96 trials", share(0.98, 96, spread=1.0)),
    Design("difference of two conditions", "people at 50%", weighted([0.5, 0.5], _DIFFERENCE)),
    Design(
        "difference of two conditions",
        "people at 75%, 12 to 36 trials",
        weighted([0.75, 0.75], _DIFFERENCE, unequal=True),
    ),
    Design("difference of two conditions", "people at 90% and 80%", weighted([0.9, 0.8], _DIFFERENCE)),
    Design("difference of two conditions", "people at 95%", weighted([0.95, 0.95], _DIFFERENCE)),
    Design("difference of two conditions", "people at 98%", weighted([0.98, 0.98], _DIFFERENCE)),
    Design("difference of two conditions", "people at 98% and 90%, 96 trials", weighted([0.98, 0.9], _DIFFERENCE, 96)),
    Design(
        "difference of two conditions", "people at 99.5% and 98%, 12 trials", weighted([0.995, 0.98], _DIFFERENCE, 12)
    ),
    Design("difference of two conditions", "people at 3% and 10%", weighted([0.03, 0.1], _DIFFERENCE)),
    Design(
        "difference of two conditions",
        "people at 99% and 95% who differ much (SD 1), 96 trials",
        weighted([0.99, 0.95], _DIFFERENCE, 96, spread=1.0),
    ),
    Design("slope", "people at 75%", weighted([0.75] * 4, _SLOPE)),
    Design("slope", "people, 98% to 60%", weighted([0.98, 0.9, 0.75, 0.6], _SLOPE)),
    Design(
        "slope",
        "people, 99% to 96%, who differ much (SD 1), 96 trials",
        weighted([0.99, 0.98, 0.97, 0.96], _SLOPE, 96, spread=1.0),
    ),
    Design("slope", "people at 98%, 12 to 36 trials", weighted([0.98] * 4, _SLOPE, unequal=True)),
    Design(
        "slope", "half of the people at 75% lack a condition", weighted([0.75] * 4, _SLOPE, lacking="half"), PEOPLE[1:]
    ),
    Design("slope", "one person, of people at 95%, lacks a condition", weighted([0.95] * 4, _SLOPE, lacking="one")),
    Design("slope", "each lacks one of three conditions, 75%", weighted([0.75] * 3, [-0.5, 0.0, 0.5], lacking="each")),
    Design("d′", "people, d′ = 1.5", dprime(1.5)),
    Design("d′", "people, d′ = 3", dprime(3.0)),
    Design("difference of two conditions, d′", "people, d′ = 1.5", dprime(1.5, 1.5)),
    Design("items held (Pashler's K)", "people who hold 3 of 6", capacity(3.0, 6, pashler_k)),
    Design("items held (Pashler's K)", "people who hold 0 to 2 of 6", capacity(0.0, 6, pashler_k), sets=2 * SETS),
    Design(
        "items held (Pashler's K)", "people who hold all or nearly all of 4", capacity(4.0, 4, pashler_k), sets=2 * SETS
    ),
    Design("items held (Pashler's K)", "people who hold all of 4", capacity(6.0, 4, pashler_k), sets=2 * SETS),
    Design("items held (Cowan's K)", "people who hold 3 of 6", capacity(3.0, 6, cowan_k)),
    Design("items held (Cowan's K)", "people who hold 0 to 2 of 6", capacity(0.0, 6, cowan_k), sets=2 * SETS),
    Design(
        "items held (Cowan's K)", "people who hold all or nearly all of 4", capacity(4.0, 4, cowan_k), sets=2 * SETS
    ),
    Design("primacy", "people, 24 lists of 5", primacy()),
    Design("difference from people", "a machine at 50%, people at 75%", from_people(0.5, 0.75)),
    Design("difference from people", "a machine at 75%, people at 75%", from_people(0.75, 0.75)),
    Design("difference from people", "a machine at 98%, people at 90%", from_people(0.98, 0.9)),
    Design("difference from people", "a machine at 100%, people at 95%", from_people(1.0, 0.95)),
    Design("difference from people", "a machine at 5%, people at 10%", from_people(0.05, 0.1)),
    Design("slope along set sizes, flat", "people at 75%: from answers to the sentence", claims(0.75), counted=CLAIMS),
    Design("slope along set sizes, flat", "people at 97%: from answers to the sentence", claims(0.97), counted=CLAIMS),
    Design("share of a machine", "sessions at 50%", sessions(0.5), SESSIONS),
    Design("share of a machine", "sessions at 75%", sessions(0.75), SESSIONS),
    Design("share of a machine", "sessions at 95%", sessions(0.95), SESSIONS),
    Design("share of a machine", "sessions at 99%", sessions(0.99), SESSIONS),
    Design("slope of a machine", "sessions at 75%", sessions(0.75, weights=_SLOPE), SESSIONS),
    Design("difference from people", "sessions at 75%, 3 people at 75%", sessions(0.75, 3), SESSIONS),
    Design("difference from people", "sessions at 95%, 8 people at 75%", sessions(0.95, 8), SESSIONS),
    Design("d′ of a machine", "sessions of 96 questions, d′ = 1.5", dprime(1.5, trials=96), SESSIONS),
)


def measured(at: int, size: int, sets: int, seed: int) -> dict[str, float]:
    """Of a design with so many people or sessions: how often intervals hold the truth (or sentences
    claim a difference where there is none), in percent of those that there are; how often there is
    none; and the median width.
    """
    design = DESIGNS[at]
    once, truth = design.make(size)
    random = Random(seed)
    ends = np.array([once(random) for _ in range(sets)])
    known = np.isfinite(ends[:, 0])
    low, high = ends[known].T
    held = (low - 1e-12 <= truth) & (truth <= high + 1e-12)
    percent = 100 * float((held if design.counted == HOLDS else ~held).mean())
    return {
        "percent": round(percent, 2),
        "withheld": round(100 * float(1 - known.mean()), 2),
        "width": float(f"{np.median(high - low):.3g}"),
        "sets": sets,
    }
