"""Human-model scores as in WorM (Sikarwar & Zhang, 2023, NeurIPS, Table A3): how far the slope (A)
and the mean (B) of a curve are from people's.

With M of an answerer and H of people, over the same conditions::

    A = |(M - H) / H|    M, H: slope of a straight line through the curve
    B = |(M - H) / H|    M, H: mean over the conditions of the curve

0 means the same as people; 1 means flat (A). The paper leaves much open; the decisions made here
are listed in :data:`DECISIONS` and in ``docs/analysis.md``.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from ...core.errors import SpanLabError
from ...sessions.record.table import FURTHER
from ..data.coding import decoded, records
from ..data.coding import numbers as plain_numbers
from ..data.exclusions import SELECTED
from ..data.scoring import WHO, Scored, as_scored, plural
from ..data.unread import beside_shares, testable
from ..effects.curves import published_curve
from ..guessing import CIRCULAR
from ..means.bootstrap import LEVEL
from ..means.cell_means import place_of, unit_means
from ..means.contrasts import Contrast, contrast_of
from .score_kinds import SCORES, ScoreKind, describe_places, lowest_place, weights

#: What the paper leaves open, and what is done here.
DECISIONS = (
    (
        "Both curves are taken over the conditions that both have; what these are is in the column 'conditions'. Only"
        " cognitive loads, of which people and machines have none in common, are each taken over their own, in the same"
        " unit: the share of the time that decisions take."
    ),
    (
        "Where a curve has several panels (list lengths in A of vsr, domains in cs, features in cd), a line is fitted"
        " by least squares in each, and M and H are the means of their slopes. In B every condition counts once,"
        " however many trials it has."
    ),
    (
        "Primacy is from the first position to the minimum of people's curve, recency from there to the last; the"
        " answerer's curve is cut at the same place. A minimum at an end leaves no line there."
    ),
    (
        "The test of M is against the M of somebody who guesses, from the chance level that is recorded for the same"
        " conditions; it is that of the interval of M."
    ),
    (
        "Intervals are over participants, sessions or trials; published people have no spread, and add none. The"
        " interval of a score is that of (M - H) / H with its sign taken away, so it begins at 0 where M may well"
        " equal H."
    ),
)


#: Values of the columns of a condition: its panel, and last its place along the line.
_Place = tuple[Any, ...]
#: Published curves were read off figures: a change smaller than this is not a change.
PRECISION = 0.01
_TESTED = ("value", "low", "high", "p")
#: Columns of the table of scores.
SCORE_COLUMNS = (
    *("task", "score", *WHO, "oracle", "value", "low", "high", "m", "h", "chance", "p"),
    *("unit", "n_units", "n_points", "conditions", "against", "note"),
)


def scores(
    responses: pd.DataFrame | Scored,
    *,
    human: Mapping[str, str] | None = None,
    against: str = "",
    level: float = LEVEL,
) -> pd.DataFrame:
    """All scores that the responses allow.

    Parameters
    ----------
    responses : a response table, or one that :func:`.score_table` has sorted
    human : for each paradigm the name of the published human data that belong to it; its own name
        when not given
    against : an answerer (by its ``agent``) who stands for people; published people when not given

    Returns
    -------
    pandas.DataFrame
        :data:`SCORE_COLUMNS`: one row for each score and answerer. ``value`` is A or B with its
        interval; ``m``, ``h`` and ``chance`` are the slopes or means of the answerer, of people,
        and of guessing; ``note`` says why something is missing. Where replies could not be read,
        :data:`.BOUND_COLUMNS` as well.

    Raises
    ------
    SpanLabError
        when nobody is called as ``against`` says.
    """
    scored = as_scored(responses)
    if against and against not in set(scored.items["agent"]):
        there = ", ".join(sorted(set(scored.items["agent"]))) or "nobody"
        raise SpanLabError(f"nobody is called '{against}' in these data; there are {there}")
    rows: list[dict[str, Any]] = []
    for paradigm, part in scored.parts.items():
        named = (human or {}).get(paradigm) or paradigm
        for score in SCORES:
            if score.task == named and not part.blocks:
                rows += _untested(_rows(score, paradigm, testable(part, score.by), against, level), part)
    return beside_shares(pd.DataFrame(rows, columns=list(SCORE_COLUMNS)), testable(scored).items)


def _untested(rows: list[dict[str, Any]], part: Scored) -> list[dict[str, Any]]:
    """Rows without the test against guessing where a rule on right answers left something out."""
    if SELECTED not in part.items.columns:
        return rows
    chosen = {*part.items.loc[part.items[SELECTED].astype(bool), "agent"].astype(str)}
    return [
        row | {"p": math.nan} | {"note": "; ".join(filter(None, [row["note"], CIRCULAR]))}
        if str(row["agent"]) in chosen
        else row
        for row in rows
    ]


def _rows(score: ScoreKind, paradigm: str, scored: Scored, against: str, level: float) -> list[dict[str, Any]]:
    """Return a row for each answerer; none where the items do not have what the score needs."""
    items = scored.items
    if any(name not in items.columns or not items[name].notna().any() for name in (*score.by, *score.needs)):
        return []
    at_places = _placed(score, items)
    cells = unit_means(scored if at_places is items else Scored(at_places, items.iloc[:0], ()), score.by)
    points = cells.points(score.by)
    people: dict[_Place, int] = {}
    if against:
        people = next((points[key] for key in points if key[2] == against), {})
        fixed = {place: cells.mean(number) for place, number in people.items()}
    else:
        fixed = {place_of(row, score.by): float(row["mean"]) for row in records(published_curve(score.task, score.by))}
    rows = []
    for who, places in ((who, places) for who, places in points.items() if who[2] != against):
        head = {
            "task": score.task,
            "score": score.name,
            **dict(zip(WHO, who, strict=True)),
            "against": against or "published people",
        }
        mine, of_people, note = _weights(score, places, fixed)
        if note:
            rows.append(head | _nothing(note))
            continue
        numbers = [places[place] for place in mine]
        weight = np.array(list(mine.values()))
        estimate = contrast_of(cells, numbers, weight, shares=True, level=level)
        guess = float(weight @ cells.chance[numbers])
        reference: float | Contrast = sum(of_people[place] * fixed[place] for place in of_people)
        if against:
            others = [people[place] for place in of_people]
            reference = contrast_of(cells, others, np.array(list(of_people.values())), shares=True, level=level)
        unit = cells.unit[numbers[0]]
        distinct = bool(cells.distinct[numbers].all()) or unit != "trial"
        oracle = any(bool(cells.counts["oracle"][number]) for number in numbers)
        facts = {
            "oracle": oracle,
            "unit": unit * distinct,
            "n_points": len(mine),
            "conditions": describe_places(score, list(mine)),
        }
        # how far a line goes along its axis, at most
        ends = [place[-1] for place in of_people] if score.slope and not against else [-math.inf, math.inf]
        rows.append(head | facts | _scored_row(estimate, reference, guess, distinct, max(ends) - min(ends)))
    return rows


def _placed(score: ScoreKind, items: pd.DataFrame) -> pd.DataFrame:
    """Return the items that have a place along the line of a score."""
    plain: dict[str, Any] = {name: decoded(items[name]) for name in score.by if name.startswith(FURTHER)}
    if score.x in plain:
        place = plain_numbers(plain[score.x])
        plain[score.x] = np.where(np.isfinite(place), place, np.nan)  # words have no place along a line
    items = items.assign(**plain) if plain else items
    if "serial_position" not in score.needs or items["serial_position"].notna().all():
        return items
    return items[items["serial_position"].notna()]


def _weights(
    score: ScoreKind, places: Collection[_Place], of_people: Mapping[_Place, float]
) -> tuple[dict[_Place, float], dict[_Place, float], str]:
    """Return the weights of the conditions of an answerer and of people; or why there are none.

    Conditions are those that both have, in panels in which both have enough of them; of unmatched
    scores each has its own conditions.
    """
    shared = [place for place in places if not score.matched or place in of_people]
    theirs = {place: value for place, value in of_people.items() if not score.matched or place in places}
    panels = {place[:-1] for place in shared} & {place[:-1] for place in theirs}
    cuts = {panel: lowest_place(panel, theirs) for panel in panels}

    def weighted(conditions: Iterable[_Place], kept: Collection[_Place]) -> dict[_Place, float]:
        return weights(score, [place for place in conditions if place[:-1] in kept], cuts)

    kept = {place[:-1] for place in weighted(shared, panels)} & {place[:-1] for place in weighted(theirs, panels)}
    if not kept:
        return {}, {}, "too few conditions for a line" if panels else "no conditions in common with people"
    return weighted(shared, kept), weighted(theirs, kept), ""


def _scored_row(
    estimate: Contrast, reference: float | Contrast, guess: float, distinct: bool, reach: float
) -> dict[str, Any]:
    h = reference if isinstance(reference, (int, float)) else reference.value
    row: dict[str, Any] = {"m": estimate.value, "h": h, "chance": guess, "n_units": estimate.n}
    row |= dict.fromkeys(_TESTED, math.nan)
    notes = []
    if abs(h) < 1e-12:
        notes.append("people's slope is 0: no score")
    else:
        row["value"] = abs((estimate.value - h) / h)
        if abs(h) * reach < PRECISION:
            changes = f"people's curve changes by {abs(h) * reach:.3f} only, less than it can be read off"
            notes.append(f"{changes}: this score means little")
    if not distinct:
        return row | {"note": "; ".join([*notes, "no trial numbers: no interval, no test"])}
    row["p"] = estimate.p(guess)
    if math.isnan(row["p"]):
        lacking = "a condition with one unit" if estimate.lone else f"no spread over {plural(estimate.n, 'unit')}"
        notes.append(f"{lacking}: no test")
    if not math.isnan(row["value"]):
        low, high = (ratio - 1 for ratio in _limits_of_ratio(estimate, reference))
        row |= {"low": 0.0 if low <= 0 <= high else min(abs(low), abs(high)), "high": max(abs(low), abs(high))}
        notes += ["no interval"] if low != low else []
    return row | {"note": "; ".join(notes)}


def _limits_of_ratio(estimate: Contrast, reference: float | Contrast) -> tuple[float, float]:
    """The interval of ``estimate / reference`` (Fieller, 1954, Journal of the Royal Statistical
    Society B 16, 175-185); NaN where the reference may be 0."""
    low, high = estimate.ends()
    if isinstance(reference, (int, float)):
        return min(low / reference, high / reference), max(low / reference, high / reference)
    other_low, other_high = reference.ends()
    reach, other_reach = (high - low) / 2, (other_high - other_low) / 2
    m, h = estimate.value, reference.value
    if not h**2 > other_reach**2:
        return math.nan, math.nan
    root = math.sqrt(max(0.0, (m * h) ** 2 - (h**2 - other_reach**2) * (m**2 - reach**2)))
    return (m * h - root) / (h**2 - other_reach**2), (m * h + root) / (h**2 - other_reach**2)


def _nothing(note: str) -> dict[str, Any]:
    return dict.fromkeys(("value", "low", "high", "m", "h", "chance", "p"), math.nan) | {
        "oracle": False,
        "unit": "",
        "n_units": 0,
        "n_points": 0,
        "conditions": "",
        "note": note,
    }
