"""Facts that a model needs to know of each answer, as arrays with a row for each answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

#: Kinds of answers: a value on a circle; yes or no (or a rating); whether something has changed;
#: which item of a list came where; where something is now.
Kind = Literal["report", "detection", "change", "order", "updating"]
#: A value of a parameter: one for all answers, or one for each.
Values = Mapping[str, "float | np.ndarray"]
#: Lines of curves of updating, each with the roles of the cells that its answers name.
_UPDATING_LINES = {"correct": (1,), "outdated": (3, 4), "of other places": (2, 5)}


@dataclass(frozen=True)
class Trials:
    """Answers of one kind.

    Parameters
    ----------
    kind : of the answers
    load : of each answer the set size, the list length, or n
    trial : number of its trial; rows of a trial stand together, in the order of its questions
    answer : report: error in radians; detection and change: from 0 (sure that there was nothing) to
        ``levels - 1``; order: serial position of the item that was given, 0 for one that was not in
        the list; updating: the role of the cell that was given, a place in :data:`.markers.ROLES`
    beside : report: ``others``, values of the other items minus the target's, in radians, NaN where
        there are fewer; detection and change: ``signal``, 0 or 1; order: ``position`` asked for,
        ``stage`` (number of the question in its trial, from 0), number of ``options``, ``once`` (1
        where nothing may be given twice), and ``given``, whether each item was given before in the
        trial; updating: ``cells``, how many there are of each role
    levels : how many different answers there are to a yes-no question with or without ratings
    weight : how often each row stands in the data; 1 when not given
    """

    kind: Kind
    load: np.ndarray
    trial: np.ndarray
    answer: np.ndarray
    beside: Mapping[str, np.ndarray]
    levels: int = 2
    weight: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.load)

    @property
    def counts(self) -> np.ndarray:
        """How often each row was answered so."""
        return np.ones(len(self)) if self.weight is None else self.weight

    def take(self, rows: np.ndarray) -> Trials:
        """Some of the rows."""
        beside = {name: column[rows] for name, column in self.beside.items()}
        weight = None if self.weight is None else self.weight[rows]
        return replace(
            self, load=self.load[rows], trial=self.trial[rows], answer=self.answer[rows], beside=beside, weight=weight
        )

    def answered(self, answers: np.ndarray) -> Trials:
        """The same questions with other answers."""
        beside = dict(self.beside)
        if self.kind == "order":
            beside["given"] = given_before(self.trial, answers, beside["given"].shape[1])
        return replace(self, answer=answers, beside=beside)

    @cached_property
    def loads(self) -> tuple[int, ...]:
        """The different loads, ascending."""
        return tuple(int(load) for load in np.unique(self.load))

    @cached_property
    def by_load(self) -> dict[int, np.ndarray]:
        """The rows of each load."""
        return {load: np.flatnonzero(self.load == load) for load in self.loads}

    def collapsed(self) -> Trials:
        """The same with equal rows once and counted, where that makes them fewer than half."""
        columns = [column.reshape(len(self), -1) for column in (self.load, self.answer, *self.beside.values())]
        table = np.hstack([column.astype(float) for column in columns])
        _, first, number = np.unique(table, axis=0, return_index=True, return_inverse=True)
        if len(first) * 2 > len(self):
            return self
        return replace(self.take(first), weight=np.bincount(number.ravel(), weights=self.counts))


def given_before(trial: np.ndarray, answer: np.ndarray, width: int) -> np.ndarray:
    """Mark whether each item of a list was given before in its trial: a row for each answer, a
    column for each item."""
    given = np.zeros((len(trial), width), bool)
    for row in range(1, len(trial)):
        if trial[row] == trial[row - 1]:
            given[row] = given[row - 1]
            if answer[row - 1] > 0:
                given[row, answer[row - 1] - 1] = True
    return given


def stages(trial: np.ndarray) -> np.ndarray:
    """The number of each question in its trial, from 0."""
    begins = np.r_[True, trial[1:] != trial[:-1]]
    return np.arange(len(trial)) - np.maximum.accumulate(np.where(begins, np.arange(len(trial)), 0))


def cells_of(trials: Trials) -> dict[tuple[str, int], np.ndarray]:
    """The rows behind each point of the curves that a picture shows of answers of a kind, by line
    and place along the axis (see :func:`observed`)."""
    if trials.kind == "updating":
        return {(line, load): rows for line in _UPDATING_LINES for load, rows in trials.by_load.items()}
    if trials.kind == "report":
        return {("mean error (degrees)", load): rows for load, rows in trials.by_load.items()}
    if trials.kind == "order":
        at = trials.beside["position"]
        return {
            (f"{load} items", int(place)): rows[at[rows] == place]
            for load, rows in trials.by_load.items()
            for place in np.unique(at[rows])
        }
    signal = trials.beside["signal"] == 1
    return {
        (line, load): rows[signal[rows] == present]
        for load, rows in trials.by_load.items()
        for line, present in (("hits", True), ("false alarms", False))
    }


def observed(trials: Trials) -> dict[tuple[str, int], float]:
    """The curve that a picture shows of answers of a kind: of each line and point its value.

    Report: mean size of errors in degrees by load. Detection: hits and false alarms by load
    (ratings: by the upper half). Order: share of right answers by serial position, a line for each
    list length. Updating: shares of right answers, of outdated cells and of current cells of other
    places, by load.
    """
    weight = trials.counts
    cells = cells_of(trials)
    values = {line: _values(trials, line) for line in dict.fromkeys(line for line, _ in cells)}
    return {
        (line, x): float(np.average(values[line][rows], weights=weight[rows]))
        for (line, x), rows in cells.items()
        if weight[rows].sum()
    }


def _values(trials: Trials, line: str) -> np.ndarray:
    """Return what a line is the mean of."""
    if trials.kind == "updating":
        return np.isin(trials.answer, _UPDATING_LINES[line])
    if trials.kind == "report":
        return np.degrees(np.abs(np.angle(np.exp(1j * trials.answer))))
    if trials.kind == "order":
        return trials.answer == trials.beside["position"]
    return 2 * trials.answer >= trials.levels
