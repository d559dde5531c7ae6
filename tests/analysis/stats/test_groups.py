"""Groups of people, compared between people: the tests, their size, what belongs to no group, and
where it is shown."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from planted_groups import planted_groups
from scipy.stats import nct, ttest_ind

import spanlab
from spanlab.analysis.data.loading import load
from spanlab.analysis.data.scoring import score_table
from spanlab.analysis.effects.groups import hedges_g, welch_f, welch_t
from spanlab.analysis.figure_catalogue import FIGURES, figure_named
from spanlab.analysis.figures.figure import Wish
from spanlab.analysis.inference import read_margins
from spanlab.analysis.report import folder as report_folder
from spanlab.analysis.stats.mixed_contrasts import contrasts
from spanlab.analysis.stats.mixed_model import mixed_model
from spanlab.core.errors import SpanLabError
from spanlab.extensions.planning.methods import methods

TWO = {"training": (12, 1.5), "control": (10, 0.5)}


def test_the_tests_are_those_of_welch() -> None:
    random = np.random.RandomState(1)
    first, second, third = random.normal(0.6, 0.1, 12), random.normal(0.7, 0.3, 7), random.normal(0.5, 0.2, 9)
    row = welch_t(first, second)
    wanted: Any = ttest_ind(first, second, equal_var=False)
    assert (row["t"], row["p"], row["df"]) == pytest.approx((wanted.statistic, wanted.pvalue, wanted.df))
    assert (row["low"], row["high"]) == pytest.approx(tuple(wanted.confidence_interval()))
    two = welch_f([first, second])
    assert (two["f"], two["p"], two["df"]) == pytest.approx((row["t"] ** 2, row["p"], row["df"]))
    # by its definition, in another order
    groups = [first, second, third]
    weights = [len(one) / one.var(ddof=1) for one in groups]
    middle = sum(weight * one.mean() for weight, one in zip(weights, groups, strict=True)) / sum(weights)
    rest = sum((1 - weight / sum(weights)) ** 2 / (len(one) - 1) for weight, one in zip(weights, groups, strict=True))
    f = (
        sum(weight * (one.mean() - middle) ** 2 for weight, one in zip(weights, groups, strict=True))
        / 2
        / (1 + rest / 4)
    )
    assert (welch_f(groups)["f"], welch_f(groups)["df"]) == pytest.approx((f, 8 / (3 * rest)))
    assert welch_t(first[:1], second)["note"] == "a group of one person: no test"
    assert welch_t(np.ones(4), np.ones(5))["note"] == "everybody in a group is alike: no test"


@pytest.mark.slow
def test_who_belongs_to_no_group_is_named_and_not_compared(tmp_path: Path) -> None:
    random = np.random.RandomState(2)
    model = planted_groups({"training": (1, 1.0)}, random).assign(agent="a model", agent_kind="chat", participant="")
    lone = planted_groups({"x": (1, 1.0)}, random).assign(group=None)
    pd.concat([planted_groups(TWO, random), model, lone]).to_csv(tmp_path / "all.csv", index=False)
    data = load([tmp_path / "all.csv"])
    drawn = figure_named("groups").draw(data, Wish(margins=read_margins(["5points"])))
    for words in (
        "Machines have no group, and are not in this figure: a model.",
        "People without a group are not in this figure: x0.",
        "People in each group: control 10, training 12.",
    ):
        assert words in drawn.notes
    assert {*drawn.table["group"]} == {"control", "training"}
    assert drawn.table["n_units"].tolist() == [10, 10, 12, 12]
    assert set(drawn.further[0][1].columns) >= {"alike", "p_alike"}
    assert "training" in drawn.save(tmp_path / "groups.svg").read_text(encoding="utf-8")
    colours = {look.label: look.light for look in drawn.agents}
    assert colours.keys() == {"control", "training"}
    assert json.dumps(drawn.spec).count(json.dumps([*colours.values()])) >= 3, "on a page others have the first colours"
    assert "Circles are control, squares are training. Groups are compared" in drawn.caption
    with pytest.raises(SpanLabError, match="people of different groups are different people"):
        figure_named("groups").draw(data, Wish(bars="within"))
    missing = FIGURES.get("groups").missing
    assert missing(score_table(planted_groups({"a": (5, 1.0)}, random)), "task") == "task has no two groups of people."
    assert (
        missing(score_table(planted_groups(TWO, random).drop(columns="group")), "task")
        == "task has no groups of people."
    )
    twice = planted_groups(TWO, random)
    twice.loc[(twice["participant"] == "control0") & (twice["trial"] > 20), "group"] = "training"
    assert "control0 is in several groups" in missing(score_table(twice), "task")


def test_the_page_has_groups_where_there_are_some(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report_folder, "save", lambda *_: [])
    table = planted_groups(TWO, np.random.RandomState(1))
    for name, rows in (("with", table), ("without", table.drop(columns="group"))):
        rows.to_csv(tmp_path / f"{name}.csv", index=False)
        spanlab.compare(tmp_path / f"{name}.csv", tmp_path / name)
        page = (tmp_path / name / "report.html").read_text(encoding="utf-8")
        assert ('<figure id="task_groups">' in page) == (name == "with")
        assert ("mean over set size, control minus training" in page) == (name == "with")
        assert (tmp_path / name / "tables" / "task_groups_1.csv").exists() == (name == "with")
        assert ("spanlab figure groups" in page) == (name == "with")


def test_the_methods_text_has_groups_and_how_they_are_compared(tmp_path: Path) -> None:
    planted_groups(TWO, np.random.RandomState(1)).to_csv(tmp_path / "two.csv", index=False)
    text = methods(load([tmp_path / "two.csv"]), ())
    for words in (
        "Groups of different people: control (n = 10) and training (n = 12); [not recorded: how they were assigned].",
        "* task: groups of people: Groups are compared between people",
        "Biometrika, 34, 28–35.",
    ):
        assert words in text
    planted_groups(TWO, np.random.RandomState(1)).drop(columns="group").to_csv(tmp_path / "alone.csv", index=False)
    assert "roups" not in methods(load([tmp_path / "alone.csv"]), ())


def test_a_model_by_group_takes_people_as_its_units() -> None:
    table = planted_groups(
        {"training": (12, 0.0), "control": (12, 0.0)}, np.random.RandomState(3), spread=1.5, trials=50
    )
    model = mixed_model(score_table(table), "task", "group")
    (row,) = contrasts(model).query("kind == 'conditions'").to_dict("records")
    assert "participant" in model.cells.components
    assert row["df"] < 30, "there are 24 people, and not 2,400 answers"


def test_hedges_g_against_scipy() -> None:
    random = np.random.RandomState(1)
    one, other = random.normal(0.8, 1, 20), random.normal(0, 1, 25)
    g, low, _ = hedges_g(one, other)
    t: Any = ttest_ind(one, other)
    scale, factor = math.sqrt(1 / 20 + 1 / 25), 1 - 3 / (4 * 43 - 1)
    assert g == pytest.approx(t.statistic * scale * factor, rel=1e-3)
    assert nct.cdf(t.statistic, 43, low / factor / scale) == pytest.approx(0.975, abs=1e-3)
