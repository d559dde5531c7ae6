"""The figure of wordings: how well each model does in each wording, and how much wordings, sampling and trials differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from spanlab.analysis.figures import plain, title_lines

from .gathering import WordedModel

CAPTION = (
    "Left: share right in each wording (points) and over wordings and trials (bar: 95% interval). Right: standard deviation of a score by its source; an "
    "estimate below 0 is 0. Without repeats, sampling cannot be told from wording × trial."
)
_SOURCES = (("wording", "wording"), ("repeat", "repeat"), ("trial", "trial"), ("both", "wording × trial"), ("sampling", "sampling"))
_BLUE, _ORANGE = "#0072b2", "#d55e00"


def wordings_picture(models: Sequence[WordedModel], title: str) -> dict[str, Any]:
    """Return the chart of the models of one paradigm: a row for each, with the means of its wordings, and its variance components."""
    rows: list[dict[str, Any]] = []
    for model in models:
        value = model.pooled
        rows += [{"part": "mean", "agent": model.name, "value": float(mean)} for mean in model.scores.mean(axis=(1, 2))]
        rows += [{"part": "pooled", "agent": model.name, "value": value.mean, "low": value.low, "high": value.high}] if value else []
        for name, label in _SOURCES:
            variance = getattr(model.components, name)
            rows += [] if variance is None else [{"part": "source", "agent": model.name, "source": label, "value": float(variance) ** 0.5}]
    agents = {"field": "agent", "type": "nominal", "title": None, "sort": None, "axis": {"labelLimit": 220}}
    height = 34 * len(models) + 10
    points = {
        "transform": [{"filter": "datum.part == 'mean'"}],
        "mark": {"type": "point", "filled": True, "size": 42, "opacity": 0.55, "color": _BLUE},
        "encoding": {
            "x": {"field": "value", "type": "quantitative", "title": "share right", "scale": {"domain": [0, 1]}, "axis": {"format": "%"}},
            "y": agents,
        },
    }
    bars = {
        "transform": [{"filter": "datum.part == 'pooled'"}],
        "mark": {"type": "rule", "strokeWidth": 3, "color": _ORANGE},
        "encoding": {"x": {"field": "low", "type": "quantitative"}, "x2": {"field": "high"}, "y": agents},
    }
    order = [label for _, label in _SOURCES]
    sources = {
        "transform": [{"filter": "datum.part == 'source'"}],
        "width": 240,
        "height": height,
        "mark": {"type": "point", "filled": True, "size": 60, "color": _BLUE},
        "encoding": {
            "y": {"field": "source", "type": "nominal", "title": None, "sort": order},
            "x": {"field": "value", "type": "quantitative", "title": "standard deviation"},
            "shape": {"field": "agent", "type": "nominal", "legend": {"orient": "bottom", "columns": 1}},
        },
    }
    sources["height"] = max(height, 110)
    left = {"width": 240, "height": max(height, 110), "layer": [points, bars]}
    return plain({"title": title_lines(title, CAPTION), "concat": [left, sources], "columns": 2, "spacing": 50}, rows)
