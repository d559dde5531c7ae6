"""The figure of an effect: from answers to a table, which :class:`.Effect` makes (:func:`compute_effect`),
and from the table to curves (:func:`effect_chart`), one panel for each condition."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import pandas as pd

from ..data.coding import records
from ..data.scoring import WHO, Scored
from ..data.style import GROUP_MEANS, Look, condition_looks, looks, thin_lines
from ..data.unread import UNREAD_COLUMNS, unread_caption, untested_cells, with_unread
from ..effects.effect import Effect, between_panels, ready, table_of, tested
from ..effects.sensitivity import RATES
from ..inference import Claim
from ..means.over_people import of_each_person, within_people
from .charts import plain, title_lines
from .curve_marks import PROPORTIONS, CurveChart, axis_of, reaches_beyond
from .figure import BAR_LABELS, Bars, Computed, FigureDeclaration, Wish, chosen, lines, with_bars
from .marked_answers import AnswersOf, MarkedAnswers, rows_with

if TYPE_CHECKING:
    from ..data.loading import Data


#: Panels in a row, where they have no natural rows.
_IN_A_ROW = 4
_ONE_PANEL = (440, 250)
#: columns of an effect's table in a terminal: before and after further ones
_MEANS, _UNITS = ("mean", "sem", "low", "high", "chance"), ("unit", "n_units", "note")
_TREND = ("contrast", "value", "low", "high", "t", "df", "p", "n_units", "note")


@dataclass(frozen=True, kw_only=True)
class ComputedEffect(Computed):
    """The numbers of an effect in one paradigm; ``trends`` are its slopes or differences,
    ``between`` the differences of panels, ``claims`` those of the rows of ``trends``."""

    effect: Effect
    trends: pd.DataFrame
    between: pd.DataFrame
    claims: Sequence[Claim]


def effect_figure(effect: Effect) -> FigureDeclaration:
    """The figure of an effect."""
    return FigureDeclaration(
        effect.name,
        effect.title,
        partial(compute_effect, effect),
        effect.missing,
        effect.lacking,
        too_few=partial(_nothing_to_draw, effect),
        line=f"{effect.title} ({', '.join(effect.paradigms)})" if effect.paradigms else effect.title,
        answers="items",
        section="effects",
        expected=effect.paradigms,
        effects=(effect.name,),
    )


def _nothing_to_draw(effect: Effect, scored: Scored, paradigm: str) -> str:
    """Return why an effect that is no average of answers, such as K, has no point in these data; empty
    where it has one."""
    if effect.averages is not None:
        return ""
    table = effect.table(scored, paradigm, human="")
    if table["mean"].notna().any():
        return ""
    reasons = [note for note in dict.fromkeys(table["note"].fillna("")) if note]
    return f"No figure “{effect.title}”: {'; '.join(reasons[:2]) or 'no cell has a value'}."


def compute_effect(effect: Effect, data: Data, wish: Wish, *, panels: bool = False) -> ComputedEffect:
    """An effect in one paradigm, with its slopes and differences; with ``panels`` also the differences
    between panels.

    Raises
    ------
    SpanLabError
        when no paradigm of the data shows the effect, or several do and none was chosen.
    """
    if effect.instead is not None and not effect.applies(data.scored):
        effect = effect.instead
    paradigm = chosen(effect.name, effect.missing, data, wish, expected=effect.paradigms)
    table = with_unread(
        effect.table(data.scored, paradigm, human=data.human.get(paradigm)), shares=effect.against_chance
    )
    people = None
    if (wish.points or wish.bars == "within") and effect.averages is not None:
        within, people = _of_people(effect, data, paradigm, table)
        table = within if wish.bars == "within" else table
    title, below = f"{data.titles[paradigm]}: {effect.title}", caption(effect, table, wish.bars)
    each = people if wish.points and people is not None and len(people) else None
    below += " Small points and thin lines: single people." if each is not None else ""
    margin = wish.margins.get(unit_of(effect))
    found = tested(effect, data.scored, paradigm)
    tests = table_of(found, effect.panels, margin)
    between = between_panels(effect, data.scored, paradigm, margin=margin) if panels else tests.iloc[:0]
    further = {
        "Slopes and differences": tests[["agent", *effect.panels, *_TREND, *_alike(tests)]],
        "Differences between panels": between[["agent", *_TREND, *_alike(between)]],
    }
    return ComputedEffect(
        title=title,
        caption=below,
        table=table,
        shown=shown(effect, table),
        picture=lambda agents: effect_chart(
            effect,
            table,
            agents,
            title=title,
            subtitle=lines(below),
            bars=wish.bars,
            yardsticks=wish.yardsticks,
            each=each,
        ),
        looks=looks_of(table),
        notes=[
            *effect.notes(data.scored, paradigm, table),
            *([] if data.scored.accept_unread else untested_cells(table)),
        ],
        readouts=data.readouts.get(paradigm, ()),
        further=tuple((f"{name} (t-tests against guessing)", part) for name, part in further.items() if len(part)),
        answers=answers_of(effect, data.scored, paradigm, table),
        singles=each is not None,
        effect=effect,
        trends=tests,
        between=between,
        claims=[one.claim for one in found],
    )


def unit_of(effect: Effect) -> str:
    """The unit of its differences, if margins can be declared in it; empty otherwise."""
    if effect.sensitivity is not None:
        return "d′"
    return {"correct": "points", "rt_ms": "ms"}.get(effect.value, "") if effect.averages is not None else ""


def _alike(table: pd.DataFrame) -> list[str]:
    return [name for name in ("p_alike", "alike") if name in table.columns]


def _of_people(effect: Effect, data: Data, paradigm: str, table: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The table of an effect with limits within people, and the means of single people."""
    cells = effect.evidence(data.scored, paradigm).cells[""]
    names = [*cells.keys.columns]
    limits = dict(zip(cells.keys.itertuples(index=False, name=None), within_people(cells, len(WHO)), strict=True))
    ends = [limits.get(key, (math.nan, math.nan)) for key in table[names].itertuples(index=False, name=None)]
    each = pd.DataFrame(of_each_person(cells), columns=[*names, "person", "mean"])
    return table.assign(within_low=[low for low, _ in ends], within_high=[high for _, high in ends]), each


