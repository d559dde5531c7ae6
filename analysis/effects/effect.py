"""A memory effect: from scored items to a tidy table and its notes, and its size with tests: the slope
along its axis, or the differences between its conditions (switch cost, mixing cost, conflict). All
effects are listed in :mod:`.registry`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from typing_extensions import override

from ...core.errors import in_number
from ...sessions.record.table import FURTHER
from ..data.coding import coded, decoded, numbers, records
from ..data.scoring import WHO, Scored, as_scored, plural
from ..data.style import GROUP_MEANS
from ..data.unread import testable, withheld_cells
from ..inference import Claim, Margin, claim_of, claimed, judged
from ..means.cell_means import Cells
from ..means.contrasts import Contrast
from .curves import Averages, Estimator, Evidence, Guessing, published_curve
from .sensitivity import RATES, Sensitivity

#: Names of conditions in the order in which figures show them.
Order = tuple[Any, ...]


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
    instead : the effect that shows the same of data without its columns
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
    differences: tuple[tuple[str, Any, Any], ...] = ()
    panel_order: Order = ()
    panel_labels: tuple[str, ...] = ()
    human: bool = True
    blocks: bool = False
    by_choice: bool = False
    alone: bool = False
    instead: Effect | None = None

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
        scored = as_scored(responses)
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
        scored = as_scored(responses)
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
        scored = as_scored(responses)
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
            scored = as_scored(responses)
            notes += filter(None, [self.sensitivity.meaning(self.prepared(scored.parts[paradigm]))])
        own_rows = table[table["agent_kind"] != GROUP_MEANS]
        rough = int((own_rows["interval"].eq("none") | own_rows["note"].fillna("").str.startswith("only ")).sum())
        if rough:
            have = in_number(rough, "has", "have")
            notes.append(
                f"{rough} of {plural(len(own_rows), 'point')} {have} a rough interval or none; the table says which."
            )
        if self.human and len(own_rows) == len(table):
            notes.append("No digitised human data are published for these conditions.")
        return [*notes, *filter(None, [evidence.guessed.sentence])]

    def panel(self, row: Mapping[Any, Any]) -> str:
        """The name of the panel to which a row of the table belongs."""
        formats = self.panel_labels or ("{}",) * len(self.panels)
        return ", ".join(_format_value(words, row[name]) for words, name in zip(formats, self.panels, strict=True))

    def prepared(self, scored: Scored) -> Scored:
        """Scored items of one paradigm with the columns of this effect, ready to be averaged; the
        same ones for the same items, so that what was computed from them is known, unless the effect
        makes rows of its own: those take several times the memory."""
        return (
            self._prepared(scored) if self.prepare else scored.once(("prepared", self), lambda: self._prepared(scored))
        )

    def _prepared(self, scored: Scored) -> Scored:
        """Make what :meth:`prepared` returns."""
        scored = scored.about((*self.by, *self.needs))
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


def ready(effect: Effect, responses: pd.DataFrame | Scored, paradigm: str) -> Scored:
    """The rows of one paradigm that an effect is averaged over."""
    return effect.prepared(as_scored(responses).parts[paradigm])


# Slopes and differences: weighted sums of the means of cells, told from what guessing gives

#: Columns of a table of contrasts after who and the panels.
TREND_COLUMNS = (
    "contrast",
    "value",
    "se",
    "low",
    "high",
    "guessing",
    "t",
    "df",
    "p",
    "unit",
    "n_units",
    "conditions",
    "note",
)
#: With fewer people than this, d' of unequal numbers of questions is not tested: of four, the t
#: test rejects in 9 of 100 where there is nothing.
_FEWEST_UNEQUAL = 8
#: Of more panels not every two are compared.
MOST_PANELS = 4


@dataclass(frozen=True)
class Tested:
    """A slope or difference: where it is (who, the panel), what it is called, over how many conditions,
    and the claim; ``remark`` says at how many questions d′ is compared."""

    where: Mapping[str, Any]
    contrast: str
    conditions: int
    claim: Claim
    remark: str = ""

    @property
    def row(self) -> dict[str, Any]:
        """Its row of a table."""
        claim, of = self.claim, self.claim.of
        assert isinstance(of, Contrast)
        note = f"{claim.note}, no test" if claim.note else ""
        row = {"contrast": self.contrast, "value": claim.value, "guessing": claim.null}
        row |= dict.fromkeys(("se", "low", "high", "t", "df", "p"), math.nan)
        row |= {"unit": claim.unit, "n_units": claim.n, "conditions": self.conditions}
        row |= {"note": "; ".join(filter(None, (self.remark, note))), "tested": of}
        if claim.note:
            return {**self.where, **row}
        low, high = claim.interval
        test = {} if math.isnan(claim.null) else of.against(claim.null) | {"p": claim.p}
        return {**self.where, **row, "se": of.se, "df": of.df, "low": low, "high": high, **test}


def tested(effect: Effect, responses: pd.DataFrame | Scored, paradigm: str) -> list[Tested]:
    """For each answerer and panel of an effect: its slope (per unit of its axis) or its differences;
    none where the effect does not apply, or is not an average."""
    return [
        source.tested(
            dict(zip([*WHO, *effect.panels], key, strict=True)), name, len(line), [line[at] for at in weights], weights
        )
        for source in _found(effect, responses, paradigm)
        for key, line in source.lines().items()
        for name, weights in _weights(effect, line).items()
    ]


def trends(
    effect: Effect, responses: pd.DataFrame | Scored, paradigm: str, *, margin: Margin | None = None
) -> pd.DataFrame:
    """The table of :func:`tested`.

    Returns
    -------
    pandas.DataFrame
        who, the panels, then :data:`TREND_COLUMNS`, and with a margin :data:`.MARGIN_COLUMNS`
    """
    return table_of(tested(effect, responses, paradigm), effect.panels, margin)


def between_panels(
    effect: Effect, responses: pd.DataFrame | Scored, paradigm: str, *, margin: Margin | None = None
) -> pd.DataFrame:
    """For each answerer and pair of panels: how much their means differ over the conditions that
    both have, and how much their slopes (along numbers) or declared differences do.

    Returns
    -------
    pandas.DataFrame
        who, then :data:`TREND_COLUMNS`, where ``contrast`` names the panels; empty where the effect
        does not apply or has more than :data:`MOST_PANELS`.
    """
    found = []
    for source in _found(effect, responses, paradigm):
        panels: dict[tuple[Any, ...], dict[tuple[Any, ...], dict[Any, Any]]] = {}
        for key, line in source.lines().items():
            panels.setdefault(key[: len(WHO)], {})[key[len(WHO) :]] = line
        for who, ones in ((who, ones) for who, ones in panels.items() if 2 <= len(ones) <= MOST_PANELS):
            for (one, first), (other, second) in combinations(ones.items(), 2):
                both = sorted(first.keys() & second.keys(), key=str if effect.order else float)
                if not both:
                    continue
                asked = {"mean": dict.fromkeys(both, 1 / len(both))}
                asked |= _weights(effect, {place: first[place] for place in both})
                names = [
                    ", ".join(str(value) for value in panel if not effect.sensitivity or value != source.measured)
                    for panel in (one, other)
                ]
                for what, weights in asked.items():
                    places = [line[at] for line in (first, second) for at in weights]
                    signed = {(sign, at): sign * one for sign in (1, -1) for at, one in weights.items()}
                    name = f"{what}, {names[0]} minus {names[1]}"
                    found.append(source.tested(dict(zip(WHO, who, strict=True)), name, len(both), places, signed))
    return table_of(found, (), margin)


def table_of(found: Sequence[Tested], panels: Sequence[str], margin: Margin | None = None) -> pd.DataFrame:
    """Slopes and differences as a table."""
    table = pd.DataFrame([one.row for one in found], columns=[*WHO, *panels, *TREND_COLUMNS, "tested"])
    return (table if margin is None else judged(table, margin)).drop(columns="tested")


def _found(effect: Effect, responses: pd.DataFrame | Scored, paradigm: str) -> list[_Averages]:
    """Return the sources of contrasts: nothing where the effect does not apply, or is neither an
    average nor a sensitivity."""
    scored = testable(as_scored(responses))
    if (effect.averages is None and effect.sensitivity is None) or effect.missing(scored, paradigm):
        return []
    cells = effect.evidence(scored, paradigm).cells[""]
    out = frozenset() if scored.accept_unread else withheld_cells(cells)
    if effect.sensitivity is None:
        return [_Averages(effect, cells, out)]
    return [_Detected(effect, cells, out, one) for one in effect.sensitivity.measures]


@dataclass(frozen=True)
class _Averages:
    """Cells of averages, whose contrasts are weighted sums of their means; those of which too much
    could not be read are in none."""

    effect: Effect
    cells: Cells
    withheld: frozenset[int]

    def lines(self) -> dict[tuple[Any, ...], dict[Any, Any]]:
        """For each answerer and panel, the cell at each place along the axis."""
        lines_of: dict[tuple[Any, ...], dict[Any, Any]] = {}
        kept = ((number, row) for number, row in enumerate(records(self.cells.keys)) if number not in self.withheld)
        for number, row in kept:
            lines_of.setdefault(tuple(row[name] for name in (*WHO, *self.effect.panels)), {})[row[self.effect.x]] = (
                number
            )
        return lines_of

    @property
    def measured(self) -> str:
        return self.effect.measure

    def tested(
        self, where: dict[str, Any], name: str, conditions: int, places: Sequence[Any], weights: Mapping[Any, float]
    ) -> Tested:
        """A weighted sum of the means at some places."""
        weight, shares = np.array([*weights.values()]), self.effect.value == "correct"
        chance = self.cells.chance[list(places)]
        # where nobody says how far guessing gets, it is taken to get as far in all conditions
        guessing = float(weight @ chance) if shares and bool(np.isfinite(chance).any()) else 0.0
        return Tested(
            where,
            name,
            conditions,
            claim_of("effect", self.cells, places, weight, who=where, shares=shares, null=guessing),
        )


@dataclass(frozen=True)
class _Detected(_Averages):
    """One measure of signal detection, whose places are pairs of cells: of signals, and of others."""

    measure: str

    @property
    @override
    def measured(self) -> str:
        return self.measure

    @property
    def _of(self) -> Sensitivity:
        assert self.effect.sensitivity is not None
        return self.effect.sensitivity

    @override
    def lines(self) -> dict[tuple[Any, ...], dict[Any, Any]]:
        lines_of: dict[tuple[Any, ...], dict[Any, Any]] = {}
        names = [name for name in self.cells.keys.columns if name != "signal"]
        for key, pair in self._of.pairs(self.cells).items():
            row = dict(zip(names, key, strict=True)) | {"measure": self.measure}
            if min(pair) >= 0 and not self.withheld & {*pair}:
                lines_of.setdefault(tuple(row[name] for name in (*WHO, *self.effect.panels)), {})[
                    row[self.effect.x]
                ] = pair
        return lines_of

    @override
    def tested(
        self, where: dict[str, Any], name: str, conditions: int, places: Sequence[Any], weights: Mapping[Any, float]
    ) -> Tested:
        numbers = [number for pair in places for number in pair]
        unit = self.cells.unit[numbers[0]]
        of = self._of.weighted(self.cells, places, np.array([*weights.values()]), self.measure)
        remark = "" if self.measure in RATES.values() else self._of.compared_at(self.cells, places)
        distinct = unit != "trial" or bool(self.cells.distinct[numbers].all())
        claim = claimed("effect", where, of, unit, null=0.0, distinct=distinct)
        if remark and unit != "trial" and of.n < _FEWEST_UNEQUAL:
            claim = replace(
                claim, of=replace(of, se=math.nan), note=f"fewer than {_FEWEST_UNEQUAL} {unit}s: no interval"
            )
        return Tested(where, name, conditions, claim, remark)


def _weights(effect: Effect, line: dict[Any, int]) -> dict[str, dict[Any, float]]:
    """The contrasts of a line: its slope, or the differences that are declared and that it has."""
    if effect.order:
        return {
            name: {one: 1.0, other: -1.0} for name, one, other in effect.differences if one in line and other in line
        }
    places = sorted(line)
    if len(places) < 2:
        return {}
    x = np.asarray(places, float) - np.mean(np.asarray(places, float))
    return {"slope": dict(zip(places, map(float, x / (x @ x)), strict=True))}
