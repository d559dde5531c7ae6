"""The figure of reaction times: a histogram for each person, with the density of the fitted
ex-Gaussian."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ...core.errors import SpanLabError, in_number
from ..data.coding import column_named, records
from ..data.scoring import WHO, Scored, plural
from ..data.style import Look, competitors
from ..effects.reaction_times import ENOUGH, KINDS, ExGaussian, over_people, reaction_times, timed_questions
from .effect_figure import looks_of
from .figure import Computed, FigureDeclaration, Wish, lines, named_paradigms
from .histogram_panels import (
    MOST,
    Panel,
    answers_of_bars,
    bars,
    heading_of,
    histogram_panels,
    in_a_row,
    line,
    notes_on_panels,
    split_by,
)

if TYPE_CHECKING:
    from ..data.loading import Data

NAME = "reaction_time"
#: Bars of a histogram, over the middle of all times.
_BARS = 30
_POINTS = 160
_FITTED = tuple(f"{one}{end}" for one in ("mu", "sigma", "tau") for end in ("", "_low", "_high"))
_METHOD = (
    "Times of questions that were answered correctly in all of their items, from the onset of the question; none are"
    " left out as too short or too long. Line: the ex-Gaussian of maximum likelihood (mu and sigma of its normal, tau"
    f" of its exponential part), fitted to each panel by itself, from {ENOUGH} times on."
)


@dataclass(frozen=True, kw_only=True)
class ComputedTimes(Computed):
    """Distributions of reaction times: a row for each person, and one for all together."""


def compute_reaction_times(data: Data, wish: Wish) -> ComputedTimes:
    """Distributions of reaction times in one paradigm.

    Raises
    ------
    SpanLabError
        when nobody whose reaction times mean something has any, several paradigms have them and
        none was chosen, or there is no such column as ``by``.
    """
    paradigm = _paradigm(data, wish)
    part = data.scored.parts[paradigm]
    by = (column_named(part.items, wish.by, paradigm, f"figure {NAME} by {wish.by}"),) if wish.by else ()
    part = split_by(part, by)
    each = reaction_times(part, by=by)
    if not len(each):
        raise SpanLabError(
            f"no figure {NAME}: {paradigm} has no {wish.by} in questions that were answered correctly and timed"
        )
    table = pd.concat([each, over_people(each, by=by)], ignore_index=True)
    title = f"{data.titles[paradigm]}: reaction times"
    notes = notes_on_panels(len(each))
    rough = int(each["note"].ne("").sum())
    if rough:
        notes.append(
            f"{rough} of {plural(len(each), 'distribution')} {in_number(rough, 'has', 'have')} no fit, or a fit without"
            " intervals; the table says why."
        )
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
        answers=answers_of_bars(questions, each.iloc[:MOST], by, "rt_ms", float(_edges(questions)[-1])),
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
        raise SpanLabError(
            f"several paradigms of these data have {NAME}: {', '.join(timed)}; choose one with --paradigm"
        )
    if not timed or named:
        whose = sorted(set(data.scored.items.loc[~data.scored.items["agent_kind"].isin(KINDS), "agent"]))
        machines = f" Times of machines ({', '.join(whose)}) mean nothing and are not used." if whose else ""
        where = named[0] if named else ", ".join(there) or "these data"
        raise SpanLabError(f"no figure {NAME}: no person's correct answers in {where} have a reaction time.{machines}")
    return timed[0]


def _chart(
    questions: pd.DataFrame, rows: pd.DataFrame, by: Sequence[str], agents: Sequence[Look], title: str, subtitle: str
) -> dict[str, Any]:
    """A panel for each row of the table: bars of its times, and the density of its fit, both in
    times a bar."""

    tallest = set(competitors(rows)["agent"])
    edges = _edges(questions)
    colours = {look.label: look.light for look in agents}
    panels: list[Panel] = []
    top = 1.0
    keys = [*WHO, "participant", *by]
    times = dict(iter(questions.groupby(keys, sort=True, observed=True)["rt_ms"]))
    for row in records(rows):
        mine = times[tuple(row[name] for name in keys)].to_numpy(float)
        marks = bars(mine, edges, " ms") + _density(row, len(mine), edges)
        top = max([top, *(bar["count"] for bar in marks if row["agent"] in tallest)])
        beyond = int((mine > edges[-1]).sum())
        below = f"{plural(len(mine), 'time')}" + (f", {beyond} beyond" if beyond else "")
        panels.append(Panel(heading_of(row, by), below, colours[row["agent"]], marks))
    across, axes = (float(edges[0]), float(edges[-1])), ("reaction time (ms)", "times")
    return histogram_panels(
        panels,
        across,
        top * 1.05,
        wide=in_a_row(rows, by),
        axes=axes,
        tooltip=("time", "times"),
        title=title,
        subtitle=subtitle,
    )


def _edges(questions: pd.DataFrame) -> np.ndarray:
    """Edges of bars at round times, over nearly all times."""
    low, high = float(questions["rt_ms"].min()), float(competitors(questions)["rt_ms"].quantile(0.995))
    low = min(low, high)
    width = max((high - low) / _BARS, 1.0)
    power = 10.0 ** math.floor(math.log10(width))
    step = next(step * power for step in (1, 2, 5, 10) if step * power >= width)
    first = math.floor(low / step)
    return np.arange(first, max(math.ceil(high / step), first + 1) + 1) * step


def _density(row: dict[Any, Any], many: int, edges: np.ndarray) -> list[dict[str, Any]]:
    """The fitted density in times a bar; nothing where nothing was fitted."""
    if row["mu"] != row["mu"]:
        return []
    at = np.linspace(edges[0], edges[-1], _POINTS)
    heights = ExGaussian(row["mu"], row["sigma"], row["tau"], 0.0).density(at) * many * (edges[1] - edges[0])
    return line(at, heights)


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
