"""The participants of a study: identifiers, numbers that are given only once, and people who have
withdrawn.

The file ``participants.jsonl`` in the data folder of the study holds one line for each of these;
lines are only ever added (one exception: an identifier that is to be forgotten after a withdrawal).
Besides, lines say who has left a place to others (a drop-out, or somebody who does not agree to
take part), and who has come back to one.
"""

from __future__ import annotations

import itertools
import re
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Protocol, get_args

from ...core.atomic_files import append_line, json_line, make_folder, only_writer, read_lines, sync_folder, write_whole
from ...core.errors import SpanLabError
from ...core.locale import sentence
from ..session import utc_now

#: People of each kind are counted by themselves, so that pilots and rehearsals do not use up the
#: rows of a Latin square.
Kind = Literal["person", "pilot", "simulated"]
KINDS: tuple[Kind, ...] = get_args(Kind)

_FILE = "participants.jsonl"
_PATIENCE_S = 20.0
_GONE = ".withdrawn-"
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
    registered: dict[tuple[str, int], Person] = {}
    for number, line in enumerate(read_lines(folder / _FILE), start=1):
        try:
            key = (line["kind"], line["number"])
            if line["event"] == "registered" and key not in registered:
                group, place = line.get("group", ""), line.get("place", 0)
                registered[key] = Person(
                    line["participant"],
                    line["number"],
                    line["kind"],
                    line["at"],
                    group=group,
                    place=place,
                    since=line["at"],
                )
            elif line["event"] == "withdrew":
                before = registered[key]
                registered[key] = replace(
                    before, name=line["participant"], withdrawn=line["at"], sessions=line["sessions"]
                )
            elif line["event"] == "left":
                registered[key] = replace(registered[key], left=line["at"], why=line["why"])
            elif line["event"] == "returned":
                registered[key] = replace(registered[key], left="", why="", since=line["at"])
            else:
                raise KeyError("event")
        except (KeyError, TypeError):
            raise SpanLabError(f"{folder / _FILE}:{number} is damaged; restore the file from a copy") from None
    return list(registered.values())


def find(folder: Path, name: str) -> Person | None:
    """The person with an identifier (in whatever case), or None."""
    return next(
        (person for person in people(folder) if person.name is not None and person.name.casefold() == name.casefold()),
        None,
    )


def unknown(folder: Path) -> list[str]:
    """Identifiers with sessions in the folder of the study but no line in ``participants.jsonl``."""
    names = {person.name for person in people(folder)}
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


class Assign(Protocol):
    """Gives places. Called under the lock that gives numbers, so that nobody else takes the same
    place."""

    def __call__(self, everybody: Iterable[Person], kind: Kind, number: int) -> tuple[str, int]:
        """The group of the next participant and the place in it, from everybody who has come, the
        kind and the number."""
        ...

    def leavers(self, everybody: Iterable[Person]) -> Iterable[tuple[Person, str]]:
        """Return the people who have a place and are gone, with the reasons."""
        ...

    def check_return(self, everybody: Iterable[Person], person: Person) -> None:
        """Check that there is a place for somebody who comes back after the place was given up.

        Raises
        ------
        SpanLabError
            when there is none.
        """
        ...


class AnyNumber:
    """A study for everybody who comes, without groups."""

    def __call__(self, everybody: Iterable[Person], kind: Kind, number: int) -> tuple[str, int]:
        """No group."""
        return "", 0

    def leavers(self, everybody: Iterable[Person]) -> Iterable[tuple[Person, str]]:
        """Nobody: there are no places that somebody else might want."""
        return ()

    def check_return(self, everybody: Iterable[Person], person: Person) -> None:
        """Everybody may come back."""


ANY_NUMBER = AnyNumber()


