"""Curves of a training run as a figure, from its log: jointly and for each task."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .files import write_atomically

_COLOURS = {"training": "#9aa5b1", "validation": "#1f6f8b"}
_WIDTH, _HEIGHT, _COLUMNS = 150, 90, 5


def write(log: Path, figure: Path) -> None:
    """Write the figure, SVG. A log without steps leaves none."""
    entries = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    points = [point for entry in entries for point in _points(entry)]
    if points:
        write_atomically(figure, _drawn(points).encode("utf-8"))


def _points(entry: dict[str, Any]) -> list[dict[str, Any]]:
    """What a line of the log says of each task, and of their mean."""
    kind = {"train": "training", "validation": "validation"}.get(entry["event"])
    if kind is None:
        return []
    found = []
    for measure in ("accuracy", "loss"):
        values: dict[str, float] = entry.get(measure, {})
        named = {**values, "all together": sum(values.values()) / len(values)} if values else {}
        found += [{"step": entry["step"], "task": task, "value": value, "measure": measure, "trials": kind} for task, value in named.items()]
    return found


def _drawn(points: list[dict[str, Any]]) -> str:
    import altair as alt
    import vl_convert

    tasks = list(dict.fromkeys(point["task"] for point in points if point["task"] != "all together"))
    colour = alt.Color("trials:N", scale=alt.Scale(domain=list(_COLOURS), range=list(_COLOURS.values())), legend=alt.Legend(orient="top", title=None))

    def chart(task: str, measure: str, width: int, height: int) -> alt.Chart:
        own = [point for point in points if point["task"] == task and point["measure"] == measure]
        scale = alt.Scale(domain=[0, 1]) if measure == "accuracy" else alt.Scale(zero=True)
        return (
            alt.Chart(alt.Data(values=own), title=task.replace("_", " "), width=width, height=height)
            .mark_line(point=alt.OverlayMarkDef(size=14))
            .encode(
                x=alt.X("step:Q", title="step", axis=alt.Axis(tickCount=4)),
                y=alt.Y("value:Q", title=measure, scale=scale, axis=alt.Axis(tickCount=4)),
                color=colour,
            )
        )

    joint = alt.hconcat(*(chart("all together", measure, 360, 180) for measure in ("accuracy", "loss")))
    each = alt.concat(*(chart(task, measure, _WIDTH, _HEIGHT) for measure in ("accuracy", "loss") for task in tasks), columns=min(_COLUMNS, len(tasks)))
    whole = alt.vconcat(joint, each).configure_view(strokeOpacity=0).configure_axis(gridOpacity=0.4, labelFontSize=9, titleFontSize=10)
    return vl_convert.vegalite_to_svg(whole.to_dict())
