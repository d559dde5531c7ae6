"""Random tables, such as nobody would plan them: no estimate outside its interval, no point without
its n, no axis that an outlier makes unreadable."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from analysis_tables import mixed, responses

from spanlab.analysis.data.loading import load
from spanlab.analysis.data.style import GROUP_MEANS
from spanlab.analysis.figures.effect_figure import ComputedEffect
from spanlab.analysis.guessing import guessing_table
from spanlab.analysis.inference import families_of
from spanlab.analysis.report.paradigm import numbers_of

#: Columns of an estimate, its limits beside it.
ESTIMATES = (
    ("mean", "low", "high"),
    ("value", "low", "high"),
    ("fit", "low", "high"),
    ("more", "more_low", "more_high"),
)


def answerer(random: np.random.RandomState, kind: str, number: int, paradigm: str) -> pd.DataFrame:
    level = float(random.choice([0.02, 0.12, 0.5, 0.9, 1.0]))
    lengths = [int(one) for one in np.flatnonzero(random.rand(4) < 0.7) + 2] or [3]
    slope = random.normal(0, 0.1)
    made = responses(
        lambda length, _: level + slope * (length - 3),
        kind=kind,
        agent="p" if kind == "participant" else f"network:{number % 3}",
        participant=f"P{number}" if kind == "participant" else "",
        session=f"{kind}{number}",
        lengths=lengths,
        repetitions=int(random.choice([1, 2, 3, 10])),
        seed=int(random.randint(10**6)),
        paradigm=paradigm,
        chance=0.5 if paradigm == "cd" else 1 / 9,
    )
    if paradigm == "cd":  # one question a trial, with two words
        made = made[made["serial_position"] == 1].assign(serial_position=np.nan)
        made = made.assign(
            correct_answer=[json.dumps("different" if random.rand() < 0.5 else "same") for _ in range(len(made))]
        )
    times = 500 + random.exponential(200, len(made))
    return made.assign(rt_ms=np.where(random.rand(len(made)) < 0.02, times * 400, times))


def random_table(seed: int) -> pd.DataFrame:
    random = np.random.RandomState(seed)
    paradigm = str(random.choice(["vsr", "cd"]))
    people, machines = int(random.choice([0, 1, 2, 3, 9])), int(random.choice([1, 2, 4, 6]))
    kinds = ["participant"] * people + ["network"] * machines
    return mixed(*(answerer(random, kind, number, paradigm) for number, kind in enumerate(kinds)))


def outside(table: pd.DataFrame, name: str) -> list[str]:
    """The rows whose estimate lies beyond one of its limits."""
    wrong = []
    for estimate, low, high in ESTIMATES:
        if {estimate, low, high} <= set(table.columns) and len(table):
            value, least, most = (table[column].astype(float).to_numpy() for column in (estimate, low, high))
            bad = (value < least - 1e-9) | (value > most + 1e-9)
            wrong += [f"{name}: {estimate} {value[at]} in [{least[at]}, {most[at]}]" for at in np.flatnonzero(bad)]
    return wrong


def unreadable(spec: dict[str, Any], name: str) -> list[str]:
    """Vertical axes of which the middle half of the points, and a usual interval, take less than a
    thirtieth."""
    layers = spec.get("spec", spec).get("layer", [])
    domains = {
        tuple(scale["domain"])
        for layer in layers
        if "domain" in (scale := layer.get("encoding", {}).get("y", {}).get("scale", {}))
    }
    rows = [row for row in spec.get("data", {}).get("values", []) if row.get("role") == "curve"]
    if len(domains) != 1 or len(rows) < 5:
        return []
    ((low, high),) = domains
    means = [row["mean"] for row in rows]
    widths = [row["high"] - row["low"] for row in rows if row["low"] is not None]
    used = max(float(np.subtract(*np.quantile(means, [0.75, 0.25]))), float(np.median(widths)) if widths else 0.0)
    return [f"{name}: {used} of an axis of {high - low}"] if 0 < used < (high - low) / 30 else []


def faults_of(seed: int, folder: Path) -> list[str]:
    file = folder / f"{seed}.csv"
    random_table(seed).to_csv(file, index=False)
    data = load([file])
    faults: list[str] = []
    for paradigm in data.scored.parts:
        numbers = numbers_of(data, paradigm)
        tables = {"overall": numbers.overall, "guessing": guessing_table(numbers.guessed, numbers.scored)}
        for name, figure in numbers.figures.items():
            tables |= {name: figure.table} | (
                {f"{name}, slopes": figure.trends} if isinstance(figure, ComputedEffect) else {}
            )
            spec = figure.draw().spec
            faults += unreadable(spec, name)
            points = [row for row in spec.get("data", {}).get("values", []) if row.get("role") == "curve"]
            faults += [f"{name}: no n of {row}" for row in points if not row["n"] or row["n"].startswith("0 ")]
        for name, table in tables.items():
            faults += outside(table, name)
            if {"mean", "n_units"} <= set(table.columns):
                bare = (
                    table["mean"].notna() & ~(table["n_units"].astype(float) > 0) & (table["agent_kind"] != GROUP_MEANS)
                )
                faults += [f"{name}: no n of {row}" for row in table[bare].to_dict("records")]
        for claim in numbers.among(families_of(numbers.claims)).claims:
            low, high = claim.interval_of_family
            if not math.isnan(claim.p) and claim.told == (low <= claim.null <= high):
                faults.append(f"{claim.rule} of {claim.agent}: p {claim.p_of_family}, [{low}, {high}] of {claim.null}")
        for one in numbers.differences.values():
            for value, low, high in (
                (one.value, one.low, one.high),
                (one.share, one.share_low, one.share_high),
                (one.people, one.people_low, one.people_high),
            ):
                if not math.isnan(low) and not low - 1e-9 <= value <= high + 1e-9:
                    faults.append(f"difference of {one.agent}: {value} in [{low}, {high}]")
    return [f"table {seed}, {fault}" for fault in faults]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("seed", [1, 2])
def test_a_random_table_has_no_fault(seed: int, tmp_path: Path) -> None:
    assert faults_of(seed, tmp_path) == []


@pytest.mark.slow
@pytest.mark.soaked(3)
@pytest.mark.parametrize("start", range(0, 1000, 50))
def test_random_tables_have_no_fault(start: int, tmp_path: Path) -> None:
    assert [fault for seed in range(start, start + 50) for fault in faults_of(seed, tmp_path)] == []
