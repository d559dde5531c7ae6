"""The figure of a planned study: power over people, a line for each number of trials."""

from __future__ import annotations

from typing import Any

import pandas as pd

from spanlab.analysis.data import plural
from spanlab.analysis.figures import plain, title_lines

#: From few trials to many.
_COLOURS = ("#56b4e9", "#0072b2", "#009e73", "#e69f00", "#d55e00", "#cc79a7", "#555555", "#000000")
_WIDE, _HIGH = 440, 260


def power_chart(table: pd.DataFrame, *, title: str, subtitle: str, wanted: float, people: str) -> dict[str, Any]:
    """Power with one standard error of the simulation to each side.

    Parameters
    ----------
    table : of :func:`.power`
    wanted : the power that is marked by a line
    people : what the horizontal axis counts

    Returns
    -------
    dict
        the declaration: a Vega-Lite specification without configuration
    """
    measures = [("power", "se", "a difference is found")] + (
        [("alike", "alike_se", "both are found alike")] if table["alike"].notna().any() else []
    )
    rows = [
        {
            **{
                "people": int(row["people"]),
                "trials": str(int(row["trials"])),
                "share": float(row[share]),
                "what": what,
            },
            "label": plural(int(row["trials"]), "trial"),
            **{"low": max(0.0, float(row[share] - row[se])), "high": min(1.0, float(row[share] + row[se]))},
        }
        for row in table.to_dict("records")
        for share, se, what in measures
    ]
    names = [str(one) for one in sorted(table["trials"].unique())]
    x = {
        "field": "people",
        "type": "quantitative",
        "title": people,
        "scale": {"zero": False, "nice": False, "padding": 12},
        "axis": {"values": sorted(int(one) for one in table["people"].unique()), "grid": False},
    }
    y = {
        "field": "share",
        "type": "quantitative",
        "title": "share of simulated studies",
        "scale": {"domain": [0, 1]},
        "axis": {"format": "%"},
    }
    colours = [_COLOURS[at % len(_COLOURS)] for at in range(len(names))]
    colour = {"field": "trials", "type": "nominal", "scale": {"domain": names, "range": colours}, "legend": None}
    dash = {
        "field": "what",
        "type": "nominal",
        "scale": {"domain": [what for *_, what in measures], "range": [[1, 0], [4, 3]]},
        "legend": None,
    }
    encoding = {"x": x, "color": colour}
    apart = {"strokeDash": dash} if len(measures) > 1 else {}
    ends = {"y": {"field": "low", "type": "quantitative", "title": y["title"]}, "y2": {"field": "high"}}
    last = f"datum.people === {int(table['people'].max())} && datum.what === '{measures[0][2]}'"
    label = {"type": "text", "align": "left", "dx": 8, "fontSize": 11}
    named = {"text": {"field": "label"}}
    layers = [
        {
            "mark": {"type": "rule", "strokeDash": [2, 3], "color": "#8a8a8a"},
            "encoding": {"y": {"datum": wanted, "type": "quantitative"}},
        },
        {"mark": {"type": "line", "strokeWidth": 2}, "encoding": encoding | apart | {"y": y}},
        {"mark": {"type": "rule", "strokeWidth": 1.5}, "encoding": encoding | ends},
        {"mark": {"type": "point", "filled": True, "size": 45, "opacity": 1}, "encoding": encoding | {"y": y}},
        {"transform": [{"filter": last}], "mark": label, "encoding": encoding | {"y": y} | named},
    ]
    return plain({"width": _WIDE, "height": _HIGH, "title": title_lines(title, subtitle), "layer": layers}, rows)
