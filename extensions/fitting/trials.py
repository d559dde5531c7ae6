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
        weight = np.ones(len(self)) if self.weight is None else self.weight
        return replace(self.take(first), weight=np.bincount(number.ravel(), weights=weight))


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


def observed(trials: Trials) -> dict[tuple[str, int], float]:
    """The curve that a picture shows of answers of a kind: of each line and point its value.

    Report: mean size of errors in degrees by load. Detection: hits and false alarms by load
    (ratings: by the upper half). Order: share of right answers by serial position, a line for each
    list length. Updating: shares of right answers, of outdated cells and of current cells of other
    places, by load.
    """
    weight = np.ones(len(trials)) if trials.weight is None else trials.weight
    if trials.kind == "updating":
        lines = {"correct": (1,), "outdated": (3, 4), "of other places": (2, 5)}
        return {
            (line, load): float(np.average(np.isin(trials.answer[rows], roles), weights=weight[rows]))
            for line, roles in lines.items()
            for load, rows in trials.by_load.items()
        }
    cells: dict[tuple[str, int], np.ndarray] = {}
    value: np.ndarray
    if trials.kind == "report":
        value = np.degrees(np.abs(np.angle(np.exp(1j * trials.answer))))
        cells = {("mean error (degrees)", load): rows for load, rows in trials.by_load.items()}
    elif trials.kind == "order":
        value = (trials.answer == trials.beside["position"]).astype(float)
        for load, rows in trials.by_load.items():
            at = trials.beside["position"][rows]
            cells |= {(f"{load} items", int(place)): rows[at == place] for place in np.unique(at)}
    else:
        value = (2 * trials.answer >= trials.levels).astype(float)
        for load, rows in trials.by_load.items():
            signal = trials.beside["signal"][rows] == 1
            cells |= {("hits", load): rows[signal], ("false alarms", load): rows[~signal]}
    return {
        key: float(np.average(value[rows], weights=weight[rows])) for key, rows in cells.items() if weight[rows].sum()
    }
