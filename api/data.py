"""Options of everything that reads answers, how they are read, and tables for the terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

import typer
from typing_extensions import Unpack

from .declared import PathLike, Paths, Result, Words, paths

if TYPE_CHECKING:
    import pandas as pd

    from ..analysis.data.exclusions import Rule
    from ..analysis.data.loading import Data

_WIDTH = 110
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
    from ..exchange.recipes import read_recipe

    return load(
        paths(data),
        rules=read_rules(reading.get("exclude")),
        recipe=read_recipe(reading.get("recipe")),
        include_practice=reading.get("practice", False),
        include_pilot=reading.get("pilot", False),
        accept_unread=reading.get("accept_unread", False),
        people=None if people is None else Path(people),
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


def table_lines(header: Sequence[str], rows: Iterable[Sequence[str]], width: int | None = None) -> Iterator[str]:
    """A table with columns as wide as their content; those that are empty in every row are left
    out. With a ``width``, the last column is broken into lines within it."""
    cells = [*rows]
    kept = [at for at in range(len(header)) if not cells or any(row[at] for row in cells)]
    lines = [[line[at] for at in kept] for line in (header, *cells)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    start = sum(widths[:-1]) + 2 * (len(widths) - 1)
    for line in lines:
        first, *further = textwrap.wrap(line[-1], width - start) or [""] if width else [line[-1]]
        yield "  ".join(cell.ljust(wide) for cell, wide in zip((*line[:-1], first), widths, strict=True)).rstrip()
        yield from (" " * start + text for text in further)


def tabled(
    name: str, header: Sequence[str], rows: Iterable[Sequence[str]], width: int | None = None, after: str = ""
) -> Result:
    """A list of things as a table, with what is said below it."""
    cells = [*rows]
    below = ["", *after.splitlines()] if after else []
    lines = [*table_lines(header, cells, width), *below]
    return Result(lines, {name: [dict(zip(header, row, strict=True)) for row in cells]})


def frame_lines(table: pd.DataFrame) -> Iterator[str]:
    """A data frame as a table for the terminal, without columns in which nothing stands."""

    def cell(value: Any) -> str:
        if value is None or str(value) in ("<NA>", "nan"):
            return "–"
        if isinstance(value, float):
            if value.is_integer() and abs(value) >= 1:
                return f"{value:.0f}"
            return f"{value:.2g}" if 0 < abs(value) < 0.001 else f"{value:.3f}"
        return str(value)

    known = table.replace("", None).dropna(axis="columns", how="all").columns if len(table) else table.columns
    names = [str(name).removeprefix("factor_").removeprefix("record_") for name in known]
    return table_lines(names, [[cell(value) for value in row] for row in table[known].itertuples(index=False)])


def note_lines(notes: Sequence[str]) -> list[str]:
    """Notes below tables, after an empty line."""
    told = [textwrap.fill(note, _WIDTH, subsequent_indent="  ", initial_indent="· ") for note in notes]
    return ["", *told] if told else []
