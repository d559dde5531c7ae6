"""Samples with known truth for figures along any column, choices between two sides, recall, the
probit model, reliability and equivalence."""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from _samples import Once, Random, drawn_times, rejects, within
from scipy.special import ndtr

from spanlab.analysis.data.scoring import Scored
from spanlab.analysis.effects.conditions import conditions_effect
from spanlab.analysis.effects.effect import Effect, between_panels, trends
from spanlab.analysis.effects.recall import lag_rows, pooled
from spanlab.analysis.effects.registry import effect
from spanlab.analysis.inference import Margin, equivalence_test
from spanlab.analysis.means.cell_means import unit_means
from spanlab.analysis.means.contrasts import contrast
from spanlab.analysis.means.over_people import within_people
from spanlab.analysis.stats.likeness import likeness
from spanlab.analysis.stats.reliability import reliability
from spanlab.analysis.stats.sensitivity_model import sensitivity_contrasts, sensitivity_model
from spanlab.analysis.stats.signal_detection import detection

_LARGE = 200_000


def scored(items: pd.DataFrame) -> Scored:
    return Scored(items, items.iloc[:0], ())


def answerers(people: int, trials: int, paradigm: str) -> pd.DataFrame:
    """Rows of so many questions by each of some people, or by one."""
    who = np.repeat([f"P{at}" for at in range(max(1, people))], trials)
    many = np.tile(np.arange(trials), max(1, people))
    fixed = {
        "agent": "People",
        "agent_kind": "participant",
        "oracle": False,
        "paradigm": paradigm,
        "step": 1,
        "ask": 1,
        "outcome": "answered",
        "chance": 0.5,
    }
    own = {
        "participant": who,
        "session": who,
        "trial": many,
        "trial_id": many.astype(str),
        "unit_trial": np.arange(len(many)),
    }
    return pd.DataFrame(
        fixed
        | own
        | {
            "block": 1,
            "practice": False,
            "row_trial": 0,
            "output_position": np.nan,
            "edit_distance": np.nan,
            "rt_ms": np.nan,
        }
    )


def _said(random: Random, signal: np.ndarray, dprime: np.ndarray | float, criterion: np.ndarray | float) -> np.ndarray:
    """Whether the first word is said."""
    return random.rand(len(signal)) < ndtr(np.where(signal, 0.5, -0.5) * dprime - criterion)


def _expected(dprime: float, spread: float, criterion: float, questions: int, root: float = 1.0) -> tuple[float, float]:
    """d' and criterion as they are estimated from so many questions of each kind, over many people:
    the correction is in the value that is to be held."""
    random = np.random.RandomState(0)
    own = root * random.normal(dprime, spread, _LARGE)
    hits, alarms = (
        random.binomial(questions, ndtr(own / 2 - criterion)),
        random.binomial(questions, ndtr(-own / 2 - criterion)),
    )
    found = detection(hits, questions - hits, alarms, questions - alarms)
    return float(found.dprime.mean()) / root, float(found.criterion.mean())


# figures along any column -------------------------------------------------------------------------

#: Level, slope along the numbers, difference of the panels, and of their slopes; and how people
#: spread about level and slope.
_PLANTED: Mapping[str, tuple[float, float, float, float]] = {
    "correct": (0.72, -0.05, -0.06, -0.02),
    "d_prime": (1.6, -0.2, -0.4, -0.1),
}
_IN_TIME = (0.0, 30.0, 40.0, 10.0)
_SPREAD: Mapping[str, tuple[float, float]] = {"correct": (0.05, 0.01), "d_prime": (0.35, 0.05)}


