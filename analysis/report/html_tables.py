"""The page's tables: rows of text."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from ...core.agent_kinds import kind_named
from ..data.coding import records
from ..data.numbers import counted, missing, number, p_value, with_sign
from .text import between, percent, ranked

#: Longer tables are cut on the page; the file has every row.
MOST_ROWS = 240


@dataclass(frozen=True)
class PageTable:
    """A table on the page.

    Parameters
    ----------
    title, caption : what it is, and what must be known to read it
    columns : their names; the first says who or what each row is
    rows : of text
    words : names of columns that hold words, and so begin at the left
    file : its CSV file, relative to the page; empty when it has none
    cut : rows that only the file has
    """

    title: str
    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: tuple[str, ...] = ("note",)
    file: str = ""
    cut: int = 0


#: A column of a page table: its name, and how a row says it.
PageColumn = tuple[str, Callable[[Mapping[Any, Any]], str]]


def page_table(
    frame: pd.DataFrame,
    columns: Sequence[PageColumn],
    title: str,
    caption: str = "",
    *,
    words: Sequence[str] = (),
    file: str = "",
) -> PageTable:
    """A table of text. Columns that are empty in every row are left out, and rows beyond
    :data:`MOST_ROWS` are cut."""
    cells = [[say(row) for _, say in columns] for row in records(frame.head(MOST_ROWS))]
    kept = [at for at in range(len(columns)) if not at or any(row[at] for row in cells)]
    return PageTable(
        title=title,
        caption=caption,
        columns=tuple(columns[at][0] for at in kept),
        rows=tuple(tuple(row[at] for at in kept) for row in cells),
        words=(*words, "note"),
        file=file,
        cut=max(0, len(frame) - MOST_ROWS),
    )


def words_of(column: str, name: str = "") -> PageColumn:
    """A column of text, unchanged, under its name or another one."""
    return name or column, lambda row: "" if missing(row[column]) else str(row[column])


def unread_columns(frame: pd.DataFrame) -> list[PageColumn]:
    """The columns of a table of :func:`.beside_shares` that say how many replies could not be read,
    and what that leaves open; none where all could be read."""

    def share(row: Mapping[Any, Any]) -> str:
        return percent(row["unread"]) if row["unread"] > 0 else ""

    def bounds(row: Mapping[Any, Any]) -> str:
        return f"{percent(row['all_wrong'])}, {percent(row['if_guessed'])}" if row["unread"] > 0 else ""

    return [("unread", share), ("right if unread are wrong, guesses", bounds)] if "unread" in frame.columns else []


def hundred(value: float | None) -> float | None:
    """A share in percent, for a gauge; None where there is none."""
    return None if value is None or math.isnan(value) else round(100 * value, 2)


def overall_rows(total: pd.DataFrame, intruded: pd.DataFrame, looks: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Rows of the table "everything together"; ``mean``, ``low``, ``high`` and ``chance`` in
    percent for its gauge."""
    wrong = dict(zip(intruded["agent"], intruded["per_trial"], strict=True)) if len(intruded) else {}
    return [
        {
            "agent": row["agent"],
            "look": looks[row["agent"]],
            "kind": "people" if row["unit"] == "participant" else kind_named(row["agent_kind"]).described,
            "trials": f"{row['n_trials']:,}",
            "scored": f"{row['n_items']:,}",
            "correct": percent(row["mean"]),
            "interval": between(row["low"], row["high"]) or "–",
            "sem": percent_points(row["sem"]),
            "omitted": f"{row['n_omitted']:,}",
            "invalid": f"{row['n_invalid']:,}",
            "unread": percent(row.get("unread", math.nan)),
            "if_guessed": percent(row.get("if_guessed", math.nan)),
            "intrusions": number(wrong.get(row["agent"])),
            "mean": hundred(row["mean"]) or 0,
            "low": hundred(row["low"]),
            "high": hundred(row["high"]),
            "chance": hundred(row["chance"]),
        }
        for row in records(total)
    ]


def guessing_table(guessed: pd.DataFrame, file: str = "") -> PageTable:
    """The table of who is above guessing."""

    def more(row: Mapping[Any, Any]) -> str:
        if missing(row["more"]):
            return ""
        points, low, high = (with_sign(100 * row[name], 0) for name in ("more", "more_low", "more_high"))
        return f"“{row['word']}” {points} ({low} to {high})"

    columns: list[PageColumn] = [
        words_of("agent", "who"),
        ("right", lambda row: percent(row["share"])),
        *unread_columns(guessed),
        ("chance", lambda row: percent(row["chance"])),
        ("best blind guess", lambda row: percent(row["blind"])),
        ("95% interval", lambda row: between(row["low"], row["high"])),
        ("said more often where right: points (95% interval)", more),
        ("p", lambda row: p_value(row["p"])),
        ("p (of all)", lambda row: p_value(row["p_family"])),
        words_of("verdict", "guessing"),
        ("n", lambda row: counted(row["n_units"], row["unit"])),
        words_of("note"),
    ]
    caption = (
        "The proportion of right answers is compared with the best blind guess: that of somebody who has not looked but"
        " knows how trials are made. With two words as answers, the verdict rests on how much more often one of"
        " them is said where it is right, which a preference for one does not raise. Two-sided; p of all is corrected"
        " for the number of such comparisons on this page, and verdicts rest on it."
    )
    return page_table(guessed, columns, "Who is above guessing", caption, words=("guessing",), file=file)


def percent_points(value: float) -> str:
    """``3.1`` for a standard error of .031; a dash where undefined."""
    return "–" if missing(value) else f"{100 * value:.1f}"


def intrusion_table(intrusions: pd.DataFrame, file: str = "") -> PageTable:
    """Intrusions a trial: a row for each answerer, a column for each list length."""
    lengths = sorted(intrusions["list_length"].dropna().unique())
    cells = {(row["agent"], row["list_length"]): f"{row['per_trial']:.2f}" for row in records(intrusions)}
    agents = list(dict.fromkeys(ranked(intrusions)["agent"]))
    rows = tuple((agent, *(cells.get((agent, length), "") for length in lengths)) for agent in agents)
    columns = ("list length", *(str(int(length)) for length in lengths))
    return PageTable(
        "Intrusions a trial by list length",
        "Answers that were not among the items, per trial.",
        columns,
        rows,
        file=file,
    )
