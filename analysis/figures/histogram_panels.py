"""Histograms side by side, one for each person or condition, each with the density that was fitted
to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from ...core.agent_kinds import PARTICIPANT
from ..data.coding import decoded, in_short
from ..data.scoring import Scored, plural
from .charts import grid, panel_of, title_lines
from .curve_marks import PANEL, whole_axis
from .marked_answers import AnswersOf, MarkedAnswers, answers_of_panels, between_edges

#: Panels that are drawn at most; the table has everybody.
MOST = 24


@dataclass(frozen=True)
class Panel:
    """One histogram.

    Parameters
    ----------
    heading, below : what stands above it, in two lines
    colour : of its bars and its line
    values : of :func:`bars` and :func:`line`
    """

    heading: str
    below: str
    colour: str
    values: Sequence[Mapping[str, Any]]


def split_by(part: Scored, by: Sequence[str]) -> Scored:
    """The answers of a paradigm with the columns for each combination of which there is a panel, as
    values."""
    return Scored(part.items.assign(**{name: decoded(part.items[name]) for name in by}), part.intrusions, part.notes)


def notes_on_panels(count: int) -> list[str]:
    """Return what is said where there are more panels than are drawn."""
    return [f"{plural(count - MOST, 'panel')} of {count} are not drawn; the table has all."] if count > MOST else []


def in_a_row(rows: pd.DataFrame, by: Sequence[str]) -> int:
    """How many panels stand in a row, of one for each of these rows: one for each value of the first condition
    where these are few, else four at most."""
    values = sum(rows[name].nunique() for name in by[:1])
    return values if 1 < values <= 6 and len(rows) % values == 0 else min(4, len(rows))


def heading_of(row: Mapping[Any, Any], by: Sequence[str]) -> str:
    """The heading of a panel: whose answers (what tells people apart comes first, as long headings
    are cut), and in which condition."""
    person, agent = str(row["participant"]), str(row["agent"])
    if not person or person in agent:
        person = agent
    elif row["agent_kind"] != PARTICIPANT.name:  # the name of people together says nothing of one of them
        person = f"{person}, {agent}"
    return ", ".join(
        [
            person,
            *(
                f"{name.removeprefix('factor_').removeprefix('record_').replace('_', ' ')} {in_short(row[name])}"
                for name in by
            ),
        ]
    )


def bars(values: np.ndarray, edges: np.ndarray, unit: str) -> list[dict[str, Any]]:
    """Return bars: the number of values between each two edges."""
    counts, _ = np.histogram(values, edges)
    return [
        {
            "role": "bar",
            "x": float(left),
            "x2": float(right),
            "count": int(count),
            "range": f"{left:g} to {right:g}{unit}",
        }
        for count, left, right in zip(counts, edges, edges[1:], strict=False)
        if count
    ]


def answers_of_bars(
    questions: pd.DataFrame, rows: pd.DataFrame, by: Sequence[str], value: str, end: float
) -> AnswersOf:
    """From a bar of the panels to its answers.

    Parameters
    ----------
    questions : of everybody
    rows : of the figure's table, one for each panel
    by : columns for each combination of which there is a panel
    value : the column along the horizontal axis
    end : the last edge of the bars
    """

    def answers(mark: Mapping[str, Any]) -> MarkedAnswers | None:
        if mark.get("role") != "bar":
            return None
        return answers_of_panels(
            questions, rows, by, mark, value, lambda mine: between_edges(mine[value], mark["x"], mark["x2"], end)
        )

    return answers


def line(at: np.ndarray, heights: np.ndarray) -> list[dict[str, Any]]:
    """A density, in values a bar."""
    return [{"role": "density", "x": float(x), "count": float(y)} for x, y in zip(at, heights, strict=True)]


def histogram_panels(
    panels: Sequence[Panel],
    across: tuple[float, float],
    top: float,
    *,
    wide: int,
    axes: tuple[str, str],
    tooltip: tuple[str, str],
    title: str,
    subtitle: str,
) -> dict[str, Any]:
    """Panels in rows as one specification.

    Parameters
    ----------
    across : range of the horizontal axis
    top : of the vertical one
    wide : panels in a row
    axes : titles of the horizontal and the vertical axis
    tooltip : what a bar's range and its count are called
    """

    @cache
    def made(colour: str, x_title: str, y_title: str) -> dict[str, Any]:
        return _layers(colour, across, top, x_title, y_title, tooltip)

    drawn = [
        panel_of(
            made(panel.colour, axes[0] if place >= len(panels) - wide else "", axes[1] if not place % wide else ""),
            f"datum.part == {place}",
            {
                "text": panel.heading,
                "subtitle": panel.below,
                "fontSize": 12,
                "fontWeight": 600,
                "subtitleFontSize": 11.5,
                "anchor": "start",
            }
            | {"frame": "group", "offset": 8, "limit": PANEL[0] + 30},
        )
        for place, panel in enumerate(panels)
    ]
    values = [{**value, "part": place} for place, panel in enumerate(panels) for value in panel.values]
    return grid(drawn, values, columns=wide, spacing=(78, 40), title=title_lines(title, subtitle))


def histogram_axes(
    across: tuple[float, float], top: float, x_title: str, y_title: str, tooltip: tuple[str, str]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Encodings of the bars and of the density of a histogram over these ranges; ``tooltip``: what is
    binned and what is counted."""
    x = {
        "field": "x",
        "type": "quantitative",
        "title": x_title or None,
        "scale": {"domain": list(across), "nice": False},
        "axis": whole_axis(*across),
    }
    y = {
        "field": "count",
        "type": "quantitative",
        "title": y_title or None,
        "scale": {"domain": [0, top], "nice": False},
        "axis": whole_axis(0, top) | {"grid": True},
    }
    pointed = [
        {"field": "range", "type": "nominal", "title": tooltip[0]},
        {"field": "count", "type": "quantitative", "title": tooltip[1]},
    ]
    return {"x": x | {"bin": "binned"}, "x2": {"field": "x2"}, "y": y, "tooltip": pointed}, {"x": x, "y": y}


def _layers(
    colour: str, across: tuple[float, float], top: float, x_title: str, y_title: str, tooltip: tuple[str, str]
) -> dict[str, Any]:
    """Bars and density of one panel, over these ranges."""
    bars, lines = histogram_axes(across, top, x_title, y_title, tooltip)
    histogram = {
        "transform": [{"filter": "datum.role == 'bar'"}],
        "mark": {"type": "bar", "color": colour, "opacity": 0.35},
        "encoding": bars,
    }
    density = {
        "transform": [{"filter": "datum.role == 'density'"}],
        "mark": {"type": "line", "color": colour, "strokeWidth": 2, "clip": True},
        "encoding": lines,
    }
    return {"layer": [histogram, density], "width": PANEL[0], "height": PANEL[1] * 0.7}
