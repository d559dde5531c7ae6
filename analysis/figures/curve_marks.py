"""The marks of every figure of curves: points (side by side, so that intervals do not hide each
other), the chance line, and the layers that draw them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from ...core.json_values import grouped
from ..data.coding import records
from ..data.style import Look, crowd, unasked
from .charts import text_width

#: Width and height of a panel, in px.
PANEL = (190, 150)
_IN_ORDER = {"field": "at", "type": "quantitative"}
#: Distance of neighbouring agents at one position, as a share of a panel's width.
_DODGE = 0.012
#: Of so many lines each has its name at its end.
MOST_LABELS = 5
#: Font size and height of these names in px, and how many letters they have at most.
_LABEL_SIZE, _LABEL_HEIGHT, _LONGEST_LABEL = 10.5, 13.0, 26


def panel_label(length: Any) -> str:
    if isinstance(length, str):
        return length
    return f"{int(length)} item{'' if int(length) == 1 else 's'}"


def _plain(value: Any) -> int | float:
    return int(value) if float(value).is_integer() else float(value)


def _number(value: Any) -> float | None:
    return None if value is None or value != value else float(value)


def whole_axis(low: float, high: float) -> dict[str, Any]:
    """The axis of a number without fractions: a few round labels, no two of them alike, however
    short the axis is."""
    power = 10 ** max(0, math.floor(math.log10(max(high - low, 1.0) / 5)))
    step = next(factor * power for factor in (1, 2, 5, 10, 20) if (high - low) / (factor * power) <= 5)
    values = [step * place for place in range(math.ceil(low / step), math.floor(high / step) + 1)]
    return {"grid": False, "format": "d", "values": values}


def _ticks(places: Sequence[int | float]) -> list[int | float]:
    """The places that have a label: all of them (of labels that collide every other one is left
    out), or the first and round ones of many. Panels have the same places, so that round ones of
    long lists would leave those of short lists without any."""
    if len(places) <= 20 or places[-1] <= 10:
        return list(places)
    step = 5 if places[-1] <= 30 else 10 if places[-1] <= 60 else 50
    return [one for at, one in enumerate(places) if not at or one % step == 0]


def label_rows(
    rows: Sequence[Mapping[str, Any]],
    agents: Sequence[Look],
    vertical: Mapping[str, Any],
    size: tuple[int, int],
    panel: str | None = None,
) -> list[dict[str, Any]]:
    """The names of lines at their ends, as further rows of a chart (``label``); none where there
    are more than :data:`MOST_LABELS` lines.

    Names are moved up or down until they do not touch. Lines that end before the right end of the
    panel have none: it would lie on others. The legend names all.

    Parameters
    ----------
    rows : of :func:`curve_points`
    agents : how everybody looks; those who are not shown unless asked for have no name
    vertical : the vertical axis
    size : width and height of the panel, in px
    panel : in which names stand; the only one when None
    """
    there = {str(row["agent"]) for row in rows if row["role"] == "curve"}
    off = unasked([look for look in agents if look.label in there])
    ends: dict[str, Mapping[str, Any]] = {}
    for row in rows:
        if (
            row["role"] == "curve"
            and row.get("panel") == panel
            and row["agent"] not in off
            and row["at"] >= ends.get(row["agent"], row)["at"]
        ):
            ends[row["agent"]] = row
    if not 2 <= len(there - set(off)) <= MOST_LABELS or not ends:
        return []
    low, high = vertical["domain"]
    gap, last = _LABEL_HEIGHT * (high - low) / size[1], max(row["at"] for row in ends.values())
    right = max(row["x"] for row in ends.values())
    shorts = {
        name: name.partition(" (")[0] if len(name) > _LONGEST_LABEL else name for name in sorted(there - set(off))
    }
    labels = []
    for name, row in ends.items():
        if row["at"] < last:
            continue
        text = shorts[name] if [*shorts.values()].count(shorts[name]) == 1 else name
        text = (
            text if len(text) <= _LONGEST_LABEL else f"{text[: _LONGEST_LABEL - 9]}…{text[-8:]}"
        )  # names that begin alike end differently
        made = {
            "role": "label",
            "agent": name,
            "x": right,
            "at": row["at"],
            "mean": row["mean"],
            "name": text,
        }
        labels.append(made | {"faint": row["faint"]} | ({"panel": panel} if panel else {}))
    column = sorted(labels, key=lambda one: one["mean"])
    for one, mean in zip(column, _apart([one["mean"] for one in column], gap, low, high), strict=True):
        one["mean"] = mean
    return labels


def _apart(values: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Ascending values, moved as little as possible until neighbours are so far apart: those that
    touch stand around their mean, between two ends."""
    groups: list[list[float]] = []
    for value in values:
        groups.append([value])
        while len(groups) > 1 and _bounds(groups[-1], gap, low, high)[0] < _bounds(groups[-2], gap, low, high)[1] + gap:
            groups[-2:] = [groups[-2] + groups[-1]]
    return [_bounds(group, gap, low, high)[0] + gap * place for group in groups for place in range(len(group))]


