"""Agents compared on the same paradigm by a mixed-effects model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typing_extensions import Unpack

from ..core.atomic_files import written_in
from ..core.errors import SpanLabError
from ..core.table_cells import csv_text
from .data import DataArgument, MarginOption, Reading, cautions, loaded, page_lines
from .declared import PathLike, Result, Words, public, words

if TYPE_CHECKING:
    import pandas as pd

    from ..analysis.report.html_tables import PageTable
    from ..analysis.stats.mixed_model import Mixed

#: Kinds with more contrasts than these are in the files only.
_SHOWN = 15
_TABLES = ("terms", "contrasts", "sensitivity", "likeness", "guessing", "reliability", "unread", "random", "notes")
#: Tables that are written where they have rows.
_SOMETIMES = ("sensitivity", "likeness", "reliability", "unread")


@public
def stats(
    data: DataArgument,
    *,
    by: Annotated[
        str | None,
        typer.Option(
            "--by",
            help=(
                "column of conditions, such as list_length, or a factor; 'none' for none; chosen automatically by"
                " default"
            ),
            metavar="COLUMN",
        ),
    ] = None,
    paradigm: Annotated[
        Words,
        typer.Option("--paradigm", help="only this paradigm; may be repeated", metavar="NAME", show_default=False),
    ] = (),
    margin: MarginOption = (),
    output: Annotated[
        PathLike | None, typer.Option("-o", "--output", help="folder for the tables (CSV)", metavar="DIR")
    ] = None,
    r: Annotated[
        PathLike | None,
        typer.Option(
            "--r",
            help=(
                "folder for the data of each model (logistic, and probit where there is d') and a script in R that fits"
                " it with lme4"
            ),
            metavar="DIR",
        ),
    ] = None,
    **reading: Unpack[Reading],
) -> Result:
    """Test who answers better, and where: agents and conditions in a mixed-effects logistic model
    of each paradigm, with contrasts and corrected p values."""
    import pandas as pd

    from ..analysis.data.unread import unread_shares
    from ..analysis.inference import against_guessing, among_all, guessing_table, sizes_of_families
    from ..analysis.stats.equivalence import read_margins
    from ..analysis.stats.likeness import likeness
    from ..analysis.stats.mixed_contrasts import contrasts, terms
    from ..analysis.stats.mixed_model import mixed_model
    from ..analysis.stats.r_export import write_r, write_r_of_sensitivity
    from ..analysis.stats.reliability import reliability
    from ..analysis.stats.sensitivity_model import sensitivity_contrasts, sensitivity_model
    from ..core.registry import nearest

    margins = read_margins(words(margin))
    there_are = loaded(data, **reading)
    found = Result([], cautions=[*there_are.problems, *cautions(there_are)])
    scored, tables = there_are.scored, {name: [] for name in _TABLES}
    if there_are.exclusions is not None:
        found.lines += ["Left out by rule", *(f"  {note}" for note in there_are.exclusions.notes), ""]
        tables |= {"exclusions": [there_are.exclusions.units], "exclusion_rules": [there_are.exclusions.rules]}
    there = sorted(scored.items["paradigm"].unique())
    for name in words(paradigm):
        if name not in there:
            raise SpanLabError(f"there are no scored answers to '{name}' in these sessions{nearest(name, there)}")
    if not there:
        if output is not None:
            _write({name: parts[0] for name, parts in tables.items() if parts}, Path(output))
        found.wrong = [
            "nothing is left to compare"
            + (": " + " ".join(scored.notes) if scored.notes else "; name sessions with scored answers")
        ]
        return found
    if scored.notes:
        found.lines += ["All paradigms together", *(f"  {note}" for note in scored.notes), ""]
    guessed = {name: against_guessing(scored.parts[name]) for name in words(paradigm) or there}
    sizes = sizes_of_families(one.claim for part in guessed.values() for one in part if not one.chosen)
    for name in guessed:
        model = mixed_model(scored, name, "" if by == "none" else by)
        results = {
            "terms": terms(model),
            "contrasts": contrasts(model),
            "guessing": guessing_table(among_all(guessed[name], sizes), scored.parts[name]),
            "random": model.random(),
        }
        sensitivity = sensitivity_model(scored, name, "" if by == "none" else by)
        results["sensitivity"], results["reliability"] = (
            sensitivity_contrasts(sensitivity),
            reliability(scored.parts[name]),
        )
        results["likeness"] = likeness(scored.parts[name], name, model.cells.by, margins)
        notes = [
            *([model.problem] if model.problem else []),
            *model.notes,
            *([sensitivity.problem] if sensitivity.cells and sensitivity.problem else []),
        ]
        results["notes"] = pd.DataFrame({"note": notes})
        results["unread"] = unread_shares(scored.parts[name].items)
        found.lines += _model(name, model, results, notes)
        if r is not None and len(model.cells.table):
            found.lines += [
                *map(str, write_r(model.cells, Path(r))),
                *map(str, write_r_of_sensitivity(sensitivity, Path(r))),
                "",
            ]
        for table in _TABLES:
            formula = sensitivity.formula if table == "sensitivity" else model.cells.formula
            tables[table].append(results[table].assign(paradigm=name, model=formula))
    found.tables = {
        name: _whole(name, parts) for name, parts in tables.items() if name not in _SOMETIMES or any(map(len, parts))
    }
    if output is not None:
        found.files = _write(found.tables, Path(output))
        found.lines += map(str, found.files)
    return found


def _model(name: str, model: Mixed, results: dict[str, pd.DataFrame], notes: list[str]) -> Iterator[str]:
    """A model's cells, and each table of its results that has rows."""
    from ..analysis.report.models import model_tables
    from ..analysis.stats.mixed_contrasts import TESTED

    there = bool(len(model.cells.table))
    yield f"{name}: {model.cells.formula}\n" if there else f"{name}: no model"
    yield from () if there else notes
    shown = [_cells(model)] if there else []
    if len(results["unread"]):
        shown.append(_unread(results["unread"]))
    if there:
        shown += model_tables(model, kinds=TESTED)
        shown += [show(results[table]) for table, show in _SHOWN_AS.items() if len(results[table])]
    for table in shown:
        yield from page_lines(table)
    if there and len(results["likeness"]):
        yield from _on_likeness("alike" in results["likeness"].columns)
    yield from (*(notes if there else ()), "")


