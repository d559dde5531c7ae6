"""Answers of people in somebody else's table: from rows to the columns of the response table, with
everything malformed reported and nothing guessed."""

from __future__ import annotations

import csv
import json
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import Field
from typing_extensions import override

from ...core.agent_kinds import PARTICIPANT
from ...core.atomic_files import whole_file
from ...core.errors import Problem, SpanLabError
from ...core.json_values import NOTHING
from ..format import AsParadigm, Flag, Format, Options, Report, SkipMalformed, counted
from ..malformed import refused

#: Columns of a response table that conditions go into by their own name; all others are factors.
_OWN = frozenset(("set_size", "list_length", "serial_position", "retention_steps", "block", "group"))
_COLUMNS = ("session", "participant", "agent_kind", "agent", "paradigm", "practice", "trial", "ask", "phase", "chance")
_ANSWERED = ("correct_answer", "answer", "outcome", "correct", "rt_ms")
_TRUTHS = {"true": True, "1": True, "1.0": True, "false": False, "0": False, "0.0": False}
#: What programs write where nothing was pressed.
_SILENCE = NOTHING - {"-", "--", "?", "."}
_MOST_NAMES = 12


class LabOptions(Options):
    """Options for a laboratory's table."""

    paradigm: AsParadigm = None
    participant: Annotated[
        str,
        Field(description="column with the participants' identifiers, or FILE for the name of the file"),
        Flag(metavar="COLUMN"),
    ] = ""
    factors: Annotated[
        str,
        Field(description="columns of conditions, such as load,congruent; no other columns are taken"),
        Flag(metavar="COLUMN,..."),
    ] = ""
    practice: Annotated[
        str,
        Field(description="rows that are practice: COLUMN=VALUE, or the name of a loop of PsychoPy"),
        Flag(metavar="ROWS"),
    ] = ""
    response: Annotated[
        str,
        Field(description="PsychoPy: the component(s) with the answers, if not all; such as key_resp"),
        Flag(metavar="NAME,..."),
    ] = ""
    chance: Annotated[
        float | None,
        Field(ge=0, le=1, description="the share that is right by guessing, such as 0.5; no chance line without it"),
    ] = None
    skip_malformed: SkipMalformed = False


@dataclass(frozen=True)
class LabRow:
    """A row of a file: the values by column, as they are written (None for JSON's null)."""

    file: Path
    number: int
    values: Mapping[str, Any]

    def text(self, column: str) -> str:
        """A value as text without spaces around it; empty where there is none."""
        value = self.values.get(column)
        return "" if value is None else str(value).strip()

    def problem(self, column: str, message: str) -> Problem:
        """Something wrong in this row."""
        return Problem(f"{self.file}:{self.number}", column, message)


@dataclass(frozen=True)
class LabAnswer:
    """One answer in a row.

    Parameters
    ----------
    part : which part of the trial it answers; empty where there is only one
    answer, correct_answer : as they are written; None for nothing
    """

    part: str
    answer: Any
    correct_answer: Any
    correct: bool
    rt_ms: float | None


class LabTableError(Exception):
    """A value that cannot be what it stands for.

    Parameters
    ----------
    column, message : where it is, and what is wrong with it
    """

    def __init__(self, column: str, message: str) -> None:
        super().__init__(f"{column}: {message}")
        self.column, self.message = column, message


