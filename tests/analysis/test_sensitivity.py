"""Sensitivity everywhere: planted d', criteria and side biases come back, in figures and in the
mixed-effects probit model."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from observed import Trial, rows_by, switching, table, together
from scipy.special import ndtr, ndtri

import spanlab
from spanlab.analysis.data.scoring import score_table
from spanlab.analysis.effects.effect import trends
from spanlab.analysis.effects.registry import effect
from spanlab.analysis.stats.laplace import Laplace, Probit
from spanlab.analysis.stats.sensitivity_model import sensitivity_contrasts, sensitivity_model
from spanlab.analysis.stats.signal_detection import signal_of, thinned_z

WORDS = {"cd": ("different", "same"), "sc": ("asymmetric", "symmetric"), "si": ("different", "same")}


def detection(paradigm: str, dprime: dict[int, float], criterion: float = 0.3, shift: float = 0.0) -> Trial:
    """Somebody who says the first word as signal detection has it."""

    def trial(random: np.random.RandomState) -> list[tuple[dict[str, Any], float, None]]:
        size, signal = int(random.choice([*dprime])), bool(random.rand() < 0.5)
        said = float(ndtr((0.5 if signal else -0.5) * (dprime[size] + shift) - criterion))
        column = {"list_length": size, "factor_part_size": 12 // size} if paradigm == "si" else {"set_size": size}
        return [
            ({**column, "correct_answer": json.dumps(WORDS[paradigm][not signal])}, said if signal else 1 - said, None)
        ]

    return trial


@pytest.mark.parametrize(
    ("paradigm", "name", "column"), [("cd", "sensitivity", "set_size"), ("si", "sensitivity_parts", "list_length")]
)
def test_hits_false_alarms_sensitivity_and_criterion(paradigm: str, name: str, column: str) -> None:
    data = table(detection(paradigm, {2: 2.0, 6: 1.0}), 2400, paradigm=paradigm)
    found = rows_by(effect(name).table(data, paradigm), "measure", column)
    for size, dprime in ((2, 2.0), (6, 1.0)):
        row = found["d′", size]
        assert row["mean"] == pytest.approx(dprime, abs=0.25)
        assert row["mean"] == pytest.approx(ndtri(row["hit_rate"]) - ndtri(row["false_alarm_rate"]), abs=0.01)
        assert found["criterion", size]["mean"] == pytest.approx(0.3, abs=0.12)
        assert row["low"] < row["mean"] < row["high"]


def test_questions_without_a_size_have_one_sensitivity(tmp_path: Path) -> None:
    """People with planted hits and false alarms of 20 each: the figure draws the mean of their own d′."""
    said = {"P1": (16, 4), "P2": (18, 7), "P3": (12, 1)}
    rows = [
        {"participant": person, "trial": 100 * old + at, "correct_answer": ["new", "old"][old], "answer": answer}
        for person, counts in said.items()
        for old in (1, 0)
        for at in range(20)
        for answer in ["old" if at < counts[1 - old] else "new"]
    ]
    pd.DataFrame(rows).to_csv(tmp_path / "recognition.csv", index=False)
    found = spanlab.figure("sensitivity", [tmp_path / "recognition.csv"], output=tmp_path / "drawn.svg")
    each = [ndtri((hits + 0.5) / 21) - ndtri((alarms + 0.5) / 21) for hits, alarms in said.values()]
    row = rows_by(found.to_frame(), "measure")["d′"]
    assert (row["mean"], row["sem"]) == pytest.approx((np.mean(each), scipy.stats.sem(each)))
    assert (row["hit_rate"], row["false_alarm_rate"]) == pytest.approx((46 / 60, 12 / 60))
    assert (tmp_path / "drawn.svg").stat().st_size > 1000


def test_a_choice_between_two_sides_has_a_side_bias_and_no_criterion() -> None:
    def trial(random: np.random.RandomState) -> list[tuple[dict[str, Any], float, None]]:
        side, size = str(random.choice(["left", "right"])), int(random.choice([4, 6]))
        return [
            (
                {"set_size": size, "correct_answer": json.dumps(side)},
                float(ndtr(1.2 / np.sqrt(2) + (0.4 if side == "left" else -0.4))),
                None,
            )
        ]

    data = table(trial, 2400, paradigm="vir")
    found = rows_by(effect("forced_choice").table(data, "vir"), "measure", "set_size")
    assert found["d′", 4]["mean"] == pytest.approx(1.2, abs=0.2)
    assert found["side bias", 4]["mean"] == pytest.approx(-0.4, abs=0.12)
    assert effect("sensitivity").missing(data, "vir")


def asked(hits: int, alarms: int, of: int, size: int, copies: int = 1) -> list[dict[str, Any]]:
    """Answers of a machine to so many questions of each kind, each asked so often in its trial."""
    said = [(True, at < hits) for at in range(of)] + [(False, at < alarms) for at in range(of)]
    rows = []
    for trial, (signal, first) in enumerate(said):
        rows += [
            {"set_size": size, "trial": trial + 100 * size, "ask": ask, "signal": signal, "correct": signal == first}
            for ask in range(1, copies + 1)
        ]
    return rows


def answers(*parts: list[dict[str, Any]]) -> pd.DataFrame:
    made = pd.DataFrame([row for part in parts for row in part])
    words = made.pop("signal").map({True: '"different"', False: '"same"'})
    fixed = {
        "paradigm": "cd",
        "agent": "net",
        "agent_kind": "network",
        "participant": "",
        "session": "s",
        "practice": False,
        "chance": 0.5,
        "step": 1,
    }
    return made.assign(
        **fixed, correct_answer=words, outcome="answered", rt_ms=np.nan, trial_id=made["trial"].astype(str)
    )


def variance(count: int, of: int) -> float:
    """Of the z-score of a corrected rate (Gourevitch & Galanter, 1967)."""
    rate = (count + 0.5) / (of + 1)
    return float(rate * (1 - rate) / (of + 1) / scipy.stats.norm.pdf(ndtri(rate)) ** 2)


def test_standard_errors_of_a_machine_are_those_of_gourevitch_and_galanter() -> None:
    data = score_table(answers(asked(17, 2, 20, 2), asked(14, 7, 20, 6)))
    found = rows_by(effect("sensitivity").table(data, "cd"), "measure", "set_size")
    one, other = variance(17, 20) + variance(2, 20), variance(14, 20) + variance(7, 20)
    assert found["d′", 2]["sem"] == pytest.approx(math.sqrt(one))
    assert found["criterion", 6]["sem"] == pytest.approx(math.sqrt(other) / 2)
    assert found["d′", 2]["high"] - found["d′", 2]["mean"] == pytest.approx(
        scipy.stats.t.ppf(0.975, 38) * math.sqrt(one)
    )
    (slope,) = (row for row in trends(effect("sensitivity"), data, "cd").to_dict("records") if row["measure"] == "d′")
    assert slope["high"] - slope["value"] == pytest.approx(
        scipy.stats.t.ppf(0.975, slope["df"]) * math.sqrt(one + other) / 4
    )
    assert slope["t"] == pytest.approx(slope["value"] / (math.sqrt(one + other) / 4))
    # questions of one trial that are answered alike say no more than one of them
    often = rows_by(
        effect("sensitivity").table(score_table(answers(asked(17, 2, 20, 2, 5), asked(14, 7, 20, 6, 5))), "cd"),
        "measure",
        "set_size",
    )
    assert often["d′", 2]["sem"] == pytest.approx(math.sqrt(one), rel=0.15)
    # who never errs bounds d' from one side only
    perfect = rows_by(
        effect("sensitivity").table(score_table(answers(asked(20, 0, 20, 2), asked(14, 7, 20, 6))), "cd"),
        "measure",
        "set_size",
    )["d′", 2]
    assert np.isnan(perfect["low"])
    assert perfect["note"] == "no spread over 40 trials: no interval"


def test_a_z_score_of_fewer_questions_is_what_fewer_would_have_on_average() -> None:
    """Of 30 questions as of 5: the same expectation as of 5 that were asked, whatever the rate; and
    of no more than that, nothing changes."""
    for rate in (0.02, 0.5, 0.93):
        many, few = (scipy.stats.binom.pmf(np.arange(of + 1), of, rate) for of in (30, 5))
        thinned = thinned_z(np.arange(31), np.full(31, 30), 5)
        plain = ndtri((np.arange(6) + 0.5) / 6)
        assert many @ thinned == pytest.approx(few @ plain)
        assert abs(many @ ndtri((np.arange(31) + 0.5) / 31) - few @ plain) > 0.1 or rate == 0.5
    assert thinned_z(np.arange(6), np.full(6, 5), 5) == pytest.approx(ndtri((np.arange(6) + 0.5) / 6))


def slope(data: pd.DataFrame) -> dict[Any, Any]:
    rows = trends(effect("sensitivity"), data, "cd")
    return rows[rows["measure"] == "d′"].iloc[0].to_dict()


def test_words_that_answer_two_tasks_are_no_signals() -> None:
    data = table(
        switching(
            dict.fromkeys(("one task", "repetition", "switch"), 0.8),
            dict.fromkeys(("one task", "repetition", "switch"), 500),
        ),
        20,
        paradigm="sts",
    )
    sides = data.assign(correct_answer=['"left"', '"right"'] * 80, set_size=[1, 1, 2, 2] * 40)
    assert effect("forced_choice").missing(sides, "sts")


def test_the_probit_model_without_random_effects_is_d_prime() -> None:
    """Against z scores of the shares; its slopes are those of its own likelihood."""
    y, n = np.array([70.0, 30.0, 45.0]), np.array([100.0, 100.0, 60.0])
    model = Probit(y, n, np.eye(3))
    fixed, covariance = model.at_marginal_mode([])
    assert fixed == pytest.approx(ndtri(y / n), abs=1e-6)
    density = np.exp(-(fixed**2) / 2) / np.sqrt(2 * np.pi)
    assert np.diag(covariance) == pytest.approx((y / n) * (1 - y / n) / n / density**2, rel=1e-6)
    for kind in (Probit, Laplace):
        model = kind(y, n, np.eye(3))
        at, step = np.array([0.4, -1.2, 2.0]), 1e-5
        gain, weight, change = model._at(at)
        for place in range(3):
            move = step * np.eye(3)[place]
            up, down = model._at(at + move), model._at(at - move)
            assert (model._of_answers(at + move) - model._of_answers(at - move)) / (2 * step) == pytest.approx(
                gain[place], rel=1e-5
            )
            assert (down[0][place] - up[0][place]) / (2 * step) == pytest.approx(weight[place], rel=1e-5)
            assert (up[1][place] - down[1][place]) / (2 * step) == pytest.approx(change[place], rel=1e-4)


def crowd(seed: int = 0, people: int = 10, trials: int = 120, network: float = 0.8) -> pd.DataFrame:
    """People whose d' varies around 1.5 and 1, and a network with so much more."""
    random, parts = np.random.RandomState(seed), []
    for at in range(people):
        own = detection(
            "cd", {2: 1.5, 6: 1.0}, shift=float(random.normal(0, 0.4)), criterion=float(random.normal(0.2, 0.3))
        )
        parts.append(
            table(
                own,
                trials,
                agent="participant",
                kind="participant",
                participant=f"P{at}",
                paradigm="cd",
                seed=100 * seed + at,
            )
        )
    return together(
        *parts, table(detection("cd", {2: 1.5 + network, 6: 1.0 + network}), 600, paradigm="cd", seed=100 * seed + 99)
    )