def shown(effect: Effect, table: pd.DataFrame) -> pd.DataFrame:
    """The columns of an effect's table that a terminal shows."""
    further = [one for one in (effect.without, *RATES, *UNREAD_COLUMNS) if one in table.columns]
    return table[["agent", *effect.by, *_MEANS, *further, *_UNITS]]


def looks_of(*tables: pd.DataFrame) -> list[Look]:
    """The look of each answerer in some tables, in drawing order."""
    return looks(
        [
            pair
            for table in tables
            for pair in table[["agent", "agent_kind"]].drop_duplicates().itertuples(index=False, name=None)
        ]
    )


def effect_chart(
    effect: Effect,
    table: pd.DataFrame,
    agents: Sequence[Look],
    *,
    title: str,
    subtitle: str = "",
    bars: Bars = "interval",
    yardsticks: bool = False,
    each: pd.DataFrame | None = None,
) -> dict[str, Any]:
    """The figure of an effect: a line for each answerer, a panel for each condition.

    Parameters
    ----------
    effect, table : the effect, and its table in one paradigm (:meth:`.Effect.table`)
    agents : how each agent looks, in drawing order (:func:`looks_of`)
    bars : what bars stand for
    yardsticks : whether the oracle without errors and guessing are shown beside people and models
    each : the means of single people, with the columns of the effect

    Returns
    -------
    dict
        the declaration: a Vega-Lite specification without configuration, fit for JSON
    """
    drawn = with_bars(table, bars).astype({"chance": float})
    chart = replace(_chart_of(effect, drawn, bars), yardsticks=yardsticks)
    drawn = _placed(effect, drawn, chart)
    each = None if each is None else _placed(effect, each, chart).dropna(subset=["_x"])
    heading = title_lines(title, subtitle)
    if not effect.panels:
        chart = replace(chart, size=_ONE_PANEL)
        layers = chart.layers(agents, drawn, singles=each is not None)
        return plain(layers | {"title": heading}, chart.points(drawn, agents, each=each))
    each = None if each is None else each.assign(_panel=[effect.panel(row) for row in records(each)])
    drawn = drawn.assign(_panel=[effect.panel(row) for row in records(drawn)])
    panels = panel_names(effect, drawn)
    columns = drawn[effect.panels[-1]].nunique() if len(effect.panels) > 1 else min(_IN_A_ROW, len(panels))
    layers = chart.layers(agents, drawn, singles=each is not None)
    return plain(_in_panels(layers, panels, columns) | {"title": heading}, chart.points(drawn, agents, "_panel", each))


