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

from spanlab.analysis.stats.mixture import COMPONENTS, Model, fit_mixture, mixture_limits

#: weights, standard deviation in degrees (of 360) and set size of simulated people
PLANTED: tuple[tuple[tuple[float, ...], float, int], ...] = (
    ((0.9, 0.1), 20.0, 1),
    ((0.6, 0.4), 20.0, 1),
    ((0.6, 0.4), 35.0, 1),
    ((0.8, 0.1, 0.1), 20.0, 3),
    ((0.6, 0.2, 0.2), 25.0, 6),
    ((0.5, 0.1, 0.4), 30.0, 6),
)
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


def recover(weights: Sequence[float], sd: float, size: int, trials: int, people: int, seed: int = 1) -> list[Recovered]:
    """Simulated people who answer in whole degrees, each fitted alone."""
    model: Model = "two" if len(weights) == 2 else "three"
    random, factor = np.random.RandomState(seed), 2 * math.pi / 360
    names = (*COMPONENTS[model][1:], "sd")
    truth = np.array([*weights[1:], sd])
    found, low, high = (np.full((people, len(names)), np.nan) for _ in range(3))
    for person in range(people):
        targets = random.randint(360, size=trials).astype(float)
        others = random.randint(360, size=(trials, size - 1)).astype(float) if model == "three" else None
        answers = np.round(simulate_answers(weights, sd, targets, others, random, 360.0)) % 360
        errors = (answers - targets) * factor
        away = None if others is None else (answers[:, None] - others) * factor
        fitted = fit_mixture(errors, away)
        limits = mixture_limits(errors, fitted, away)
        found[person] = [*fitted.weights[1:], fitted.sd / factor]
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
        "| planted | set size | trials | parameter | bias | RMSE | 95% intervals that hold it | fits without"
        " interval |\n" + "| --- " * 8 + "|"
    )
    for weights, sd, size in PLANTED:
        planted = ", ".join(
            [
                *(
                    f"{name} {weight:g}"
                    for name, weight in zip(COMPONENTS["two" if len(weights) == 2 else "three"], weights, strict=True)
                ),
                f"SD {sd:g}°",
            ]
        )
        for trials in TRIALS:
            for one in recover(weights, sd, size, trials, people):
                decimals = 1 if one.name == "sd" else 3
                numbers = (
                    f"{one.bias:+.{decimals}f} | {one.rmse:.{decimals}f} | {100 * one.coverage:.0f}% |"
                    f" {100 * one.without:.0f}%"
                )
                print(
                    f"| {planted} | {size if len(weights) == 3 else ''} | {trials} | `{one.name}` | {numbers} |",
                    flush=True,
                )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 500)
