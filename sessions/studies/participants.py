"""The participants of a study: identifiers, numbers that are given only once, places and groups
(balanced over everybody who takes part), and people who have withdrawn.

The file ``places.sqlite`` in the data folder of the study has a row for each of them. Whoever changes it
reads it under the same lock, so that no two processes give the same number or place.
"""

from __future__ import annotations

import itertools
import os
import re
import shutil
import sqlite3
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, fields, replace
from datetime import datetime
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, get_args

from ...core.atomic_files import (
    TakenError,
    json_line,
    make_folder,
    only_writer,
    sync_folder,
    write_json,
    write_whole,
)
from ...core.errors import SpanLabError, UnwritableError
from ...core.json_values import where_given
from ...core.locale import sentence
from ...paradigms.identity import stream
from ..session import utc_now
from .schema import Group
from .visit_files import HEAD, JOURNAL, completed, last_sign, read_head, read_journal, runs

#: People of each kind are counted by themselves, so that pilots and rehearsals do not use up the
#: rows of a Latin square.
Kind = Literal["person", "pilot", "simulated"]
KINDS: tuple[Kind, ...] = get_args(Kind)

#: in the data folder of a study: its people and their places, and who visits now
PLACES = "places.sqlite"
_TABLES = (
    "CREATE TABLE IF NOT EXISTS people (name TEXT COLLATE NOCASE, number INTEGER, kind TEXT, at TEXT, withdrawn TEXT,"
    ' sessions INTEGER, "group" TEXT, place INTEGER, since TEXT, "left" TEXT, why TEXT, PRIMARY KEY (kind, number))',
    "CREATE INDEX IF NOT EXISTS names ON people (name)",
    "CREATE TABLE IF NOT EXISTS visits (worker INTEGER PRIMARY KEY, told TEXT)",
)
_PATIENCE_S = 20.0
_GONE = ".withdrawn-"
#: before the number of somebody who does not agree to take part, in place of an identifier
_REFUSED = "refused-"
_MOST = 1_000_000
_BLANKS = {" ": "blank", "\n": "line_break", "\t": "tab"}


@dataclass(frozen=True, slots=True)
class Person:
    """A participant of a study.

    Parameters
    ----------
    name : identifier; None when it was to be forgotten
    number : from 1, in each kind
    at : when the number was given (UTC)
    withdrawn : when the person withdrew, or empty
    sessions : how many ordinary sessions were removed then
    group, place : in a study with groups the person's group, and the place in it (from 1); in a
        study for so many people, the place in the study
    since : when the place was given, for the last time (UTC)
    left, why : when somebody else might have the place (UTC), and why: the person dropped out, or
        refused; empty for who has it
    """

    name: str | None
    number: int
    kind: Kind
    at: str
    withdrawn: str = ""
    sessions: int = 0
    group: str = ""
    place: int = 0
    since: str = ""
    left: str = ""
    why: str = ""

    @property
    def takes_part(self) -> bool:
        """True if the person has a place in the study: neither withdrawn nor gone."""
        return not self.withdrawn and not self.left

    @property
    def turn(self) -> int:
        """The number by which orders and keys are balanced: the place in the group, in which they
        are balanced then, or else the number."""
        return self.place or self.number


def misnamed(name: str, language: str = "en") -> str | None:
    """Why an identifier is not valid, in the user's language, or None."""
    if not name:
        return sentence("wrong.needed", language)
    if re.fullmatch(r"(?i)con|prn|aux|nul|com[0-9]|lpt[0-9]", name):
        return sentence("wrong.reserved", language, name=name)
    if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}", name):
        return None
    strange = re.sub(r"[A-Za-z0-9_-]", "", name)[:1] or name[:1]
    if len(name) > 40:
        described = sentence("wrong.letters", language, n=len(name))
    elif strange.isprintable() and strange != " ":
        described = f"'{strange}'"
    else:
        described = sentence(f"wrong.{_BLANKS.get(strange, 'sign')}", language)
    return sentence("wrong.beginning" if strange in "-_" else "wrong.identifier", language, found=described)


