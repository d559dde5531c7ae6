"""The opening of a page: one picture of people and models in every paradigm."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ...core.agent_kinds import PARTICIPANT
from ..data.coding import coded, records
from ..data.numbers import decimals, with_sign
from ..data.scoring import Scored
from ..data.style import of_kinds
from ..data.unread import UNREAD_COLUMNS, bounds_in_words
from ..effects.effect import ready
from ..effects.registry import EFFECTS
from ..figures.marked_answers import MarkedAnswers
from ..model_vs_human.differences import CommonConditions, Difference
from ..stats.agreement import MOST_ANSWERERS
from .folder import Folder
from .html_tables import PageColumn, PageTable, hundred, page_table, words_of
from .text import between, percent, ranked

if TYPE_CHECKING:
    from .paradigm import Numbers

#: With more lines than this, differences are in the table alone, and lines are close to each other.
_MANY_LINES = 32
#: Of more models than this in one paradigm, each is a point without an interval, and all are on one
#: line.
_MOST_LINES = 8
#: So many answerers whose replies could not be read are named in the caption.
_MOST_NAMED = 6
#: Means that differ by less are the same in the picture.
_SEEN = 0.005
#: Columns that tell whose answers and which trials these are, and no condition.
_IDENTITIES = ("agent", "agent_kind", "participant", "session", "trial", "trial_id")
#: Of a paradigm in which no condition is one that all have.
_NONE_IN_COMMON = "each over its own conditions: none in common"


@dataclass(frozen=True)
class OverviewLine:
    """A line of the picture: somebody in a paradigm, all numbers in percent.

    Parameters
    ----------
    agent, look : who, and how that looks
    at, low, high : share of right answers and its interval
    people, people_low, people_high : where people are; None where nobody knows
    label : the difference from people, or the share itself, in words
    description : everything about it, in words
    answers : which answers its mark stands for, as :func:`.stated_answers` takes them; None of
        published people
    mark : its number among the marks of the picture that have answers
    """

    agent: str
    look: Mapping[str, Any]
    at: float
    low: float | None
    high: float | None
    people: float | None
    people_low: float | None
    people_high: float | None
    label: str
    description: str
    answers: Mapping[str, Any] | None = None
    mark: int | None = None


@dataclass(frozen=True)
class OverviewRow:
    """A paradigm in the picture: over which conditions, its lines, points that share one line, and
    what a blind guess reaches (percent).

    ``conditions`` is empty where marks are of all answers: everybody then has the same conditions.
    """

    title: str
    anchor: str
    conditions: str
    lines: tuple[OverviewLine, ...]
    crowd: tuple[OverviewLine, ...]
    blind: float | None


@dataclass(frozen=True)
class OverviewPicture:
    """The picture, the meaning of its bands, the answerers in it, its table, and whose replies
    could not be read."""

    rows: tuple[OverviewRow, ...]
    looks: tuple[Mapping[str, Any], ...]
    band: bool
    line: bool
    dense: bool
    table: PageTable
    unread: str

    @property
    def marks(self) -> list[Mapping[str, Any]]:
        """The answers behind each of its marks, by number."""
        lines = [line for row in self.rows for line in (*row.lines, *row.crowd)]
        answers = {line.mark: line.answers for line in lines if line.mark is not None and line.answers is not None}
        return [answers[number] for number in range(len(answers))]


def overview(
    numbers: Mapping[str, Numbers],
    common: Mapping[str, CommonConditions | None],
    titles: Mapping[str, str],
    anchors: Mapping[str, str],
    looks: Any,
    folder: Folder,
) -> OverviewPicture | None:
    """Everybody who is not a yardstick in every paradigm; yardsticks where there is nobody else.

    All marks of a paradigm are over the same conditions: where not everybody has the same, over
    those that all have, as the differences beside them.

    Parameters
    ----------
    common : means and differences over the conditions that everybody has, by paradigm
    """
    rows, table_rows = [], []
    mark_numbers = itertools.count()
    for paradigm, one in numbers.items():
        table = ranked(one.overall)
        kept = table[of_kinds(table["agent_kind"], lambda kind: kind.role != "yardstick")]
        all_rows = records(kept if len(kept) else table)
        drawn, differences, conditions = _over_common(all_rows, one.differences, common[paradigm])
        apart = conditions == _NONE_IN_COMMON
        measured = next((row for row in drawn if row["agent_kind"] == PARTICIPANT.name and not apart), None)
        lines = [
            replace(
                _line(row, measured, {} if apart else differences, looks, conditions),
                answers=_answers(paradigm, row["agent"], common[paradigm] if conditions and not apart else None),
                mark=next(mark_numbers),
            )
            for row in drawn
        ]
        crowded = len(lines) > _MOST_LINES
        people = [line for line, row in zip(lines, drawn, strict=True) if row["agent_kind"] == PARTICIPANT.name]
        blind = one.blind if one.blind == one.blind else float(one.overall["chance"].mean())
        shown = tuple(() if apart else _published(differences, looks, table)) + tuple(people if crowded else lines)
        crowd = tuple(line for line in lines if line not in people) if crowded else ()
        rows.append(
            OverviewRow(
                titles[paradigm],
                anchors[paradigm],
                conditions,
                shown,
                crowd,
                None if math.isnan(blind) else 100 * blind,
            )
        )
        marks = {row["agent"]: row["mean"] for row in drawn}
        rest = {"conditions": conditions, "blind": blind}
        table_rows += [
            _table_row(
                paradigm,
                row,
                differences.get(row["agent"], one.differences.get(row["agent"])),
                marks.get(row["agent"], math.nan),
                rest,
            )
            for row in all_rows
        ]
    if not any(row.lines or row.crowd for row in rows):
        return None
    everybody = [line for row in rows for line in (*row.lines, *row.crowd)]
    there = {line.agent: line.look for line in everybody}
    frame = pd.DataFrame(table_rows)
    dense = sum(len(row.lines) for row in rows) > _MANY_LINES
    return OverviewPicture(
        rows=tuple(rows),
        looks=(
            tuple(sorted(there.values(), key=lambda look: -int(look["number"]))) if len(there) <= MOST_ANSWERERS else ()
        ),
        band=any(line.people_low is not None for line in everybody),
        line=any(line.people is not None for line in everybody),
        dense=dense,
        table=_table(frame, folder.table("overview", frame)),
        unread=_unread_in_caption(frame, titles),
    )


def _unread_in_caption(frame: pd.DataFrame, titles: Mapping[str, str]) -> str:
    """Return what the caption says of unread replies, with both bounds; empty where there are none."""
    rows = records(frame[frame["unread"] > 0]) if "unread" in frame.columns else []
    if not rows:
        return ""
    parts = [
        f"{row['agent']} in {titles[row['paradigm']]}: "
        + bounds_in_words(row["unread"], row["correct"], row["if_guessed"])
        for row in rows[:_MOST_NAMED]
    ]
    more = [f"{len(rows) - _MOST_NAMED} more are in the numbers below"] if len(rows) > _MOST_NAMED else []
    return f"Replies that could not be read count as wrong. {'; '.join([*parts, *more])}."


def _over_common(
    all_rows: Sequence[Mapping[Any, Any]], differences: Mapping[str, Difference], common: CommonConditions | None
) -> tuple[Sequence[Mapping[Any, Any]], Mapping[str, Difference], str]:
    """Rows of the table of everybody with the means that the picture shows, the differences beside
    them, and their conditions in words.

    Means are of all answers where everybody has the same conditions and weights make no difference
    that can be seen.
    """
    known = [row for row in all_rows if row["mean"] == row["mean"]]
    if common is None:
        return known, differences, ""
    if not common.shares:
        return known, differences, _NONE_IN_COMMON
    shares = {row["agent"]: common.shares[row["agent"]] for row in known if row["agent"] in common.shares}
    if common.same and all(
        abs(row["mean"] - shares[row["agent"]][0]) < _SEEN for row in known if row["agent"] in shares
    ):
        return known, common.differences, ""
    rows = [
        {**row, **dict(zip(("mean", "low", "high"), shares[row["agent"]], strict=True))}
        for row in known
        if row["agent"] in shares
    ]
    return (
        rows,
        common.differences,
        f"at {common.words}, each with the same weight" if not common.same else "each condition with the same weight",
    )


def _answers(paradigm: str, agent: str, common: CommonConditions | None) -> dict[str, Any]:
    """The answers behind somebody's mark: all, or those under the conditions that all have."""
    if common is None:
        return {"paradigm": paradigm, "where": [{"agent": agent}]}
    return {
        "paradigm": paradigm,
        "effect": common.effect,
        "where": [{"agent": agent, **conditions} for conditions in common.where],
    }


