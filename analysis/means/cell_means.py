"""Averages in cells: first within each trial, then within each person or session, without a loop
over rows.

Trials of right and wrong answers have few different patterns of means, so that a long table shrinks
to a few thousand numbers: every pattern, with how many trials have it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from ..data.coding import coded, first_rows, groups, packed, records
from ..data.scoring import SAME_TRIAL, UNIT_SESSION, WHO, WORDING, Scored, same_trial, unit_session

#: Codes up to here are counted in a table; beyond, they are looked up.
_COUNTED = 1 << 22


@dataclass(frozen=True)
class Patterns:
    """Trials grouped by their means in the cells; entry ``i`` says that trials of ``pattern[i]``
    have the mean ``value[i]`` in ``cell[i]``.

    Parameters
    ----------
    pattern, cell, value : sorted by pattern; a pattern has an entry for every cell in which its
        trials are
    many : for each pattern the number of its trials
    """

    pattern: np.ndarray
    cell: np.ndarray
    value: np.ndarray
    many: np.ndarray


UnitName = Literal["participant", "session", "wording", "trial"]


@dataclass(frozen=True)
class Cells:
    """Units in cells.

    Parameters
    ----------
    keys : who and where: one row for each cell, sorted
    values, ids, many : of each cell, the means of its units, the units' numbers, which are the same
        in all cells, and how many units each entry stands for: trials that have the same means in
        the same cells share a number
    trials : of each cell, how many trials each of its units has
    chance : of each cell, averaged like the values
    unit : of each cell; the same in all cells of an answerer
    distinct : of each cell, whether its trials can be told apart
    counts : ``n_trials``, ``n_items``, ``n_omitted``, ``n_invalid`` and ``oracle`` of each cell
    worst : of each cell, the largest share of invalid answers in a session of its answerer, over
        all cells
    over_trials : where units are wordings, ``values``, ``ids`` and ``many`` of the same trials over
        all wordings, by cell
    crossed : where several people or sessions took the same trials, of each trial as taken the
        number of its unit, that of the trial and its mean, by cell
    """

    keys: pd.DataFrame
    values: list[np.ndarray]
    ids: list[np.ndarray]
    many: list[np.ndarray]
    trials: list[np.ndarray]
    chance: np.ndarray
    unit: list[UnitName]
    distinct: np.ndarray
    counts: dict[str, np.ndarray]
    worst: np.ndarray
    over_trials: Mapping[int, tuple[np.ndarray, np.ndarray, np.ndarray]] = field(default_factory=dict)
    crossed: Mapping[int, tuple[np.ndarray, np.ndarray, np.ndarray]] = field(default_factory=dict)

    def mean(self, cell: int) -> float:
        """The mean over the units of a cell."""
        values, many = self.values[cell], self.many[cell]
        return float((values * many).sum() / many.sum())  # of np.average a third of the time

    @property
    def means(self) -> np.ndarray:
        """The mean over the units of every cell."""
        if not self.values:
            return np.empty(0)
        many, starts = np.concatenate(self.many), np.cumsum([0, *map(len, self.values[:-1])])
        return np.add.reduceat(np.concatenate(self.values) * many, starts) / np.add.reduceat(many, starts)

    def each(self, cell: int) -> np.ndarray:
        """The mean of every unit of a cell, one by one."""
        return np.repeat(self.values[cell], self.many[cell])

    def of_trials(self, numbers: Sequence[int]) -> Cells | None:
        """The same cells with trials as units in place of wordings, which have these trials in
        common; None where a cell has other units."""
        if not self.over_trials or any(number not in self.over_trials for number in numbers):
            return None
        columns = [list(column) for column in (self.values, self.ids, self.many)]
        trials, unit = list(self.trials), list(self.unit)
        for number, of_cell in self.over_trials.items():
            for column, value in zip(columns, of_cell, strict=True):
                column[number] = value
            trials[number], unit[number] = np.ones(len(of_cell[0]), np.int64), "trial"
        return replace(
            self, values=columns[0], ids=columns[1], many=columns[2], trials=trials, unit=unit, over_trials={}
        )

    def points(self, by: Sequence[str]) -> dict[tuple[str, ...], dict[tuple[Any, ...], int]]:
        """For each answerer, the number of the cell at each place along some columns."""
        points_of: dict[tuple[str, ...], dict[tuple[Any, ...], int]] = {}
        for number, row in enumerate(records(self.keys)):
            points_of.setdefault(tuple(row[name] for name in WHO), {})[place_of(row, by)] = number
        return points_of


def place_of(row: Mapping[Any, Any], by: Sequence[str]) -> tuple[Any, ...]:
    """The place of a row of a table along some columns; numbers are rounded, so that those of two
    tables can be equal."""
    return tuple(value if isinstance(value := row[name], str) else round(float(value), 9) for name in by)


#: columns from which cells are made, besides those that span them
USED = (
    *WHO,
    *("chance", "oracle", "outcome", "unit_trial", "participant", "session", "trial_id"),
    *(UNIT_SESSION, SAME_TRIAL),
)


def unit_means(scored: Scored, by: Sequence[str] = (), *, who: Sequence[str] = WHO, value: str = "correct") -> Cells:
    """The mean of ``value`` for every unit in every cell of ``who`` and ``by``. Rows without a
    value, or without a place in ``by``, are in no cell.

    Units are the participants where an answerer is several people; the sessions where a machine has
    taken several (seeds of a network, for one) that share a cell; else the trials. They are chosen
    over all rows of an answerer, so they are the same in every cell.
    """
    # figures, tables and tests ask for the same cells
    return scored.once(
        (unit_means, tuple(by), tuple(who), value), lambda: _unit_means(scored, tuple(by), tuple(who), value)
    )


def _unit_means(scored: Scored, by: tuple[str, ...], who: tuple[str, ...], value: str) -> Cells:
    """Compute the cells that :func:`unit_means` returns."""
    items = scored.items
    names = tuple(dict.fromkeys([*who, *by]))
    people_of = _answerers(items, who)
    usable = items[value].notna().to_numpy()
    for name in by:
        usable = usable & items[name].notna().to_numpy()
    kept = SAME_TRIAL in items.columns
    wanted = [name for name in dict.fromkeys([*names, value, *USED]) if name in items.columns]
    items = items[wanted] if usable.all() else items.loc[usable, wanted]
    cell, keys = _places([coded(items[name]) for name in names])
    many = len(keys)
    (person, people), (session, sessions) = coded(items["participant"]), coded(unit_session(items))
    trial = same_trial(items).to_numpy(np.int64)
    distinct = np.ones(many, bool)
    if (trial < 0).any():
        distinct[cell[trial < 0]] = False
        # Where trials cannot be distinguished, all of a person in a session are one.
        lump = packed([person + 1, session + 1], [len(people) + 1, len(sessions) + 1])
        trial = np.where(trial >= 0, trial, int(trial.max(initial=0)) + 1 + lump)
    (recorded, records_) = coded(items["session"]) if kept else (session, sessions)
    over = _runs(trial * many + cell)
    runs = (
        _runs(
            packed(
                [trial, session, recorded, cell], [int(trial.max(initial=0)) + 1, len(sessions), len(records_), many]
            )
        )
        if kept
        else over
    )
    columns = {name: items[name].to_numpy(float) for name in (value, "chance")} | {
        "invalid": items["outcome"].eq("invalid").to_numpy(float)
    }
    (means, _), (chance, some), (invalid, _) = (_means(column, *runs) for column in columns.values())
    first = runs.first
    asked = np.diff(np.append(runs.starts, len(items)))
    place = cell[first]
    spans = [
        (cell, many),
        (person + 1, len(people) + 1),
        (session + 1, len(sessions) + 1),
        *([(recorded + 1, len(records_) + 1)] if kept else []),
    ]
    group, number = _numbered([codes[first] for codes, _ in spans], [size for _, size in spans])
    at = first_rows(group, number)

    def summed(of_trials: np.ndarray) -> np.ndarray:
        return np.bincount(group, weights=of_trials, minlength=number)

    person_ranks, session_ranks = _ranks(people), _ranks(sessions)
    groups_ = pd.DataFrame(
        {
            "cell": place[at],
            "participant": person_ranks[person[first][at]],
            "session": session_ranks[session[first][at]],
            "recorded": (_ranks(records_) if kept else session_ranks)[recorded[first][at]],
            "trials": np.bincount(group, minlength=number),
            "total": summed(means),
            "asked": summed(asked),
            "invalid": summed(np.round(invalid * asked)),
            "chances": summed(some.astype(float)).astype(np.int64),
            "chance": summed(np.where(some, chance, 0.0)),
        }
    )
    per_trial = _means(columns[value], *over)[0] if kept else means
    patterns = patterns_of(trial[over.first], cell[over.first], per_trial)
    trials_in = _sum(groups_["cell"], groups_["trials"], many)
    counts: dict[str, np.ndarray] = {
        "n_trials": np.where(distinct, trials_in, 0).astype(np.int64),
        "n_items": np.bincount(cell, minlength=many),
    }
    for name in ("omitted", "invalid"):
        counts[f"n_{name}"] = np.bincount(cell[items["outcome"].eq(name).to_numpy()], minlength=many)
    counts["oracle"] = np.bincount(cell[items["oracle"].to_numpy(bool)], minlength=many) > 0
    cells = _in_units(
        names,
        keys,
        len(who),
        groups_,
        patterns,
        _units(people_of, groups_, keys, len(who)),
        distinct,
        counts,
    )
    if "trial_id" not in items.columns or kept:
        return cells
    return replace(
        cells,
        crossed=_crossed(
            cells,
            items["trial_id"].iloc[over.first],
            cell[over.first],
            {
                "participant": person_ranks[person[over.first]],
                "session": session_ranks[session[over.first]],
            },
            per_trial,
        ),
    )


def _crossed(
    cells: Cells, trial_id: pd.Series, cell: np.ndarray, units: Mapping[str, np.ndarray], means: np.ndarray
) -> dict[int, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Of cells whose trials several people or sessions took, :attr:`Cells.crossed`.

    Parameters
    ----------
    trial_id, cell, units, means : of each trial as taken, in each cell
    """
    several = [number for number, unit in enumerate(cells.unit) if unit in units]
    if not several:
        return {}
    trial = pd.factorize(trial_id.where(trial_id != "", None))[0]
    found = {}
    for number in several:
        rows = np.flatnonzero((cell == number) & (trial >= 0))
        if len(np.unique(trial[rows])) < len(rows):
            found[number] = units[cells.unit[number]][rows], trial[rows], means[rows]
    return found