@contextmanager
def changing(folder: Path, mode: int = 0o777) -> Generator[sqlite3.Connection]:
    """Change the list of people in the data folder of a study, which is made when it is missing: all that the
    block does, or nothing. Other processes wait meanwhile. It is on the disk when the block ends.

    Parameters
    ----------
    mode : permissions of what is made, as far as the system's mask leaves them; the list has none that its folder
        lacks

    Raises
    ------
    SpanLabError
        when the file cannot be written, or is damaged.
    """
    make_folder(folder, remedy="choose another folder with --data", mode=mode)
    file = folder / PLACES
    try:
        if not file.exists():  # a file that is opened and closed ends the locks of the whole process on it
            with suppress(FileExistsError):
                os.close(os.open(file, os.O_CREAT | os.O_EXCL, folder.stat().st_mode & mode & 0o666))
        with closing(sqlite3.connect(file, _PATIENCE_S, isolation_level=None)) as listed:
            listed.execute("PRAGMA secure_delete = ON")  # a name that is forgotten is nowhere in the file
            listed.execute("BEGIN IMMEDIATE")
            for table in _TABLES:
                listed.execute(table)
            yield listed
            listed.execute("COMMIT")
    except (sqlite3.OperationalError, PermissionError) as error:
        hint = "another program holds it" if "locked" in str(error) else "free some space, or check the disk"
        raise UnwritableError(f"cannot write {file}: {error}; {hint}") from None
    except (sqlite3.DatabaseError, OverflowError, UnicodeError) as error:
        raise _damaged(file, error) from None


def _damaged(file: Path, error: object) -> SpanLabError:
    return SpanLabError(f"{file} is damaged ({error}); restore the file from a copy")


def people(folder: Path) -> list[Person]:
    """Everybody who was given a number, in that order, including people who withdrew.

    Parameters
    ----------
    folder : data folder of the study

    Raises
    ------
    SpanLabError
        when the file is damaged.
    """
    return _read(folder)


def find(folder: Path, name: str) -> Person | None:
    """The person with an identifier (in whatever case), or None."""
    return next(iter(_read(folder, "WHERE name = ?", name)), None)


def _read(folder: Path, which: str = "", *values: str) -> list[Person]:
    file = folder / PLACES
    if not file.is_file() or not file.stat().st_size:
        return []
    try:
        with closing(sqlite3.connect(file, _PATIENCE_S)) as listed:
            return _listed(listed, which, *values)
    except (sqlite3.Error, TypeError, UnicodeError) as error:
        raise _damaged(file, error) from None


def _listed(listed: sqlite3.Connection, which: str = "", *values: str) -> list[Person]:
    columns = ", ".join(f'"{field.name}"' for field in fields(Person))
    if listed.execute("SELECT 1 FROM sqlite_master WHERE type IN ('view', 'trigger')").fetchone():
        raise sqlite3.DataError("it holds more than tables")  # which may have no end
    found = [Person(*row) for row in listed.execute(f"SELECT {columns} FROM people {which} ORDER BY rowid", values)]
    for person in found:
        _check(person)
    return found


def _check(person: Person) -> None:
    """Refuse what is nobody: names and kinds become parts of folders' names."""
    named = person.name is None or misnamed(person.name) is None
    if not named or person.kind not in KINDS or not isinstance(person.number, int):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise sqlite3.DataError(f"'{person.name}', {person.kind} {person.number}, is nobody")


def unknown(folder: Path, everybody: Iterable[Person]) -> list[str]:
    """Identifiers with sessions in the folder of the study but not in the list of people."""
    names = {person.name for person in everybody}
    inside = folder.iterdir() if folder.is_dir() else ()
    return sorted(
        path.name
        for path in inside
        if path.name not in names and not path.name.startswith(".") and any(path.glob("session-*/battery.json"))
    )


def named_by_number(kind: Kind, number: int) -> str:
    """The identifier of somebody without one, such as a simulated participant."""
    return f"{kind}-{number}"


def next_number(everybody: Iterable[Person], kind: Kind) -> int:
    """The smallest number that nobody of this kind has or had."""
    numbers = {person.number for person in everybody if person.kind == kind}
    return next(number for number in itertools.count(1) if number not in numbers)


def number_taken(everybody: Iterable[Person], kind: Kind, number: int, language: str = "en") -> str | None:
    """Why a number cannot be given, or None."""
    if not 1 <= number <= _MOST:
        return sentence("wrong.number", language, found=number)
    other = next((person for person in everybody if person.kind == kind and person.number == number), None)
    if other is None:
        return None
    return sentence(
        "wrong.number_gone" if other.withdrawn else "wrong.number_taken", language, number=number, name=other.name
    )


