"""Curves: planted effects come back, standard errors and intervals are what they say."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats
from analysis_tables import mixed, responses

from spanlab.analysis.effects.curves import accuracy, overall, primacy_recency
from spanlab.analysis.means import bootstrap
from spanlab.analysis.means.bootstrap import estimate_pooled
from spanlab.analysis.means.contrasts import estimate, score_limits


def bowed(length: int, position: int) -> float:
    return (
        0.95 - 0.1 * (length - 3)
        if position == 1
        else 0.85 - 0.1 * (length - 3)
        if position == length
        else 0.5 - 0.1 * (length - 3)
    )


def test_planted_serial_positions_come_back() -> None:
    curve = accuracy(responses(bowed, repetitions=2000, seed=1), ("list_length", "serial_position"))
    assert len(curve) == 3 + 4 + 5
    for row in curve.to_dict("records"):
        assert row["mean"] == pytest.approx(bowed(row["list_length"], row["serial_position"]), abs=0.04)
        assert row["low"] < row["mean"] < row["high"]
        assert (row["n_units"], row["n_items"], row["unit"], row["interval"]) == (2000, 2000, "trial", "binomial")
        assert row["chance"] == pytest.approx(1 / 9)


def test_planted_set_size_effect_comes_back() -> None:
    curve = accuracy(
        responses(lambda length, position: 1 - 0.15 * length, lengths=[2, 4, 6], repetitions=1500, seed=2),
        ("set_size",),
    )
    assert curve["set_size"].tolist() == [2, 4, 6]
    np.testing.assert_allclose(curve["mean"], [0.7, 0.4, 0.1], atol=0.03)


@pytest.mark.slow
def test_planted_primacy_and_recency_come_back() -> None:
    table = primacy_recency(responses(bowed, repetitions=3000, seed=3))
    planted = {"primacy": 0.45, "recency": 0.35}
    assert len(table) == 6
    for row in table.to_dict("records"):
        assert row["mean"] == pytest.approx(planted[row["index"]], abs=0.05)
        assert row["low"] < planted[row["index"]] < row["high"]
    flat = primacy_recency(responses(lambda length, position: 0.6, repetitions=3000, seed=4))
    assert flat["mean"].abs().max() < 0.05
    assert not len(primacy_recency(responses(bowed, lengths=[2])))


@pytest.mark.parametrize(("place", "index"), [(1, "primacy"), (5, "recency")])
def test_primacy_is_of_the_first_item_and_recency_of_the_last(place: int, index: str) -> None:
    table = primacy_recency(responses(lambda length, position: float(position == place), lengths=[5], repetitions=4))
    means = dict(zip(table["index"], table["mean"], strict=True))
    assert means == {"primacy": 0.0, "recency": 0.0} | {index: 1.0}


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
    table = mixed(*people)
    row = overall(table).iloc[0]
    means = [float(person.groupby("trial")["correct"].mean().mean()) for person in people]
    assert (row["unit"], row["n_units"], row["n_trials"]) == ("participant", 4, sum(4 + 3 * n for n in range(4)))
    assert row["mean"] == pytest.approx(np.mean(means))
    assert row["sem"] == pytest.approx(scipy.stats.sem(means))
    assert min(means) <= row["low"] < row["mean"] < row["high"] <= max(means)
    alone = overall(people[0]).iloc[0]
    assert alone["unit"] == "trial"


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
    few = overall(responses(lambda length, position: 0.5, lengths=[3], repetitions=6)).iloc[0]
    assert few["note"] == "only 6 trials: rough interval"


def test_the_same_units_give_the_same_interval_in_any_order() -> None:
    values = np.random.RandomState(1).rand(30)
    assert estimate(values) == estimate(values[::-1])
    assert estimate(values, proportion=False) == estimate(values[::-1], proportion=False)
    assert estimate([0.3] * 5).interval == "none"
    assert estimate([]).n == 0
    assert estimate([np.nan, 1.0]).n == 1


def test_limits_of_shares_agree_with_the_t_interval_for_many_units() -> None:
    values = np.random.RandomState(2).normal(0.5, 0.1, size=200)
    low, high = scipy.stats.t.interval(0.95, 199, values.mean(), scipy.stats.sem(values))
    for proportion in (True, False):
        found = estimate(values, proportion=proportion)
        assert (found.low, found.high) == (pytest.approx(low, abs=0.001), pytest.approx(high, abs=0.001))


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


@pytest.mark.parametrize(("units", "p"), [(12, 0.6), (25, 0.8), (60, 0.35)])
def test_intervals_cover_the_truth_about_as_often_as_they_say(units: int, p: float) -> None:
    random = np.random.RandomState(units)
    hits = 0
    for _ in range(600):
        found = estimate(random.binomial(1, p, size=units))
        hits += found.low <= p <= found.high
    assert 0.92 <= hits / 600 <= 0.99


def test_resampling_whole_trials_covers_where_items_of_a_trial_go_together() -> None:
    """Items of one trial share a good or a bad moment: treating them as independent would give
    intervals that are far too narrow."""
    table = responses(lambda length, position: 0.5, lengths=[8], repetitions=20, spread=0.5)
    row, same = overall(table).iloc[0], estimate(table.groupby("trial")["correct"].mean().to_numpy(float))
    assert (row["low"], row["high"]) == pytest.approx((same.low, same.high))
    random = np.random.RandomState(5)
    trials, items = 0, 0
    for _ in range(300):
        correct = random.rand(20, 8) < random.rand(20, 1)
        whole, single = estimate(correct.mean(axis=1)), estimate(correct.ravel().astype(float))
        trials += whole.low <= 0.5 <= whole.high
        items += single.low <= 0.5 <= single.high
    assert trials / 300 >= 0.91
    assert items / 300 < 0.85


def test_an_interval_of_counts_is_the_same_whether_draws_are_kept_or_not(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = [np.array([[right, 12 - right] for right in rights], float) for rights in ((3, 7, 9, 9), (11, 2, 5, 5))]

    def intervals() -> list[tuple[float, float]]:
        bootstrap._resampled.cache_clear()
        estimates = [estimate_pooled(rows, lambda sums: sums[:, 0] / sums.sum(axis=1)) for rows in counts]
        return [(estimated.low, estimated.high) for estimated in estimates]

    kept = intervals()
    monkeypatch.setattr(bootstrap, "_KEPT", 0)
    assert intervals() == kept
    assert kept[0] != kept[1]
