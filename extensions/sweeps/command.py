"""``spanlab sweep``. Part of the command line."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer
from typing_extensions import Unpack

from spanlab.api import PathLike, Result, public, table_lines
from spanlab.api.options import Sharing, in_words
from spanlab.core import SpanLabError, open_pool


@public
def sweep(
    config: Annotated[
        PathLike | None,
        typer.Argument(
            help="sweep (YAML): a training config and a grid of values; or one that ships, such as table-a1",
            metavar="[CONFIG]",
        ),
    ] = None,
    output: Annotated[
        PathLike | None,
        typer.Option(
            "-o", "--output", help="folder for its runs; an unfinished sweep there is continued", metavar="DIR"
        ),
    ] = None,
    status: Annotated[
        bool,
        typer.Option(
            "--status",
            help="only show the progress of a sweep, and compare its finished runs: spanlab sweep DIR --status",
        ),
    ] = False,
    **sharing: Unpack[Sharing],
) -> Result:
    """Train every network of a grid, here or on many machines, and compare them.

    Examples
    --------
    >>> spanlab.sweep("sweeps/mine", status=True)
    Traceback (most recent call last):
    ...
    spanlab.core.errors.SpanLabError: sweeps/mine holds no sweep: ...
    """
    if status:
        if config is None:
            raise SpanLabError("which sweep? spanlab sweep DIR --status")
        if names := [name for name, value in {"output": output, **sharing}.items() if value is not None]:
            raise SpanLabError(f"only reports: leave out {in_words(names)}", option="status", names=names)
        return _standing(Path(config))
    if config is None or output is None:
        raise SpanLabError(
            "which sweep, and where? spanlab sweep CONFIG -o DIR (or, to see how far one is, spanlab sweep DIR"
            " --status)"
        )
    from spanlab.agents.network import need_torch

    need_torch()
    from .sweep import read_sweep, run_sweep, write_sweep

    folder = Path(output)
    write_sweep(folder, read_sweep(str(config)))
    with open_pool(sharing.get("workers"), sharing.get("scheduler")) as pool:
        try:
            run_sweep(folder, pool, lambda run, outcome: print(f"{run}: {outcome}", file=sys.stderr, flush=True))
        except (SpanLabError, KeyboardInterrupt) as error:
            why = str(error) if isinstance(error, SpanLabError) else "interrupted"
            raise SpanLabError(f"{why}\nWhat is done is saved. Run the same command to continue") from None
    return _standing(folder)


def _standing(folder: Path) -> Result:
    from .sweep import status, write_tables

    runs = status(folder)
    keys = list(runs[0].values) if runs else []
    rows = [
        (run.id, *(str(run.values[key]) for key in keys), run.state, f"{run.step} of {run.steps}", run.note)
        for run in runs
    ]
    header = ("run", *keys, "state", "steps", "note")
    counted = Counter(run.state for run in runs)
    found = Result([*table_lines(header, rows)], {"runs": [dict(zip(header, row, strict=True)) for row in rows]})
    found.lines.append(", ".join(f"{many} {state}" for state, many in counted.items()))
    if counted["done"]:
        found.files = [Path(file) for file in write_tables(folder)]
        found.lines += map(str, found.files)
    return found
