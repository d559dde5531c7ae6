"""The figure of reaction times: a histogram for each person, with the density of the fitted ex-Gaussian."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.errors import SpanLabError
from ..data.coding import coded, decoded
from ..data.columns import column_named
from ..data.scoring import WHO, Scored, plural
from ..data.style import Look, competitors
from ..effects.reaction_times import ENOUGH, KINDS, ExGaussian, over_people, reaction_times, timed_questions
from .charts import grid, panel_of, title_lines
from .curve_marks import PANEL, whole_axis
from .effect_figure import looks_of
from .figure import Computed, FigureDeclaration, Wish, lines, named_paradigms

if TYPE_CHECKING:
    import pandas as pd

    from ..data.loading import Data

NAME = "reaction_time"
#: Panels that are drawn at most; the table has everybody.
MOST = 24
#: Bars of a histogram, over the middle of all times.
_BARS = 30
_POINTS = 160
_FITTED = tuple(f"{one}{end}" for one in ("mu", "sigma", "tau") for end in ("", "_low", "_high"))
_METHOD = (
    "Times of questions that were answered correctly in all of their items, from the onset of the question; none are left out as too short or too long. Line: "
    "the ex-Gaussian of maximum likelihood (mu and sigma of its normal, tau of its exponential part), fitted to each panel by itself, "
    f"from {ENOUGH} times on."
)


@dataclass(frozen=True, kw_only=True)
class ComputedTimes(Computed):
    """Distributions of reaction times: a row for each person, and one for all together."""


def compute_reaction_times(data: Data, wish: Wish) -> ComputedTimes:
    """Distributions of reaction times in one paradigm.

    Raises
    ------
    SpanLabError
        when nobody whose reaction times mean something has any, several paradigms have them and none was chosen, or there is no such column as ``by``.
    """
    import pandas as pd

    paradigm = _paradigm(data, wish)
    part = data.scored.parts[paradigm]
    by = (column_named(part.items, wish.by, paradigm, f"figure {NAME} by {wish.by}"),) if wish.by else ()
    items = part.items.assign(**{name: decoded(part.items[name]) for name in by})
    part = Scored(items, part.intrusions, part.notes)
    each = reaction_times(part, by=by)
    if not len(each):
        raise SpanLabError(f"no figure {NAME}: {paradigm} has no {wish.by} in questions that were answered correctly and timed")
    table = pd.concat([each, over_people(each, by=by)], ignore_index=True)
    title = f"{data.titles[paradigm]}: reaction times"
    notes = [f"{plural(len(each) - MOST, 'panel')} of {len(each)} are not drawn; the table has all."] if len(each) > MOST else []
    rough = int(each["note"].ne("").sum())
    if rough:
        notes.append(f"{plural(rough, 'distribution')} of {len(each)} without a fit or its intervals; the table says why.")
    shown = table[
        [
            "agent",
            "participant",
            *by,
            "n_items",
            "mean",
            "sd",
            *(f"{parameter}{end}" for parameter in ("mu", "sigma", "tau") for end in ("", "_low", "_high")),
            "note",
        ]
    ]
    questions = timed_questions(part)
    return ComputedTimes(
        title=title,
        caption=_METHOD,
        table=table,
        shown=shown,
        picture=lambda looks: _chart(questions, each.iloc[:MOST], by, looks, title, lines(_METHOD)),
        looks=looks_of(each),
        notes=notes,
    )


def _untimed(scored: Scored, paradigm: str) -> str:
    there = paradigm in scored.parts and len(timed_questions(scored.parts[paradigm])) > 0
    return "" if there else f"{paradigm} has no correct answers of people with a reaction time."


def _paradigm(data: Data, wish: Wish) -> str:
    named, there = named_paradigms(data, wish), list(data.titles)
    if len(named) > 1:
        raise SpanLabError(f"{NAME} is a figure of one paradigm: name one with --paradigm, not {', '.join(named)}")
    timed = [name for name, part in data.scored.parts.items() if len(timed_questions(part))]
    if named and named[0] in timed:
        return named[0]
    if len(timed) > 1 and not named:
        raise SpanLabError(f"several paradigms of these data have {NAME}: {', '.join(timed)}; choose one with --paradigm")
    if not timed or named:
        whose = sorted(set(data.scored.items.loc[~data.scored.items["agent_kind"].isin(KINDS), "agent"])) if len(data.scored.items) else []
        machines = f" Times of machines ({', '.join(whose)}) mean nothing and are not used." if whose else ""
        where = named[0] if named else ", ".join(there) or "these data"
        raise SpanLabError(f"no figure {NAME}: no person's correct answers in {where} have a reaction time.{machines}")
    return timed[0]


def _chart(questions: pd.DataFrame, rows: pd.DataFrame, by: Sequence[str], agents: Sequence[Look], title: str, subtitle: str) -> dict[str, Any]:
    """A panel for each row of the table: bars of its times, and the density of its fit, both in times a bar."""

    low, high = float(questions["rt_ms"].min()), float(competitors(questions)["rt_ms"].quantile(0.995))
    tallest = set(competitors(rows)["agent"])
    edges = _edges(min(low, high), high)
    colours = {look.label: look.light for look in agents}
    values: list[dict[str, Any]] = []
    panels: list[tuple[str, str, str, int]] = []
    top = 1.0
    keys = [*WHO, "participant", *by]
    own = dict(iter(questions.groupby(keys, sort=True, observed=True)["rt_ms"]))
    for place, row in enumerate(rows.to_dict("records")):
        mine = own[tuple(row[name] for name in keys)].to_numpy(float)
        found = _bars(mine, edges) + _density(row, len(mine), edges)
        top = max([top, *(bar["count"] for bar in found if row["agent"] in tallest)])
        values += [bar | {"part": place} for bar in found]
        beyond = int((mine > edges[-1]).sum())
        panels.append((_heading(row, by), f"{plural(len(mine), 'time')}" + (f", {beyond} beyond" if beyond else ""), colours[row["agent"]], place))
    columns = coded(rows[by[0]])[1] if by else []
    wide = len(columns) if 1 < len(columns) <= 6 and len(rows) % len(columns) == 0 else min(4, len(panels))

    @cache
    def made(colour: str, x_title: str, y_title: str) -> dict[str, Any]:
        return _layers(colour, (float(edges[0]), float(edges[-1])), top * 1.05, x_title, y_title)

    drawn = [
        panel_of(
            made(colour, "reaction time (ms)" if place >= len(panels) - wide else "", "times" if not place % wide else ""),
            f"datum.part == {place}",
            {"text": heading, "subtitle": below, "fontSize": 12, "fontWeight": 600, "subtitleFontSize": 11.5, "anchor": "start", "frame": "group", "offset": 8},
        )
        for heading, below, colour, place in panels
    ]
    return grid(drawn, values, columns=wide, spacing=(78, 40), title=title_lines(title, subtitle))


def _edges(low: float, high: float) -> np.ndarray:
    """Edges of bars at round times."""
    width = max((high - low) / _BARS, 1.0)
    power = 10.0 ** math.floor(math.log10(width))
    step = next(step * power for step in (1, 2, 5, 10) if step * power >= width)
    first = math.floor(low / step)
    return np.arange(first, max(math.ceil(high / step), first + 1) + 1) * step


def _heading(row: dict[Any, Any], by: Sequence[str]) -> str:
    person = f"{row['agent']}, {row['participant']}" if row["participant"] and row["participant"] not in row["agent"] else row["agent"]
    parts = [f"{name.removeprefix('factor_').removeprefix('record_').replace('_', ' ')} {_format_value(row[name])}" for name in by]
    return ", ".join([person, *parts])


def _format_value(value: Any) -> str:
    return f"{value:g}" if isinstance(value, int | float) else str(value)


def _bars(times: np.ndarray, edges: np.ndarray) -> list[dict[str, Any]]:
    counts, _ = np.histogram(times, edges)
    return [
        {"role": "bar", "x": float(left), "x2": float(right), "count": int(count), "range": f"{left:g} to {right:g} ms"}
        for count, left, right in zip(counts, edges, edges[1:], strict=False)
        if count
    ]


def _density(row: dict[Any, Any], many: int, edges: np.ndarray) -> list[dict[str, Any]]:
    """The fitted density in times a bar; nothing where nothing was fitted."""
    if row["mu"] != row["mu"]:
        return []
    at = np.linspace(edges[0], edges[-1], _POINTS)
    heights = ExGaussian(row["mu"], row["sigma"], row["tau"], 0.0).density(at) * many * (edges[1] - edges[0])
    return [{"role": "density", "x": float(x), "count": float(y)} for x, y in zip(at, heights, strict=True)]


def _layers(colour: str, across: tuple[float, float], top: float, x_title: str, y_title: str) -> dict[str, Any]:
    """Bars and density of one panel, over these ranges."""
    x = {"field": "x", "type": "quantitative", "title": x_title or None, "scale": {"domain": list(across), "nice": False}, "axis": whole_axis(*across)}
    y = {"field": "count", "type": "quantitative", "title": y_title or None, "scale": {"domain": [0, top], "nice": False}}
    y["axis"] = whole_axis(0, top) | {"grid": True}
    tooltip = [{"field": "range", "type": "nominal", "title": "time"}, {"field": "count", "type": "quantitative", "title": "times"}]
    bars = {
        "transform": [{"filter": "datum.role == 'bar'"}],
        "mark": {"type": "bar", "color": colour, "opacity": 0.35},
        "encoding": {"x": x | {"bin": "binned"}, "x2": {"field": "x2"}, "y": y, "tooltip": tooltip},
    }
    line = {
        "transform": [{"filter": "datum.role == 'density'"}],
        "mark": {"type": "line", "color": colour, "strokeWidth": 2, "clip": True},
        "encoding": {"x": x, "y": y},
    }
    return {"layer": [bars, line], "width": PANEL[0], "height": PANEL[1] * 0.7}


REACTION_TIME = FigureDeclaration(
    NAME,
    "reaction times",
    compute_reaction_times,
    _untimed,
    line="distribution of reaction times of each person, with the fitted ex-Gaussian (mu, sigma, tau)",
    section="times",
    by=True,
    of_people=True,
)
