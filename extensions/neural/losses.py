"""The loss of accuracy without a cluster of units, beside the loss without as many units drawn at
random."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd

#: For units that are silenced (numbers from 0), the share of items that is right in each trial of
#: each task.
Silencing = Callable[[Sequence[int]], Mapping[str, np.ndarray]]

#: Draws of as many units at random, for comparison.
DRAWS = 50
SEED = 7


def lesion_table(
    units: np.ndarray, labels: np.ndarray, silenced: Silencing, draws: int = DRAWS, seed: int = SEED
) -> pd.DataFrame:
    """The accuracy in each task without each of the clusters.

    Parameters
    ----------
    units : int (n,): the units, numbered from 0
    labels : int (n,): the cluster of each, from 1
    silenced : does the trials without some units

    Returns
    -------
    DataFrame
        ``cluster``, ``units``, ``task``, ``trials``, ``intact`` and ``lesioned`` (accuracy: mean
        over trials), ``drop`` (intact minus lesioned), ``drop_sem`` (of the differences in the same
        trials); ``random_drop`` and ``random_sd`` (mean and standard deviation over draws of as
        many of these units), ``beyond`` (drop minus random drop) and ``p`` (one-sided: the share of
        draws, this cluster among them, that cost at least as much). These are nan where all units
        are in the cluster
    """
    intact = silenced([])
    random = np.random.RandomState(seed)
    rows = []
    for cluster in range(1, int(labels.max(initial=0)) + 1):
        members = units[labels == cluster]
        without = silenced(members.tolist())
        others = (
            [silenced(np.sort(random.choice(units, len(members), replace=False)).tolist()) for _ in range(draws)]
            if len(members) < len(units)
            else []
        )
        for task, whole in intact.items():
            scored = np.isfinite(whole)
            differences = (whole - without[task])[scored]
            count = len(differences)
            drop, drawn = _mean(differences), np.array([_mean((whole - other[task])[scored]) for other in others])
            there = len(drawn) > 0 and count > 0
            rows.append(
                {
                    "cluster": cluster,
                    "units": len(members),
                    "task": task,
                    "trials": count,
                    "intact": _mean(whole[scored]),
                    "lesioned": _mean(without[task][scored]),
                    "drop": drop,
                    "drop_sem": float(differences.std(ddof=1) / np.sqrt(count)) if count > 1 else float("nan"),
                    "random_drop": _mean(drawn),
                    "random_sd": float(drawn.std(ddof=1)) if len(drawn) > 1 else float("nan"),
                    "beyond": drop - _mean(drawn),
                    "p": float((1 + (drawn >= drop - 1e-12).sum()) / (1 + len(drawn))) if there else float("nan"),
                }
            )
    names = [
        "cluster",
        "units",
        "task",
        "trials",
        "intact",
        "lesioned",
        "drop",
        "drop_sem",
        "random_drop",
        "random_sd",
        "beyond",
        "p",
    ]
    return pd.DataFrame(rows, columns=names)


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else float("nan")