def test_the_mixed_model_tells_sensitivity_from_criterion() -> None:
    model = sensitivity_model(score_table(crowd()), "cd", "set_size")
    assert not model.problem
    assert model.cells is not None
    assert {"participant", "participant x signal"} <= {*model.cells.components}
    found = rows_by(sensitivity_contrasts(model), "measure", "kind", "contrast")
    apart = next(row for (measure, kind, _), row in found.items() if (measure, kind) == ("d′", "agents"))
    assert abs(apart["estimate"]) == pytest.approx(0.8, abs=0.45)
    assert apart["p_holm"] < 0.05
    slopes = [row for (measure, kind, _), row in found.items() if (measure, kind) == ("d′", "trend")]
    assert all(row["low"] - 0.05 < -0.125 < row["high"] + 0.05 for row in slopes)
    assert 'said "different"' in model.formula


def test_repetitions_of_a_machine_vary_in_sensitivity_as_well() -> None:
    parts = [
        table(detection("cd", {2: 1.0 + seed}), 60, paradigm="cd", seed=seed).assign(session=f"s{seed}")
        for seed in range(4)
    ]
    assert "session x signal" in sensitivity_model(score_table(together(*parts)), "cd").cells.components  # type: ignore[union-attr]


def test_no_model_of_sensitivity_where_answers_are_no_two_words() -> None:
    model = sensitivity_model(
        score_table(table(lambda random: [({"set_size": int(random.choice([2, 4]))}, 0.7, None)], 30)), "vsr"
    )
    assert "one of two words" in model.problem
    assert not len(sensitivity_contrasts(model))


