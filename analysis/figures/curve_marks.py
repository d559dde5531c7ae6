"""The marks of every figure of curves: points (side by side, so that intervals do not hide each other), the chance line, and the layers that draw them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ..data.style import Look, crowd, unasked
from .sheet import text_width

if TYPE_CHECKING:
    import pandas as pd

#: Width and height of a panel, in px.
PANEL = (190, 150)
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
    """The axis of a number without fractions: a few round labels, no two of them alike, however short the axis is."""
    power = 10 ** max(0, math.floor(math.log10(max(high - low, 1.0) / 5)))
    step = next(factor * power for factor in (1, 2, 5, 10, 20) if (high - low) / (factor * power) <= 5)
    values = [step * place for place in range(math.ceil(low / step), math.floor(high / step) + 1)]
    return {"grid": False, "format": "d", "values": values}


def _ticks(places: Sequence[int | float]) -> list[int | float]:
    """The places that have a label: all of them (of labels that collide every other one is left out), or the first and round ones of many. Panels have the same
    places, so that round ones of long lists would leave those of short lists without any."""
    if len(places) <= 20 or places[-1] <= 10:
        return list(places)
    step = 5 if places[-1] <= 30 else 10 if places[-1] <= 60 else 50
    return [one for at, one in enumerate(places) if not at or one % step == 0]


def label_rows(
    rows: Sequence[Mapping[str, Any]], agents: Sequence[Look], vertical: Mapping[str, Any], height: int, panel: str | None = None
) -> list[dict[str, Any]]:
    """The names of lines at their ends, as further rows of a chart (``label``); none where there are more than :data:`MOST_LABELS` lines.

    Names beside the right end of the panel are moved up or down until they do not touch; those of lines that end earlier stay where these end.

    Parameters
    ----------
    rows : of :func:`curve_points`
    agents : how everybody looks; those who are not shown unless asked for have no name
    vertical : the vertical axis, over so many px
    panel : in which names stand; the only one when None
    """
    there = {str(row["agent"]) for row in rows if row["role"] == "curve"}
    off = unasked([look for look in agents if look.label in there])
    ends: dict[str, Mapping[str, Any]] = {}
    for row in rows:
        if row["role"] == "curve" and row.get("panel") == panel and row["agent"] not in off and row["at"] >= ends.get(row["agent"], row)["at"]:
            ends[row["agent"]] = row
    if not 2 <= len(there - set(off)) <= MOST_LABELS or not ends:
        return []
    low, high = vertical["domain"]
    gap, last = _LABEL_HEIGHT * (high - low) / height, max(row["at"] for row in ends.values())
    right = max(row["x"] for row in ends.values())
    shorts = {name: name.partition(" (")[0] if len(name) > _LONGEST_LABEL else name for name in sorted(there - set(off))}
    labels = []
    for name, row in ends.items():
        text = shorts[name] if [*shorts.values()].count(shorts[name]) == 1 else name
        text = text if len(text) <= _LONGEST_LABEL else f"{text[: _LONGEST_LABEL - 9]}…{text[-8:]}"  # names that begin alike end differently
        made = {"role": "label", "agent": name, "x": right if row["at"] == last else row["x"], "at": row["at"], "mean": row["mean"], "name": text}
        labels.append(made | {"faint": row["faint"]} | ({"panel": panel} if panel else {}))
    column = sorted((one for one in labels if one["at"] == last), key=lambda one: one["mean"])
    for one, mean in zip(column, _apart([one["mean"] for one in column], gap, low, high), strict=True):
        one["mean"] = mean
    return labels


def _apart(values: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Ascending values, moved as little as possible until neighbours are so far apart: those that touch stand around their mean, between two ends."""
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
    """How many px names of lines need beside a panel."""
    return round(max((text_width(str(row["name"]), _LABEL_SIZE) + 16 for row in rows if row["role"] == "label"), default=0))


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
    """The rows of a chart: one per point of each curve (agents side by side, so that intervals do not hide each other), those of the chance line, and those of
    the line of somebody who lacks one thing, where there is a column ``lacking``.

    ``each`` has the means of single people, as points of their own; ``yardsticks`` says whether all of these are seen. ``format_value`` makes the words of a
    value, for pointing at it. Side by side means with people in the middle, or ``in_order``, from left to right as a legend has them.
    """
    rows: list[dict[str, Any]] = []
    drawn = set(curve["agent"])
    everybody = [look for look in agents if look.label in drawn]
    aside = [] if yardsticks else unasked(everybody)  # in the middle, so that nobody steps aside for those who are not seen
    thin = crowd(everybody)
    present = [look for look in everybody if look.label not in {*aside, *thin}]
    # people in the middle, on the true position; machines to both sides
    places: dict[str, float] = {look.label: (1 if rank % 2 else -1) * ((rank + 1) // 2) for rank, look in enumerate(reversed(present))}
    if in_order:
        places = {look.label: rank - (len(present) - 1) / 2 for rank, look in enumerate(reversed(present))}
    places |= dict.fromkeys([*aside, *thin], 0.0)
    widest = (0.5 if in_order else 0.36) / max(1, len(present))
    grid = sorted(curve[over].dropna().astype(float).unique())
    step = min((right - left for left, right in pairwise(grid)), default=1.0)
    cells: dict[str, list[dict[Any, Any]]] = {}
    for row in curve.sort_values([name for name in (panel, over) if name]).to_dict("records"):
        cells.setdefault(row["agent"], []).append(row)
    for look in everybody:
        for row in cells[look.label]:
            mean, low, high = _number(row["mean"]), _number(row["low"]), _number(row["high"])
            if mean is None:
                continue
            count = _number(row["n_units"])
            many = row[panel] if panel and not isinstance(row[panel], str) else len(grid)
            gap = min(widest, float(many) * _DODGE) * step
            rows.append(
                {
                    "role": "curve",
                    "agent": look.label,
                    "x": float(row[over]) + gap * places[look.label],
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
                | ({"crowd": True} if look.label in thin else {})
                | ({"panel": panel_label(row[panel])} if panel else {})
            )
    if each is not None:
        random = np.random.RandomState(0)  # a little to the side, so that equal people are seen to be several
        for row in each.to_dict("records"):
            aside_by = 0.06 * step * (random.rand() - 0.5)
            point = {"role": "person", "agent": row["agent"], "x": float(row[over]) + aside_by, "at": _plain(row[over]), "mean": float(row["mean"])}
            rows.append(point | ({"panel": panel_label(row[panel])} if panel else {}))
    rows += _line_rows(curve, over, panel, step, "chance", "chance")
    if lacking and lacking in curve.columns:
        line = _line_rows(curve, over, panel, step, lacking, "lacking")
        ends = {row.get("panel"): row for row in line}.values()
        # Named at its end: above the line, or below where it runs along the top.
        rows += [*line, *({**row, "role": "name", "mean": row["mean"] - 0.08 * (row["mean"] > 0.95), "name": lacking.replace("_", " ")} for row in ends)]
    return rows


def _line_rows(curve: pd.DataFrame, over: str, panel: str | None, step: float, column: str, role: str) -> list[dict[str, Any]]:
    """The line of each panel that belongs to nobody: through the mean of a column in every cell, half a step beyond the first and the last."""
    guessed = curve.dropna(subset=[column])
    rows: list[dict[str, Any]] = []
    for name, part in guessed.groupby(panel) if panel else [(None, guessed)]:
        line = [(float(x), float(level)) for x, level in part.groupby(over)[column].mean().reset_index().itertuples(index=False)]
        line = [(line[0][0] - step / 2, line[0][1]), *line, (line[-1][0] + step / 2, line[-1][1])] if line else []
        rows += [{"role": role, "x": x, "at": x, "mean": level} | ({"panel": panel_label(name)} if panel else {}) for x, level in line]
    return rows


#: The vertical axis of proportions, with room for points at 0 and at 100%.
PROPORTIONS: dict[str, Any] = {"title": "correct", "domain": [-0.04, 1.05], "format": "%", "values": [0, 0.2, 0.4, 0.6, 0.8, 1]}


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
    """The layers that all figures share, as plain data: chance, intervals, lines, points. ``vertical`` is their vertical axis, ``called`` the name of what it
    shows; ``names`` are those of the places 1, 2, ... along the horizontal axis, if not numbers; ``line`` and ``bars`` say what a line and its bars
    are; ``span`` is what the horizontal axis covers; ``lacking`` says whether there is a line of somebody who lacks one thing.

    ``labelled`` says whether lines have names at their ends (:func:`label_rows`).

    Its parameters: ``hidden`` lists agents that are switched off, ``intervals`` says whether bars are shown, ``labels`` whether names at ends of lines are.
    """
    labels, drawn = [look.label for look in agents], set(curve["agent"])
    there = [look for look in agents if look.label in drawn]
    off, thin = [] if yardsticks else unasked(there), set(crowd(there))
    in_legend = [label for label in labels[::-1] if label in drawn and label not in off and label not in thin]
    # Vega gives a chart with an empty legend infinite sides.
    legend = {"orient": "bottom", "columns": 3, "title": None, "symbolOpacity": 1, "values": in_legend} if in_legend else None
    agent = {"field": "agent", "type": "nominal", "scale": {"domain": labels}}
    colour = agent | {"legend": legend}

    places = [_plain(value) for value in sorted(curve[over].dropna().unique())]
    lined = "chance" in curve.columns and bool(curve["chance"].notna().any())  # its line goes half a step further than the points
    labels_of: dict[str, Any] = {"labelExpr": f"{json.dumps(list(names))}[datum.value - 1]"} if names else {}
    whole = all(isinstance(value, int) for value in places)
    labels_of = labels_of or ({"format": "d"} if whole else {"format": ".6~g", "tickCount": 5})
    labels_of = labels_of | ({"values": _ticks(places)} if whole else {})

    def each(values: Sequence[Any], kind: str = "nominal") -> dict[str, Any]:
        return {"field": "agent", "type": kind, "legend": None, "scale": {"type": "ordinal", "domain": labels, "range": list(values)}}

    covers: dict[str, Any] = {} if span is None else {"domain": list(span)}
    x: dict[str, Any] = {
        "field": "x",
        "type": "quantitative",
        "title": x_title or None,
        "scale": {"zero": False, "nice": False, "padding": 0 if lined else 6, **covers},
        "axis": {"grid": False, "labelOverlap": "parity", "labelSeparation": 3, **labels_of},
    }
    upright = {
        "type": "quantitative",
        "title": vertical["title"],
        "scale": {"domain": vertical["domain"], "nice": False, "zero": False},
        "axis": {"format": vertical["format"], "values": vertical["values"], "labelOverlap": False},
    }
    place = {"x": x, "y": {"field": "mean"} | upright}
    order = {"field": "at", "type": "quantitative"}
    tooltip = [
        {"field": "agent", "type": "nominal", "title": line},
        {"field": "at", "type": "quantitative", "title": x_title or over},
        {"field": "correct", "type": "nominal", "title": called},
        {"field": "range", "type": "nominal", "title": bars},
        {"field": "n", "type": "nominal"},
    ]
    shown = {"filter": "datum.role == 'curve' && indexof(hidden, datum.agent) < 0"}
    alone = [shown, *([{"filter": "!datum.crowd"}] if thin else [])]
    inside = {"clip": True} if vertical.get("clip") else {}
    guess = {
        "transform": [{"filter": "datum.role == 'chance'"}],
        "mark": {"type": "line", "style": "chance", "strokeDash": [1.5, 2.5], "strokeWidth": 1.2},
        "encoding": place | {"order": order},
    }
    without = {
        "transform": [{"filter": "datum.role == 'lacking'"}],
        "mark": {"type": "line", "style": "chance", "strokeDash": [6, 3], "strokeWidth": 1.2},
        "encoding": place | {"order": order},
    }
    named = {
        "transform": [{"filter": "datum.role == 'name'"}],
        "mark": {"type": "text", "style": "chance", "align": "right", "baseline": "bottom", "dy": -2, "fontSize": 9},
        "encoding": place | {"text": {"field": "name", "type": "nominal"}},
    }
    lacked = [without, named] if lacking else []
    faint = {"condition": {"test": "datum.faint", "value": 0.4}, "value": 1}
    spread = {
        "transform": [*alone, {"filter": "intervals"}],
        "mark": {"type": "rule", "strokeWidth": 1.3, "opacity": 0.55, "clip": True},
        "encoding": {"x": x, "y": {"field": "low"} | upright, "y2": {"field": "high"}, "color": colour, "strokeOpacity": faint},
    }
    dashes, widths = each([list(look.dash) for look in agents]), each([0.8 if look.label in thin else look.width for look in agents], "ordinal")
    faintness = max(0.04, min(0.3, 20 / max(1, len(thin))))  # of many lines, each is fainter: where most are stays to be seen
    strength = {"opacity": each([faintness if look.label in thin else 0.95 for look in agents], "ordinal")} if thin else {}
    lines = {
        "transform": [shown],
        "mark": {"type": "line", "strokeCap": "butt", "opacity": 0.95, **inside},
        "encoding": place | {"color": colour, "strokeDash": dashes, "strokeWidth": widths, "order": order} | strength,
    }
    points = {
        "transform": alone,
        "mark": {"type": "point", "filled": True, "opacity": 1, "strokeWidth": 1.4, **inside},
        "encoding": place
        | {
            "color": colour,
            "stroke": agent | {"legend": None},
            "fillOpacity": {"condition": {"test": "datum.hollow", "value": 0}, "value": 1},
            "shape": each([look.shape for look in agents]) | {"legend": legend},
            "size": each([look.size for look in agents], "ordinal"),
            "tooltip": tooltip,
        },
    }
    beside = {"filter": "datum.role == 'label' && labels && indexof(hidden, datum.agent) < 0"}
    name_mark = {"type": "text", "align": "left", "baseline": "middle", "dx": 9, "fontSize": _LABEL_SIZE}
    names_at_ends = place | {"text": {"field": "name", "type": "nominal"}}
    labels_at_ends = [
        {"transform": [beside], "mark": name_mark | {"style": "halo"}, "encoding": names_at_ends},
        {"transform": [beside, {"filter": "!datum.faint"}], "mark": name_mark, "encoding": names_at_ends | {"color": colour}},
        {"transform": [beside, {"filter": "datum.faint"}], "mark": name_mark | {"style": "soft"}, "encoding": names_at_ends},
    ]
    switches = [{"name": "hidden", "value": off}, {"name": "intervals", "value": True}, {"name": "labels", "value": True}]
    person = {
        "transform": [{"filter": "datum.role == 'person' && indexof(hidden, datum.agent) < 0"}],
        "mark": {"type": "point", "filled": True, "shape": "circle", "size": 9, "opacity": 0.35, "clip": True},
        "encoding": place | {"color": colour},
    }
    people = [person] if singles else []
    return {
        "layer": [guess, *lacked, *people, spread, lines, points, *(labels_at_ends if labelled else [])],
        "params": switches,
        "width": width,
        "height": height,
    }
