"""Figures of N-back results over N: a panel for each measure, a row of panels for each answerer or variant, and what is compared as lines or bars."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .curve_marks import PANEL, PROPORTIONS, curve_layers, curve_points, percent_said
from .figures import declared, title_lines
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
    """Measures over N, in one row of panels (or several, where ``columns`` are fewer).

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
    return nback_rows([("", cells)], agents, measures, title=title, subtitle=subtitle, columns=columns)


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
        the declaration, as of :func:`nback_chart`
    """
    import altair as alt
    import pandas as pd

    whole = pd.concat([part for _, part in parts], ignore_index=True)
    whole = whole[whole["mean"].notna()]
    there = [measure for measure in measures if (whole["measure"] == measure).any()]
    panels, rows = [], []
    for place, (heading, cells) in enumerate(parts):
        for measure in there:
            part = cells[(cells["measure"] == measure) & cells["mean"].notna()]
            words = percent_said if not measure.startswith("dprime") else _number_said
            vertical = measure_axis(whole[whole["measure"] == measure], measure)
            drawn = curve_points(part, "n", agents, said=words)
            if marks == "bars":
                layers = _bar_layers(agents, whole, vertical, TITLES[measure], line, bars)
                drawn = [row for row in drawn if row["role"] == "curve"]
            else:
                layers = curve_layers(agents, whole, "n", "N", vertical=vertical, called=TITLES[measure], line=line, bars=bars)
            panels.append(layers.transform_filter(f"datum.measure == '{measure}' && datum.part == {place}").properties(title=_heading(heading, measure, there)))
            rows += [row | {"measure": measure, "part": place} for row in drawn]
    wide = len(there) if columns is None else min(columns, len(there))
    shown = alt.concat(*panels, columns=wide, data=alt.InlineData(values=[]), spacing={"row": 84 if len(parts) == 1 else 62, "column": 46}, bounds="flush")
    return declared(shown.properties(title=title_lines(title, subtitle)), rows)


def _heading(heading: str, measure: str, measures: Sequence[str]) -> Any:
    """What stands above a panel: its measure, and above the first one of a row also what the row is."""
    import altair as alt

    style: dict[str, Any] = {"anchor": "start", "frame": "group", "offset": 8}
    if not heading:
        return alt.TitleParams(text=TITLES[measure], fontSize=12, fontWeight=600, **style)
    first = measure == measures[0]
    return alt.TitleParams(text=heading if first else " ", subtitle=TITLES[measure], fontSize=12, fontWeight=600, subtitleFontSize=11.5, **style)


def _bar_layers(agents: Sequence[Look], cells: pd.DataFrame, vertical: Mapping[str, Any], called: str, line: str, bars: str) -> Any:
    """Bars side by side at each N, with error bars."""
    import altair as alt

    drawn = set(cells["agent"])
    labels = [look.label for look in agents if look.label in drawn][::-1]
    legend = alt.Legend(orient="bottom", columns=3, title=None, values=labels)
    axis = alt.Axis(format=vertical["format"], values=vertical["values"], labelOverlap=False)
    scale = alt.Scale(domain=vertical["domain"], nice=False, zero=False)
    x = alt.X("at:O", title="N", axis=alt.Axis(grid=False, labelAngle=0))
    offset = alt.XOffset("agent:N", scale=alt.Scale(domain=labels))
    tooltip = [
        alt.Tooltip("agent:N", title=line),
        alt.Tooltip("at:Q", title="N"),
        alt.Tooltip("correct:N", title=called),
        alt.Tooltip("range:N", title=bars),
        alt.Tooltip("n:N"),
    ]
    base = alt.Chart().transform_filter("datum.role == 'curve'")
    colour = alt.Color("agent:N", scale=alt.Scale(domain=[look.label for look in agents]), legend=legend)
    boxes = (
        base.transform_calculate(floor="0")
        .mark_bar(opacity=0.75)
        .encode(x=x, xOffset=offset, y=alt.Y("mean:Q", title=vertical["title"], scale=scale, axis=axis), y2="floor:Q", color=colour, tooltip=tooltip)
    )
    spread = base.mark_rule(strokeWidth=1.3).encode(x=x, xOffset=offset, y=alt.Y("low:Q", title=vertical["title"], scale=scale, axis=axis), y2="high:Q")
    zero = alt.Chart().transform_filter("datum.role == 'curve'").mark_rule(strokeWidth=1).encode(y=alt.datum(0, scale=scale))
    return alt.layer(boxes, spread, zero).properties(width=PANEL[0], height=PANEL[1])


def measure_axis(part: pd.DataFrame, measure: str) -> Mapping[str, Any]:
    """The vertical axis of a measure: of rates from 0 to 1, of d′ around all points and intervals, 0 always among them."""
    if not measure.startswith("dprime"):
        ends = (min(0.0, float(part[["mean", "low"]].min().min())), max(1.0, float(part[["mean", "high"]].max().max())))
        beyond = {"domain": [min(-0.04, ends[0] - 0.02), max(1.05, ends[1] + 0.02)]}
        return PROPORTIONS | {"title": None} | beyond
    low = min(0.0, float(part[["mean", "low"]].min().min()))
    high = max(1.0, float(part[["mean", "high"]].max().max()))
    values = list(range(math.floor(low), math.ceil(high) + 1))
    return {"title": None, "domain": [min(low, 0) - 0.2, high + 0.2], "format": "d", "values": values}


def _number_said(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
