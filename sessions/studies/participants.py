"""Who takes part in a study: identifiers, numbers that are given once and never again, and people who have withdrawn.

The file ``participants.jsonl`` in the data folder of the study holds one line for each of these; lines are only ever added (one exception: an identifier that
is to be forgotten after a withdrawal).
"""

from __future__ import annotations

import itertools
import re
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

from ...core.atomic_files import append_line, json_line, only_writer, read_lines, sync_folder, write_whole
from ...core.errors import SpanLabError
from ...core.locale import sentence
from ..session import utc_now

#: People of each kind are counted by themselves, so that pilots and rehearsals do not use up the rows of a Latin square.
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
    group, place : in a study with groups the person's group, and the place in it (from 1)
    """

    name: str | None
    number: int
    kind: Kind
    at: str
    withdrawn: str = ""
    sessions: int = 0
    group: str = ""
    place: int = 0

    @property
    def turn(self) -> int:
        """The number by which orders and keys are balanced: the place in the group, in which they are balanced then, or else the number."""
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
                registered[key] = Person(line["participant"], line["number"], line["kind"], line["at"], group=line.get("group", ""), place=line.get("place", 0))
            elif line["event"] == "withdrew":
                before = registered[key]
                registered[key] = replace(before, name=line["participant"], withdrawn=line["at"], sessions=line["sessions"])
            else:
                raise KeyError("event")
        except (KeyError, TypeError):
            raise SpanLabError(f"{folder / _FILE}:{number} is damaged; restore the file from a copy") from None
    return list(registered.values())


def find(folder: Path, name: str) -> Person | None:
    """The person with an identifier (in whatever case), or None."""
    return next((person for person in people(folder) if person.name is not None and person.name.casefold() == name.casefold()), None)


def unknown(folder: Path) -> list[str]:
    """Identifiers with sessions in the folder of the study but no line in ``participants.jsonl``."""
    names = {person.name for person in people(folder)}
    inside = folder.iterdir() if folder.is_dir() else ()
    return sorted(path.name for path in inside if path.name not in names and not path.name.startswith(".") and any(path.glob("session-*/battery.json")))


def named_by_number(kind: Kind, number: int) -> str:
    """The identifier of somebody without one, such as a simulated participant."""
    return f"{kind}-{number}"


def next_number(everybody: Iterable[Person], kind: Kind) -> int:
    """The smallest number that nobody of this kind has or had."""
    taken = {person.number for person in everybody if person.kind == kind}
    return next(number for number in itertools.count(1) if number not in taken)


def number_taken(everybody: Iterable[Person], kind: Kind, number: int, language: str = "en") -> str | None:
    """Why a number cannot be given, or None."""
    if not 1 <= number <= _MOST:
        return sentence("wrong.number", language, found=number)
    other = next((person for person in everybody if person.kind == kind and person.number == number), None)
    if other is None:
        return None
    return sentence("wrong.number_gone" if other.withdrawn else "wrong.number_taken", language, number=number, name=other.name)


#: Gives the group of the next participant and the place in it, from everybody who has come, the kind and the number.
Assign = Callable[[Iterable[Person], Kind, int], tuple[str, int]]


def register(
    folder: Path, name: str, kind: Kind, number: int | None = None, now: Callable[[], str] = utc_now, assign: Assign = lambda everybody, kind, number: ("", 0)
) -> Person:
    """Give a person a number once: the requested one, or the next free one. A person who has one keeps it. It is on the disk when this returns.

    Parameters
    ----------
    folder : data folder of the study; made when it is missing
    name : identifier; empty for simulated participants, who are named by their number
    assign : gives the group in a study with groups; called under the lock, so that nobody else gets the same place

    Raises
    ------
    SpanLabError
        when the number is taken, or the folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SpanLabError(f"cannot write {folder}: {error.strerror or error}; choose another folder with --data") from None
    with only_writer(folder, _PATIENCE_S):
        _sweep(folder)
        known = find(folder, name) if name else None
        if known is not None:
            return known
        if lost := unknown(folder):
            raise SpanLabError(
                f"{folder / _FILE} does not list {', '.join(lost[:5])}, but the folder has data of them, so numbers might be given twice: restore the "
                "file from a copy, or move those folders elsewhere"
            )
        everybody = people(folder)
        trouble = number_taken(everybody, kind, number) if number is not None else None
        if trouble:
            raise SpanLabError(trouble)
        given = number if number is not None else next_number(everybody, kind)
        group, place = assign(everybody, kind, given)
        person = Person(name or named_by_number(kind, given), given, kind, now(), group=group, place=place)
        line = {"event": "registered", "participant": person.name, "number": given, "kind": kind, "at": person.at}
        append_line(folder / _FILE, {**line, "group": group, "place": place} if group else line)
        return person


def withdraw(folder: Path, person: Person, sessions: int, forget: bool = False, now: Callable[[], str] = utc_now) -> None:
    """Remove all data of a person from the study, and note that this was done. The number is not given again.

    The note comes first and the folder goes away in one step: after a kill nothing is half there for readers, and the next call removes the rest.

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
            note = {"event": "withdrew", "number": person.number, "kind": person.kind, "participant": person.name}
            append_line(folder / _FILE, {**note, "at": now(), "sessions": sessions})
        try:
            if person.name is not None and (folder / person.name).exists():
                (folder / person.name).rename(folder / f"{_GONE}{person.kind}-{person.number}")
                sync_folder(folder)
            if forget:
                _forget(folder, person)
            _sweep(folder)
        except OSError as error:
            raise SpanLabError(f"not everything could be removed ({error.filename}: {error.strerror or error}); remove the cause, and withdraw again") from None


def left_over(folder: Path) -> list[Path]:
    """Remains of an interrupted withdrawal; hidden from readers of data."""
    return sorted(folder.glob(f"{_GONE}*"))


def _sweep(folder: Path) -> None:
    for gone in left_over(folder):
        shutil.rmtree(gone)


def _forget(folder: Path, person: Person) -> None:
    lines = read_lines(folder / _FILE)
    kept = [{**line, "participant": None} if (line["kind"], line["number"]) == (person.kind, person.number) else line for line in lines]
    write_whole(folder / _FILE, b"".join(map(json_line, kept)))


def size_of(folder: Path) -> tuple[int, int]:
    """The number of files in a folder and their size in bytes."""
    files: list[Any] = [path.stat() for path in folder.rglob("*") if path.is_file()]
    return len(files), sum(file.st_size for file in files)
