"""Agents compared on the same paradigm by a mixed-effects model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typing_extensions import Unpack

from ..core.atomic_files import written_in
from ..core.errors import SpanLabError
from ..core.table_cells import csv_text
from .data import DataArgument, MarginOption, Reading, cautions, loaded, table_lines
from .declared import PathLike, Result, Words, public, words

if TYPE_CHECKING:
    import pandas as pd

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
        results["notes"] = _notes(notes)
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


def _notes(notes: list[str]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame({"note": notes})


def _model(name: str, model: Mixed, results: dict[str, pd.DataFrame], notes: list[str]) -> Iterator[str]:
    """A model's cells, and each table of its results that has rows."""
    if not len(model.cells.table):
        yield from (f"{name}: no model", *notes, "")
        yield from _unread(results["unread"])
        return
    yield f"{name}: {model.cells.formula}\n"
    cells = model.cells.table.to_dict("records")
    unread = "unread" in model.cells.table.columns
    yield from table_lines(
        (
            "agent",
            model.cells.by or "condition",
            "answers",
            "right",
            *(("unread", "right if they are guesses") if unread else ()),
        ),
        [
            (
                *(str(row["agent"]), str(row["condition"]) or "-", f"{row['n']:,}", f"{row['correct']:.1%}"),
                *(
                    (
                        f"{row['unread']:.1%}",
                        f"{row['if_guessed']:.1%}" if row["if_guessed"] == row["if_guessed"] else "-",
                    )
                    if unread
                    else ()
                ),
            )
            for row in cells
        ],
    )
    yield ""
    yield from _unread(results["unread"])
    shown = {
        "terms": _terms,
        "contrasts": _contrasts,
        "sensitivity": _sensitivity,
        "likeness": _likeness,
        "guessing": _guessing,
        "reliability": _reliability,
        "random": _random,
    }
    for table, lines_of in shown.items():
        if len(results[table]):
            yield from lines_of(results[table])
    yield from (*notes, "")


def _terms(terms: pd.DataFrame) -> Iterator[str]:
    rows = [
        (row["term"], f"{row['f']:.2f}", f"{row['df']}, {_df(row['df_error'])}", _p(row["p"]), row["note"])
        for row in terms.to_dict("records")
    ]
    yield from table_lines(("term", "LR / df", "df", "p", ""), rows)
    yield ""


def _contrasts(contrasts: pd.DataFrame) -> Iterator[str]:
    from ..analysis.stats.mixed_contrasts import TESTED

    tested = contrasts[contrasts["kind"].isin(TESTED)]
    if not len(tested):
        return
    shown = tested[tested.groupby("kind")["p"].transform("size") <= _SHOWN]
    yield from table_lines(
        ("contrast", "odds ratio", "95% interval", "p (Holm)", "observed", ""),
        [_contrast(row) for row in shown.to_dict("records")],
    )
    for kind, many in tested.loc[~tested.index.isin(shown.index), "kind"].value_counts().items():
        yield f"... and {many} contrasts of {kind}: -o DIR writes them all"
    yield ""


def _guessing(guessing: pd.DataFrame) -> Iterator[str]:
    from ..analysis.report.html_tables import guessing_table

    table = guessing_table(guessing)
    yield f"{table.title}\n"
    yield from table_lines(table.columns, table.rows)
    yield ""


def _reliability(reliability: pd.DataFrame) -> Iterator[str]:
    from ..analysis.data.numbers import limits, number

    yield "Reliability of the share of right answers, over people (halves stepped up by Spearman and Brown)\n"
    rows = [
        (
            row["agent"],
            row["kind"],
            number(row["whole"]),
            limits(row["low"], row["high"]),
            f"{row['n_people']}",
            row["note"],
        )
        for row in reliability.to_dict("records")
    ]
    yield from table_lines(("agent", "of", "r", "95% interval", "people", ""), rows)
    yield ""


def _random(effects: pd.DataFrame) -> Iterator[str]:
    rows = [(row["effect"], f"{row['levels']:,}", f"{row['sd']:.2f}") for row in effects.to_dict("records")]
    yield from table_lines(("random effect", "levels", "SD (log odds)"), rows)
    yield ""


