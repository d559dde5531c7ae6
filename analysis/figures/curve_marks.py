"""The marks of every figure of curves: points (side by side, so that intervals do not hide each
other), the chance line, and the layers that draw them."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from ...core.json_values import grouped
from ..data.coding import records
from ..data.scoring import plural
from ..data.style import Look, competitors, crowd, unasked

#: Width and height of a panel, in px.
PANEL = (190, 150)
_IN_ORDER = {"field": "at", "type": "quantitative"}
#: Distance of neighbouring agents at one position, as a share of a panel's width.
_DODGE = 0.012
#: Intervals by themselves, and before the thin lines of single people.
_ALONE, _AMONG_PEOPLE = {"strokeWidth": 1.3, "opacity": 0.55}, {"strokeWidth": 2.4, "opacity": 1}


def panel_label(length: Any) -> str:
    if isinstance(length, str):
        return length
    return plural(int(length), "item")


def _plain(value: Any) -> int | float:
    return int(value) if float(value).is_integer() else float(value)


def _number(value: Any) -> float | None:
    return None if value is None or value != value else float(value)


def whole_axis(low: float, high: float) -> dict[str, Any]:
    """The axis of a number without fractions: a few round labels, no two of them alike, however
    short the axis is."""
    power = 10 ** max(0, math.floor(math.log10(max(high - low, 1.0) / 5)))
    step = next(factor * power for factor in (1, 2, 5, 10, 20) if (high - low) / (factor * power) <= 5)
    return {
        "grid": False,
        "format": "d",
        "values": [step * place for place in range(math.ceil(low / step), math.floor(high / step) + 1)],
    }


def _ticks(places: Sequence[int | float]) -> list[int | float]:
    """The places that have a label: all of them (of labels that collide every other one is left
    out), or the first and round ones of many. Panels have the same places, so that round ones of
    long lists would leave those of short lists without any."""
    if len(places) <= 20 or places[-1] <= 10:
        return list(places)
    step = next(step for step, upto in ((5, 30), (10, 60), (50, math.inf)) if places[-1] <= upto)
    return [one for at, one in enumerate(places) if not at or one % step == 0]


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
        rows += [{"role": role, "x": x, "at": x, "mean": level} | _in_panel({panel: name}, panel) for x, level in line]
    return rows


#: The vertical axis of proportions, with room for points at 0 and at 100%.
PROPORTIONS: dict[str, Any] = {
    "title": "correct",
    "domain": [-0.04, 1.05],
    "format": "%",
    "values": [0, 0.2, 0.4, 0.6, 0.8, 1],
}


@dataclass(frozen=True)
class CurveChart:
    """A chart of curves: what it shows, and how that is called. Figures of all kinds have it in common.

    Parameters
    ----------
    over, x_title : the column along the horizontal axis, and what that is called
    called : the name of what is measured
    vertical : the vertical axis, such as :data:`PROPORTIONS`
    names : those of the places 1, 2, ... along the horizontal axis, if these are not numbers
    line, bars : what a line and its bars are, in words; of lines that are not answerers each stands in
        the order of the legend, else people are in the middle
    span : the range of the horizontal axis
    lacking : a column with the means of somebody who lacks one thing; no such line when empty
    yardsticks : whether yardsticks are shown from the beginning
    size : width and height of a panel, in px
    """

    over: str
    x_title: str
    called: str = "correct"
    vertical: Mapping[str, Any] = field(default_factory=lambda: PROPORTIONS)
    names: Sequence[str] = ()
    line: str = "who"
    bars: str = "95% interval"
    span: tuple[float, float] | None = None
    lacking: str = ""
    yardsticks: bool = False
    size: tuple[int, int] = PANEL

    def words(self, value: float | None) -> str:
        """A value in words, for pointing at it."""
        if value is None:
            return ""
        if self.vertical["format"] == "%":
            return f"{100 * value:.0f}%"
        ticks = self.vertical["values"]
        digits = max(0, 1 - math.floor(math.log10(ticks[1] - ticks[0]))) if len(ticks) > 1 else 2
        return f"{value:.{digits}f}"

    def points(
        self, curve: pd.DataFrame, agents: Sequence[Look], panel: str | None = None, each: pd.DataFrame | None = None
    ) -> list[dict[str, Any]]:
        """The rows of the chart: the points of each curve, of single people, and of the lines that
        belong to nobody.

        Parameters
        ----------
        panel : the column that names panels; one panel when None
        each : the means of single people, as points of their own
        """
        over = self.over
        everybody = [look for look in agents if look.label in set(curve["agent"])]
        thin = crowd(everybody)
        unseen = [] if self.yardsticks else unasked(everybody)
        steps, widest = _side_by_side(everybody, [*unseen, *thin], self.line != "who")
        grid = sorted(curve[over].dropna().astype(float).unique())
        step = min((right - left for left, right in pairwise(grid)), default=1.0)
        cells = grouped(
            (row["agent"], row) for row in records(curve.sort_values([name for name in (panel, over) if name]))
        )
        rows: list[dict[str, Any]] = []
        for look in everybody:
            for row in (one for one in cells[look.label] if _number(one["mean"]) is not None):
                many = row[panel] if panel and not isinstance(row[panel], str) else len(grid)
                x = float(row[over]) + min(widest, float(many) * _DODGE) * step * steps[look.label]
                thinned = {"crowd": True} if look.label in thin else {}
                rows.append(self._point(row, look, x) | thinned | _in_panel(row, panel))
        if each is not None:
            who = sorted(set(each["person"]))  # a little to the side, so that equal people are seen to be several
            aside = dict(zip(who, 0.06 * step * (np.random.RandomState(0).rand(len(who)) - 0.5), strict=True))
            for row in records(each):
                x = float(row[over]) + aside[row["person"]]
                point = {"role": "person", "agent": row["agent"], "x": x, "at": _plain(row[over])}
                point["person"] = row["person"]
                rows.append(point | {"mean": float(row["mean"])} | _in_panel(row, panel))
        rows += _line_rows(curve, over, panel, step, "chance", "chance")
        if not self.lacking:
            return rows
        line = _line_rows(curve, over, panel, step, self.lacking, "lacking")
        for row in {row.get("panel"): row for row in line}.values():
            # named at its end: above the line, or below where it runs along the top
            place = {"role": "name", "mean": row["mean"] - 0.08 * (row["mean"] > 0.95)}
            line.append({**row, **place, "name": self.lacking.replace("_", " ")})
        return [*rows, *line]

    def _point(self, row: Mapping[Any, Any], look: Look, x: float) -> dict[str, Any]:
        """A point of a curve, with the words that are shown when somebody points at it."""
        mean, low, high, count = (_number(row[name]) for name in ("mean", "low", "high", "n_units"))
        return {
            "role": "curve",
            "agent": look.label,
            "x": x,
            "at": _plain(row[self.over]),
            "mean": mean,
            "low": low,
            "high": high,
            "hollow": look.hollow,
            "faint": look.faint,
            "correct": self.words(mean),
            "range": f"{self.words(low)} to {self.words(high)}" if low is not None else (row["note"] or "none"),
            "n": "not published" if count is None else plural(round(count), row["unit"]),
        }

    def layers(self, agents: Sequence[Look], curve: pd.DataFrame, *, singles: bool = False) -> dict[str, Any]:
        """The layers, as plain data: chance, intervals, lines, points.

        Its Vega parameters: ``hidden`` lists agents that are switched off; ``intervals`` says whether
        bars are shown.

        Parameters
        ----------
        singles : whether single people are points of their own
        """
        there = [look for look in agents if look.label in set(curve["agent"])]
        off, thin = [] if self.yardsticks else unasked(there), set(crowd(there))
        # Vega gives a chart with an empty legend infinite sides.
        in_legend = [look.label for look in there[::-1] if look.label not in {*off, *thin}]
        looks_so = {"orient": "bottom", "columns": 3, "title": None, "symbolOpacity": 1, "values": in_legend}
        legend = looks_so if in_legend else None
        colour = _agent_scale(agents) | {"legend": legend}
        x, upright = self._horizontal(curve), upright_axis(self.vertical)
        at_mean = {"x": x, "y": {"field": "mean", "type": "quantitative"} | upright}
        inside = {"clip": True} if self.vertical.get("clip") else {}
        shown = {"filter": "datum.role == 'curve' && indexof(hidden, datum.agent) < 0"}
        alone = [shown, *([{"filter": "!datum.crowd"}] if thin else [])]
        faint = {"condition": {"test": "datum.faint", "value": 0.4}, "value": 1}
        low_to_high = {"x": x, "y": {"field": "low", "type": "quantitative"} | upright, "y2": {"field": "high"}}
        spread = {
            "transform": [*alone, {"filter": "intervals"}],
            "mark": {"type": "rule", "clip": True} | (_AMONG_PEOPLE if singles else _ALONE),
            "encoding": low_to_high | {"color": colour, "strokeOpacity": faint},
        }
        lines = {
            "transform": [shown],
            "mark": {"type": "line", "strokeCap": "butt", "opacity": 0.95, **inside},
            "encoding": at_mean | {"color": colour} | _line_styles(agents, thin),
        }
        pointed = {"tooltip": tooltip(self.line, self.x_title or self.over, self.called, self.bars)}
        points = {
            "transform": alone,
            "mark": {"type": "point", "filled": True, "opacity": 1, "strokeWidth": 1.4, **inside},
            "encoding": {
                **at_mean,
                "color": colour,
                "stroke": _agent_scale(agents) | {"legend": None},
                "fillOpacity": {"condition": {"test": "datum.hollow", "value": 0}, "value": 1},
                "shape": _style(agents, [look.shape for look in agents]) | {"legend": legend},
                "size": _style(agents, [look.size for look in agents], "ordinal"),
                **pointed,
            },
        }
        lacked = [_nobody("lacking", [6, 3], at_mean), _name_of_lacking(at_mean)] if self.lacking else []
        people = _single_people(at_mean, colour) if singles else []
        return {
            "layer": [_nobody("chance", [1.5, 2.5], at_mean), *lacked, *people, spread, lines, points],
            "params": [{"name": "hidden", "value": off}, {"name": "intervals", "value": True}],
            "width": self.size[0],
            "height": self.size[1],
        }

    def _horizontal(self, curve: pd.DataFrame) -> dict[str, Any]:
        """The horizontal axis, which has the labels that its places need."""
        places = [_plain(value) for value in sorted(curve[self.over].dropna().unique())]
        # the line of chance goes half a step further than the points
        lined = "chance" in curve.columns and bool(curve["chance"].notna().any())
        whole = all(isinstance(value, int) for value in places)
        labels: dict[str, Any] = {"format": "d"} if whole else {"format": ".6~g", "tickCount": 5}
        if self.names:
            labels = {"labelExpr": f"{json.dumps(list(self.names))}[datum.value - 1]"}
        labels |= {"values": _ticks(places)} if whole else {}
        domain = {} if self.span is None else {"domain": list(self.span)}
        return {
            "field": "x",
            "type": "quantitative",
            "title": self.x_title or None,
            "scale": {"zero": False, "nice": False, "padding": 0 if lined else 6, **domain},
            "axis": {"grid": False, "labelOverlap": "parity", "labelSeparation": 3, **labels},
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


def _single_people(at_mean: Mapping[str, Any], colour: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A line for everybody, behind a point for each condition."""
    people = {"transform": [{"filter": "datum.role == 'person' && indexof(hidden, datum.agent) < 0"}]}
    line = {"type": "line", "strokeWidth": 0.6, "opacity": 0.25, "clip": True}
    point = {"type": "point", "filled": True, "shape": "circle", "size": 9, "opacity": 0.35, "clip": True}
    encoding = {**at_mean, "color": colour}
    return [
        {**people, "mark": line, "encoding": {**encoding, "detail": {"field": "person", "type": "nominal"}}},
        {**people, "mark": point, "encoding": encoding},
    ]