def _in_units(
    names: Sequence[str],
    keys: Sequence[tuple[Any, ...]],
    who: int,
    groups_of_trials: pd.DataFrame,
    patterns: Patterns,
    units: Mapping[tuple[Any, ...], UnitName],
    distinct: np.ndarray,
    counts: dict[str, np.ndarray],
) -> Cells:
    """Cells with the units of their answerers."""
    unit: list[UnitName] = [units[key[:who]] for key in keys]
    values, ids, many = _split(patterns, len(keys))
    trials = [np.ones(len(one), np.int64) for one in values]
    cell = groups_of_trials["cell"]
    with np.errstate(invalid="ignore"):
        chance = _sum(cell, groups_of_trials["chance"], len(keys)) / _sum(cell, groups_of_trials["chances"], len(keys))
    over_trials = {
        number: (values[number], ids[number], many[number]) for number, kind in enumerate(unit) if kind == "wording"
    }
    for number, kind in enumerate(unit):
        if kind != "trial":
            values[number], ids[number], trials[number], chance[number] = _of_people(
                groups_of_trials[cell == number], kind
            )
            many[number] = np.ones(len(ids[number]), np.int64)
    frame = {name: pd.Series([key[at] for key in keys], dtype=object).infer_objects() for at, name in enumerate(names)}
    worst = _worst(groups_of_trials, [key[:who] for key in keys])
    return Cells(
        pd.DataFrame(frame, columns=list(names)),
        values,
        ids,
        many,
        trials,
        chance,
        unit,
        distinct,
        counts,
        worst,
        over_trials,
    )