def _cells(model: Mixed) -> PageTable:
    from ..analysis.data.numbers import whole
    from ..analysis.report.html_tables import page_table, unread_columns, words_of
    from ..analysis.report.text import percent

    columns = [
        words_of("agent"),
        words_of("condition", model.cells.by or "condition"),
        ("answers", lambda row: whole(row["n"])),
        ("right", lambda row: percent(row["correct"])),
        *unread_columns(model.cells.table),
    ]
    return page_table(model.cells.table, columns, "")


def _unread(unread: pd.DataFrame) -> PageTable:
    """The shares of replies that could not be read, and what they leave open."""
    from ..analysis.data.numbers import whole
    from ..analysis.report.html_tables import page_table, words_of
    from ..analysis.report.text import percent

    columns = [
        words_of("agent"),
        ("answers", lambda row: whole(row["n"])),
        ("unread", lambda row: percent(row["unread"])),
        ("right if all are wrong", lambda row: percent(row["all_wrong"])),
        ("right if they are guesses", lambda row: percent(row["if_guessed"])),
    ]
    return page_table(unread, columns, "Replies that could not be read (they count as wrong)")


def _guessing(table: pd.DataFrame) -> PageTable:
    from ..analysis.report.html_tables import guessing_table

    return guessing_table(table)


def _reliability(table: pd.DataFrame) -> PageTable:
    from ..analysis.data.numbers import limits, number, whole
    from ..analysis.report.html_tables import page_table, words_of

    columns = [
        words_of("agent"),
        words_of("kind", "of"),
        ("r", lambda row: number(row["whole"])),
        ("95% interval", lambda row: limits(row["low"], row["high"])),
        ("people", lambda row: whole(row["n_people"])),
        words_of("note"),
    ]
    title = "Reliability of the share of right answers, over people (halves stepped up by Spearman and Brown)"
    return page_table(table, columns, title)