def stated_answers(scored: Scored, stated: Mapping[str, Any]) -> MarkedAnswers:
    """The answers that a mark states.

    Parameters
    ----------
    stated : ``paradigm``; ``where``: conditions, of which an answer meets one or more, each with a
        value or a list of values by column; ``effect`` (if any): whose rows these columns are in

    Raises
    ------
    KeyError, SpanLabError
        when there is no such paradigm or column, or no such effect.

    Examples
    --------
    >>> items = pd.DataFrame({"paradigm": "vsr", "agent": ["a", "a", "b"], "list_length": [3, 5, 3]})
    >>> stated = {"paradigm": "vsr", "where": [{"agent": "a", "list_length": [3, 4]}]}
    >>> len(stated_answers(Scored(items, items[:0], ()), stated).find())
    1
    """
    paradigm = stated["paradigm"]
    items = scored.parts[paradigm].items
    if stated.get("effect"):
        effect = EFFECTS.get(stated["effect"])
        items = ready(effect, scored, paradigm).items
        items = items[items[effect.value].notna()]
    where: Sequence[Mapping[str, Any]] = stated["where"]
    kept = np.zeros(len(items), bool)
    for conditions in where:
        kept |= np.logical_and.reduce([_has(items[name], values) for name, values in conditions.items()])
    alike = where[0] if len(where) == 1 else {}
    common = {name: value for name, value in alike.items() if name not in _IDENTITIES and not isinstance(value, list)}
    return MarkedAnswers(common, lambda: items[kept])


