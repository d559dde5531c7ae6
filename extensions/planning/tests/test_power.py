"""Power by simulation: against the formula where there is one, against the page's own test, and the
size of the test where nothing was planted."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from analysis_tables import better_in_a
from command_line import Run
from observed import along, table, together
from scipy.special import ndtr

from spanlab.analysis.data.scoring import score_table
from spanlab.analysis.effects.conditions import conditions_effect
from spanlab.analysis.effects.effect import trends
from spanlab.analysis.means import contrast_of, unit_means
from spanlab.analysis.stats.mixed_model import mixed_model
from spanlab.core.errors import SpanLabError
from spanlab.extensions.planning.planned_measures import PlannedSensitivity, PlannedTimes, from_people
from spanlab.extensions.planning.power import (
    Assumed,
    _between,
    _of_trials,
    _over_both,
    _rejects,
    _shares,
    _within,
    from_model,
    power,
    smallest,
)


def crowd(people: int = 12, trials: int = 60) -> pd.DataFrame:
    parts = []
    for at in range(people):
        own = float(np.random.RandomState(at).normal(0, 0.08))
        parts.append(
            table(
                along("set_size", {2: 0.85 + own / 2, 6: 0.7 + own}),
                trials,
                agent="participant",
                kind="participant",
                participant=f"P{at}",
                seed=at,
            )
        )
    return together(*parts)


def test_power_is_that_of_the_formula_where_people_differ_by_chance_alone() -> None:
    """Without any spread of people shares are binomial, and the power is as good as that of the
    noncentral t distribution."""
    found = power(Assumed(0.7, -0.1, 0.0, 0.0), [20], [50], samples=4000).iloc[0]
    shift, limit = 0.1 / (math.sqrt((0.7 * 0.3 + 0.6 * 0.4) / 50) / math.sqrt(20)), scipy.stats.t.ppf(0.975, 19)
    wanted = scipy.stats.nct.sf(limit, 19, shift) + scipy.stats.nct.cdf(-limit, 19, shift)
    assert found["power"] == pytest.approx(wanted, abs=4 * found["se"])
    assert found["se"] == pytest.approx(math.sqrt(found["power"] * (1 - found["power"]) / 4000))
    assert found["size"] == pytest.approx(0.05, abs=0.015)


def test_the_simulated_test_is_the_one_that_a_page_prints() -> None:
    scored = score_table(crowd())
    (row,) = trends(conditions_effect(scored, "vsr", "set_size"), scored, "vsr").to_dict("records")
    shares = scored.items.groupby(["participant", "set_size"])["correct"].mean().unstack().to_numpy(float)
    value, se, df = _within(shares[None, :, 0], shares[None, :, 1])
    assert row["t"] == pytest.approx(float(value[0] / se[0]))
    assert (row["p"] < 0.05) == bool(_rejects(value, se, df)[0])
    t, p = map(float, np.array(scipy.stats.ttest_ind(shares[:, 1], shares[:, 0], equal_var=False)))
    value, se, df = _between(shares[None, :, 0], shares[None, :, 1])
    assert value[0] / se[0] == pytest.approx(t)
    assert 2 * scipy.stats.t.sf(abs(value[0] / se[0]), df[0]) == pytest.approx(p)


def test_differences_that_are_equal_but_for_rounding_have_no_spread() -> None:
    first = np.array([[0.8, 1.0, 0.4]])
    assert not _rejects(*_within(first, first - 0.6)).any()
    assert not _rejects(*_within(1000 * first, 1000 * first - 333.1)).any()
    assert _rejects(*_within(first, first - np.array([[0.6, 0.61, 0.6]]))).all()


def test_where_nobody_has_both_conditions_the_spread_of_the_effect_is_assumed_and_said(
    tmp_path: Path, run: Run
) -> None:
    people = [
        table(
            along("set_size", {size: right}),
            40,
            agent="participant",
            kind="participant",
            participant=f"P{at}",
            paradigm="vsr",
            seed=at,
        )
        for at in range(8)
        for size, right in [((2, 0.8), (6, 0.6))[at % 2]]
    ]
    together(*people).to_csv(tmp_path / "apart.csv", index=False)
    options = ("plan", "apart.csv", "--people", "8", "--trials", "20", "--samples", "200", "--by", "set_size")
    said = run(*options)[1]
    assert "effect over people 0.30" in said
    assert "a standard deviation of 0.3 in log odds is assumed; --sd-effect gives another" in said
    assert "is assumed" not in run(*options, "--sd-effect", "0.5")[1]
    groups = run(*options, "--between")[1]
    assert "is assumed" not in groups
    assert "in two groups it is part of how much people differ" in groups
    once = together(*crowded()).groupby(["participant", "set_size"]).head(1)
    once.to_csv(tmp_path / "once.csv", index=False)  # everybody has both conditions, with an answer in each
    said = run(options[0], "once.csv", *options[2:], "--difference", "-5points")[1]
    assert "These data do not tell how much the effect differs between people: a standard deviation of 0.3" in said
    together(*crowded()).to_csv(tmp_path / "whole.csv", index=False)
    assert "is assumed" not in run(options[0], "whole.csv", *options[2:])[1]


def crowded() -> list[pd.DataFrame]:
    """Eight people who have both conditions."""
    return [
        table(
            along("set_size", {2: 0.8, 6: 0.6}),
            40,
            agent="participant",
            kind="participant",
            participant=f"P{at}",
            paradigm="vsr",
            seed=at,
        )
        for at in range(8)
    ]


def test_spread_comes_from_data_of_ones_own() -> None:
    scored = score_table(crowd())
    model = mixed_model(scored, "vsr", "set_size")
    found = from_model(model, scored.parts["vsr"], (), None, False)
    shares = scored.items.groupby(["set_size", "participant"])["correct"].mean().groupby(level="set_size").mean()
    assert found.accuracy == pytest.approx(shares.iloc[0])
    assert found.difference == pytest.approx(shares.iloc[1] - shares.iloc[0])
    assert found.people == pytest.approx(model.random().set_index("effect")["sd"]["participant"])
    assert from_model(model, scored.parts["vsr"], ("6", "2"), -0.04, True).difference == -0.04
    with pytest.raises(SpanLabError, match="conditions takes two of 2, 6"):
        from_model(model, scored.parts["vsr"], ("2", "9"), None, False)
    alone = score_table(table(along("set_size", {2: 0.8, 6: 0.6}), 60))
    with pytest.raises(SpanLabError, match="no answerer in these data is a group of people"):
        from_model(mixed_model(alone, "vsr", "set_size"), alone.parts["vsr"], (), None, False)


def test_a_trial_asks_as_many_items_in_a_condition_as_it_does_there() -> None:
    asked = [({"list_length": 6, "serial_position": at}, 0.9 - 0.05 * at, None) for at in range(1, 7)]
    who = {"agent": "participant", "kind": "participant"}
    people = [table(lambda _: asked, 30, **who, participant=f"P{at}", seed=at) for at in range(8)]
    scored = score_table(pd.concat(people))
    assert (
        from_model(mixed_model(scored, "vsr", "serial_position"), scored.parts["vsr"], ("1", "6"), None, False).items
        == 1
    )


def test_the_difference_that_was_seen_is_that_of_people_not_of_answers() -> None:
    """All people are better in A, though good ones have more trials in B: 75 % and 65 %, as with
    equal numbers of trials."""
    for many in (100, 20):
        scored = score_table(better_in_a(many, 20))
        found = from_model(mixed_model(scored, "vsr", "factor_cue"), scored.parts["vsr"], ("A", "B"), None, False)
        assert (found.accuracy, found.difference) == pytest.approx((0.75, -0.1))


def detecting(
    people: int = 40, trials: int = 60, of_people: float = 0.5, of_effect: float = 0.42, of_criterion: float = 0.4
) -> pd.DataFrame:
    """Yes-no questions: d' of 2 and 1.2 with planted spreads (``of_effect`` of their difference),
    and a criterion of 0.3."""
    random, rows = np.random.RandomState(7), []
    for person in range(people):
        own, criterion = random.normal(0, of_people), random.normal(0.3, of_criterion)
        for size, mean in ((2, 2.0), (6, 1.2)):
            half = (mean + own + random.normal(0, of_effect / math.sqrt(2))) / 2
            signal = np.arange(trials) % 2 == 0
            said = random.rand(trials) < ndtr(np.where(signal, half, -half) - criterion)
            rows += [
                (f"P{person}", size, bool(one), bool(word == one), 500.0)
                for one, word in zip(signal, said, strict=True)
            ]
    return answers(rows)


def timed(people: int = 40, trials: int = 60) -> pd.DataFrame:
    """Times of 700 and 760 ms, of people who differ by 100 ms, an effect that differs by 42 ms, and
    single times of 200 ms (tau 150 ms)."""
    random, rows = np.random.RandomState(8), []
    for person in range(people):
        own = random.normal(0, 100)
        for size, mean in ((2, 700.0), (6, 760.0)):
            middle = mean + own + random.normal(0, 42 / math.sqrt(2))
            times = (
                middle + random.normal(0, math.sqrt(200**2 - 150**2), trials) + random.exponential(150, trials) - 150
            )
            rows += [
                (f"P{person}", size, True, bool(right), float(ms))
                for ms, right in zip(times, random.rand(trials) < 0.9, strict=True)
            ]
    return answers(rows)


def answers(rows: list[tuple[str, int, bool, bool, float]]) -> pd.DataFrame:
    made = pd.DataFrame(rows, columns=["participant", "set_size", "signal", "correct", "rt_ms"])
    words = made.pop("signal").map({True: '"different"', False: '"same"'})
    fixed = {
        "paradigm": "cd",
        "agent": "participant",
        "agent_kind": "participant",
        "practice": False,
        "chance": 0.5,
        "step": 1,
        "ask": 1,
    }
    numbers = made.groupby("participant").cumcount() + 1
    return made.assign(
        **fixed,
        session=made["participant"],
        correct_answer=words,
        outcome="answered",
        trial=numbers,
        trial_id=numbers.astype(str),
    )


def test_simulated_sensitivity_has_the_planted_means_and_spread() -> None:
    plan = PlannedSensitivity(1.5, -0.5, people=0.4, effect=0.2, criterion=0.2, criterion_people=0.3)
    first, second = plan.simulated(-0.5, 400, 2000, 5, np.random.RandomState(1))
    assert first.mean() == pytest.approx(1.5, abs=0.03)
    assert second.mean() == pytest.approx(1.0, abs=0.03)
    assert (first - second).std() == pytest.approx(0.2, abs=0.03)
    assert np.cov(first.ravel(), second.ravel())[0, 1] == pytest.approx(0.16, abs=0.03)
    forced = PlannedSensitivity(1.5, 0.0, people=0.0, effect=0.0, forced=True).simulated(
        0.0, 200, 4000, 2, np.random.RandomState(2)
    )[0]
    assert forced.mean() == pytest.approx(1.5, abs=0.02)


def test_the_effect_over_people_has_the_planted_spread_in_log_odds() -> None:
    first, second = _shares(Assumed(0.7, 0.0, 0.5, 0.4), [0.0, 0.0], 400, 4000, 2, np.random.RandomState(3))
    odds = [np.log(share / (1 - share)) for share in (first, second)]
    assert (odds[1] - odds[0]).std() == pytest.approx(0.4, abs=0.04)


def test_simulated_times_have_the_planted_means_and_spread() -> None:
    plan = PlannedTimes(800, 50, people=100, effect=30, trial=200, tau=150, accuracy=0.8)
    first, second = plan.simulated(50, 400, 25, 20, np.random.RandomState(1))
    assert first.mean() == pytest.approx(800, abs=6)
    assert (second - first).mean() == pytest.approx(50, abs=3)
    assert (second - first).std() == pytest.approx(math.sqrt(30**2 + 2 * 200**2 / 19.8), rel=0.03)
    one = PlannedTimes(800, 0, people=0, effect=0, trial=200, tau=150).simulated(
        0, 2000, 1, 20, np.random.RandomState(2)
    )[0]
    assert scipy.stats.skew(one.ravel()) == pytest.approx(2 * 0.75**3, abs=0.1)  # of an ex-Gaussian


def test_spread_of_sensitivity_and_times_comes_from_data() -> None:
    found, words = from_people(score_table(detecting(120)), "cd", "d_prime", "set_size", (), None, False)
    assert isinstance(found, PlannedSensitivity)
    assert words == "120 people, set_size 2 and 6"
    assert found.d_prime == pytest.approx(1.95, abs=0.12)  # half an answer in each count pulls towards 0
    assert found.difference == pytest.approx(-0.8, abs=0.12)
    assert found.people == pytest.approx(0.5, abs=0.12)
    assert found.effect == pytest.approx(0.42, abs=0.17)
    assert found.criterion == pytest.approx(0.3, abs=0.1)
    assert found.criterion_people == pytest.approx(0.4, abs=0.08)
    assert (found.signals, found.forced) == (0.5, False)
    data = timed(120)
    times, _ = from_people(score_table(data), "cd", "rt_ms", "set_size", ("6", "2"), None, False)
    means = data[data["correct"]].groupby(["participant", "set_size"])["rt_ms"].mean().unstack().mean()
    assert isinstance(times, PlannedTimes)
    assert times.rt == pytest.approx(760, abs=25)
    assert times.difference == pytest.approx(means[2] - means[6])
    assert times.people == pytest.approx(100, rel=0.2)
    assert times.effect == pytest.approx(42, abs=12)
    assert times.trial == pytest.approx(200, rel=0.05)
    assert times.tau == pytest.approx(150, rel=0.12)
    assert times.accuracy == pytest.approx(0.9, abs=0.02)
    with pytest.raises(SpanLabError, match="conditions takes two of 2, 6"):
        from_people(score_table(timed(4)), "cd", "rt_ms", "set_size", ("2", "9"), None, False)
    with pytest.raises(SpanLabError, match="fewer than 3 people"):
        from_people(score_table(timed(2)), "cd", "rt_ms", "set_size", (), None, False)
    with pytest.raises(SpanLabError, match="is unknown"):
        from_people(score_table(timed(1)), "cd", "rt_ms", "set_size", (), None, False)
    with pytest.raises(SpanLabError, match="one of two words"):
        from_people(score_table(crowd(3, 20)), "vsr", "d_prime", "set_size", (), None, False)


def test_what_cannot_be_simulated_is_refused() -> None:
    for plan, why in (
        (lambda: PlannedSensitivity(7, 0.1, 0.5, 0.2), "cannot be measured"),
        (lambda: PlannedSensitivity(1, 0.1, 0.5, 0.2, signals=1.0), "both kinds of trials"),
        (lambda: PlannedTimes(300, -300, 100, 30, 200, 100), "must lie above 0"),
        (lambda: PlannedTimes(300, 10, 100, 30, 200, 300), "tau, 300 ms"),
        (lambda: power(PlannedSensitivity(1, 0.1, 0.5, 0.2), [8], [1]), "d′ needs both"),
    ):
        with pytest.raises(SpanLabError, match=why):
            plan()
    for wrong, why in (((0.98, 0.05, 0.5, 0.2), "between 0% and 100%"), ((0.7, 0.1, -1.0, 0.2), "cannot be below 0")):
        with pytest.raises(SpanLabError, match=why):
            Assumed(*wrong)
    with pytest.raises(SpanLabError, match="at least two people"):
        power(Assumed(0.7, 0.1, 0.5, 0.2), [1], [20])
    with pytest.raises(SpanLabError, match="next to nothing"):
        power(Assumed(0.7, 0.1, 0.5, 0.2), [8], [20], samples=20)


def test_where_nobody_would_find_it_no_number_of_people_is_enough() -> None:
    table = power(Assumed(0.7, -0.02, 0.5, 0.2), [4, 6], [10], samples=200)
    assert table["power"].max() < 0.3
    assert smallest(table, 0.8) == [
        "10 trials in each condition: no number of people that was asked for has a power of 80%."
    ]


def test_a_power_is_sure_only_where_so_many_simulations_show_it() -> None:
    table = power(Assumed(0.7, -0.3, 0.5, 0.2), [24], [24], samples=100)
    assert table["power"].iloc[0] == 1
    assert smallest(table, 0.9) == [
        "24 trials in each condition: 24 people, with a power of 100.0% ± 0.0% (one standard error)."
    ]
    # 100 of 100 studies found it: so they do in 13 of 100 runs where the power is 98%
    assert "the simulation is not sure of it" in smallest(table, 0.99)[0]


@pytest.mark.slow
@pytest.mark.parametrize("between", [False, True])
@pytest.mark.parametrize(
    ("people", "trials", "accuracy"), [(8, 24, 0.75), (24, 24, 0.75), (16, 48, 0.9), (12, 12, 0.5)]
)
def test_the_power_where_there_is_no_difference_is_the_size_of_the_test(
    people: int, trials: int, accuracy: float, between: bool
) -> None:
    found = power(
        Assumed(accuracy, -0.05, 0.6, 0.2, item=0.4, between=between), [people], [trials], samples=4000, margin=0.05
    ).iloc[0]
    assert found["size"] == pytest.approx(0.05, abs=0.015)
    # the difference is the margin itself, so that both are called alike in 5 of 100 at most
    assert found["alike"] <= 0.065


#: Studies without a difference: people, trials, and what is measured, of people who differ as
#: people do.
NOTHING_THERE = [
    (8, 24, PlannedSensitivity(2.0, 0.3, 0.5, 0.28, 0.2, 0.3)),
    (24, 24, PlannedSensitivity(1.0, 0.3, 0.5, 0.28, 0.2, 0.3)),
    (16, 48, PlannedSensitivity(3.0, 0.3, 0.5, 0.28, 0.2, 0.3)),
    (12, 12, PlannedSensitivity(0.5, 0.3, 0.5, 0.28, 0.2, 0.3, signals=1 / 3)),
    (16, 48, PlannedSensitivity(1.5, 0.3, 0.5, 0.28, 0.1, 0.3, forced=True)),
    (8, 24, PlannedTimes(800, 40, 120, 42, 250, 150)),
    (24, 24, PlannedTimes(800, 40, 120, 42, 250, 150, accuracy=0.7)),
    (16, 48, PlannedTimes(600, 20, 80, 14, 200, 190)),
    (12, 12, PlannedTimes(1500, 100, 300, 141, 600, 500, accuracy=0.9)),
]


@pytest.mark.slow
@pytest.mark.parametrize("between", [False, True])
@pytest.mark.parametrize(("people", "trials", "plan"), NOTHING_THERE)
def test_the_size_of_the_test_of_sensitivity_and_times(
    people: int, trials: int, plan: PlannedSensitivity | PlannedTimes, between: bool
) -> None:
    found = power(replace(plan, between=between), [people], [trials], samples=4000).iloc[0]
    assert found["size"] == pytest.approx(0.05, abs=0.015)


def test_trials_that_everybody_takes_cost_power_and_keep_the_size() -> None:
    """With items that differ by .8, 24 trials a condition: tested over people alone, a difference that is
    none is found in a quarter of such studies; with both it is in one of twenty, and a real one is seldom."""
    assumed = Assumed(0.75, -0.08, 0.6, 0.2, item=0.8)
    apart = power(assumed, [24], [24], samples=1000).iloc[0]
    shared = power(replace(assumed, shared=True), [24], [24], samples=1000).iloc[0]
    assert 0.03 <= apart["size"] <= 0.075
    assert 0.02 <= shared["size"] <= 0.075
    assert shared["power"] < apart["power"] - 0.1
    assert "everybody the same trials" in replace(assumed, shared=True).words


def test_a_plan_with_shared_trials_tests_as_the_page_does() -> None:
    random = np.random.RandomState(3)
    assumed = Assumed(0.75, -0.05, 0.6, 0.2, item=0.8, shared=True)
    each = _shares(assumed, assumed.means(-0.05), 8, 12, 5, random, each_trial=True)
    value, se, df = _within(each[0].mean(axis=2), each[1].mean(axis=2))
    whole, both_df = _over_both(se, df, _of_trials(each), 22.0)
    for study in range(5):
        rows = [
            {"participant": f"P{person}", "session": f"P{person}", "trial": at + 12 * side, "trial_id": f"t{side} {at}"}
            | {"set_size": 2 + 2 * side, "correct": bool(each[side][study, person, at])}
            for person in range(8)
            for side in (0, 1)
            for at in range(12)
        ]
        fixed = {"agent": "People", "agent_kind": "participant", "paradigm": "own", "practice": False, "chance": 0.5}
        table = pd.DataFrame(rows).assign(**fixed, outcome="answered", block=1, step=1, ask=1)
        found = contrast_of(unit_means(score_table(table), ("set_size",)), [0, 1], np.array([-1.0, 1.0]))
        assert found.value == pytest.approx(value[study])
        assert found.se == pytest.approx(whole[study])
        assert found.df == pytest.approx(both_df[study])
