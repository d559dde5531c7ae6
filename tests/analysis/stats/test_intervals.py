"""Intervals over few people and few sessions hold what was planted as often as they say, and say
nothing where nothing can be said.

``make bench ARGS=coverage`` makes all designs; ``docs/measurements.md`` sums them up.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from analysis_tables import mixed, responses
from scipy.special import expit

from spanlab.analysis.data.scoring import score_table
from spanlab.analysis.effects.curves import overall
from spanlab.analysis.effects.effect import trends
from spanlab.analysis.effects.registry import effect
from spanlab.analysis.inference import Margin
from spanlab.analysis.means.cell_means import Cells
from spanlab.analysis.means.contrasts import Apart, contrast, contrast_of, estimate

Random = np.random.RandomState
DIFFERENCE = np.array([1.0, -1.0])


def test_interval_and_test_say_the_same() -> None:
    random = Random(1)
    for people in (2, 3, 5, 9):
        for _ in range(40):
            found = contrast([random.rand(people), random.rand(people) * 0.6], [np.arange(people)] * 2, DIFFERENCE)
            low, high = found.ends()
            assert (found.against(0.0)["p"] < 0.05) == (not low <= 0 <= high)
            assert (found.against(low)["p"], found.against(high)["p"]) == (pytest.approx(0.05), pytest.approx(0.05))


# people who lack a condition ----------------------------------------------------------------------


def test_a_condition_with_a_single_person_leaves_no_interval() -> None:
    values, ids = [np.array([0.5, 0.6, 0.8]), np.array([0.4])], [np.arange(3), np.array([1])]
    found = contrast(values, ids, DIFFERENCE)
    assert (found.value, found.lone) == (pytest.approx(0.2333, abs=1e-4), 1)
    assert math.isnan(found.ends()[0])
    middle = contrast([values[0], values[1], values[0] / 2], [ids[0], ids[1], ids[0]], np.array([-0.5, 0.0, 0.5]))
    assert middle.se == pytest.approx(scipy.stats.sem(values[0] / 4))  # a condition of weight 0 says nothing


def test_variance_and_degrees_of_freedom_of_units_that_lack_cells_are_those_of_least_squares() -> None:
    """Against Bell and McCaffrey's by matrices: of all answers at once, with each person as a
    cluster."""
    random, pattern, weight = (
        Random(3),
        np.array([[1, 1, 0], [1, 1, 1], [0, 1, 1], [1, 0, 1], [1, 1, 1]], bool),
        np.array([-0.5, 0.2, 0.3]),
    )
    values = random.rand(*pattern.shape)
    person, cell = np.nonzero(pattern)
    design = (cell[:, None] == np.arange(3)).astype(float)
    bread = np.linalg.inv(design.T @ design)
    residual = np.eye(len(cell)) - design @ bread @ design.T
    columns, variance = [], 0.0
    for one in range(5):
        mine = person == one
        spectrum, vectors = np.linalg.eigh(residual[np.ix_(mine, mine)])
        lever = (vectors / np.sqrt(spectrum)) @ vectors.T @ design[mine] @ bread @ weight
        columns.append(residual[:, mine] @ lever)
        variance += float((residual @ values[pattern])[mine] @ lever) ** 2
    product = np.array(columns) @ np.array(columns).T
    there = [np.flatnonzero(column) for column in pattern.T]
    found = contrast([values[rows, at] for at, rows in enumerate(there)], there, weight)
    assert found.se == pytest.approx(math.sqrt(variance))
    assert found.df == pytest.approx(np.trace(product) ** 2 / np.trace(product @ product))


# near 0 and 1 -------------------------------------------------------------------------------------


def in_cells(right: np.ndarray, trials: int) -> Cells:
    """Numbers of right answers of people (rows) in conditions (columns)."""
    people, conditions = right.shape
    keys = pd.DataFrame({"at": range(conditions)})
    counts = {name: np.full(conditions, people * trials) for name in ("n_trials", "n_items")}
    ids, ones, each = (
        [np.arange(people)] * conditions,
        [np.ones(people, np.int64)] * conditions,
        [np.full(people, trials)] * conditions,
    )
    chance, distinct = np.zeros(conditions), np.ones(conditions, bool)
    return Cells(
        keys,
        [*(right / trials).T],
        ids,
        ones,
        each,
        chance,
        ["participant"] * conditions,
        distinct,
        counts,
        np.zeros(conditions),
    )


def test_ten_wrong_answers_are_ten_in_any_order_of_people() -> None:
    """By rounding their mean is that of 9.99 or of 10.01 of 192; fewer than ten have a least
    standard error, which is larger here."""
    first = np.array([0, 2, 1, 1, 0, 1, 3, 2])
    second, people, errors = first + np.array([1] * 7 + [2]), np.arange(8), []
    for order in (people, np.argsort(first)):
        shares = [1 - wrong[order] / 24 for wrong in (first, second)]
        errors.append(contrast(shares, [people, people], np.array([-1.0, 1.0]), answers=np.full(2, 192.0)).se)
    assert errors == pytest.approx([np.std(second - first, ddof=1) / 24 / math.sqrt(8)] * 2)


def test_an_interval_of_skewed_shares_says_what_the_test_says_and_so_does_equivalence() -> None:
    random, wider = Random(2), 0
    for _ in range(40):
        found = contrast_of(in_cells(random.binomial(24, [0.97, 0.9], (6, 2)), 24), [0, 1], DIFFERENCE, shares=True)
        if not found.se > 0:
            continue
        (low, high), t = found.ends(), float(scipy.stats.t.isf(0.025, found.df)) * found.se
        assert (found.against(0.0)["p"] < 0.05) == (not low <= 0 <= high)
        assert low <= found.value - t + 1e-9
        assert high >= found.value + t - 1e-9
        wider += high - low > 2 * t + 1e-9
        verdict = Margin(10.0, "points").judge(found)
        assert verdict is not None
        assert (verdict.low, verdict.high) == found.ends(0.9 if found.skewed is None else 0.95)
        assert (verdict.verdict == "within the margin") == (verdict.low > -0.1 and verdict.high < 0.1)
    assert wider > 20


def test_no_end_lies_beyond_what_a_sum_of_shares_can_be() -> None:
    """Of two people, one of them at 10% in the second condition, the first was ahead by between
    -527 and 617 points."""
    right = np.array([[10, 1], [10, 10]])
    ahead = contrast_of(in_cells(right, 10), [0, 1], np.array([1.0, -1.0]), shares=True)
    assert ahead.se > 0.4
    assert ahead.ends() == (-1.0, 1.0)
    assert Apart(ahead, 0.5).ends() == (-1.5, 0.5)
    assert contrast_of(in_cells(right, 10), [0, 1], np.array([1.0, -1.0])).ends()[1] > 5, (
        "means of other things have no such limits"
    )


def test_people_who_are_all_always_right_have_no_interval_of_a_difference() -> None:
    found = contrast_of(in_cells(np.full((3, 2), 24), 24), [0, 1], DIFFERENCE, shares=True)
    assert (found.value, found.se) == (0, 0)
    assert math.isnan(found.ends()[0])
    mean = contrast_of(in_cells(np.full((3, 2), 24), 24), [0, 1], np.array([0.5, 0.5]), shares=True)
    assert mean.ends() == (pytest.approx(0.025 ** (1 / 3)), 1)


def test_a_slope_without_an_interval_says_why() -> None:
    always = [
        responses(lambda *_: 1.0, agent="P", kind="participant", participant=f"P{n}", lengths=(3, 4), seed=n)
        for n in range(3)
    ]
    (row,) = trends(effect("set_size"), score_table(mixed(*always)), "vsr").to_dict("records")
    assert row["note"] == "no spread over 3 participants: no interval, no test"
    some = [
        responses(
            lambda *_: 0.6,
            agent="P",
            kind="participant",
            participant=f"P{n}",
            lengths=(3, 4) if n else (3, 4, 5),
            seed=n,
        )
        for n in range(3)
    ]
    (row,) = trends(effect("set_size"), score_table(mixed(*some)), "vsr").to_dict("records")
    assert row["note"] == "a condition has only one participant: no interval, no test"
    assert math.isnan(row["p"])


# sessions of one machine --------------------------------------------------------------------------


def sessions(many: int, trials: int, random: Random, spread: float = 0.5) -> pd.DataFrame:
    """A machine that differs between sessions."""
    tables = [
        responses(lambda *_: 0.5, lengths=(3,), repetitions=trials).assign(session=f"s{at}") for at in range(many)
    ]
    for table in tables:
        table["correct"] = (random.rand(len(table)) < expit(0.5 + spread * random.normal())).astype(float)
    return mixed(*tables)


def test_sessions_of_a_machine_are_its_units_from_two_on() -> None:
    for many in (2, 5):
        table = sessions(many, 6, Random(many))
        (row,) = overall(table.assign(trial_id="")).to_dict("records")
        each = table.groupby("session")["correct"].mean().to_numpy(float)
        assert (row["unit"], row["n_units"], row["mean"]) == ("session", many, pytest.approx(each.mean()))
        assert (row["low"], row["high"]) == pytest.approx((estimate(each).low, estimate(each).high))
    (alone,) = overall(sessions(1, 6, Random(1))).to_dict("records")
    assert (alone["unit"], alone["n_units"]) == ("trial", 6)


def test_sessions_without_a_condition_in_common_are_as_one() -> None:
    """How much sessions differ cannot be seen where each took a condition of its own."""
    parts = [
        responses(lambda *_: 0.6, lengths=(length,), repetitions=12).assign(session=f"s{length}") for length in (3, 4)
    ]
    found = effect("set_size").table(score_table(mixed(*parts)), "vsr")
    assert set(found.loc[found["agent"] == "network:test", "unit"]) == {"trial"}


# items held ---------------------------------------------------------------------------------------


def test_a_sum_of_0_has_the_same_interval_whatever_rounding_makes_of_it() -> None:
    first, second = np.array([1.0, 0.95, 1.0, 0.9, 1.0, 0.95]), np.array([0.95, 1.0, 0.9, 1.0, 1.0, 0.95])
    ids, answers = [np.arange(6)] * 2, np.full(2, 120.0)
    found = contrast([first, second], ids, np.array([1.0, -1.0]), answers=answers)
    assert found.skewed is not None
    ends = [replace(found, value=value).ends() for value in (-1e-17, 0.0, 1e-17)]
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-12)
    np.testing.assert_allclose(ends[2], ends[1], atol=1e-12)