class LabFormat(Format[LabOptions, Any]):
    """A program's own table of answers. What is particular to the program is said by the methods
    below."""

    #: columns that may hold the participants' identifiers, the first one that is there is taken
    participants: ClassVar[tuple[str, ...]] = ()
    #: columns that tell apart sessions of one participant
    runs: ClassVar[tuple[str, ...]] = ()
    #: further columns that are of the program, and no conditions
    own: ClassVar[frozenset[str]] = frozenset()

    @abstractmethod
    def rows(self, file: Path) -> list[LabRow]:
        """The rows of a file.

        Raises
        ------
        SpanLabError
            when it is not of this format.
        """

    @abstractmethod
    def answers(self, row: LabRow, options: LabOptions) -> list[LabAnswer]:
        """The scored answers in a row; none in rows of instructions, pauses and the like.

        Raises
        ------
        MalformedError
            when a value cannot be what it stands for.
        """

    def paradigm_of(self, row: LabRow) -> str:
        """The name of the experiment, where the file says it."""
        return ""

    def is_practice(self, row: LabRow, rows: str) -> bool:
        """Return whether a row belongs to practice, as the option says: here COLUMN=VALUE."""
        column, equals, value = rows.partition("=")
        if not equals or column not in row.values:
            raise SpanLabError(f"--practice {rows}: expected COLUMN=VALUE with a column of {row.file}")
        return row.text(column) == value

    @override
    def read(self, sources: Sequence[Path], output: Path, options: LabOptions, report: Report) -> None:
        if output.suffix.lower() != ".csv":
            raise SpanLabError(f"-o names the response table that is written, such as answers.csv; found {output}")
        if output.exists():
            raise SpanLabError(f"{output} is there already; choose another name")
        factors = [name.strip() for name in options.factors.split(",") if name.strip()]
        table = _LabTable([*factors], options.chance, self.own | {*self.participants, *self.runs, options.participant})
        unscored, problems, there = 0, [], set[str]()
        column = (options.practice or "").partition("=")[0]
        for file in dict.fromkeys(path.resolve() for path in sources):
            for row in _checked(self.rows(file), file, factors):
                there.add(row.text(column))
                try:
                    answers = self.answers(row, options)
                    unscored += not answers
                    if answers:
                        table.add(self._head(row, options), row, answers, all(map(row.text, self.runs)))
                except LabTableError as fault:
                    problems.append(row.problem(fault.column, fault.message))
        if problems and not options.skip_malformed:
            raise refused(problems)
        if options.practice and table.rows and not any(row["practice"] for row in table.rows):
            values = f"; {column} has {', '.join(sorted(there))}" if "=" in options.practice else ""
            raise SpanLabError(f"--practice {options.practice}: no answer in these files is practice{values}")
        report.left_out(problems)
        table.write(output)
        self._tell(output, table, unscored, report)

    def _head(self, row: LabRow, options: LabOptions) -> dict[str, Any]:
        """Return who answers in a row, and in which session."""
        person = row.file.stem if options.participant == "FILE" else row.text(self._participant(row, options))
        if person.casefold() in NOTHING:
            raise LabTableError(
                self._participant(row, options),
                f"'{person}' names nobody; give every person an identifier, or give --participant FILE",
            )
        paradigm = options.paradigm or self.paradigm_of(row)
        if not paradigm:
            raise SpanLabError(f"{row.file} does not name the experiment: give --as NAME")
        runs = [row.text(name) for name in self.runs]
        session = "-".join(filter(None, (person, *runs, *([] if runs and all(runs) else [row.file.stem]))))
        practice = bool(options.practice) and self.is_practice(row, options.practice)
        return {"session": session, "participant": person, "paradigm": paradigm, "practice": practice}

    def _participant(self, row: LabRow, options: LabOptions) -> str:
        if options.participant == "FILE":
            return ""
        there = [
            name for name in ([options.participant] if options.participant else self.participants) if name in row.values
        ]
        if len(there) > 1 and len({row.text(name) for name in there}) > 1:
            raise LabTableError(
                " and ".join(there),
                "several columns may name the participant, and they differ: choose with --participant COLUMN",
            )
        if not there:
            expected = options.participant or " or ".join(self.participants)
            raise SpanLabError(
                f"{row.file} has no column that names the participant ({expected}): give --participant COLUMN, or"
                " --participant FILE for the file's name"
            )
        return there[0]

    def _tell(self, output: Path, table: _LabTable, unscored: int, report: Report) -> None:
        people = {row["participant"] for row in table.rows}
        sessions = {row["session"] for row in table.rows}
        practice = sum(bool(row["practice"]) for row in table.rows)
        answers = counted(len(table.rows), "answer") + (f" ({practice:,} of practice)" if practice else "")
        report.done(
            f"{output}: {answers} of {counted(len(people), 'participant')} in {counted(len(sessions), 'session')}"
        )
        if unscored:
            report.note(f"{counted(unscored, 'row')} without a scored answer (instructions, pauses ...) left out")
        if table.contradictions:
            report.note(
                f"{counted(table.contradictions, 'answer')} scored differently from the correct answer in the same row;"
                " the file's scores are used"
            )
        if table.other:
            names = sorted(table.other)
            more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
            report.note(
                f"columns that are not used: {', '.join(names[:_MOST_NAMES])}{more}; --factors names those that are"
                " conditions"
            )


def _checked(rows: list[LabRow], file: Path, factors: Sequence[str]) -> list[LabRow]:
    """The rows of a file that has all the conditions."""
    names = {name for row in rows for name in row.values}
    if rows and (lacking := [name for name in factors if name not in names]):
        raise SpanLabError(f"{file} has no column {', '.join(lacking)}; it has {', '.join(sorted(names))}")
    return rows


