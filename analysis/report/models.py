"""The mixed-effects model of a paradigm on the page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from ...core.errors import SpanLabError
from ..data.loading import Data
from ..data.numbers import limits, number, odds, p_value, whole, with_sign
from ..data.scoring import plural
from ..stats.mixed_contrasts import KINDS, contrasts, terms
from ..stats.mixed_model import Mixed, mixed_model
from .commands import ReportCommands
from .folder import Folder
from .html_tables import PageColumn, PageTable, page_table, words_of

#: Models of more answers than this take longer than most people wait for a page (they grow with the
#: square); they are fitted on request.
MOST_ANSWERS = 5_000
#: Kinds of contrasts on the page and what their tables are called, the headline first; the file has
#: all.
_KINDS = {
    "agents": "Who differs from whom",
    "trends": "Whose slopes differ",
    "trend": "Slopes",
    "agents in condition": "Who differs in which condition",
}
_EDGES = "Near 0% and 100% tests and intervals are on the safe side."
#: Kinds with more contrasts than this are in the file only.
_MANY = 30


@dataclass(frozen=True)
class Modelled:
    """A paradigm's model: what it is, its tables, what was decided, why there is none, and the
    command that makes it again."""

    formula: str
    tables: tuple[PageTable, ...]
    notes: tuple[str, ...]
    problem: str
    command: str


def modelled(
    data: Data, paradigm: str, stem: str, folder: Folder, commands: ReportCommands, always: bool = False
) -> Modelled:
    """The model of a paradigm, or why there is none; of many answers only if ``always``."""
    command = commands.stats(paradigm)
    answers = len(data.scored.parts[paradigm].items)
    if answers > MOST_ANSWERS and not always:
        reason = (
            f"Not fitted here: {answers:,} answers may take minutes, and a page fits models of up to {MOST_ANSWERS:,}"
            " unasked. The command below fits it; spanlab compare --models puts it here."
        )
        return Modelled("", (), (), reason, command)
    try:
        model = mixed_model(data.scored, paradigm)
    except SpanLabError as error:
        return Modelled("", (), (), f"No model: {error}.", command)
    if model.fit is None:
        return Modelled(model.cells.formula, (), model.notes, model.problem, command)
    return Modelled(model.cells.formula, tuple(_tables(model, stem, folder)), model.notes, "", command)


def _tables(model: Mixed, stem: str, folder: Folder) -> list[PageTable]:
    tested, asked, random = terms(model), contrasts(model), model.random()
    file = folder.table(f"{stem}_model_contrasts", asked)
    tables = [_terms(tested, folder.table(f"{stem}_model_terms", tested))] if len(tested) else []
    for kind in _KINDS:
        part = asked[asked["kind"] == kind]
        if 0 < len(part) <= _MANY:
            tables.append(_contrasts(part, kind, file))
        elif len(part):
            tables.append(
                PageTable(
                    _KINDS[kind], f"{KINDS[kind]}: {plural(len(part), 'contrast')}, in the file.", (), (), file=file
                )
            )
    if len(random):
        columns: list[PageColumn] = [
            words_of("effect"),
            ("levels", lambda row: whole(row["levels"])),
            ("SD (log odds)", lambda row: number(row["sd"])),
            ("about", lambda row: limits(row["low"], row["high"])),
        ]
        file = folder.table(f"{stem}_model_random", random)
        tables.append(
            page_table(
                random,
                columns,
                "Random effects",
                "Limits: one standard error (of the logarithm) on either side.",
                file=file,
            )
        )
    return tables


def _terms(tested: pd.DataFrame, file: str) -> PageTable:
    def degrees(row: Mapping[Any, Any]) -> str:
        return f"{row['df']}, {'∞' if row['df_error'] > 1e5 else format(row['df_error'], '.1f')}"

    columns: list[PageColumn] = [
        words_of("term"),
        ("LR / df", lambda row: number(row["f"])),
        ("df", degrees),
        ("p", lambda row: p_value(row["p"])),
        words_of("note"),
    ]
    return page_table(
        tested,
        columns,
        "Do agents and conditions matter?",
        f"Likelihood-ratio tests (F); terms are not corrected for their number. {_EDGES}",
        file=file,
    )


def _contrasts(part: pd.DataFrame, kind: str, file: str) -> PageTable:
    def observed(row: Mapping[Any, Any]) -> str:
        return "" if row["points"] != row["points"] else f"{with_sign(row['points'], 1)} points"

    def odds_of(row: Mapping[Any, Any]) -> tuple[str, str]:
        return odds(row["odds_ratio"], row["odds_ratio_low"], row["odds_ratio_high"])

    columns: list[PageColumn] = [
        words_of("contrast"),
        ("odds ratio", lambda row: odds_of(row)[0]),
        ("95% interval", lambda row: odds_of(row)[1]),
        ("p (Holm)", lambda row: p_value(row["p_holm"])),
        ("observed", observed),
        ("Cohen's h", lambda row: "" if row["cohens_h"] != row["cohens_h"] else with_sign(row["cohens_h"])),
        words_of("note"),
    ]
    caption = (
        f"{KINDS[kind][:1].upper()}{KINDS[kind][1:]}. p values are corrected by Holm's method within this table;"
        f" intervals are not. {_EDGES}"
    )
    return page_table(part, columns, _KINDS[kind], caption, file=file)
