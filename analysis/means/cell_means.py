"""Averages in cells: first within each trial, then within each person or session; from the sums of any number of parts, without a loop over rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ..data.scoring import WHO, Scored
from .bootstrap import FEW
from .partial_sums import Patterns, Sums, patterns_of, unit_sums

if TYPE_CHECKING:
    import pandas as pd

UnitName = Literal["participant", "session", "trial"]


@dataclass(frozen=True)
class Cells:
    """Units in cells.

    Parameters
    ----------
    keys : who and where: one row for each cell, sorted
    values, ids, many : of each cell, the means of its units, the units' numbers, which are the same in all cells, and how many units each entry stands for:
        trials that have the same means in the same cells share a number
    chance : of each cell, averaged like the values
    unit : of each cell; the same in all cells of an answerer
    told_apart : of each cell, whether its trials can be told apart
    counts : ``n_trials``, ``n_items``, ``n_omitted``, ``n_invalid`` and ``oracle`` of each cell
    """

    keys: pd.DataFrame
    values: list[np.ndarray]
    ids: list[np.ndarray]
    many: list[np.ndarray]
    chance: np.ndarray
    unit: list[UnitName]
    told_apart: np.ndarray
    counts: dict[str, np.ndarray]

    def mean(self, cell: int) -> float:
        """The mean over the units of a cell."""
        return float(np.average(self.values[cell], weights=self.many[cell]))

    def each(self, cell: int) -> np.ndarray:
        """The mean of every unit of a cell, one by one."""
        return np.repeat(self.values[cell], self.many[cell])

    def points(self, by: Sequence[str]) -> dict[tuple[str, ...], dict[tuple[Any, ...], int]]:
        """For each answerer, the number of the cell at each place along some columns."""
        found: dict[tuple[str, ...], dict[tuple[Any, ...], int]] = {}
        for number, row in enumerate(self.keys.to_dict("records")):
            found.setdefault(tuple(row[name] for name in WHO), {})[place_of(row, by)] = number
        return found


def place_of(row: Mapping[Any, Any], by: Sequence[str]) -> tuple[Any, ...]:
    """Where a row of a table stands along some columns; numbers are rounded, so that those of two tables can be the same."""
    return tuple(value if isinstance(value := row[name], str) else round(float(value), 9) for name in by)


def unit_means(scored: Scored, by: Sequence[str] = (), *, who: Sequence[str] = WHO, value: str = "correct") -> Cells:
    """The mean of ``value`` for every unit in every cell of ``who`` and ``by``, of a table that is all here; see :func:`.unit_sums` and :func:`together`."""
    return together([unit_sums(scored, by, who=who, value=value)])


def together(parts: Sequence[Sums]) -> Cells:
    """The cells of a whole table from the sums of its parts.

    Units are the participants where an answerer is several people; the sessions where a machine has taken ten or more; else the trials. They are chosen over
    all rows of an answerer, so they are the same in every cell.

    Parameters
    ----------
    parts : of the same cells; no trial is in two of them. Their order does not matter, except for the last digit of means of people and sessions
    """
    import pandas as pd

    names, who = parts[0].names, parts[0].who
    keys = sorted({key for part in parts for key in part.keys}, key=lambda key: [(isinstance(one, str), one) for one in key])
    number = {key: place for place, key in enumerate(keys)}
    moved = [np.array([number[key] for key in part.keys], dtype=np.int64) for part in parts]
    columns = {name: pd.Series([key[at] for key in keys], dtype=object).infer_objects() for at, name in enumerate(names)}
    units = _units(parts)
    unit: list[UnitName] = [units[key[:who]] for key in keys]
    groups = _groups(parts, moved)
    patterns = _patterns([part.patterns for part in parts], moved)
    told_apart = np.ones(len(keys), bool)
    counts: dict[str, np.ndarray] = {name: np.zeros(len(keys), np.int64) for name in ("n_trials", "n_items", "n_omitted", "n_invalid", "oracle")}
    for part, places in zip(parts, moved, strict=True):
        np.logical_and.at(told_apart, places, part.told_apart)  # two cells of a part may be one, when everybody has got a name
        for name, values in part.counts.items():
            np.add.at(counts[name], places, values)
    counts["oracle"] = counts["oracle"] > 0
    counts["n_trials"] = np.where(told_apart, _sum(groups["cell"], groups["trials"], len(keys)), 0).astype(np.int64)
    values, ids, many = _split(patterns, len(keys))
    with np.errstate(invalid="ignore"):
        chance = _sum(groups["cell"], groups["chance"], len(keys)) / _sum(groups["cell"], groups["chances"], len(keys))
    for cell in (cell for cell, kind in enumerate(unit) if kind != "trial"):
        values[cell], ids[cell], chance[cell] = _of_people(groups[groups["cell"] == cell], unit[cell])
        many[cell] = np.ones(len(ids[cell]), np.int64)
    return Cells(pd.DataFrame(columns, columns=list(names)), values, ids, many, chance, unit, told_apart, counts)


def _units(parts: Sequence[Sums]) -> dict[tuple[Any, ...], UnitName]:
    people: dict[tuple[Any, ...], set[str]] = {}
    sessions: dict[tuple[Any, ...], set[str]] = {}
    for part in parts:
        for answerer, participant, session in part.answerers:
            people.setdefault(answerer, set()).update({participant} - {""})
            sessions.setdefault(answerer, set()).update({session} - {""})
    return {
        answerer: "participant" if len(own) > 1 else "session" if not own and len(sessions[answerer]) >= FEW else "trial" for answerer, own in people.items()
    }


def _groups(parts: Sequence[Sums], moved: Sequence[np.ndarray]) -> pd.DataFrame:
    """Groups of trials of all parts: ``cell``, numbers of ``participant`` and ``session``, and their sums."""
    import pandas as pd

    table = pd.DataFrame(
        {name: np.concatenate([getattr(part, name) for part in parts]) for name in ("participant", "session", "trials", "total", "chances", "chance")}
    )
    coded = {name: pd.factorize(table[name], sort=True)[0] + 1 for name in ("participant", "session")}
    return table.assign(cell=np.concatenate([places[part.cell] for part, places in zip(parts, moved, strict=True)]), **coded)


def _of_people(groups: pd.DataFrame, unit: UnitName) -> tuple[np.ndarray, np.ndarray, float]:
    """The mean of each person (or session) of a cell over trials, their numbers, and the mean of their chance levels."""
    sums = groups.groupby(unit, sort=True)[["trials", "total", "chances", "chance"]].sum()
    chances = (sums["chance"] / sums["chances"].where(sums["chances"] > 0)).to_numpy(float)
    return (sums["total"] / sums["trials"]).to_numpy(float), sums.index.to_numpy(np.int64), float(np.nanmean(chances)) if (chances == chances).any() else np.nan


def _patterns(parts: Sequence[Patterns], moved: Sequence[np.ndarray]) -> Patterns:
    """The patterns of several parts as one list, each once; cells have new numbers."""
    if len(parts) == 1 and (moved[0] == np.arange(len(moved[0]))).all():
        return parts[0]
    before = [0, *accumulate(len(part.many) for part in parts)]
    pattern = np.concatenate([part.pattern + start for part, start in zip(parts, before, strict=False)])
    cell = np.concatenate([places[part.cell] for part, places in zip(parts, moved, strict=True)])
    value, many = np.concatenate([part.value for part in parts]), np.concatenate([part.many for part in parts])
    order = np.lexsort([cell, pattern])
    return patterns_of(pattern[order], cell[order], value[order], many)


def _split(patterns: Patterns, cells: int) -> tuple[list[np.ndarray], list[np.ndarray], list[np.ndarray]]:
    """Values, numbers of patterns and how many trials have them, by cell."""
    if not cells:
        return [], [], []
    order = np.argsort(patterns.cell, kind="stable")
    cuts = np.searchsorted(patterns.cell[order], np.arange(1, cells))
    pattern = patterns.pattern[order]
    return np.split(patterns.value[order], cuts), np.split(pattern, cuts), np.split(patterns.many[pattern], cuts)


def _sum(cell: Any, values: Any, many: int) -> np.ndarray:
    return np.bincount(np.asarray(cell), weights=np.asarray(values, float), minlength=many)