def test_what_a_hit_is_has_one_declaration_and_is_said_with_the_figure() -> None:
    assert signal_of(("same", "different")) == ("different", "same")
    assert signal_of(("left", "right")) == signal_of(("right", "left")) == ("left", "right")
    assert signal_of(("-", "m")) == ("m", "-")
    data = table(detection("cd", {4: 1.0, 8: 0.5}), 60, paradigm="cd")
    one = effect("sensitivity")
    assert "A hit is “different” where it is right, a false alarm “different” where “same” is right." in one.notes(
        data, "cd", one.table(data, "cd")
    )


def test_whoever_always_says_the_same_has_no_sensitivity() -> None:
    """However many questions of either kind there are: a correction would make .3 of them."""
    data = answers(asked(0, 0, 8, 4), asked(0, 0, 8, 8))
    fewer = data.drop(data[data["correct_answer"].str.contains("different")].index[::2])
    for one in (data, fewer):
        found = effect("sensitivity").table(one, "cd")
        assert found.loc[found["measure"] == "d′", "mean"].tolist() == [0.0, 0.0]
    known = effect("sensitivity").table(answers(asked(6, 2, 8, 4), asked(6, 2, 8, 8)), "cd")
    assert (known.loc[known["measure"] == "d′", "mean"] > 0.5).all()
