"""The page's tables: rows of text from curve tables."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .story import KINDS, between, percent, ranked

if TYPE_CHECKING:
    import pandas as pd

#: Outlines of the figures' point shapes, for the legend.
SHAPES = {
    "circle": "M-4.4 0a4.4 4.4 0 1 0 8.8 0a4.4 4.4 0 1 0-8.8 0Z",
    "square": "M-3.6-3.6H3.6V3.6H-3.6Z",
    "diamond": "M0-5.2L4.2 0L0 5.2L-4.2 0Z",
    "triangle-up": "M0-4.6L4.6 3.6H-4.6Z",
    "triangle-down": "M0 4.6L-4.6-3.6H4.6Z",
    "triangle-right": "M4.8 0L-3.6 4.6V-4.6Z",
    "triangle-left": "M-4.8 0L3.6-4.6V4.6Z",
    "cross": "M-1.5-4.2H1.5V-1.5H4.2V1.5H1.5V4.2H-1.5V1.5H-4.2V-1.5H-1.5Z",
    "wedge": "M0-4.5L-1.2 2.2H1.2Z",
    "stroke": "M-4.5-1.2H4.5V1.2H-4.5Z",
}


def overall_rows(total: pd.DataFrame, intruded: pd.DataFrame, looks: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Rows of the table "everything together"; ``mean``, ``low``, ``high`` and ``chance`` in percent for its gauge."""

    def hundred(value: float) -> float | None:
        return None if math.isnan(value) else round(100 * value, 2)

    wrong = dict(zip(intruded["agent"], intruded["per_trial"], strict=True)) if len(intruded) else {}
    rows = []
    for row in total.to_dict("records"):
        rows.append(
            {
                "agent": row["agent"],
                "look": looks[row["agent"]],
                "kind": "people" if row["unit"] == "participant" else KINDS.get(row["agent_kind"], row["agent_kind"]),
                "trials": f"{row['n_trials']:,}",
                "scored": f"{row['n_items']:,}",
                "correct": percent(row["mean"]),
                "interval": between(row["low"], row["high"]) or "–",
                "sem": percent_points(row["sem"]),
                "omitted": f"{row['n_omitted']:,}",
                "invalid": f"{row['n_invalid']:,}",
                "intrusions": f"{wrong[row['agent']]:.2f}" if row["agent"] in wrong else "–",
                "mean": hundred(row["mean"]) or 0,
                "low": hundred(row["low"]),
                "high": hundred(row["high"]),
                "chance": hundred(row["chance"]),
            }
        )
    return rows


def percent_points(value: float) -> str:
    """``3.1`` for a standard error of .031; a dash where undefined."""
    return "–" if math.isnan(value) else f"{100 * value:.1f}"


def details(curves: Mapping[str, pd.DataFrame]) -> list[dict[str, Any]]:
    """The folded tables of one paradigm: by set size, primacy and recency, intrusions."""
    found = []
    size = curves["size"]
    if len(size):
        cells = {
            (row["agent"], row["set_size"]): f"{percent(row['mean'])}" + (f" ±{percent_points(row['sem'])}" if row["sem"] == row["sem"] else "")
            for row in size.to_dict("records")
        }
        found.append(_matrix("Correct by set size, in percent ± s.e.m.", "", size, "set_size", cells))
    primacy = curves["primacy"]
    if len(primacy):
        for index in ("primacy", "recency"):
            part = primacy[primacy["index"] == index]
            cells = {
                (row["agent"], row["list_length"]): f"{100 * row['mean']:+.0f}"
                + (f" [{100 * row['low']:+.0f}, {100 * row['high']:+.0f}]" if row["low"] == row["low"] else "")
                for row in part.to_dict("records")
            }
            ends = "first" if index == "primacy" else "last"
            caption = f"{ends.capitalize()} position minus the mean of the middle ones, in percentage points; 95% interval in brackets. Zero means no effect."
            found.append(_matrix(f"{index.capitalize()} by list length", caption, part, "list_length", cells))
    wrong = curves["intrusions"]
    if len(wrong):
        cells = {(row["agent"], row["list_length"]): f"{row['per_trial']:.2f}" for row in wrong.to_dict("records")}
        found.append(_matrix("Intrusions a trial by list length", "Answers that were not among the items, per trial.", wrong, "list_length", cells))
    return found


def _matrix(title: str, caption: str, table: pd.DataFrame, over: str, cells: Mapping[tuple[Any, Any], str]) -> dict[str, Any]:
    columns = sorted(table[over].dropna().unique())
    agents = list(dict.fromkeys(ranked(table)["agent"]))
    return {
        "title": title,
        "caption": caption,
        "columns": [int(one) for one in columns],
        "rows": [[agent, *(cells.get((agent, one), "") for one in columns)] for agent in agents],
    }
