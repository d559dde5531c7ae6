"""Pictures of fits: parameters, people as a cloud and machines as points with intervals; and curves
of fitted models behind those of the answers.

Panels say in themselves what they show, so that they need no legend: the report and files stand
them in rows that fit their width.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from spanlab.analysis.figures import plain, title_lines

from .comparing import Fitted
from .study import Study
from .trials import observed

#: Simulated replications of all answers behind a predicted curve, and groups that are drawn.
_REPLICATIONS, _GROUPS = 40, 8
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8a8f99")
_WIDE, _HIGH, _ROW, _COLUMNS = 190, 150, 46, 4
#: Letters in a line of a name, which fit the narrowest panel of a telephone, and how high a further
#: line is.
_LETTERS, _LINE = 24, 13
#: How much of a row its points have.
_ESTIMATES = 28
#: Points of a cloud are put aside by multiples of this, which never come near one another.
_GOLDEN = 0.618034


def parameters_picture(study: Study) -> dict[str, Any]:
    """A panel for each parameter of each model: a row for all people, and one for each machine."""
    rows: list[dict[str, Any]] = []
    panels = []
    for model in study.recovery.names:
        fits = _of(study, model)
        for name in dict.fromkeys(name for one in fits for name in one.fit.space.names):
            panel = f"{model}: {name}"
            rows += _points(study, model, name, panel)
            parameter = next(
                place
                for one in fits
                for at, (place, _) in zip(one.fit.space.names, one.fit.space.places, strict=True)
                if at == name
            )
            scale: dict[str, Any] = {"zero": False, "nice": False, "padding": 10} | (
                {"type": "log"} if parameter.scale == "log" else {}
            )
            heading = _heading(name, [model])
            height = _row_height(study) * len(study.groups)
            panels.append(_parameter_panel(panel, heading, parameter.unit, scale, height, len(study.groups)))
    return _panels(f"{study.paradigm}: parameters", PARAMETERS, panels, min(_COLUMNS, len(panels)), rows)


#: What stands below the pictures.
PARAMETERS = (
    "Estimates by maximum likelihood. Machines: points with 95% intervals (profile likelihood). People: a cloud, a"
    " point each."
)
CURVES = (
    "Points: what was answered. Lines and bands: what the models predict for the same questions with their fitted"
    f" parameters, the middle 95% of {_REPLICATIONS} simulations. The uncertainty of the parameters is not in the"
    " bands."
)


def name_lines(name: str) -> list[str]:
    """A name in lines that fit a panel, broken before a sign between its parts: no name is cut.

    Examples
    --------
    >>> name_lines("chat:meta-llama/Llama-3.3-70B-Instruct@together")
    ['chat:meta-llama', '/Llama-3.3-70B-Instruct', '@together']
    """
    lines = [""]
    for piece in re.findall(r"[^\w.=-]?[\w.=-]+|.", name):
        if lines[-1] and len(lines[-1] + piece) > _LETTERS:
            lines.append("")
            piece = piece.lstrip()
        lines[-1] += piece
    return [line[at : at + _LETTERS] for line in lines for at in range(0, len(line), _LETTERS)]


def _row_height(study: Study) -> int:
    """Return the height of a row of a group, with its name above its points."""
    return _ROW + _LINE * (max(len(name_lines(group)) for group in study.groups) - 1)


def _heading(title: str, below: list[str]) -> dict[str, Any]:
    return {"text": title, "subtitle": below, "fontSize": 12, "subtitleFontSize": 11, "anchor": "start", "offset": 6}


def _panels(
    title: str, caption: str, panels: list[dict[str, Any]], columns: int, rows: list[dict[str, Any]]
) -> dict[str, Any]:
    spacing = {"row": 82 + _LINE * max(len(panel["title"]["subtitle"]) for panel in panels), "column": 46}
    layout = {"concat": panels, "columns": columns, "spacing": spacing, "bounds": "flush"}
    return plain({"title": title_lines(title, caption), **layout}, rows)


def _of(study: Study, model: str) -> list[Fitted]:
    return [one for fits in study.fitted for one in fits if one.fit.model.name == model]


def _points(study: Study, model: str, name: str, panel: str) -> list[dict[str, Any]]:
    """A row for each estimate, and one for the name of each group, above them."""
    points: list[dict[str, Any]] = []
    name_share = 1 - _ESTIMATES / _row_height(study)
    for row, (group, members) in enumerate(study.groups.items()):
        points.append(
            {"panel": panel, "row": row, "group": group, "kind": "name", "lines": "\n".join(name_lines(group))}
        )
        for number, one in enumerate(
            one for fits in members for one in fits if one.fit.model.name == model and name in one.ends
        ):
            person, (low, high) = one.answerer.person, one.ends[name]
            at = row + name_share + (1 - name_share) * (0.1 + 0.8 * (number * _GOLDEN % 1) if person else 0.5)
            known = {
                "panel": panel,
                "row": at,
                "group": group,
                "kind": "person" if person else "machine",
                "answerer": one.answerer.name,
            }
            points.append(known | {"value": one.fit.values[name], "low": low, "high": high})
    return points


def _parameter_panel(
    panel: str, heading: dict[str, Any], unit: str, scale: dict[str, Any], height: int, groups: int
) -> dict[str, Any]:
    x = {
        "field": "value",
        "type": "quantitative",
        "scale": scale,
        "title": unit or None,
        "axis": {"tickCount": 4, "labelOverlap": True},
    }
    y = {
        "field": "row",
        "type": "quantitative",
        "axis": None,
        "scale": {"domain": [0, groups], "reverse": True, "nice": False},
    }
    ends = {"x": x | {"field": "low"}, "x2": {"field": "high"}, "y": y}
    name = {"text": {"field": "lines"}, "x": {"value": 2}, "y": y}
    colour, letters = {"color": _COLOURS[0]}, {"style": "soft", "fontSize": 11, "lineBreak": "\n", "lineHeight": _LINE}
    layers = [
        ("machine", {"type": "rule", "strokeWidth": 2, **colour}, ends),
        ("machine", {"type": "point", "filled": True, "size": 55, "opacity": 1, **colour}, {"x": x, "y": y}),
        ("person", {"type": "point", "filled": False, "size": 38, "opacity": 0.65, **colour}, {"x": x, "y": y}),
        ("name", {"type": "text", "align": "left", "baseline": "top", "dy": 3, **letters}, name),
    ]
    layered = [
        {"transform": [{"filter": {"field": "kind", "equal": kind}}], "mark": mark, "encoding": encoding}
        for kind, mark, encoding in layers
    ]
    return _panel(panel, heading, height, layered)


def _panel(panel: str, heading: dict[str, Any], height: int, layers: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "title": heading,
        "width": _WIDE,
        "height": height,
        "transform": [{"filter": {"field": "panel", "equal": panel}}],
        "layer": layers,
    }


def curves_picture(study: Study, seed: int = 1) -> dict[str, Any]:
    """A panel for each group and model: points are what was answered, lines what the fitted models
    answer to the same questions."""
    rows: list[dict[str, Any]] = []
    panels = []
    groups = dict(list(study.groups.items())[:_GROUPS])
    for group, members in groups.items():
        for same in zip(*members, strict=True):
            panel = f"{same[0].fit.model.name}: {group}"
            rows += _curve(same, panel, seed)
            panels.append(_curve_panel(panel, _heading(same[0].fit.model.name, name_lines(group)), same[0]))
    left = len(study.groups) - len(groups)
    said = f"\nThe first {len(groups)} of {len(study.groups)} answerers." if left else ""
    columns = min(_COLUMNS, len(study.recovery.names))
    return _panels(f"{study.paradigm}: answers, and those of the fitted models", CURVES + said, panels, columns, rows)


def _curve(same: tuple[Fitted, ...], panel: str, seed: int) -> list[dict[str, Any]]:
    seen = [observed(one.answerer.trials) for one in same]
    random = np.random.RandomState(seed)
    drawn = [[observed(one.fit.simulate(one.answerer.trials, random)) for one in same] for _ in range(_REPLICATIONS)]
    rows = []
    keys = dict.fromkeys(key for curve in seen for key in curve)
    of_people = same[0].answerer.person
    for line, x in keys:
        means = [np.mean([curve[line, x] for curve in one if (line, x) in curve]) for one in drawn]
        low, middle, high = (float(number) for number in np.quantile(means, (0.025, 0.5, 0.975)))
        value = float(np.mean([curve[line, x] for curve in seen if (line, x) in curve]))
        last = x == max(at for name, at in keys if name == line)
        rows.append(
            {
                "panel": panel,
                "people": of_people,
                "group": "" if of_people else same[0].answerer.name,
                "line": line,
                "x": x,
                "value": value,
                "low": low,
                "middle": middle,
                "high": high,
                "last": last,
            }
        )
    return rows


def _curve_panel(panel: str, heading: dict[str, Any], one: Fitted) -> dict[str, Any]:
    kind = one.answerer.trials.kind
    share = kind != "report"
    titles = {"report": "mean error (degrees)", "order": "share correct", "updating": "share of answers"}
    title = titles.get(kind, "share of “yes”")
    x = {
        "field": "x",
        "type": "quantitative",
        "title": "serial position" if kind == "order" else "load",
        "axis": {"tickMinStep": 1, "format": "d"},
        "scale": {"zero": False, "nice": False, "padding": 10},
    }
    y: dict[str, Any] = {
        "field": "value",
        "type": "quantitative",
        "title": title,
        "scale": {"domain": [0, 1]} if share else {"zero": True},
    }
    encoding = {
        "x": x,
        "color": {"field": "line", "type": "nominal", "scale": {"range": list(_COLOURS)}, "legend": None},
    }
    band = encoding | {"y": y | {"field": "low"}, "y2": {"field": "high"}}
    name = encoding | {"y": y | {"field": "middle"}, "text": {"field": "line"}}
    layers: list[dict[str, Any]] = [
        {"mark": {"type": "area", "opacity": 0.2}, "encoding": band},
        {"mark": {"type": "line", "strokeWidth": 1.6}, "encoding": encoding | {"y": y | {"field": "middle"}}},
        {"mark": {"type": "point", "filled": True, "size": 42, "opacity": 1}, "encoding": encoding | {"y": y}},
    ]
    if share:
        mark = {"type": "text", "align": "right", "dx": 8, "dy": -10, "fontSize": 11}
        layers.append({"transform": [{"filter": "datum.last"}], "mark": mark, "encoding": name})
    return _panel(panel, heading, _HIGH, layers)