def register(
    folder: Path,
    name: str,
    kind: Kind,
    number: int | None = None,
    now: Callable[[], str] = utc_now,
    assign: Assign = ANY_NUMBER,
) -> Person:
    """Give a person a number once: the requested one, or the next free one. A person who has one
    keeps it. It is on the disk when this returns.

    Places of people who have gone become free first. One of them who comes back has the old number,
    group and place again, if the study is not full.

    Parameters
    ----------
    folder : data folder of the study; made when it is missing
    name : identifier; empty for simulated participants, who are named by their number
    assign : gives groups and places

    Raises
    ------
    SpanLabError
        when the number is taken, the study is full, or the folder cannot be written.
    """
    make_folder(folder, remedy="choose another folder with --data")
    with only_writer(folder, _PATIENCE_S):
        _sweep(folder)
        for person, why in [*assign.leavers(people(folder))]:
            append_line(folder / _FILE, {**_note("left", person), "at": now(), "why": why})
        returning = find(folder, name) if name else None
        if returning is not None and returning.left and not returning.withdrawn:
            assign.check_return(people(folder), returning)
            append_line(folder / _FILE, {**_note("returned", returning), "at": (at := now())})
            return replace(returning, left="", why="", since=at)
        if returning is not None:
            return returning
        if lost := unknown(folder):
            raise SpanLabError(
                f"{folder / _FILE} does not list {', '.join(lost[:5])}, but the folder has data of them, so numbers"
                " might be given twice: restore the file from a copy, or move those folders elsewhere"
            )
        everybody = people(folder)
        trouble = number_taken(everybody, kind, number) if number is not None else None
        if trouble:
            raise SpanLabError(trouble)
        chosen_number = number if number is not None else next_number(everybody, kind)
        group, place = assign(everybody, kind, chosen_number)
        at = now()
        person = Person(
            name or named_by_number(kind, chosen_number), chosen_number, kind, at, group=group, place=place, since=at
        )
        line = {
            "event": "registered",
            "participant": person.name,
            "number": chosen_number,
            "kind": kind,
            "at": person.at,
        }
        append_line(folder / _FILE, {**line, **in_group(person)})
        return person


def in_group(person: Person) -> dict[str, Any]:
    """The group of a person and the place, for a record; nothing where there is none."""
    return {**({"group": person.group} if person.group else {}), **({"place": person.place} if person.place else {})}


def _note(event: str, person: Person) -> dict[str, Any]:
    return {"event": event, "number": person.number, "kind": person.kind, "participant": person.name}


def leave(folder: Path, person: Person, why: str, now: Callable[[], str] = utc_now) -> None:
    """Record that somebody has given up their place; nothing if they have none.

    Raises
    ------
    SpanLabError
        when the folder cannot be written.
    """
    with only_writer(folder, _PATIENCE_S):
        current = next(
            (
                registered
                for registered in people(folder)
                if (registered.kind, registered.number) == (person.kind, person.number)
            ),
            None,
        )
        if current is not None and current.takes_part and current.place:
            append_line(folder / _FILE, {**_note("left", current), "at": now(), "why": why})


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
    with only_writer(folder, _PATIENCE_S):
        if not person.withdrawn:
            append_line(folder / _FILE, {**_note("withdrew", person), "at": now(), "sessions": sessions})
        try:
            if person.name is not None and (folder / person.name).exists():
                (folder / person.name).rename(folder / f"{_GONE}{person.kind}-{person.number}")
                sync_folder(folder)
            if forget:
                _forget(folder, person)
            _sweep(folder)
        except OSError as error:
            raise SpanLabError(
                f"not everything could be removed ({error.filename}: {error.strerror or error}); remove the cause, and"
                " withdraw again"
            ) from None


def left_over(folder: Path) -> list[Path]:
    """Remains of an interrupted withdrawal; hidden from readers of data."""
    return sorted(folder.glob(f"{_GONE}*"))


def _sweep(folder: Path) -> None:
    for remains in left_over(folder):
        shutil.rmtree(remains)


def _forget(folder: Path, person: Person) -> None:
    lines = read_lines(folder / _FILE)
    without_name = [
        {**line, "participant": None} if (line["kind"], line["number"]) == (person.kind, person.number) else line
        for line in lines
    ]
    write_whole(folder / _FILE, b"".join(map(json_line, without_name)))


def size_of(folder: Path) -> tuple[int, int]:
    """The number of files in a folder and their size in bytes."""
    files: list[Any] = [path.stat() for path in folder.rglob("*") if path.is_file()]
    return len(files), sum(file.st_size for file in files)
