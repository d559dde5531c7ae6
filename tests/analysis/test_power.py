"""Power by simulation: against the formula where there is one, against the page's own test, and the size of the test where nothing was planted."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from observed import along, table, together

from spanlab.analysis.data.scoring import score_table
from spanlab.analysis.effects.conditions import conditions_effect
from spanlab.analysis.effects.trends import trends
from spanlab.analysis.stats.mixed_model import mixed_model
from spanlab.analysis.stats.power import Assumed, _between, _log_odds, _rejects, _shares, _within, from_model, power, smallest
from spanlab.core.errors import SpanLabError


def crowd(people: int = 12, trials: int = 60) -> pd.DataFrame:
    parts = []
    for at in range(people):
        own = float(np.random.RandomState(at).normal(0, 0.08))
        parts.append(
            table(along("set_size", {2: 0.85 + own / 2, 6: 0.7 + own}), trials, agent="participant", kind="participant", participant=f"P{at}", seed=at)
        )
    return together(*parts)


def test_power_is_that_of_the_formula_where_people_differ_by_chance_alone() -> None:
    """Without any spread of people shares are binomial, and the power is as good as that of the noncentral t distribution."""
    found = power(Assumed(0.7, -0.1, 0.0, 0.0), [20], [50], samples=4000).iloc[0]
    spread = math.sqrt((0.7 * 0.3 + 0.6 * 0.4) / 50)
    shift, limit = 0.1 / (spread / math.sqrt(20)), scipy.stats.t.ppf(0.975, 19)
    wanted = scipy.stats.nct.sf(limit, 19, shift) + scipy.stats.nct.cdf(-limit, 19, shift)
    assert found["power"] == pytest.approx(wanted, abs=4 * found["se"])
    assert found["se"] == pytest.approx(math.sqrt(found["power"] * (1 - found["power"]) / 4000))
    assert found["size"] == pytest.approx(0.05, abs=0.015)


def test_what_is_planted_are_shares_whatever_the_spread() -> None:
    """The same difference of shares where people and items differ much, and more people find it."""
    found = power(Assumed(0.75, -0.1, 0.8, 0.2, item=0.5, trial=0.3, items=3), [6, 24], [20], samples=500)
    assert found["power"].iloc[1] > found["power"].iloc[0] + 0.2
    again = power(Assumed(0.75, -0.1, 0.8, 0.2, item=0.5, trial=0.3, items=3), [24], [20], samples=500)
    assert (again["power"].iloc[0], again["size"].iloc[0]) == (found["power"].iloc[1], found["size"].iloc[1])  # seeds do not depend on what else is asked for
    between = power(Assumed(0.75, -0.1, 0.8, 0.2, between=True), [24], [20], samples=500)
    assert between["power"].iloc[0] < found["power"].iloc[1]
    random = np.random.RandomState(1)
    means = [_log_odds(0.75, math.sqrt(0.8**2 + 0.2**2 + 0.5**2)), _log_odds(0.65, math.sqrt(0.8**2 + 0.2**2 + 0.5**2))]
    first, second = _shares(Assumed(0.75, -0.1, 0.8, 0.2, item=0.5), means, 200, 50, 20, random)
    assert first.mean() == pytest.approx(0.75, abs=0.01)
    assert second.mean() == pytest.approx(0.65, abs=0.01)


def test_the_simulated_test_is_the_one_that_a_page_prints() -> None:
    scored = score_table(crowd())
    effect = conditions_effect(scored, "vsr", "set_size")
    (row,) = trends(effect, scored, "vsr", resamples=2).to_dict("records")
    shares = scored.items.groupby(["participant", "set_size"])["correct"].mean().unstack().to_numpy(float)
    value, se, df = _within(shares[None, :, 0], shares[None, :, 1])
    assert row["t"] == pytest.approx(float(value[0] / se[0]))
    assert (row["p"] < 0.05) == bool(_rejects(value, se, df)[0])
    t, p = map(float, np.array(scipy.stats.ttest_ind(shares[:, 1], shares[:, 0], equal_var=False)))
    value, se, df = _between(shares[None, :, 0], shares[None, :, 1])
    assert value[0] / se[0] == pytest.approx(t)
    assert 2 * scipy.stats.t.sf(abs(value[0] / se[0]), df[0]) == pytest.approx(p)


def test_spread_comes_from_data_of_ones_own() -> None:
    scored = score_table(crowd())
    model = mixed_model(scored, "vsr", "set_size")
    found = from_model(model, scored.parts["vsr"], (), None, False)
    shares = scored.items.groupby("set_size")["correct"].mean()
    assert found.accuracy == pytest.approx(shares.iloc[0])
    assert found.difference == pytest.approx(shares.iloc[1] - shares.iloc[0])
    assert found.people == pytest.approx(model.random().set_index("effect")["sd"]["participant"])
    assert from_model(model, scored.parts["vsr"], ("6", "2"), -0.04, True).difference == -0.04
    with pytest.raises(SpanLabError, match="--conditions takes two of 2, 6"):
        from_model(model, scored.parts["vsr"], ("2", "9"), None, False)
    alone = score_table(table(along("set_size", {2: 0.8, 6: 0.6}), 60))
    with pytest.raises(SpanLabError, match="no answerer of these data is several people"):
        from_model(mixed_model(alone, "vsr", "set_size"), alone.parts["vsr"], (), None, False)


def test_what_cannot_be_simulated_is_refused() -> None:
    for wrong, why in (((0.98, 0.05, 0.5, 0.2), "between 0% and 100%"), ((0.7, 0.1, -1.0, 0.2), "cannot be below 0")):
        with pytest.raises(SpanLabError, match=why):
            Assumed(*wrong)
    with pytest.raises(SpanLabError, match="at least two people"):
        power(Assumed(0.7, 0.1, 0.5, 0.2), [1], [20])
    with pytest.raises(SpanLabError, match="next to nothing"):
        power(Assumed(0.7, 0.1, 0.5, 0.2), [8], [20], samples=20)
    found = smallest(power(Assumed(0.7, -0.02, 0.5, 0.2), [4], [10], samples=200), 0.8)
    assert found == ["10 trials in each condition: no number of people that was asked for has a power of 80%."]


@pytest.mark.slow
@pytest.mark.parametrize("between", [False, True])
@pytest.mark.parametrize(("people", "trials", "accuracy"), [(8, 24, 0.75), (24, 24, 0.75), (16, 48, 0.9), (12, 12, 0.5)])
def test_the_power_where_there_is_no_difference_is_the_size_of_the_test(people: int, trials: int, accuracy: float, between: bool) -> None:
    assumed = Assumed(accuracy, -0.05, 0.6, 0.2, item=0.4, between=between)
    found = power(assumed, [people], [trials], samples=4000, margin=0.05).iloc[0]
    assert found["size"] == pytest.approx(0.05, abs=0.015)
    # the difference is the margin itself, so that both are called alike in 5 of 100 at most
    assert found["alike"] <= 0.065
