"""The tables of a BIDS data set: which there are, their rows and what stands beside them, before
anything is made of them."""

from __future__ import annotations

import csv
import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from spanlab.core import Problem, SpanLabError, as_object, as_tuple
from spanlab.exchange import counted
from spanlab.sessions.record import COLUMNS

_TABLE = re.compile(
    r"(?P<who>sub-(?P<label>[A-Za-z0-9]+))(_ses-(?P<visit>[A-Za-z0-9]+))?_task-(?P<task>[A-Za-z0-9]+)(_[a-z]+-[A-Za-z0-9]+)*_(?P<suffix>events|beh)\.tsv"
)
#: without these, no session can be made
_NEEDED = (
    "block",
    "trial",
    "practice",
    "seed",
    "trial_id",
    "step",
    "ask",
    "trial_type",
    "outcome",
    "answer",
    "correct",
    "generator",
)
#: which are missing where a table says that its seeds were left out
_OF_SEEDS = ("seed", "trial_id")
#: of what stands beside a table whose trials cannot be made again
SEEDS_LEFT_OUT = "left out"
#: of displays, in a table with onsets
_OF_EVENTS = ("onset", "duration", "event_type")
OF_DISPLAYS = ("planned_ms", "shown_ms", "planned_frames", "shown_frames", "dropped_frames")
TYPES = {column.name: column.type for column in COLUMNS}
Row = dict[str, Any]


@dataclass(slots=True)
class Sitting:
    """A table with what stands beside it."""

    path: Path
    rows: list[Row]
    sidecar: Mapping[str, Any]
    windowed: bool

    @property
    def about(self) -> Mapping[str, Any]:
        """Notes of SpanLab on the session."""
        return as_object(self.sidecar.get("SpanLab"))

    @property
    def seedless(self) -> bool:
        """True if it has no seeds on purpose, so that its trials cannot be made again."""
        return self.about.get("Seeds") == SEEDS_LEFT_OUT


@dataclass(slots=True)
class TablesOfSession:
    """The tables of one session, in the order of its sittings."""

    label: str
    task: str
    sittings: list[Sitting] = field(default_factory=list["Sitting"])

    @property
    def digest(self) -> str:
        """A hash of all its tables."""
        return hashlib.sha256(b"".join(one.path.read_bytes() for one in self.sittings)).hexdigest()


class MalformedError(Exception):
    """Something in a table is not what it should be: file, place and message."""

    def __init__(self, path: Path, place: str, message: str) -> None:
        self.problem = Problem(str(path), place, message)
        super().__init__(message)


def renamed_columns(text: str | None) -> dict[str, str]:
    """Their names of columns by SpanLab's."""
    names: dict[str, str] = {}
    for part in (text or "").split(","):
        ours, equals, theirs = part.strip().partition("=")
        if part.strip() and not (equals and ours and theirs):
            raise SpanLabError(f"--columns: expected NAME=THEIRS, such as seed=trial_seed; found '{part.strip()}'")
        if part.strip():
            names[theirs.strip()] = ours.strip()
    return names


def read_tables(data_set: Path, renamed: Mapping[str, str]) -> tuple[list[TablesOfSession], list[Problem]]:
    if not (data_set / "dataset_description.json").exists():
        raise SpanLabError(f"{data_set} is not a BIDS data set: it has no dataset_description.json")
    sources: dict[tuple[str, ...], TablesOfSession] = {}
    problems: list[Problem] = []
    lacking: dict[tuple[str, ...], Path] = {}
    for path in sorted(data_set.glob("sub-*/**/beh/*.tsv")):
        match = _TABLE.fullmatch(path.name)
        if match is None:
            continue
        try:
            sitting = _read_table(path, match, data_set, renamed)
        except MalformedError as error:
            problems.append(error.problem)
            continue
        there = set(sitting.rows[0]) if sitting.rows else set()
        needed = [
            name
            for name in (*_NEEDED, *(_OF_EVENTS if sitting.windowed else ()))
            if not (sitting.seedless and name in _OF_SEEDS)
        ]
        if missing := tuple(name for name in needed if name not in there):
            lacking.setdefault(missing, path)
            continue
        number = str(sitting.about.get("Session", path.name))
        key = (match["label"], match["visit"] or "", match["task"], match["suffix"], number)
        sources.setdefault(key, TablesOfSession(match["label"], match["task"])).sittings.append(sitting)
    if lacking:
        raise SpanLabError("\n".join([*(_lacks(path, missing) for missing, path in lacking.items()), _REMEDY]))
    if not sources and not problems:
        raise SpanLabError(f"{data_set} has no table of answers: sub-*/[ses-*/]beh/*_events.tsv or *_beh.tsv")
    for source in sources.values():
        source.sittings.sort(key=lambda one: integer_in(one.about.get("Sitting", 1), one.path, "Sitting"))
    return list(sources.values()), problems


