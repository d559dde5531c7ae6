"""The figure of wordings: how well each model does in each wording, and how much wordings, sampling
and trials differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from spanlab.analysis.figures import plain, title_lines

from .gathering import WordedModel

CAPTION = (
    "Left: share right in each wording, and the 95% interval over wordings and trials (bar; it needs three wordings)."
    " Right: standard deviation of a score by its source; an estimate below 0 is 0. Without repeats, sampling cannot be"
    " told from wording × trial."
)
_SOURCES = (
    ("wording", "wording"),
    ("repeat", "repeat"),
    ("trial", "trial"),
    ("both", "wording × trial"),
    ("sampling", "sampling"),
)
_BLUE, _ORANGE = "#0072b2", "#d55e00"


def wordings_picture(models: Sequence[WordedModel], title: str) -> dict[str, Any]:
    """Return the chart of the models of one paradigm: a row for each, with the means of its
    wordings, and its variance components."""
    rows: list[dict[str, Any]] = []
    most = max(len(model.wordings) for model in models)
    for model in models:
        value, means = model.pooled, model.scores.mean(axis=(1, 2))
        of_all = {"agent": model.name, "answers": model.answers(model.wordings)}
        named = zip(model.wordings, means, strict=True)
        rows += [
            {
                "part": "mean",
                "agent": model.name,
                "wording": wording,
                "value": float(mean),
                "answers": model.answers([wording]),
            }
            for wording, mean in named
        ]
        rows += (
            [
                {
                    "part": "pooled",
                    **of_all,
                    "wording": "over wordings",
                    "value": value.mean,
                    "low": value.low,
                    "high": value.high,
                }
            ]
            if value
            else []
        )
        for name, label in _SOURCES:
            variance = getattr(model.components, name)
            rows += (
                []
                if variance is None
                else [{"part": "source", **of_all, "source": label, "value": float(variance) ** 0.5}]
            )
    height = max(110, (14 * most + 26) * len(models))
    left = {"width": 300, "height": height, "layer": _means()}
    spec = {
        "title": title_lines(title, CAPTION),
        "concat": [left, _sources(height)],
        "columns": 2,
        "spacing": {"row": 50, "column": 50},
    }
    return plain(spec, rows)


def _means() -> list[dict[str, Any]]:
    """A point with its name for each wording, and the interval over wordings behind them."""
    agents: dict[str, Any] = {
        "field": "agent",
        "type": "nominal",
        "title": None,
        "sort": None,
        "axis": {"labelLimit": 200},
    }
    apart = {"field": "wording", "type": "nominal", "sort": None}
    share = {
        "field": "value",
        "type": "quantitative",
        "title": "share right",
        "scale": {"domain": [0, 1]},
        "axis": {"format": "%"},
    }
    bars = {
        "transform": [{"filter": "datum.part == 'pooled'"}],
        "mark": {"type": "rule", "strokeWidth": 4, "color": _ORANGE},
        "encoding": {
            "x": {"field": "low", "type": "quantitative"},
            "x2": {"field": "high"},
            "y": agents,
            "yOffset": apart,
        },
    }
    of_wordings = {
        "transform": [{"filter": "datum.part != 'source'"}],
        "encoding": {"x": share, "y": agents, "yOffset": apart},
    }
    points = {**of_wordings, "mark": {"type": "point", "filled": True, "size": 36, "color": _BLUE}}
    text = {"type": "text", "align": "left", "dx": 7, "fontSize": 9}
    named = [{"filter": "datum.part == 'mean'"}]
    names = {
        **of_wordings,
        "transform": named,
        "mark": text,
        "encoding": {**of_wordings["encoding"], "text": {"field": "wording"}},
    }
    return [bars, points, names]


def _sources(height: int) -> dict[str, Any]:
    """The standard deviation of a score by its source."""
    return {
        "transform": [{"filter": "datum.part == 'source'"}],
        "width": 200,
        "height": height,
        "mark": {"type": "point", "filled": True, "size": 60, "color": _BLUE},
        "encoding": {
            "y": {"field": "source", "type": "nominal", "title": None, "sort": [label for _, label in _SOURCES]},
            "x": {"field": "value", "type": "quantitative", "title": "standard deviation"},
            "shape": {"field": "agent", "type": "nominal", "legend": {"orient": "bottom", "columns": 1}},
        },
    }
