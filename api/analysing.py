"""One figure, the human-model scores, or the whole report, from any data; and how data are read."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypedDict

import typer
from typing_extensions import Unpack

from ..core.atomic_files import written_in
from ..core.errors import SpanLabError
from ..core.json_values import csv_text
from .options import (
    PathLike,
    Paths,
    Result,
    Words,
    as_path,
    frame_lines,
    note_lines,
    part,
    paths,
    public,
    tabled,
    words,
)

if TYPE_CHECKING:
    import pandas as pd

    from ..analysis.data.exclusions import Rule
    from ..analysis.data.loading import Data
    from ..analysis.figures.figure import DrawnFigure

DATA_HELP = "sessions, folders full of sessions, or tables (.csv, .tsv, .xlsx, .json, .parquet ...)"
DataArgument = Annotated[Paths, typer.Argument(help=DATA_HELP, metavar="DATA...", show_default=False)]
MarginOption = Annotated[
    Words,
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
PlannedOption = Annotated[
    Words,
    typer.Option(
        "--planned",
        help=(
            "a comparison that was planned before the data were seen, as PARADIGM/guessing, people or effect/WHO: it"
            " is not corrected for the others; may be repeated"
        ),
        metavar="COMPARISON",
        show_default=False,
    ),
]
ExcludeOption = Annotated[
    PathLike | None,
    typer.Option(
        "--exclude",
        help=(
            "leave out answers, trials, sessions or participants by the rules in this file, or by a preset:"
            " complex_span_85, attention or timing"
        ),
        metavar="RULES.yaml",
    ),
]
RecipeOption = Annotated[
    Words,
    typer.Option(
        "--recipe",
        help=(
            "what the columns of your own tables mean: a file (spanlab import table FILE --suggest writes one), or"
            " YOURS=OURS,..., such as subject=participant,accuracy=correct; OURS:VALUE where a column is missing"
        ),
        metavar="RECIPE",
        show_default=False,
    ),
]
PracticeOption = Annotated[bool, typer.Option("--practice", help="include practice trials")]
PilotOption = Annotated[bool, typer.Option("--pilot", help="include pilot sessions")]
AcceptUnreadOption = Annotated[
    bool,
    typer.Option(
        "--accept-unread",
        help="also test and compare sessions and cells in which more than 20% of the replies could not be read",
    ),
]


class Reading(TypedDict, total=False):
    """How answers are read."""

    exclude: ExcludeOption
    recipe: RecipeOption
    practice: PracticeOption
    pilot: PilotOption
    accept_unread: AcceptUnreadOption


def loaded(data: Paths, *, people: PathLike | None = None, **reading: Unpack[Reading]) -> Data:
    """Answers as these options want them.

    Raises
    ------
    SpanLabError
        when nothing can be read, or a rule cannot be applied.
    """
    from ..analysis.data.loading import load
    from ..exchange.format import read_recipe

    recipe = reading.get("recipe")
    return load(
        paths(data),
        rules=read_rules(reading.get("exclude")),
        recipe=read_recipe(recipe) if recipe else None,
        include_practice=reading.get("practice", False),
        include_pilot=reading.get("pilot", False),
        accept_unread=reading.get("accept_unread", False),
        people=as_path(people),
    )


def read_rules(file: PathLike | None) -> tuple[Rule, ...]:
    """The rules of a file, or a preset of that name (``complex_span_85``, ``attention``,
    ``timing``); none where no file is named.

    Raises
    ------
    SpanLabError
        when the file cannot be read, with everything that is wrong with it.
    """
    from ..analysis.data.exclusions import PRESETS, RulesFile
    from ..core.errors import ParadigmError
    from ..paradigms.language.diagnostics import in_order, validated
    from ..paradigms.language.yaml_source import read

    if file is None:
        return ()
    if str(file) in PRESETS:
        return PRESETS[str(file)]
    document = read(Path(file))
    rules, problems = validated(RulesFile, document.data)
    if problems or not isinstance(rules, RulesFile):
        raise ParadigmError(in_order(document.problem(path, message) for path, message in problems))
    return tuple(
        rule if rule.table is None else rule.model_copy(update={"table": Path(file).parent / rule.table})
        for rule in rules.exclude
    )


def cautions(data: Data) -> list[str]:
    """What looks like a mistake in the data, and whose replies could not be read."""
    from ..analysis.data.unread import unread_notes, withheld_notes

    return [f"NOTE {text}" for text in (*data.cautions, *unread_notes(data.scored), *withheld_notes(data.scored))]


#: The figure that --along and --value are about.
_ANY_COLUMN = "conditions"


class FigureOptions(Reading, total=False):
    """How a figure looks, and how its answers are read."""

    points: Annotated[bool, typer.Option("--points", help="show each person as a small point, too")]
    yardsticks: Annotated[
        bool,
        typer.Option(
            "--yardsticks", help="also show guessing, and the oracle without errors, beside people and models"
        ),
    ]
    width: Annotated[
        str,
        typer.Option(
            "--width", help="width of the figure, such as 88mm or 180mm (columns of journals)", metavar="WIDTH"
        ),
    ]
    theme: Annotated[
        str, typer.Option("--theme", help="colours of the figure; light when not given", metavar="light|dark")
    ]
    title: Annotated[
        bool,
        typer.Option("--title/--no-title", help="draw title and caption above the figure, or neither"),
    ]
    dpi: Annotated[int, typer.Option("--dpi", help="dots per inch of .png; 300 when not given", metavar="N")]


@dataclass(repr=False)
class Figure(Result):
    """A figure with its table; a notebook draws it.

    Parameters
    ----------
    drawn : its picture, what it is drawn from, and what must be known of it; None for a list of figures
    """

    drawn: DrawnFigure | None = None

    @property
    def table(self) -> pd.DataFrame:
        """What it is drawn from."""
        return self.drawing.table

    @property
    def notes(self) -> tuple[str, ...]:
        """What must be known, in plain sentences."""
        return tuple(self.drawing.notes)

    def save(self, file: PathLike) -> Path:
        """Write the figure to a file whose name ends in ``.svg``, ``.pdf``, ``.png`` or ``.html``."""
        return self.drawing.save(file)

    def _repr_svg_(self) -> str:
        return self.drawing._repr_svg_()

    @property
    def drawing(self) -> DrawnFigure:
        """The picture with its table; not of a list of figures."""
        assert self.drawn is not None
        return self.drawn


@public
def figure(
    name: Annotated[
        str,
        typer.Argument(
            help="which figure (--list names them); none is needed with --along or --value",
            metavar="NAME",
            show_default=False,
        ),
    ] = "",
    data: Annotated[Paths, typer.Argument(help=DATA_HELP, metavar="DATA...", show_default=False)] = (),
    *,
    output: Annotated[
        PathLike | None,
        typer.Option("-o", "--output", help="file: .svg, .pdf, .png, .html, or .csv for its table", metavar="FILE"),
    ] = None,
    paradigm: Annotated[
        Words,
        typer.Option(
            "--paradigm",
            help="paradigm of the figure; may be repeated for figures of N-back",
            metavar="NAME",
            show_default=False,
        ),
    ] = (),
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
            help=(
                "draw a panel for each value of this column, or of several (A,B) with --along or --value; also of"
                " reaction_time"
            ),
            metavar="COLUMN",
        ),
    ] = "",
    people: Annotated[
        PathLike | None,
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
            help="what is measured (rt_ms: the mean of reaction times), or an effect that the paradigm's file declares",
            metavar="correct|rt_ms|rt_median|d_prime|NAME",
        ),
    ] = "",
    margin: MarginOption = (),
    list_all: Annotated[bool, typer.Option("--list", help="list the figures, and what each shows")] = False,
    **options: Unpack[FigureOptions],
) -> Figure:
    """Draw one figure from any data, or print its table if no file is named.

    Examples
    --------
    >>> result = spanlab.replay("vsr", agent="capacity:3", trials=40, levels={"list_length": 5})
    >>> table = spanlab.figure("serial_position", result.folder).table
    >>> table.loc[table["agent_kind"] == "capacity", "serial_position"].tolist()
    [1, 2, 3, 4, 5]
    """
    from ..analysis.figure_catalogue import FIGURES, figure_named, wish_for
    from ..analysis.figures.charts import sheet_for
    from ..analysis.inference import read_margins

    if list_all:
        return _list_figures()
    if not name:
        raise SpanLabError("which figure? spanlab figure --list names them")
    data = paths(data)
    if (along or value) and name not in FIGURES.known():
        name, data = _ANY_COLUMN, [Path(name), *data]
    if not data:
        raise SpanLabError(
            "no data are named: give sessions, folders of sessions, or response tables after the name of the figure"
        )
    declared = figure_named(name, tuple(map(str, data)))
    wish = replace(
        wish_for(declared, words(paradigm), bars, by, along=along, value=value),
        points=options.get("points", False),
        yardsticks=options.get("yardsticks", False),
        margins=read_margins(words(margin)),
    )
    sheet = sheet_for(
        options.get("width", ""),
        options.get("theme", "light"),
        options.get("title", True),
        options.get("dpi", 300),
    )
    read = loaded(data, people=people, **part(options, Reading))
    drawing = declared.draw(read, replace(wish, along=read.columns(wish.along), by=read.columns(wish.by)))
    drawing = replace(drawing, notes=(*read.cautions, *read.notes, *drawing.notes), sheet=sheet)
    found = Figure(tables={name: drawing.table}, cautions=cautions(read), drawn=drawing)
    if output is None:
        found.lines += frame_lines(drawing.shown)
        for heading, table in drawing.further:
            found.lines += ["", f"{heading}:", "", *frame_lines(table)]
    else:
        file = Path(output)
        found.files = [
            _write(drawing.table, file, paths(data)) if file.suffix.lower() == ".csv" else drawing.save(file)
        ]
        found.lines += map(str, found.files)
    found.lines += note_lines(drawing.notes[len(read.cautions) :])
    return found


def _list_figures() -> Figure:
    """The name of each figure, and what it shows, within the width of a terminal."""
    from ..analysis.figure_catalogue import FIGURES

    listed = tabled("figures", ("name", "title"), [(one.name, one.title) for one in FIGURES], width=80)
    return Figure(listed.lines, listed.tables)


@public
def scores(
    data: DataArgument,
    *,
    output: Annotated[
        PathLike | None, typer.Option("-o", "--output", help="write all numbers to this CSV file", metavar="FILE")
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
    **reading: Unpack[Reading],
) -> Result:
    """Score how far machines are from people: slope difference A and mean difference B, in the
    layout of WorM's table; curves and errors compared.

    Examples
    --------
    >>> result = spanlab.replay("smu", "capacity:3", trials=48, seed=1)
    >>> spanlab.scores(result.folder).to_frame()["score"].tolist()
    ['A_setsize', 'B_setsize']
    """
    from ..analysis.data.unread import BOUND_COLUMNS
    from ..analysis.model_vs_human.comparison import ceilings, distances
    from ..analysis.model_vs_human.score_layout import layout
    from ..analysis.model_vs_human.scores import DECISIONS
    from ..analysis.model_vs_human.scores import scores as table_of
    from ..analysis.stats.agreement import MOST_ANSWERERS, error_consistency, pairs_left_out

    read = loaded(data, **reading)
    table = table_of(read.scored, human=read.human, against=against)
    found = Result(cautions=cautions(read))
    if len(table):
        found.lines.append(
            "Difference from people: A of slopes, B of means; 0 means the same as people. * p < .01 against guessing."
            " Models from RNN-96 on: as published.\n"
        )
        found.lines += [*frame_lines(layout(table, published)), "", "Intervals (95%) and what they rest on:", ""]
        bounds = [name for name in BOUND_COLUMNS if name in table.columns]
        found.lines += frame_lines(
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
        found.lines.append(
            "No scores: these data have no paradigm of the published table (vsr, vir, cs, smu, vsrec, cd)."
        )
    further = {
        "curves": ("Curves: correlation and root mean square difference", distances(read.scored, read.human, against)),
        "errors": (
            "Errors on the same trials (kappa)",
            error_consistency(read.scored, most=None if pairs else MOST_ANSWERERS),
        ),
        "ceilings": ("Noise ceilings: how close a curve can come to these people", ceilings(read.scored)),
    }
    found.tables = {"scores": table, **{name: rows for name, (_, rows) in further.items()}}
    for title, rows in further.values():
        if len(rows):
            found.lines += ["", f"{title}:", "", *frame_lines(rows)]
    if output is not None:
        found.files = [_write(table, Path(output), paths(data))]
        found.lines += ["", *map(str, found.files)]
    left_out = [] if pairs else pairs_left_out(read.scored)
    readouts = [note for notes in read.readouts.values() for note in notes]
    found.lines += note_lines([*read.notes, *left_out, *readouts, *(DECISIONS if len(table) else ())])
    return found


def _write(table: pd.DataFrame, output: Path, data: Sequence[Path]) -> Path:
    if output.resolve() in [path.resolve() for path in data]:
        raise SpanLabError(f"{output} is read here, and would be replaced: name another file with -o")
    with written_in(output.parent, str(output)):
        output.write_text(csv_text(table), encoding="utf-8")
    return output


@public
def compare(
    data: DataArgument,
    output: Annotated[PathLike, typer.Option("-o", "--output", help="folder for the report", metavar="DIR")],
    *,
    margin: MarginOption = (),
    planned: PlannedOption = (),
    all_figures: Annotated[
        bool,
        typer.Option("--all-figures", help="write every figure as SVG and PDF, also those that are folded on the page"),
    ] = False,
    **reading: Unpack[Reading],
) -> Result:
    """Compare people and machines in one report: report.html, figures and tables.

    Examples
    --------
    >>> result = spanlab.replay("vsr", ["capacity:3", "chance"], trials=12)
    >>> spanlab.compare(result.folder.parent, "report").file.name
    'report.html'
    """
    # A report multiplies small matrices, for which NumPy's threads mostly wait for each other: a sixth of its
    # processor time. Read when NumPy is loaded.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    with _no_collection():
        from ..analysis.inference import read_margins
        from ..analysis.planned import read_planned
        from ..analysis.report.page import Options
        from ..exchange.format import read_recipe

    given, place = paths(data), Path(output)
    if inside := next((path for path in given if path.resolve() == place.resolve()), None):
        raise SpanLabError(
            f"the report cannot be written into its own data: -o {output} is {inside}; name another folder, such as -o"
            " report"
        )
    exclude = reading.get("exclude")
    options = Options(
        practice=reading.get("practice", False),
        pilot=reading.get("pilot", False),
        rules=read_rules(exclude),
        rules_file=as_path(exclude),
        margins=read_margins(words(margin)),
        planned=read_planned(words(planned)),
        recipe=read_recipe(reading.get("recipe")),
        recipe_typed=tuple(words(reading.get("recipe") or ())),
        accept_unread=reading.get("accept_unread", False),
        all_figures=all_figures,
    )
    cautions: list[str] = []
    with _no_collection():
        from ..analysis.report.page import compare as write

        page = write(given, place, options, _conversations(given), cautions.append)
    return Result([str(page)], files=[page], cautions=[f"NOTE {text}" for text in cautions])


@contextmanager
def _no_collection() -> Iterator[None]:
    """Keep Python from looking for circles of unused objects. A report makes millions of small
    objects with hardly a circle among them."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _conversations(data: list[Path]) -> list[dict[str, str]]:
    """What sessions with chat models have taken. What this needs takes a tenth of a small report's
    time to import, and is left out without chat models."""
    from .transcripts import chat_sessions

    if not (folders := chat_sessions(data)):
        return []
    from ..sessions.transcripts.transcript import accounts

    return accounts(folders)
