"""Wordings as a section of the report. Added through the entry point group
``spanlab.report_sections``."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from spanlab.analysis.report import ReportSection, page_table

if TYPE_CHECKING:
    from spanlab.analysis.report import PageColumn, SectionRequest

_SHARES = {"mean", "low", "high", "unread", "if_guessed", "difference"}


def section(request: SectionRequest) -> ReportSection | None:
    """Return pooled rows of models and their differences over wordings; None where no session was
    taken in one of several."""
    from .gathering import difference_table, differences, model_table, worded_models
    from .picture import CAPTION, wordings_picture

    models = worded_models(request.data)
    if not models:
        return None
    pairs = differences(models, request.data.scored.accept_unread)
    pooled, compared = model_table(models), difference_table(pairs)
    tables = [_table(pooled, "Leaderboard whatever the wording", request.table("wordings_models", pooled))]
    if len(compared):
        tables.append(
            _table(compared, "Differences whatever the wording", request.table("wordings_differences", compared))
        )
    figures = tuple(
        request.figure(
            f"wordings_{paradigm}",
            wordings_picture(list(group), f"{paradigm}: wordings"),
            f"{paradigm}: wordings",
            CAPTION,
        )
        for paradigm, group in itertools.groupby(models, lambda model: model.paradigm)
    )
    return ReportSection(
        title="Whatever the wording",
        text=(
            "Each model took the same trials in several wordings. Wordings and trials are random factors: an interval"
            " holds for further wordings and trials of these kinds. Elsewhere on this page each model is one agent as"
            " well, whose units are wordings."
        ),
        figures=figures,
        tables=tuple(tables),
        notes=("Identical repeats add nothing: repeats are averaged before anything is compared.",),
        command=request.command("wordings", "-o", "wordings"),
    )


def _table(table: Any, title: str, file: str) -> Any:
    columns: list[PageColumn] = [(str(name), _cell(str(name))) for name in table.columns]
    words = [name for name in ("paradigm", "agent", "than", "verdict", "note") if name in table.columns]
    return page_table(
        table, columns, title, "Shares of right answers; var_: variances of one score.", words=words, file=file
    )


def _cell(name: str) -> Any:
    def say(row: Mapping[Any, Any]) -> str:
        value = row[name]
        if value is None or value != value:
            return ""
        if name in _SHARES:
            return f"{100 * value:.1f} %"
        return f"{value:.3g}" if isinstance(value, float) else str(value)

    return say
