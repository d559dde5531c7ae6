"""Figures of N-back results over N: a panel for each measure, a row of panels for each answerer or
variant, and what is compared as lines or bars."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from spanlab.analysis.data import plural
from spanlab.analysis.data.style import Look, competitors
from spanlab.analysis.figures import title_lines
from spanlab.analysis.figures.charts import grid, panel_of
from spanlab.analysis.figures.curve_marks import PANEL, PROPORTIONS, CurveChart, tooltip, upright_axis
from spanlab.analysis.figures.histogram_panels import histogram_axes

#: Width of a bar, in d′.
BIN = 0.5
#: Points of a density.
_POINTS = 121
#: Fewer different values have no density.
_FEW = 3


def dprime_summary(blocks: pd.DataFrame) -> pd.DataFrame:
    """For everybody, variant and N: how many blocks, mean and standard deviation of d′ signed and
    without its sign, and how many blocks are below 0."""
    rows = []
    keys = ["agent", "variant", "n"]
    for key, part in blocks.groupby(keys, sort=False):
        finite = part[np.isfinite(part["dprime"].astype(float))]
        row: dict[str, Any] = dict(zip(keys, key, strict=True)) | {"blocks": len(finite)}
        for name in ("dprime", "dprime_abs"):
            values = finite[name].astype(float)
            row |= {f"{name}_mean": values.mean(), f"{name}_sd": values.std(ddof=1)}
        lost = len(part) - len(finite)
        rows.append(
            row
            | {
                "below_0": int((finite["dprime"] < 0).sum()),
                "note": f"{plural(lost, 'block')} without d′ left out" if lost else "",
            }
        )
    return pd.DataFrame(rows)


def dprime_histograms(
    blocks: pd.DataFrame, agents: Sequence[Look], *, title: str, subtitle: str = ""
) -> dict[str, Any]:
    """Histograms of blocks' d′: a row of panels for each answerer and variant, a panel for each N.

    Parameters
    ----------
    blocks : with ``agent``, ``variant``, ``n``, ``dprime`` and ``dprime_abs``
    agents : how each agent looks, in drawing order

    Returns
    -------
    dict
        the declaration: a Vega-Lite specification without configuration, fit for JSON
    """

    levels = [int(n) for n in sorted(blocks["n"].unique())]
    several = blocks["variant"].nunique() > 1
    low, high = span_of(blocks)
    panels: list[tuple[str, str, Look, int]] = []
    rows: list[dict[str, Any]] = []
    top = 1.0
    for look in list(agents)[::-1]:
        for variant in dict.fromkeys(blocks["variant"]):
            answerer_blocks = blocks[(blocks["agent"] == look.label) & (blocks["variant"] == variant)]
            for n in levels if len(answerer_blocks) else ():
                values = answerer_blocks.loc[answerer_blocks["n"] == n, "dprime"].to_numpy(float)
                place = len(panels)
                named = {"answerer": look.label, "variant": variant, "n": n}
                marks = [bar | named for bar in _bars(values, low, high)] + _densities(values, low, high)
                top = max([top, *(row["count"] for row in marks)])
                rows += [row | {"part": place} for row in marks]
                heading = f"{look.label}, {variant}" if several else look.label
                panels.append((heading if n == levels[0] else " ", f"{n}-back", look, place))
    last = len(panels) - len(levels)

    @cache
    def made(colour: str, x_title: str, y_title: str) -> dict[str, Any]:
        return _layers(colour, (low, high), top * 1.08, x_title, y_title)

    drawn = [
        panel_of(
            made(look.light, "d′ of a block" if place >= last else "", "blocks" if not place % len(levels) else ""),
            f"datum.part == {place}",
            {
                "text": heading,
                "subtitle": level,
                "fontSize": 12,
                "fontWeight": 600,
                "subtitleFontSize": 11.5,
                "anchor": "start",
                "frame": "group",
                "offset": 8,
            },
        )
        for heading, level, look, place in panels
    ]
    return grid(drawn, rows, columns=len(levels), spacing=(78, 40), title=title_lines(title, subtitle))


def span_of(blocks: pd.DataFrame) -> tuple[float, float]:
    """The first and the last edge of bars."""
    signed = blocks["dprime"].astype(float)
    finite = signed[np.isfinite(signed)]
    if not len(finite):
        return -1.0, 1.0
    return min(-1.0, float(np.floor(finite.min() / BIN) * BIN)), max(
        1.0, float(np.ceil(finite.abs().max() / BIN) * BIN)
    )


def _layers(colour: str, across: tuple[float, float], top: float, x_title: str, y_title: str) -> dict[str, Any]:
    """Bars and densities of one panel, over these ranges."""
    bars, lines = histogram_axes(across, top, x_title, y_title, ("d′", "blocks"))

    def layer(role: str, encoding: dict[str, Any], **mark: Any) -> dict[str, Any]:
        return {"transform": [{"filter": f"datum.role == '{role}'"}], "mark": mark, "encoding": encoding}

    zero = {
        "mark": {"type": "rule", "style": "chance", "strokeDash": [1.5, 2.5], "strokeWidth": 1.2},
        "encoding": {"x": {"datum": 0, "scale": lines["x"]["scale"]}},
    }
    layers = [
        layer("signed", bars, type="bar", color=colour, opacity=0.35),
        layer("unsigned", bars, type="bar", filled=False, stroke=colour, strokeWidth=1, strokeDash=[3, 2]),
        zero,
        layer("signed density", lines, type="line", color=colour, strokeWidth=2, clip=True),
        layer("unsigned density", lines, type="line", color=colour, strokeWidth=1.6, strokeDash=[5, 3], clip=True),
    ]
    return {"layer": layers, "width": PANEL[0], "height": PANEL[1] * 0.7}


def _bars(values: np.ndarray, low: float, high: float) -> list[dict[str, Any]]:
    edges = np.arange(low, high + BIN / 2, BIN)
    known = values[np.isfinite(values)]
    rows: list[dict[str, Any]] = []
    for role, series in (("signed", known), ("unsigned", np.abs(known))):
        counts, _ = np.histogram(series, edges)
        rows += [
            {
                "role": role,
                "x": float(left),
                "x2": float(left + BIN),
                "count": int(count),
                "range": f"{left:g} to {left + BIN:g}",
            }
            for count, left in zip(counts, edges, strict=False)
            if count
        ]
    return rows


def _densities(values: np.ndarray, low: float, high: float) -> list[dict[str, Any]]:
    """Densities in blocks a bar; that of absolute values folds at 0, below which there are none."""
    known = values[np.isfinite(values)]
    at = np.linspace(low, high, _POINTS)
    rows: list[dict[str, Any]] = []
    for role, sample in (("signed density", known), ("unsigned density", np.abs(known))):
        if len(np.unique(sample)) < _FEW:
            continue
        heights = (
            _kernel(sample, at)
            if role == "signed density"
            else np.where(at >= 0, _kernel(sample, at) + _kernel(sample, -at), np.nan)
        )
        rows += [
            {"role": role, "x": float(x), "count": float(y) * len(sample) * BIN}
            for x, y in zip(at, heights, strict=True)
            if np.isfinite(y)
        ]
    return rows


def _kernel(values: np.ndarray, at: np.ndarray) -> np.ndarray:
    """The density of values by a normal kernel, as wide as Scott's rule has it."""
    width = float(values.std(ddof=1)) * len(values) ** -0.2
    return np.exp(-(((at[:, None] - values) / width) ** 2) / 2).mean(axis=1) / (width * np.sqrt(2 * np.pi))


#: How far axes follow intervals: those of a t distribution with one degree of freedom are dozens of
#: times as long as what they are of.
_FARTHEST = {"dprime": (-6.0, 6.0), "rate": (-0.2, 1.2)}
#: What panels are called.
TITLES: dict[str, str] = {
    "hit_rate": "Hits",
    "false_alarm_rate": "False alarms",
    "accuracy": "Correct",
    "dprime": "d′ (signed, mean of blocks)",
    "dprime_abs": "Sensitivity (|d′|)",
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
