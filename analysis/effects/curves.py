"""Curve tables: accuracy by serial position, by set size and overall; primacy and recency;
intrusions. Pure functions of the response table.

Averages are taken first within each trial, then within each participant, then across participants,
so long lists and long sessions do not outweigh short ones. The units of standard errors and
intervals are the participants when an agent is several people, the sessions when a machine has
taken several, and else the trials; never the rows within a trial.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from ..data.coding import groups, records, with_whole
from ..data.scoring import WHO, Scored, plural, score_table
from ..means.bootstrap import FEW, LEVEL
from ..means.cell_means import Cells, unit_means
from ..means.contrasts import Contrast, answers_of, contrast, contrast_of

#: Columns of every curve table, after the columns that the curve runs over.
CURVE_COLUMNS = (
    *WHO,
    "oracle",
    "unit",
    "n_units",
    "n_trials",
    "n_items",
    "n_omitted",
    "n_invalid",
    "mean",
    "sem",
    "low",
    "high",
    "interval",
    "chance",
    "note",
)


def accuracy(
    responses: pd.DataFrame | Scored,
    by: Sequence[str] = (),
    *,
    who: Sequence[str] = WHO,
    level: float = LEVEL,
) -> pd.DataFrame:
    """Proportion correct per cell.

    Parameters
    ----------
    responses : a response table (practice and pilot rows are then left out), or one that
        :func:`score_table` has sorted
    by : columns that span the cells, such as ``("list_length", "serial_position")``; items without
        a value there are in no cell (see :func:`unplaced`)
    who : columns that tell agents apart

    Returns
    -------
    pandas.DataFrame
        ``who``, ``by``, then the rest of :data:`CURVE_COLUMNS`, one row per cell that has items.
        ``mean``, ``sem``, ``low``, ``high`` and ``chance`` are proportions.
    """
    return averages(responses, by, who=who, level=level)


def averages(
    responses: pd.DataFrame | Scored,
    by: Sequence[str] = (),
    *,
    who: Sequence[str] = WHO,
    value: str = "correct",
    level: float = LEVEL,
) -> pd.DataFrame:
    """The mean of a column per cell, such as ``rt_ms``; for ``correct`` this is :func:`accuracy`.
    Rows without a value are in no cell."""
    scored = responses if isinstance(responses, Scored) else score_table(responses)
    return averages_of(unit_means(scored, by, who=who, value=value), value, level=level)


def averages_of(cells: Cells, value: str = "correct", *, level: float = LEVEL) -> pd.DataFrame:
    """The table of :func:`averages` from units in cells."""
    rows = []
    for number, key in enumerate(records(cells.keys)):
        row = key | summary_of(cells, number, level=level, proportion=value == "correct")
        row |= {name: counts[number] for name, counts in cells.counts.items()} | {
            "chance": cells.chance[number] if value == "correct" else np.nan
        }
        rows.append(row)
    return curve_frame(rows, [*cells.keys.columns, *(name for name in CURVE_COLUMNS if name not in WHO)])


@dataclass(frozen=True)
class Averages:
    """Estimator of the mean of a column in each cell.

    Parameters
    ----------
    value : the column, such as ``correct`` or ``rt_ms``
    guessing : what somebody who guesses has on average, where the record does not give it
    without : a column of prepared items, with what somebody gets right of them who lacks one thing;
        a line of its own in figures, called as the column is
    without_label : who that is, in words
    """

    value: str = "correct"
    guessing: float | None = None
    without: str = ""
    without_label: str = ""

    def cells(self, scored: Scored, by: Sequence[str], who: Sequence[str]) -> dict[str, Cells]:
        """The cells of the column, and of that of :attr:`without` where it is known."""
        cells = {"": unit_means(scored, by, who=who, value=self.value)}
        if self.without and self.without in scored.items.columns and scored.items[self.without].notna().any():
            cells[self.without] = unit_means(scored, by, who=who, value=self.without)
        return cells

    def table(self, cells: Mapping[str, Cells], *, level: float = LEVEL) -> pd.DataFrame:
        """The table of :func:`averages`, with :attr:`without` beside it."""
        table = averages_of(cells[""], self.value, level=level)
        if self.guessing is not None:
            table = table.assign(chance=self.guessing)
        if self.without not in cells or not self.without:
            return table
        keys, lacking = cells[""].keys, cells[self.without]
        means = lacking.keys.assign(**{self.without: [lacking.mean(cell) for cell in range(len(lacking.keys))]})
        return table.merge(means, on=[*keys.columns], how="left")


def overall(responses: pd.DataFrame | Scored, **options: object) -> pd.DataFrame:
    """Proportion correct over everything an agent answered in a paradigm; see :func:`accuracy`."""
    return accuracy(responses, (), **options)  # type: ignore[arg-type]


@dataclass(frozen=True)
class EndsOfLists(Averages):
    """Estimator of how far an end of a list stands out from its middle: the mean of trials.

    Of people (and sessions) who are nearly always right, or wrong, standard error and interval are
    those of the difference of two shares (:func:`.contrast`): Student's held in 89% of samples.
    """

    def cells(self, scored: Scored, by: Sequence[str], who: Sequence[str]) -> dict[str, Cells]:
        """The cells of the difference, and of both shares."""
        return {name or "": unit_means(scored, by, who=who, value=name or self.value) for name in ("", "end", "middle")}

    def table(self, cells: Mapping[str, Cells], *, level: float = LEVEL) -> pd.DataFrame:
        """The table of :func:`averages`."""
        rows = []
        for number, row in enumerate(records(super().table(cells, level=level))):
            if row["interval"] == "t":
                apart = self.difference(cells, number, level)
                row |= {"sem": apart.se} | dict(zip(("low", "high"), apart.ends(), strict=True))
            rows.append(row)
        return curve_frame(rows, [*cells[""].keys.columns, *(name for name in CURVE_COLUMNS if name not in WHO)])

    def difference(self, cells: Mapping[str, Cells], number: int, level: float = LEVEL) -> Contrast:
        """How far an end of one cell stands out: the mean over units, or where its standard error is
        larger, or shares are near 0 or 1, the difference of both shares."""
        plain = replace(contrast_of(cells[""], [number], np.ones(1), level=level), span=(-1.0, 1.0))
        if cells[""].unit[number] == "trial" and not cells[""].told_apart[number]:
            return replace(plain, se=math.nan)
        if not plain.se > 0 or cells[""].of_trials([number]) is not None:
            return plain
        parts = cells["end"], cells["middle"]
        length = float(cells[""].keys["list_length"].iloc[number])
        answers = np.array([answers_of(part, number) for part in parts]) * [1, length - 2]
        values, ids, many = (
            [column[number] for column in of_both] for of_both in zip(*map(_units, parts), strict=True)
        )
        apart = contrast(values, ids, np.array([1.0, -1.0]), many=many, level=level, answers=answers)
        if apart.skewed is None and apart.se <= plain.se * (1 + 1e-9):
            return plain
        wider = plain if plain.se > apart.se else apart
        return replace(apart, span=(-1.0, 1.0), se=wider.se, df=wider.df)


def _units(cells: Cells) -> tuple[Sequence[np.ndarray], ...]:
    return cells.values, cells.ids, cells.many


def primacy_recency(
    responses: pd.DataFrame | Scored, *, who: Sequence[str] = WHO, level: float = LEVEL
) -> pd.DataFrame:
    """Primacy and recency: how much better the first and the last item of a list are recalled than
    its middle.

    SpanLab's own simple indices of the two ends of the serial position curve (described by Murdock,
    1962, Journal of Experimental Psychology 64, 482-488)::

        primacy = correct(position 1) - mean correct(positions 2 .. L-1)
        recency = correct(position L) - mean correct(positions 2 .. L-1)        for lists of L >= 3

    Each is computed within a trial that has all L positions, then averaged as in :func:`accuracy`.
    Zero means no effect; the range is -1 to 1.

    Returns
    -------
    pandas.DataFrame
        ``who``, ``list_length``, ``index`` (primacy or recency), ``unit``, ``n_units``,
        ``n_trials``, ``mean``, ``sem``, ``low``, ``high``, ``interval``, ``note`` and ``tested``: the
        difference of the two shares, as :class:`.Contrast`.
    """
    scored = responses if isinstance(responses, Scored) else score_table(responses)
    columns = ["unit", "n_units", "n_trials", "mean", "sem", "low", "high", "interval", "note", "tested"]
    estimator = EndsOfLists("stands_out", guessing=0.0)
    cells = estimator.cells(Scored(list_ends(scored.items), scored.intrusions, ()), ("list_length", "index"), who)
    tested: Any = [estimator.difference(cells, number, level) for number in range(len(cells[""].keys))]
    table = estimator.table(cells, level=level).assign(tested=tested)
    return table[[*who, "list_length", "index", *columns]]


def list_ends(items: pd.DataFrame) -> pd.DataFrame:
    """Two rows for each trial that has all positions of a list of 3 or more, one for each ``index``
    (primacy, recency): the share of right answers at that ``end`` and in the ``middle``, and how far
    the end ``stands_out``."""
    items = items[(items["list_length"] >= 3) & items["serial_position"].notna()]
    numbered = bool((items["unit_trial"] >= 0).all())
    trial = (
        ["unit_trial"]
        if numbered
        else ["paradigm", "agent_kind", "agent", "participant", "session", "unit_trial", "list_length"]
    )
    number, first = groups(items, trial)
    correct, place, length = (items[name].to_numpy(float) for name in ("correct", "serial_position", "list_length"))

    def mean(rows: np.ndarray) -> np.ndarray:
        with np.errstate(invalid="ignore"):
            return np.bincount(number[rows], weights=correct[rows], minlength=len(first)) / np.bincount(
                number[rows], minlength=len(first)
            )

    at_start, at_end = place == 1, place == length
    middle = mean(~at_start & ~at_end)
    span = int(place.max(initial=0)) + 1
    positions = np.bincount(pd.unique(number * span + place.astype(np.int64)) // span, minlength=len(first))
    whole = positions == length[first]
    trials = items.iloc[first].assign(middle=middle)[whole]
    ends = {"primacy": mean(at_start)[whole], "recency": mean(at_end)[whole]}
    return pd.concat(
        [trials.assign(index=index, end=end, stands_out=end - middle[whole]) for index, end in ends.items()],
        ignore_index=True,
    )


def intrusions(
    responses: pd.DataFrame | Scored, by: Sequence[str] = ("list_length",), *, who: Sequence[str] = WHO
) -> pd.DataFrame:
    """Answers that were not asked for, per trial (free recall).

    Returns
    -------
    pandas.DataFrame
        ``who``, ``by``, ``n_trials``, ``n_intrusions``, ``per_trial``; only agents of paradigms in
        which somebody intruded. Trials without one count as zero.
    """
    scored = responses if isinstance(responses, Scored) else score_table(responses)
    wrong, items = scored.intrusions, scored.items
    keys = [*who, *by]
    table = pd.DataFrame(columns=[*keys, "n_trials", "n_intrusions"])
    if len(wrong):
        items = items[items["paradigm"].isin(wrong["paradigm"].unique())].dropna(subset=list(by))
        counts = wrong.groupby(keys, sort=True).size().rename("n_intrusions")
        trials = items.groupby(keys, sort=True)["unit_trial"].nunique().rename("n_trials")
        table = pd.concat([trials, counts], axis=1).reset_index() if len(trials) else table
    table["n_intrusions"] = table["n_intrusions"].fillna(0).astype(int)
    table["per_trial"] = table["n_intrusions"] / table["n_trials"]
    return _whole(table)


def unplaced(responses: pd.DataFrame | Scored, by: Sequence[str]) -> int:
    """Return how many scored items have no value in one of the columns ``by`` and are therefore in
    no cell."""
    scored = responses if isinstance(responses, Scored) else score_table(responses)
    return int(scored.items[list(by)].isna().any(axis=1).sum())


def summary_of(cells: Cells, number: int, *, level: float = LEVEL, proportion: bool = True) -> dict[str, object]:
    """Mean, s.e.m. and interval of one of some cells, with a note where there is something to say
    about them."""
    unit = cells.unit[number]
    mean = contrast_of(cells, [number], np.ones(1), shares=proportion, level=level)
    return described(mean, unit, unit != "trial" or bool(cells.told_apart[number]))


def described(mean: Contrast, unit: str, told_apart: bool = True) -> dict[str, object]:
    """A mean as a row of a curve table."""
    low, high = mean.ends() if told_apart else (math.nan, math.nan)
    row: dict[str, object] = {"unit": unit, "n_units": mean.n, "mean": mean.value, "sem": mean.se}
    interval, note = "none", ""
    if not told_apart:
        row |= {"unit": "", "n_units": 1, "sem": math.nan}
        note = "no trial numbers: no interval"
    elif mean.n < 2:
        note = f"one {unit}: no interval" if mean.n else ""
    elif low != low:
        note = f"no spread over {plural(mean.n, unit)}: no interval"
    else:
        interval = mean.interval
        note = f"only {plural(mean.n, unit)}: rough interval" if mean.n < FEW else ""
    if interval == "exact":
        note = f"all {plural(mean.n, unit)} at {mean.value:.0%}: exact limit"
    return row | {"low": low, "high": high, "interval": interval, "note": note}


def curve_frame(rows: list[dict[str, object]], columns: list[str]) -> pd.DataFrame:
    """Rows as a table with these columns; columns of whole numbers stay whole numbers."""
    return _whole(pd.DataFrame(rows, columns=columns))


def _whole(table: pd.DataFrame) -> pd.DataFrame:
    names = ("list_length", "set_size", "serial_position", "n_units", "n_trials", "n_items", "n_omitted", "n_invalid")
    return with_whole(table, names)