#: why a place has become free
DROPPED_OUT, REFUSED, NOT_PASSED = "dropped out", "refused", "did not pass a quiz"


class StudyFullError(SpanLabError):
    """There is no place for anybody else."""


@dataclass(frozen=True, slots=True)
class Assigner:
    """Assigns participants to the places of a study, and to its groups. Called under the lock that
    gives numbers, so that nobody else takes the same place.

    Parameters
    ----------
    groups : of the study; none in a study without groups
    study, seed : name and seed of the study
    people : at most so many take part; None for everybody who comes
    folder : data folder of the study, in which the signs of its people are looked for; None where
        nobody leaves a place
    drop_out_s : who has not finished and gives no sign for so long has dropped out; None where
        nobody does
    clock : seconds since the epoch
    """

    groups: Sequence[Group]
    study: str
    seed: int
    people: int | None = None
    folder: Path | None = None
    drop_out_s: float | None = None
    clock: Callable[[], float] = time.time

    def __call__(self, everybody: Iterable[Person], kind: Kind, number: int) -> tuple[str, int]:
        """The group of the next participant, and the place in it (from 1).

        The group with the fewest people gets the next one (where every group has a number of
        people, the one with the smallest part of it filled). Between groups that are alike in this,
        the participant's number decides, by a draw. Who withdrew or dropped out leaves a place,
        which the next one takes.

        Returns
        -------
        (group, place)
            the group is empty in a study without groups; the place is 0 there unless places are
            counted: the study is for so many people, or people drop out

        Raises
        ------
        StudyFullError
            when there is no place.
        """
        if not self.groups and self.people is None and self.drop_out_s is None:
            return "", 0
        here = _taking_part(everybody, kind)
        vacant = self._vacant(here, kind)
        sized = all(group.people is not None for group in self.groups)
        filled = {name: Fraction(_count(here, name), self._size(name) or 1 if sized else 1) for name in vacant}
        least = [name for name, share in filled.items() if share == min(filled.values())]
        name = (
            least[int(stream(self.study, self.seed, f"group:{kind}:{number}").randint(len(least)))]
            if self.groups
            else ""
        )
        turns = {person.turn for person in here if person.group == name}
        return name, next(place for place in range(1, len(turns) + 2) if place not in turns)

    def check_return(self, everybody: Iterable[Person], person: Person) -> None:
        """Check that there is a place for somebody who comes back after the place was given up.

        Raises
        ------
        StudyFullError
            when there is none.
        """
        vacant = self._vacant(_taking_part(everybody, person.kind), person.kind)
        if self.groups and person.group not in vacant:
            raise StudyFullError(f"the group of {person.name} in {self.study} is full by now ({person.group})")

    def leavers(self, everybody: Iterable[Person]) -> list[tuple[Person, str]]:
        """Return the people who have a place and are gone, with the reasons."""
        if self.folder is None:
            return []
        looked_at = [
            (person, self._why_gone(self.folder, person))
            for person in everybody
            if person.kind == "person" and person.takes_part
        ]
        return [(person, why) for person, why in looked_at if why]

    def as_now(self, everybody: Iterable[Person]) -> list[Person]:
        """Everybody, without a place where somebody is gone; nothing is written."""
        everybody = list(everybody)
        reasons = {person.number: why for person, why in self.leavers(everybody)}
        return [
            replace(one, left="now", why=reasons[one.number]) if one.kind == "person" and one.number in reasons else one
            for one in everybody
        ]

    def _size(self, name: str) -> int | None:
        return next((group.people for group in self.groups if group.name == name), None)

    def _vacant(self, here: Sequence[Person], kind: Kind) -> list[str]:
        """The groups with a place; the empty name stands for the whole of a study without groups.

        Raises
        ------
        StudyFullError
            when there is none.
        """
        names = [group.name for group in self.groups] or [""]
        if kind != "person":  # pilots and rehearsals fill no place of a person
            return names
        if self.people is not None and len(here) >= self.people:
            raise StudyFullError(
                f"{self.study} is full ({len(here)} of {self.people} people); nobody else can take part unless the"
                " study file has more 'people'"
            )
        vacant = [name for name in names if (size := self._size(name)) is None or _count(here, name) < size]
        if not vacant:
            full = ", ".join(f"{group.name}: {_count(here, group.name)} of {group.people}" for group in self.groups)
            raise StudyFullError(
                f"every group of {self.study} is full ({full}); nobody else can take part unless the study file has"
                " more 'people' for a group"
            )
        return vacant

    def _why_gone(self, folder: Path, person: Person) -> str:
        """Why somebody who has a place is gone; empty for who is not: who has finished, gives
        signs, or is at a page now."""
        began = datetime.fromisoformat(person.since).timestamp()
        if self.drop_out_s is None or self.clock() - began <= self.drop_out_s:
            return ""
        visits = runs(folder, person.name) if person.name else []
        visit = visits[-1] if visits else None
        finished, refused = (False, "") if visit is None else _last_word(visit / JOURNAL)
        if finished:
            return ""
        if refused and refused >= person.since:
            return REFUSED
        signs = visit is not None and (
            self.clock() - last_sign(visit) <= self.drop_out_s or _in_use(visit) or completed(visit)
        )
        return "" if signs else DROPPED_OUT