def _units(
    answerers: frozenset[tuple[tuple[Any, ...], str, str]],
    groups_of_trials: pd.DataFrame,
    keys: Sequence[tuple[Any, ...]],
    who: int,
) -> dict[tuple[Any, ...], UnitName]:
    """The units of each answerer. Sessions of one machine that have no cell in common are like one
    session: nothing tells how much they differ."""
    people: dict[tuple[Any, ...], set[str]] = {}
    worded: set[tuple[Any, ...]] = set()
    for answerer, participant, session in answerers:
        people.setdefault(answerer, set()).update({participant} - {""})
        worded |= {answerer} if session.startswith(WORDING) else set()
    sessions = groups_of_trials.groupby("cell")["session"].nunique()
    often = {keys[int(cell)][:who] for cell in sessions.index[sessions > 1]}
    units: dict[tuple[Any, ...], UnitName] = {}
    for answerer, persons in people.items():
        if len(persons) > 1:
            units[answerer] = "participant"
        else:
            several: UnitName = "wording" if answerer in worded else "session"
            units[answerer] = several if not persons and answerer in often else "trial"
    return units


class _Runs(NamedTuple):
    """Rows in an order in which those that are alike stand together; ``order`` is None where they
    stand so already."""

    order: np.ndarray | None
    starts: np.ndarray

    @property
    def first(self) -> np.ndarray:
        """The first row of each run."""
        return self.starts if self.order is None else self.order[self.starts]


