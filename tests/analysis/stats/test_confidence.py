"""Ratings of confidence: beside their answers, in curves, models with unequal variances and
calibration; checked against planted values."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from planted_ratings import planted_ratings, simulate_ratings
from scipy.optimize import minimize
from scipy.special import ndtr

from spanlab.analysis.data.loading import load
from spanlab.analysis.data.scoring import score_table
from spanlab.analysis.effects.confidence import rated_questions
from spanlab.analysis.effects.registry import effect
from spanlab.analysis.figure_catalogue import FIGURES, figure_named
from spanlab.analysis.figures.figure import Wish
from spanlab.analysis.stats.rated_detection import (
    RatingCounts,
    area_under_curve,
    fit_unequal_variance,
)
from spanlab.core.errors import SpanLabError

CRITERIA = np.array([-0.5, 0.0, 0.5, 1.0, 1.5])


def test_the_area_is_the_share_of_pairs_and_its_interval_that_of_delong() -> None:
    random = np.random.RandomState(1)
    evidence, signal = random.randint(6, size=60).astype(float), random.random_sample(60) < 0.5
    evidence[signal] += random.randint(3, size=int(signal.sum()))
    ones, others = evidence[signal], evidence[~signal]
    pairs = (ones[:, None] > others) + 0.5 * (ones[:, None] == others)
    area = area_under_curve(evidence, signal)
    assert area.value == pytest.approx(pairs.mean())
    variance = pairs.mean(1).var(ddof=1) / len(ones) + pairs.mean(0).var(ddof=1) / len(others)
    reach = 1.959964 * math.sqrt(variance) / (area.value * (1 - area.value))
    middle = math.log(area.value / (1 - area.value))
    assert (area.low, area.high) == pytest.approx(
        (1 / (1 + math.exp(reach - middle)), 1 / (1 + math.exp(-reach - middle))), rel=1e-5
    )


def test_answers_of_one_trial_that_are_alike_make_the_interval_wider() -> None:
    evidence, signal = simulate_ratings(1.0, 1.0, CRITERIA, 60, 60, np.random.RandomState(2))
    once = area_under_curve(evidence, signal)
    copies, trials = np.repeat(evidence, 4), np.repeat(np.arange(120), 4)
    together = area_under_curve(copies, np.repeat(signal, 4), trials)
    assert together.value == pytest.approx(once.value)
    assert (together.low, together.high) == pytest.approx((once.low, once.high), abs=0.003)
    assert area_under_curve(copies, np.repeat(signal, 4)).low > once.low + 0.03, (
        "as independent answers they would be too sure"
    )


def test_an_area_of_1_has_a_lower_end_and_few_answers_have_no_interval() -> None:
    evidence, signal = np.repeat([0.0, 1.0], 20), np.repeat([False, True], 20)
    area = area_under_curve(evidence, signal)
    assert (area.value, area.high) == (1, 1)
    assert 0.8 < area.low < 0.97
    assert math.isnan(area_under_curve(evidence[16:24], signal[16:24]).low)
    assert math.isnan(area_under_curve(evidence[:20], signal[:20]).value)


def test_the_model_is_the_one_of_highest_likelihood() -> None:
    """Found by another search, without slopes, from another start."""
    evidence, signal = simulate_ratings(1.2, 0.75, CRITERIA, 150, 120, np.random.RandomState(3))
    counts = RatingCounts.of(evidence, signal)
    fitted = fit_unequal_variance(counts)
    assert fitted is not None

    def unlikely(at: np.ndarray) -> float:
        ends = np.concatenate([[-np.inf], at[2] + np.concatenate([[0], np.cumsum(np.exp(at[3:]))]), [np.inf]])
        shares = np.diff(ndtr(ends)), np.diff(ndtr(math.exp(at[1]) * ends - at[0]))
        return -float(counts.others @ np.log(shares[0]) + counts.signals @ np.log(shares[1]))

    other = minimize(unlikely, np.array([0.5, 0.1, -1.0, -1, -1, -1, -1]), method="BFGS", options={"gtol": 1e-7})
    assert (fitted.intercept, fitted.slope) == pytest.approx((other.x[0], math.exp(other.x[1])), rel=1e-3)
    assert fitted.d_a == pytest.approx(fitted.intercept * math.sqrt(2 / (1 + fitted.slope**2)))
    assert fitted.df == 3
    expected = -other.fun - sum(
        float(one[one > 0] @ np.log(one[one > 0] / one.sum())) for one in (counts.signals, counts.others)
    )
    assert fitted.g2 == pytest.approx(-2 * expected, abs=1e-3)


def test_many_answers_give_planted_values_back_and_a_slope_of_1_is_the_model_of_equal_variances() -> None:
    evidence, signal = simulate_ratings(1.5, 0.8, CRITERIA, 40_000, 40_000, np.random.RandomState(4))
    fitted = fit_unequal_variance(RatingCounts.of(evidence, signal))
    assert fitted is not None
    assert (fitted.d_a, fitted.slope) == pytest.approx((1.5, 0.8), rel=0.02)
    assert fitted.criteria == pytest.approx(CRITERIA, abs=0.03)
    assert area_under_curve(evidence, signal).value == pytest.approx(ndtr(1.5 / math.sqrt(2)), abs=0.015)
    assert fitted.hits(np.array([0.5]))[0] == pytest.approx(ndtr(fitted.intercept))


def test_without_a_peak_there_is_no_fit() -> None:
    apart = RatingCounts(np.arange(4.0), np.array([0, 0, 30, 30]), np.array([30, 30, 0, 0]))
    assert fit_unequal_variance(apart) is None
    assert fit_unequal_variance(RatingCounts(np.arange(3.0), np.array([5, 20, 40]), np.array([40, 20, 5]))) is None


def test_the_figures_of_people_and_a_model(tmp_path: Path) -> None:
    planted_ratings({"p1": (1.5, 0.8), "p2": (1.0, 1.0)}).to_csv(tmp_path / "people.csv", index=False)
    planted_ratings({"run": (1.2, 0.9)}, trials=30, agent="a model", kind="chat").to_csv(
        tmp_path / "model.csv", index=False
    )
    data = load([tmp_path / "people.csv", tmp_path / "model.csv"])
    curve = figure_named("roc").draw(data, Wish())
    assert list(curve.table["participant"]) == ["p1", "p2", "", "mean of 2 people"]
    assert (
        "1 of 3 curves has no fit: only 30 rated answers of one kind: the model is fitted from 50 of each kind on."
        in curve.notes
    )
    assert "Ratings are those of the phase confidence." in curve.caption
    assert "area 0.87" in curve.save(tmp_path / "roc.svg").read_text(encoding="utf-8")
    points = figure_named("zroc").draw(data, Wish()).table
    assert len(points) == 15
    first = points.iloc[0]
    assert (first["answer"], first["confidence"]) == ("old", 3)
    assert ndtr(first["z_hits"]) == pytest.approx(first["hits"])
    assert len(figure_named("roc").draw(data, Wish(by="half")).table) == 8
    calibrated = effect("calibration").table(data.scored, "sure")
    assert {*calibrated["confidence"]} == {1, 2, 3}
    people = calibrated[calibrated["agent_kind"] == "participant"].set_index("confidence")["mean"]
    assert people.is_monotonic_increasing
    assert len(figure_named("conditions").draw(data, Wish(along="confidence")).table) == 6, (
        "confidence is a column like others"
    )


def test_a_slider_is_in_ten_parts() -> None:
    table = planted_ratings({"p1": (1.0, 1.0)}, trials=200)
    ratings = table["phase"] == "confidence"
    table.loc[ratings, "answer"] = np.random.RandomState(1).randint(0, 101, int(ratings.sum()))
    table.loc[ratings, ["scale_from", "scale_to"]] = [0, 100]
    found = effect("calibration").table(score_table(table), "sure")
    assert found["confidence"].tolist() == [5, 15, 25, 35, 45, 55, 65, 75, 85, 95]
    assert int(found["n_items"].sum()) == 400
    assert len({*rated_questions(score_table(table), "sure").items["evidence"]}) == 20


def test_where_nobody_was_asked_for_a_rating_nothing_appears() -> None:
    table = planted_ratings({"p1": (1.0, 1.0)}, trials=20)
    scored = score_table(table[table["phase"] == "probe"])
    assert "confidence" not in scored.items.columns
    for name in ("roc", "zroc", "calibration"):
        assert FIGURES.get(name).missing(scored, "sure")
    assert FIGURES.get("roc").missing(scored, "sure") == "sure has no ratings of confidence."
    with pytest.raises(SpanLabError, match="no questions answered with one of two words"):
        rated_questions(
            score_table(table.assign(correct_answer=table["correct_answer"].mask(table["trial"] == 1, "other"))), "sure"
        )
