"""The figures of confidence: the receiver operating characteristic of each person and model, and
the same in z-scores."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from ...core.errors import in_number
from ..data.coding import column_named, records
from ..data.scoring import WHO, Scored, plural
from ..data.style import Look
from ..data.unread import testable, unread_caption, with_unread
from ..effects.confidence import Rated, model_of, rated_questions, roc_over_people, roc_points, roc_table
from ..effects.curves import overall
from ..stats.rated_detection import ENOUGH
from .charts import grid, panel_of, title_lines
from .effect_figure import looks_of
from .figure import Computed, FigureDeclaration, Wish, chosen, lines, why_not
from .histogram_panels import MOST, heading_of, in_a_row, notes_on_panels, split_by
from .marked_answers import MarkedAnswers, answers_of_panels

if TYPE_CHECKING:
    from ..data.loading import Data

_UNRATED = partial(why_not, rated_questions)
#: Width and height of a panel, in px.
_SIDE = 150
_POINTS = 60
#: Where the axes of z-scores end.
_FURTHEST = 3.0
_METHOD = (
    "Each point is a criterion: the answer and its rating, in one order. Hits: “{signal}” where it was right; false"
    " alarms: “{signal}” where it was wrong. Ratings are those of the phase{phases}. Line: signal detection with"
    " unequal variances by maximum likelihood, from {enough} rated answers to questions of each kind on{forced}."
    " Dotted: no sensitivity."
)
_SHOWN = (
    *(
        "n_signals",
        "n_others",
        "n_missing",
        "auc",
        "auc_low",
        "auc_high",
        "d_a",
        "d_a_low",
        "d_a_high",
        "slope",
        "slope_low",
        "slope_high",
        "g2",
        "df",
        "p",
    ),
    *("type2_auc", "type2_auc_low", "type2_auc_high", "note"),
)


class Axes(NamedTuple):
    """How false alarms and hits are drawn: the name of the figure, their titles and columns, and the scale of
    both."""

    title: str
    titles: tuple[str, str]
    columns: tuple[str, str]
    ends: tuple[float, float]
    ticks: tuple[float, ...]
    format: str


SHARES = Axes("ROC", ("false alarms", "hits"), ("false_alarms", "hits"), (0.0, 1.0), (0, 0.5, 1), ".1~f")
Z = Axes(
    "ROC in z-scores",
    ("z(false alarms)", "z(hits)"),
    ("z_false_alarms", "z_hits"),
    (-_FURTHEST, _FURTHEST),
    (-2, 0, 2),
    "d",
)


@dataclass(frozen=True, kw_only=True)
class ComputedCurves(Computed):
    """Receiver operating characteristics: a row for each person and model, and one for all people
    together; ``points`` are those of the curves."""

    points: pd.DataFrame


def compute_curves(name: str, axes: Axes, data: Data, wish: Wish) -> ComputedCurves:
    """Receiver operating characteristics in one paradigm.

    Parameters
    ----------
    name : of the figure
    axes : how false alarms and hits are drawn; the table of z-scores has the points

    Raises
    ------
    SpanLabError
        when there are no ratings of such answers, several paradigms have them and none was chosen,
        or there is no such column as ``by``.
    """
    paradigm = chosen(name, _UNRATED, data, wish)
    part = data.scored.parts[paradigm]
    by = (column_named(part.items, wish.by, paradigm, f"figure {name} by {wish.by}"),) if wish.by else ()
    part = split_by(part, by)
    rated = rated_questions(Scored(part.items, part.intrusions, ()), paradigm)
    each = roc_table(rated, by=by)
    each["p"] = each["p"].where(each["agent"].isin(set(testable(part, by).items["agent"])))
    points = roc_points(rated, by=by)
    table = pd.concat([each, roc_over_people(each, by=by)], ignore_index=True)
    title = f"{data.titles[paradigm]}: {axes.title}"
    notes = notes_on_panels(len(each))
    unfitted = each[each["d_a"].isna()]
    if len(unfitted):
        notes.append(
            f"{len(unfitted)} of {plural(len(each), 'curve')} {in_number(len(unfitted), 'has', 'have')} no fit:"
            f" {'; '.join(sorted(set(unfitted['note'])))}."
        )
    missing = int(each["n_missing"].sum())
    if missing:
        notes.append(f"{plural(missing, 'question')} without an answer or without a rating left out.")
    below = _caption(rated) + unread_caption(with_unread(overall(part)))
    shown = table[["agent", "participant", *by, *_SHOWN]]
    if axes is Z:
        table = shown = points
    return ComputedCurves(
        title=title,
        caption=below,
        table=table,
        shown=shown,
        picture=lambda looks: _chart(rated, each.iloc[:MOST], points, by, looks, title, lines(below), axes),
        looks=looks_of(each),
        notes=notes,
        points=points,
        answers=partial(_answers, rated, each.iloc[:MOST], by),
    )


def _answers(rated: Rated, rows: pd.DataFrame, by: Sequence[str], mark: Mapping[str, Any]) -> MarkedAnswers | None:
    """Return the answers behind a point: every rated answer of its person is on one side of its
    criterion."""
    if mark.get("role") != "point":
        return None
    return answers_of_panels(rated.items, rows, by, mark, "criterion", lambda mine: mine["evidence"].notna())


def _caption(rated: Rated) -> str:
    phases = sorted({str(one) for one in rated.items["confidence_phase"].dropna().unique()})
    forced = "; d_a is divided by √2, as for a choice between two sides" if rated.forced else ""
    named = f"{'s' if len(phases) > 1 else ''} {', '.join(phases)}"
    return _METHOD.format(signal=rated.words[0], phases=named, enough=ENOUGH, forced=forced)


def _lacking(scored: Scored, paradigm: str) -> tuple[str, ...]:
    there = paradigm in scored.parts and "confidence" in scored.parts[paradigm].items.columns
    return () if there else ("confidence",)


def _chart(
    rated: Rated,
    rows: pd.DataFrame,
    points: pd.DataFrame,
    by: Sequence[str],
    agents: Sequence[Look],
    title: str,
    subtitle: str,
    axes: Axes,
) -> dict[str, Any]:
    """A panel for each row of the table: its points, and the fitted curve."""
    keys = [*WHO, "participant", *by]
    of_each = dict(iter(points.groupby(keys, sort=True, observed=True, dropna=False))) if len(points) else {}
    colours = {look.label: look.light for look in agents}
    wide = in_a_row(rows, by)
    panels, values = [], []
    for place, row in enumerate(records(rows)):
        curve = of_each.get(tuple(row[name] for name in keys), points.iloc[:0])
        numbers = (("area", "auc"), ("d_a", "d_a"), ("slope", "slope"))
        below = (
            ", ".join(f"{word} {row[name]:.2f}" for word, name in numbers if not math.isnan(row[name])) or "no curve"
        )
        x_title = axes.titles[0] if place >= len(rows) - wide else ""
        y_title = axes.titles[1] if not place % wide else ""
        layers = _layers(colours[row["agent"]], x_title, y_title, axes)
        heading = {
            "text": heading_of(row, by),
            "subtitle": below,
            "fontSize": 12,
            "fontWeight": 600,
            "subtitleFontSize": 11.5,
            "anchor": "start",
        }
        panels.append(
            panel_of(layers, f"datum.part == {place}", heading | {"frame": "group", "offset": 8, "limit": _SIDE + 40})
        )
        diagonal = [{"role": "diagonal", "x": end, "y": end} for end in axes.ends]
        marks = (*diagonal, *_line(row, rated.forced, axes), *_marks(curve, axes))
        values += [one | {"part": place} for one in marks]
    return grid(panels, values, columns=wide, spacing=(96, 56), title=title_lines(title, subtitle))


def _line(row: Mapping[Any, Any], forced: bool, axes: Axes) -> list[dict[str, Any]]:
    """The fitted curve; nothing where nothing was fitted."""
    from scipy.special import ndtr

    model = model_of(row, forced)
    if model is None:
        return []
    at = np.linspace(-_FURTHEST, _FURTHEST, _POINTS)
    heights = model.intercept + model.slope * at
    if axes is Z:
        inside = np.abs(heights) <= _FURTHEST
        return [{"role": "fit", "x": float(x), "y": float(y)} for x, y in zip(at[inside], heights[inside], strict=True)]
    ends = [(0.0, 0.0), *zip(ndtr(at), ndtr(heights), strict=True), (1.0, 1.0)]
    return [{"role": "fit", "x": float(x), "y": float(y)} for x, y in ends]


def _marks(points: pd.DataFrame, axes: Axes) -> list[dict[str, Any]]:
    x, y = axes.columns
    known = points[points[x].notna() & points[y].notna()]
    return [
        {
            "role": "point",
            "x": float(row[x]),
            "y": float(row[y]),
            "criterion": f"{row['answer']}, {row['confidence']:g} or surer",
        }
        for row in records(known)
        if axes is SHARES or max(abs(row[x]), abs(row[y])) <= _FURTHEST
    ]


def _layers(colour: str, x_title: str, y_title: str, axes: Axes) -> dict[str, Any]:
    """Diagonal, curve and points of one panel."""
    axis = {"grid": False, "values": list(axes.ticks), "format": axes.format}
    scale = {"domain": list(axes.ends), "nice": False}
    x = {"field": "x", "type": "quantitative", "title": x_title or None, "scale": scale, "axis": axis}
    y = {"field": "y", "type": "quantitative", "title": y_title or None, "scale": scale, "axis": axis | {"grid": True}}
    pointed = [
        {"field": "criterion", "type": "nominal", "title": "criterion"},
        *(
            {"field": field, "type": "quantitative", "title": title, "format": ".2f"}
            for field, title in zip("xy", axes.titles, strict=True)
        ),
    ]
    encoding, ordered = {"x": x, "y": y}, {"order": {"field": "x", "type": "quantitative"}}
    layer = [
        {
            "transform": [{"filter": "datum.role == 'diagonal'"}],
            "mark": {"type": "line", "style": "chance", "strokeDash": [2, 3], "strokeWidth": 1, "opacity": 0.8},
            "encoding": encoding | ordered,
        },
        {
            "transform": [{"filter": "datum.role == 'fit'"}],
            "mark": {"type": "line", "color": colour, "strokeWidth": 2},
            "encoding": encoding | ordered,
        },
        {
            "transform": [{"filter": "datum.role == 'point'"}],
            "mark": {"type": "point", "color": colour, "filled": True, "size": 42, "opacity": 1},
            "encoding": encoding | {"tooltip": pointed},
        },
    ]
    return {"layer": layer, "width": _SIDE, "height": _SIDE}


ROC = FigureDeclaration(
    "roc",
    "ROC from ratings of confidence",
    partial(compute_curves, "roc", SHARES),
    _UNRATED,
    _lacking,
    line="ROC from ratings of confidence, with area, d_a and slope of the unequal-variance model",
    answers="items",
    by=True,
)
ZROC = FigureDeclaration(
    "zroc",
    "ROC in z-scores",
    partial(compute_curves, "zroc", Z),
    _UNRATED,
    _lacking,
    line="ROC in z-scores, with the line of the unequal-variance model",
    answers="items",
    by=True,
)