def _bounds(group: Sequence[float], gap: float, low: float, high: float) -> tuple[float, float]:
    """The lowest and the highest place of values that touch."""
    reach = gap * (len(group) - 1)
    start = min(max(sum(group) / len(group) - reach / 2, low), high - reach)
    return start, start + reach


def label_room(rows: Sequence[Mapping[str, Any]]) -> int:
    """Return how many px names of lines need beside a panel."""
    return round(
        max((text_width(str(row["name"]), _LABEL_SIZE) + 16 for row in rows if row["role"] == "label"), default=0)
    )


def format_percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.0f}%"


def curve_points(
    curve: pd.DataFrame,
    over: str,
    agents: Sequence[Look],
    panel: str | None = None,
    format_value: Callable[[float | None], str] = format_percent,
    in_order: bool = False,
    lacking: str = "",
    yardsticks: bool = False,
    each: pd.DataFrame | None = None,
) -> list[dict[str, Any]]:
    """Return the rows of a chart: the points of each curve, of single people, and of the lines that
    belong to nobody.

    Parameters
    ----------
    over : the column along the horizontal axis
    panel : the column that names panels; one panel when None
    format_value : makes the words of a value, for pointing at it
    in_order : whether agents are side by side as in a legend, from left to right; else people are
        in the middle
    lacking : a column with the means of somebody who lacks one thing; no such line where there is
        no such column
    yardsticks : whether all yardsticks are seen
    each : the means of single people, as points of their own
    """
    rows: list[dict[str, Any]] = []
    drawn = set(curve["agent"])
    everybody = [look for look in agents if look.label in drawn]
    thin = crowd(everybody)
    steps, widest = _side_by_side(everybody, [*([] if yardsticks else unasked(everybody)), *thin], in_order)
    grid = sorted(curve[over].dropna().astype(float).unique())
    step = min((right - left for left, right in pairwise(grid)), default=1.0)
    cells = grouped((row["agent"], row) for row in records(curve.sort_values([name for name in (panel, over) if name])))
    for look in everybody:
        for row in cells[look.label]:
            if _number(row["mean"]) is None:
                continue
            many = row[panel] if panel and not isinstance(row[panel], str) else len(grid)
            x = float(row[over]) + min(widest, float(many) * _DODGE) * step * steps[look.label]
            rows.append(
                _point(row, look, x, over, format_value)
                | ({"crowd": True} if look.label in thin else {})
                | _in_panel(row, panel)
            )
    if each is not None:
        random = np.random.RandomState(0)  # a little to the side, so that equal people are seen to be several
        for row in records(each):
            x = float(row[over]) + 0.06 * step * (random.rand() - 0.5)
            point = {
                "role": "person",
                "agent": row["agent"],
                "x": x,
                "at": _plain(row[over]),
                "mean": float(row["mean"]),
            }
            rows.append(point | _in_panel(row, panel))
    rows += _line_rows(curve, over, panel, step, "chance", "chance")
    if lacking and lacking in curve.columns:
        line = _line_rows(curve, over, panel, step, lacking, "lacking")
        ends = {row.get("panel"): row for row in line}.values()
        # Named at its end: above the line, or below where it runs along the top.
        rows += [
            *line,
            *(
                {
                    **row,
                    "role": "name",
                    "mean": row["mean"] - 0.08 * (row["mean"] > 0.95),
                    "name": lacking.replace("_", " "),
                }
                for row in ends
            ),
        ]
    return rows


