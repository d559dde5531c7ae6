"""Curves of a training run as a figure, from its log: jointly and for each task."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ....core.json_values import grouped
from ..checkpoints_io.files import write_atomically

_COLOURS = {"training": "#9aa5b1", "validation": "#1f6f8b"}
_WIDTH, _HEIGHT, _COLUMNS = 150, 90, 5
_TOGETHER = "all together"
#: points of a line
_MOST = 150


def write(log: Path, figure: Path) -> None:
    """Write the figure, SVG. A log without steps leaves none."""
    entries = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    points = _thinned([point for entry in entries for point in _points(entry)])
    if points:
        write_atomically(figure, _drawn(points).encode("utf-8"))


def _points(entry: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what a line of the log says of each task, and of their mean."""
    kind = {"train": "training", "validation": "validation"}.get(entry["event"])
    if kind is None:
        return []
    found = []
    for measure in ("accuracy", "loss"):
        values: dict[str, float] = entry.get(measure, {})
        named = {**values, _TOGETHER: sum(values.values()) / len(values)} if values else {}
        found += [
            {"step": entry["step"], "task": task, "value": value, "measure": measure, "trials": kind}
            for task, value in named.items()
        ]
    return found


def _thinned(points: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of a long run, means over neighbouring points: no line has more than can be told apart."""
    lines = grouped(((point["task"], point["measure"], point["trials"]), point) for point in points)
    found = []
    for own in lines.values():
        many = -(-len(own) // _MOST)
        for start in range(0, len(own), many):
            lot = own[start : start + many]
            found.append({**lot[-1], **{key: sum(point[key] for point in lot) / len(lot) for key in ("step", "value")}})
    return found


def _drawn(points: list[dict[str, Any]]) -> str:
    import altair as alt
    import vl_convert

    tasks = list(dict.fromkeys(point["task"] for point in points if point["task"] != _TOGETHER))
    colour = alt.Color(
        "trials:N",
        scale=alt.Scale(domain=list(_COLOURS), range=list(_COLOURS.values())),
        legend=alt.Legend(orient="top", title=None),
    )

    def lines(measure: str) -> alt.Chart:
        scale = alt.Scale(domain=[0, 1]) if measure == "accuracy" else alt.Scale(zero=True)
        return (
            alt.Chart()
            .mark_line(point=alt.OverlayMarkDef(size=14))
            .encode(
                x=alt.X("step:Q", title="step", scale=alt.Scale(zero=True), axis=alt.Axis(tickCount=4)),
                y=alt.Y("value:Q", title=measure, scale=scale, axis=alt.Axis(tickCount=4)),
                color=colour,
            )
        )

    def of(measure: str, together: bool) -> alt.Data:
        own = [point for point in points if point["measure"] == measure and (point["task"] == _TOGETHER) == together]
        return alt.Data(values=[{**point, "task": point["task"].replace("_", " ")} for point in own])

    def jointly(measure: str) -> alt.Chart:
        return lines(measure).properties(data=of(measure, True), title=_TOGETHER, width=360, height=180)

    def by_task(measure: str) -> alt.FacetChart:
        each = alt.Facet(
            "task:N",
            sort=[task.replace("_", " ") for task in tasks],
            title=None,
            header=alt.Header(labelFontWeight="bold", labelFontSize=11),
        )
        chart = (
            lines(measure)
            .properties(width=_WIDTH, height=_HEIGHT)
            .facet(each, data=of(measure, False), columns=min(_COLUMNS, len(tasks)))
        )
        return chart.resolve_scale(y="independent").resolve_axis(x="independent")

    whole = alt.vconcat(alt.hconcat(jointly("accuracy"), jointly("loss")), by_task("accuracy"), by_task("loss"))
    whole = whole.configure_view(strokeOpacity=0).configure_axis(gridOpacity=0.4, labelFontSize=9, titleFontSize=10)
    return vl_convert.vegalite_to_svg(whole.to_dict())