def along(value: str, people: int, repeats: int, planted: bool) -> Once:
    """Three loads and two probes, everybody has all: slopes along the loads, differences of the
    panels, and of two named conditions."""
    base = answerers(people, 12 * repeats, "own")
    at = base["trial"].to_numpy()
    load, probe, signal = 2.0 * (at % 3 - 1), (at // 3) % 2 == 1, (at // 6) % 2 == 1
    base = base.assign(
        factor_load=load + 4,
        factor_probe=probe,
        correct_answer=np.where(signal, '"yes"', '"no"'),
        correct=1.0,
        rt_ms=500.0,
    )
    person = np.repeat(np.arange(max(1, people)), 12 * repeats)
    level, slope, apart, steeper = _PLANTED.get(value, _IN_TIME)
    if not planted:
        slope = apart = steeper = 0.0
    first, second = (
        conditions_effect(scored(base), "own", "load", "probe", value),
        conditions_effect(scored(base), "own", "probe", "", value),
    )
    where = np.where(probe, apart + (slope + steeper) * load, slope * load)
    spread = _SPREAD.get(value, (60.0, 8.0)) if people else (0.0, 0.0)
    truth = _truth(level, slope, apart, steeper, spread, value, people, repeats)

    def once(random: Random) -> dict[str, float]:
        own, costs = (
            random.normal(0, spread[0], max(1, people))[person],
            random.normal(0, spread[1], max(1, people))[person],
        )
        mean = level + where + own + costs * load
        if value == "correct":
            made = {"correct": (random.rand(len(base)) < np.clip(mean, 0, 1)).astype(float)}
        elif value == "d_prime":
            made = {"correct": (_said(random, signal, mean, 0.2) == signal).astype(float)}
        else:
            made = {
                "rt_ms": mean + drawn_times(random, len(base)),
                "correct": (random.rand(len(base)) < 0.9).astype(float),
            }
        part = scored(base.assign(**made))
        told: dict[str, float] = {}
        lines, between, pair = (
            trends(first, part, "own"),
            between_panels(first, part, "own"),
            trends(second, part, "own"),
        )
        for row in lines[lines["factor_probe"] == "no"].to_dict("records"):
            told |= _told("slope", row, truth["slope"])
        for row in [*between.to_dict("records"), *pair.to_dict("records")]:
            what, _, names = row["contrast"].rpartition(", ")
            sign = 1 if names == "yes minus no" else -1
            name = {"mean": "panels", "slope": "slopes", "": "pair"}[what]
            told |= _told(name, row, sign * truth[name])
        return told

    return once


def _truth(
    level: float,
    slope: float,
    apart: float,
    steeper: float,
    spread: tuple[float, float],
    value: str,
    people: int,
    repeats: int,
) -> dict[str, float]:
    """What contrasts are of; d' of people is as it is estimated."""
    truth = {"slope": slope, "slopes": steeper, "panels": apart, "pair": apart}
    if value != "d_prime" or not slope:
        return truth

    def cell(load: float, probe: bool, questions: int) -> float:
        mean = level + (apart + (slope + steeper) * load if probe else slope * load)
        return _expected(mean, math.hypot(spread[0], spread[1] * load), 0.2, questions)[0] if people else mean

    cells = {(load, probe): cell(load, probe, repeats) for load in (-2.0, 0.0, 2.0) for probe in (False, True)}
    slopes = [(cells[2.0, probe] - cells[-2.0, probe]) / 4 for probe in (False, True)]
    means = [sum(cells[load, probe] for load in (-2.0, 0.0, 2.0)) / 3 for probe in (False, True)]
    truth |= {"slope": slopes[0], "slopes": slopes[1] - slopes[0], "panels": means[1] - means[0]}
    return truth | {"pair": math.nan}


def _told(name: str, row: Mapping[Hashable, Any], planted: float) -> dict[str, float]:
    return {
        f"held {name}": float("nan") if planted != planted else within(row["low"], planted, row["high"]),
        f"test {name}": rejects(row["p"]),
    }


def intervals_within_people(people: int) -> Once:
    """Whether the difference of two conditions is as near to what was planted as their intervals
    within people say."""
    base = answerers(people, 3, "own").assign(factor_load=np.tile([1.0, 2.0, 3.0], people))

    def once(random: Random) -> float:
        own = np.repeat(random.normal(0, 60, people), 3)
        values = own + np.tile([500.0, 540.0, 580.0], people) + random.normal(0, 30, 3 * people)
        cells = unit_means(scored(base.assign(rt_ms=values)), ("factor_load",), value="rt_ms")
        (low, high), (other_low, other_high), _ = within_people(cells, len(cells.keys.columns) - 1)
        reach = math.sqrt(2) * (high - low + other_high - other_low) / 4
        return float(abs((other_low + other_high - low - high) / 2 - 40) <= reach)

    return once


# choices between two sides ------------------------------------------------------------------------


def forced_choice(people: int, repeats: int, fall: float, bias: float = 0.3) -> Once:
    """d' and side bias at three set sizes, through the table of the figure and that of its slopes."""
    base = answerers(people, 6 * repeats, "vir")
    at = base["trial"].to_numpy()
    size, signal = 4.0 + 2 * (at % 3), (at // 3) % 2 == 1
    base = base.assign(set_size=size, correct_answer=np.where(signal, '"left"', '"right"'), correct=1.0)
    person = np.repeat(np.arange(max(1, people)), 6 * repeats)
    shown, spread = effect("forced_choice"), 0.4 if people else 0.0
    planted = {
        one: _expected(1.2 + fall * (one - 6), spread, bias, repeats, math.sqrt(2))
        if people
        else (1.2 + fall * (one - 6), bias)
        for one in (4, 6, 8)
    }
    slopes = {"d′": (planted[8][0] - planted[4][0]) / 4, "side bias": (planted[8][1] - planted[4][1]) / 4}

    def once(random: Random) -> dict[str, float]:
        own = random.normal(0, spread, max(1, people))[person]
        said = _said(random, signal, math.sqrt(2) * (1.2 + fall * (size - 6) + own), bias)
        part = scored(base.assign(correct=(said == signal).astype(float)))
        table = shown.table(part, "vir")
        told = {}
        for row in table[table["set_size"] == 6].to_dict("records"):
            told[row["measure"]] = within(row["low"], planted[6][row["measure"] != "d′"], row["high"])
        for row in trends(shown, part, "vir").to_dict("records"):
            told |= _told(row["measure"], row, slopes[row["measure"]])
        return told

    return once


# recall -------------------------------------------------------------------------------------------

#: How often each item at a distance is answered, and something that was not in the list; the rest
#: is right or left out.
_MOVED, _INTRUDED, _RIGHT = np.array([0.0, 0.07, 0.035, 0.015, 0.01, 0.006]), 0.06, 0.62


def serial_recall(people: int, lists: int) -> Once:
    """Lists of 4 and 6 items: transpositions by distance, and kinds of errors. People make more or
    fewer errors of each kind."""
    lengths = np.tile([4, 6], lists // 2)
    length, place = np.repeat(lengths, lengths), np.concatenate([np.arange(1, one + 1) for one in lengths])
    many = max(1, people)
    base = answerers(people, len(place), "vsr")
    number = np.repeat(np.arange(lists), lengths)
    base = base.assign(
        **{
            "list_length": np.tile(length, many).astype(float),
            "serial_position": np.tile(place, many).astype(float),
            "step": np.tile(place, many),
        },
        **{
            "ask": np.tile(place, many),
            "trial": np.tile(number, many),
            "trial_id": np.tile(number, many).astype(str),
            "chance": 1 / 9,
        },
        **{
            "unit_trial": (np.arange(many)[:, None] * lists + number).ravel(),
            "correct_answer": np.tile(place, many).astype(str),
        },
    )
    # columns of answers: 1 to 6 (an item of the list), 7 (something else), 8 (nothing)
    odds = np.zeros((len(place), 8))
    for at, (here, long) in enumerate(zip(place, length, strict=True)):
        odds[at, :long] = _MOVED[np.abs(np.arange(1, long + 1) - here)]
        odds[at, 6] = _INTRUDED
        odds[at, 7] = (1 - _RIGHT - odds[at].sum()) / 2
    share = {4: odds[length == 4], 6: odds[length == 6]}
    errors = {
        (long, name): value
        for long in (4, 6)
        for name, value in zip(("transposition", "intrusion", "omission"), _kinds(share[long]), strict=True)
    }
    moved, kinds = effect("transpositions"), effect("recall_errors")
    right = np.tile(place, many)

    def once(random: Random) -> dict[str, float]:
        own = random.uniform(0.5, 1.5, many) if people else np.ones(1)
        wrong = (own[:, None, None] * odds).reshape(-1, 8).cumsum(axis=1)
        drawn = (random.rand(len(base), 1) >= wrong).sum(axis=1) + 1
        answer = np.where(drawn == 9, right, drawn)
        outcome = np.where(answer == 8, "omitted", "answered")
        made = base.assign(answer=answer.astype(str), outcome=outcome, correct=(answer == right).astype(float))
        part = scored(made)
        told = {}
        table = moved.table(part, "vsr")
        for row in table[table["list_length"] == 6].to_dict("records"):
            told[f"distance {row['distance']:g}"] = within(row["low"], float(_MOVED[int(row["distance"])]), row["high"])
        table = kinds.table(part, "vsr")
        for row in table[table["list_length"] == 6].to_dict("records"):
            told[row["error"]] = within(row["low"], errors[6, row["error"]], row["high"])
        for row in trends(kinds, part, "vsr").to_dict("records"):
            told |= _told(row["error"], row, (errors[6, row["error"]] - errors[4, row["error"]]) / 2)
        return told

    return once


def _kinds(odds: np.ndarray) -> tuple[float, float, float]:
    return float(odds[:, :6].sum(axis=1).mean()), float(odds[:, 6].mean()), float(odds[:, 7].mean())


def _recalled(random: Random, length: int, follows: float, ends: float) -> list[int]:
    """Positions in the order of recall: the next one with some probability, else any; it may end
    early."""
    left = list(range(1, length + 1))
    out = [1 if random.rand() < follows else int(random.choice(left))]
    left.remove(out[0])
    while left and random.rand() > ends:
        out.append(out[-1] + 1 if out[-1] + 1 in left and random.rand() < follows else int(random.choice(left)))
        left.remove(out[-1])
    return out


def free_recall(people: int, lists: int, follows: float, length: int = 6) -> Once:
    """A crowd with known means, of which some people and lists are drawn: first recalls,
    transitions by lag, temporal clustering."""
    random = np.random.RandomState(0)
    crowd, each = (60, 40) if people else (1, 1200)
    rows = []
    for one in range(crowd):
        own = min(0.9, max(0.0, follows + random.uniform(-0.2, 0.2))) if people and follows else follows
        for number in range(each):
            out = _recalled(random, length, own, 0.08)
            rows += [
                (one, number, place, out.index(place) + 1 if place in out else np.nan) for place in range(1, length + 1)
            ]
    found = pd.DataFrame(rows, columns=["person", "list", "serial_position", "output_position"])
    head = {
        "agent": "People",
        "agent_kind": "participant",
        "oracle": False,
        "paradigm": "sfr",
        "step": 1,
        "ask": 1,
        "block": 1,
        "practice": False,
        "row_trial": 0,
        "chance": 1 / 9,
        "edit_distance": np.nan,
    }
    whole = found.assign(
        **head,
        participant=found["person"].map("P{}".format),
        list_length=float(length),
        trial=found["list"],
        rt_ms=np.nan,
    )
    whole["session"], whole["trial_id"] = whole["participant"], whole["list"].astype(str)
    whole["unit_trial"] = whole["person"] * each + whole["list"]
    whole["correct"], whole["outcome"] = (
        whole["output_position"].notna().astype(float),
        np.where(whole["output_position"].notna(), "answered", "omitted"),
    )
    asked = {name: _drawn_from(name, whole) for name in ("first_recall", "lag_crp", "temporal_clustering")}

    def once(random: Random) -> dict[str, float]:
        which = random.choice(crowd, people) if people else np.zeros(1, int)
        drawn = which[:, None] * each + random.randint(each, size=(len(which), lists))
        told = {}
        for name, (shown, rows, starts, truth) in asked.items():
            own = [np.arange(starts[one], starts[one + 1]) for one in drawn.ravel()]
            many = np.array([len(one) for one in own])
            part = rows.iloc[np.concatenate(own)].assign(
                unit_trial=np.repeat(np.arange(len(own)), many),
                participant=np.repeat(np.repeat([f"P{at}" for at in range(len(which))], lists), many),
            )
            part = scored(part.assign(session=part["participant"]).reset_index(drop=True))
            for row in shown.table(part, "sfr").to_dict("records"):
                told[f"{name} {row[shown.x]}"] = within(row["low"], truth[row[shown.x]], row["high"])
            if shown.order:
                (row,) = trends(shown, part, "sfr").to_dict("records")
                told |= _told("clustering", row, truth["as recalled"] - truth["shuffled"])
        return told

    return once


def _drawn_from(name: str, whole: pd.DataFrame) -> tuple[Effect, pd.DataFrame, np.ndarray, dict[Hashable, float]]:
    """An effect of rows that are ready, these rows of every list, where each list has them, and the
    means of the crowd."""
    shown = effect(name)
    assert shown.prepare is not None
    lists, prepare = (lag_rows, pooled) if name == "lag_crp" else (shown.prepare, None)
    rows = lists(scored(whole)).items.sort_values("unit_trial", kind="stable").reset_index(drop=True)
    starts = np.searchsorted(rows["unit_trial"].to_numpy(), np.arange(int(whole["unit_trial"].max()) + 2))
    ready = prepare(scored(rows)).items if prepare else rows
    means = ready.groupby(["participant", shown.x], observed=True)["correct"].mean()
    return replace(shown, prepare=prepare), rows, starts, means.groupby(level=1, observed=True).mean().to_dict()


# the probit model, reliability, equivalence -------------------------------------------------------


def of_probit(people: int, apart: float, fall: float) -> Once:
    """People who differ in sensitivity and criterion, and a network, on the same 72 questions of
    three set sizes: every contrast that is printed."""
    at = np.arange(72)
    size, signal = 2.0 + 2 * (at % 3), (at // 3) % 2 == 1
    parts = []
    for number in range(people + 1):
        who = {"agent": "People", "agent_kind": "participant", "participant": f"P{number}"}
        who = who if number < people else {"agent": "net", "agent_kind": "network", "participant": ""}
        parts.append(
            answerers(0, 72, "cd").assign(**who, session=f"s{number}", unit_trial=at + 72 * number, set_size=size)
        )
    base = pd.concat(parts, ignore_index=True).assign(
        serial_position=np.nan, list_length=np.nan, correct_answer=json.dumps("same"), answer='""'
    )
    base["correct_answer"] = np.tile(np.where(signal, '"different"', '"same"'), people + 1)
    sizes, signals = np.tile(size, people + 1), np.tile(signal, people + 1)
    net = np.repeat(np.arange(people + 1) == people, 72)

    def once(random: Random) -> dict[str, float]:
        own, says = random.normal(0, 0.4, people + 1), random.normal(0, 0.3, people + 1)
        own[people] = says[people] = 0.0
        dprime = 1.5 + np.where(net, apart, fall * (sizes - 4)) + np.repeat(own, 72)
        said = _said(random, signals, dprime, 0.2 + np.repeat(says, 72) + np.where(net, apart / 2, 0))
        model = sensitivity_model(scored(base.assign(correct=(said == signals).astype(float))), "cd", "set_size")
        if model.fit is None:
            return {}
        told: dict[str, float] = {}
        for row in sensitivity_contrasts(model).to_dict("records"):
            planted = (
                {"agents": -apart, "trend": fall if row["first"] == "People" else 0.0, "trends": fall}
                if row["measure"] == "d′"
                else {"agents": -apart / 2}
            )
            if row["kind"] in planted or row["kind"] in ("trend", "trends"):
                name = f"{row['measure']} {row['kind']}" + (f" {row['first']}" if row["kind"] == "trend" else "")
                told |= _told(name, row, planted.get(row["kind"], 0.0))
        return told

    return once


def reliability_of(people: int, trials: int, spread: float = 0.12) -> Once:
    """Of the share of right answers of people who came twice: halves, stepped up, and sessions."""
    base = answerers(people, 2 * trials, "own")
    base["session"] = base["participant"] + np.where(base["trial"] < trials, "a", "b")
    middle, low, high = 0.7, 0.7 - math.sqrt(3) * spread, 0.7 + math.sqrt(3) * spread
    error = middle * (1 - middle) - spread**2
    truth = {
        "split half": spread**2 / (spread**2 + error / (2 * trials)),
        "retest": spread**2 / (spread**2 + error / trials),
    }

    def once(random: Random) -> dict[str, float]:
        own = np.repeat(random.uniform(low, high, people), 2 * trials)
        table = reliability(scored(base.assign(correct=(random.rand(len(base)) < own).astype(float))))
        return {row["kind"]: within(row["low"], truth[row["kind"]], row["high"]) for row in table.to_dict("records")}

    return once


def alike_with_people(people: int, trials: int, margin: float = 5.0) -> Once:
    """A network that is as far above people as the margin: whether both are called alike, through
    the table of differences."""
    base = answerers(people, trials, "own")
    base = pd.concat(
        [base, base.iloc[:trials].assign(agent="net", agent_kind="network", participant="", session="n")],
        ignore_index=True,
    )
    base["unit_trial"] = np.arange(len(base))
    declared = {"points": Margin(margin, "points")}

    def once(random: Random) -> float:
        own = np.append(random.uniform(0.6, 0.8, people), 0.7 + margin / 100)
        right = random.rand(len(base)) < np.repeat(own, trials)
        table = likeness(scored(base.assign(correct=right.astype(float))), "own", "", declared)
        return float(table["alike"].iloc[0].startswith("alike"))

    return once


def equivalence_of(people: int, margin: float = 0.05) -> Once:
    """Two conditions that differ by the margin itself: whether they are called alike."""

    def once(random: Random) -> float:
        away = random.normal(margin, 0.06, people)
        return float(
            equivalence_test(contrast([away], [np.arange(people)], np.ones(1)), margin).verdict == "within the margin"
        )

    return once
