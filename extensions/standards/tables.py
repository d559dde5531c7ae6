"""Anybody's tables as one response table: what PsychoPy, E-Prime, OpenSesame, jsPsych, lab.js, BIDS
and laboratories write, by a recipe where names alone do not tell what columns mean."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Sequence
from math import isfinite
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
from pydantic import Field
from typing_extensions import override

from spanlab.analysis.data.door import NUMERIC, Opened, open_table
from spanlab.analysis.data.files import read_columns
from spanlab.analysis.data.loading import files_of
from spanlab.analysis.data.recipe import Long, Recipe, written
from spanlab.analysis.data.vocabulary import GIVEN, SHOWN, SYNONYMS, folded_name
from spanlab.core import SpanLabError
from spanlab.core.atomic_files import whole_file
from spanlab.exchange import Flag, Format, Options, Place, Report, Side, counted, harmless, read_recipe
from spanlab.sessions.record import FURTHER

_FIRST = ("session", "participant", "agent_kind", "agent", "paradigm", "practice", "block", "trial", "ask", "phase")
_LAST = ("correct_answer", "answer", "outcome", "correct", "rt_ms")
_MOST_NAMES = 12
#: A whole list in one cell: letters or digits in capitals, or words with signs between them.
_LIST = r"[A-Z0-9]{2,}|.*\S[\s,;|]\s*\S.*"


class TableOptions(Options):
    """Options for a table of somebody's own; each adds to the recipe."""

    recipe: Annotated[
        str, Field(description="what the columns mean: a file, or THEIRS=OURS,..."), Flag(metavar="RECIPE")
    ] = ""
    suggest: Annotated[bool, Field(description="print a recipe for these files instead, to be completed")] = False
    factors: Annotated[
        str,
        Field(description="columns of conditions, such as load,congruent; no other columns are written"),
        Flag(metavar="COLUMN,..."),
    ] = ""
    practice: Annotated[
        str,
        Field(description="rows that are practice: COLUMN=VALUE, or loops of PsychoPy, such as warm_up,practice"),
        Flag(metavar="ROWS"),
    ] = ""

    def whole_recipe(self) -> Recipe:
        """The recipe with what the other options say."""
        base = read_recipe(self.recipe or None) or Recipe()
        factors = tuple(name.strip() for name in self.factors.split(",") if name.strip())
        return base.model_copy(
            update={
                "conditions": (*base.conditions, *factors),
                "practice": self.practice or base.practice,
            }
        )


class Tables(Format[TableOptions, Any]):
    """Anybody's tables of answers."""

    name = "table"
    reads = Side(
        "table",
        "Answers in tables of PsychoPy, E-Prime, OpenSesame, jsPsych, lab.js, BIDS or your own as one response table.",
        TableOptions,
        Place("tables (.csv, .tsv, .dat, .txt, .xlsx, .json, .parquet), or a BIDS data set", "FILE", many=True),
    )

    @override
    def read(self, sources: Sequence[Path], output: Path, options: TableOptions, report: Report) -> None:
        recipe = options.whole_recipe()
        files, others = files_of(sources)
        if others:
            raise SpanLabError(f"{others[0]} is not a table: give .csv, .tsv, .dat, .txt, .xlsx, .json or .parquet")
        if options.suggest:
            return report.done(suggestion(files[0], recipe).rstrip("\n"))
        if output.suffix.lower() != ".csv":
            raise SpanLabError(f"-o names the response table that is written, such as answers.csv; found {output}")
        if output.exists():
            raise SpanLabError(f"{output} is there already; choose another name")
        opened = [open_table(file, recipe, whole=True) for file in dict.fromkeys(files)]
        self._refuse_twins(files, opened)
        table = pd.concat([one.table for one in opened], ignore_index=True)
        if not len(table):
            raise SpanLabError("no row has a scored answer, so there is no table: nothing was imported")
        write_table(table, output, recipe)
        self._tell(output, table, opened, report)

    def _refuse_twins(self, files: Sequence[Path], opened: Sequence[Opened]) -> None:
        first: dict[str, Path] = {}
        for file, one in zip(files, opened, strict=True):
            for session in one.table.get("session", pd.Series(dtype=str)).astype(str).unique():
                if first.setdefault(session, file) != file:
                    raise SpanLabError(
                        f"{first[session]} and {file} hold the same session, {session}: name one of them, or rename a"
                        " file"
                    )

    def _tell(self, output: Path, table: pd.DataFrame, opened: Sequence[Opened], report: Report) -> None:
        people = table["participant"].nunique()
        practice = int(table.get("practice", pd.Series([False])).eq(True).sum())
        sessions = table["session"].nunique() if "session" in table.columns else len(opened)
        answers = counted(len(table), "answer") + (f" ({practice:,} of practice)" if practice else "")
        report.done(f"{output}: {answers} of {counted(people, 'participant')} in {counted(sessions, 'session')}")
        for sentence in dict.fromkeys(sentence for one in opened for sentence in one.said):
            report.note(sentence)
        if unscored := sum(one.unscored for one in opened):
            report.note(f"{counted(unscored, 'row')} without a scored answer (instructions, pauses ...) left out")
        if many := sum(one.contradictions for one in opened):
            report.note(
                f"{counted(many, 'answer')} scored differently from the correct answer in the same row; the file's"
                " scores are used"
            )
        if names := sorted({name for one in opened for name in one.unused if "." not in name}):
            more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
            report.note(
                f"columns that are not used: {', '.join(names[:_MOST_NAMES])}{more}; --factors names those that are"
                " conditions"
            )


