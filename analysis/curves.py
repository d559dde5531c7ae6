"""Curve tables: accuracy by serial position, by set size and overall; primacy and recency; intrusions. Pure functions of the response table.

Averages are taken first within each trial, then within each participant, then across participants, so long lists and long sessions do not outweigh short ones.
The units of standard errors and bootstrap intervals are the participants when an agent is several people, and else the trials; never the rows within a trial.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from .resampling import FEW, LEVEL, RESAMPLES, estimate
from .table import WHO, Scored, plural, score_table

if TYPE_CHECKING:
    import pandas as pd

#: Columns of every curve table, after the columns that the curve runs over.
CURVE_COLUMNS = (*WHO, "oracle", "unit", "n_units", "n_trials", "n_items", "n_omitted", "n_invalid", "mean", "sem", "low", "high", "interval", "chance", "note")


def accuracy(
    responses: pd.DataFrame | Scored,
    by: Sequence[str] = (),
    *,
    who: Sequence[str] = WHO,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> pd.DataFrame:
    """Proportion correct per cell.

    Parameters
    ----------
    responses : a response table (practice and pilot rows are then left out), or one that :func:`score_table` has sorted
    by : columns that span the cells, such as ``("list_length", "serial_position")``; items without a value there are in no cell (see :func:`unplaced`)
    who : columns that tell agents apart

    Returns
    -------
    pandas.DataFrame
        ``who``, ``by``, then the rest of :data:`CURVE_COLUMNS`, one row per cell that has items. ``mean``, ``sem``, ``low``, ``high``
        and ``chance`` are proportions.
    """
    scored = responses if isinstance(responses, Scored) else score_table(responses)
    keys = [*who, *by]
    items = _with_units(scored, who)
    items = items.dropna(subset=list(by)) if by else items
    items = items.assign(_omitted=items["outcome"].eq("omitted"), _invalid=items["outcome"].eq("invalid"))
    counts = {
        "correct": ("correct", "mean"),
        "chance": ("chance", "mean"),
        "oracle": ("oracle", "max"),
        "n_items": ("correct", "size"),
        "n_omitted": ("_omitted", "sum"),
        "n_invalid": ("_invalid", "sum"),
    }
    trials = items.groupby([*keys, "_several", "_person", "unit_trial"], sort=True, dropna=False).agg(**counts).reset_index()
    rows = []
    for key, cell in trials.groupby(keys, sort=True, dropna=False):
        row = dict(zip(keys, key, strict=True)) | _estimated(cell, "correct", level, resamples, seed)
        row |= {name: int(cell[name].sum()) for name in ("n_items", "n_omitted", "n_invalid")}
        row |= {"oracle": bool(cell["oracle"].any()), "chance": cell.groupby("_person")["chance"].mean().mean()}
        rows.append(row)
    return _frame(rows, [*keys, *(name for name in CURVE_COLUMNS if name not in WHO)])


def accuracy_by_serial_position(responses: pd.DataFrame | Scored, **options: object) -> pd.DataFrame:
    """Proportion correct by ``list_length`` and ``serial_position``; see :func:`accuracy`."""
    return accuracy(responses, ("list_length", "serial_position"), **options)  # type: ignore[arg-type]


def accuracy_by_set_size(responses: pd.DataFrame | Scored, **options: object) -> pd.DataFrame:
    """Proportion correct by ``set_size``; see :func:`accuracy`."""
    return accuracy(responses, ("set_size",), **options)  # type: ignore[arg-type]


def overall(responses: pd.DataFrame | Scored, **options: object) -> pd.DataFrame:
    """Proportion correct over everything an agent answered in a paradigm; see :func:`accuracy`."""
    return accuracy(responses, (), **options)  # type: ignore[arg-type]


def primacy_recency(
    responses: pd.DataFrame | Scored, *, who: Sequence[str] = WHO, level: float = LEVEL, resamples: int = RESAMPLES, seed: int = 0
) -> pd.DataFrame:
    """How far the first and the last item of a list stand out from its middle.

    SpanLab's own simple indices of the two ends of the serial position curve (described by Murdock, 1962, Journal of Experimental Psychology 64, 482-488)::

        primacy = correct(position 1) - mean correct(positions 2 .. L-1)
        recency = correct(position L) - mean correct(positions 2 .. L-1)        for lists of L >= 3

    Each is computed within a trial that has all L positions, then averaged as in :func:`accuracy`. Zero means no effect; the range is -1 to 1.

    Returns
    -------
    pandas.DataFrame
        ``who``, ``list_length``, ``index`` (primacy or recency), ``unit``, ``n_units``, ``n_trials``, ``mean``, ``sem``, ``low``, ``high``, ``interval`` and
        ``note``.
    """
    scored = responses if isinstance(responses, Scored) else score_table(responses)
    items = _with_units(scored, who).dropna(subset=["list_length", "serial_position"])
    items = items[items["list_length"] >= 3]
    place, length = items["serial_position"], items["list_length"]
    items = items.assign(
        _first=items["correct"].where(place == 1),
        _last=items["correct"].where(place == length),
        _middle=items["correct"].where((place > 1) & (place < length)),
    )
    keys = [*who, "list_length"]
    ends = {"first": ("_first", "mean"), "last": ("_last", "mean"), "middle": ("_middle", "mean"), "positions": ("serial_position", "nunique")}
    trials = items.groupby([*keys, "_several", "_person", "unit_trial"], sort=True, dropna=False).agg(**ends).reset_index()
    trials = trials[trials["positions"] == trials["list_length"]]
    trials = trials.assign(primacy=trials["first"] - trials["middle"], recency=trials["last"] - trials["middle"])
    rows = []
    for key, cell in trials.groupby(keys, sort=True, dropna=False):
        for index in ("primacy", "recency"):
            rows.append(dict(zip(keys, key, strict=True)) | {"index": index} | _estimated(cell, index, level, resamples, seed, proportion=False))
    return _frame(rows, [*keys, "index", "unit", "n_units", "n_trials", "mean", "sem", "low", "high", "interval", "note"])


def intrusions(responses: pd.DataFrame | Scored, by: Sequence[str] = ("list_length",), *, who: Sequence[str] = WHO) -> pd.DataFrame:
    """Answers that were not asked for, per trial (free recall).

    Returns
    -------
    pandas.DataFrame
        ``who``, ``by``, ``n_trials``, ``n_intrusions``, ``per_trial``; only agents of paradigms in which somebody intruded. Trials without one count as zero.
    """
    import pandas as pd

    scored = responses if isinstance(responses, Scored) else score_table(responses)
    wrong, items = scored.intrusions, scored.items
    keys = [*who, *by]
    items = items[items["paradigm"].isin(wrong["paradigm"].unique())].dropna(subset=list(by))
    counts = wrong.groupby(keys, sort=True).size().rename("n_intrusions")
    trials = items.groupby(keys, sort=True)["unit_trial"].nunique().rename("n_trials")
    table = pd.concat([trials, counts], axis=1).reset_index() if len(trials) else pd.DataFrame(columns=[*keys, "n_trials", "n_intrusions"])
    table["n_intrusions"] = table["n_intrusions"].fillna(0).astype(int)
    table["per_trial"] = table["n_intrusions"] / table["n_trials"]
    return _whole(table)


def unplaced(responses: pd.DataFrame | Scored, by: Sequence[str]) -> int:
    """How many scored items have no value in one of ``by``, and are therefore in none of its cells."""
    scored = responses if isinstance(responses, Scored) else score_table(responses)
    return int(scored.items[list(by)].isna().any(axis=1).sum())


def _with_units(scored: Scored, who: Sequence[str]) -> pd.DataFrame:
    """The items with ``_several`` (is their agent several people, over all of its items, so that the unit is the same in every cell) and ``_person``."""
    items = scored.items
    named = items.assign(_name=items["participant"].where(items["participant"] != ""))
    several = named.groupby(list(who), dropna=False)["_name"].transform("nunique") > 1
    return items.assign(_several=several, _person=items["participant"].where(several, ""))


def _estimated(cell: pd.DataFrame, column: str, level: float, resamples: int, seed: int, *, proportion: bool = True) -> dict[str, object]:
    """Mean, s.e.m. and interval of one cell, given one row per trial."""
    several = bool(cell["_several"].iloc[0])
    per_person = cell.groupby("_person")[column].mean() if several else cell[column]
    told_apart = bool((cell["unit_trial"] >= 0).all())
    values = per_person.to_numpy(float)
    result = estimate(values, proportion=proportion, level=level, resamples=resamples, seed=seed)
    unit = "participant" if several else "trial"
    note = ""
    if not told_apart and not several:
        note, unit, result = "no trial numbers: no interval", "", estimate([np.nanmean(values)] if len(values) else [])
    elif result.n == 1:
        note = f"one {unit}: no interval"
    elif result.interval == "none" and result.n > 1:
        note = f"all {plural(result.n, unit)} alike: no interval"
    elif result.interval == "exact":
        note = f"all {plural(result.n, unit)} at {result.mean:.0%}: exact limit"
    elif result.n < FEW:
        note = f"only {plural(result.n, unit)}: rough interval"
    row = {"unit": unit, "n_units": result.n, "n_trials": int(cell["unit_trial"].nunique()) if told_apart else 0, "mean": result.mean, "sem": result.sem}
    return row | {"low": result.low, "high": result.high, "interval": result.interval, "note": note}


def _frame(rows: list[dict[str, object]], columns: list[str]) -> pd.DataFrame:
    """Rows as a table with these columns, whole numbers as such."""
    import pandas as pd

    return _whole(pd.DataFrame(rows, columns=columns))


def _whole(table: pd.DataFrame) -> pd.DataFrame:
    names = ("list_length", "set_size", "serial_position", "n_units", "n_trials", "n_items", "n_omitted", "n_invalid")
    return table.astype(dict.fromkeys([name for name in names if name in table.columns], "Int64"))
