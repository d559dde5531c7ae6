"""``spanlab stats``: agents compared on the same paradigm by a mixed-effects model. Part of the
command line."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..core.atomic_files import written_in
from ..core.errors import SpanLabError
from .analysing import AcceptUnreadOption, DataArgument, MapOption, MarginOption, PilotOption, PracticeOption, caution
from .listing import print_table
from .options import ExcludeOption
from .python import read_rules

if TYPE_CHECKING:
    import pandas as pd

    from ..analysis.stats.mixed_model import Mixed

#: Kinds with more contrasts than these are in the files only.
_SHOWN = 15
_TABLES = ("terms", "contrasts", "sensitivity", "likeness", "guessing", "reliability", "unread", "random", "notes")
#: Tables that are written where they have rows.
_SOMETIMES = ("sensitivity", "likeness", "reliability", "unread")


def stats(
    data: DataArgument,
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
        list[str] | None,
        typer.Option("--paradigm", help="only this paradigm; may be repeated", metavar="NAME", show_default=False),
    ] = None,
    margin: MarginOption = None,
    exclude: ExcludeOption = None,
    columns: MapOption = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="folder for the tables (CSV)", metavar="DIR")
    ] = None,
    r: Annotated[
        Path | None,
        typer.Option(
            "--r",
            help=(
                "folder for the data of each model (logistic, and probit where there is d') and a script in R that fits"
                " it with lme4"
            ),
            metavar="DIR",
        ),
    ] = None,
    practice: PracticeOption = False,
    pilot: PilotOption = False,
    accept_unread: AcceptUnreadOption = False,
) -> None:
    """Test who answers better, and where: agents and conditions in a mixed-effects logistic model
    of each paradigm, with contrasts and corrected p values."""
    from ..analysis.data.column_map import read_map
    from ..analysis.data.loading import load
    from ..analysis.data.unread import unread_shares
    from ..analysis.stats.against_guessing import against_guessing
    from ..analysis.stats.equivalence import read_margins
    from ..analysis.stats.likeness import likeness
    from ..analysis.stats.mixed_contrasts import contrasts, terms
    from ..analysis.stats.mixed_model import mixed_model
    from ..analysis.stats.r_export import write_r, write_r_of_sensitivity
    from ..analysis.stats.reliability import reliability
    from ..analysis.stats.sensitivity_model import sensitivity_contrasts, sensitivity_model
    from ..core.registry import nearest

    margins = read_margins(margin or ())
    loaded = load(
        data,
        include_practice=practice,
        include_pilot=pilot,
        rules=read_rules(exclude),
        columns=read_map(columns or ()),
        accept_unread=accept_unread,
    )
    for problem in loaded.problems:
        print(problem, file=sys.stderr)
    caution(loaded)
    scored, tables = loaded.scored, {name: [] for name in _TABLES}
    if loaded.exclusions is not None:
        print("Left out by rule", *(f"  {note}" for note in loaded.exclusions.notes), "", sep="\n")
        tables |= {"exclusions": [loaded.exclusions.units], "exclusion_rules": [loaded.exclusions.rules]}
    there = sorted(scored.items["paradigm"].unique())
    for name in paradigm or []:
        if name not in there:
            raise SpanLabError(f"there are no scored answers to '{name}' in these sessions{nearest(name, there)}")
    if not there:
        if output is not None:
            _write({name: parts for name, parts in tables.items() if parts}, output)
        raise SpanLabError(
            "nothing is left to compare"
            + (": " + " ".join(scored.notes) if scored.notes else "; name sessions with scored answers")
        )
    if scored.notes:
        print("All paradigms together", *(f"  {note}" for note in scored.notes), "", sep="\n")
    for name in paradigm or there:
        model = mixed_model(scored, name, "" if by == "none" else by)
        results = {
            "terms": terms(model),
            "contrasts": contrasts(model),
            "guessing": against_guessing(scored.parts[name]),
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
        _print(name, model, results, notes)
        if r is not None and len(model.cells.table):
            print(*write_r(model.cells, r), *write_r_of_sensitivity(sensitivity, r), "", sep="\n")
        for table in _TABLES:
            formula = sensitivity.formula if table == "sensitivity" else model.cells.formula
            tables[table].append(results[table].assign(paradigm=name, model=formula))
    if output is not None:
        _write(
            {name: parts for name, parts in tables.items() if name not in _SOMETIMES or any(map(len, parts))}, output
        )


def _notes(notes: list[str]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame({"note": notes})


def _print(name: str, model: Mixed, results: dict[str, pd.DataFrame], notes: list[str]) -> None:
    """Print a model's cells, and each table of its results that has rows."""
    if not len(model.cells.table):
        print(f"{name}: no model", *notes, "", sep="\n")
        _print_unread(results["unread"])
        return
    print(f"{name}: {model.cells.formula}\n")
    cells = model.cells.table.to_dict("records")
    unread = "unread" in model.cells.table.columns
    print_table(
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
    print()
    _print_unread(results["unread"])
    printers = {
        "terms": _print_terms,
        "contrasts": _print_contrasts,
        "sensitivity": _print_sensitivity,
        "likeness": _print_likeness,
        "guessing": _print_guessing,
        "reliability": _print_reliability,
        "random": _print_random,
    }
    for table, print_rows in printers.items():
        if len(results[table]):
            print_rows(results[table])
    print(*notes, "", sep="\n")


def _print_terms(terms: pd.DataFrame) -> None:
    rows = [
        (row["term"], f"{row['f']:.2f}", f"{row['df']}, {_df(row['df_error'])}", _p(row["p"]), row["note"])
        for row in terms.to_dict("records")
    ]
    print_table(("term", "LR / df", "df", "p", ""), rows)
    print()


def _print_contrasts(contrasts: pd.DataFrame) -> None:
    from ..analysis.stats.mixed_contrasts import TESTED

    tested = contrasts[contrasts["kind"].isin(TESTED)]
    if not len(tested):
        return
    shown = tested[tested.groupby("kind")["p"].transform("size") <= _SHOWN]
    print_table(
        ("contrast", "odds ratio", "95% interval", "p (Holm)", "observed", ""),
        [_contrast(row) for row in shown.to_dict("records")],
    )
    for kind, many in tested.loc[~tested.index.isin(shown.index), "kind"].value_counts().items():
        print(f"... and {many} contrasts of {kind}: -o DIR writes them all")
    print()


def _print_guessing(guessing: pd.DataFrame) -> None:
    from ..analysis.report.html_tables import guessing_table

    table = guessing_table(guessing)
    print(f"{table.title}\n")
    print_table(table.columns, table.rows)
    print()


def _print_reliability(reliability: pd.DataFrame) -> None:
    from ..analysis.data.numbers import limits, number

    print("Reliability of the share of right answers, over people (halves stepped up by Spearman and Brown)\n")
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
    print_table(("agent", "of", "r", "95% interval", "people", ""), rows)
    print()


def _print_random(effects: pd.DataFrame) -> None:
    rows = [(row["effect"], f"{row['levels']:,}", f"{row['sd']:.2f}") for row in effects.to_dict("records")]
    print_table(("random effect", "levels", "SD (log odds)"), rows)
    print()


def _print_unread(unread: pd.DataFrame) -> None:
    """Print the shares of replies that could not be read, and what they leave open."""
    if not len(unread):
        return
    print("Replies that could not be read (they count as wrong)\n")
    rows = []
    for row in unread.to_dict("records"):
        upper = f"{row['if_guessed']:.1%}" if row["if_guessed"] == row["if_guessed"] else "-"
        rows.append((row["agent"], f"{row['n']:,}", f"{row['unread']:.1%}", f"{row['all_wrong']:.1%}", upper))
    print_table(("agent", "answers", "unread", "right if all are wrong", "right if they are guesses"), rows)
    print()


def _print_sensitivity(table: pd.DataFrame) -> None:
    from ..analysis.data.numbers import decimals, limits, number

    kept = table[table["kind"] != "agent"]
    kept = kept[kept.groupby(["measure", "kind"])["kind"].transform("size") <= _SHOWN]
    print("Sensitivity and bias (mixed-effects probit model)\n")
    rows = []
    for row in kept.to_dict("records"):
        digits = decimals(row["low"], row["high"], 2)
        interval = limits(row["low"], row["high"], lambda value, digits=digits: number(value, digits))
        name = f"{row['measure']}: {row['contrast']}"
        rows.append((name, number(row["estimate"], digits), interval, _p(row["p_holm"])))
    print_table(("contrast", "estimate", "95% interval", "p (Holm)"), rows)
    print()


def _print_likeness(differences: pd.DataFrame) -> None:
    """Differences in the numbers of the study, with what they say of equivalence."""
    from ..analysis.data.numbers import decimals, limits, with_sign
    from ..analysis.stats.equivalence import PRIOR, bayes_in_words

    declared = "alike" in differences.columns
    print("Differences in percentage points and d′ (t tests; p values are not corrected)\n")
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
    print_table(
        ("difference", "value", "95% interval", "p", "BF10", *(("90% interval", "alike? (TOST)") if declared else ())),
        rows,
    )
    left = differences[~differences.index.isin(kept.index)]
    for measure, kind in left[["measure", "kind"]].drop_duplicates().itertuples(index=False, name=None):
        many = int(((left["measure"] == measure) & (left["kind"] == kind)).sum())
        print(
            f"... and {many} differences of {kind} in {'percentage points' if measure == 'correct' else measure}: -o"
            " DIR writes them all"
        )
    print()
    print(PRIOR, "A dash: the units are not all of one kind, or differ between conditions.")
    if not declared:
        print(
            'No margin was declared (--margin): there is no verdict on equivalence, and "not told apart" is not'
            ' "alike".'
        )
    print()


def _contrast(row: dict[Any, Any]) -> tuple[str, ...]:
    from ..analysis.data.numbers import odds

    points = "" if row["points"] != row["points"] else f"{row['points']:+.1f} points, h = {row['cohens_h']:+.2f}"
    ratio, interval = odds(row["odds_ratio"], row["odds_ratio_low"], row["odds_ratio_high"])
    return str(row["contrast"]), ratio, interval, _p(row["p_holm"]), points, str(row["note"])


def _df(value: float) -> str:
    return "inf" if value > 1e5 else f"{value:.1f}"


def _p(value: float) -> str:
    return "-" if value != value else "< .001" if value < 0.001 else f"{value:.3f}"


def _write(tables: dict[str, list[pd.DataFrame]], output: Path) -> None:
    import pandas as pd

    with written_in(output):
        for name, parts in tables.items():
            whole = pd.concat([part for part in parts if len(part)] or parts[:1], ignore_index=True)
            first = [column for column in ("paradigm", "model") if column in whole.columns and name != "exclusions"]
            path = output / f"{name if name.startswith('exclusion') else f'stats_{name}'}.csv"
            whole[[*first, *(column for column in whole.columns if column not in first)]].to_csv(path, index=False)
            print(path)
