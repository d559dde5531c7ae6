"""Agents compared on the same paradigm by a mixed-effects model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from typing_extensions import Unpack

from ..core.atomic_files import written_in
from ..core.errors import SpanLabError
from ..core.json_values import csv_text
from .analysing import DataArgument, MarginOption, PlannedOption, Reading, cautions, loaded
from .options import PathLike, Result, Words, frame_lines, public, words

if TYPE_CHECKING:
    import pandas as pd

    from ..analysis.stats.factorial import Factorial
    from ..analysis.stats.mixed_model import Mixed

#: Kinds with more contrasts than these are in the files only.
_SHOWN = 15
#: What is printed, in this order: its title, and its columns.
_SHOWN_AS = {
    "cells": ("", "agent condition n correct unread if_guessed"),
    "unread": ("Replies that could not be read (they count as wrong)", "agent n unread all_wrong if_guessed"),
    "terms": ("Do agents and conditions matter? (likelihood-ratio tests)", "term f df df_error p note"),
    "contrasts": (
        "Contrasts (p is Holm's)",
        "contrast odds_ratio odds_ratio_low odds_ratio_high p_holm points cohens_h note",
    ),
    "sensitivity": ("Sensitivity and bias (mixed-effects probit model)", "measure contrast estimate low high p_holm"),
    "guessing": (
        "Who is above guessing",
        "agent share unread all_wrong if_guessed chance blind low high p p_family verdict n_units unit note",
    ),
    "reliability": (
        "Reliability of the share of right answers, over people (halves stepped up by Spearman and Brown)",
        "agent kind whole low high n_people note",
    ),
    "random": ("Random effects (SD in log odds)", "effect levels sd low high"),
    "likeness": (
        "Differences in right answers and d′ (t tests; p values are not corrected)",
        "measure contrast value low high p low_alike high_alike alike",
    ),
}
_TABLES = ("terms", "contrasts", "sensitivity", "likeness", "guessing", "reliability", "unread", "random", "notes")
#: Tables that are written where they have rows.
_SOMETIMES = ("sensitivity", "likeness", "reliability", "unread")


@public
def stats(
    data: DataArgument,
    *,
    by: Annotated[
        Words,
        typer.Option(
            "--by",
            help=(
                "column of conditions, such as list_length, or a factor; 'none' for none; chosen automatically by"
                " default; of several, an analysis of variance"
            ),
            metavar="COLUMN",
            show_default=False,
        ),
    ] = (),
    between: Annotated[
        Words,
        typer.Option(
            "--between",
            help="column of groups of people, for an analysis of variance; may be repeated",
            metavar="COLUMN",
            show_default=False,
        ),
    ] = (),
    measure: Annotated[
        Literal["accuracy", "d'", "Cowan's K", "Pashler's K", "median rt", "mean rt", "log rt"],
        typer.Option("--measure", help="what is analysed, over people, in a factorial design"),
    ] = "accuracy",
    paradigm: Annotated[
        Words,
        typer.Option("--paradigm", help="only this paradigm; may be repeated", metavar="NAME", show_default=False),
    ] = (),
    margin: MarginOption = (),
    planned: PlannedOption = (),
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
    of each paradigm, with contrasts and corrected p values.

    Examples
    --------
    >>> import pandas as pd
    >>> answers = [
    ...     {"participant": person, "load": load, "correct": (3 * person + trial) % 5 > (load == "high")}
    ...     for person in range(6)
    ...     for load in ("low", "high")
    ...     for trial in range(20)
    ... ]
    >>> pd.DataFrame(answers).to_csv("answers.csv", index=False)
    >>> found = spanlab.stats("answers.csv", by="load")
    >>> contrasts = found.to_frame("contrasts")
    >>> contrasts.loc[contrasts["kind"] == "conditions", ["points", "odds_ratio", "p_holm"]].round(3).values.tolist()
    [[-20.0, 0.375, 0.002]]
    """
    import pandas as pd

    from ..analysis.data.unread import unread_shares
    from ..analysis.guessing import against_guessing, among_all, guessing_table
    from ..analysis.inference import families_of, read_margins
    from ..analysis.planned import Planned, listed_as_planned, read_planned
    from ..analysis.stats.factorial import factorial
    from ..analysis.stats.likeness import likeness
    from ..analysis.stats.mixed_contrasts import contrasts, terms
    from ..analysis.stats.mixed_model import mixed_model
    from ..analysis.stats.r_export import write_r, write_r_of_sensitivity
    from ..analysis.stats.reliability import reliability
    from ..analysis.stats.sensitivity_model import sensitivity_contrasts, sensitivity_model
    from ..core.registry import nearest

    margins, comparisons = read_margins(words(margin)), read_planned(words(planned))
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
    conditions, groups = ([there_are.columns(name) for name in words(names)] for names in (by, between))
    if groups or len(conditions) > 1 or measure != "accuracy":
        for option, given in (("planned", comparisons), ("margin", margins), ("r", r)):
            if given:
                raise SpanLabError("is for the model of right answers by one condition", option=option)
        designs = {
            name: factorial(scored.parts[name].about([*conditions, *groups]), conditions, groups, measure)
            for name in words(paradigm) or there
        }
        results = {f"{table}_{name}": rows for name, one in designs.items() for table, rows in one.tables.items()}
        found.tables = results
        found.lines += [line for name, one in designs.items() for line in _factorial(one, name, measure)]
        if output is not None:
            found.files = _write(results, Path(output))
        return found
    column = conditions[0] if conditions else None
    parts = {name: scored.parts[name].main for name in words(paradigm) or there}
    guessed = {
        name: [one.changed(Planned(comparisons, name).claim) for one in against_guessing(part)]
        for name, part in parts.items()
    }
    families = families_of(one.claim for part in guessed.values() for one in part if not one.chosen)
    for name in guessed:
        model = mixed_model(scored, name, "" if column == "none" else column)
        results = {
            "terms": terms(model),
            "contrasts": contrasts(model, Planned(comparisons, name)),
            "guessing": guessing_table(among_all(guessed[name], families), parts[name]),
            "random": model.random(),
        }
        sensitivity = sensitivity_model(scored, name, "" if column == "none" else column)
        results["sensitivity"], results["reliability"] = (
            sensitivity_contrasts(sensitivity, Planned(comparisons, name)),
            reliability(parts[name]),
        )
        results["likeness"] = likeness(parts[name], name, model.cells.by, margins)
        notes = [
            *([model.problem] if model.problem else []),
            *model.notes,
            *([sensitivity.problem] if sensitivity.cells and sensitivity.problem else []),
        ]
        results["notes"] = pd.DataFrame({"note": notes})
        results["unread"] = unread_shares(scored.parts[name].items)
        found.lines += _shown(name, model, results, notes)
        if r is not None and len(model.cells.table):
            found.lines += [
                *map(str, write_r(model.cells, Path(r))),
                *map(str, write_r_of_sensitivity(sensitivity, Path(r))),
                "",
            ]
        for table in _TABLES:
            formula = sensitivity.formula if table == "sensitivity" else model.cells.formula
            tables[table].append(results[table].assign(paradigm=name, model=formula))
    for one in comparisons:
        claims = any(one.names(that.claim, name) for name, part in guessed.items() for that in part)
        rows = (row for part in tables["contrasts"] for row in part.to_dict("records"))
        if not claims and not any(one.tests(row, str(row["paradigm"])) for row in rows):
            raise SpanLabError(f"{one.typed} is no comparison of these models", option="planned")
    found.lines += [listed_as_planned(comparisons), ""] if comparisons else []
    found.tables = {
        name: _whole(name, parts) for name, parts in tables.items() if name not in _SOMETIMES or any(map(len, parts))
    }
    if output is not None:
        found.files = _write(found.tables, Path(output))
        found.lines += map(str, found.files)
    return found