def _has(column: pd.Series, values: Any) -> np.ndarray:
    """Mark the rows that have a value, or any of a list; numbers are rounded, as in tables of
    conditions."""
    wanted = {_rounded(value) for value in (values if isinstance(values, list) else [values])}
    codes, levels = coded(column)
    return np.isin(codes, [code for code, level in enumerate(levels) if _rounded(level) in wanted])


def _rounded(value: Any) -> Any:
    return value if isinstance(value, str) else round(float(value), 9)


def _line(
    row: Mapping[Any, Any],
    people: Mapping[Any, Any] | None,
    differences: Mapping[str, Difference],
    looks: Any,
    conditions: str,
) -> OverviewLine:
    """Somebody in the picture, and beside it the difference from people over the same conditions."""
    mine = differences.get(row["agent"])
    known = mine is not None and mine.share == mine.share
    reference = (math.nan,) * 3
    if people is not None:
        reference = (people["mean"], people["low"], people["high"])
    elif mine is not None and known:
        reference = (mine.people, mine.people_low, mine.people_high)
    interval = between(row["low"], row["high"])
    right = f"{row['agent']}: {percent(row['mean'])} right" + (f" (95% interval {interval})" if interval else "")
    description = ", ".join(filter(None, (right, conditions))) + _unread(row, conditions)
    label = percent(row["mean"])
    if (
        mine is not None
        and known
        and (row["agent_kind"] != PARTICIPANT.name or all(one.against == mine.against for one in differences.values()))
    ):
        label = _points(mine.value, mine.low, mine.high)
        apart = f"; difference from {mine.against} {label} points, over the same {mine.over or 'answers'}"
        description += ", ".join(filter(None, (apart, mine.left_out)))
    places = [hundred(one) for one in reference]
    return OverviewLine(
        row["agent"],
        looks[row["agent"]],
        100 * row["mean"],
        hundred(row["low"]),
        hundred(row["high"]),
        places[0],
        places[1],
        places[2],
        label,
        description,
    )


