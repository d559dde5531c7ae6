"""The data of somebody who withdraws, in a whole data folder: what is theirs, and what else names them."""

from __future__ import annotations

import csv
import re
import shutil
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...core.atomic_files import only_writer
from ...core.errors import SpanLabError
from ...core.json_values import as_object
from ..record.reader import read_session, sessions_below
from ..session import write_info
from .participants import PLACES, Person, size_of
from .visit_files import runs, states

#: in place of the name of a session that was withdrawn, in sessions that have its trials
WITHDRAWN = "(withdrawn)"
#: an identifier that is shorter, or a number, stands for many other things in a text
_TELLING = 4


@dataclass(frozen=True, slots=True)
class Belongings:
    """The data of a participant.

    Parameters
    ----------
    files, size : in all; size in bytes
    lines : one for each session of the study, or each session
    folders : that are to be idle, and are removed
    names : of the ordinary sessions
    """

    files: int
    size: int
    lines: tuple[str, ...]
    folders: tuple[Path, ...]
    names: tuple[str, ...]

    def check_idle(self) -> None:
        """Check that nobody is taking any of the sessions now.

        Raises
        ------
        SpanLabError
            when one is running.
        """
        for folder in self.folders:
            with only_writer(folder):
                pass


def in_study(study_folder: Path, person: Person) -> Belongings:
    """Find the data of a participant of a study."""
    person_folder = study_folder / (person.name or "")
    if person.name is None or not person_folder.exists():
        return Belongings(0, 0, (), (), ())
    folders = runs(study_folder, person.name)
    lines: list[str] = []
    for folder in folders:
        try:
            parts = ", ".join(f"{name} {state.progress} trials" for name, state in states(folder).items()) or "no trial"
        except SpanLabError as error:  # what is damaged can be removed like anything else
            parts = str(error)
        lines.append(f"{folder.name}: {parts}")
    names = tuple(path.parent.name for folder in folders for path in folder.glob("[!.]*/session.json"))
    return Belongings(*size_of(person_folder), tuple(lines), tuple(folders), names)


def of_paradigm(data: Path, paradigm: str, name: str) -> Belongings:
    """Find the sessions of somebody with a paradigm, outside studies."""
    folders = [
        folder
        for folder, info in _sessions(data)
        if info["participant"] == name
        and paradigm in (info["paradigm"], info["paradigm_source"])
        and "study" not in info
    ]
    sizes = [size_of(folder) for folder in folders]
    files, size = (sum(one[part] for one in sizes) for part in (0, 1))
    names = tuple(folder.name for folder in folders)
    return Belongings(files, size, names, tuple(folders), names)


@dataclass(frozen=True, slots=True)
class Traces:
    """What names a participant in a data folder besides the own data.

    Parameters
    ----------
    replays : sessions in which a program gave the participant's answers again: these are the same data
    linked : sessions of others that have the participant's trials, and say of whom
    kept : files that the app makes again
    files : any other files, such as reports and tables
    """

    replays: tuple[Path, ...]
    linked: tuple[Path, ...]
    kept: tuple[Path, ...]
    files: tuple[Path, ...]

    def clear(self) -> None:
        """Remove what is the participant's data or can be made again, and take the name out of linked
        sessions. Other files stay.

        Raises
        ------
        SpanLabError
            when one of the sessions is running, or something cannot be written.
        """
        for folder in self.linked:
            with only_writer(folder):
                info: dict[str, Any] = {**read_session(folder), "like": WITHDRAWN}
                if "fresh_of" in info:
                    info["fresh_of"] = {"session": WITHDRAWN}
                write_info(folder, info)
        remove(self.replays)
        for file in self.kept:
            file.unlink(missing_ok=True)


def traces(data: Path, name: str, own: Belongings) -> Traces:
    """Find what names a participant.

    Parameters
    ----------
    own : the participant's data, which are not among them
    """
    replays: list[Path] = []
    linked: list[Path] = []
    for folder, info in _sessions(data):
        if folder in own.folders or folder.parent in own.folders:
            continue
        if as_object(info.get("agent_settings")).get("recorded_session") in own.names:
            replays.append(folder)
        elif {info["like"], as_object(info.get("fresh_of")).get("session")} & {*own.names}:
            linked.append(folder)
    found = [file for file in _other_files(data, own.folders) if _names(file, name, own.names)]
    kept = [file for file in found if ".app" in file.relative_to(data).parts]
    return Traces(tuple(replays), tuple(linked), tuple(kept), tuple(file for file in found if file not in kept))


def remove(folders: Collection[Path]) -> None:
    """Remove sessions: each goes away in one step, for readers.

    Raises
    ------
    SpanLabError
        when one cannot be removed.
    """
    try:
        for folder in folders:
            shutil.rmtree(folder.rename(folder.with_name(f".withdrawn-{folder.name}")))
    except OSError as error:
        raise SpanLabError(
            f"not everything could be removed ({error.filename}: {error.strerror or error}); remove the cause, and"
            " withdraw again"
        ) from None


def _sessions(data: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The sessions of a data folder that can be read."""
    for folder in sorted(sessions_below(data)):
        try:
            yield folder, {**read_session(folder)}
        except SpanLabError:
            continue


def _other_files(data: Path, own: Collection[Path]) -> Iterator[Path]:
    """The files of a data folder that are in no session, and not the list of participants."""
    sessions = {*sessions_below(data), *own}
    for path in sorted(data.rglob("*")):
        inside = any(folder in sessions for folder in path.parents)
        listed = path.name == ".lock" or (path.name == PLACES and path.parent != data)
        if path.is_file() and not path.is_symlink() and not inside and not listed:
            yield path


def _names(file: Path, name: str, sessions: Collection[str]) -> bool:
    """Return whether a file names a participant or one of the sessions; a short identifier counts
    where a field or a column says that it is one."""
    text = file.read_bytes().decode("utf-8", "replace")
    if any(session in text for session in sessions):
        return True
    if len(name) >= _TELLING and not name.isdigit():
        return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text) is not None
    if file.suffix == ".csv":
        return any(row.get("participant") == name for row in csv.DictReader(text.splitlines()))
    return re.search(rf'"participant": ?"{re.escape(name)}"', text) is not None
