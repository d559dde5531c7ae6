"""``spanlab scores-by-person``: one table with a row for each participant. Part of the command
line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from spanlab.api import DATA_HELP, ExcludeOption, caution, print_table, read_rules
from spanlab.core import SpanLabError, nearest


def scores_by_person(
    data: Annotated[list[str], typer.Argument(help=DATA_HELP, metavar="DATA...")],
    exclude: ExcludeOption = None,
    composite: Annotated[
        list[str] | None,
        typer.Option(
            "--composite",
            help="mean of standardised scores: NAME=COLUMN,COLUMN,... (-COLUMN where small is good); may be repeated",
            metavar="NAME=...",
        ),
    ] = None,
    correlate: Annotated[
        str,
        typer.Option(
            "--correlate", help="correlate these scores; by default all with a reliability", metavar="COLUMN,..."
        ),
    ] = "",
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="folder for scores.csv, codebook.csv and the correlations", metavar="DIR"),
    ] = None,
) -> None:
    """Write one row of scores for each participant, and a codebook that says what each column is."""
    from spanlab.analysis.data import plural

    from .composites import add_composite, read_composite
    from .files import gathered, write

    if output is not None and output.suffix.lower() in (".csv", ".tsv", ".xlsx"):
        raise SpanLabError(
            f"-o {output} would be a folder: four tables are written, so name their folder, such as -o"
            f" {output.with_suffix('')}"
        )
    composites = [read_composite(text) for text in composite or ()]
    chosen = [name.strip() for name in correlate.split(",") if name.strip()]
    scores, notes, loaded = gathered([Path(path) for path in data], read_rules(exclude))
    caution(loaded)
    if not scores.rows:
        raise SpanLabError(
            " ".join(
                [
                    *filter(None, [scores.simulated]),
                    *notes,
                    "No participant has a score in these data; machines are not participants",
                ]
            )
        )
    for one in composites:
        add_composite(scores, one)
    if unknown := [name for name in chosen if "reliability" not in scores.codebook.get(name, {})]:
        raise SpanLabError(
            "--correlate: no score with a reliability is called"
            f" '{unknown[0]}'{nearest(unknown[0], list(scores.codebook))}"
        )
    said = [*filter(None, [scores.simulated]), *notes]
    print(*said, *([""] if said else []), sep="\n", end="")
    print(f"{plural(len(scores.rows), 'participant')}, {plural(len(scores.codebook), 'column')}\n")
    columns = ("column", "unit", "people", "mean", "sd", "reliability", "sem", "alpha", "omega")
    shown = [one for one in scores.codebook.values() if not one["column"].endswith("_se")]
    print_table(columns, [tuple(_said(one.get(name)) for name in columns) for one in shown])
    if output is not None:
        print("", *write(scores, output, chosen), sep="\n")


def _said(value: object) -> str:
    """A cell of the printed table; empty where nothing is known."""
    if value is None or value != value:
        return ""
    return f"{value:.3g}" if isinstance(value, float) else str(value)
