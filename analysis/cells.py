"""Averages in cells: first within each trial, then within each person or session; fast for millions of rows, without a loop over them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from .columns import coded, first_rows, packed
from .resampling import FEW
from .table import WHO, Scored

if TYPE_CHECKING:
    import pandas as pd

UnitName = Literal["participant", "session", "trial"]
_UNITS: tuple[UnitName, ...] = ("participant", "session", "trial")


@dataclass(frozen=True)
class Cells:
    """Units in cells.

    Parameters
    ----------
    keys : who and where: one row for each cell, sorted
    values, ids : of each cell, the mean of every unit and the unit's number, which is the same in all cells
    chance : of each cell, averaged like the values
    unit : of each cell; the same in all cells of an answerer
    told_apart : of each cell, whether its trials can be told apart
    counts : ``n_trials``, ``n_items``, ``n_omitted``, ``n_invalid`` and ``oracle`` of each cell
    """

    keys: pd.DataFrame
    values: list[np.ndarray]
    ids: list[np.ndarray]
    chance: np.ndarray
    unit: list[UnitName]
    told_apart: np.ndarray
    counts: dict[str, np.ndarray]


def unit_means(scored: Scored, by: Sequence[str] = (), *, who: Sequence[str] = WHO, value: str = "correct") -> Cells:
    """The mean of ``value`` for every unit in every cell of ``who`` and ``by``.

    Units are the participants where an answerer is several people; the sessions where a machine has taken ten or more; else the trials. They are chosen over
    all rows of an answerer, so they are the same in every cell. Rows without a value, or without a place in ``by``, are in no cell.
    """
    import pandas as pd

    items = scored.items
    keys = list(dict.fromkeys([*who, *by]))
    unit = _units(items, who)
    usable = items[value].notna().to_numpy()
    for name in by:
        usable = usable & items[name].notna().to_numpy()
    wanted = list(dict.fromkeys([*keys, value, "chance", "oracle", "outcome", "unit_trial", "participant", "session"]))
    items = items[wanted] if usable.all() else items.loc[usable, wanted]
    unit = unit[usable]
    found = [coded(items[name]) for name in keys]
    cell, cells = pd.factorize(packed([code for code, _ in found], [len(values) for _, values in found]), sort=True)
    many = len(cells)
    at = first_rows(cell, many)
    table = pd.DataFrame(
        {name: pd.Series([values[one] for one in code[at]], dtype=object).infer_objects() for name, (code, values) in zip(keys, found, strict=True)}
    )
    person, _ = coded(items["participant"])
    session, _ = coded(items["session"])
    trial = items["unit_trial"].to_numpy(np.int64)
    known = np.ones(many, bool)
    known[cell[trial < 0]] = False
    # Where trials cannot be told apart, all of a person in a session are one.
    lump = packed([person + 1, session + 1], [int(person.max(initial=0)) + 2, int(session.max(initial=0)) + 2])
    trial = np.where(trial >= 0, trial, int(trial.max(initial=0)) + 1 + lump)
    span = int(trial.max(initial=0)) + 1
    group, names = pd.factorize(cell * span + trial)
    first = first_rows(group, len(names))
    means = _mean(group, items[value].to_numpy(float), len(names))
    chances = _mean(group, items["chance"].to_numpy(float), len(names))
    of_cell, of_unit = cell[first], unit[first]
    id_ = np.select([of_unit == 0, of_unit == 1], [person[first] + 1, session[first] + 1], trial[first])
    of_cell_unit = of_cell
    if (of_unit != 2).any():  # persons and sessions: the mean of their trials
        gathered, again = pd.factorize(of_cell * span * 2 + id_)
        start = first_rows(gathered, len(again))
        means, chances = _mean(gathered, means, len(again)), _mean(gathered, chances, len(again))
        of_cell_unit, id_ = of_cell[start], id_[start]
    order = np.argsort(of_cell_unit, kind="stable")
    cuts = np.searchsorted(of_cell_unit[order], np.arange(1, many))
    counts = {"n_trials": np.where(known, np.bincount(of_cell, minlength=many), 0), "n_items": np.bincount(cell, minlength=many)}
    for name in ("omitted", "invalid"):
        counts[f"n_{name}"] = np.bincount(cell[items["outcome"].eq(name).to_numpy()], minlength=many)
    counts["oracle"] = np.bincount(cell[items["oracle"].to_numpy(bool)], minlength=many) > 0
    return Cells(
        keys=table,
        values=np.split(means[order], cuts) if many else [],
        ids=np.split(id_[order], cuts) if many else [],
        chance=_mean(of_cell_unit, chances, many),
        unit=[_UNITS[int(one)] for one in unit[at]],
        told_apart=known,
        counts=counts,
    )


def _mean(group: np.ndarray, values: np.ndarray, many: int) -> np.ndarray:
    """Means within groups; missing values are left out."""
    there = ~np.isnan(values)
    if not there.all():
        group, values = group[there], values[there]
    with np.errstate(invalid="ignore"):
        return np.bincount(group, weights=values, minlength=many) / np.bincount(group, minlength=many)


def _units(items: pd.DataFrame, who: Sequence[str]) -> np.ndarray:
    """For each row, what the unit of its answerer is: 0 participant, 1 session, 2 trial."""
    import pandas as pd

    found = [coded(items[name]) for name in who]
    answerer, names = (
        pd.factorize(packed([code + 1 for code, _ in found], [len(values) + 1 for _, values in found])) if who else (np.zeros(len(items), int), [0])
    )

    def several(column: str) -> np.ndarray:
        code, values = coded(items[column])
        here = np.isin(code, [at for at, value in enumerate(values) if value != ""])
        pairs = np.unique(answerer[here] * max(len(values), 1) + code[here]) // max(len(values), 1)
        return np.bincount(pairs, minlength=len(names))

    if not len(items):
        return np.empty(0, int)
    people, sessions = several("participant"), several("session")
    return np.where(people > 1, 0, np.where((people == 0) & (sessions >= FEW), 1, 2))[answerer]
