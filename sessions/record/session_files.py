"""The files of a session that are read as they are: ``session.json`` and ``events.jsonl``, and what they tell of how far a session is."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from ...core.errors import SpanLabError
from .attempts import failed_trials, finished_scores, finished_trials, is_practice, trial_key, trials_taken
from .damage import event_damage, session_damage
from .events import Event
from .session_info import SessionInfo
from .shard_files import PARTS, parts_missing, planned_trials
from .staircase import Rule, Staircase

#: The version of this format. Readers accept this one and all older ones. Sessions whose trials come from the second version of random streams need 3; of
#: those with the first, large ones (:mod:`.shard_files`) need 2, and others are written as 1.
FORMAT_VERSION = 3

#: how many folders deep sessions are looked for
_DEEPEST = 5


def _refuse(number: str) -> None:
    raise ValueError(f"{number} is no number")


def read_session(folder: str | Path) -> SessionInfo:
    """The content of ``session.json``.

    Raises
    ------
    SpanLabError
        when the folder holds no readable session, or one of a newer format.
    """
    path = Path(folder) / "session.json"
    try:
        session: object = json.loads(path.read_text(encoding="utf-8"), parse_constant=_refuse)
    except (FileNotFoundError, NotADirectoryError):
        raise SpanLabError(f"{folder} is not a session: it has no session.json") from None
    except (OSError, ValueError) as error:
        raise SpanLabError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    content = cast(dict[str, object], session) if isinstance(session, dict) else {}
    version = content.get("format_version")
    if not isinstance(version, int):
        raise SpanLabError(f"{path} is not the record of a session (it has no format_version)")
    if version > FORMAT_VERSION:
        raise SpanLabError(f"{path} was written by a newer spanlab (format {version}, this one reads up to {FORMAT_VERSION}): update spanlab")
    damage = session_damage(content)
    if damage:
        raise SpanLabError(f"{path} is damaged ({damage}); restore it from a copy")
    return cast(SessionInfo, content)


def find_sessions(paths: Iterable[str | Path]) -> list[Path]:
    """Session folders among ``paths`` and, for data folders, in them and up to five levels below (studies keep theirs deeper); sorted, each once. Hidden
    folders are passed by.

    Raises
    ------
    SpanLabError
        for a path that holds no session.
    """
    found: list[Path] = []
    for path in map(Path, paths):
        inside = [path] if (path / "session.json").exists() else sorted(sessions_below(path))
        if not inside:
            raise SpanLabError(f"{path}: there is no session here (a session is a folder with a session.json)")
        found += [folder for folder in inside if folder not in found]
    return found


def sessions_below(path: Path) -> Iterator[Path]:
    """Session folders in a folder, and up to five levels below."""
    for folder, inner, files in os.walk(path, followlinks=True):
        depth = len(Path(folder).relative_to(path).parts)
        if "session.json" in files:
            yield Path(folder)
            inner.clear()
        inner[:] = [name for name in inner if not name.startswith(".")] if depth < _DEEPEST else []


def read_events(folder: str | Path) -> list[Event]:
    """Everything in ``events.jsonl``, in order. A last line that was cut off by a kill is left out; any other unreadable line is an error.

    Raises
    ------
    SpanLabError
        when a line other than the last is damaged.
    """
    path = Path(folder) / "events.jsonl"
    if not path.exists():
        return []
    events: list[Event] = []
    found = ""
    for number, line in enumerate(path.read_bytes().split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            content: object = json.loads(line)
        except ValueError:
            content = None
        damage = event_damage(content)
        if damage is not None:
            found = found or f"{path}:{number} is damaged{f' ({damage})' if content else ''}"
            continue
        event = cast(Event, content)
        # A kill may leave a half-written line; what is appended after it begins on a new line, and says so.
        if found and event["event"] not in ("resumed", "session_start"):
            raise SpanLabError(f"{found}; restore the file from a copy, or remove this line (its trial then counts as not finished, and is taken again)")
        found = ""
        events.append(event)
    return events


def streams_of(session: Mapping[str, Any]) -> int:
    """The version of the random streams of a session's trials; records that name none are older than the second."""
    return session.get("streams", 1)


def trials_left(session: Mapping[str, Any], events: Iterable[Event]) -> int:
    """How many planned trials (practice apart) are neither finished nor marked as failed."""
    events = list(events)
    staircase = staircase_of(session, events)
    if staircase is not None:
        return 0 if staircase.over else max(0, staircase.rule.trials - len(staircase.levels) - len(failed_trials(events)))
    over = {*finished_trials(events), *failed_trials(events)}
    return sum(trial_key(False, planned["trial"]) not in over for planned in session["plan"])


def staircase_of(session: Mapping[str, Any], events: Iterable[Event]) -> Staircase | None:
    """How far the staircase of an adaptive session has come, from its finished trials; None for other sessions.

    Raises
    ------
    SpanLabError
        when a trial had another level than the staircase says.
    """
    if "adaptive" not in session:
        return None
    events = list(events)
    staircase = Staircase(Rule.read(session["adaptive"]))
    scores, starts = finished_scores(events), trials_taken(events)
    for key in sorted((key for key in scores if not is_practice(key)), key=int):
        if starts[key]["levels"].get(staircase.rule.factor) != staircase.level:
            raise SpanLabError(f"the record of {session['session']} is damaged: trial {key} was not at the level that the staircase says")
        staircase.take(staircase.rule.correct(scores[key]))
    return staircase


def has_failed(folder: str | Path) -> bool:
    """Whether a session has trials that could not be had."""
    return bool(failed_trials(read_events(folder)))


def is_finished(folder: str | Path, session: Mapping[str, Any]) -> bool:
    """Whether the final response table of a session is there."""
    return not parts_missing(folder, session) if PARTS in session else (Path(folder) / "responses.parquet").exists()


def trials_planned(session: Mapping[str, Any]) -> int:
    """How many trials (practice apart) a session has."""
    return planned_trials(session)
