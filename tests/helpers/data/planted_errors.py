"""Continuous reports of people with planted parameters, as a response table."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from scipy.optimize import brentq

from spanlab.analysis.stats.mixture import kappa_to_sd


def simulate_answers(
    model: Sequence[float],
    sd: float,
    targets: np.ndarray,
    random: np.random.RandomState,
    period: float = 2 * math.pi,
) -> np.ndarray:
    """Answers of somebody with planted parameters: what recovery is checked with.

    Parameters
    ----------
    model : weights of the target and of guesses
    sd : circular standard deviation, on the scale of ``period``
    targets : values on that scale
    """
    factor = 2 * math.pi / period
    kappa = brentq(lambda kappa: kappa_to_sd(kappa) - sd * factor, 0.05, 10_000.0)
    assert isinstance(kappa, float)
    count = len(targets)
    guessed = random.random_sample(count) < model[-1] / sum(model)
    noise = random.vonmises(0.0, kappa, count) / factor
    return np.where(guessed, random.random_sample(count) * period, targets + noise) % period


def planted_table(
    people: Mapping[str, Sequence[float]],
    sds: Mapping[int, float],
    *,
    trials: int = 150,
    seed: int = 1,
    period: int = 360,
    agent: str = "people",
    kind: str = "participant",
) -> pd.DataFrame:
    """Answers of several people at several set sizes.

    Parameters
    ----------
    people : for each the weights of the target and of guesses
    sds : circular standard deviation in degrees, by set size
    """
    random, rows = np.random.RandomState(seed), []
    for person, weights in people.items():
        number = 0
        for size, sd in sds.items():
            targets = random.randint(period, size=trials).astype(float)
            answers = np.round(simulate_answers(weights, sd, targets, random, period)) % period
            errors = period / 2 - (period / 2 - (answers - targets)) % period
            for answer, target, error in zip(answers, targets, errors, strict=True):
                number += 1
                rows.append(
                    {
                        **{
                            "session": person,
                            "participant": person if kind == "participant" else "",
                            "agent_kind": kind,
                            "agent": agent,
                        },
                        **{
                            "paradigm": "continuous_colour",
                            "block": 1,
                            "trial": number,
                            "step": 4,
                            "ask": 1,
                            "set_size": size,
                            "chance": 0.25,
                        },
                        **{
                            "correct_answer": int(target),
                            "answer": int(answer),
                            "outcome": "answered",
                            "correct": bool(abs(error) <= 45),
                        },
                        **{
                            "error": error,
                            "period": float(period),
                            "tolerance": 45.0,
                        },
                    }
                )
    return pd.DataFrame(rows)
