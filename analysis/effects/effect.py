"""A memory effect: from scored items to a tidy table and its notes. All effects are listed in
:mod:`.registry`.

Published human curves come in the shape of its tables."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ...human_data import published
from ...sessions.record.columns import FURTHER
from ..data.coding import coded, decoded, numbers, with_whole
from ..data.scoring import WHO, Scored, plural, score_table
from ..data.style import GROUP_MEANS
from .curves import CURVE_COLUMNS, Averages
from .evidence import Estimator, Evidence, Guessing
from .sensitivity import Sensitivity


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


#: Names of conditions in the order in which figures show them.
Order = tuple[str, ...]


_SHARE_OF_RIGHT_ANSWERS = Averages()


@dataclass(frozen=True)
class Effect:
    """The declaration of an effect: the rows, the axes and the words of its figure. Its numbers are
    computed by its estimator.

    Parameters
    ----------
    name : as ``spanlab figure`` knows it
    title : of its figure, after the paradigm's
    x, x_title : the column along the horizontal axis, and what it is called there
    method : how it is computed, in plain sentences
    paradigms : of the library, that have it; for the documentation, and for sentences on what is
        lacking
    panels : columns of which every combination has a panel of its own
    needs : further columns without which there is no effect
    prepare : from scored items to the rows that the estimator gets; as they are when not given
    estimator : computes the numbers; means of right answers when not given
    measure : what the vertical axis says
    order : of the conditions, where the horizontal axis has names and no numbers
    differences : of such conditions, each with its name: the first condition minus the second
    panel_order : of the panels, where they have names
    panel_labels : how the value of each panel column is said; ``{}`` stands for it
    human : whether published human curves are put beside it
    blocks : whether it is of N-back blocks, too, which have figures of their own
    by_choice : whether its axis is something that those who answer choose, and no condition that
        they are in
    alone : whether it says something of a single condition, too
    """

    name: str
    title: str
    x: str
    x_title: str
    method: str
    paradigms: tuple[str, ...] = ()
    panels: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    prepare: Callable[[Scored], Scored] | None = None
    estimator: Estimator = _SHARE_OF_RIGHT_ANSWERS
    measure: str = "correct"
    order: Order = ()
    differences: tuple[tuple[str, str, str], ...] = ()
    panel_order: Order = ()
    panel_labels: tuple[str, ...] = ()
    human: bool = True
    blocks: bool = False
    by_choice: bool = False
    alone: bool = False

    @property
    def by(self) -> tuple[str, ...]:
        """The columns that span its cells: panels, then the horizontal axis."""
        return (*self.panels, self.x)

    @property
    def value(self) -> str:
        """The column that its estimator needs a value in, such as ``correct`` or ``rt_ms``."""
        return self.estimator.value

    @property
    def averages(self) -> Averages | None:
        """Its estimator where that is the mean of a column in each cell; None for other measures."""
        return self.estimator if isinstance(self.estimator, Averages) else None

    @property
    def without(self) -> str:
        """The column of its table with what somebody gets right who lacks one thing; empty where there is none."""
        return self.averages.without if self.averages else ""

    @property
    def sensitivity(self) -> Sensitivity | None:
        """Its estimator where that gives measures of signal detection; None for others."""
        return self.estimator if isinstance(self.estimator, Sensitivity) else None

    @property
    def against_chance(self) -> bool:
        """True if its curves are shares of right answers, item by item, which guessing alone may
        reach."""
        return self.value == "correct" and self.measure == "correct"

    def applies(self, responses: pd.DataFrame | Scored) -> list[str]:
        """The paradigms among the responses that show this effect: they have its columns, and more
        than one condition along its axis."""
        scored = _scored(responses)
        return [name for name in scored.parts if not self.missing(scored, name)]

    def missing(self, responses: pd.DataFrame | Scored, paradigm: str) -> str:
        """Return why a paradigm does not show this effect, in a sentence; empty when it does."""
        return self._lacking(self.evidence(responses, paradigm, cells=False), paradigm)

    def lacking(self, responses: pd.DataFrame | Scored, paradigm: str) -> tuple[str, ...]:
        """The columns of this effect in which a paradigm has no values."""
        there = self.evidence(responses, paradigm, cells=False).there
        return tuple(name for name in self.needs if name not in there)

    def _lacking(self, evidence: Evidence, paradigm: str) -> str:
        if not evidence.items:
            return f"{paradigm} has no scored answers."
        if evidence.blocks:
            return f"{paradigm} is an N-back paradigm, which has figures of its own."
        lacking = [name for name in self.needs if name not in evidence.there]
        if lacking:
            return f"{paradigm} has no {' and no '.join(lacking)}."
        if len(evidence.conditions) < (1 if self.alone else 2):
            absent = f"no {self.x_title}" if self.x not in evidence.there else "no answers that this figure can use"
            about = " that this figure can use" if self.prepare else ""
            many = (
                f"only one value of {self.x_title}{about} ({_plain(next(iter(evidence.conditions)))})"
                if evidence.conditions
                else absent
            )
            return f"{paradigm} has {many}, so there is nothing to compare."
        return "" if evidence.valued else f"{paradigm} has no {self.measure}."

    def evidence(
        self, responses: pd.DataFrame | Scored, paradigm: str, *, who: Sequence[str] = WHO, cells: bool = True
    ) -> Evidence:
        """The evidence for this effect in all responses to one paradigm.

        Parameters
        ----------
        who : columns that tell answerers apart
        cells : whether its cells are asked for, or only whether there is such an effect
        """
        scored = _scored(responses)
        key = (self, paradigm, tuple(who))
        cells = cells or (*key, True) in scored.known  # with its cells it tells all that it tells without them
        return scored.once((*key, cells), lambda: self._evidence(scored.parts.get(paradigm), who, cells))

    def _evidence(self, scored: Scored | None, who: Sequence[str], cells: bool) -> Evidence:
        """Gather what :meth:`evidence` returns."""
        if scored is None or not len(scored.items):
            return Evidence()
        if not self.blocks and scored.blocks:
            return Evidence(len(scored.items), blocks=True)
        there = frozenset(
            name for name in self.needs if name in scored.items.columns and scored.items[name].notna().any()
        )
        if len(there) < len(self.needs):
            return Evidence(len(scored.items), there=there)
        ready = self.prepared(scored)
        items = ready.items
        conditions = coded(items[self.x])[1] if self.x in items.columns else []
        valued = self.value in items.columns and bool(items[self.value].notna().any())
        gaps = [
            items[name].isna().to_numpy()
            for name in (*self.by, self.value)
            if name in items.columns and items[name].hasnans
        ]
        lost = int(np.any(gaps, axis=0).sum()) if gaps and self.averages else 0
        made = self.estimator.cells(ready, self.by, who) if cells and valued and conditions else {}
        guessed = Guessing.of(scored.items) if self.against_chance else Guessing()
        return Evidence(len(scored.items), False, there, frozenset(conditions), valued, lost, guessed, made)

    def table(
        self, responses: pd.DataFrame | Scored, paradigm: str, *, human: str | None = None, **options: Any
    ) -> pd.DataFrame:
        """The tidy table of the effect in one paradigm.

        Parameters
        ----------
        responses : a response table, or one that :func:`.score_table` has sorted
        human : name of the published human data that belong to it; the paradigm's name when not
            given, no people when empty
        options : ``who`` and ``level``, as in :func:`.accuracy`

        Returns
        -------
        pandas.DataFrame
            who, the columns of :attr:`by`, ``mean``, ``sem``, ``low``, ``high``, ``chance``,
            ``unit``, ``n_units``, counts and ``note``, and what the estimator adds;
            empty, with the same columns, where the effect does not apply. Published people are rows
            whose ``agent_kind`` is ``group means``.
        """
        scored = _scored(responses)
        if options:
            return self._computed(scored, paradigm, human, **options)
        return scored.once(("table", self, paradigm, human), lambda: self._computed(scored, paradigm, human)).copy()

    def _computed(
        self, scored: Scored, paradigm: str, human: str | None, who: Sequence[str] = WHO, **options: Any
    ) -> pd.DataFrame:
        """Compute the table that :meth:`table` returns."""
        evidence = self.evidence(scored, paradigm, who=who)
        if self._lacking(evidence, paradigm):
            return published_curve("", self.by)
        table = self.estimator.table(evidence.cells, **options)
        if not self.human:
            return table
        printed = published_curve(paradigm if human is None else human, self.by).assign(paradigm=paradigm)
        for name in self.panels:
            printed = printed[printed[name].isin(table[name].unique())]
        return pd.concat([table, printed], ignore_index=True) if len(printed) else table

    def notes(self, responses: pd.DataFrame | Scored, paradigm: str, table: pd.DataFrame) -> list[str]:
        """Notes on a table: items in no cell, few units, missing people."""
        evidence = self.evidence(responses, paradigm, cells=False)
        missing = self._lacking(evidence, paradigm)
        if missing:
            return [missing]
        notes = []
        if evidence.lost and self.value == "correct":
            notes.append(f"{plural(evidence.lost, 'item')} without {self.x_title} left out.")
        if self.sensitivity is not None:
            scored = _scored(responses)
            notes += filter(None, [self.sensitivity.meaning(self.prepared(scored.parts[paradigm]))])
        individual_rows = table[table["agent_kind"] != GROUP_MEANS]
        rough = int(
            (individual_rows["interval"].eq("none") | individual_rows["note"].fillna("").str.startswith("only ")).sum()
        )
        if rough:
            have = "has" if rough == 1 else "have"
            notes.append(
                f"{rough} of {plural(len(individual_rows), 'point')} {have} a rough interval or none; the table says"
                " which."
            )
        if self.human and len(individual_rows) == len(table):
            notes.append("No digitised human data are published for these conditions.")
        return [*notes, *filter(None, [evidence.guessed.sentence])]

    def panel(self, row: Mapping[Any, Any]) -> str:
        """The name of the panel to which a row of the table belongs."""
        formats = self.panel_labels or ("{}",) * len(self.panels)
        return ", ".join(_format_value(words, row[name]) for words, name in zip(formats, self.panels, strict=True))

    def prepared(self, scored: Scored) -> Scored:
        """Scored items of one paradigm with the columns of this effect, ready to be averaged; the
        same ones for the same items, so that what was computed from them is known."""
        return scored.once(("prepared", self), lambda: self._prepared(scored))

    def _prepared(self, scored: Scored) -> Scored:
        """Make what :meth:`prepared` returns."""
        items = scored.items
        plain = {
            name: decoded(items[name])
            for name in (*self.by, *self.needs)
            if name.startswith(FURTHER) and name in items.columns
        }
        scored = Scored(items.assign(**plain), scored.intrusions, ()) if plain else scored
        ready = self.prepare(scored) if self.prepare else scored
        if self.order or self.x not in ready.items.columns:
            return ready
        axis = ready.items[self.x]
        place = axis.to_numpy(float) if axis.dtype.kind in "if" else numbers(axis)
        lost = (
            ~np.isfinite(place) & axis.notna().to_numpy()
        )  # words, and what is endless, have no place along an axis of numbers
        return (
            Scored(ready.items.assign(**{self.x: np.where(lost, np.nan, place)}), ready.intrusions, ready.notes)
            if lost.any()
            else ready
        )


def _plain(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _format_value(words: str, value: Any) -> str:
    text = words.format(_plain(value))
    return text.replace("1 items", "1 item").replace(" 1 items", " 1 item") if text.startswith("1 items") else text


def _scored(responses: pd.DataFrame | Scored) -> Scored:
    return responses if isinstance(responses, Scored) else score_table(responses)


def ready(effect: Effect, responses: pd.DataFrame | Scored, paradigm: str) -> Scored:
    """The rows of one paradigm that an effect is averaged over."""
    scored = _scored(responses)
    return effect.prepared(scored.parts[paradigm])