def _runs(key: np.ndarray) -> _Runs:
    order = None if (key[1:] >= key[:-1]).all() else np.argsort(key, kind="stable")
    key = key if order is None else key[order]
    return _Runs(order, np.flatnonzero(np.concatenate([np.ones(min(1, len(key)), bool), key[1:] != key[:-1]])))


def patterns_of(unit: np.ndarray, cell: np.ndarray, value: np.ndarray, many: np.ndarray | None = None) -> Patterns:
    """Group units by their values in the cells.

    Parameters
    ----------
    unit : whole numbers, sorted; one entry for each cell in which a unit is, ordered by cell
    cell, value : where, and what
    many : for each unit, in the order of its number, how many alike it stands for; one each when
        not given
    """
    if not len(unit):
        return Patterns(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0), np.empty(0, np.int64))
    start = np.flatnonzero(np.concatenate([[True], unit[1:] != unit[:-1]]))
    length = np.diff(np.append(start, len(unit)))
    codes, distinct = pd.factorize(value)
    entry = cell * len(distinct) + codes + 1  # 0: no further cell
    room = int(entry.max()) + 1
    number, names = pd.factorize(entry[start])
    for place in range(1, int(length.max())):
        there = length > place
        following = np.zeros(len(start), np.int64)
        following[there] = entry[start[there] + place]
        number, names = pd.factorize(number * room + following)
    total = np.bincount(number, weights=many, minlength=len(names)).astype(np.int64)
    first = first_rows(number, len(names))
    lengths = length[first]
    at = np.repeat(start[first] - np.cumsum(lengths) + lengths, lengths) + np.arange(int(lengths.sum()))
    return Patterns(np.repeat(np.arange(len(names)), lengths), cell[at], value[at], total)


def _places(coded_columns: Sequence[tuple[np.ndarray, list[Any]]]) -> tuple[np.ndarray, tuple[tuple[Any, ...], ...]]:
    """The cell of each row, and the place of each cell; cells are sorted by place, words after
    numbers."""
    cell, many = _numbered([code for code, _ in coded_columns], [len(values) for _, values in coded_columns], sort=True)
    at = first_rows(cell, many)
    columns = [[values[one] for one in code[at]] for code, values in coded_columns]
    return cell, tuple(zip(*columns, strict=True)) if columns else ((),) * many


def _numbered(codes: Sequence[np.ndarray], sizes: Sequence[int], sort: bool = False) -> tuple[np.ndarray, int]:
    """Rows that are alike in some columns of codes: the number of each row's group, and how many
    groups there are."""
    code = packed(codes, sizes, sort=sort)
    top = int(code.max(initial=-1)) + 1
    if top > _COUNTED:
        number, names = pd.factorize(code, sort=sort)
        return number, len(names)
    used = np.bincount(code, minlength=top) > 0
    return (np.cumsum(used) - 1)[code], int(used.sum())


