"""How well planted parameters of mixture models are recovered: ``python
tests/helpers/data/mixture_recovery.py`` prints the table of which docs/measurements.md
has a part."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from planted_errors import simulate_answers

from spanlab.analysis.stats.mixture import fit_mixture, mixture_limits

#: weights and standard deviation in degrees (of 360) of simulated people
PLANTED = (((0.9, 0.1), 20.0), ((0.6, 0.4), 20.0), ((0.6, 0.4), 35.0))
TRIALS = (50, 100, 150, 300)


@dataclass(frozen=True)
class Recovered:
    """One parameter over many simulated people: its mean deviation, the root of its mean squared
    deviation, and how many of its 95% intervals hold it."""

    name: str
    bias: float
    rmse: float
    coverage: float
    without: float


def recover(weights: Sequence[float], sd: float, trials: int, people: int, seed: int = 1) -> list[Recovered]:
    """Simulated people who answer in whole degrees, each fitted alone."""
    random, factor = np.random.RandomState(seed), 2 * math.pi / 360
    names = ("p_guess", "sd")
    truth = np.array([*weights[1:], sd])
    found, low, high = (np.full((people, len(names)), np.nan) for _ in range(3))
    for person in range(people):
        targets = random.randint(360, size=trials).astype(float)
        answers = np.round(simulate_answers(weights, sd, targets, random, 360.0)) % 360
        errors = (answers - targets) * factor
        fitted = fit_mixture(errors)
        limits = mixture_limits(errors, fitted)
        found[person] = [fitted.p_guess, fitted.sd / factor]
        low[person], high[person] = np.array(
            [[end / (factor if name == "sd" else 1) for end in limits[name]] for name in names]
        ).T
    told = np.isfinite(low)
    held = (low <= truth) & (truth <= high)
    return [
        Recovered(
            name,
            float(found[:, at].mean() - truth[at]),
            float(np.sqrt(((found[:, at] - truth[at]) ** 2).mean())),
            float(held[told[:, at], at].mean()),
            float(1 - told[:, at].mean()),
        )
        for at, name in enumerate(names)
    ]


def main(people: int) -> None:
    print(
        "| planted | trials | parameter | bias | RMSE | 95% intervals that hold it | fits without"
        " interval |\n" + "| --- " * 7 + "|"
    )
    for weights, sd in PLANTED:
        planted = f"p_guess {weights[1]:g}, SD {sd:g}°"
        for trials in TRIALS:
            for one in recover(weights, sd, trials, people):
                decimals = 1 if one.name == "sd" else 3
                numbers = (
                    f"{one.bias:+.{decimals}f} | {one.rmse:.{decimals}f} | {100 * one.coverage:.0f}% |"
                    f" {100 * one.without:.0f}%"
                )
                print(
                    f"| {planted} | {trials} | `{one.name}` | {numbers} |",
                    flush=True,
                )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 500)