_REMEDY = (
    "without these columns the trials cannot be made again, and nothing was imported; "
    "if they have other names there, give these names with --columns, such as --columns seed=trial_seed,answer=response"
)


def _lacks(path: Path, missing: Sequence[str]) -> str:
    several = len(missing) > 1
    return f"{path} lacks the column{'s' * several} {', '.join(missing)}"


def _read_table(path: Path, match: re.Match[str], data_set: Path, renamed: Mapping[str, str]) -> Sitting:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            header, *lines = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
    except (OSError, ValueError, csv.Error) as error:
        raise MalformedError(path, "", f"cannot be read as a table ({error})") from None
    names = [renamed.get(name, name) for name in header]
    if len(set(names)) < len(names):
        raise MalformedError(path, "line 1", "two columns have the same name")
    for number, line in enumerate(lines, start=2):
        if len(line) != len(names):
            raise MalformedError(
                path, f"line {number}", f"it has {counted(len(line), 'cell')}, and the first line {len(names)}"
            )
    rows = [
        {name: None if text in ("n/a", "") else text for name, text in zip(names, line, strict=True)} | {"line": number}
        for number, line in enumerate(lines, start=2)
    ]
    if not rows:
        raise MalformedError(path, "", "the table has no rows")
    task = f"task-{match['task']}_{match['suffix']}.json"
    sidecar = {**read_json(data_set / task), **read_json(path.with_suffix(".json"))}
    return Sitting(path, rows, sidecar, match["suffix"] == "events")


def read_json(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {}
    try:
        return as_object(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, RecursionError) as error:
        raise MalformedError(path, "", f"cannot be read as JSON ({error})") from None


def read_participants(data_set: Path) -> dict[str, dict[str, str]]:
    path = data_set / "participants.tsv"
    if not path.exists():
        return {}
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return {
                str(row.get("participant_id")): row
                for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
            }
    except (OSError, ValueError, csv.Error) as error:
        raise SpanLabError(f"{path} cannot be read as a table ({error})") from None


def integer_in(value: Any, path: Path, where: str) -> int:
    text = str(value)
    if not re.fullmatch("-?[0-9]{1,18}", text):
        raise MalformedError(path, where, f"expected a whole number; found {text[:40]}")
    return int(text)


def number_in(text: str | None, path: Path, where: str) -> float | None:
    if text is None:
        return None
    if not re.fullmatch(r"-?[0-9]+(\.[0-9]+)?([eE]-?[0-9]{1,2})?", text):
        raise MalformedError(path, where, f"expected a number; found {text[:40]}")
    try:
        return _finite(text)
    except ValueError:
        raise MalformedError(path, where, f"the number is too large: {text[:40]}") from None


def _finite(text: str) -> float:
    if not math.isfinite(number := float(text)):
        raise ValueError(text)
    return number


def parsed_cell(text: str | None, type_: str, path: Path, where: str) -> Any:
    """A cell as its column's type has it. Levels of factors and recorded values (json) are numbers
    where they look like one."""
    if text is None or type_ == "string":
        return text
    if type_ == "integer":
        return integer_in(text, path, where)
    if type_ == "number":
        return number_in(text, path, where)
    if text in ("true", "false"):
        return text == "true"
    if type_ == "boolean":
        raise MalformedError(path, where, f"expected true or false; found {text[:40]}")
    try:
        return as_tuple(json.loads(text, parse_float=_finite)) if not re.search("[A-Za-z]{3}", text) else text
    except (ValueError, RecursionError):
        return text
