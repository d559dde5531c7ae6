"""Pictures of fits: parameters, people as a cloud and machines as points with intervals; and curves of fitted models behind those of the answers."""

from __future__ import annotations

from typing import Any

import numpy as np

from spanlab.analysis.figures import plain, title_lines

from .comparing import Fitted
from .study import Study
from .trials import observed

#: Simulated replications of all answers behind a predicted curve, and groups that are drawn.
_REPLICATIONS, _GROUPS = 40, 8
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#555555", "#000000")
_WIDE, _HIGH = 190, 150
#: Points of a cloud are put aside by multiples of this, which never come near one another.
_GOLDEN = 0.618034


def parameters_picture(study: Study) -> dict[str, Any]:
    """A row for each model, with a panel for each parameter: a line for all people, and one for each machine."""
    rows: list[dict[str, Any]] = []
    lines: list[dict[str, Any]] = []
    for model in study.recovery.names:
        panels = []
        for parameter in dict.fromkeys(parameter for one in _of(study, model) for parameter, _ in one.fit.space.places):
            panel = f"{model}: {parameter.name}"
            rows += _points(study, model, parameter.name, panel)
            scale: dict[str, Any] = {"zero": False, "nice": True} | ({"type": "log"} if parameter.scale == "log" else {})
            title = f"{parameter.name} ({parameter.unit})" if parameter.unit else parameter.name
            panels.append(_parameter_panel(panel, title, scale, parameter.each, len(study.groups)))
        lines.append({"hconcat": panels})
    said = f"Points with lines: estimates with 95% intervals. Clouds: {next(iter(study.groups))}." if _people(study) else "Estimates with 95% intervals."
    return plain({"title": title_lines(f"{study.paradigm}: parameters", said), "vconcat": lines}, rows)


def _people(study: Study) -> bool:
    return any(fits[0].answerer.person for fits in study.fitted)


def _of(study: Study, model: str) -> list[Fitted]:
    return [one for fits in study.fitted for one in fits if one.fit.model.name == model]


def _points(study: Study, model: str, parameter: str, panel: str) -> list[dict[str, Any]]:
    points = []
    for group, members in study.groups.items():
        for number, one in enumerate(one for fits in members for one in fits if one.fit.model.name == model):
            for (name, value), (place, load) in zip(one.fit.values.items(), one.fit.space.places, strict=True):
                if place.name == parameter:
                    low, high = one.ends[name]
                    person = one.answerer.person
                    what = {"panel": panel, "who": group, "person": person, "load": "" if load is None else f"load {load}"}
                    points.append(what | {"aside": number * _GOLDEN % 1 if person else 0.5, "value": value, "low": low, "high": high})
    return points


def _parameter_panel(panel: str, title: str, scale: dict[str, Any], each: bool, groups: int) -> dict[str, Any]:
    x = {"field": "value", "type": "quantitative", "scale": scale, "title": title, "axis": {"tickCount": 5}}
    y = {"field": "who", "type": "nominal", "title": None, "sort": None, "axis": {"labelLimit": 220}}
    offset = {"field": "load", "type": "nominal"}
    colour = {"field": "load", "type": "nominal", "scale": {"range": list(_COLOURS)}, "legend": {"title": None}}
    aside = {"field": "aside", "type": "quantitative", "scale": {"domain": [0, 1]}}
    encoding = {"x": x, "y": y} | ({"yOffset": offset, "color": colour} if each else {"yOffset": aside, "color": {"value": _COLOURS[0]}})
    machine, person = {"filter": "!datum.person"}, {"filter": "datum.person"}
    return {
        "title": {"text": panel, "fontSize": 12, "anchor": "start"},
        "width": _WIDE,
        "height": 34 * groups,
        "transform": [{"filter": {"field": "panel", "equal": panel}}],
        "layer": [
            {"transform": [machine], "mark": {"type": "rule", "strokeWidth": 2}, "encoding": encoding | {"x": x | {"field": "low"}, "x2": {"field": "high"}}},
            {"transform": [machine], "mark": {"type": "point", "filled": True, "size": 55, "opacity": 1}, "encoding": encoding},
            {"transform": [person], "mark": {"type": "point", "filled": False, "size": 38, "opacity": 0.65}, "encoding": encoding},
        ],
    }


def curves_picture(study: Study, seed: int = 1) -> dict[str, Any]:
    """A row for each group, with a panel for each model: points are what was answered, lines what the fitted models answer to the same questions."""
    rows: list[dict[str, Any]] = []
    lines = []
    groups = dict(list(study.groups.items())[:_GROUPS])
    for group, members in groups.items():
        panels = []
        for same in zip(*members, strict=True):
            panel = f"{group} · {same[0].fit.model.name}"
            rows += _curve(same, panel, seed)
            panels.append(_curve_panel(panel, same[0]))
        lines.append({"hconcat": panels})
    said = "Points: answers. Lines and bands: answers of the models with fitted parameters, the middle 95% of 40 simulations of the same questions."
    left = len(study.groups) - len(groups)
    said += f"\nThe first {len(groups)} of {len(study.groups)} answerers." if left else ""
    return plain({"title": title_lines(f"{study.paradigm}: answers, and those of the fitted models", said), "vconcat": lines}, rows)


def _curve(same: tuple[Fitted, ...], panel: str, seed: int) -> list[dict[str, Any]]:
    seen = [observed(one.answerer.trials) for one in same]
    random = np.random.RandomState(seed)
    drawn = [[observed(one.fit.simulate(one.answerer.trials, random)) for one in same] for _ in range(_REPLICATIONS)]
    rows = []
    for line, x in dict.fromkeys(key for curve in seen for key in curve):
        means = [np.mean([curve[line, x] for curve in one if (line, x) in curve]) for one in drawn]
        low, middle, high = (float(number) for number in np.quantile(means, (0.025, 0.5, 0.975)))
        value = float(np.mean([curve[line, x] for curve in seen if (line, x) in curve]))
        rows.append({"panel": panel, "line": line, "x": x, "value": value, "low": low, "middle": middle, "high": high})
    return rows


def _curve_panel(panel: str, one: Fitted) -> dict[str, Any]:
    kind = one.answerer.trials.kind
    share = kind != "report"
    title = {"report": "mean error (degrees)", "order": "share correct"}.get(kind, "share of “yes”")
    x = {"field": "x", "type": "quantitative", "title": "serial position" if kind == "order" else "load", "axis": {"tickMinStep": 1, "format": "d"}}
    x["scale"] = {"zero": False, "nice": False, "padding": 10}
    y: dict[str, Any] = {"field": "value", "type": "quantitative", "title": title, "scale": {"domain": [0, 1]} if share else {"zero": True}}
    colour = {"field": "line", "type": "nominal", "scale": {"range": list(_COLOURS)}, "legend": {"title": None} if share else None}
    encoding = {"x": x, "color": colour}
    band = encoding | {"y": y | {"field": "low"}, "y2": {"field": "high"}}
    return {
        "title": {"text": panel, "fontSize": 12, "anchor": "start"},
        **{"width": _WIDE, "height": _HIGH, "transform": [{"filter": {"field": "panel", "equal": panel}}]},
        "layer": [
            {"mark": {"type": "area", "opacity": 0.2}, "encoding": band},
            {"mark": {"type": "line", "strokeWidth": 1.6}, "encoding": encoding | {"y": y | {"field": "middle"}}},
            {"mark": {"type": "point", "filled": True, "size": 42, "opacity": 1}, "encoding": encoding | {"y": y}},
        ],
    }
