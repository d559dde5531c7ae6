"""Figures of effects: one panel for each condition, in the style that all figures share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .effects import Effect
from .figures import PROPORTIONS, curve_layers, curve_points, declared, title_lines
from .look import GROUP_MEANS, Look, looks

if TYPE_CHECKING:
    import pandas as pd

#: Panels in a row, where they have no natural rows.
_COLUMNS = 4
_ONE_PANEL = (440, 250)


def looks_of(*tables: pd.DataFrame) -> list[Look]:
    """How everybody in some tables looks, in drawing order."""
    return looks([pair for table in tables for pair in table[["agent", "agent_kind"]].drop_duplicates().itertuples(index=False, name=None)])


def effect_chart(effect: Effect, table: pd.DataFrame, agents: Sequence[Look], *, title: str, subtitle: str = "") -> dict[str, Any]:
    """The figure of an effect.

    Parameters
    ----------
    effect, table : the effect, and its table in one paradigm (:meth:`.Effect.table`)
    agents : how each agent looks, in drawing order (:func:`looks_of`)

    Returns
    -------
    dict
        the declaration: a Vega-Lite specification without configuration, fit for JSON
    """
    import altair as alt

    names = [name for name in effect.order if name in set(table[effect.x])] if effect.order else []
    places = table[effect.x].map({name: place for place, name in enumerate(names, start=1)}) if names else table[effect.x]
    drawn = table.assign(_x=places.astype(float), chance=table["chance"].astype(float))
    proportion = effect.measure in ("correct", "trials", "trials with the whole list")
    vertical: dict[str, Any] = PROPORTIONS | {"title": effect.measure} if proportion else _axis(effect, drawn)

    def said(value: float | None) -> str:
        return "" if value is None else f"{100 * value:.0f}%" if proportion else f"{value:.{_digits(vertical)}f}"

    options: dict[str, Any] = {"vertical": vertical, "called": effect.measure, "names": names}
    if not effect.panels:
        layers = curve_layers(agents, drawn, "_x", effect.x_title, width=_ONE_PANEL[0], height=_ONE_PANEL[1], **options)
        return declared(layers.properties(title=title_lines(title, subtitle), data=alt.InlineData(values=[])), curve_points(drawn, "_x", agents, said=said))
    drawn["_panel"] = [effect.panel(row) for row in drawn.to_dict("records")]
    panels = panel_names(effect, drawn)
    last = drawn[effect.panels[-1]].nunique()
    columns = last if len(effect.panels) > 1 else min(_COLUMNS, len(panels))
    facet = alt.Facet("panel:N", header=alt.Header(title=None, labelAnchor="start"), sort=panels)
    faceted = curve_layers(agents, drawn, "_x", effect.x_title, **options).facet(facet=facet, columns=columns, data=alt.InlineData(values=[]))
    faceted = faceted.resolve_scale(x="independent")
    rows = curve_points(drawn, "_x", agents, panel="_panel", said=said)
    return declared(faceted.properties(title=title_lines(title, subtitle), spacing={"row": 68, "column": 16}, bounds="flush"), rows)


def panel_names(effect: Effect, table: pd.DataFrame) -> list[str]:
    """The names of its panels, in order: numbers by size, names as the effect lists them."""
    listed = effect.panel_order

    def rank(value: Any) -> Any:
        return (0, listed.index(value), "") if value in listed else (1, 0, value) if isinstance(value, str) else (0, float(value), "")

    cells = table.drop_duplicates(list(effect.panels)).to_dict("records")
    ordered = sorted(cells, key=lambda row: tuple(rank(row[name]) for name in effect.panels))
    return list(dict.fromkeys(effect.panel(row) for row in ordered))


def caption(effect: Effect, table: pd.DataFrame) -> str:
    """What must be said below every figure of an effect."""
    own = table[table["agent_kind"] != GROUP_MEANS]
    units = sorted({unit for unit in own["unit"].dropna() if unit})
    bars = f"Bars: 95% intervals over {' or '.join(unit + 's' for unit in units)}." if own["low"].notna().any() else "No intervals: too few units."
    dotted = " Dotted: chance." if table["chance"].notna().any() else " No chance line: there is none, or the record does not tell it."
    people = " Hollow diamonds: published group means." if len(own) < len(table) else ""
    oracle = " Simulated observers were handed the truth." if "oracle" in table.columns and table["oracle"].fillna(False).astype(bool).any() else ""
    return f"{effect.method} {bars}{dotted}{people}{oracle}"


def _axis(effect: Effect, table: pd.DataFrame) -> dict[str, Any]:
    """A vertical axis with round numbers around all values and intervals, and with 0 where it is near."""
    values = [float(one) for name in ("mean", "low", "high", "chance") for one in table[name].dropna()]
    low, high = min(values, default=0.0), max(values, default=1.0)
    if low > 0 and low < (high - low) * 2:
        low = 0.0
    span = (high - low) or 1.0
    step = 10 ** math.floor(math.log10(span / 4))
    step = next(step * factor for factor in (1, 2, 2.5, 5, 10) if span / (step * factor) <= 6)
    first, end = math.floor(low / step), math.ceil(high / step)
    ticks = [round(step * place, 10) for place in range(first, end + 1)]
    return {"title": effect.measure, "domain": [ticks[0] - 0.04 * step, ticks[-1] + 0.1 * step], "format": "~g" if step < 1 else "d", "values": ticks}


def _digits(vertical: dict[str, Any]) -> int:
    ticks = vertical["values"]
    return max(0, 1 - math.floor(math.log10(ticks[1] - ticks[0]))) if len(ticks) > 1 else 2