def _factorial(result: Factorial, name: str, measure: str) -> Iterator[str]:
    """An analysis of variance and a mixed model as tables; contrasts within levels are in the files."""
    left = f"; {result.left_out} without an answer in some condition are left out" if result.left_out else ""
    yield f"{name}: analysis of variance of {measure}, {result.people} people{left}\n"
    yield from frame_lines(result.anova)
    yield "\nContrasts over all other conditions (p is Holm's)\n"
    yield from frame_lines(result.contrasts[result.contrasts["at"] == ""].drop(columns="at"))
    if result.formula:
        yield f"\n{result.formula}\n"
        yield from frame_lines(result.terms)
        if len(result.mixed):
            yield ""
            yield from frame_lines(result.mixed[result.mixed["at"] == ""].drop(columns="at"))
    yield from ("", *result.notes, "")


def _shown(name: str, model: Mixed, results: dict[str, pd.DataFrame], notes: list[str]) -> Iterator[str]:
    """A model's cells, and each table of its results that has rows."""
    from ..analysis.stats.mixed_contrasts import TESTED

    yield f"{name}: {model.cells.formula}" if len(model.cells.table) else f"{name}: no model"
    for table, (title, columns) in _SHOWN_AS.items():
        rows = results.get(table, model.cells.table)
        many = rows.iloc[:0]
        if "kind" in rows and table != "reliability":
            few = rows.groupby([*({"measure"} & {*rows.columns}), "kind"])["kind"].transform("size") <= _SHOWN
            tested = rows["kind"].isin(TESTED) if table == "contrasts" else rows["kind"] != "agent"
            rows, many = rows[few & tested], rows[~few & tested]
        if len(rows) or len(many):
            yield from ("", *([f"{title}\n"] if title else []))
            yield from frame_lines(rows[[column for column in columns.split() if column in rows]])
            for kind, count in many["kind"].value_counts().items() if len(many) else ():
                yield f"... and {count} of {kind}: -o DIR writes them all"
    if len(results["likeness"]) and "alike" not in results["likeness"]:
        yield ('\nNo margin was declared: there is no verdict on equivalence, and "not told apart" is not "alike".')
    yield from ("", *notes, "")


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