# The vertical axis


def axis_of(measure: str, table: pd.DataFrame) -> dict[str, Any]:
    """A vertical axis with round numbers around values and intervals, and with 0 where it is near.
    Yardsticks may lie beyond where there is anybody else."""
    low, high = _extent(competitors(table[table["mean"].notna()]))
    if low > 0 and low < (high - low) * 2:
        low = 0.0
    span = (high - low) or 1.0
    step = 10 ** math.floor(math.log10(span / 4))
    step = next(step * factor for factor in (1, 2, 2.5, 5, 10) if span / (step * factor) <= 6)
    first, end = math.floor(low / step), math.ceil(high / step)
    ticks = [round(step * place, 10) for place in range(first, end + 1)]
    domain = [ticks[0] - 0.04 * step, ticks[-1] + 0.1 * step]
    return {
        "title": measure,
        "domain": domain,
        "format": ".6~g" if step < 1 else "d",
        "values": ticks,
        "clip": reaches_beyond(table),
    }


def _extent(table: pd.DataFrame) -> tuple[float, float]:
    """The range of an axis: of values, their intervals and chance levels, but for those that would
    make the others unreadable.

    Values that lie further from the others than three times their spread (Tukey's far outliers,
    around at least half of the values) are beyond the axis, and so are ends of intervals that reach
    further from all values than three usual intervals, or three times their range.
    """
    means = table["mean"].dropna().astype(float).to_numpy()
    if not len(means):
        return 0.0, 1.0
    first, third = np.quantile(means, [0.25, 0.75])
    widths = (table["high"] - table["low"]).dropna().astype(float).to_numpy()
    usual = float(np.median(widths)) if len(widths) else 0.0
    reach = 3 * max(float(third - first), usual)
    near = means[(means >= first - reach) & (means <= third + reach)] if reach > 0 else means
    low, high = float(near.min()), float(near.max())
    reach = 3 * max(high - low, usual)
    others = [float(one) for name in ("low", "high", "chance") for one in table[name].dropna()]
    inside = [one for one in others if low - reach <= one <= high + reach] if reach > 0 else others
    return min([low, *inside]), max([high, *inside])


def reaches_beyond(table: pd.DataFrame) -> bool:
    """Return whether anything reaches beyond the axis."""
    table = table[table["mean"].notna()]
    low, high = _extent(competitors(table))
    values = [float(one) for name in ("mean", "low", "high", "chance") for one in table[name].dropna()]
    return min(values, default=low) < low or max(values, default=high) > high
