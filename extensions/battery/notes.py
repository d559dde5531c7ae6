"""``spanlab study note``: what the assistant notices while a session runs, with the time and the trial.
Part of the command line."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from spanlab.api import PathLike, Result, public
from spanlab.core import SpanLabError
from spanlab.core.atomic_files import json_line

#: in the folder of a session, or of a session of a study
NOTES = "notes.jsonl"


@public
def note(
    folder: Annotated[
        PathLike,
        typer.Argument(help="folder of a session, or of a session of a study; it may be running", metavar="FOLDER"),
    ],
    text: Annotated[str, typer.Argument(help="the note; without one, earlier notes are shown", metavar="TEXT")] = "",
) -> Result:
    """Note something about a session while it runs or afterwards, with the time and the trial that
    is under way.

    Examples
    --------
    >>> result = spanlab.replay("vsr", "ideal", trials=2, seed=1, levels={"list_length": 2})
    >>> spanlab.study_note(result.folder, "a pilot").to_frame()["text"].tolist()
    ['a pilot']
    """
    place = Path(folder)
    if not any((place / name).exists() for name in ("session.json", "battery.json")):
        raise SpanLabError(f"{folder} is not a session, nor a session of a study, such as data/STUDY/P01/session-1")
    notes = [add_note(place, text)] if text.strip() else read_notes(place)
    return Result([_said(line) for line in notes], {"notes": notes})


def add_note(folder: Path, text: str) -> dict[str, Any]:
    """Add a note to a session and return it. A session that is running is not disturbed: notes have
    a file of their own.

    Raises
    ------
    SpanLabError
        when it cannot be written.
    """
    line = {"at": datetime.now(UTC).isoformat(timespec="milliseconds"), "text": text.strip(), **_under_way(folder)}
    try:
        file = os.open(folder / NOTES, os.O_APPEND | os.O_CREAT | os.O_WRONLY, 0o644)
        try:
            os.write(file, json_line(line))  # one write, so that two notes at the same time are both kept
            os.fsync(file)
        finally:
            os.close(file)
    except OSError as error:
        raise SpanLabError(f"cannot write {folder / NOTES}: {error.strerror or error}") from None
    return line


def read_notes(folder: Path) -> list[dict[str, Any]]:
    """Return the notes of a session, the oldest first.

    Raises
    ------
    SpanLabError
        when they cannot be read.
    """
    try:
        lines = (folder / NOTES).read_text(encoding="utf-8").splitlines() if (folder / NOTES).exists() else []
        return [json.loads(line) for line in lines]
    except (OSError, ValueError) as error:
        raise SpanLabError(f"{folder / NOTES} cannot be read ({error}); restore it from a copy") from None


def _under_way(folder: Path) -> dict[str, str]:
    """The session in a folder that was written last, and its latest trial."""
    from spanlab.sessions.record import find_sessions

    try:
        events = max(
            (session / "events.jsonl" for session in find_sessions([folder])), key=lambda file: file.stat().st_mtime
        )
        starts = [
            line
            for line in events.read_text(encoding="utf-8", errors="replace").splitlines()
            if '"event":"trial_start"' in line.replace(" ", "")
        ]
    except (SpanLabError, OSError, ValueError):
        return {}  # nothing has begun
    session = {"session": events.parent.name}
    try:
        return {**session, "trial": str(json.loads(starts[-1])["trial"])} if starts else session
    except (ValueError, KeyError):
        return session  # the line is being written


def _said(line: dict[str, Any]) -> str:
    where = ", ".join(filter(None, (str(line.get("session", "")), f"trial {line['trial']}" if "trial" in line else "")))
    return f"{str(line['at'])[:19].replace('T', ' ')} UTC{f' ({where})' if where else ''}: {line['text']}"
