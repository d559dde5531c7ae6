"""The tables below the figure of an effect: its numbers, and its slopes or differences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from ..data.coding import records
from ..data.numbers import counted, decimals, limits, number, p_value, with_sign
from ..data.style import GROUP_MEANS
from ..data.unread import UNREAD_COLUMNS
from ..effects.effect import Effect
from ..effects.sensitivity import RATES
from ..figures.effect_figure import ComputedEffect, panel_names
from .folder import Folder
from .html_tables import PageColumn, PageTable, page_table, percent_points, words_of
from .text import between, percent, ranked


def effect_tables(computed: ComputedEffect, file: str, name: str, folder: Folder) -> list[PageTable]:
    """The tables of an effect: its numbers, and its slopes or differences, which are also written
    to files.

    Parameters
    ----------
    file, name : of the numbers, as the page knows their file; and of the figure
    """
    tables = [_numbers(computed, file)]
    if len(computed.trends):
        tables.append(_trends(computed, computed.trends, folder.table(f"{name}_trends", computed.trends)))
    if len(computed.between):
        tables.append(
            _trends(computed, computed.between, folder.table(f"{name}_panels", computed.between), between=True)
        )
    return tables


def _shares(effect: Effect) -> bool:
    """Return whether its values are shares, which are said in percent."""
    return effect.value == "correct" and effect.averages is not None


def _value(value: Any, shares: bool) -> str:
    return percent(value) if shares else number(value)


def _ordered(computed: ComputedEffect, table: pd.DataFrame) -> pd.DataFrame:
    """Rows by panel, then people first, then along the axis."""
    rows = ranked(table)
    effect = computed.effect
    if effect.panels:
        names = panel_names(effect, computed.table)
        rows = rows.assign(_panel=[names.index(effect.panel(row)) for row in records(rows)])
        rows = rows.sort_values("_panel", kind="stable")
    return rows


def _panel(effect: Effect) -> list[PageColumn]:
    return [("panel", effect.panel)] if effect.panels else []


def _along(value: Any) -> str:
    return value if isinstance(value, str) else f"{float(value):g}"


def _numbers(computed: ComputedEffect, file: str) -> PageTable:
    effect, shares = computed.effect, _shares(computed.effect)

    def sem(row: Mapping[Any, Any]) -> str:
        return percent_points(row["sem"]) if shares else number(row["sem"])

    def interval(row: Mapping[Any, Any]) -> str:
        return (between(row["low"], row["high"]) or "–") if shares else limits(row["low"], row["high"])

    columns: list[PageColumn] = [
        words_of("agent", "who"),
        *_panel(effect),
        (effect.x_title, lambda row: _along(row[effect.x])),
        (effect.measure, lambda row: _value(row["mean"], shares)),
        ("s.e.m.", sem),
        ("95% interval", interval),
        ("chance", lambda row: "" if row["chance"] != row["chance"] else _value(row["chance"], shares)),
        *[
            (name.replace("_", " "), lambda row, name=name: percent(row[name]))
            for name in (*RATES, *UNREAD_COLUMNS)
            if name in computed.table.columns
        ],
        (
            "n",
            lambda row: "not published" if row["agent_kind"] == GROUP_MEANS else counted(row["n_units"], row["unit"]),
        ),
        words_of("note"),
    ]
    words = ["panel", *([effect.x_title] if effect.order else [])]
    return page_table(
        _ordered(computed, computed.table),
        columns,
        "The numbers",
        "s.e.m. in percentage points." if shares else "",
        words=words,
        file=file,
    )


def _trends(computed: ComputedEffect, table: pd.DataFrame, file: str, *, between: bool = False) -> PageTable:
    """Slopes and differences along the axis, or between panels."""
    effect, shares = computed.effect, _shares(computed.effect)
    scale = 100 if shares else 1
    declared = "alike" in table.columns and bool(table["alike"].ne("").any())

    def signed(row: Mapping[Any, Any], name: str) -> str:
        digits = decimals(scale * row["low"], scale * row["high"], 1 if shares else 2)
        return "–" if row[name] != row[name] else with_sign(scale * row[name], digits)

    def interval(row: Mapping[Any, Any]) -> str:
        return "–" if row["low"] != row["low"] else f"{signed(row, 'low')} to {signed(row, 'high')}"

    def of_all(row: Mapping[Any, Any]) -> str:
        low, high = signed(row, "low_family"), signed(row, "high_family")
        return "" if row["low_family"] != row["low_family"] else f"{low} to {high}"

    def tested(row: Mapping[Any, Any]) -> str:
        return "–" if row["t"] != row["t"] else f"t({row['df']:.1f}) = {with_sign(row['t'])}"

    columns: list[PageColumn] = [
        words_of("agent", "who"),
        *([] if between else _panel(effect)),
        *([("difference", lambda row: str(row["contrast"]))] if effect.order or between else []),
        ("value", lambda row: signed(row, "value")),
        (
            "95% interval",
            lambda row: "–" if row["low"] != row["low"] else f"{signed(row, 'low')} to {signed(row, 'high')}",
        ),
        ("guessing", lambda row: signed(row, "guessing")),
        ("test", tested),
        ("p", lambda row: p_value(row["p"])),
        *([("p (of all)", lambda row: p_value(row["p_family"]))] if "p_family" in table.columns else []),
        *([("95% interval (of all)", of_all)] if "p_family" in table.columns else []),
        *([("alike?", lambda row: str(row["alike"]))] if declared else []),
        ("n", lambda row: counted(row["n_units"], row["unit"])),
        words_of("note"),
    ]
    unit = "percentage points" if shares else "units of the vertical axis"
    what = (
        f"Differences of conditions, in {unit}."
        if effect.order
        else f"Slope of a straight line, in {unit} for each step of 1 along {effect.x_title}."
    )
    explanation = (
        f"{what} Two-tailed t-tests against what guessing gives; p values are not corrected for their number, but for"
        f" those of the sentence above, among all of the page."
    )
    withheld = int(table["low"].isna().sum())
    if withheld:
        explanation += (
            f" {withheld} of {len(table)} {'has' if withheld == 1 else 'have'} no interval and no test; the note says"
            " why."
        )
    if declared:
        explanation += (
            " Alike: two one-sided t-tests (TOST) at 5% within the margin that was declared; undecided is not a"
            " verdict."
        )
    title = "Differences, with tests" if effect.order else "Slopes, with tests"
    if between:
        title, explanation = (
            "Differences between panels, with tests",
            f"Means and slopes over conditions that both panels have, in {unit}. {explanation.partition('. ')[2]}",
        )
        return page_table(ranked(table), columns, title, explanation, words=("difference", "alike?"), file=file)
    return page_table(
        _ordered(computed, table), columns, title, explanation, words=("panel", "difference", "alike?"), file=file
    )
