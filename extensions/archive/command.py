"""``spanlab study archive`` and ``spanlab study restore``. Part of the command line."""

from __future__ import annotations

import platform
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from spanlab.api import DataOption, PathLike, Result, Words, public
from spanlab.core import SpanLabError, __version__, make_folder, only_writer, whole_folder, write_whole
from spanlab.sessions.studies import load_study, people
from spanlab.sessions.studies.participants import PLACES

from .content import PEOPLE, Pseudonyms, codebook, data_files, list_people, people_of, study_files
from .zipped import Archive, write_archive

#: archives that were opened, for as long as this program runs
_opened: dict[Path, TemporaryDirectory[str]] = {}


@public
def archive(
    study: Annotated[PathLike, typer.Argument(help="the study file", metavar="STUDY")],
    output: Annotated[PathLike, typer.Option("-o", "--output", help="the archive", metavar="FILE.zip")],
    *,
    data: DataOption = "data",
    real_ids: Annotated[
        bool,
        typer.Option("--real-ids", help="everything as it is, with the identifiers of participants: a backup"),
    ] = False,
    fields: Annotated[
        Words, typer.Option("--fields", help="what was asked about people and may be shared, such as age")
    ] = (),
    licence: Annotated[str, typer.Option("--licence", help="licence for others' use, such as CC-BY-4.0")] = "",
) -> Result:
    """Put a study into one file: data, study file, paradigms, versions and a codebook.

    Participants get random names, and what was asked about them is left out, as are files that SpanLab has not written.
    With --real-ids everything is kept as it is: a backup, even of a running study.

    Examples
    --------
    >>> study = spanlab.new("study", "my_study").file
    >>> spanlab.study_archive(study, "my_study.zip")
    Traceback (most recent call last):
    ...
    spanlab.core.errors.SpanLabError: there are no data of my_study in data
    """
    loaded, place = load_study(study), Path(output)
    folder = Path(data) / loaded.name
    if not folder.is_dir():
        raise SpanLabError(f"there are no data of {loaded.name} in {data}")
    if place.suffix != ".zip":
        raise SpanLabError(f"is a file that ends in .zip; found {output}", option="output")
    chosen = [fields] if isinstance(fields, str) else list(fields)
    if unknown := [name for name in chosen if name not in {field.name for field in loaded.fields}]:
        raise SpanLabError(f"the study asks nobody about '{unknown[0]}'", option="fields")
    left_out: list[str] = []
    records = data_files(folder) if real_ids else Pseudonyms(folder, chosen).applied(data_files(folder), left_out)
    contents = write_archive(
        place,
        (
            file
            for part in (study_files(loaded, real_ids, left_out), records, [("codebook.csv", codebook())])
            for file in part
        ),
        {
            "study": loaded.name,
            "file": Path(study).name,
            "made": datetime.now(UTC).isoformat(timespec="seconds"),
            "pseudonymous": not real_ids,
            "licence": licence,
            "versions": {"spanlab": __version__, "python": platform.python_version()},
        },
        mode=0o600 if real_ids else 0o666,
    )
    sessions = sum(name.endswith("/session.json") for name in contents["files"])
    whose = "identifiers are in it: keep it as safe as the data" if real_ids else "participants have other names in it"
    return Result(
        [f"{place}: {sessions} sessions of {loaded.name}; {whose}"],
        files=[place],
        cautions=[f"NOTE left out, {len(left_out)} in all: {', '.join(left_out[:9])}"] * bool(left_out),
    )


@public
def restore(
    archive: Annotated[PathLike, typer.Argument(help="a file of spanlab study archive", metavar="FILE.zip")],
    *,
    data: DataOption = "data",
    output: Annotated[
        PathLike, typer.Option("-o", "--output", help="folder for the study file and its paradigms", metavar="DIR")
    ] = "",
) -> Result:
    """Bring the data of a study back from its archive.

    Nothing is lost: if the folder has data of the study that the archive lacks, or that differ, nothing is written.
    Files that are there stay as they are, and a session that is running is not written to.

    Examples
    --------
    >>> spanlab.study_restore("my_study.zip")
    Traceback (most recent call last):
    ...
    spanlab.core.errors.SpanLabError: my_study.zip is not an archive of a study: ...
    """
    opened = Archive(Path(archive))
    name = opened.contents["study"]
    inside, folder = f"data/{name}/", Path(data) / name
    archived = people_of(opened.read(inside + PEOPLE)) if PEOPLE in opened.below(inside) else []
    with ExitStack() as study:
        if output:
            opened.unpack("study/", study.enter_context(whole_folder(Path(output))))
        if not folder.exists() or not any(folder.iterdir()):
            with whole_folder(folder) as made:
                made.chmod(0o700)
                opened.unpack(inside, made)
                (made / PEOPLE).unlink(missing_ok=True)
                list_people(made, archived)
        else:
            strangers = any(person not in archived for person in people(folder))
            if lost := [*_lost(opened, inside, folder), *[PLACES] * strangers]:
                raise SpanLabError(
                    f"{folder} has data that {archive} lacks, or that differ: {', '.join(lost[:5])}. Nothing was"
                    " written; give another --data, or move that folder elsewhere"
                )
            list_people(folder, archived)
            for file in opened.below(inside):
                if file != PEOPLE:
                    _bring_back(folder / file, opened.read(inside + file))
    sessions = sum(file.endswith("/session.json") for file in opened.below(inside))
    return Result([f"{folder}: {sessions} sessions of {name}"])


def _bring_back(file: Path, content: bytes) -> None:
    """Write a file of an archive, unless it is there: the session that it belongs to may be running."""
    if not file.is_file() or file.read_bytes() != content:
        make_folder(file.parent)
        with only_writer(file.parent):
            if file.is_file() and not content.startswith(file.read_bytes()):
                raise SpanLabError(f"{file} has other data by now, and keeps them; wait until its session has ended")
            write_whole(file, content)


def _lost(opened: Archive, inside: str, folder: Path) -> list[str]:
    """The files of a folder that restoring would lose, or shorten."""
    lost: list[str] = []
    names = {*opened.below(inside)}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if not path.is_file() or path.name in (".lock", PLACES):
            continue
        kept = opened.read(inside + name) if name in names else b""
        same = kept.startswith(path.read_bytes()) if path.suffix == ".jsonl" else kept == path.read_bytes()
        if name not in names or not same:
            lost.append(name)
    return lost


def unpacked(path: Path) -> Path:
    """The data of an archive, in a folder that is there for as long as this program runs."""
    if path not in _opened:
        made = TemporaryDirectory(prefix="spanlab-archive-")
        Archive(path).unpack("data/", Path(made.name))
        _opened[path] = made
    return Path(_opened[path].name)
