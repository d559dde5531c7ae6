"""Curves: planted effects come back, standard errors and intervals are what they say."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats
from analysis_tables import mixed, responses

from spanlab.analysis.effects.curves import accuracy, overall, primacy_recency
from spanlab.analysis.means.contrasts import estimate, score_limits


def bowed(length: int, position: int) -> float:
    return (
        0.95 - 0.1 * (length - 3)
        if position == 1
        else 0.85 - 0.1 * (length - 3)
        if position == length
        else 0.5 - 0.1 * (length - 3)
    )


@pytest.mark.parametrize(("place", "index"), [(1, "primacy"), (5, "recency")])
def test_primacy_is_of_the_first_item_and_recency_of_the_last(place: int, index: str) -> None:
    table = primacy_recency(responses(lambda length, position: float(position == place), lengths=[5], repetitions=4))
    assert dict(zip(table["index"], table["mean"], strict=True)) == {"primacy": 0.0, "recency": 0.0} | {index: 1.0}


def test_primacy_needs_the_whole_list() -> None:
    table = responses(bowed, lengths=[4], repetitions=10)
    cut = table.drop(table.index[[2]])
    assert primacy_recency(table)["n_trials"].tolist() == [10, 10]
    assert primacy_recency(cut)["n_trials"].tolist() == [9, 9]


def test_chance_is_averaged_like_accuracy() -> None:
    table = responses(lambda length, position: 0.0, paradigm="sfr", lengths=[1, 18], repetitions=20, chance=None)
    assert overall(table)["chance"].item() == pytest.approx((0.01 + 0.18) / 2)


def test_sem_over_trials_is_scipys() -> None:
    table = responses(bowed, lengths=[5], repetitions=17, seed=6)
    by_trial = table.groupby("trial")["correct"].mean().astype(float)
    row = accuracy(table, ("set_size",)).iloc[0]
    assert row["mean"] == pytest.approx(by_trial.mean())
    assert row["sem"] == pytest.approx(scipy.stats.sem(by_trial))
    assert (row["unit"], row["n_units"]) == ("trial", 17)


def test_several_people_are_the_units() -> None:
    people = [
        responses(
            lambda length, position, p=p: p,
            agent="participant",
            kind="participant",
            participant=f"P{n}",
            lengths=[4],
            repetitions=4 + 3 * n,
            seed=n,
        )
        for n, p in enumerate((0.3, 0.5, 0.7, 0.9))
    ]
    row = overall(mixed(*people)).iloc[0]
    means = [float(person.groupby("trial")["correct"].mean().mean()) for person in people]
    assert (row["unit"], row["n_units"], row["n_trials"]) == ("participant", 4, sum(4 + 3 * n for n in range(4)))
    assert row["mean"] == pytest.approx(np.mean(means))
    assert row["sem"] == pytest.approx(scipy.stats.sem(means))
    assert min(means) <= row["low"] < row["mean"] < row["high"] <= max(means)
    assert overall(people[0]).iloc[0]["unit"] == "trial"


def test_a_cell_that_only_one_of_several_people_reached_has_no_interval() -> None:
    short = responses(bowed, agent="participant", kind="participant", participant="A", lengths=[3], repetitions=6)
    both = responses(
        bowed, agent="participant", kind="participant", participant="B", lengths=[3, 4], repetitions=6, seed=1
    )
    curve = accuracy(mixed(short, both), ("set_size",)).to_dict("records")
    assert [row["set_size"] for row in curve] == [3, 4]
    assert curve[1]["note"] == "one participant: no interval"
    assert np.isnan(curve[1]["low"])
    assert curve[0]["n_units"] == 2


def test_one_trial_and_cells_at_the_edges_are_said() -> None:
    one = overall(responses(lambda length, position: 1.0, lengths=[3], repetitions=1)).iloc[0]
    assert (one["mean"], one["interval"], one["note"]) == (1.0, "none", "one trial: no interval")
    assert np.isnan(one["sem"])
    full = overall(responses(lambda length, position: 1.0, lengths=[3], repetitions=10)).iloc[0]
    assert (full["mean"], full["high"], full["interval"]) == (1.0, 1.0, "exact")
    assert full["low"] == pytest.approx(scipy.stats.binomtest(10, 10).proportion_ci(method="exact").low)
    none = overall(responses(lambda length, position: 0.0, lengths=[3], repetitions=10)).iloc[0]
    assert none["high"] == pytest.approx(scipy.stats.binomtest(0, 10).proportion_ci(method="exact").high)
    assert none["note"] == "all 10 trials at 0%: exact limit"
    assert (
        overall(responses(lambda length, position: 0.5, lengths=[3], repetitions=6)).iloc[0]["note"]
        == "only 6 trials: rough interval"
    )


def test_the_score_interval_is_that_of_wilson_for_the_effective_number_of_answers() -> None:
    """With the variance of so many independent answers, and no doubt about it, it is Wilson's own;
    towards one half it ends where the variance has grown with the power of 1.5, as that of people
    does who differ in log odds.
    """
    for right in (5, 45):
        share, se = right / 50, math.sqrt(0.09 / 50)
        ends = score_limits(share, se, 1e9)
        wanted = scipy.stats.binomtest(right, 50).proportion_ci(method="wilson")
        near, far = (0, 1) if share < 0.5 else (1, 0)
        assert ends[near] == pytest.approx(wanted[near])
        assert abs(ends[far] - share) > abs(wanted[far] - share)
        assert abs(ends[far] - share) == pytest.approx(
            scipy.stats.norm.isf(0.025) * se * (ends[far] * (1 - ends[far]) / 0.09) ** 0.75
        )
    middle = score_limits(0.5, 0.1, 1e9)
    assert middle == (
        pytest.approx(1 - middle[1]),
        pytest.approx(scipy.stats.binomtest(13, 26).proportion_ci(method="wilson").high, abs=0.01),
    )


def test_intervals_of_right_and_wrong_hold_every_share() -> None:
    """Counted out, not drawn: resampled limits of 24 units held a share of 85 % in 89 %."""
    for units in (8, 24, 48):
        limits = np.array(
            [
                (one.low, one.high)
                for one in (estimate([1.0] * right + [0.0] * (units - right)) for right in range(units + 1))
            ]
        )
        for share in np.linspace(0.02, 0.98, 49):
            held = (limits[:, 0] <= share) & (share <= limits[:, 1])
            assert scipy.stats.binom.pmf(np.arange(units + 1), units, share)[held].sum() > 0.925, (units, share)
    assert estimate([1.0] * 9 + [0.0] * 3).interval == "binomial"
    assert estimate([1.0] * 9 + [0.0] * 3, proportion=False).interval == "t"
    assert estimate([1.0] * 9 + [0.5] * 3).interval == "score"
