"""Task variance, preferences and clusters of units: planted ones come out, and formulas agree with
others."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from neural_states import states

from spanlab.core.errors import SpanLabError
from spanlab.extensions.neural.clusters import cluster_units
from spanlab.extensions.neural.projection import MOST_POINTS, neighbours, principal
from spanlab.extensions.neural.states import (
    TaskStates,
    active_units,
    fractional,
    fractional_table,
    histograms,
    normalised,
    task_variance,
)

RANDOM = np.random.RandomState(5)


def by_hand(parts: list[TaskStates], task: str) -> list[float]:
    """Task variance of each unit of one task, one number after the other."""
    found = []
    for unit in range(parts[0].units):
        variances = []
        for step in range(max(part.values.shape[1] for part in parts)):
            held = [
                float(part.values[trial, step, unit])
                for part in parts
                if part.task == task and step < part.values.shape[1]
                for trial in range(len(part.values))
                if part.counted[trial, step]
            ]
            if len(held) > 1:
                mean = sum(held) / len(held)
                variances.append(sum((one - mean) ** 2 for one in held) / len(held))
        found.append(sum(variances) / len(variances))
    return found


def test_planted_variances_come_out() -> None:
    """Two values as often as each other, at distance 2 s: the variance is s squared at each step;
    the task variance is the mean over steps."""
    values = np.array([-1.0, 1.0, -1.0, 1.0])[:, None, None] * np.array([[1.0, 2.0], [3.0, 0.0]])[None]
    found = task_variance([states("a", values)])
    assert found.tasks == ("a",)
    assert found.steps == (2,)
    np.testing.assert_allclose(found.values[:, 0], [(1 + 9) / 2, (4 + 0) / 2])


def test_steps_count_alike_however_many_trials_reach_them() -> None:
    values = np.zeros((4, 2, 1))
    values[:, 0, 0] = [0, 0, 0, 0]
    values[:2, 1, 0] = [-1, 1]
    assert task_variance([states("a", values, counted=np.array([[1, 1], [1, 1], [1, 0], [1, 0]], bool))]).values[
        0, 0
    ] == pytest.approx(0.5)


@settings(deadline=None, max_examples=40)
@given(st.integers(2, 6), st.integers(1, 4), st.integers(1, 4), st.integers(0, 2**31 - 1))
def test_task_variance_is_that_of_a_loop(trials: int, steps: int, units: int, seed: int) -> None:
    random = np.random.RandomState(seed)
    parts = [
        states("b", random.normal(size=(trials, steps, units)), counted=random.rand(trials, steps) < 0.8),
        states("a", random.normal(size=(3, 2, units))),
        states("b", random.normal(3, 2, size=(2, steps + 1, units))),
    ]
    found = task_variance(parts)
    assert found.tasks == ("b", "a")
    for column, task in enumerate(found.tasks):
        np.testing.assert_allclose(found.values[:, column], by_hand(parts, task), rtol=1e-9)


@settings(deadline=None, max_examples=30)
@given(st.floats(0.1, 100), st.floats(-50, 50))
def test_normalised_variance_does_not_depend_on_scale_and_origin(scale: float, origin: float) -> None:
    random = np.random.RandomState(2)
    parts = [random.normal(size=(5, 3, 4)) * size for size in (1, 2)]
    plain, other = (
        [states(task, change(part)) for task, part in zip("ab", parts, strict=True)]
        for change in (lambda one: one, lambda one: scale * one + origin)
    )
    first, second = task_variance(plain), task_variance(other)
    np.testing.assert_allclose(second.values, scale**2 * first.values, rtol=1e-6)
    np.testing.assert_allclose(
        normalised(second, active_units(second)), normalised(first, active_units(first)), rtol=1e-6
    )


def test_the_highest_normalised_variance_of_each_unit_is_one_and_dead_units_have_none() -> None:
    found = task_variance(
        [states(task, RANDOM.normal(size=(6, 2, 5)) * np.array([1, 2, 0, 1e-3, 1])) for task in "abc"]
    )
    active = active_units(found)
    assert active.tolist() == [True, True, False, False, True]  # 1e-6 of the variance is below a thousandth
    assert active_units(found, 1e-9).tolist() == [True, True, False, True, True]
    matrix = normalised(found, active)
    np.testing.assert_allclose(matrix[active].max(1), 1)
    assert np.isnan(matrix[~active]).all()


def test_a_network_that_does_nothing_has_no_active_unit() -> None:
    found = task_variance([states("a", np.zeros((4, 3, 5))), states("b", np.ones((4, 3, 5)))])
    active = active_units(found)
    assert not active.any()
    assert not active_units(found, 0).any()
    assert fractional_table(found, active).empty
    assert cluster_units(normalised(found, active)[active]).count == 0


def test_one_trial_has_no_variance_and_that_is_said() -> None:
    found = task_variance([states("alone", RANDOM.normal(size=(1, 3, 4))), states("a", RANDOM.normal(size=(5, 3, 4)))])
    assert found.tasks == ("a",)
    assert any(note.startswith("alone:") and "two trials" in note for note in found.notes)
    nothing = task_variance([states("alone", RANDOM.normal(size=(1, 3, 4)))])
    assert nothing.values.shape == (4, 0)
    assert not active_units(nothing).any()


def test_states_that_are_no_numbers_are_told_with_their_place() -> None:
    values = np.zeros((3, 4, 2))
    values[1, 2, 0] = np.nan
    with pytest.raises(SpanLabError, match="trial 2 at step 3"):
        states("a", values)
    counted = np.ones((3, 4), bool)
    counted[1, 2:] = False
    assert task_variance([states("a", values, counted=counted)]).values.tolist() == [[0.0], [0.0]]


@pytest.mark.parametrize("wrong", [{"counted": np.ones((2, 2), bool)}, {"list_lengths": np.zeros(1, int)}])
def test_labels_that_do_not_fit_are_refused(wrong: dict[str, np.ndarray]) -> None:
    with pytest.raises(SpanLabError, match=next(iter(wrong))):
        states("a", np.zeros((3, 4, 2)), **wrong)


def test_states_of_different_networks_are_refused() -> None:
    with pytest.raises(SpanLabError, match="numbers of units"):
        task_variance([states("a", np.zeros((3, 4, 2))), states("b", np.zeros((3, 4, 3)))])


# preferences


@settings(deadline=None, max_examples=50)
@given(arrays.arrays(float, (6, 2), elements=st.floats(0, 1e6)))
def test_preferences_lie_between_minus_one_and_one_and_turn_with_the_pair(variances: np.ndarray) -> None:
    found, there = fractional(variances[:, 0], variances[:, 1]), variances.sum(1) > 0
    assert np.isnan(found[~there]).all()
    assert (np.abs(found[there]) <= 1).all()
    np.testing.assert_array_equal(found[there], -fractional(variances[:, 1], variances[:, 0])[there])


def test_planted_preferences_and_their_histograms() -> None:
    """Units with nine times the variance in a that they have in b: (9 - 1) / (9 + 1); those of a
    alone 1; every active unit is in one bar."""
    sizes = {"a": np.array([3, 1, 0]), "b": np.array([1, 0, 1]), "c": np.array([1, 1, 1])}
    sign = np.array([-1.0, 1.0])[:, None, None]
    found = task_variance([states(task, sign * size[None, None]) for task, size in sizes.items()])
    table = fractional_table(found, active_units(found))
    assert list(zip(table["task_a"], table["task_b"], strict=True))[::3] == [("a", "b"), ("a", "c"), ("b", "c")]
    np.testing.assert_allclose(table["ftv"], [0.8, 1, -1, 0.8, 0, -1, 0, -1, 0])
    bars = histograms(table)
    assert bars.groupby(["task_a", "task_b"])["units"].sum().tolist() == [3, 3, 3]
    own = bars[(bars["task_a"] == "a") & (bars["task_b"] == "b") & (bars["units"] > 0)]
    assert own["low"].tolist() == pytest.approx([-1, 0.8, 0.9])
    assert own["high"].tolist() == pytest.approx([-0.9, 0.9, 1])


# clusters


def planted(sizes: tuple[int, ...], noise: float = 0.03, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Units of which each group varies in a task of its own."""
    random = np.random.RandomState(seed)
    truth = np.repeat(np.arange(len(sizes)), sizes)
    return np.clip(np.eye(len(sizes))[truth] + random.normal(0, noise, (len(truth), len(sizes))), 0, 1), truth


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [(8, 12), (10, 10, 10), (5, 20, 9, 14), (6, 6, 6, 6, 6, 6, 6)])
def test_planted_clusters_are_found_and_numbered_by_their_task(sizes: tuple[int, ...]) -> None:
    rows, truth = planted(sizes)
    mixed = np.random.RandomState(3).permutation(len(rows))
    found = cluster_units(rows[mixed])
    assert found.count == len(sizes)
    assert found.labels.tolist() == (truth[mixed] + 1).tolist()
    assert found.silhouette > 0.85
    assert found.silhouette == max(score for _, score in found.silhouettes)


