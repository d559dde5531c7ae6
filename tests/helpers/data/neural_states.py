"""States with planted structure."""

from __future__ import annotations

from typing import Any

import numpy as np

from spanlab.extensions.neural.states import TaskStates


def states(task: str, values: np.ndarray, **labels: Any) -> TaskStates:
    """States without labels but those that are given; all steps count."""
    shape = values.shape[:2]
    none = {"counted": np.ones(shape, bool), "positions": np.zeros(shape, int), "list_lengths": np.zeros(shape[0], int)}
    words = {"rules": np.full(shape, "", object), "answers": np.full(shape, "", object)}
    return TaskStates(task, values, **{**none, **words, **labels})


def listed(task: str, values: np.ndarray, lengths: list[int]) -> TaskStates:
    """States in lists: the item of each step is at the position of its number."""
    steps = np.arange(1, values.shape[1] + 1)
    return states(
        task, values, positions=np.where(steps <= np.array(lengths)[:, None], steps, 0), list_lengths=np.array(lengths)
    )