def _taking_part(everybody: Iterable[Person], kind: Kind) -> list[Person]:
    return [person for person in everybody if person.kind == kind and person.takes_part]


def _count(here: Iterable[Person], group: str) -> int:
    return sum(person.group == group for person in here)


def _in_use(visit: Path) -> bool:
    try:
        with only_writer(visit):
            return False
    except TakenError:
        return True


def _last_word(journal: Path) -> tuple[bool, str]:
    """Return whether a session of a study is finished, and when (UTC) its participant refused to
    take part, if that was final."""
    try:
        stat = journal.stat()
    except OSError:
        return False, ""
    return _read_word(journal, stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=4096)
def _read_word(journal: Path, changed: int, size: int) -> tuple[bool, str]:
    lines = read_journal(journal.parent)
    answers = [line for line in lines if line["event"] in ("consent", "refused")]
    refused = str(answers[-1].get("at", "")) if answers and answers[-1]["event"] == "refused" else ""
    return any(line["event"] == "finished" for line in lines), refused


def group_counts(groups: Sequence[Group], everybody: Iterable[Person]) -> str:
    """Describe the number of people in each group: ``training 5, control 4``."""
    here = _taking_part(everybody, "person")
    return ", ".join(
        f"{group.name} {_count(here, group.name)}" + (f" of {group.people}" if group.people is not None else "")
        for group in groups
    )


def register(
    folder: Path,
    name: str,
    kind: Kind,
    number: int | None = None,
    now: Callable[[], str] = utc_now,
    assign: Assigner | None = None,
) -> Person:
    """Give a person a number once: the requested one, or the next free one. A person who has one
    keeps it. It is on the disk when this returns.

    Places of people who have gone become free first. One of them who comes back has the old number,
    group and place again, if the study is not full.

    Parameters
    ----------
    folder : data folder of the study; made when it is missing
    name : identifier; empty for simulated participants, who are named by their number
    assign : gives groups and places; None where the study has neither

    Raises
    ------
    SpanLabError
        when the number is taken, the study is full, or the folder cannot be written.
    """
    with changing(folder) as listed:
        _sweep(folder)
        _forget_refusals(folder, listed)
        known = next(iter(_listed(listed, "WHERE name = ?", name)), None)
        if known is not None and not known.left and not (assign and assign.leavers([known])):
            return known  # nobody else has to be looked at, and there may be thousands
        for person, why in assign.leavers(_listed(listed)) if assign is not None else ():
            _leave(listed, person, why, now)
        everybody = _listed(listed)
        returning = next(iter(_listed(listed, "WHERE name = ?", name)), None)
        if returning is not None and returning.left and not returning.withdrawn:
            if assign is not None:
                assign.check_return(everybody, returning)
            returning = replace(returning, left="", why="", since=now())
            listed.execute(
                "UPDATE people SET since = ?, \"left\" = '', why = '' WHERE name = ?", (returning.since, name)
            )
        if returning is not None:
            return returning
        if lost := unknown(folder, everybody):
            raise SpanLabError(
                f"{folder / PLACES} does not list {', '.join(lost[:5])}, but the folder has data of them, so numbers"
                " might be given twice: restore the file from a copy, or move those folders elsewhere"
            )
        if number is None:
            number = next_number(everybody, kind)
        elif trouble := number_taken(everybody, kind, number):
            raise SpanLabError(trouble)
        group, place = ("", 0) if assign is None else assign(everybody, kind, number)
        at = now()
        person = Person(name or named_by_number(kind, number), number, kind, at, group=group, place=place, since=at)
        add(listed, person)
        return person