def _unread(unread: pd.DataFrame) -> Iterator[str]:
    """Print the shares of replies that could not be read, and what they leave open."""
    if not len(unread):
        return
    yield "Replies that could not be read (they count as wrong)\n"
    rows = []
    for row in unread.to_dict("records"):
        upper = f"{row['if_guessed']:.1%}" if row["if_guessed"] == row["if_guessed"] else "-"
        rows.append((row["agent"], f"{row['n']:,}", f"{row['unread']:.1%}", f"{row['all_wrong']:.1%}", upper))
    yield from table_lines(("agent", "answers", "unread", "right if all are wrong", "right if they are guesses"), rows)
    yield ""


def _sensitivity(table: pd.DataFrame) -> Iterator[str]:
    from ..analysis.data.numbers import decimals, limits, number

    kept = table[table["kind"] != "agent"]
    kept = kept[kept.groupby(["measure", "kind"])["kind"].transform("size") <= _SHOWN]
    yield "Sensitivity and bias (mixed-effects probit model)\n"
    rows = []
    for row in kept.to_dict("records"):
        digits = decimals(row["low"], row["high"], 2)
        interval = limits(row["low"], row["high"], lambda value, digits=digits: number(value, digits))
        name = f"{row['measure']}: {row['contrast']}"
        rows.append((name, number(row["estimate"], digits), interval, _p(row["p_holm"])))
    yield from table_lines(("contrast", "estimate", "95% interval", "p (Holm)"), rows)
    yield ""


def _likeness(differences: pd.DataFrame) -> Iterator[str]:
    """Differences in the numbers of the study, with what they say of equivalence."""
    from ..analysis.data.numbers import decimals, limits, with_sign
    from ..analysis.stats.equivalence import PRIOR, bayes_in_words

    declared = "alike" in differences.columns
    yield "Differences in percentage points and d′ (t tests; p values are not corrected)\n"
    rows = []
    kept = differences[differences.groupby(["measure", "kind"])["kind"].transform("size") <= _SHOWN]
    for row in kept.to_dict("records"):
        scale, least = (100, 1) if row["measure"] == "correct" else (1, 2)
        digits = decimals(scale * row["low"], scale * row["high"], least)

        def scaled(value: float, scale: int = scale, digits: int = digits) -> str:
            return with_sign(scale * value, digits)

        value = f"{scaled(row['value'])} {'points' if row['measure'] == 'correct' else row['measure']}"
        texts = [
            str(row["contrast"]),
            value,
            limits(row["low"], row["high"], scaled),
            _p(row["p"]),
            bayes_in_words(row["bf10"]),
        ]
        rows.append(
            (*texts, limits(row["low_90"], row["high_90"], scaled) if row["alike"] else "-", str(row["alike"]) or "-")
            if declared
            else tuple(texts)
        )
    yield from table_lines(
        ("difference", "value", "95% interval", "p", "BF10", *(("90% interval", "alike? (TOST)") if declared else ())),
        rows,
    )
    left = differences[~differences.index.isin(kept.index)]
    for measure, kind in left[["measure", "kind"]].drop_duplicates().itertuples(index=False, name=None):
        many = int(((left["measure"] == measure) & (left["kind"] == kind)).sum())
        yield (
            f"... and {many} differences of {kind} in {'percentage points' if measure == 'correct' else measure}: -o"
            " DIR writes them all"
        )
    yield ""
    yield f"{PRIOR} A dash: the units are not all of one kind, or differ between conditions."
    if not declared:
        yield (
            'No margin was declared (--margin): there is no verdict on equivalence, and "not told apart" is not'
            ' "alike".'
        )
    yield ""


def _contrast(row: dict[Any, Any]) -> tuple[str, ...]:
    from ..analysis.data.numbers import odds

    points = "" if row["points"] != row["points"] else f"{row['points']:+.1f} points, h = {row['cohens_h']:+.2f}"
    ratio, interval = odds(row["odds_ratio"], row["odds_ratio_low"], row["odds_ratio_high"])
    return str(row["contrast"]), ratio, interval, _p(row["p_holm"]), points, str(row["note"])


def _df(value: float) -> str:
    return "inf" if value > 1e5 else f"{value:.1f}"


def _p(value: float) -> str:
    return "-" if value != value else "< .001" if value < 0.001 else f"{value:.3f}"


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
