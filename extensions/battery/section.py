"""The scores of each participant as a section of the report. Added through the entry point group
``spanlab.report_sections``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanlab.analysis.report import ReportSection, page_table

if TYPE_CHECKING:
    import pandas as pd

    from spanlab.analysis.report import PageColumn, SectionRequest

#: A section needs so many people with scores: of fewer, the figures show all that there is.
FEWEST = 3


def section(request: SectionRequest) -> ReportSection | None:
    """Return the scores of everybody and their codebook; None of fewer than three people, or where
    tables were given and no sessions."""
    from .files import gathered
    from .score_table import correlations, matrix

    if not request.folders or len({facts.participant for facts in request.data.sessions if facts.participant}) < FEWEST:
        return None
    scores, _, _ = gathered(request.folders, request.rules, errors=False, data=request.data)
    if len(scores.rows) < FEWEST:
        return None
    import pandas as pd

    wide, codes, papers = scores.table(), scores.codes(), pd.DataFrame(matrix(scores, correlations(scores)))
    tables = [
        page_table(
            wide,
            _columns(wide),
            "Everybody's scores",
            "A row for each participant.",
            words=_words(wide),
            file=request.table("scores_by_person", wide),
        ),
        page_table(
            codes,
            _columns(codes),
            "Codebook",
            "What each column is, and how reliable it is.",
            words=_words(codes),
            file=request.table("codebook", codes),
        ),
    ]
    if len(papers):
        caption = "Below the diagonal r, on it the reliability, above it r corrected for attenuation."
        tables.append(
            page_table(
                papers, _columns(papers), "Correlations", caption, file=request.table("correlation_table", papers)
            )
        )
    return ReportSection(
        title="Scores of each participant",
        text=(
            "Each score rests on one person's trials. Reliability is that of odd and even trials, stepped up with"
            f" Spearman and Brown's formula. {scores.simulated}".rstrip()
        ),
        tables=tuple(tables),
        command=request.command("scores-by-person", "-o", "scores"),
    )


def _columns(table: pd.DataFrame) -> list[PageColumn]:
    from .score_table import said

    return [(str(name), lambda row, name=str(name): said(row[name])) for name in table.columns]


def _words(table: pd.DataFrame) -> list[str]:
    return [str(name) for name in table.columns if table[name].map(lambda value: isinstance(value, str)).any()]
