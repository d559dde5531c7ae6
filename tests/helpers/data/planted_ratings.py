"""Old-new answers with ratings of people with planted sensitivity, as a response table."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pandas as pd

#: Criteria of two answers with three ratings each, relative to the point between both
#: distributions.
SPREAD = np.array([-0.9, -0.4, 0.0, 0.4, 0.9])


def simulate_ratings(
    d_a: float, slope: float, criteria: np.ndarray, signals: int, others: int, random: np.random.RandomState
) -> tuple[np.ndarray, np.ndarray]:
    """Evidence (numbers of criteria that were passed) and signals of somebody with planted
    parameters: what recovery is checked with."""
    felt = np.concatenate(
        [
            random.normal((d_a * math.sqrt((1 + slope**2) / 2) / slope), 1 / slope, signals),
            random.normal(0.0, 1.0, others),
        ]
    )
    return np.searchsorted(criteria, felt).astype(float), np.arange(signals + others) < signals


def planted_ratings(
    people: Mapping[str, tuple[float, float]],
    *,
    trials: int = 100,
    seed: int = 1,
    agent: str = "people",
    kind: str = "participant",
    one_scale: bool = False,
) -> pd.DataFrame:
    """Answers and ratings of several people.

    Parameters
    ----------
    people : for each d_a and slope
    trials : questions of each kind
    one_scale : whether one rating from 1 (sure that it is new) to 6 (sure that it is old) is the
        answer; else old or new, and a rating from 1 to 3
    """
    random, rows = np.random.RandomState(seed), []
    for person, (d_a, slope) in people.items():
        evidence, signal = simulate_ratings(d_a, slope, d_a / 2 + SPREAD, trials, trials, random)
        for number, at in enumerate(random.permutation(2 * trials), start=1):
            level, old = int(evidence[at]), bool(signal[at])
            same = {
                "session": person,
                "participant": person if kind == "participant" else "",
                "agent_kind": kind,
                "agent": agent,
                "set_size": 4,
            }
            same |= {
                "paradigm": "sure",
                "block": 1,
                "trial": number,
                "trial_id": f"{number:04d}",
                "outcome": "answered",
                "factor_half": number % 2,
            }
            if one_scale:
                rating = {
                    "step": 1,
                    "ask": 1,
                    "phase": "probe",
                    "answer": level + 1,
                    "correct_answer": None,
                    "correct": None,
                    "scale_from": 1,
                    "scale_to": 6,
                }
                rows.append({**same, **rating, "chance": None, "record_signal": old})
                continue
            answer, truth = "old" if level >= 3 else "new", "old" if old else "new"
            rows.append(
                {
                    **same,
                    "step": 1,
                    "ask": 1,
                    "phase": "probe",
                    "answer": answer,
                    "correct_answer": truth,
                    "correct": answer == truth,
                    "chance": 0.5,
                }
            )
            sure = level - 2 if level >= 3 else 3 - level
            rated = {
                "step": 2,
                "ask": 2,
                "phase": "confidence",
                "answer": sure,
                "correct_answer": None,
                "correct": None,
                "chance": None,
            }
            rows.append({**same, **rated, "scale_from": 1, "scale_to": 3})
    return pd.DataFrame(rows)