class _LabTable:
    """The response table in the making.

    Parameters
    ----------
    factors : columns of conditions
    chance : share that is right by guessing
    known : columns that are no conditions
    """

    def __init__(self, factors: Sequence[str], chance: float | None, known: frozenset[str]) -> None:
        self._factors, self._chance, self._known = factors, chance, known
        self._trials: Counter[str] = Counter()
        self._files: dict[str, Path] = {}
        self.rows: list[dict[str, Any]] = []
        self.other: set[str] = set()
        self.contradictions = 0

    def add(self, head: Mapping[str, Any], row: LabRow, answers: Iterable[LabAnswer], dated: bool) -> None:
        """Add the answers of one row of a file, which is one trial.

        Parameters
        ----------
        dated : whether the row says itself of which session it is

        Raises
        ------
        SpanLabError
            when another file has the same session.
        """
        first = self._files.setdefault(head["session"], row.file)
        if first != row.file:
            same = "" if dated else ", as the names of the files are the same"
            raise SpanLabError(
                f"{first} and {row.file} hold the same session, {head['session']}{same}: name one of them, or rename a"
                " file"
            )
        self._trials[head["session"]] += 1
        conditions = {_column(name): _level(name, row) for name in self._factors}
        taken = {*self._factors, *self._known}
        self.other |= {
            name
            for name, value in row.values.items()
            if name not in taken and value not in (None, "") and "." not in name
        }
        for number, answer in enumerate(answers, start=1):
            silent = answer.answer is None
            expected = answer.correct_answer
            if expected is not None and not silent and (str(expected) == str(answer.answer)) != answer.correct:
                self.contradictions += 1
            self.rows.append(
                {
                    **head,
                    "agent_kind": PARTICIPANT.name,
                    "agent": PARTICIPANT.name,
                    "trial": self._trials[head["session"]],
                    "ask": number,
                    "phase": answer.part,
                    "chance": "" if self._chance is None else self._chance,
                    **conditions,
                    "correct_answer": _scalar(expected),
                    "answer": _scalar(answer.answer),
                    "outcome": "omitted" if silent and not answer.correct else "answered",
                    "correct": "true" if answer.correct else "false",
                    "rt_ms": "" if answer.rt_ms is None else answer.rt_ms,
                }
            )

    def write(self, output: Path) -> None:
        """Write the table, whole or not at all.

        Raises
        ------
        SpanLabError
            when there is nothing to write, or it cannot be written.
        """
        if not self.rows:
            raise SpanLabError("no row has a scored answer, so there is no table: nothing was imported")
        with whole_file(output) as file:
            writer = csv.DictWriter(file, [*_COLUMNS, *map(_column, self._factors), *_ANSWERED], lineterminator="\n")
            writer.writeheader()
            writer.writerows({**row, "practice": "true" if row["practice"] else "false"} for row in self.rows)


def _column(name: str) -> str:
    return name if name in _OWN else f"factor_{name}"


def _level(name: str, row: LabRow) -> str:
    """A level of a condition as the response table has it: numbers plain, texts in quotes."""
    text = row.text(name)
    if name in _OWN or not text:
        return text
    try:
        value = json.loads(text)
    except ValueError:
        value = text
    return json.dumps(value if isinstance(value, int | float) and isfinite(value) else text, ensure_ascii=False)


def _scalar(value: Any) -> str:
    """An answer as the response table has it."""
    return (
        ""
        if value is None
        else json.dumps(value if isinstance(value, int | float | str) else json.dumps(value), ensure_ascii=False)
    )


# -- values ----------------------------------------------------------------------------------------


def truth_of(column: str, value: Any) -> bool | None:
    """Return whether an answer was scored as correct; None where it was not scored.

    Raises
    ------
    MalformedError
        when it is neither.
    """
    text = "" if value is None else str(value).strip().lower()
    if text in _SILENCE:
        return None
    if text not in _TRUTHS:
        raise LabTableError(column, f"expected 1 or 0, true or false; found '{value}'")
    return _TRUTHS[text]


def time_of(column: str, value: Any, in_ms: float) -> float | None:
    """A reaction time in ms; None where there is none.

    Parameters
    ----------
    in_ms : how many ms its unit has

    Raises
    ------
    MalformedError
        when it is no time.
    """
    text = "" if value is None else str(value).strip()
    if text.lower() in _SILENCE:
        return None
    try:
        time = float(text) * in_ms
    except ValueError:
        time = -1.0
    if not isfinite(time) or time < 0:
        raise LabTableError(column, f"expected one time; found '{value}'")
    return round(time, 3)


def answer_of(value: Any) -> Any:
    """An answer as it is written; None where there was none."""
    if isinstance(value, str):
        return None if value.strip().lower() in _SILENCE else value.strip()
    return value


def read_csv(file: Path) -> Iterator[LabRow]:
    """The rows of a text file with a header, whatever separates its columns.

    Raises
    ------
    SpanLabError
        when it cannot be read as one.
    """
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise SpanLabError(f"{file} cannot be read as a table: {error}") from None
    first = text.partition("\n")[0]
    lines = csv.reader(text.splitlines(keepends=True), delimiter=max((",", ";", "\t"), key=first.count))
    names = [name.strip() for name in next(lines, [])]
    twice = sorted({name for name in names if name and names.count(name) > 1})
    if twice:
        raise SpanLabError(f"{file} has several columns called {', '.join(twice)}: it is unclear which one counts")
    for values in lines:
        if any(values):
            yield LabRow(
                file, lines.line_num, {name: value for name, value in zip(names, values, strict=False) if name}
            )