def _unread(row: Mapping[Any, Any], conditions: str) -> str:
    """Say what unread replies leave open; their share alone where the mark is over some of the
    conditions."""
    if not row.get("unread", 0.0) > 0:
        return ""
    bounds = bounds_in_words(row["unread"], row["mean"], row["if_guessed"])
    return f"; {bounds}" if not conditions else f"; {percent(row['unread'])} of all its replies could not be read"


def _published(differences: Mapping[str, Difference], looks: Any, table: pd.DataFrame) -> list[OverviewLine]:
    """Published people whom somebody is held against."""
    against = {
        one.against: one
        for one in differences.values()
        if one.against in looks and one.against not in set(table["agent"])
    }
    return [
        OverviewLine(
            name,
            looks[name],
            100 * one.people,
            None,
            None,
            None,
            None,
            None,
            percent(one.people),
            f"{name}: {percent(one.people)} right (group means from print)",
        )
        for name, one in against.items()
        if one.people == one.people
    ]


def _points(value: float, low: float, high: float) -> str:
    """A difference in percentage points, with its interval if it has one."""
    digits = decimals(100 * low, 100 * high)
    text, *ends = (with_sign(100 * number, digits) for number in (value, low, high) if number == number)
    return f"{text} ({' to '.join(ends)})" if ends else text


def _table_row(
    paradigm: str, row: Mapping[Any, Any], difference: Difference | None, mark: float, rest: Mapping[str, Any]
) -> dict[str, Any]:
    columns = (
        {
            "paradigm": paradigm,
            "agent": row["agent"],
            "agent_kind": row["agent_kind"],
            "correct": row["mean"],
            "low": row["low"],
            "high": row["high"],
        }
        | {name: row[name] for name in UNREAD_COLUMNS if name in row}
        | {**rest, "in_picture": mark, "unit": row["unit"], "n_units": row["n_units"]}
    )
    names = ("against", "value", "low", "high", "share", "people", "over", "note")
    values = (
        [getattr(difference, name) for name in names[:-1]]
        + ["; ".join(filter(None, [difference.note, difference.left_out]))]
        if difference is not None
        else ["", *[math.nan] * 5, "", ""]
    )
    return columns | {
        f"difference_{name}" if name in ("value", "low", "high") else name: value
        for name, value in zip(names, values, strict=True)
    }


def _table(frame: pd.DataFrame, file: str) -> PageTable:
    def difference(row: Mapping[Any, Any]) -> str:
        if row["difference_value"] != row["difference_value"]:
            return ""
        return _points(row["difference_value"], row["difference_low"], row["difference_high"])

    columns: list[PageColumn] = [
        words_of("paradigm"),
        words_of("agent", "who"),
        ("correct", lambda row: percent(row["correct"])),
        ("95% interval", lambda row: between(row["low"], row["high"]) or "–"),
        *[
            (name.replace("_", " "), lambda row, name=name: "" if row[name] != row[name] else percent(row[name]))
            for name in UNREAD_COLUMNS
            if name in frame.columns
        ],
        ("in the picture", lambda row: f"{percent(row['in_picture'])} {row['conditions']}".strip()),
        ("points from people (95% interval)", difference),
        words_of("against"),
        words_of("over", "over the same"),
        ("best blind guess", lambda row: percent(row["blind"])),
        words_of("note"),
    ]
    caption = (
        "Differences are of mean accuracies over the conditions that both have, each with the same weight; they are not"
        " corrected for their number."
    )
    return page_table(frame, columns, "The numbers", caption, words=("who", "against", "over the same"), file=file)
