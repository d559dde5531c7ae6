"""Whatever is estimated from simulated observers holds what was planted in them, as often as its
intervals say."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from analysis_tables import mixed, responses
from observed import along, change_detection, rows_by, switching, table, together
from scipy.special import expit, logit

from spanlab.analysis.data.scoring import score_table
from spanlab.analysis.effects.curves import primacy_recency
from spanlab.analysis.effects.effect import trends
from spanlab.analysis.effects.reaction_times import ExGaussian, fit, limits, over_people, reaction_times
from spanlab.analysis.effects.registry import effect
from spanlab.analysis.stats.agreement import error_consistency

pytestmark = pytest.mark.slow
#: Resamples of a bootstrap; enough for a count of intervals.
_RESAMPLES = 800


def share(samples: Iterable[tuple[float, float, float]]) -> float:
    """How many intervals (low, high) hold their planted value."""
    held = [low <= planted <= high for low, high, planted in samples]
    return sum(held) / len(held)


def test_slopes_over_trials() -> None:
    levels = {0: 0.9, 2: 0.8, 6: 0.6}
    maker = along("retention_steps", levels, set_size=4)
    found = []
    for seed in range(300):
        (row,) = trends(effect("retention_interval"), table(maker, 150, paradigm="vir", seed=seed), "vir").to_dict(
            "records"
        )
        found.append((row["low"], row["high"], -0.05))
    assert 0.915 <= share(found) <= 0.98, share(found)


def test_slopes_over_people_who_differ() -> None:
    """Twelve people whose slopes lie around -0.05: what is meant is the mean of all people, not of
    these twelve."""
    found = []
    for seed in range(150):
        random = np.random.RandomState(seed)
        people = []
        for number in range(12):
            slope = random.normal(-0.05, 0.02)
            maker = along(
                "retention_steps",
                {steps: float(np.clip(0.85 + slope * (steps - 2), 0, 1)) for steps in (0, 2, 4)},
                set_size=4,
            )
            people.append(
                table(
                    maker,
                    60,
                    agent="P",
                    kind="participant",
                    participant=f"P{number}",
                    paradigm="vir",
                    seed=1000 * seed + number,
                )
            )
        (row,) = trends(effect("retention_interval"), together(*people), "vir").to_dict("records")
        found.append((row["low"], row["high"], -0.05))
    assert 0.89 <= share(found) <= 0.985, share(found)


def test_switch_and_mixing_costs() -> None:
    maker = switching(
        {"one task": 0.9, "repetition": 0.85, "switch": 0.7}, {"one task": 400, "repetition": 450, "switch": 600}
    )
    planted = {
        "task_switching": {"mixing cost": 0.05, "switch cost": 0.15},
        "switching_time": {"mixing cost": 50, "switch cost": 150},
    }
    found = []
    for seed in range(120):
        data = table(maker, 60, paradigm="sts", seed=seed)
        for name, costs in planted.items():
            rows = rows_by(trends(effect(name), data, "sts"), "contrast")
            found += [(rows[cost]["low"], rows[cost]["high"], value) for cost, value in costs.items()]
    assert 0.91 <= share(found) <= 0.98, share(found)


def test_primacy_and_recency() -> None:
    found = []
    for seed in range(200):
        data = responses(
            lambda length, place: {1: 0.9, length: 0.7}.get(place, 0.4), lengths=[4], repetitions=40, seed=seed
        )
        rows = rows_by(primacy_recency(data), "index")
        found += [
            (rows[index]["low"], rows[index]["high"], planted)
            for index, planted in (("primacy", 0.5), ("recency", 0.3))
        ]
    assert 0.91 <= share(found) <= 0.98, share(found)


def at_the_ceiling(first: float, middle: float, seed: int) -> pd.DataFrame:
    """Primacy of eight people who differ, with 24 lists of five each."""
    random = np.random.RandomState(seed)
    odds = random.normal(0, 1, 8)
    people = [
        responses(
            lambda length, place, own=own: expit(logit(first if place == 1 else middle) + own),
            lengths=[5],
            repetitions=24,
            agent="participant",
            kind="participant",
            participant=f"P{at}",
            seed=100 * seed + at,
        )
        for at, own in enumerate(odds)
    ]
    return primacy_recency(mixed(*people))


def test_primacy_at_the_ceiling_has_the_interval_of_two_shares() -> None:
    """Where hardly anybody misses the first item it is wider than Student's; elsewhere it is his."""
    (near,), (away,) = (
        [row for row in at_the_ceiling(first, middle, 1).to_dict("records") if row["index"] == "primacy"]
        for first, middle in ((0.995, 0.95), (0.7, 0.5))
    )
    reach = float(scipy.stats.t.ppf(0.975, 7))
    assert away["high"] - away["low"] == pytest.approx(2 * reach * away["sem"])
    assert near["tested"].skewed is not None
    assert (near["low"], near["high"]) == pytest.approx(near["tested"].ends())