def _sensitivity(table: pd.DataFrame) -> PageTable:
    from ..analysis.data.numbers import limits, number, p_value
    from ..analysis.report.html_tables import page_table

    columns = [
        ("contrast", lambda row: f"{row['measure']}: {row['contrast']}"),
        ("estimate", lambda row: _in_digits(row, row["estimate"], number)),
        ("95% interval", lambda row: limits(row["low"], row["high"], lambda value: _in_digits(row, value, number))),
        ("p (Holm)", lambda row: p_value(row["p_holm"])),
    ]
    title = "Sensitivity and bias (mixed-effects probit model)"
    return page_table(_few(table[table["kind"] != "agent"]), columns, title)


def _likeness(table: pd.DataFrame) -> PageTable:
    """Differences in the numbers of the study, with what they say of equivalence."""
    from ..analysis.data.numbers import limits, p_value, with_sign
    from ..analysis.report.html_tables import page_table, words_of
    from ..analysis.stats.equivalence import bayes_in_words

    points = table["measure"] == "correct"
    scaled = table.copy()
    for column in {"value", "low", "high", "low_90", "high_90"} & {*table.columns}:
        scaled[column] = table[column].where(~points, 100 * table[column])

    def signed(row: Mapping[Any, Any], value: float) -> str:
        return _in_digits(row, value, with_sign, 1 if row["measure"] == "correct" else 2)

    columns = [
        words_of("contrast", "difference"),
        ("value", lambda row: f"{signed(row, row['value'])} {_UNITS.get(row['measure'], row['measure'])}"),
        ("95% interval", lambda row: limits(row["low"], row["high"], lambda value: signed(row, value))),
        ("p", lambda row: p_value(row["p"])),
        ("BF10", lambda row: bayes_in_words(row["bf10"])),
    ]
    if "alike" in table.columns:
        columns += [
            ("90% interval", lambda row: limits(row["low_90"], row["high_90"], lambda value: signed(row, value))),
            ("alike? (TOST)", lambda row: str(row["alike"]) or "–"),
        ]
    title = "Differences in percentage points and d′ (t tests; p values are not corrected)"
    return page_table(_few(scaled), columns, title)


def _on_likeness(declared: bool) -> Iterator[str]:
    from ..analysis.stats.equivalence import PRIOR

    yield f"{PRIOR} A dash: the units are not all of one kind, or differ between conditions."
    if not declared:
        yield (
            'No margin was declared (--margin): there is no verdict on equivalence, and "not told apart" is not'
            ' "alike".'
        )
    yield ""


def _in_digits(row: Mapping[Any, Any], value: float, say: Callable[[float, int], str], least: int = 2) -> str:
    """A number in as many decimals as its interval needs."""
    from ..analysis.data.numbers import decimals

    return say(value, decimals(row["low"], row["high"], least))


def _few(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of those kinds that have few; the file has all."""
    return table[table.groupby(["measure", "kind"])["kind"].transform("size") <= _SHOWN]


_UNITS = {"correct": "points"}
_SHOWN_AS = {"sensitivity": _sensitivity, "guessing": _guessing, "reliability": _reliability, "likeness": _likeness}


def _whole(name: str, parts: list[pd.DataFrame]) -> pd.DataFrame:
    """A table of all paradigms."""
    import pandas as pd

    whole = pd.concat([part for part in parts if len(part)] or parts[:1], ignore_index=True)
    first = [column for column in ("paradigm", "model") if column in whole.columns and name != "exclusions"]
    return whole[[*first, *(column for column in whole.columns if column not in first)]]


def _write(tables: Mapping[str, pd.DataFrame], output: Path) -> list[Path]:
    with written_in(output):
        for name, table in tables.items():
            _place(name, output).write_text(csv_text(table), encoding="utf-8")
    return [_place(name, output) for name in tables]


def _place(name: str, output: Path) -> Path:
    return output / f"{name if name.startswith('exclusion') else f'stats_{name}'}.csv"