def condition_chart(
    effect: Effect,
    table: pd.DataFrame,
    conditions: Sequence[Look],
    *,
    title: str,
    subtitle: str = "",
    bars: Bars = "interval",
) -> dict[str, Any]:
    """The figure of an effect the other way round: a line for each condition, a panel for each
    answerer, people first.

    Parameters
    ----------
    conditions : how each looks (:func:`looks_of_conditions`)
    effect, table, bars : as of :func:`effect_chart`
    """
    shown = _varied(effect, table)
    names = [shown.panel(row) for row in records(table)]
    drawn = with_bars(table, bars).astype({"chance": float}).assign(_panel=table["agent"], agent=names)
    panels = [look.label for look in looks_of(table)[::-1]]
    chart = replace(_chart_of(shown, drawn, bars), line="condition")
    drawn = _placed(shown, drawn, chart)
    rows = chart.points(drawn, conditions, "_panel")
    places = [row["x"] for row in rows]  # the same conditions in every panel: one axis for all
    layers = replace(chart, span=(min(places), max(places))).layers(conditions, drawn)
    return plain(
        _in_panels(layers, panels, min(_IN_A_ROW, len(panels))) | {"title": title_lines(title, subtitle)}, rows
    )


def looks_of_conditions(effect: Effect, table: pd.DataFrame) -> list[Look]:
    """Return how each condition of an effect looks, in drawing order."""
    shown = _varied(effect, table)
    scale = not any(isinstance(value, str) for name in shown.panels for value in table[name])
    return condition_looks(panel_names(shown, table), ordered=scale)


def _varied(effect: Effect, table: pd.DataFrame) -> Effect:
    """An effect with panels only for columns that have several values in a table; with all of its panels
    where none has."""
    return _only(effect, [name for name in effect.panels if table[name].nunique() > 1] or list(effect.panels))


def constant(effect: Effect, table: pd.DataFrame) -> str:
    """The columns that are the same in all panels of an effect, in words; empty where there are
    none."""
    alike = [name for name in effect.panels if len(effect.panels) > 1 and table[name].nunique() == 1]
    return _only(effect, alike).panel(table.iloc[0].to_dict()) if alike else ""


def _only(effect: Effect, panels: Sequence[str]) -> Effect:
    """An effect with only some of its panel columns."""
    labels = dict(zip(effect.panels, effect.panel_labels or ("{}",) * len(effect.panels), strict=True))
    return replace(effect, panels=tuple(panels), panel_labels=tuple(labels[name] for name in panels))


def _chart_of(effect: Effect, drawn: pd.DataFrame, bars: Bars) -> CurveChart:
    """The chart of an effect."""
    return CurveChart(
        "_x",
        effect.x_title,
        effect.measure,
        PROPORTIONS | {"title": effect.measure} if _proportion(effect) else axis_of(effect.measure, drawn),
        _names_along(effect, drawn),
        bars=BAR_LABELS[bars],
        lacking=effect.without if effect.without in drawn.columns else "",
    )


def _placed(effect: Effect, table: pd.DataFrame, chart: CurveChart) -> pd.DataFrame:
    """A table with places along the horizontal axis, as a column ``_x``."""
    return table.assign(_x=_places(table[effect.x], chart.names))


def _in_panels(layers: dict[str, Any], panels: Sequence[str], columns: int) -> dict[str, Any]:
    """Layers as panels side by side."""
    header = {"title": None, "labelAnchor": "start"}
    return {
        "params": layers.pop("params"),
        "facet": {"field": "panel", "type": "nominal", "header": header, "sort": list(panels)},
        "columns": columns,
        "spacing": {"row": 68, "column": 16},
        "bounds": "flush",
        "resolve": {"scale": {"x": "independent"}},
        "spec": layers,
    }


def _names_along(effect: Effect, table: pd.DataFrame) -> list[str]:
    """Return the names along the horizontal axis; none where it has numbers."""
    return [name for name in effect.order if name in set(table[effect.x])]


def _places(column: pd.Series, names: Sequence[str]) -> pd.Series:
    """Return where values stand along the horizontal axis."""
    return (column.map({name: place for place, name in enumerate(names, start=1)}) if names else column).astype(float)


