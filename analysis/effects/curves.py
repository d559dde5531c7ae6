"""Curve tables: accuracy by serial position, by set size and overall; primacy and recency;
intrusions. Pure functions of the response table.

Averages are taken first within each trial, then within each participant, then across participants,
so long lists and long sessions do not outweigh short ones. The units of standard errors and
intervals are the participants when an agent is several people, the sessions when a machine has
taken several, and else the trials; never the rows within a trial.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
import pandas as pd

from ...human_data import published
from ..data.coding import groups, records, with_whole
from ..data.scoring import WHO, Scored, as_scored, plural
from ..data.style import GROUP_MEANS
from ..inference import Claim, claim_of, claimed
from ..means.bootstrap import FEW, LEVEL
from ..means.cell_means import Cells, unit_means
from ..means.contrasts import Contrast, answers_of, contrast, contrast_of
from ..means.over_people import Each

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
        a value there are in no cell
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
    return averages_of(unit_means(as_scored(responses), by, who=who, value=value), value, level=level)


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


#: Shares of right answers that differ by less are said to be the same.
_SAME = 0.005


@dataclass(frozen=True)
class Guessing:
    """The recorded accuracies of guessing over some answers: means of ``chance`` and ``blind``, and the
    extremes of the latter; NaN where they are not known."""

    chance: float = math.nan
    blind: float = math.nan
    lowest: float = math.nan
    highest: float = math.nan

    @classmethod
    def of(cls, items: pd.DataFrame) -> Guessing:
        """Those of scored items."""
        if not {"blind", "chance"} <= {*items.columns}:
            return cls()
        chance, right = items["chance"].to_numpy(float), items["blind"].to_numpy(float)
        known = np.isfinite(chance) & np.isfinite(right)
        if not known.any():
            return cls()
        chance, right = chance[known], right[known]
        return cls(float(chance.mean()), float(right.mean()), float(right.min()), float(right.max()))

    @property
    def sentence(self) -> str:
        """The sentence for figures and reports; empty where nobody guesses better than chance."""
        if not self.blind > self.chance + _SAME:
            return ""
        spread = f" ({self.lowest:.0%} to {self.highest:.0%}, by question)"
        spread = spread if round(self.highest, 2) > round(self.lowest, 2) else ""
        return (
            f"The chance line is a uniform guess among the allowed answers ({self.chance:.0%}). Somebody who sees"
            " nothing, but knows how trials are made and always gives the most frequent answer, is right in"
            f" {self.blind:.0%}{spread}: memory begins above that."
        )


@dataclass(frozen=True)
class Evidence:
    """The evidence for an effect in a paradigm.

    Parameters
    ----------
    items : scored answers
    blocks : whether they are of N-back blocks
    there : of the columns that the effect needs, those that have a value somewhere
    conditions : what there is along its axis
    valued : whether there is something to average
    lost : rows that are in no cell
    guessed : what the record tells of guessing
    cells : by name (an average has one, without a name); empty where there is no such effect, or
        where they were not asked for
    """

    items: int = 0
    blocks: bool = False
    there: frozenset[str] = frozenset()
    conditions: frozenset[Any] = frozenset()
    valued: bool = False
    lost: int = 0
    guessed: Guessing = Guessing()
    cells: Mapping[str, Cells] = field(default_factory=dict)


class Estimator(Protocol):
    """How the numbers of an effect come from its rows. One object stands for it in the declaration
    (:class:`.Averages`, :class:`.sensitivity.Sensitivity`, :class:`.capacity.Capacity`, or one of your own,
    which must be hashable).
    """

    @property
    def value(self) -> str:
        """The column that rows must have a value in."""
        ...

    def cells(self, scored: Scored, by: Sequence[str], who: Sequence[str]) -> Mapping[str, Cells]:
        """The cells of an effect from prepared rows, by name; those of its curves have no name.

        Parameters
        ----------
        by : columns that span the cells: panels, then the horizontal axis
        who : columns that tell answerers apart
        """
        ...

    def table(self, cells: Mapping[str, Cells], *, level: float = LEVEL) -> pd.DataFrame:
        """The tidy table from the cells."""
        ...


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
        ``n_trials``, ``mean``, ``sem``, ``low``, ``high``, ``interval``, ``note`` and ``claim``: the
        difference of the two shares, told from 0.
    """
    scored = as_scored(responses)
    columns = ["unit", "n_units", "n_trials", "mean", "sem", "low", "high", "interval", "note", "claim"]
    estimator = EndsOfLists("stands_out", guessing=0.0)
    cells = estimator.cells(Scored(list_ends(scored.items), scored.intrusions, ()), ("list_length", "index"), who)
    whole, claims = cells[""], list[Claim]()
    for number, row in enumerate(records(whole.keys)):
        of, unit = estimator.difference(cells, number, level), whole.unit[number]
        distinct = unit != "trial" or bool(whole.distinct[number])
        claim = claimed("effect", row, of, unit, null=0.0, distinct=distinct)
        several = unit in ("participant", "session")
        claims.append(replace(claim, each=Each.of(whole, [number], np.ones(1), False)) if several else claim)
    return estimator.table(cells, level=level).assign(claim=pd.Series(claims, dtype=object))[
        [*who, "list_length", "index", *columns]
    ]


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
    scored = as_scored(responses)
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


