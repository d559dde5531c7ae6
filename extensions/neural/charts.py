"""The figures of the neural analysis, declared once with Altair in the house style."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from spanlab.analysis.figures import declared, title_lines

from .projection import Plane

#: Colours of groups of points (Okabe & Ito, 2008, darkened to stay legible on white), and the
#: shapes that tell them apart without colour.
COLOURS = ("#0069b0", "#c84a00", "#00805c", "#b07c00", "#b5488c", "#3f9fd6", "#5d5a88", "#2b2b2b")
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "wedge", "triangle-right")
#: Colours on black, by those on white: of groups, of paper and of words beside a map. What stands
#: in coloured cells stays as it is.
ON_BLACK = dict(
    zip(COLOURS, ("#5cb3f0", "#ff9356", "#3fcf9f", "#e0b040", "#ee8fc8", "#a3d9f7", "#b3aee8", "#e8e8e8"), strict=True)
) | {
    "#ffffff": "#15171b",
    "#4a4a4a": "#a9b0bc",
    "#1c1c1c": "#eceef2",
}
#: Amounts from nothing upwards, and amounts to both sides of zero; both keep their order for
#: colour-blind people and in grey.
_AMOUNT, _SIDES = "viridis", "purpleorange"
#: Cells of a matrix hold their number up to so many rows and columns.
_TOLD = 16
_LEGEND = {
    "orient": "right",
    "titleFontSize": 11.5,
    "titleFontWeight": "normal",
    "titleLimit": 300,
    "labelFontSize": 11,
}


def variance_map(matrix: np.ndarray, tasks: Sequence[str], labels: np.ndarray, *, title: str) -> dict[str, Any]:
    """Normalised task variances: a row for each active unit, by cluster, and a column for each
    task."""
    order = np.lexsort((np.arange(len(labels)), labels))
    high = max(1, round(440 / max(1, len(order))))
    cells = [
        {"role": "cell", "task": task, "low": place, "high": place + 1, "value": round(float(matrix[unit, column]), 4)}
        for place, unit in enumerate(order.tolist())
        for column, task in enumerate(tasks)
    ]
    ends = np.flatnonzero(np.diff(labels[order])) + 1
    starts = [0, *ends.tolist()]
    stops = [*ends.tolist(), len(order)]
    names = [
        {"role": "name", "low": (start + stop) / 2, "name": f"{labels[order[start]]}"}
        for start, stop in zip(starts, stops, strict=True)
        if (stop - start) * high >= 9
    ]
    edges = [{"role": "edge", "low": int(end)} for end in ends]
    width = max(26 * len(tasks), 60)
    y = alt.Y("low:Q", title=None, scale=alt.Scale(domain=[0, len(order)], reverse=True, nice=False), axis=None)
    legend = alt.Legend(title="of the highest", **_LEGEND)
    shown = (
        alt.Chart()
        .transform_filter("datum.role == 'cell'")
        .mark_rect(strokeWidth=0)
        .encode(
            x=alt.X("task:N", title=None, sort=list(tasks), axis=alt.Axis(labelAngle=-45, domain=False, ticks=False)),
            y=y,
            y2="high:Q",
            color=alt.Color("value:Q", scale=alt.Scale(scheme=_AMOUNT, domain=[0, 1]), legend=legend),
        )
    )
    lines = alt.Chart().transform_filter("datum.role == 'edge'").mark_rule(color="#ffffff", strokeWidth=1.6).encode(y=y)
    words = (
        alt.Chart()
        .transform_filter("datum.role == 'name'")
        .mark_text(align="right", fontSize=11, dx=-7, color="#4a4a4a")
        .encode(y=y, x=alt.value(0), text="name:N")
    )
    chart = alt.layer(shown, lines, words).properties(
        width=width, height=high * max(1, len(order)), title=title_lines(title, ""), data=alt.InlineData(values=[])
    )
    return declared(chart, [*cells, *edges, *names])


def silhouette_chart(silhouettes: Sequence[tuple[int, float]], chosen: int, *, title: str) -> dict[str, Any]:
    """The mean silhouette of each number of clusters; the chosen one is marked."""
    rows = [{"k": k, "score": score, "chosen": int(k == chosen)} for k, score in silhouettes]
    x = alt.X(
        "k:Q",
        title="clusters",
        axis=alt.Axis(grid=False, format="d", tickMinStep=1),
        scale=alt.Scale(zero=False, nice=False, padding=8),
    )
    base = alt.Chart().encode(x=x, y=alt.Y("score:Q", title="mean silhouette", scale=alt.Scale(zero=False)))
    points = base.mark_point(filled=True, opacity=1).encode(
        color=alt.condition("datum.chosen", alt.value(COLOURS[1]), alt.value(COLOURS[0])),
        size=alt.condition("datum.chosen", alt.value(110), alt.value(22)),
    )
    labels = (
        base.transform_filter("datum.chosen")
        .mark_text(dy=-13, fontSize=12, fontWeight=600, color=COLOURS[1])
        .encode(text="k:Q")
    )
    line = base.mark_line(color=COLOURS[0], strokeWidth=1.4)
    return declared(
        alt.layer(line, points, labels).properties(
            width=440, height=220, title=title_lines(title, ""), data=alt.InlineData(values=[])
        ),
        rows,
    )


def planes_chart(
    panels: Sequence[tuple[str, Plane, Sequence[str], bool]], *, title: str, columns: int = 2
) -> dict[str, Any]:
    """Points in planes, in groups that differ in colour and shape.

    Parameters
    ----------
    panels : for each its name, the plane, the group of each point of the plane, and whether groups
        have their name beside them instead of in a legend
    """
    charts = []
    for name, plane, groups, beside in panels:
        names = sorted(set(groups), key=lambda group: (len(group), group))
        rows = [
            {"x": round(float(x), 5), "y": round(float(y), 5), "group": group}
            for x, y, group in zip(plane.x, plane.y, groups, strict=True)
        ]
        colours = alt.Scale(domain=names, range=[COLOURS[n % len(COLOURS)] for n in range(len(names))])
        shapes = alt.Scale(
            domain=names, range=[SHAPES[(n // len(COLOURS) + n) % len(SHAPES)] for n in range(len(names))]
        )
        legend = None if beside else alt.Legend(orient="bottom", title=None, columns=2, symbolOpacity=1, symbolSize=60)
        axis = alt.Axis(labels=False, ticks=False, grid=False, title=None)
        x = alt.X("x:Q", axis=axis, scale=alt.Scale(zero=False, padding=10))
        y = alt.Y("y:Q", axis=axis, scale=alt.Scale(zero=False, padding=10))
        points = (
            alt.Chart(alt.InlineData(values=rows))
            .mark_point(filled=True, size=26, opacity=0.7)
            .encode(
                x=x,
                y=y,
                color=alt.Color("group:N", scale=colours, legend=legend),
                shape=alt.Shape("group:N", scale=shapes, legend=legend),
            )
        )
        layers: list[Any] = [points]
        if beside:
            middles = [
                {"x": float(np.median(part["x"])), "y": float(np.median(part["y"])), "group": group}
                for group, part in _by_group(rows).items()
            ]
            words = alt.Chart(alt.InlineData(values=middles)).encode(x=x, y=y, text="group:N")
            layers += [
                words.mark_text(fontSize=14, fontWeight=700, stroke="#ffffff", strokeWidth=4, color="#ffffff"),
                words.mark_text(fontSize=14, fontWeight=700, color="#1c1c1c"),
            ]
        heading = alt.TitleParams(
            text=name,
            fontSize=12,
            fontWeight=600,
            offset=6,
            anchor="start",
            subtitle=plane.caption,
            subtitleFontSize=11,
        )
        charts.append(
            alt.layer(*layers)
            .properties(width=300, height=260, title=heading)
            .resolve_scale(color="independent", shape="independent")
        )
    spacing = {"row": 46, "column": 46}
    chart = (
        alt.concat(*charts, columns=columns, spacing=spacing)
        .resolve_scale(color="independent", shape="independent")
        .properties(title=title_lines(title, ""))
    )
    return _declared_whole(chart)


def _by_group(rows: Sequence[dict[str, Any]]) -> dict[str, dict[str, list[float]]]:
    groups: dict[str, dict[str, list[float]]] = {}
    for row in rows:
        coordinates = groups.setdefault(row["group"], {"x": [], "y": []})
        coordinates["x"].append(row["x"])
        coordinates["y"].append(row["y"])
    return groups


def _declared_whole(chart: Any) -> dict[str, Any]:
    """A chart whose parts have rows of their own."""
    alt.data_transformers.disable_max_rows()
    with alt.theme.enable("none"):
        spec = chart.to_dict()
    spec.pop("config", None)
    return spec


def histograms_chart(bars: pd.DataFrame, *, title: str) -> dict[str, Any]:
    """Draw how many units prefer which task of a pair: one panel for each pair."""
    rows = [
        {
            "pair": f"{row['task_b']} | {row['task_a']}",
            "low": row["low"],
            "high": row["high"],
            "units": int(row["units"]),
        }
        for row in bars.to_dict("records")
    ]
    panels = list(dict.fromkeys(row["pair"] for row in rows))
    x = alt.X(
        "low:Q",
        bin="binned",
        title=None,
        scale=alt.Scale(domain=[-1, 1], nice=False),
        axis=alt.Axis(grid=False, values=[-1, 0, 1], format="d"),
    )
    y = alt.Y("units:Q", title=None, axis=alt.Axis(tickCount=3, format="d", tickMinStep=1))
    drawn = alt.Chart().mark_bar(color=COLOURS[0], binSpacing=0.5).encode(x=x, x2="high:Q", y=y)
    zero = alt.Chart().mark_rule(color="#8a8a8a", strokeDash=[1.5, 2.5], strokeWidth=1).encode(x=alt.datum(0))
    facet = alt.Facet("pair:N", sort=panels, header=alt.Header(title=None, labelAnchor="middle", labelFontSize=11))
    chart = (
        alt.layer(drawn, zero)
        .properties(width=112, height=62)
        .facet(facet=facet, columns=min(5, max(1, len(panels))), data=alt.InlineData(values=[]))
    )
    chart = chart.resolve_scale(
        x="independent", y="independent"
    )  # a shared axis would be drawn below empty places of the last row, too
    return declared(
        chart.properties(title=title_lines(title, ""), spacing={"row": 52, "column": 40}, bounds="flush"), rows
    )


def positions_chart(similar: pd.DataFrame, *, title: str) -> dict[str, Any]:
    """Cosine similarities of all pairs of serial positions: one panel for each list length, of one
    task."""
    rows = [
        {
            "panel": f"{row['list_length']} items",
            "a": row["position_a"],
            "b": row["position_b"],
            "value": round(row["cosine"], 4),
            "list_length": row["list_length"],
        }
        for row in similar.to_dict("records")
    ]
    panels = [f"{length} items" for length in sorted(similar["list_length"].unique())]
    legend = alt.Legend(title="cosine", **_LEGEND)
    axis = alt.Axis(labelAngle=0, domain=False, ticks=False, labelOverlap=True)
    drawn = (
        alt.Chart()
        .mark_rect(strokeWidth=0)
        .encode(
            x=alt.X("b:O", title="serial position", axis=axis),
            y=alt.Y("a:O", title="serial position", axis=axis),
            color=alt.Color("value:Q", scale=alt.Scale(scheme=_SIDES, domain=[-1, 1]), legend=legend),
        )
        .properties(width=124, height=124)
    )
    facet = alt.Facet("panel:N", sort=panels, header=alt.Header(title=None, labelAnchor="start"))
    chart = drawn.facet(facet=facet, columns=min(4, max(1, len(panels))), data=alt.InlineData(values=[])).resolve_scale(
        x="independent", y="independent"
    )
    return declared(chart.properties(title=title_lines(title, ""), spacing={"row": 44, "column": 34}), rows)


def first_item_chart(similar: pd.DataFrame, *, title: str) -> dict[str, Any]:
    """Draw how similar the state at each item is to that at the first: a line for each list length,
    a panel for each task."""
    first = similar[similar["position_a"] == 1]
    rows = [
        {
            "task": row["task"],
            "length": int(row["list_length"]),
            "position": int(row["position_b"]),
            "value": row["cosine"],
        }
        for row in first.to_dict("records")
    ]
    tasks = list(dict.fromkeys(row["task"] for row in rows))
    furthest = max(row["position"] for row in rows)
    x = alt.X(
        "position:Q",
        title="serial position",
        axis=alt.Axis(grid=False, format="d", values=list(range(1, furthest + 1)), labelOverlap="parity"),
        scale=alt.Scale(nice=False, zero=False, padding=6),
    )
    legend = alt.Legend(title="list length", columns=1, **_LEGEND)
    base = alt.Chart().encode(
        x=x,
        y=alt.Y(
            "value:Q",
            title="cosine to the first",
            scale=alt.Scale(domain=[min(0.0, float(first["cosine"].min())), 1], nice=True),
        ),
        color=alt.Color("length:O", scale=alt.Scale(scheme="viridis", reverse=True), legend=legend),
        detail="length:O",
    )
    layers = alt.layer(base.mark_line(strokeWidth=1.6), base.mark_point(filled=True, size=22, opacity=1)).properties(
        width=210, height=160
    )
    facet = alt.Facet("task:N", sort=tasks, header=alt.Header(title=None, labelAnchor="start"))
    chart = layers.facet(facet=facet, columns=min(3, max(1, len(tasks))), data=alt.InlineData(values=[])).resolve_scale(
        x="independent"
    )
    return declared(chart.properties(title=title_lines(title, ""), spacing={"row": 44, "column": 24}), rows)


def matrix_chart(
    table: pd.DataFrame,
    row: str,
    column: str,
    value: str,
    *,
    title: str,
    legend: str,
    format_: str,
    furthest: float | None = None,
    row_title: str = "",
    cell_text: str = "",
) -> dict[str, Any]:
    """A matrix of numbers, from a long table; the numbers stand in the cells where there is room.

    Parameters
    ----------
    furthest : numbers lie to both sides of zero, up to this; None: they are amounts from 0 to 1
    cell_text : the column with what stands in the cells, where that is not the number
    """
    names = [list(dict.fromkeys(str(name) for name in table[key])) for key in (row, column)]
    rows = [
        {"row": str(cell[row]), "column": str(cell[column]), "value": float(cell[value])}
        | ({"cell_text": cell[cell_text]} if cell_text else {})
        for cell in table.to_dict("records")
        if cell[value] == cell[value]
    ]
    size = 34 if max(map(len, names)) <= _TOLD else 16
    wide = size * 2 if cell_text and size > 20 else size
    y = alt.Y("row:N", title=row_title or None, sort=names[0], axis=alt.Axis(domain=False, ticks=False))
    x = alt.X("column:N", title=None, sort=names[1], axis=alt.Axis(labelAngle=-45, domain=False, ticks=False))
    scale, dark = alt.Scale(scheme=_AMOUNT, domain=[0, 1]), "datum.value < 0.6"
    if furthest is not None:
        scale = alt.Scale(scheme=_SIDES, domain=[-furthest, furthest], domainMid=0)
        dark = f"abs(datum.value) > {0.7 * furthest}"
    bar = alt.Legend(title=legend, format=format_, **_LEGEND)
    layers = [
        alt.Chart()
        .mark_rect(strokeWidth=1, stroke="#ffffff")
        .encode(x=x, y=y, color=alt.Color("value:Q", scale=scale, legend=bar))
    ]
    if size > 20:
        colour = alt.condition(dark, alt.value("white"), alt.value("#1b1b1b"))
        layers.append(
            alt.Chart()
            .mark_text(fontSize=10.5)
            .encode(
                x=x,
                y=y,
                text=alt.Text("cell_text:N") if cell_text else alt.Text("value:Q", format=format_),
                color=colour,
            )
        )
    width, height = wide * len(names[1]), size * len(names[0])
    chart = alt.layer(*layers).properties(
        width=width, height=height, title=title_lines(title, ""), data=alt.InlineData(values=[])
    )
    return declared(chart, rows)
