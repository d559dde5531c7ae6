"""What an archive of a study holds: the study file with its paradigms, the data, and a codebook. Without identifiers,
unless they are asked for."""

from __future__ import annotations

import csv
import io
import json
import re
import secrets
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict
from os.path import isfile  # unlike that of Path, it takes names that no file can have
from pathlib import Path
from typing import Any, cast

from spanlab.core import SpanLabError, as_object
from spanlab.paradigms.language import read
from spanlab.paradigms.language.own_files import TABLE
from spanlab.paradigms.language.yaml_source import in_library
from spanlab.sessions.record import COLUMNS
from spanlab.sessions.studies import Study, changing, people
from spanlab.sessions.studies.participants import PLACES, Person, add

#: what SpanLab writes about a participant, save what assistants and participants have typed, or what links said; and
#: save tables, which follow from the events
_KEPT = re.compile(
    r"session-[0-9]+(-run-[0-9]+)?/(battery\.jsonl?|\w[\w.-]*/(session\.json|(events|transcripts)\.jsonl"
    r"|(images|sounds)/[0-9a-f]{64}\.\w+|states/[0-9]+\.parquet))"
)
_LEFT_OUT = ("notes.jsonl", "unfinished.jsonl", "responses.csv", "responses.parquet")
#: what an assistant has typed or a link said, by the key that it stands below or the event that it belongs to
_TYPED = {"came": "link", "code": "code", "skipped": "reason", "repeated": "reason", "set_aside": "reason"}
#: the people of a study: lines in an archive, which needs no database to be read
PEOPLE = "participants.jsonl"


def study_files(study: Study, real_ids: bool, left_out: list[str]) -> Iterator[tuple[str, bytes]]:
    """The study file, and the files of its own that it names.

    Parameters
    ----------
    real_ids : whether the list of who may take part is one of them
    left_out : takes the files that are not in the study's folder, and that list
    """
    place = study.file.parent.resolve()
    allowed = place / ((study.online and study.online.allow) or "")
    found = {study.file, allowed, *(file for file in (study.display, study.font) if file is not None)}
    own = ((Path(one.source), one.paradigm) for one in study.paradigms if not in_library(one.source))
    for file, paradigm in own:
        found |= {*_own(file, file.parent), *(file.parent / name for name in paradigm.reader.files)}
    for file in sorted({file.resolve() for file in found if isfile(file)}):
        if file.is_relative_to(place) and (real_ids or file != allowed.resolve()):
            yield f"study/{file.relative_to(place).as_posix()}", file.read_bytes()
        else:
            left_out.append(str(file))


def _own(file: Path, folder: Path) -> set[Path]:
    """A paradigm file, those that it extends, and what may be their tables of conditions, in a folder."""
    data = as_object(read(file).data)
    extended, table = data.get("extends"), str(as_object(data.get("draw")).get(TABLE, ""))
    own = isinstance(extended, str) and not in_library(extended)
    return {file, folder / table, *(_own(file.parent / str(extended), folder) if own else ())}


def data_files(folder: Path) -> Iterator[tuple[str, bytes]]:
    """The data of a study as they are; its people last, so that everybody who has data by then is among them."""
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        passing = any(part.endswith(".part") or part.startswith(".withdrawn-") for part in inside.parts)
        kept_otherwise = path.name == ".lock" or path.name.startswith(PLACES)
        if path.is_file() and not path.is_symlink() and not passing and not kept_otherwise:
            yield f"data/{folder.name}/{inside.as_posix()}", path.read_bytes()
    lines = (
        {{"name": "participant"}.get(key, key): value for key, value in asdict(person).items()}
        for person in people(folder)
    )
    yield f"data/{folder.name}/{PEOPLE}", "".join(f"{json.dumps(line)}\n" for line in lines).encode()


def people_of(lines: bytes) -> list[Person]:
    """The people of a study, from an archive.

    Raises
    ------
    SpanLabError
        when the lines are not those of an archive.
    """
    try:
        return [Person(line.pop("participant"), **line) for line in map(json.loads, lines.splitlines())]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise SpanLabError(f"{PEOPLE} in the archive is damaged; take another copy") from None


