"""Migration: the record of a finished session in the newest format.

What was recorded (the events, the transcripts, the parts of large sessions) stays as it is, to the
byte. What changes is ``session.json``, which says what older formats left to be known, and the
response table, which is made again with all columns of today. Before anything is replaced, every
answer is scored again, and the old table is compared with the new one; the old files are kept in
the session's folder.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

from ..agents.base import Response
from ..core.atomic_files import TakenError, only_writer, sync_folder, whole_folder, write_json
from ..core.errors import SpanLabError
from ..core.registry import as_tuple
from ..sessions.record.columns import response_rows
from ..sessions.record.events import Event, Score
from ..sessions.record.reader import (
    FORMAT_VERSION,
    PARTS,
    find_sessions,
    is_finished,
    read_events,
    read_session,
    read_table,
    response_table,
    streams_of,
    trials_left,
    write_table,
)
from ..sessions.record.session_info import SessionInfo
from ..sessions.replaying import taken_trials
from ..sessions.session import Session, same_trials
from ..sessions.trial_log import judge

_TABLES = ("responses.csv", "responses.parquet")
_INFO = "session.json"
#: the new files until they take their places
_STAGED = ".migrating"

Became = Literal["migrated", "newest", "refused"]


@dataclass(frozen=True, slots=True)
class Migrated:
    """Result of the migration of a session.

    Parameters
    ----------
    folder : of the session
    became : migrated now, of the newest format before, or refused
    why : what changed, or why it was refused
    """

    folder: Path
    became: Became
    why: str = ""


def migrate(paths: Iterable[str | Path]) -> list[Migrated]:
    """Write the records of sessions in the newest format, each in its place. What was interrupted
    goes on when it is called again.

    Parameters
    ----------
    paths : sessions, or folders of sessions

    Raises
    ------
    SpanLabError
        when there is no session.
    """
    return [_migrate(folder) for folder in find_sessions(paths)]


def migrate_beside(source: Path, output: Path) -> list[Migrated]:
    """Copy a session, or a folder of sessions with all else in it, to a new folder, and migrate the
    copy. The original is not changed.

    Raises
    ------
    SpanLabError
        when there is no session, one is under way, or the new folder exists or cannot be written.
    """
    for folder in find_sessions([source]):
        _refuse_under_way(folder)
    if output.resolve().is_relative_to(source.resolve()):
        raise SpanLabError(f"{output} lies in {source}, which is to be copied: name a folder outside of it")
    try:
        with whole_folder(output) as copy:
            shutil.copytree(source, copy, symlinks=True, dirs_exist_ok=True)
            migrated = [_migrate(folder, keep=False) for folder in find_sessions([copy])]
    except shutil.Error as error:
        raise SpanLabError(f"{source} cannot be copied: {error.args[0][0][2]}") from None
    return [
        Migrated(output / one.folder.relative_to(copy), one.became, one.why.replace(str(copy), str(output)))
        for one in migrated
    ]


def _refuse_under_way(folder: Path) -> None:
    try:
        with only_writer(folder):
            pass
    except TakenError:
        raise
    except SpanLabError:
        pass  # a folder that cannot be written has no writer


def _migrate(folder: Path, keep: bool = True) -> Migrated:
    """Migrate one session in its place.

    Parameters
    ----------
    keep : whether its old files are kept
    """
    try:
        info = read_session(folder)
        if info["format_version"] == FORMAT_VERSION:
            shutil.rmtree(folder / _STAGED, ignore_errors=True)  # of a migration that was killed at its very end
            return Migrated(folder, "newest", f"already has the newest format ({FORMAT_VERSION})")
        with only_writer(folder):
            return Migrated(folder, "migrated", _replace(folder, info, keep))
    except SpanLabError as error:
        return Migrated(folder, "refused", str(error).removeprefix(f"{folder} "))


def _replace(folder: Path, info: SessionInfo, keep: bool) -> str:
    if not is_finished(folder, info):
        raise SpanLabError(f"is not finished: finish it with spanlab resume {folder}; older formats stay readable")
    version = info["format_version"]
    staged = folder / _STAGED
    try:
        shutil.rmtree(staged, ignore_errors=True)
        staged.mkdir()
        new = _newest(info)
        write_json(staged / _INFO, new)
        files = [_INFO]
        if PARTS not in info:
            events = read_events(folder)
            if trials_left(info, events):
                raise SpanLabError("has a table, and events that lack trials: restore events.jsonl from a copy")
            _check_scores(same_trials(folder), events)
            table = response_table(response_rows(cast(SessionInfo, new), events))
            _check_table(read_table(folder).to_pylist(), table.to_pylist())
            write_table(staged, table)
            files = [*_TABLES, _INFO]  # the last says that all is done
        if json.loads((staged / _INFO).read_text(encoding="utf-8")) != new:
            raise SpanLabError("cannot be written as it should be: check the disk")
        sync_folder(staged)
        if keep:
            _keep(folder, [name for name in files if (folder / name).exists()], folder / f".format-{version}")
        for name in files:
            (staged / name).replace(folder / name)
        sync_folder(folder)
    except OSError as error:
        raise SpanLabError(
            f"cannot be written: {error.strerror or error}; free some space, or check the disk"
        ) from None
    finally:
        shutil.rmtree(staged, ignore_errors=True)
    return f"format {version} is now format {FORMAT_VERSION}"


def _newest(info: SessionInfo) -> dict[str, Any]:
    """``session.json`` in the newest format: the random streams are named, also where they are the
    first."""
    content: dict[str, Any] = {}
    for name, value in info.items():
        content[name] = FORMAT_VERSION if name == "format_version" else value
        if name == "generator":
            content["streams"] = streams_of(info)
    return content


def _keep(folder: Path, names: list[str], place: Path) -> None:
    """Copy the old files into a hidden folder of the session; once they are there they are never
    written again."""
    if place.exists():
        return
    with whole_folder(place) as made:
        for name in names:
            shutil.copy2(folder / name, made / name)
            with (made / name).open("rb+") as file:
                os.fsync(file.fileno())
    sync_folder(folder)


def _check_scores(session: Session, events: list[Event]) -> None:
    """Score every recorded answer again."""
    for one in taken_trials(session, events, practice=True):
        for step in one.trial.steps:
            line = next((line for line in one.questions if line["step"] == step.index + 1), None)
            if line is None or step.percept.ask is None:
                continue
            judged = judge(
                step.percept.ask,
                step.truth,
                Response(as_tuple(line["value"]), line["rt_ms"], None, line["outcome"], {}),
            )
            if judged.response.outcome != line["outcome"] or list(map(_of_item, judged.scores)) != list(
                map(_of_item, line["scores"])
            ):
                raise SpanLabError(
                    f"is scored otherwise today (trial {one.key}, question {line['ask']}), and is left unchanged"
                )


def _of_item(score: Score) -> tuple[Any, ...]:
    return (
        score["answer"],
        score["correct_answer"],
        score["correct"],
        score["serial_position"],
        score["output_position"],
    )


def _check_table(old: list[dict[str, Any]], new: list[dict[str, Any]]) -> None:
    """The new table says what the old one says, in every column that that one has."""
    if len(old) != len(new):
        raise SpanLabError(
            f"has {len(old)} rows in its table, and {len(new)} by its events: restore its files from a copy"
        )
    for number, (before, after) in enumerate(zip(old, new, strict=True), start=1):
        if name := next(
            (name for name, value in before.items() if name not in after or not _alike(value, after[name])), None
        ):
            raise SpanLabError(
                f"differs between its table and its events (row {number}, {name}): restore its files from a copy"
            )


def _alike(before: Any, after: Any) -> bool:
    return before == after or (before is None and after == "")  # what older tables left empty