def answers_of(
    effect: Effect, scored: Scored, paradigm: str, table: pd.DataFrame, *, conditions: bool = False
) -> AnswersOf:
    """A function from a point of the figure of an effect to the answers behind it.

    Parameters
    ----------
    table : of the effect, as it is drawn
    conditions : whether lines are conditions, and panels answerers, as in :func:`condition_chart`
    """

    @cache
    def cells() -> Mapping[tuple[Any, ...], Mapping[Any, Any]]:
        named = _varied(effect, table) if conditions else effect
        cell_of = {}
        for row, place in zip(records(table), _places(table[effect.x], _names_along(effect, table)), strict=True):
            panel = named.panel(row) if effect.panels else None
            key = (panel, row["agent"], place) if conditions else (row["agent"], panel, place)
            cell_of |= {key: row} if row["agent_kind"] != GROUP_MEANS else {}
        return cell_of

    @cache
    def items() -> pd.DataFrame:
        return ready(effect, scored, paradigm).items

    def answers(mark: Mapping[str, Any]) -> MarkedAnswers | None:
        cell = cells().get((mark.get("agent"), mark.get("panel"), mark.get("at")))
        if mark.get("role") != "curve" or cell is None or paradigm not in scored.parts:
            return None

        def find() -> pd.DataFrame:
            mine = rows_with(items(), {name: cell[name] for name in (*WHO, *effect.by)})
            return mine[mine[effect.value].notna()]

        return MarkedAnswers({name: cell[name] for name in effect.by}, find)

    return answers


def panel_names(effect: Effect, table: pd.DataFrame) -> list[str]:
    """The names of its panels, in order: numbers by size, names as the effect lists them."""
    listed = effect.panel_order

    def rank(value: Any) -> Any:
        if value in listed:
            return 0, listed.index(value), ""
        return (1, 0, value) if isinstance(value, str) else (0, float(value), "")

    cells = records(table.drop_duplicates(list(effect.panels)))
    ordered = sorted(cells, key=lambda row: tuple(rank(row[name]) for name in effect.panels))
    return list(dict.fromkeys(effect.panel(row) for row in ordered))


def caption(effect: Effect, table: pd.DataFrame, bars: Bars = "interval", *, conditions: bool = False) -> str:
    """The caption of the figure of an effect; ``conditions`` says that the lines are conditions, as
    in :func:`condition_chart`."""
    own_rows = table[table["agent_kind"] != GROUP_MEANS]
    units = sorted({unit for unit in own_rows["unit"].dropna() if unit})
    what = {
        "interval": "95% intervals",
        "sem": "standard errors of the mean",
        "within": "95% intervals within people (Cousineau-Morey)",
    }[bars]
    column = {"interval": "low", "sem": "sem", "within": "within_low"}[bars]
    spread = column in own_rows.columns and own_rows[column].notna().any()
    over = "" if bars == "within" else f" over {' or '.join(unit + 's' for unit in units)}"
    lacking = "no agent has a mean over several people in all conditions" if bars == "within" else "too few units"
    drawn = f"Bars: {what}{over}." if spread else f"No bars: {lacking}."
    dotted = (
        " Dotted: chance."
        if table["chance"].notna().any()
        else " No chance line: there is no chance level, or the record does not have it."
    )
    means = "Published group means have no bars." if conditions else "Hollow points: published group means."
    if effect.averages and effect.without in table.columns:
        dotted += f" Dashed: {effect.without.replace('_', ' ')}, which is {effect.averages.without_label}."
    published = f" {means}" * (len(own_rows) < len(table))
    oracle = (
        " Simulated observers were given the correct answers."
        if "oracle" in table.columns and table["oracle"].fillna(False).astype(bool).any()
        else ""
    )
    cut = "" if _proportion(effect) or not reaches_beyond(table) else " What lies beyond the axis is in the table."
    thin = "" if conditions else thin_lines(looks_of(own_rows))
    return f"{effect.method} {drawn}{dotted}{published}{oracle}{thin}{cut}{unread_caption(table)}"


def _proportion(effect: Effect) -> bool:
    """Return whether its vertical axis is that of proportions, the same in all figures."""
    return effect.measure in ("correct", "trials", "trials with the whole list")