def list_people(folder: Path, archived: Collection[Person]) -> None:
    """List the people of an archive in a data folder, save those who are there.

    Raises
    ------
    SpanLabError
        when one of them is nobody, or the list cannot be written.
    """
    there = people(folder)
    try:
        with changing(folder) as listed:
            for person in (one for one in archived if one not in there):
                add(listed, person)
    except (OverflowError, UnicodeEncodeError):
        raise SpanLabError(f"{PEOPLE} in the archive is damaged; take another copy") from None


def codebook() -> bytes:
    """The columns of the response table, and what they mean."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(
        [["column", "type", "unit", "meaning"], *([one.name, one.type, one.unit, one.meaning] for one in COLUMNS)]
    )
    return text.getvalue().encode()


class Pseudonyms:
    """Other names for the participants of a study and their sessions, drawn at random; nobody keeps which is whose.

    Parameters
    ----------
    folder : with the data of the study
    fields : what was asked about people and may be shared
    """

    def __init__(self, folder: Path, fields: Collection[str] = ()) -> None:
        self._fields = fields
        names = [person.name for person in people(folder) if person.name is not None]
        numbers = secrets.SystemRandom().sample(range(1, len(names) + 1), len(names))
        self.names: dict[str, str] = {name: f"s{number:03d}" for name, number in zip(names, numbers, strict=True)}
        self._sessions: dict[str, str] = {}
        for name, label in self.names.items():
            slug = re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-").lower()
            for path in (folder / name).glob("*/[!.]*/session.json"):
                self._sessions[path.parent.name] = path.parent.name.replace(f"-{slug}-", f"-{label}-", 1)
        # an identifier that is shorter, or a number, stands for many other things in a text
        telling = [name for name in self.names if len(name) >= 4 and not name.isdigit()]
        known = sorted(map(re.escape, [*self._sessions, *telling]), key=len, reverse=True)
        self._known = re.compile(rf"(?<![\w-])(?:{'|'.join(known)})(?![\w-])") if known else None

    def applied(self, files: Iterator[tuple[str, bytes]], left_out: list[str]) -> Iterator[tuple[str, bytes]]:
        """The files of a study without what says who took part.

        Parameters
        ----------
        left_out : takes the names of files that SpanLab has not written
        """
        for name, content in files:
            parts = name.split("/")
            known = parts[2] in self.names and {*parts[4:-1][:1]} <= self._sessions.keys()  # none that began meanwhile
            if parts[2:] == [PEOPLE] or (known and _KEPT.fullmatch("/".join(parts[3:]))):
                renamed = [self.names.get(part, self._sessions.get(part, part)) for part in parts]
                yield "/".join(renamed), self._record(name, content) if ".json" in parts[-1] else content
            elif parts[-1] not in _LEFT_OUT:
                left_out.append(name)

    def _record(self, name: str, content: bytes) -> bytes:
        try:
            if name.endswith(".jsonl"):
                lines = content[: content.rfind(b"\n") + 1].splitlines()
                renamed = (json.dumps(self._renamed(json.loads(line)), separators=(",", ":")) for line in lines)
                return "".join(f"{line}\n" for line in renamed).encode()
            return (json.dumps(self._renamed(json.loads(content)), indent=1, ensure_ascii=False) + "\n").encode()
        except (ValueError, RecursionError):
            raise SpanLabError(f"{name} is damaged; restore the file from a copy") from None

    def _renamed(self, value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            mapping = cast("Mapping[str, Any]", value)
            if key == "fields":
                return {name: part for name, part in mapping.items() if name in self._fields}
            typed = _TYPED.get(key or str(mapping.get("event")))
            return {name: "" if name == typed else self._renamed(part, name) for name, part in mapping.items()}
        if isinstance(value, list):
            return [self._renamed(part) for part in cast("list[Any]", value)]
        if not isinstance(value, str):
            return value
        if key == "participant":
            return self.names.setdefault(value, f"s{len(self.names) + 1:03d}")  # of who has come meanwhile
        if key == "why" and "identifier" in value:
            return "by the identifier"
        return (
            value
            if self._known is None
            else self._known.sub(lambda match: self._sessions.get(match[0]) or self.names[match[0]], value)
        )
