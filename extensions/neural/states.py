"""The states of a network while it did trials of a task, as plain arrays with labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spanlab.core import SpanLabError


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
        labelled = self.counted | (self.positions > 0) | (self.rules != "")
        wrong = np.argwhere(labelled & ~np.isfinite(self.values).all(2))
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