@pytest.mark.slow
def test_the_same_units_have_the_same_clusters() -> None:
    rows = np.random.RandomState(0).rand(60, 4)
    first, second = cluster_units(rows), cluster_units(rows.copy())
    assert first.labels.tolist() == second.labels.tolist()
    assert first.silhouettes == second.silhouettes


def test_as_many_clusters_are_tried_as_are_asked_for() -> None:
    rows = np.random.RandomState(0).rand(20, 3)
    assert [count for count, _ in cluster_units(rows, most=6).silhouettes] == [2, 3, 4, 5, 6]
    assert cluster_units(rows, most=99).silhouettes[-1][0] == 19


@pytest.mark.parametrize(
    "rows",
    [np.ones((9, 1)), np.ones((9, 3)), np.ones((1, 3)), np.array([[1.0, 0.0], [0.0, 1.0]])],
    ids=["one task", "alike", "one unit", "two"],
)
def test_where_there_is_nothing_to_choose_there_is_one_cluster_and_a_reason(rows: np.ndarray) -> None:
    found = cluster_units(rows)
    assert set(found.labels) == {1}
    assert found.note
    assert not found.silhouettes
    assert np.isnan(found.silhouette)


# planes


def test_principal_components_are_those_of_the_covariance() -> None:
    points = np.random.RandomState(4).normal(size=(50, 5)) * np.array([5, 3, 1, 0.5, 0.1])
    plane = principal(points)
    values, axes = np.linalg.eigh(np.cov(points.T))
    for found, axis in ((plane.x, axes[:, -1]), (plane.y, axes[:, -2])):
        expected = (points - points.mean(0)) @ axis
        assert abs(np.corrcoef(found, expected)[0, 1]) == pytest.approx(1)
        assert found.var() == pytest.approx(expected.var())
    assert f"{values[-1] / values.sum():.0%} and {values[-2] / values.sum():.0%}" in plane.caption


@pytest.mark.parametrize("points", [np.zeros((4, 3)), np.ones((5, 1)), np.zeros((1, 3))])
def test_points_without_spread_are_in_one_place(points: np.ndarray) -> None:
    plane = principal(points)
    assert np.allclose(plane.x, 0)
    assert np.allclose(plane.y, 0)
    assert neighbours(points) is None


@pytest.mark.slow
def test_neighbours_keep_groups_apart_and_are_the_same_again() -> None:
    rows, truth = planted((30, 30, 30))
    first, second = neighbours(rows), neighbours(rows)
    assert first is not None
    assert second is not None
    np.testing.assert_array_equal(first.x, second.x)
    flat = np.stack([first.x, first.y], 1)
    assert (truth[np.array([np.argsort(((flat - one) ** 2).sum(1))[1] for one in flat])] == truth).all()


def test_of_many_points_some_are_drawn_and_that_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spanlab.extensions.neural.projection.MOST_POINTS", 40)
    plane = neighbours(np.random.RandomState(0).rand(60, 3))
    assert plane is not None
    assert len(plane.x) == len(plane.rows) == len(set(plane.rows.tolist())) == 40 < MOST_POINTS
    assert "40 of 60 points" in plane.caption
