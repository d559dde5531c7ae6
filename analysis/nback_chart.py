"""Figures of N-back results: a panel for each measure, over N, one line for each answerer."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .figures import PROPORTIONS, curve_layers, curve_points, declared, percent_said, title_lines
from .look import Look

if TYPE_CHECKING:
    import pandas as pd

#: What panels are called.
TITLES: dict[str, str] = {
    "hit_rate": "Hits",
    "false_alarm_rate": "False alarms",
    "accuracy": "Correct",
    "dprime": "d′ (signed, mean of blocks)",
    "dprime_abs": "d′ without its sign",
    "dprime_pooled": "d′ (signed)",
    "lure_rate": "False alarms on lures",
    "before_rate": "On lures that match N−1 back",
    "after_rate": "On lures that match N+1 back",
    "plain_rate": "False alarms on other items",
}


def nback_chart(cells: pd.DataFrame, agents: Sequence[Look], measures: Sequence[str], *, title: str, subtitle: str = "", columns: int = 4) -> dict[str, Any]:
    """Measures over N.

    Parameters
    ----------
    cells : a table of cells over ``n`` (printed values may be among its rows)
    agents : how each agent looks, in drawing order
    measures : one panel each
    columns : panels in a row

    Returns
    -------
    dict
        the declaration: a Vega-Lite specification without configuration, fit for JSON
    """
    import altair as alt

    panels, rows = [], []
    for measure in measures:
        part = cells[(cells["measure"] == measure) & cells["mean"].notna()]
        if not len(part):
            continue
        is_dprime = measure.startswith("dprime")
        vertical = _dprime_axis(part) if is_dprime else PROPORTIONS | {"title": None}
        called = TITLES[measure]
        layers = curve_layers(agents, part, "n", "N", vertical=vertical, called=called)
        heading = alt.TitleParams(text=called, fontSize=12, fontWeight=600, offset=8, anchor="start", frame="group")
        panels.append(layers.transform_filter(f"datum.measure == '{measure}'").properties(title=heading))
        rows += [row | {"measure": measure} for row in curve_points(part, "n", agents, said=_number_said if is_dprime else percent_said)]
    shown = alt.concat(*panels, columns=min(columns, len(panels)), data=alt.InlineData(values=[]), spacing={"row": 84, "column": 46}, bounds="flush")
    return declared(shown.properties(title=title_lines(title, subtitle)), rows)


def _dprime_axis(part: pd.DataFrame) -> Mapping[str, Any]:
    """From below the lowest to above the highest point or interval, 0 always among them."""
    low = min(0.0, float(part[["mean", "low"]].min().min()))
    high = max(1.0, float(part[["mean", "high"]].max().max()))
    values = list(range(math.floor(low), math.ceil(high) + 1))
    return {"title": None, "domain": [min(low, 0) - 0.2, high + 0.2], "format": "d", "values": values}


def _number_said(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
