"""Human-model scores in the layout of the published table, and the published values."""

from __future__ import annotations

import math
from importlib.resources import files

import pandas as pd

from ..data.coding import records
from .score_kinds import SCORES


def published_scores() -> pd.DataFrame:
    """The published table: ``task``, ``score``, ``model``, ``value`` and ``p_below_0.01``."""
    with (files("spanlab.analysis") / "published" / "worm_table_a3.csv").open(encoding="utf-8") as file:
        return pd.read_csv(file)


def layout(table: pd.DataFrame, published: bool = True) -> pd.DataFrame:
    """Scores in the layout of the paper: a row for each task and score, a column for each answerer,
    and the published models' beside them.

    Values are text; a star says p < .01 against guessing: a slope that is steeper in people's direction,
    or a mean above it.
    """

    def star(value: float, starred: bool) -> str:
        return "–" if math.isnan(value) else f"{value:.3f}{'*' * starred}"

    columns: dict[str, dict[tuple[str, str], str]] = {}
    for row in records(table.sort_values(["agent_kind", "agent"], kind="stable")):
        away = row["m"] - row["chance"]
        steeper = away * row["h"] > 0  # towards people's slope, from that of guessing
        better = steeper if row["score"].startswith("A") else away > 0
        columns.setdefault(row["agent"], {})[row["task"], row["score"]] = star(row["value"], row["p"] < 0.01 and better)
    met = {(score.task, score.name) for score in SCORES} & set(zip(table["task"], table["score"], strict=True))
    order = [(score.task, score.name) for score in SCORES if (score.task, score.name) in met]
    if published:
        for row in records(published_scores()):
            columns.setdefault(row["model"], {})[row["task"], row["score"]] = star(
                row["value"], bool(row["p_below_0.01"])
            )
    rows = [
        {"task": task, "score": name} | {who: cells.get((task, name), "–") for who, cells in columns.items()}
        for task, name in order
    ]
    return pd.DataFrame(rows, columns=["task", "score", *columns])