def _means(values: np.ndarray, order: np.ndarray | None, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mean of each run of values, in some order, and whether it has one; missing values are
    left out."""
    if not len(starts):
        return np.empty(0), np.empty(0, bool)
    values = values if order is None else values[order]
    length = np.diff(np.append(starts, len(values)))
    there = ~np.isnan(values)
    if there.all():
        return np.add.reduceat(values, starts) / length, np.ones(len(starts), bool)
    known = np.add.reduceat(there.astype(np.int64), starts)
    with np.errstate(invalid="ignore"):
        return np.add.reduceat(np.where(there, values, 0.0), starts) / known, known > 0


def _answerers(items: pd.DataFrame, who: Sequence[str]) -> frozenset[tuple[tuple[Any, ...], str, str]]:
    """Every answerer with each participant and session that its rows come from."""
    session = UNIT_SESSION if UNIT_SESSION in items.columns else "session"
    first = groups(items, [*who, "participant", session])[1]
    columns = [items[name].iloc[first].astype(object).tolist() for name in (*who, "participant", session)]
    return frozenset((tuple(row[:-2]), str(row[-2] or ""), str(row[-1] or "")) for row in zip(*columns, strict=True))


def _ranks(names: Sequence[Any]) -> np.ndarray:
    """For each code the place of its name among all names, from 1; the last is that of rows without one."""
    return np.unique(np.array([*map(str, names), ""], dtype=object), return_inverse=True)[1] + 1


def _worst(groups: pd.DataFrame, answerers: Sequence[tuple[Any, ...]]) -> np.ndarray:
    """Of each cell, the largest share of invalid answers in a session of its answerer."""
    known = {answerer: number for number, answerer in enumerate(dict.fromkeys(answerers))}
    number = np.array([known[answerer] for answerer in answerers], dtype=np.int64)
    recorded, asked, invalid = (groups[name].to_numpy() for name in ("recorded", "asked", "invalid"))
    room = int(recorded.max(initial=0)) + 1
    of_sessions, session = np.unique(number[groups["cell"].to_numpy()] * room + recorded, return_inverse=True)
    worst = np.full(len(known), np.nan)
    with np.errstate(invalid="ignore"):
        np.fmax.at(worst, of_sessions // room, np.bincount(session, invalid) / np.bincount(session, asked))
    return worst[number]


def _of_people(groups: pd.DataFrame, unit: UnitName) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """The mean of each person (or session) of a cell over trials, their numbers, how many trials
    they have, and the mean of their chance levels."""
    sums = groups.groupby("session" if unit == "wording" else unit, sort=True)[
        ["trials", "total", "chances", "chance"]
    ].sum()
    chances = (sums["chance"] / sums["chances"].where(sums["chances"] > 0)).to_numpy(float)
    level = float(np.nanmean(chances)) if (chances == chances).any() else np.nan
    trials = (
        groups.groupby(["session", "recorded"])["trials"].sum().groupby(level=0).max()
        if unit == "wording"
        else sums["trials"]
    )  # repeats have the same
    return (
        (sums["total"] / sums["trials"]).to_numpy(float),
        sums.index.to_numpy(np.int64),
        trials.to_numpy(np.int64),
        level,
    )


def _split(patterns: Patterns, cells: int) -> tuple[list[np.ndarray], list[np.ndarray], list[np.ndarray]]:
    """Values, numbers of patterns and how many trials have them, by cell."""
    if not cells:
        return [], [], []
    order = np.argsort(patterns.cell, kind="stable")
    cuts = [0, *np.searchsorted(patterns.cell[order], np.arange(1, cells)).tolist(), len(order)]
    pattern = patterns.pattern[order]
    columns = patterns.value[order], pattern, patterns.many[pattern]
    values, ids, many = ([column[start:end] for start, end in pairwise(cuts)] for column in columns)
    return values, ids, many


def _sum(cell: Any, values: Any, many: int) -> np.ndarray:
    return np.bincount(np.asarray(cell), weights=np.asarray(values, float), minlength=many)
