"""One table with a row for each participant."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from spanlab.api import (
    DATA_HELP,
    ExcludeOption,
    PathLike,
    Paths,
    RecipeOption,
    Result,
    as_path,
    cautions,
    paths,
    public,
    read_rules,
    table_lines,
)
from spanlab.core import SpanLabError, nearest


@public
def scores_by_person(
    data: Annotated[Paths, typer.Argument(help=DATA_HELP, metavar="DATA...")],
    *,
    exclude: ExcludeOption = None,
    recipe: RecipeOption = (),
    correlate: Annotated[
        str,
        typer.Option(
            "--correlate", help="correlate these scores; by default all with a reliability", metavar="COLUMN,..."
        ),
    ] = "",
    output: Annotated[
        PathLike | None,
        typer.Option("-o", "--output", help="folder for scores.csv, codebook.csv and the correlations", metavar="DIR"),
    ] = None,
) -> Result:
    """Write one row of scores for each participant, and a codebook that says what each column is.

    Examples
    --------
    >>> import pandas as pd
    >>> answers = [
    ...     {"participant": f"p{person}", "paradigm": "vsr", "correct": (person + trial) % 3 > 0}
    ...     for person in range(3)
    ...     for trial in range(12)
    ... ]
    >>> pd.DataFrame(answers).to_csv("answers.csv", index=False)
    >>> spanlab.scores_by_person("answers.csv").to_frame()["vsr_accuracy"].round(2).tolist()
    [0.67, 0.67, 0.67]
    """
    from spanlab.analysis.data import plural
    from spanlab.exchange import read_recipe

    from .files import gathered, write
    from .score_table import said

    folder = as_path(output)
    if folder is not None and folder.suffix.lower() in (".csv", ".tsv", ".xlsx"):
        raise SpanLabError(
            f"-o {output} would be a folder: four tables are written, so name their folder, such as -o"
            f" {folder.with_suffix('')}"
        )
    chosen = [name.strip() for name in correlate.split(",") if name.strip()]
    scores, notes, loaded = gathered(paths(data), read_rules(exclude), recipe=read_recipe(recipe))
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
    if unknown := [name for name in chosen if "reliability" not in scores.codebook.get(name, {})]:
        raise SpanLabError(
            "--correlate: no score with a reliability is called"
            f" '{unknown[0]}'{nearest(unknown[0], list(scores.codebook))}"
        )
    found = Result(tables={"scores": scores.table(), "codebook": scores.codes()}, cautions=cautions(loaded))
    found.lines = [*filter(None, [scores.simulated]), *notes]
    found.lines += [""] if found.lines else []
    found.lines += [f"{plural(len(scores.rows), 'participant')}, {plural(len(scores.codebook), 'column')}", ""]
    columns = ("column", "unit", "people", "mean", "sd", "reliability", "sem", "alpha")
    shown = [one for one in scores.codebook.values() if not one["column"].endswith("_se")]
    found.lines += table_lines(columns, [tuple(said(one.get(name)) for name in columns) for one in shown])
    if folder is not None:
        found.files = [Path(file) for file in write(scores, folder, chosen)]
        found.lines += ["", *map(str, found.files)]
    return found
