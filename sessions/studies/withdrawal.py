"""The data of somebody who withdraws, in a whole data folder: what is theirs, and what else names them."""

from __future__ import annotations

import csv
import re
import shutil
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...core.atomic_files import only_writer
from ...core.errors import SpanLabError
from ...core.json_values import as_object
from ..record.reader import read_session, sessions_below
from ..run import session_stem
from ..session import write_info
from .participants import KINDS, PLACES, Person, size_of
from .visit_files import runs, states

#: in place of the name of a session that was withdrawn, in sessions that have its trials
WITHDRAWN = "(withdrawn)"
#: an identifier that is shorter, or a number, stands for many other things in a text
_TELLING = 4
#: before the name of a session that is being removed, which readers do not see then; studies have it before the
#: numbers of people
_GONE = ".withdrawn-"
#: endings of files in which no text can be searched for
_PACKED = (".zip", ".gz", ".parquet", ".pdf", ".npz", ".xlsx")


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
        if name  # machines have none
        and info.get("participant") == name
        and paradigm in (info["paradigm"], info["paradigm_source"])
        and "study" not in info
    ]
    files, size = map(sum, zip((0, 0), *map(size_of, folders), strict=True))
    names = tuple(folder.name for folder in folders)
    return Belongings(files, size, names, tuple(folders), names)


@dataclass(frozen=True, slots=True)
class Traces:
    """What names a participant in a data folder besides the own data.

    Parameters
    ----------
    replays : sessions in which a program gave the participant's answers again, or those of such a session: these
        are the same data; and what an interrupted withdrawal has left of any session
    linked : sessions of others that have the participant's trials, and say of whom
    kept : files that the app makes again
    files : any other files, such as reports and tables
    packed : any files whose content cannot be searched
    others : other sessions of the participant, and damaged ones that name the participant
    """

    replays: tuple[Path, ...]
    linked: tuple[Path, ...]
    kept: tuple[Path, ...]
    files: tuple[Path, ...]
    packed: tuple[Path, ...]
    others: tuple[Path, ...]

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
        remove((*self.replays, *self.kept))


def traces(data: Path, name: str, own: Belongings) -> Traces:
    """Find what names a participant.

    Parameters
    ----------
    own : the participant's data, which are not among them
    """
    others = {folder: info for folder, info in _sessions(data) if not {folder, folder.parent} & {*own.folders}}
    replays = dict[Path, Any].fromkeys(
        path
        for path in sorted(data.rglob(f"{_GONE}*"))
        if not re.fullmatch(rf"{_GONE}(?:{'|'.join(KINDS)})-\d+", path.name)
    )
    names = {*own.names}
    while again := [
        folder
        for folder, info in others.items()
        if as_object(info.get("agent_settings")).get("recorded_session") in names
    ]:
        replays |= {folder: others.pop(folder) for folder in again}
        names |= {folder.name for folder in again}
    files = [file for file in _other_files(data, own.folders) if data / ".app" not in file.parents]
    found = tuple(file for file in files if _names(file, name, names, file.relative_to(data)))
    return Traces(
        tuple(replays),
        tuple(
            folder
            for folder, info in others.items()
            if {info.get("like"), as_object(info.get("fresh_of")).get("session")} & names
        ),
        of_app(data, name, names),
        found,
        tuple(file for file in files if file.suffix in _PACKED and file not in found),
        tuple(
            folder
            for folder, info in others.items()
            if info.get("participant") == name
            or (not info and session_stem("", name, 0)[:-1] in folder.name)
            or (not info and _names(folder / "session.json", name, names))
        ),
    )


def of_app(data: Path, name: str, sessions: Collection[str] = (), below: str = ".app") -> tuple[Path, ...]:
    """The app's files in a data folder that name a participant or one of the sessions, and all files of a job whose
    command does; no link leads out of the folder."""
    files = [path for path in sorted((data / below).rglob("*")) if path.is_file()]
    files = [path for path in files if path.resolve() == data.resolve() / path.relative_to(data)]
    found = {file for file in files if _names(file, name, sessions)}
    return tuple(file for file in files if {file, file.with_name("job.json")} & found)


def remove(paths: Collection[Path]) -> None:
    """Remove files, and sessions, each of which goes away in one step, for readers.

    Raises
    ------
    SpanLabError
        when one cannot be removed.
    """
    try:
        for path in paths:
            if path.is_dir():
                shutil.rmtree(path.rename(path.with_name(f"{_GONE}{path.name}")))
            else:
                path.unlink(missing_ok=True)
    except OSError as error:
        raise SpanLabError(
            f"not everything could be removed ({error.filename}: {error.strerror or error}); remove the cause, and"
            " withdraw again"
        ) from None


def _sessions(data: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The sessions of a data folder, without those to which links lead; nothing is known of what cannot be read."""
    for folder in sorted(sessions_below(data)):
        if folder.resolve() == data.resolve() / folder.relative_to(data):
            info: dict[str, Any] = {}
            with suppress(SpanLabError):
                info = {**read_session(folder)}
            yield folder, info


def _other_files(data: Path, own: Collection[Path]) -> Iterator[Path]:
    """The files of a data folder that are in no session, and not the list of participants."""
    sessions = {*sessions_below(data), *own}
    for path in sorted(data.rglob("*")):
        inside = any(folder in sessions for folder in path.parents)
        listed = path.name == ".lock" or (path.name == PLACES and path.parent != data)
        if path.is_file() and not path.is_symlink() and not inside and not listed:
            yield path


def _names(file: Path, name: str, sessions: Collection[str], called: Path = Path()) -> bool:
    """Return whether a file names a participant or one of the sessions: in its text, its name, or the names of the
    folders in which it is (``called``); a short identifier counts where a field, a column or an option says that it is
    one."""
    text = (
        f"{called} {file.name} {re.sub('[_-]', ' ', f'{called} {file.stem}')}\n"
        f"{file.read_bytes().decode('utf-8', 'replace')}"
    )
    # as data sets have it, whose words begin with capitals
    subject = rf"(?i)\bsub-{re.sub('[^A-Za-z0-9]', '', name) or re.escape(name)}(?![A-Za-z0-9])"
    if any(session in text for session in sessions) or re.search(subject, text):
        return True
    if len(name) >= _TELLING and not name.isdigit():
        either = f"{re.escape(name)}|{re.escape(re.sub('[_-]', ' ', name))}"
        return re.search(rf"(?<![\w-])(?:{either})(?![\w-])", text) is not None
    if file.suffix in (".csv", ".tsv"):
        rows = csv.DictReader(text.splitlines()[1:], delimiter={".tsv": "\t"}.get(file.suffix, ","))
        return any(name in (row.get("participant"), row.get("participant_id")) for row in rows)
    return re.search(rf'participant"?(?:: ?|,\s*|=| )"?{re.escape(name)}(?![\w-])', text) is not None