def test_primacy_at_the_ceiling_holds() -> None:
    """Student's interval held in 89 of 100 samples."""
    odds = np.random.RandomState(0).normal(0, 1, 1_000_000)
    truth = float((expit(logit(0.995) + odds) - expit(logit(0.95) + odds)).mean())
    found = [
        (row["low"], row["high"], truth)
        for seed in range(400)
        for row in at_the_ceiling(0.995, 0.95, seed).to_dict("records")
        if row["index"] == "primacy"
    ]
    assert share(found) >= 0.93


def test_capacity_of_people_who_differ() -> None:
    """Fifteen people who hold around 2.5 of 6 bars."""
    found = []
    for seed in range(80):
        random = np.random.RandomState(seed)
        people = [
            table(
                change_detection(float(random.normal(2.5, 0.5)), sizes=(6,)),
                120,
                agent="P",
                kind="participant",
                participant=f"P{number}",
                paradigm="cd",
                seed=100 * seed + number,
            ).assign(set_size=6)
            for number in range(15)
        ]
        # K needs an axis to be drawn along: some trials of two bars, which everybody holds
        people.append(
            table(
                change_detection(2.0, sizes=(2,)),
                20,
                agent="P",
                kind="participant",
                participant="P0",
                paradigm="cd",
                seed=seed,
            ).assign(block=2)
        )
        rows = rows_by(effect("capacity").table(together(*people), "cd"), "formula", "set_size")
        found.append((rows["Pashler", 6]["low"], rows["Pashler", 6]["high"], 2.5))
    assert 0.87 <= share(found) <= 0.99, share(found)


@pytest.mark.parametrize(("many", "mu", "sigma", "tau"), [(60, 450, 50, 150), (200, 450, 50, 150), (200, 600, 80, 80)])
def test_ex_gaussians(many: int, mu: float, sigma: float, tau: float) -> None:
    """Intervals by the curvature of the likelihood, of each parameter by itself; nil parts have
    none."""
    samples, none = {name: [] for name in ("mu", "sigma", "tau")}, 0
    for seed in range(400):
        random = np.random.RandomState(seed)
        times = random.normal(mu, sigma, many) + random.exponential(tau, many)
        ends = limits(times, fit(times))
        if math.isnan(ends["mu"][0]):
            none += 1
            continue
        for name, planted in (("mu", mu), ("sigma", sigma), ("tau", tau)):
            samples[name].append((*ends[name], planted))
    held = {name: share(found) for name, found in samples.items()}
    assert all(0.9 <= one <= 0.99 for one in held.values()), held
    assert none <= 400 * 0.05, none


def test_ex_gaussians_of_people_who_differ() -> None:
    found = []
    for seed in range(60):
        random = np.random.RandomState(seed)
        people = []
        for number in range(12):
            mu, tau = random.normal(450, 60), abs(random.normal(150, 30))
            one = table(
                along("set_size", {2: 1.0}), 120, agent="P", kind="participant", participant=f"P{number}", seed=number
            )
            people.append(one.assign(rt_ms=random.normal(mu, 50, 120) + random.exponential(tau, 120)))
        (row,) = over_people(reaction_times(score_table(together(*people)))).to_dict("records")
        found += [(row["mu_low"], row["mu_high"], 450), (row["tau_low"], row["tau_high"], 150)]
    assert 0.87 <= share(found) <= 0.99, share(found)


def test_kappa_between_people() -> None:
    """Six people, of whom any two have the same errors on as many trials as kappa says."""
    found, shared = [], 0.4
    for seed in range(100):
        random = np.random.RandomState(seed)
        base = table(along("set_size", {2: 1.0}), 120)
        common = random.rand(120) < 0.7
        # each follows the common answer with probability sqrt(kappa), and else answers by chance of
        # the same rate
        people = [
            base.assign(
                agent="People",
                agent_kind="participant",
                participant=f"P{number}",
                session=f"s{number}",
                correct=np.where(random.rand(120) < math.sqrt(shared), common, random.rand(120) < 0.7),
            )
            for number in range(6)
        ]
        (row,) = error_consistency(score_table(together(*people)), resamples=_RESAMPLES).to_dict("records")
        found.append(row["kappa"])
    assert np.mean(found) == pytest.approx(shared, abs=0.02)


def test_densities_are_those_that_were_planted() -> None:
    """The fitted density lies within a few percent of the planted one where most times are."""
    truth = ExGaussian(450, 50, 150, 0.0)
    at = np.linspace(400, 900, 50)
    worst: list[float] = []
    density: Callable[[Any], Any] = truth.density
    for seed in range(20):
        random = np.random.RandomState(seed)
        found = fit(random.normal(450, 50, 5000) + random.exponential(150, 5000))
        worst.append(float(np.max(np.abs(found.density(at) / density(at) - 1))))
    assert max(worst) < 0.15, worst
