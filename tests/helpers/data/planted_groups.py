"""Answers of people in groups, with planted probabilities of right answers, as a response table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd


def planted_groups(
    groups: Mapping[str, tuple[int, float]],
    random: np.random.RandomState,
    *,
    sizes: Sequence[int] = (2, 4),
    trials: int = 20,
    spread: Mapping[str, float] | float = 0.8,
    slope: Mapping[str, float] | None = None,
    paradigm: str = "task",
) -> pd.DataFrame:
    """Answers of several people.

    Parameters
    ----------
    groups : for each how many people it has, and the log odds of a right answer of a person in the
        middle
    trials : of each set size
    spread : standard deviation of people's log odds, for each group or for all
    slope : change of the log odds for each item, by group
    """
    parts = []
    for group, (many, middle) in groups.items():
        sd = spread[group] if isinstance(spread, Mapping) else spread
        odds = random.normal(middle, sd, many)[:, None] + (slope or {}).get(group, 0.0) * (
            np.repeat(sizes, trials) - np.mean(sizes)
        )
        right = random.random_sample(odds.shape) < 1 / (1 + np.exp(-odds))
        person, trial = np.indices(right.shape).reshape(2, -1)
        names = np.array([f"{group}{number}" for number in range(many)])[person]
        columns = {
            "session": names,
            "participant": names,
            "agent_kind": "participant",
            "agent": "participant",
            "paradigm": paradigm,
            "group": group,
        }
        columns |= {
            "block": 1,
            "trial": trial + 1,
            "trial_id": [f"t{number}" for number in trial],
            "step": 1,
            "ask": 1,
            "outcome": "answered",
        }
        columns |= {
            "set_size": np.repeat(sizes, trials)[trial],
            "correct": right.reshape(-1),
            "chance": 0.5,
            "rt_ms": 500.0 + 100 * random.random_sample(len(trial)),
        }
        parts.append(pd.DataFrame(columns))
    return pd.concat(parts, ignore_index=True)