def add(listed: sqlite3.Connection, person: Person) -> None:
    """Add somebody to a list that is being changed."""
    _check(person)
    values = [getattr(person, field.name) for field in fields(person)]
    listed.execute(f"INSERT INTO people VALUES ({', '.join('?' * len(values))})", values)


def in_group(person: Person) -> dict[str, Any]:
    """The group of a person and the place, for a record; nothing where there is none."""
    return where_given(group=person.group, place=person.place)


def leave(folder: Path, person: Person, why: str, now: Callable[[], str] = utc_now) -> None:
    """Record that somebody has given up their place; nothing if they have none.

    Raises
    ------
    SpanLabError
        when the folder cannot be written.
    """
    with changing(folder) as listed:
        _leave(listed, person, why, now)


def _leave(listed: sqlite3.Connection, person: Person, why: str, now: Callable[[], str]) -> None:
    listed.execute(
        'UPDATE people SET "left" = ?, why = ? WHERE kind = ? AND number = ?'
        " AND place > 0 AND withdrawn = '' AND \"left\" = ''",
        (now(), why, person.kind, person.number),
    )


def withdraw(
    folder: Path, person: Person, sessions: int, forget: bool = False, now: Callable[[], str] = utc_now
) -> None:
    """Remove all data of a person from the study, and note that this was done. The number is not
    given again.

    The note comes first and the folder goes away in one step: after a kill nothing is half there
    for readers, and the next call removes the rest.

    Parameters
    ----------
    sessions : how many ordinary sessions there are, for the note
    forget : forget the identifier, too; the number stands for it in the note

    Raises
    ------
    SpanLabError
        when the folder cannot be written.
    """
    key = person.kind, person.number
    with changing(folder) as listed:
        note = "UPDATE people SET withdrawn = ?, sessions = ? WHERE kind = ? AND number = ? AND withdrawn = ''"
        listed.execute(note, (now(), sessions, *key))
        listed.execute("DELETE FROM visits")  # which those who serve the study tell again
    with changing(folder) as listed:
        try:
            if person.name is not None and (folder / person.name).exists():
                (folder / person.name).rename(folder / f"{_GONE}{person.kind}-{person.number}")
                sync_folder(folder)
            if forget:
                listed.execute("UPDATE people SET name = NULL WHERE kind = ? AND number = ?", key)
            _sweep(folder)
        except OSError as error:
            raise SpanLabError(
                f"not everything could be removed ({error.filename}: {error.strerror or error}); remove the cause, and"
                " withdraw again"
            ) from None


def forget_refusal(folder: Path, person: Person) -> None:
    """Have a number stand for somebody who does not agree to take part, in place of the identifier and of what a link
    said. Nothing is forgotten of somebody who has agreed before.

    Raises
    ------
    SpanLabError
        when the folder cannot be written.
    """
    visits = runs(folder, str(person.name))
    journals = {visit / JOURNAL: read_journal(visit) for visit in visits}
    if any(line["event"] == "consent" for lines in journals.values() for line in lines):
        return
    name = f"{_REFUSED}{person.kind}-{person.number}"
    with changing(folder) as listed:
        for visit in visits:
            write_json(visit / HEAD, {**read_head(visit), "participant": name})
        for journal, lines in journals.items():
            without_link = [{key: value for key, value in line.items() if key != "link"} for line in lines]
            write_whole(journal, b"".join(map(json_line, without_link)))
        (folder / str(person.name)).rename(folder / name)
        sync_folder(folder)
        _forget_refusals(folder, listed)


def _forget_refusals(folder: Path, listed: sqlite3.Connection) -> None:
    """Take the identifiers of people out of the list whose folders have lost theirs."""
    names = [(path.name,) * 2 for path in folder.glob(f"{_REFUSED}*")]
    listed.executemany(f"UPDATE people SET name = ? WHERE '{_REFUSED}' || kind || '-' || number = ?", names)


def left_over(folder: Path) -> list[Path]:
    """Remains of an interrupted withdrawal; hidden from readers of data."""
    return sorted(folder.glob(f"{_GONE}*"))


def _sweep(folder: Path) -> None:
    for remains in left_over(folder):
        shutil.rmtree(remains)


def size_of(folder: Path) -> tuple[int, int]:
    """The number of files in a folder and their size in bytes."""
    files: list[Any] = [path.stat() for path in folder.rglob("*") if path.is_file()]
    return len(files), sum(file.st_size for file in files)
