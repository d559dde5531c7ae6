"""People whose own numbers are known, as a curve with its spread: one for each study of a paradigm."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
from scipy import stats

from spanlab.analysis.figures.charts import save_as
from spanlab.human_data.published import of_persons, persons

#: what is drawn, the first that a study has: its name on the axis, and whether it is a share
MEASURES = {
    "accuracy": ("correct", True),
    "absolute_error": ("mean error (degrees)", False),
    "span": ("span", False),
}


def curves(paradigm: str, folder: Path) -> Iterator[str]:
    """Draw people's curves into a folder; say for each what it shows, as Markdown."""
    for name, facts in persons().items():
        if facts["paradigm"] == paradigm:
            table = of_persons(name)
            measure = next(one for one in MEASURES if one in table)
            save_as(chart(table, measure), folder / f"{paradigm}-{name}.svg")
            people, differs = table["participant"].nunique(), facts["differs"].rstrip(".")
            thin = " Thin lines are single people." if singly(table) else ""
            yield (
                f"![{people} people of {facts['study']}]({paradigm}-{name}.svg)\n\n{facts['study']}, {people} people:"
                f" the mean over people with its 95 % interval.{thin} Their task: {differs}."
            )


def chart(table: pd.DataFrame, measure: str) -> dict[str, Any]:
    """Everybody, and the mean: the last condition along the axis, a colour for each level of the one before it."""
    *lines, along = table.columns[1 : table.columns.get_loc("n_trials")]
    said, share = MEASURES[measure]
    numbers = pd.api.types.is_numeric_dtype(table[along])
    axis = (
        {"values": sorted(table[along].unique().tolist()), "labelAngle": 0, "format": "~r"}
        if numbers
        else {"labelAngle": 0}
    )
    x = {"field": along, "type": "quantitative" if numbers else "nominal", "title": worded(along), "axis": axis}
    if numbers:
        x["scale"] = {"zero": False, "nice": False, "padding": 12}
    value = {"type": "quantitative", "title": said, "axis": {"format": "%"} if share else {}}
    cells = table.groupby([*lines, along], sort=False)[measure].agg(["mean", "sem", "count"]).reset_index()
    half = cells["sem"] * stats.t.ppf(0.975, cells["count"] - 1)
    means = {"data": {"values": cells.assign(low=cells["mean"] - half, high=cells["mean"] + half).to_dict("records")}}
    colour: dict[str, Any] = {"value": "#0068b0"}
    levels: list[Any] = table[lines[0]].unique().tolist() if lines else []
    if lines:
        scale = {"domain": levels, **({"range": ["#0068b0", "#c2571a"]} if len(levels) == 2 else {"scheme": "viridis"})}
        colour = {"field": lines[0], "type": "ordinal", "title": worded(lines[0]), "scale": scale, "legend": {}}
    everybody = {"field": measure, **value}
    person = [{"field": name} for name in ("participant", *lines)]
    layers: list[dict[str, Any]] = [
        {
            "mark": {"type": "line", "strokeWidth": 0.6, "opacity": 0.3},
            "encoding": {"x": x, "y": everybody, "detail": person, "color": colour},
        },
        {
            **means,
            "mark": {"type": "rule", "strokeWidth": 1.6},
            "encoding": {"x": x, "y": {"field": "low", **value}, "y2": {"field": "high"}, "color": colour},
        },
        {
            **means,
            "mark": {"type": "line", "strokeWidth": 1.8, "point": {"size": 45, "filled": True}},
            "encoding": {"x": x, "y": {"field": "mean", **value}, "color": colour},
        },
    ]
    return {
        "data": {"values": table.to_dict("records")},
        "width": 320,
        "height": 190,
        "layer": layers[not singly(table) :],
    }


def singly(table: pd.DataFrame) -> bool:
    """Whether every person has a line: where few enough are drawn to be told apart."""
    *lines, _ = table.columns[1 : table.columns.get_loc("n_trials")]
    return table["participant"].nunique() <= 100 and (not lines or table[lines[0]].nunique() <= 2)


def worded(name: str) -> str:
    """The name of a condition on an axis."""
    return {"dur": "retention (ms)", "Domain": "sets of items"}.get(name, name.replace("_", " "))
