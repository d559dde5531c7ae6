"""The marks of figures held against the answers behind them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd

from spanlab.analysis.figures.figure import DrawnFigure

#: Roles of marks that are of answers; others are lines, names and yardsticks.
ROLES = ("curve", "bar", "point", "signed", "unsigned")


def marks(figure: DrawnFigure) -> list[dict[str, Any]]:
    """The marks of a figure that are of somebody who has answers in its data."""
    return [
        row for row in figure.spec["data"]["values"] if row.get("role") in ROLES and figure.answers(row) is not None
    ]


def unequal(figure: DrawnFigure) -> list[str]:
    """The marks whose numbers are not those of the answers behind them, each with both numbers."""
    return [told for row in marks(figure) if (told := _held_against(figure, row))]


def _held_against(figure: DrawnFigure, row: Mapping[str, Any]) -> str:
    behind = figure.answers(row)
    assert behind is not None
    answers = behind.find()
    trials = len(answers[["session", "trial"]].drop_duplicates())
    if row["role"] == "bar":
        return _unless(row, "answers", row["count"], len(answers))
    if row["role"] in ("signed", "unsigned"):
        return _unless(row, "blocks", row["count"], trials)
    if row["role"] == "point":
        panel = figure.table.iloc[row["part"]]
        return (
            _unless(row, "rated answers", panel["n_signals"] + panel["n_others"], len(answers))
            if "n_signals" in panel
            else ""
        )
    cells = figure.table
    keys = {**behind.conditions, "agent": str(answers["agent"].iloc[0])} | (
        {"measure": row["measure"]} if "measure" in row else {}
    )
    for name, value in keys.items():
        cells = cells[cells[name] == value] if name in cells.columns else cells
    assert len(cells) == 1, (row, keys, len(cells))
    cell = cells.iloc[0]
    if cell["agent"] != keys["agent"] or not math.isclose(float(cell["mean"]), row["mean"]):
        return f"{row}: the answers are those of {dict(keys)}, whose mean is {cell['mean']}"
    return _unless(row, "trials", cell["n_blocks" if "n_blocks" in cell else "n_trials"], trials)


def _unless(row: Mapping[str, Any], what: str, wanted: Any, found: int) -> str:
    return "" if int(wanted) == found else f"{dict(row)}: {wanted} {what}, and {found} behind it"


def mean_of_trials(answers: pd.DataFrame, value: str = "correct") -> float:
    """The mean over trials of what each has on average."""
    return float(answers.groupby(["session", "trial"], observed=True)[value].mean().mean())
