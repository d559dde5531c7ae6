"""Random wordings and trials in closed form: a hand-computed case, repeats, and how often intervals
hold what they say."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ..model import components, mean_squares, pooled
from ..proof import CELLS, FEW, mean_in_core, rates


def scores(
    sd_wording: float, sd_trial: float, sd_rest: float, shape: tuple[int, int, int], seed: int = 1
) -> np.ndarray:
    rng = np.random.default_rng(seed)
    wordings, _, trials = shape
    return (
        sd_wording * rng.standard_normal((wordings, 1, 1))
        + sd_trial * rng.standard_normal((1, 1, trials))
        + sd_rest * rng.standard_normal(shape)
    )


def test_mean_squares_are_those_of_a_two_way_table() -> None:
    table = np.array([[1.0, 2.0, 6.0], [2.0, 5.0, 8.0]])[:, None, :]
    squares = mean_squares(table, [0, 0, 0])
    # row means 3, 5; column means 1.5, 3.5, 7; mean 4
    assert squares.wording == pytest.approx(3 * 2.0)
    assert squares.trial == pytest.approx(2 * (2.5**2 + 0.5**2 + 3**2) / 2)
    assert squares.both == pytest.approx((0.5**2 + 0.5**2 + 0 + 0.5**2 + 0.5**2 + 0) / 2)
    assert squares.df == (1, 2, 2)


def test_variances_are_found_again() -> None:
    found = [components(scores(0.5, 1.0, 2.0, (20, 4, 200), seed), [0] * 200) for seed in range(8)]
    means = {
        name: float(np.mean([getattr(parts, name) for parts in found]))
        for name in ("wording", "trial", "both", "sampling", "repeat")
    }
    assert means["wording"] == pytest.approx(0.25, rel=0.25)
    assert means["trial"] == pytest.approx(1.0, rel=0.1)
    assert means["sampling"] == pytest.approx(4.0, rel=0.03)
    assert means["both"] < 0.1
    assert means["repeat"] < 0.02


def test_identical_repeats_leave_the_interval_as_it_is() -> None:
    few = scores(0.5, 1.0, 1.0, (5, 1, 30))
    once, often = pooled(few, [0] * 30), pooled(np.repeat(few, 7, axis=1), [0] * 30)
    assert once is not None
    assert often is not None
    assert (often.low, often.high, often.df) == pytest.approx((once.low, once.high, once.df))


def test_repeats_that_differ_make_the_interval_shorter() -> None:
    once, often = (scores(0.0, 0.0, 2.0, (6, repeats, 40), seed=3) for repeats in (1, 9))
    first, second = pooled(once, [0] * 40), pooled(often, [0] * 40)
    assert first is not None
    assert second is not None
    assert second.high - second.low < 0.6 * (first.high - first.low)


def test_conditions_of_trials_are_no_random_variation() -> None:
    table = scores(0.2, 0.1, 0.5, (5, 1, 40), seed=4)
    table[:, :, 20:] += 5
    apart, mixed = pooled(table, [0] * 20 + [1] * 20), pooled(table, [0] * 40)
    assert apart is not None
    assert mixed is not None
    assert apart.high - apart.low < 0.7 * (mixed.high - mixed.low)


def test_two_wordings_say_nothing_about_others() -> None:
    assert pooled(scores(0.5, 1.0, 1.0, (2, 3, 30)), [0] * 30) is None


def test_the_interval_ends_where_p_is_five_per_cent() -> None:
    table = scores(0.3, 0.8, 0.5, (4, 1, 30), seed=2)
    away = pooled(table, [0] * 30)
    assert away is not None
    at_its_end = pooled(table - away.low, [0] * 30)
    assert at_its_end is not None
    assert at_its_end.p == pytest.approx(0.05)


def test_an_interval_is_that_of_wordings_and_of_trials_together() -> None:
    table = np.array([[1.0, 2.0, 6.0], [2.0, 5.0, 8.0], [3.0, 5.0, 10.0]])[:, None, :]
    value, squares = pooled(table, [0, 0, 0]), mean_squares(table, [0, 0, 0])
    assert value is not None
    reach = 4.302653 * math.sqrt(squares.wording / 9 + (squares.trial - squares.both) / 9)
    assert value.high - value.mean == pytest.approx(reach, rel=1e-5)
    assert value.df == pytest.approx(2), "wordings and trials have two each"


def test_scores_that_balance_are_not_certain() -> None:
    """Neither wordings nor trials differ in their means, but each score does."""
    value = pooled(np.array([[1.0, 0.0, 2.0], [2.0, 1.0, 0.0], [0.0, 2.0, 1.0]])[:, None, :], [0, 0, 0])
    assert value is not None
    assert value.high - value.low > 1
    assert value.p > 0.05


def test_where_nothing_varies_there_is_no_p() -> None:
    same = pooled(np.zeros((4, 2, 10)), [0] * 10)
    assert same is not None
    assert (same.low, same.high) == (0.0, 0.0)
    assert math.isnan(same.p)


@pytest.mark.slow
@pytest.mark.parametrize("cell", [CELLS[0], FEW[1], FEW[5]])
def test_intervals_hold_what_they_say_and_a_difference_is_found(
    cell: tuple[int, int, int, float, float, float],
) -> None:
    """Three wordings that do not differ, too: with Satterthwaite's degrees of freedom 100 of 100
    intervals held there, and fewer differences were found. The whole proof, with 2,000 sets in each
    cell: ``python -m spanlab.extensions.wordings.proof``."""
    without, planted = rates(cell, 0.0, 200, seed=5), rates(cell, 0.6, 200, seed=6)
    assert 0.91 <= without["command"] <= 0.99
    assert planted["command"] >= 0.91
    assert without["command claims"] == pytest.approx(1 - without["command"])
    assert planted["command claims"] > 2 * without["command claims"]
    if cell[3]:
        assert without["over_trials"] < 0.87


@pytest.mark.slow
@pytest.mark.parametrize("cell", [FEW[4], FEW[6], FEW[7]])
def test_the_core_s_intervals_hold_and_those_over_trials_do_not(
    cell: tuple[int, int, int, float, float, float],
) -> None:
    """Two wordings, too: with Satterthwaite's degrees of freedom their means held 88 of 100. The
    proof counts all cells, in more sets."""
    without, planted = rates(cell, 0.0, 300, seed=6), rates(cell, 0.6, 300, seed=7)
    assert min(without["core"], planted["core"]) >= 0.935
    assert without["mean_in_core"] >= 0.93
    assert without["over_trials"] < 0.87


def test_the_simulated_mean_is_that_of_the_core() -> None:
    import pandas as pd

    from spanlab.analysis.data import Scored
    from spanlab.analysis.means import contrast_of, unit_means

    given = (scores(0.3, 0.5, 0.5, (4, 2, 30)) > 0).astype(float)
    wording, repeat, trial = (index.ravel() for index in np.indices(given.shape))
    items = pd.DataFrame(
        {
            **{
                "paradigm": "p",
                "agent_kind": "chat",
                "agent": "a",
                "participant": "",
                "chance": 0.5,
                "outcome": "answered",
                "oracle": False,
            },
            **{
                "session": [f"{one}.{other}" for one, other in zip(wording, repeat, strict=True)],
                "unit_session": [f"wording: {one}" for one in wording],
            },
            **{"unit_trial": np.arange(given.size), "same_trial": trial, "correct": given.ravel()},
        }
    )
    of_core = contrast_of(unit_means(Scored(items, items.iloc[:0], ()), ()), [0], np.ones(1), shares=True)
    simulated = mean_in_core(given)
    assert (of_core.value, of_core.se, of_core.df, of_core.n) == pytest.approx(
        (simulated.value, simulated.se, simulated.df, simulated.n)
    )