def write_table(table: pd.DataFrame, output: Path, recipe: Recipe) -> None:
    """Write the columns of the response table, and the conditions that were asked for."""
    asked = [name if name in table.columns else f"factor_{name}" for name in recipe.conditions]
    ours = [name for name in table.columns if not name.startswith(("record_", "row_trial")) and name not in asked]
    middle = [name for name in ours if name not in (*_FIRST, *_LAST)]
    names = [*(name for name in _FIRST if name in ours), *middle, *asked, *(name for name in _LAST if name in ours)]
    if "trial" not in names:
        table, names = table.assign(trial=table["row_trial"]), ["trial", *names]
    with whole_file(output) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(names)
        writer.writerows(
            zip(*[[_cell(name, value) for value in table[name]] for name in dict.fromkeys(names)], strict=True)
        )


def _cell(name: str, value: Any) -> str:
    """A value as the response table has it: numbers plain, texts of answers and conditions in quotes."""
    if value is None or value != value:
        return ""
    if name in ("correct", "practice"):
        return "true" if str(value).strip().lower() in ("true", "1", "1.0", "yes") else "false"
    if name in NUMERIC or not (name.startswith(FURTHER) or name in ("answer", "correct_answer")):
        return f"{value:.15g}" if isinstance(value, float) else harmless(str(value))
    text = str(value).strip()
    try:
        plain = json.loads(text)
    except ValueError:
        plain = text
    number = isinstance(plain, int | float) and isfinite(plain)
    return json.dumps(plain if number or isinstance(plain, str) else text, ensure_ascii=False)


def _beside_each_other(file: Path, recipe: Recipe, names: Sequence[str]) -> Long | None:
    """Answers that lie beside each other in a row (columns whose names differ in a number alone), or whole
    lists in one cell; None where there are none."""
    stems: dict[str, set[int]] = {}
    for name in names:
        if match := re.fullmatch(r"(.*?)(\d+)(\D*)", name):
            stems.setdefault(f"{match[1]}{{}}{match[3]}", set()).add(int(match[2]))
    several = {folded_name(stem): stem for stem, numbers in stems.items() if len(numbers) > 1}
    more = {"correct_answer": SHOWN, "answer": GIVEN, "rt_ms": ("t",)}
    words = {ours: (*SYNONYMS[ours], *more.get(ours, ())) for ours in ("correct", "error", *more)}
    found = {ours: next((several[word] for word in words[ours] if word in several), "") for ours in words}
    if found["correct"] or found["error"] or (found["answer"] and found["correct_answer"]):
        number = "ask" if found["error"] else "serial_position"
        return Long(number=number, columns={ours: stem for ours, stem in found.items() if stem})
    there = {folded_name(name): name for name in names}
    whole = {
        ours: next((there[word] for word in words[ours] if word in there), "") for ours in ("correct_answer", "answer")
    }
    if not all(whole.values()):
        return None
    texts = read_columns(file, recipe.names, recipe.skip, recipe.sheet)[whole["correct_answer"]].dropna().astype(str)
    lists = len(texts) > 0 and texts.str.fullmatch(_LIST).all() and texts.nunique() * 2 > len(texts)
    return Long(number="serial_position", columns=whole) if lists else None


def suggestion(file: Path, recipe: Recipe) -> str:
    """A recipe for a file, to be completed: what is inferred of its columns, and those that are
    left."""
    try:
        names = [*read_columns(file, recipe.names, recipe.skip, recipe.sheet).columns]
    except SpanLabError as error:
        if "has no header" not in str(error):
            raise
        first = read_columns(file, ["column 1"], recipe.skip, recipe.sheet)
        start = "".join(f"  - {name}  # {', '.join(map(str, first[name].head(3)))}\n" for name in first.columns)
        return f"# {file.name} has no header: name its columns\nnames:\n{start}# columns:\n#   participant: ...\n"
    try:
        wide = None if recipe.long else _beside_each_other(file, recipe, names)
        recipe = recipe if wide is None else recipe.model_copy(update={"long": wide})
        opened = open_table(file, recipe)
        said, unused = opened.said, opened.unused
        read = opened.read
    except SpanLabError as error:
        likely = {ours: [name for name in names if folded_name(name) in words] for ours, words in SYNONYMS.items()}
        read = {ours: found[0] for ours, found in likely.items() if found}
        said, unused = (str(error),), tuple(name for name in names if name not in read.values())
    lines = [f"# {line}" for sentence in said for line in sentence.splitlines()]
    filled = recipe.model_copy(update={"columns": {**read, **recipe.columns}})
    rest = [f"# columns that are not read: {', '.join(unused)}"] if unused else []
    end = ["# conditions: [...]", "# units: {rt_ms: s}", "# practice: COLUMN=VALUE"]
    return (
        "\n".join([*lines, *rest, written(filled).rstrip("\n") if filled != Recipe() else "columns: {}", *end]) + "\n"
    )
