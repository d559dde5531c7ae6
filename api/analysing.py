"""``spanlab figure`` and ``spanlab scores``: one figure, or the human-model scores, from any data.
Part of the command line."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..core.atomic_files import written_in
from ..core.errors import SpanLabError
from .options import ExcludeOption
from .python import read_rules

if TYPE_CHECKING:
    import pandas as pd

    from ..analysis.data.loading import Data
    from ..analysis.figures.figure import FigureDeclaration

DATA_HELP = "sessions, folders full of sessions, or response tables (.parquet, .csv, .xlsx)"
DataArgument = Annotated[list[Path], typer.Argument(help=DATA_HELP, metavar="DATA...")]
PracticeOption = Annotated[bool, typer.Option("--practice", help="include practice trials")]
PilotOption = Annotated[bool, typer.Option("--pilot", help="include pilot sessions")]
AcceptUnreadOption = Annotated[
    bool,
    typer.Option(
        "--accept-unread",
        help="also test and compare sessions and cells in which more than 20% of the replies could not be read",
    ),
]
MarginOption = Annotated[
    list[str] | None,
    typer.Option(
        "--margin",
        help=(
            "a difference up to this counts as none (two one-sided tests): 5points (percentage points), 0.3d' or 20ms;"
            " may be repeated; no verdict without it"
        ),
        metavar="MARGIN",
        show_default=False,
    ),
]
MapOption = Annotated[
    list[str] | None,
    typer.Option(
        "--map",
        help=(
            "columns of your own tables: YOURS=OURS,..., such as subject=participant,accuracy=correct; OURS:VALUE where"
            " a column is missing"
        ),
        metavar="COLUMNS",
        show_default=False,
    ),
]
#: The figure that --along and --value are about.
_ANY_COLUMN = "conditions"
_WIDTH = 110


def figure(
    name: Annotated[
        str,
        typer.Argument(
            help="which figure (--list names them); none is needed with --along or --value",
            metavar="NAME",
            show_default=False,
        ),
    ] = "",
    data: Annotated[list[Path] | None, typer.Argument(help=DATA_HELP, metavar="DATA...", show_default=False)] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="file: .svg, .pdf, .png, .html, or .csv for its table", metavar="FILE"),
    ] = None,
    paradigm: Annotated[
        list[str] | None,
        typer.Option(
            "--paradigm", help="paradigm of the figure; may be repeated for figures of N-back", metavar="NAME"
        ),
    ] = None,
    bars: Annotated[
        str,
        typer.Option(
            "--bars",
            help="bars of curves: 95% interval, standard error, or 95% within people",
            metavar="interval|sem|within",
        ),
    ] = "interval",
    along: Annotated[
        str,
        typer.Option("--along", help="column for the horizontal axis; by default the first factor", metavar="COLUMN"),
    ] = "",
    by: Annotated[
        str,
        typer.Option(
            "--by",
            help="draw a panel for each value of this column (with --along, --value or reaction_time)",
            metavar="COLUMN",
        ),
    ] = "",
    people: Annotated[
        Path | None,
        typer.Option(
            "--people",
            help=(
                "a table with a row for each participant (scores-by-person -o writes one): --by and --along take its"
                " columns, too"
            ),
            metavar="FILE",
        ),
    ] = None,
    value: Annotated[
        str,
        typer.Option(
            "--value",
            help="what is measured; rt_ms is the mean of reaction times",
            metavar="correct|rt_ms|rt_median|d_prime",
        ),
    ] = "",
    points: Annotated[bool, typer.Option("--points", help="show each person as a small point, too")] = False,
    yardsticks: Annotated[
        bool,
        typer.Option(
            "--yardsticks", help="also show the oracle without errors and guessing, as well as people and models"
        ),
    ] = False,
    width: Annotated[
        str,
        typer.Option(
            "--width", help="width of the figure, such as 88mm or 180mm (columns of journals)", metavar="WIDTH"
        ),
    ] = "",
    theme: Annotated[str, typer.Option("--theme", help="colours of the figure", metavar="light|dark")] = "light",
    title: Annotated[
        bool, typer.Option("--title/--no-title", help="draw title and caption above the figure, or neither")
    ] = True,
    margin: MarginOption = None,
    letters: Annotated[bool, typer.Option("--letters", help="letters on panels: A, B, C ...")] = False,
    dpi: Annotated[int, typer.Option("--dpi", help="dots per inch of .png", metavar="N")] = 300,
    exclude: ExcludeOption = None,
    columns: MapOption = None,
    practice: PracticeOption = False,
    pilot: PilotOption = False,
    accept_unread: AcceptUnreadOption = False,
    list_: Annotated[bool, typer.Option("--list", help="list the figures, and what each shows")] = False,
) -> None:
    """Draw one figure from any data, or print its table if no file is named."""
    from ..analysis.figure_catalogue import FIGURES, figure_named, wish_for
    from ..analysis.figures.charts import save_as, sheet_for
    from ..analysis.stats.equivalence import read_margins

    if list_:
        _list_figures(FIGURES)
        return
    if not name:
        raise SpanLabError("which figure? spanlab figure --list names them")
    data = data or []
    if (along or value) and name not in FIGURES.known():
        name, data = _ANY_COLUMN, [Path(name), *data]
    if not data:
        raise SpanLabError(
            "no data are named: give sessions, folders of sessions, or response tables after the name of the figure"
        )
    declared = figure_named(name, tuple(map(str, data)))
    wish = replace(
        wish_for(declared, paradigm or (), bars, by, "--", along=along, value=value),
        points=points,
        yardsticks=yardsticks,
        margins=read_margins(margin or ()),
    )
    sheet = sheet_for(width, theme, title, letters, dpi)
    loaded = _load(data, columns, practice, pilot, exclude, trial_ids=False, people=people)
    loaded = replace(loaded, scored=replace(loaded.scored, accept_unread=accept_unread))
    caution(loaded)
    drawn = declared.draw(loaded, wish)
    if output is None:
        _print(drawn.shown)
        for heading, table in drawn.further:
            print(f"\n{heading}:\n")
            _print(table)
    elif output.suffix.lower() == ".csv":
        _write(drawn.table, output)
    else:
        print(save_as(drawn.spec, output, drawn.agents, sheet))
    _tell([*loaded.notes, *drawn.notes])


def _list_figures(figures: Iterable[FigureDeclaration]) -> None:
    """Print the name of each figure, and what it shows, within the width of a terminal."""
    listed = [(declared.name, declared.title) for declared in figures]
    widest = max(len(name) for name, _ in listed)
    for name, title in listed:
        print(textwrap.fill(title, 80, initial_indent=name.ljust(widest + 2), subsequent_indent=" " * (widest + 2)))


def scores(
    data: DataArgument,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="write all numbers to this CSV file", metavar="FILE")
    ] = None,
    against: Annotated[
        str,
        typer.Option("--against", help="the people to compare with, as figures name them; published people by default"),
    ] = "",
    published: Annotated[
        bool, typer.Option("--published/--no-published", help="show the published models' values, too")
    ] = True,
    pairs: Annotated[
        bool,
        typer.Option(
            "--pairs", help="compare the errors of every pair of people and agents, even if there are more than 20"
        ),
    ] = False,
    exclude: ExcludeOption = None,
    columns: MapOption = None,
    practice: PracticeOption = False,
    pilot: PilotOption = False,
    accept_unread: AcceptUnreadOption = False,
) -> None:
    """Score how far machines are from people: slope difference A and mean difference B, in the
    layout of WorM's table; curves and errors compared."""
    from ..analysis.data.unread import BOUND_COLUMNS
    from ..analysis.model_vs_human.comparison import ceilings, distances
    from ..analysis.model_vs_human.leaderboard import fits
    from ..analysis.model_vs_human.score_layout import layout
    from ..analysis.model_vs_human.scores import DECISIONS
    from ..analysis.model_vs_human.scores import scores as table_of
    from ..analysis.stats.agreement import MOST_ANSWERERS, error_consistency, pairs_left_out

    loaded = _load(data, columns, practice, pilot, exclude)
    loaded = replace(loaded, scored=replace(loaded.scored, accept_unread=accept_unread))
    caution(loaded)
    table = table_of(loaded.scored, human=loaded.human, against=against)
    if len(table):
        print(
            "Difference from people: A of slopes, B of means; 0 means the same as people. * p < .01 against guessing."
            " Models from RNN-96 on: as published.\n"
        )
        _print(layout(table, published))
        print("\nIntervals (95%) and what they rest on:\n")
        bounds = [name for name in BOUND_COLUMNS if name in table.columns]
        _print(
            table[
                [
                    "task",
                    "score",
                    "agent",
                    "value",
                    "low",
                    "high",
                    "p",
                    "unit",
                    "n_units",
                    *bounds,
                    "conditions",
                    "note",
                ]
            ]
        )
    else:
        print("No scores: these data have no paradigm of the published table (vsr, vir, cs, smu, vsrec, cd).")
    tables: list[tuple[str, Any]] = [
        ("Curves: correlation and root mean square difference", distances(loaded.scored, loaded.human, against)),
        ("Errors on the same trials (kappa)", error_consistency(loaded.scored, most=None if pairs else MOST_ANSWERERS)),
        ("Fit to people, as a share of the noise ceiling", fits(loaded.scored, loaded.human)),
        ("Noise ceilings: how close a curve can come to these people", ceilings(loaded.scored)),
    ]
    for title, part in tables:
        if len(part):
            print(f"\n{title}:\n")
            _print(part)
    if output is not None:
        print()
        _write(table, output)
    left_out = [] if pairs else pairs_left_out(loaded.scored)
    _tell(
        [
            *loaded.notes,
            *left_out,
            *(note for notes in loaded.readouts.values() for note in notes),
            *(DECISIONS if len(table) else ()),
        ]
    )


