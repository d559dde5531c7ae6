"""What one part of a long table adds to its cells. Parts that share no trial are put together exactly by :func:`.cell_means.together`, however many there are.

Averages are taken within each trial first, so a part keeps of its rows: for every cell, person and session the sum of trial means; and every pattern of means
that trials have, with how many trials have it. (Trials of right and wrong answers have few different patterns, so a part shrinks to a few thousand numbers.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..data.coding import coded, first_rows, groups, packed
from ..data.scoring import WHO, Scored

if TYPE_CHECKING:
    import pandas as pd

#: Codes up to here are counted in a table; beyond, they are looked up.
_COUNTED = 1 << 22


@dataclass(frozen=True)
class Patterns:
    """Trials by what they have in which cells; entry ``i`` says that trials of ``pattern[i]`` have the mean ``value[i]`` in ``cell[i]``.

    Parameters
    ----------
    pattern, cell, value : sorted by pattern; a pattern has an entry for every cell in which its trials are
    many : for each pattern the number of its trials
    """

    pattern: np.ndarray
    cell: np.ndarray
    value: np.ndarray
    many: np.ndarray


@dataclass(frozen=True)
class Sums:
    """What a part adds.

    Parameters
    ----------
    names, who : columns that span the cells, and how many of them (the first ones) tell answerers apart
    keys : of each cell, its place: one value for each of ``names``
    answerers : for each answerer who has rows, in a cell or not, the pairs of participant and session that they came from
    cell, participant, session : of each group of trials, where it is
    trials, total : how many trials it has, and the sum of their means
    chances, chance : how many of them have a chance level, and its sum
    patterns : all trials, by what they have in which cells
    told_apart : of each cell, whether its trials can be told apart
    counts : of each cell, ``n_items``, ``n_omitted``, ``n_invalid`` and ``oracle``
    """

    names: tuple[str, ...]
    who: int
    keys: tuple[tuple[Any, ...], ...]
    answerers: frozenset[tuple[tuple[Any, ...], str, str]]
    cell: np.ndarray
    participant: np.ndarray
    session: np.ndarray
    trials: np.ndarray
    total: np.ndarray
    chances: np.ndarray
    chance: np.ndarray
    patterns: Patterns
    told_apart: np.ndarray
    counts: dict[str, np.ndarray]


def unit_sums(scored: Scored, by: Sequence[str] = (), *, who: Sequence[str] = WHO, value: str = "correct") -> Sums:
    """The sums of ``value`` in every cell of ``who`` and ``by``. Rows without a value, or without a place in ``by``, are in no cell.

    Parameters
    ----------
    scored : items whose trials are all here: none may have rows in another part
    """
    items = scored.items
    names = tuple(dict.fromkeys([*who, *by]))
    answerers = _answerers(items, who)
    usable = items[value].notna().to_numpy()
    for name in by:
        usable = usable & items[name].notna().to_numpy()
    wanted = list(dict.fromkeys([*names, value, "chance", "oracle", "outcome", "unit_trial", "participant", "session"]))
    items = items[wanted] if usable.all() else items.loc[usable, wanted]
    cell, keys = _places([coded(items[name]) for name in names])
    many = len(keys)
    (person, people), (session, sessions) = coded(items["participant"]), coded(items["session"])
    trial = items["unit_trial"].to_numpy(np.int64)
    told_apart = np.ones(many, bool)
    if (trial < 0).any():
        told_apart[cell[trial < 0]] = False
        # Where trials cannot be told apart, all of a person in a session are one.
        lump = packed([person + 1, session + 1], [len(people) + 1, len(sessions) + 1])
        trial = np.where(trial >= 0, trial, int(trial.max(initial=0)) + 1 + lump)
    key = trial * many + cell
    order = None if (key[1:] >= key[:-1]).all() else np.argsort(key, kind="stable")
    key = key if order is None else key[order]
    starts = np.flatnonzero(np.concatenate([np.ones(min(1, len(key)), bool), key[1:] != key[:-1]]))
    first = starts if order is None else order[starts]
    means, _ = _means(items[value].to_numpy(float), order, starts)
    chance, some = _means(items["chance"].to_numpy(float), order, starts)
    place = cell[first]
    group, groups = _numbered([place, person[first] + 1, session[first] + 1], [many, len(people) + 1, len(sessions) + 1])
    at = first_rows(group, groups)
    counts: dict[str, np.ndarray] = {"n_items": np.bincount(cell, minlength=many)}
    for name in ("omitted", "invalid"):
        counts[f"n_{name}"] = np.bincount(cell[items["outcome"].eq(name).to_numpy()], minlength=many)
    counts["oracle"] = np.bincount(cell[items["oracle"].to_numpy(bool)], minlength=many) > 0
    return Sums(
        names=names,
        who=len(tuple(dict.fromkeys(who))),
        keys=keys,
        answerers=answerers,
        cell=place[at],
        participant=_named(people, person[first][at]),
        session=_named(sessions, session[first][at]),
        trials=np.bincount(group, minlength=groups),
        total=np.bincount(group, weights=means, minlength=groups),
        chances=np.bincount(group, weights=some.astype(float), minlength=groups).astype(np.int64),
        chance=np.bincount(group, weights=np.where(some, chance, 0.0), minlength=groups),
        patterns=patterns_of(trial[first], place, means),
        told_apart=told_apart,
        counts=counts,
    )


def patterns_of(unit: np.ndarray, cell: np.ndarray, value: np.ndarray, many: np.ndarray | None = None) -> Patterns:
    """Units by what they have in which cells.

    Parameters
    ----------
    unit : whole numbers, sorted; one entry for each cell in which a unit is, ordered by cell
    cell, value : where, and what
    many : for each unit, in the order of its number, how many alike it stands for; one each when not given
    """
    import pandas as pd

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
    own = length[first]
    at = np.repeat(start[first] - np.cumsum(own) + own, own) + np.arange(int(own.sum()))
    return Patterns(np.repeat(np.arange(len(names)), own), cell[at], value[at], total)


def _places(found: Sequence[tuple[np.ndarray, list[Any]]]) -> tuple[np.ndarray, tuple[tuple[Any, ...], ...]]:
    """The cell of each row, and the place of each cell; cells are sorted by place."""
    cell, many = _numbered([code for code, _ in found], [len(values) for _, values in found], sort=True)
    at = first_rows(cell, many)
    columns = [[values[one] for one in code[at]] for code, values in found]
    return cell, tuple(zip(*columns, strict=True)) if columns else ((),) * many


def _numbered(codes: Sequence[np.ndarray], sizes: Sequence[int], sort: bool = False) -> tuple[np.ndarray, int]:
    """Rows that are alike in some columns of codes: the number of each row's group, and how many groups there are."""
    import pandas as pd

    code = packed(codes, sizes, sort=sort)
    top = int(code.max(initial=-1)) + 1
    if top > _COUNTED:
        number, names = pd.factorize(code, sort=sort)
        return number, len(names)
    used = np.bincount(code, minlength=top) > 0
    return (np.cumsum(used) - 1)[code], int(used.sum())


def _means(values: np.ndarray, order: np.ndarray | None, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mean of each run of values, in some order, and whether it has one; missing values are left out."""
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
    heads = items.iloc[groups(items, [*who, "participant", "session"])[1]]
    columns = [heads[name].astype(object).tolist() for name in (*who, "participant", "session")]
    return frozenset((tuple(row[:-2]), str(row[-2] or ""), str(row[-1] or "")) for row in zip(*columns, strict=True))


def _named(names: Sequence[Any], codes: np.ndarray) -> np.ndarray:
    return np.array([*map(str, names), ""], dtype=object)[codes]
