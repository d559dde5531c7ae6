"""Cosine similarities: of the states at the items of a list, and of the names of tasks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from .states import TaskStates, tasks_of


def position_similarity(states: Sequence[TaskStates]) -> pd.DataFrame:
    """Return how similar the state at one item of a list is to that at another, in the same trial.

    Returns
    -------
    DataFrame
        ``task``, ``list_length``, ``position_a``, ``position_b``, ``cosine`` (mean over trials), ``sem`` and ``trials``, for lists of two and more; an item
        that is shown for several steps counts with its last one. Trials in which one of the two states is all zeros have no angle and are left out.
    """
    rows: list[tuple[str, int, int, int, float, float, int]] = []
    for task in tasks_of(states):
        cosines_of: dict[int, list[np.ndarray]] = {}
        for states_of_task in states:
            if states_of_task.task != task:
                continue
            for length in np.unique(states_of_task.list_lengths[states_of_task.list_lengths > 1]).tolist():
                chosen = np.flatnonzero(states_of_task.list_lengths == length)
                cosines_of.setdefault(length, []).append(_cosines(states_of_task, chosen, length))
        for length in sorted(cosines_of):
            cosines = np.concatenate(cosines_of[length])
            count = np.isfinite(cosines).sum(0)
            for a in range(length):
                for b in range(length):
                    values = cosines[:, a, b][np.isfinite(cosines[:, a, b])]
                    if not len(values):
                        continue
                    sem = float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")
                    rows.append((task, length, a + 1, b + 1, float(values.mean()), sem, int(count[a, b])))
    return pd.DataFrame(rows, columns=["task", "list_length", "position_a", "position_b", "cosine", "sem", "trials"])


def _cosines(states: TaskStates, trials: np.ndarray, length: int) -> np.ndarray:
    """(trials, positions, positions); nan where a position is not shown, or a state is all zeros."""
    held = np.full((len(trials), length, states.units), np.nan)
    for position in range(1, length + 1):
        there = states.positions[trials] == position
        last = there.shape[1] - 1 - there[:, ::-1].argmax(1)
        shown = there.any(1)
        held[shown, position - 1] = states.values[trials[shown], last[shown]]
    sizes = np.linalg.norm(held, axis=2, keepdims=True)
    even = np.divide(held, sizes, out=np.full(held.shape, np.nan), where=sizes > 0)
    return np.clip(np.einsum("tiu,tju->tij", even, even), -1, 1)


def embedding_similarity(names: Sequence[str], rows: np.ndarray) -> pd.DataFrame:
    """Return how similar the names of tasks are, float (tasks, n): ``task_a``, ``task_b``, ``cosine``, and ``scaled_cosine`` as published.

    As published, each row is first brought to the range from 0 to 1. Cosines of rows that are all zeros, or all the same number, do not exist and are nan.
    """
    plain = rows.astype(np.float64)
    low, high = plain.min(1, keepdims=True), plain.max(1, keepdims=True)
    scaled = np.divide(plain - low, high - low, out=np.zeros(plain.shape), where=high > low)
    tables = {"cosine": _table(plain), "scaled_cosine": _table(scaled)}
    return pd.DataFrame(
        [(a, b, *(table[i, j] for table in tables.values())) for i, a in enumerate(names) for j, b in enumerate(names)], columns=["task_a", "task_b", *tables]
    )


def _table(rows: np.ndarray) -> np.ndarray:
    sizes = np.linalg.norm(rows, axis=1, keepdims=True)
    even = np.divide(rows, sizes, out=np.full(rows.shape, np.nan), where=sizes > 0)
    return np.clip(even @ even.T, -1, 1)