def _load(
    data: list[Path],
    columns: list[str] | None,
    practice: bool,
    pilot: bool,
    exclude: Path | None,
    trial_ids: bool = True,
    people: Path | None = None,
) -> Data:
    from ..analysis.data.column_map import read_map
    from ..analysis.data.loading import load

    names = read_map(columns or ())
    return load(
        data,
        include_practice=practice,
        include_pilot=pilot,
        trial_ids=trial_ids,
        rules=read_rules(exclude),
        columns=names,
        people=people,
    )


def _print(table: pd.DataFrame) -> None:
    from .listing import print_table

    def cell(value: Any) -> str:
        if value is None or str(value) in ("<NA>", "nan"):
            return "–"
        if isinstance(value, float):
            if value.is_integer() and abs(value) >= 1:
                return f"{value:.0f}"
            return f"{value:.2g}" if 0 < abs(value) < 0.001 else f"{value:.3f}"
        return str(value)

    names = [str(name).removeprefix("factor_").removeprefix("record_") for name in table.columns]
    print_table(names, [[cell(value) for value in row] for row in table.itertuples(index=False, name=None)])


def _write(table: pd.DataFrame, output: Path) -> None:
    with written_in(output.parent, str(output)):
        table.to_csv(output, index=False)
    print(output)


def caution(data: Data) -> None:
    """Print what looks like a mistake in the data, and whose replies could not be read, to the
    error stream."""
    from ..analysis.data.unread import unread_notes, withheld_notes

    for text in (*data.cautions, *unread_notes(data.scored), *withheld_notes(data.scored)):
        print(f"NOTE {text}", file=sys.stderr)


def _tell(notes: list[str]) -> None:
    if notes:
        print()
    for note in notes:
        print(textwrap.fill(note, _WIDTH, subsequent_indent="  ", initial_indent="· "))
