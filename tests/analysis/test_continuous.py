"""Errors on a circle: circular statistics, mixture models against planted values, their table and
figure."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from planted_errors import planted_table, simulate_answers

from spanlab.analysis.data.loading import load
from spanlab.analysis.data.scoring import score_table
from spanlab.analysis.figure_catalogue import figure_named
from spanlab.analysis.figures.error_figure import report_errors
from spanlab.analysis.figures.figure import Wish
from spanlab.analysis.stats.mixture import (
    ENOUGH,
    circular_mean_sd,
    fit_mixture,
    mixture_limits,
)

DEGREE = math.pi / 180


def test_circular_mean_and_sd() -> None:
    mean, sd = circular_mean_sd(np.array([170, -170]) * DEGREE)
    assert abs(mean) == pytest.approx(math.pi)
    assert sd == pytest.approx(math.sqrt(-2 * math.log(math.cos(10 * DEGREE))))
    assert circular_mean_sd(np.array([0.3, 0.3])) == pytest.approx((0.3, 0), abs=1e-7)
    mean, sd = circular_mean_sd(np.array([0, 90, 180, 270]) * DEGREE)
    assert math.isnan(mean)
    assert math.isinf(sd)
    assert all(map(math.isnan, circular_mean_sd(np.array([]))))


def test_many_answers_give_planted_values_back() -> None:
    random = np.random.RandomState(3)
    targets = random.uniform(0, 360, 4000)
    errors = (simulate_answers((0.7, 0.3), 20.0, targets, random, 360.0) - targets) * DEGREE
    fitted = fit_mixture(errors)
    assert fitted.p_guess == pytest.approx(0.3, abs=0.03)
    assert fitted.sd / DEGREE == pytest.approx(20, rel=0.05)
    limits = mixture_limits(errors, fitted)
    assert limits["p_guess"][0] < 0.3 < limits["p_guess"][1]
    assert limits["sd"][0] < 20 * DEGREE < limits["sd"][1]


def test_orientations_are_told_in_their_own_degrees() -> None:
    (row,) = report_errors(score_table(planted_table({"p1": (0.9, 0.1)}, {2: 12}, trials=400, period=180))).to_dict(
        "records"
    )
    assert row["period"] == 180
    assert row["two_sd"] == pytest.approx(12, rel=0.2)
    assert row["two_p_guess"] == pytest.approx(0.1, abs=0.06)


@pytest.mark.parametrize(
    ("weights", "sd", "trials", "note"),
    [
        ((0.9, 0.1), 20, ENOUGH - 1, "only 99 answers: a mixture is fitted from 100 on"),
        ((1e-9, 1.0), 20, 300, "answers no better than guesses: guessing 1, no spread"),
        ((1.0, 1e-9), 0.6, 300, "errors spread by less than 1°: no distribution fitted"),
    ],
)
def test_without_enough_to_go_by_nothing_is_fitted_and_the_reason_is_given(
    weights: tuple[float, ...], sd: float, trials: int, note: str
) -> None:
    (row,) = report_errors(score_table(planted_table({"p1": weights}, {3: sd}, trials=trials))).to_dict("records")
    assert row["note"] == note
    assert math.isnan(row["two_sd"])


def test_missing_answers_are_counted_and_have_no_error() -> None:
    table = planted_table({"p1": (0.9, 0.1)}, {3: 20}, trials=150)
    table.loc[:9, ["answer", "error"]] = np.nan
    table.loc[:9, "outcome"] = "omitted"
    (row,) = report_errors(score_table(table)).to_dict("records")
    assert (row["n_items"], row["n_missing"]) == (140, 10)


def test_the_figure_of_people_and_of_a_model(tmp_path: Path) -> None:
    people = planted_table({"p1": (0.9, 0.1), "p2": (0.7, 0.3)}, {1: 15, 3: 20}, trials=120)
    model = planted_table({"run": (0.8, 0.2)}, {1: 15, 3: 20}, trials=60, agent="a model", kind="chat")
    for number, table in enumerate((people, model)):
        table.to_csv(tmp_path / f"{number}.csv", index=False)
    data = load([tmp_path / "0.csv", tmp_path / "1.csv"])
    found = figure_named("error_distribution").draw(data, Wish())
    assert len(found.table) == 8  # two people and a model at two set sizes, and the mean of both people
    assert "2 of 6 distributions have no fit: only 60 answers: a mixture is fitted from 100 on." in found.notes
    assert found.save(tmp_path / "errors.svg").read_text(encoding="utf-8").count("set size") >= 6
    assert len(figure_named("error_distribution").draw(data, Wish(by="block")).table) == 4  # all set sizes together
