"""Cosine similarities across serial positions and of the names of tasks."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from neural_states import listed, states

from spanlab.extensions.neural.report import embedding_similarity, position_similarity


def matrix(table: pd.DataFrame, length: int) -> np.ndarray:
    return (
        table[table["list_length"] == length]
        .pivot(index="position_a", columns="position_b", values="cosine")
        .to_numpy()
    )


def test_orthogonal_and_identical_positions() -> None:
    orthogonal = np.tile(np.eye(3), (4, 1, 1)) * np.array([1, 5, 0.1])[None, :, None]
    np.testing.assert_allclose(
        matrix(position_similarity([listed("a", orthogonal, [3] * 4)]), 3), np.eye(3), atol=1e-12
    )
    same = np.tile(np.array([1.0, 2.0, -1.0]), (4, 3, 1)) * np.array([1, 5, 0.1])[None, :, None]
    np.testing.assert_allclose(matrix(position_similarity([listed("a", same, [3] * 4)]), 3), 1)
    turned = same * np.array([1, -1, 1])[None, :, None]
    np.testing.assert_allclose(
        matrix(position_similarity([listed("a", turned, [3] * 4)]), 3), np.outer([1, -1, 1], [1, -1, 1])
    )


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 6), st.integers(2, 5), st.integers(2, 6), st.integers(0, 2**31 - 1))
def test_cosines_are_those_of_a_loop(trials: int, length: int, units: int, seed: int) -> None:
    values = np.random.RandomState(seed).normal(size=(trials, length + 2, units))
    table = position_similarity([listed("a", values, [length] * trials)])
    assert len(table) == length**2
    for row in table.to_dict("records"):
        each = []
        for trial in values:
            a, b = trial[row["position_a"] - 1].tolist(), trial[row["position_b"] - 1].tolist()
            each.append(math.fsum(x * y for x, y in zip(a, b, strict=True)) / (math.hypot(*a) * math.hypot(*b)))
        assert row["cosine"] == pytest.approx(math.fsum(each) / trials, abs=1e-9)
        assert row["trials"] == trials
        assert (
            (row["sem"] == pytest.approx(np.std(each, ddof=1) / math.sqrt(trials), abs=1e-9))
            if trials > 1
            else math.isnan(row["sem"])
        )


def test_list_lengths_and_tasks_are_apart_and_parts_of_a_task_together() -> None:
    random = np.random.RandomState(0)
    table = position_similarity(
        [
            listed("a", random.normal(size=(4, 4, 5)), [2, 2, 4, 4]),
            listed("b", random.normal(size=(3, 4, 5)), [1, 3, 3]),
            listed("a", random.normal(size=(2, 2, 5)), [2, 2]),
        ]
    )
    counts = table.groupby(["task", "list_length"])["trials"].agg(["size", "max"])
    assert counts.to_dict("index") == {
        ("a", 2): {"size": 4, "max": 4},
        ("a", 4): {"size": 16, "max": 2},
        ("b", 3): {"size": 9, "max": 2},
    }


def test_an_item_that_is_shown_for_several_steps_counts_with_its_last() -> None:
    values = np.zeros((1, 4, 2))
    values[0, :, :] = [[1, 0], [0, 1], [1, 0], [0, 1]]
    table = position_similarity([states("a", values, positions=np.array([[1, 1, 2, 2]]), list_lengths=np.array([2]))])
    np.testing.assert_allclose(matrix(table, 2), 1)


def test_states_without_direction_are_left_out() -> None:
    values = np.ones((3, 2, 2))
    values[0, 0] = 0
    table = position_similarity([listed("a", values, [2] * 3)])
    assert table.set_index(["position_a", "position_b"])["trials"].to_dict() == {
        (1, 1): 2,
        (1, 2): 2,
        (2, 1): 2,
        (2, 2): 3,
    }
    assert position_similarity([listed("a", np.zeros((3, 2, 2)), [2] * 3)]).empty


def test_tasks_without_lists_have_no_table() -> None:
    table = position_similarity([states("a", np.ones((3, 2, 2)))])
    assert table.empty
    assert "cosine" in table


def named(names: list[str], rows: list[list[float]]) -> dict[tuple[str, str], tuple[float, float]]:
    """Cosine and scaled cosine of each pair."""
    return {
        (one["task_a"], one["task_b"]): (one["cosine"], one["scaled_cosine"])
        for one in embedding_similarity(names, np.array(rows)).to_dict("records")
    }


def test_names_of_tasks() -> None:
    """By hand: (1, 2, 3) and (3, 2, 1) have 10 / 14; scaled they are (0, .5, 1) and (1, .5, 0) with
    .25 / 1.25. (2, 4, 6) is (1, 2, 3) by another scale."""
    found = named(["a", "b", "c"], [[1, 2, 3], [3, 2, 1], [2, 4, 6]])
    assert found["a", "b"] == pytest.approx((10 / 14, 0.2))
    assert found["b", "a"] == found["a", "b"]
    assert found["a", "c"] == pytest.approx((1, 1))
    assert len(found) == 9
    assert min(scaled for _, scaled in found.values()) >= 0


def test_names_without_direction_have_no_cosine() -> None:
    found = named(["flat", "a"], [[2, 2], [0, 1]])
    assert math.isnan(found["flat", "a"][1])
    assert found["flat", "a"][0] == pytest.approx(math.sqrt(0.5))