def _side_by_side(
    everybody: Sequence[Look], in_the_middle: Sequence[str], in_order: bool
) -> tuple[dict[str, float], float]:
    """Return how many steps to the side each agent stands, and the largest step, as a share of the
    distance between two places."""
    present = [look for look in everybody if look.label not in {*in_the_middle}]
    # people in the middle, on the true position; machines to both sides
    steps: dict[str, float] = {
        look.label: (1 if rank % 2 else -1) * ((rank + 1) // 2) for rank, look in enumerate(reversed(present))
    }
    if in_order:
        steps = {look.label: rank - (len(present) - 1) / 2 for rank, look in enumerate(reversed(present))}
    # nobody steps aside for those who are not seen
    return steps | dict.fromkeys(in_the_middle, 0.0), (0.5 if in_order else 0.36) / max(1, len(present))


def _point(
    row: Mapping[Any, Any], look: Look, x: float, over: str, format_value: Callable[[float | None], str]
) -> dict[str, Any]:
    """Return a point of a curve, with the words that are shown when somebody points at it."""
    mean, low, high, count = (_number(row[name]) for name in ("mean", "low", "high", "n_units"))
    return {
        "role": "curve",
        "agent": look.label,
        "x": x,
        "at": _plain(row[over]),
        "mean": mean,
        "low": low,
        "high": high,
        "hollow": look.hollow,
        "faint": look.faint,
        "correct": format_value(mean),
        "range": f"{format_value(low)} to {format_value(high)}" if low is not None else (row["note"] or "none"),
        "n": "not published" if count is None else f"{count:.0f} {row['unit']}{'' if count == 1 else 's'}",
    }


def _in_panel(row: Mapping[Any, Any], panel: str | None) -> dict[str, str]:
    return {"panel": panel_label(row[panel])} if panel else {}


def _line_rows(
    curve: pd.DataFrame, over: str, panel: str | None, step: float, column: str, role: str
) -> list[dict[str, Any]]:
    """The line of each panel that belongs to nobody: through the mean of a column in every cell,
    half a step beyond the first and the last."""
    guessed = curve[curve[column].notna()]
    rows: list[dict[str, Any]] = []
    for name, part in guessed.groupby(panel) if panel else [(None, guessed)]:
        line = [
            (float(x), float(level))
            for x, level in part.groupby(over)[column].mean().reset_index().itertuples(index=False)
        ]
        line = [(line[0][0] - step / 2, line[0][1]), *line, (line[-1][0] + step / 2, line[-1][1])] if line else []
        rows += [
            {"role": role, "x": x, "at": x, "mean": level} | ({"panel": panel_label(name)} if panel else {})
            for x, level in line
        ]
    return rows


#: The vertical axis of proportions, with room for points at 0 and at 100%.
PROPORTIONS: dict[str, Any] = {
    "title": "correct",
    "domain": [-0.04, 1.05],
    "format": "%",
    "values": [0, 0.2, 0.4, 0.6, 0.8, 1],
}


def curve_layers(
    agents: Sequence[Look],
    curve: pd.DataFrame,
    over: str,
    x_title: str,
    *,
    width: int = PANEL[0],
    height: int = PANEL[1],
    vertical: Mapping[str, Any] = PROPORTIONS,
    called: str = "correct",
    names: Sequence[str] = (),
    line: str = "who",
    bars: str = "95% interval",
    span: tuple[float, float] | None = None,
    lacking: bool = False,
    yardsticks: bool = False,
    singles: bool = False,
    labelled: bool = False,
) -> dict[str, Any]:
    """Return the layers that all figures share, as plain data: chance, intervals, lines, points.

    Its Vega parameters: ``hidden`` lists agents that are switched off; ``intervals`` says whether
    bars are shown, and ``labels`` whether names at ends of lines are.

    Parameters
    ----------
    vertical : the vertical axis, such as :data:`PROPORTIONS`
    called : the name of what it shows
    names : those of the places 1, 2, ... along the horizontal axis, if these are not numbers
    line, bars : what a line and its bars are, in words
    span : the range of the horizontal axis
    lacking : whether there is a line of somebody who lacks one thing
    yardsticks : whether yardsticks are shown from the beginning
    singles : whether single people are points of their own
    labelled : whether lines have names at their ends (:func:`label_rows`)
    """
    drawn = set(curve["agent"])
    there = [look for look in agents if look.label in drawn]
    off, thin = [] if yardsticks else unasked(there), set(crowd(there))
    # Vega gives a chart with an empty legend infinite sides.
    in_legend = [look.label for look in agents[::-1] if look.label in drawn and look.label not in {*off, *thin}]
    legend = (
        {"orient": "bottom", "columns": 3, "title": None, "symbolOpacity": 1, "values": in_legend}
        if in_legend
        else None
    )
    colour = _agent_scale(agents) | {"legend": legend}
    x, upright = _horizontal(curve, over, x_title, names, span), upright_axis(vertical)
    at_mean = {"x": x, "y": {"field": "mean", "type": "quantitative"} | upright}
    inside = {"clip": True} if vertical.get("clip") else {}
    shown = {"filter": "datum.role == 'curve' && indexof(hidden, datum.agent) < 0"}
    alone = [shown, *([{"filter": "!datum.crowd"}] if thin else [])]
    faint = {"condition": {"test": "datum.faint", "value": 0.4}, "value": 1}
    low_to_high = {"x": x, "y": {"field": "low", "type": "quantitative"} | upright, "y2": {"field": "high"}}
    spread = {
        "transform": [*alone, {"filter": "intervals"}],
        "mark": {"type": "rule", "strokeWidth": 1.3, "opacity": 0.55, "clip": True},
        "encoding": low_to_high | {"color": colour, "strokeOpacity": faint},
    }
    lines = {
        "transform": [shown],
        "mark": {"type": "line", "strokeCap": "butt", "opacity": 0.95, **inside},
        "encoding": at_mean | {"color": colour} | _line_styles(agents, thin),
    }
    points = {
        "transform": alone,
        "mark": {"type": "point", "filled": True, "opacity": 1, "strokeWidth": 1.4, **inside},
        "encoding": at_mean
        | {"color": colour}
        | _point_styles(agents, legend)
        | {"tooltip": tooltip(line, x_title or over, called, bars)},
    }
    lacked = [_nobody("lacking", [6, 3], at_mean), _name_of_lacking(at_mean)] if lacking else []
    people = [_single_people(at_mean, colour)] if singles else []
    return {
        "layer": [
            _nobody("chance", [1.5, 2.5], at_mean),
            *lacked,
            *people,
            spread,
            lines,
            points,
            *(_names_at_ends(at_mean, colour) if labelled else []),
        ],
        "params": [
            {"name": "hidden", "value": off},
            {"name": "intervals", "value": True},
            {"name": "labels", "value": True},
        ],
        "width": width,
        "height": height,
    }


def upright_axis(vertical: Mapping[str, Any]) -> dict[str, Any]:
    """Return title, scale and labels of a vertical axis."""
    return {
        "title": vertical["title"],
        "scale": {"domain": vertical["domain"], "nice": False, "zero": False},
        "axis": {"format": vertical["format"], "values": vertical["values"], "labelOverlap": False},
    }


def tooltip(line: str, along: str, called: str, bars: str) -> list[dict[str, Any]]:
    """Return the fields of a point that are shown when somebody points at it, each with its title."""
    return [
        {"field": "agent", "type": "nominal", "title": line},
        {"field": "at", "type": "quantitative", "title": along},
        {"field": "correct", "type": "nominal", "title": called},
        {"field": "range", "type": "nominal", "title": bars},
        {"field": "n", "type": "nominal"},
    ]


def _horizontal(
    curve: pd.DataFrame, over: str, x_title: str, names: Sequence[str], span: tuple[float, float] | None
) -> dict[str, Any]:
    """Return the horizontal axis, which has the labels that its places need."""
    places = [_plain(value) for value in sorted(curve[over].dropna().unique())]
    lined = "chance" in curve.columns and bool(
        curve["chance"].notna().any()
    )  # its line goes half a step further than the points
    whole = all(isinstance(value, int) for value in places)
    labels: dict[str, Any] = {"format": "d"} if whole else {"format": ".6~g", "tickCount": 5}
    if names:
        labels = {"labelExpr": f"{json.dumps(list(names))}[datum.value - 1]"}
    labels |= {"values": _ticks(places)} if whole else {}
    return {
        "field": "x",
        "type": "quantitative",
        "title": x_title or None,
        "scale": {
            "zero": False,
            "nice": False,
            "padding": 0 if lined else 6,
            **({} if span is None else {"domain": list(span)}),
        },
        "axis": {"grid": False, "labelOverlap": "parity", "labelSeparation": 3, **labels},
    }


def _agent_scale(agents: Sequence[Look]) -> dict[str, Any]:
    return {"field": "agent", "type": "nominal", "scale": {"domain": [look.label for look in agents]}}


def _style(agents: Sequence[Look], values: Sequence[Any], kind: str = "nominal") -> dict[str, Any]:
    """Return an encoding that gives each agent a value of its own."""
    scale = {"type": "ordinal", "domain": [look.label for look in agents], "range": list(values)}
    return {"field": "agent", "type": kind, "legend": None, "scale": scale}


def _line_styles(agents: Sequence[Look], thin: Collection[str]) -> dict[str, Any]:
    """Return dashes and widths of lines; thin ones are fainter the more there are, so that it stays
    to be seen where most of them are."""
    widths = _style(agents, [0.8 if look.label in thin else look.width for look in agents], "ordinal")
    styles = {
        "strokeDash": _style(agents, [list(look.dash) for look in agents]),
        "strokeWidth": widths,
        "order": _IN_ORDER,
    }
    if not thin:
        return styles
    faintness = max(0.04, min(0.3, 20 / len(thin)))
    return styles | {
        "opacity": _style(agents, [faintness if look.label in thin else 0.95 for look in agents], "ordinal")
    }


def _point_styles(agents: Sequence[Look], legend: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return shapes and sizes of points, and which of them are hollow."""
    return {
        "stroke": _agent_scale(agents) | {"legend": None},
        "fillOpacity": {"condition": {"test": "datum.hollow", "value": 0}, "value": 1},
        "shape": _style(agents, [look.shape for look in agents]) | {"legend": legend},
        "size": _style(agents, [look.size for look in agents], "ordinal"),
    }


def _nobody(role: str, dash: Sequence[float], at_mean: Mapping[str, Any]) -> dict[str, Any]:
    """Return the layer of a line that belongs to nobody in the figure, such as chance."""
    return {
        "transform": [{"filter": f"datum.role == '{role}'"}],
        "mark": {"type": "line", "style": "chance", "strokeDash": list(dash), "strokeWidth": 1.2},
        "encoding": {**at_mean, "order": _IN_ORDER},
    }


def _name_of_lacking(at_mean: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "transform": [{"filter": "datum.role == 'name'"}],
        "mark": {"type": "text", "style": "chance", "align": "right", "baseline": "bottom", "dy": -2, "fontSize": 9},
        "encoding": {**at_mean, "text": {"field": "name", "type": "nominal"}},
    }


def _single_people(at_mean: Mapping[str, Any], colour: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "transform": [{"filter": "datum.role == 'person' && indexof(hidden, datum.agent) < 0"}],
        "mark": {"type": "point", "filled": True, "shape": "circle", "size": 9, "opacity": 0.35, "clip": True},
        "encoding": {**at_mean, "color": colour},
    }


def _names_at_ends(at_mean: Mapping[str, Any], colour: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the layers of names at ends of lines: a halo, names in the colour of their lines, and
    soft ones for yardsticks."""
    beside = {"filter": "datum.role == 'label' && labels && indexof(hidden, datum.agent) < 0"}
    mark = {"type": "text", "align": "left", "baseline": "middle", "dx": 9, "fontSize": _LABEL_SIZE}
    name = {**at_mean, "text": {"field": "name", "type": "nominal"}}
    return [
        {"transform": [beside], "mark": mark | {"style": "halo"}, "encoding": name},
        {"transform": [beside, {"filter": "!datum.faint"}], "mark": mark, "encoding": name | {"color": colour}},
        {"transform": [beside, {"filter": "datum.faint"}], "mark": mark | {"style": "soft"}, "encoding": name},
    ]