def summary_of(cells: Cells, number: int, *, level: float = LEVEL, proportion: bool = True) -> dict[str, object]:
    """Mean, s.e.m. and interval of one of some cells, with a note where there is something to say
    about them."""
    rule = "share" if proportion else "mean"
    return described(claim_of(rule, cells, [number], np.ones(1), who={}, shares=proportion), level)


def described(claim: Claim, level: float = LEVEL) -> dict[str, object]:
    """The claim of a mean as a row of a curve table."""
    mean, note = claim.of, claim.note
    assert isinstance(mean, Contrast)
    low, high = claim.interval if level == LEVEL else mean.ends(level)
    if mean.interval == "exact":
        note = f"all {plural(mean.n, claim.unit)} at {mean.value:.0%}: exact limit"
    elif mean.interval != "none" and mean.n < FEW:
        note = f"only {plural(mean.n, claim.unit)}: rough interval"
    row: dict[str, object] = {"unit": claim.unit, "n_units": claim.n, "mean": claim.value, "sem": mean.se}
    return row | {"low": low, "high": high, "interval": mean.interval, "note": note}


def curve_frame(rows: list[dict[str, object]], columns: list[str]) -> pd.DataFrame:
    """Rows as a table with these columns; columns of whole numbers stay whole numbers."""
    return _whole(pd.DataFrame(rows, columns=columns))


def _whole(table: pd.DataFrame) -> pd.DataFrame:
    return with_whole(
        table,
        ("list_length", "set_size", "serial_position", "n_units", "n_trials", "n_items", "n_omitted", "n_invalid"),
    )


# Published people


def published_curve(paradigm: str, by: Sequence[str]) -> pd.DataFrame:
    """Published accuracies of people over ``by``, as a curve table.

    ``agent`` is the study (``Avons 1998 (people)``), ``agent_kind`` is ``published``; nothing is
    known of n, s.e.m., interval or chance, so these are empty. Points that were printed in finer
    cells are averaged, and ``note`` says so.

    Returns
    -------
    pandas.DataFrame
        empty when there are no digitised numbers for the paradigm, or none over ``by``.
    """
    return _curve(paradigm, tuple(by)).copy()


@functools.lru_cache(maxsize=256)
def _curve(paradigm: str, by: tuple[str, ...]) -> pd.DataFrame:
    columns = [*WHO, *by, *(name for name in CURVE_COLUMNS if name not in WHO)]
    points = published(paradigm)
    points = points.dropna(subset=list(by)) if set(by) <= set(points.columns) else points.iloc[0:0]
    rows = []
    for key, cell in points.groupby(["study", *by], sort=True) if len(points) else ():
        note = "group mean, digitised from a printed figure"
        if len(cell) > 1:
            note += f"; average of {len(cell)} printed points"
        who = {"paradigm": paradigm, "agent_kind": GROUP_MEANS, "agent": f"{key[0]} (people)", "oracle": False}
        rows.append(
            who
            | dict(zip(by, key[1:], strict=True))
            | {
                "unit": "",
                "mean": cell["accuracy"].mean(),
                "interval": "none",
                "note": note,
            }
        )
    table = pd.DataFrame(rows, columns=columns)
    counted = (
        "list_length",
        "set_size",
        "serial_position",
        "retention_steps",
        "n_units",
        "n_trials",
        "n_items",
        "n_omitted",
        "n_invalid",
    )
    return with_whole(table.astype(dict.fromkeys(("mean", "sem", "low", "high", "chance"), "float64")), counted)


def sources(paradigm: str) -> list[tuple[str, str]]:
    """Study and reference of every published curve of a paradigm."""
    return list(published(paradigm)[["study", "source"]].drop_duplicates().itertuples(index=False, name=None))
