"""Figures of N-back results over N: a panel for each measure, a row of panels for each answerer or
variant, and what is compared as lines or bars."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from ..data.style import Look, competitors
from .charts import grid, panel_of, title_lines
from .curve_marks import PANEL, PROPORTIONS, CurveChart, tooltip, upright_axis

#: How far axes follow intervals: those of a t distribution with one degree of freedom are dozens of
#: times as long as what they are of.
_FARTHEST = {"dprime": (-6.0, 6.0), "rate": (-0.2, 1.2)}
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


def nback_rows(
    parts: Sequence[tuple[str, pd.DataFrame]],
    agents: Sequence[Look],
    measures: Sequence[str],
    *,
    title: str,
    subtitle: str = "",
    columns: int | None = None,
    line: str = "who",
    bars: str = "95% interval",
    marks: str = "lines",
) -> dict[str, Any]:
    """Measures over N, a row of panels for each part; the panels of a measure have one axis.

    Parameters
    ----------
    parts : heading and table of cells of each row; ``agent`` holds what is compared in it
    agents : how each of what is compared looks, in drawing order
    measures : one panel each; those that no part has are left out
    columns : panels in a row; one for each measure when not given
    line, bars : what is compared, and what error bars are, in words
    marks : ``lines`` over N, or ``bars`` at each N

    Returns
    -------
    dict
        the declaration: a Vega-Lite specification without configuration, fit for JSON
    """
    whole = pd.concat([part for _, part in parts], ignore_index=True)
    whole = whole[whole["mean"].notna()]
    there = [measure for measure in measures if (whole["measure"] == measure).any()]
    span = (
        (float(whole["n"].min()) - 0.5, float(whole["n"].max()) + 0.5) if len(whole) else None
    )  # panels with a chance line and without are alike
    panels, rows = [], []
    of_measures = [dict([*cells[cells["mean"].notna()].groupby("measure")]) for _, cells in parts]
    for measure in there:
        vertical = measure_axis(whole[whole["measure"] == measure], measure)
        chart = CurveChart("n", "N", TITLES[measure], vertical, line=line, bars=bars, span=span)
        made = {}
        for x_title in ("N", "") if len(parts) > 1 else ("N",):
            if marks == "bars":
                layers = _bar_layers(agents, whole, vertical, x_title, TITLES[measure], line, bars)
            else:
                layers = replace(chart, x_title=x_title).layers(agents, whole)
            made[x_title] = layers
        for place, (heading, cells) in enumerate(parts):
            part = of_measures[place].get(measure, cells.iloc[:0])
            drawn = chart.points(part, agents)
            rows += [
                row | {"measure": measure, "part": place} for row in drawn if marks == "lines" or row["role"] == "curve"
            ]
            condition = f"datum.measure == '{measure}' && datum.part == {place}"
            last = "N" if place == len(parts) - 1 else ""
            panels.append((place, panel_of(made[last], condition, _heading(heading, measure, there))))
    wide = len(there) if columns is None else min(columns, len(there))
    ordered = [panel for _, panel in sorted(panels, key=lambda panel: panel[0])]
    return grid(
        ordered, rows, columns=wide, spacing=(84 if len(parts) == 1 else 76, 46), title=title_lines(title, subtitle)
    )


def _heading(heading: str, measure: str, measures: Sequence[str]) -> dict[str, Any]:
    """Return what stands above a panel: its measure, and above the first one of a row also what the
    row is."""
    style: dict[str, Any] = {"anchor": "start", "frame": "group", "offset": 8}
    if not heading:
        return dict(text=TITLES[measure], fontSize=12, fontWeight=600, **style)
    first = measure == measures[0]
    return dict(
        text=heading if first else " ",
        subtitle=TITLES[measure],
        fontSize=12,
        fontWeight=600,
        subtitleFontSize=11.5,
        **style,
    )


def _bar_layers(
    agents: Sequence[Look],
    cells: pd.DataFrame,
    vertical: Mapping[str, Any],
    x_title: str,
    called: str,
    line: str,
    bars: str,
) -> dict[str, Any]:
    """Bars side by side at each N, with error bars; these end where the panel does."""
    drawn = set(cells["agent"])
    labels = [look.label for look in agents if look.label in drawn][::-1]
    legend = {"orient": "bottom", "columns": 3, "title": None, "values": labels}
    upright = upright_axis(vertical)
    x = {"field": "at", "type": "ordinal", "title": x_title or None, "axis": {"grid": False, "labelAngle": 0}}
    offset = {"field": "agent", "type": "nominal", "scale": {"domain": labels}}
    curve = {"filter": "datum.role == 'curve'"}
    colour = {
        "field": "agent",
        "type": "nominal",
        "scale": {"domain": [look.label for look in agents]},
        "legend": legend,
    }
    boxes = {
        "transform": [curve, {"calculate": "0", "as": "floor"}],
        "mark": {"type": "bar", "opacity": 0.75},
        "encoding": {
            "x": x,
            "xOffset": offset,
            "y": {"field": "mean", "type": "quantitative", **upright},
            "y2": {"field": "floor"},
            "color": colour,
            "tooltip": tooltip(line, "N", called, bars),
        },
    }
    spread = {
        "transform": [curve],
        "mark": {"type": "rule", "strokeWidth": 1.3, "clip": True},
        "encoding": {
            "x": x,
            "xOffset": offset,
            "y": {"field": "low", "type": "quantitative", **upright},
            "y2": {"field": "high"},
        },
    }
    zero = {
        "transform": [curve],
        "mark": {"type": "rule", "strokeWidth": 1},
        "encoding": {"y": {"datum": 0, **upright}},
    }
    return {"layer": [boxes, spread, zero], "width": PANEL[0], "height": PANEL[1]}


def measure_axis(part: pd.DataFrame, measure: str) -> Mapping[str, Any]:
    """The vertical axis of a measure: around all points, intervals and 0; rates reach from 0 to 1
    at least. Endless intervals, and yardsticks, end with the panel."""
    farthest = _FARTHEST["dprime" if measure.startswith("dprime") else "rate"]
    part = competitors(part)
    low = min(0.0, float(part["mean"].min()), *(max(end, farthest[0]) for end in part["low"].dropna()))
    high = max(1.0, float(part["mean"].max()), *(min(end, farthest[1]) for end in part["high"].dropna()))
    if not measure.startswith("dprime"):
        return PROPORTIONS | {"title": None, "domain": [min(-0.04, low - 0.02), max(1.05, high + 0.02)]}
    bottom, top = low - 0.2, high + 0.06 * (high - low)
    values = [
        value for value in range(math.ceil(bottom), math.floor(top) + 1) if value <= top - 0.03 * (top - bottom)
    ]  # a label at the very top sticks out
    return {"title": None, "domain": [bottom, top], "format": "d", "values": values, "clip": True}
