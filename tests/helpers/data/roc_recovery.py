"""How well planted parameters of rated detection are recovered: ``python
tests/helpers/data/roc_recovery.py`` prints the table of which docs/measurements.md
has a part."""

from __future__ import annotations

import math
import sys

import numpy as np
from mixture_recovery import Recovered
from planted_ratings import simulate_ratings
from scipy.special import ndtr

from spanlab.analysis.stats.rated_detection import (
    LEAST_LEVELS,
    RatingCounts,
    area_under_curve,
    fit_unequal_variance,
)

#: d_a and slope of simulated people
PLANTED = ((0.5, 1.0), (1.0, 0.8), (1.5, 1.0), (1.5, 0.7), (2.2, 0.8))
#: Questions of each kind.
TRIALS = (25, 50, 100, 200)
#: Criteria of two answers with three ratings each, around a point between both distributions.
SPREAD = np.array([-0.9, -0.4, 0.0, 0.4, 0.9])


def recover(d_a: float, slope: float, trials: int, people: int, seed: int = 1) -> list[Recovered]:
    """Simulated people with six different answers, each fitted alone; the area that is planted is
    that of the categories."""
    random = np.random.RandomState(seed)
    criteria = d_a / 2 + SPREAD
    names = ("d_a", "slope", "area")
    truth = np.array([d_a, slope, true_area(d_a, slope, criteria)])
    values, low, high = (np.full((people, 3), np.nan) for _ in range(3))
    for person in range(people):
        evidence, signal = simulate_ratings(d_a, slope, criteria, trials, trials, random)
        area = area_under_curve(evidence, signal)
        values[person, 2], low[person, 2], high[person, 2] = area.value, area.low, area.high
        counts = RatingCounts.of(evidence, signal)
        fitted = fit_unequal_variance(counts) if len(counts.values) >= LEAST_LEVELS else None
        if fitted is not None:
            values[person, :2] = fitted.d_a, fitted.slope
            low[person, :2], high[person, :2] = (fitted.d_a_low, fitted.slope_low), (fitted.d_a_high, fitted.slope_high)
    fits = np.isfinite(low)
    inside = (low <= truth) & (truth <= high)
    results = []
    for at, name in enumerate(names):
        away = values[fits[:, at], at] - truth[at]
        results.append(
            Recovered(
                name,
                float(away.mean()),
                math.sqrt(float((away**2).mean())),
                float(inside[fits[:, at], at].mean()),
                float(1 - fits[:, at].mean()),
            )
        )
    return results


def true_area(d_a: float, slope: float, criteria: np.ndarray) -> float:
    """The area under the curve of the categories, which is what ratings have."""
    mean = d_a * math.sqrt((1 + slope**2) / 2) / slope
    ends = np.concatenate([[-np.inf], criteria, [np.inf]])
    others, signals = np.diff(ndtr(ends)), np.diff(ndtr(slope * (ends - mean)))
    return float(signals @ (np.cumsum(others) - others / 2))


def main(people: int) -> None:
    print(
        "| planted | answers of each kind | measure | bias | RMSE | 95% intervals that hold it | people without |\n"
        + "| --- " * 7
        + "|"
    )
    for d_a, slope in PLANTED:
        for trials in TRIALS:
            for one in recover(d_a, slope, trials, people):
                rest = f"{one.bias:+.3f} | {one.rmse:.3f} | {100 * one.coverage:.0f}% | {100 * one.without:.0f}%"
                print(f"| d_a {d_a:g}, slope {slope:g} | {trials} | `{one.name}` | {rest} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
