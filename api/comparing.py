"""``spanlab compare``: the report. Part of the command line."""

from __future__ import annotations

import gc
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..core.errors import SpanLabError
from .analysing import AcceptUnreadOption, DataArgument, MapOption, MarginOption, PilotOption, PracticeOption
from .options import ExcludeOption
from .python import read_rules

if TYPE_CHECKING:
    from ..analysis.report.page import Options


def compare(
    data: DataArgument,
    output: Annotated[Path, typer.Option("-o", "--output", help="folder for the report", metavar="DIR")],
    exclude: ExcludeOption = None,
    columns: MapOption = None,
    models: Annotated[
        bool | None,
        typer.Option(
            "--models/--no-models",
            help="fit a mixed-effects model to each paradigm; by default only if there are few enough answers",
        ),
    ] = None,
    margin: MarginOption = None,
    practice: PracticeOption = False,
    pilot: PilotOption = False,
    accept_unread: AcceptUnreadOption = False,
    all_figures: Annotated[
        bool,
        typer.Option("--all-figures", help="write every figure as SVG and PDF, also those that are folded on the page"),
    ] = False,
    watch: Annotated[
        bool,
        typer.Option(
            "--watch", help="update the report whenever the data change, until Ctrl-C; an open page updates itself"
        ),
    ] = False,
    every: Annotated[
        float, typer.Option("--every", help="with --watch: seconds between checks of the data", min=0.1, metavar="S")
    ] = 10.0,
) -> None:
    """Compare people and machines in one report: report.html, figures and tables."""
    # A report multiplies small matrices, for which NumPy's threads mostly wait for each other: a sixth of its
    # processor time. Read when NumPy is loaded.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    with _no_collection():
        from ..analysis.data.column_map import read_map
        from ..analysis.report.page import Options
        from ..analysis.stats.equivalence import read_margins

    if inside := next((path for path in data if path.resolve() == output.resolve()), None):
        raise SpanLabError(
            f"the report cannot be written into its own data: -o {output} is {inside}; name another folder, such as -o"
            " report"
        )
    rules, margins, names = read_rules(exclude), read_margins(margin or ()), read_map(columns or ())
    options = Options(
        practice=practice,
        pilot=pilot,
        rules=rules,
        rules_file=exclude,
        models=models,
        margins=margins,
        columns=names,
        accept_unread=accept_unread,
        all_figures=all_figures,
    )
    if watch:
        _watch(data, output, options, every)
    else:
        print(_write(data, output, options))


def _write(data: list[Path], output: Path, options: Options, **more: Any) -> Path:
    with _no_collection():
        from ..analysis.report.page import compare as write

        return write(
            data,
            output,
            options,
            _conversations(data, output),
            say=lambda text: print(f"NOTE {text}", file=sys.stderr, flush=True),
            **more,
        )


@contextmanager
def _no_collection() -> Iterator[None]:
    """Keep Python from looking for circles of unused objects. A report makes millions of small
    objects with hardly a circle among them."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _conversations(data: list[Path], output: Path) -> list[dict[str, str]]:
    """Pages of conversations with chat models. What these need takes a tenth of a small report's
    time to import, and is left out without chat models."""
    from ..core.agent_kinds import kind_named
    from ..sessions.record.reader import find_sessions, read_session

    for path in data:
        with suppress(SpanLabError):
            for folder in find_sessions([path]):
                with suppress(SpanLabError, OSError):
                    if kind_named(read_session(folder)["agent_kind"]).converses:
                        from ..sessions.transcripts.pages import report_pages

                        return report_pages(data, output)
    return []


def _watch(data: list[Path], output: Path, options: Options, every: float) -> None:
    """Make the report again and again. The last one, made when it ends, is a page like any other."""
    from dataclasses import replace

    from ..analysis.report.folder import Folder
    from ..analysis.report.watching import watch

    folder = Folder(output)

    def make() -> None:
        print(_write(data, output, replace(options, watched=True), folder=folder), flush=True)

    if watch(
        make,
        data,
        every_s=every,
        sleep=time.sleep,
        say=lambda text: print(text, file=sys.stderr, flush=True),
        but=output,
    ):
        try:
            print(_write(data, output, options, folder=folder))
        except SpanLabError as error:
            print(f"spanlab: the page was not updated: {error}", file=sys.stderr)
