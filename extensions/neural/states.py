"""The states of a network while it did trials of a task, as plain arrays with labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd

from spanlab.analysis.data import plural
from spanlab.core import SpanLabError

#: A unit is inactive when its highest task variance is below this share of the highest of any unit.
INACTIVE = 1e-3
#: Bars of the histograms of fractional task variance, from -1 to 1.
BARS = 20


@dataclass(frozen=True, slots=True)
class TaskStates:
    """States in trials of one task. Steps after the end of a trial are there to fill the array, and
    have no labels.

    Parameters
    ----------
    task : its name; several of these with one name are trials of one task
    values : (trials, steps, units)
    counted : bool (trials, steps): the steps that enter the task variance
    positions : int (trials, steps): the serial position of the item that is shown at this step,
        from 1; 0 where none is
    list_lengths : int (trials,): items in the list of each trial; 0 where there is no list
    rules : str (trials, steps): where tasks switch, the one that is to be done at this step; empty
        elsewhere
    answers : str (trials, steps): the correct answer at these steps; empty elsewhere

    Raises
    ------
    SpanLabError
        when the shapes do not fit together, or a state with a label is not a number.
    """

    task: str
    values: np.ndarray
    counted: np.ndarray
    positions: np.ndarray
    list_lengths: np.ndarray
    rules: np.ndarray
    answers: np.ndarray

    def __post_init__(self) -> None:
        if self.values.ndim != 3:
            raise SpanLabError(
                f"the states of {self.task} have {self.values.ndim} dimensions, and need three: trials, steps, units"
            )
        steps = self.values.shape[:2]
        for name in ("counted", "positions", "rules", "answers"):
            if (shape := getattr(self, name).shape) != steps:
                raise SpanLabError(
                    f"the states of {self.task} are of {steps[0]} trials with {steps[1]} steps, and '{name}' has the"
                    f" shape {shape}"
                )
        if self.list_lengths.shape != steps[:1]:
            raise SpanLabError(
                f"the states of {self.task} are of {steps[0]} trials, and 'list_lengths' has the shape"
                f" {self.list_lengths.shape}"
            )
        wrong = np.argwhere(
            (self.counted | (self.positions > 0) | (self.rules != "")) & ~np.isfinite(self.values).all(2)
        )
        if len(wrong):
            trial, step = wrong[0] + 1
            raise SpanLabError(
                f"the states of {self.task} are not all numbers (first in trial {trial} at step {step}): the network"
                " computes values without bounds, and nothing can be said of its units; check its training"
            )

    @property
    def units(self) -> int:
        return self.values.shape[2]


def tasks_of(states: Sequence[TaskStates]) -> tuple[str, ...]:
    """The tasks, in the order of their first states.

    Raises
    ------
    SpanLabError
        when there are none, or not all have the same units.
    """
    if not states:
        raise SpanLabError("there are no states to look at; name at least one task")
    if len(sizes := {task_states.units for task_states in states}) > 1:
        raise SpanLabError(
            f"the states are of networks with different numbers of units ({', '.join(map(str, sorted(sizes)))}); look"
            " at one network at a time"
        )
    return tuple(dict.fromkeys(task_states.task for task_states in states))


@dataclass(frozen=True, slots=True)
class TaskVariance:
    """Task variances.

    Parameters
    ----------
    tasks : those that have one
    values : float (units, tasks)
    steps : for each task, the number of steps that the mean is over
    notes : what could not be computed
    """

    tasks: tuple[str, ...]
    values: np.ndarray
    steps: tuple[int, ...]
    notes: tuple[str, ...] = ()


def task_variance(states: Sequence[TaskStates]) -> TaskVariance:
    """The variance (of the population) of each unit over all trials at each step, then its mean
    over steps, all of the same weight.

    Steps that fewer than two trials reach have no variance over trials and are left out.
    """
    tasks, columns, counts, notes = [], [], [], []
    for task in tasks_of(states):
        recordings = [task_states for task_states in states if task_states.task == task]
        steps = max(task_states.values.shape[1] for task_states in recordings)
        variances, few = [], 0
        for step in range(steps):
            reached = [
                task_states.values[task_states.counted[:, step], step]
                for task_states in recordings
                if step < task_states.values.shape[1]
            ]
            there = np.concatenate(reached).astype(np.float64)
            if len(there) > 1:
                variances.append(there.var(0))
            few += len(there) == 1
        if few:
            notes.append(
                f"{task}: {plural(few, 'step')} that only one trial reaches left out of the task"
                " variance; take more trials."
            )
        if not variances:
            notes.append(
                f"{task}: no step is reached by two trials, so it has no task variance and is left out of what follows"
                " from it; take more trials."
            )
            continue
        tasks.append(task)
        columns.append(np.mean(variances, axis=0))
        counts.append(len(variances))
    values = np.stack(columns, 1) if columns else np.zeros((states[0].units, 0))
    return TaskVariance(tuple(tasks), values, tuple(counts), tuple(notes))


def active_units(variance: TaskVariance, threshold: float = INACTIVE) -> np.ndarray:
    """Return which units are active, bool (units,): their highest task variance is above zero and
    at least ``threshold`` times the highest of any unit."""
    if not variance.tasks:
        return np.zeros(len(variance.values), bool)
    highest = variance.values.max(1)
    return (highest > 0) & (highest >= threshold * highest.max())


def normalised(variance: TaskVariance, active: np.ndarray) -> np.ndarray:
    """Each unit's task variances over the highest of them, float (units, tasks); nan for inactive
    units."""
    result = np.full(variance.values.shape, np.nan)
    if active.any():
        result[active] = variance.values[active] / variance.values[active].max(1, keepdims=True)
    return result


def fractional(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """(first - second) / (first + second): 1 for units that vary in the first task only, -1 in the
    second only; NaN for units that vary in neither."""
    total = first + second
    return np.divide(first - second, total, out=np.full(total.shape, np.nan), where=total > 0)


def fractional_table(variance: TaskVariance, active: np.ndarray) -> pd.DataFrame:
    """The fractional task variance of every active unit for every pair of tasks: ``task_a``,
    ``task_b``, ``unit`` (from 1), ``ftv``."""
    units = np.flatnonzero(active)
    parts = [
        pd.DataFrame(
            {
                "task_a": variance.tasks[a],
                "task_b": variance.tasks[b],
                "unit": units + 1,
                "ftv": fractional(*variance.values[units][:, [a, b]].T),
            }
        )
        for a, b in combinations(range(len(variance.tasks)), 2)
    ]
    return _together(parts, "task_a", "task_b", "unit", "ftv")


def histograms(fractions: pd.DataFrame, bars: int = BARS) -> pd.DataFrame:
    """Return how many units lie in each bar, for each pair of tasks: ``task_a``, ``task_b``,
    ``low``, ``high``, ``units``. The last bar has its upper end."""
    # Whole numbers over whole numbers: sums of steps would miss the values that lie on an edge.
    edges = np.arange(-bars, bars + 1, 2) / bars
    parts = []
    for (a, b), pair in fractions.groupby(["task_a", "task_b"], sort=False):
        counts, _ = np.histogram(pair["ftv"].dropna(), edges)
        parts.append(pd.DataFrame({"task_a": a, "task_b": b, "low": edges[:-1], "high": edges[1:], "units": counts}))
    return _together(parts, "task_a", "task_b", "low", "high", "units")


def _together(parts: Sequence[pd.DataFrame], *columns: str) -> pd.DataFrame:
    """Tables as one; one without rows where there are none."""
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=[*columns], dtype=float)
