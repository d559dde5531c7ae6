"""The record of a session: its folder, its columns, and how to read it back. Everything that reads sessions starts here.

A session is one folder:

``session.json``
    who, what, the paradigm with its hash, seed, design, the planned trials, versions, display and agent settings; no secrets.
``events.jsonl``
    one line a step; the truth of what happened, from which everything else can be rebuilt.
``transcripts.jsonl``
    of chat models: one line a reply, with what was sent since the one before; on the disk before a reply is used.
``responses.parquet``, ``responses.csv``
    one row per answered item, written when the session is finished.
``parts/``
    of large sessions: that table in parts, in place of both (:mod:`.shard_files`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ...core.atomic_files import replacing
from ...core.errors import SpanLabError
from .attempts import failed_trials as failed_trials
from .attempts import finished_scores as finished_scores
from .attempts import finished_trials as finished_trials
from .attempts import is_practice as is_practice
from .attempts import trial_key as trial_key
from .attempts import trials_taken as trials_taken
from .columns import COLUMNS as COLUMNS
from .columns import response_rows as response_rows
from .columns import response_table as response_table
from .damage import event_damage, session_damage
from .displays import TRIAL_TIMING, trial_timing
from .events import Event
from .shard_files import PARTS, joined, parts_missing, planned_trials, read_parts
from .shard_files import stored_parts as stored_parts
from .staircase import Rule, Staircase

if TYPE_CHECKING:
    import pandas
    import pyarrow

#: The version of this format. Readers accept this one and all older ones. Sessions whose trials come from the second version of random streams need 3; of
#: those with the first, large ones (:mod:`.shard_files`) need 2, and others are written as 1.
FORMAT_VERSION = 3

#: how many folders deep sessions are looked for
_DEEPEST = 5


def _refuse(number: str) -> None:
    raise ValueError(f"{number} is no number")


def read_session(folder: str | Path) -> dict[str, Any]:
    """The content of ``session.json``.

    Raises
    ------
    SpanLabError
        when the folder holds no readable session, or one of a newer format.
    """
    path = Path(folder) / "session.json"
    try:
        session = json.loads(path.read_text(encoding="utf-8"), parse_constant=_refuse)
    except (FileNotFoundError, NotADirectoryError):
        raise SpanLabError(f"{folder} is not a session: it has no session.json") from None
    except (OSError, ValueError) as error:
        raise SpanLabError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if not isinstance(session, dict) or not isinstance(session.get("format_version"), int):
        raise SpanLabError(f"{path} is not the record of a session (it has no format_version)")
    if session["format_version"] > FORMAT_VERSION:
        raise SpanLabError(f"{path} was written by a newer spanlab (format {session['format_version']}, this one reads up to {FORMAT_VERSION}): update spanlab")
    damage = session_damage(session)
    if damage:
        raise SpanLabError(f"{path} is damaged ({damage}); restore it from a copy")
    return session


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
            content = json.loads(line)
        except ValueError:
            content = {}
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


def write_responses(folder: str | Path) -> pyarrow.Table:
    """Write ``responses.parquet`` and ``responses.csv`` from the session's events; each appears whole or not at all.

    Raises
    ------
    SpanLabError
        when the session cannot be read, or the tables cannot be written.
    """
    import pyarrow.csv
    import pyarrow.parquet

    folder = Path(folder)
    table = response_table(response_rows(read_session(folder), read_events(folder)))
    for name, write in (("responses.csv", pyarrow.csv.write_csv), ("responses.parquet", pyarrow.parquet.write_table)):
        with replacing(folder / name, "make room, or see to the disk") as partial:
            write(table, partial)
    return table


def is_finished(folder: str | Path, session: Mapping[str, Any]) -> bool:
    """Whether the final response table of a session is there."""
    return not parts_missing(folder, session) if PARTS in session else (Path(folder) / "responses.parquet").exists()


def trials_planned(session: Mapping[str, Any]) -> int:
    """How many trials (practice apart) a session has."""
    return planned_trials(session)


def read_chunks(folder: str | Path, columns: Sequence[str] | None = None, parts: Sequence[int] | None = None) -> Iterator[pyarrow.Table]:
    """The response table of one session in the chunks in which it is stored: the parts of a large one, one at a time, else all at once.

    Parameters
    ----------
    columns : those to read; all when not given
    parts : numbers of the parts of a large session that are wanted; all when not given

    Raises
    ------
    SpanLabError
        when the session cannot be read.
    """
    import pyarrow.parquet

    folder = Path(folder)
    if (folder / "responses.parquet").exists():
        try:
            stored = pyarrow.parquet.read_schema(folder / "responses.parquet").names
            there = None if columns is None else [name for name in columns if name in stored]
            table = pyarrow.parquet.read_table(folder / "responses.parquet", columns=there)
            missing = [name for name in TRIAL_TIMING if name not in stored and (columns is None or name in columns)]
            yield _with_trial_timing(folder, table, missing) if missing else table
        except (pyarrow.ArrowException, OSError) as error:
            raise SpanLabError(
                f"{folder} is damaged and cannot be read (responses.parquet: {str(error).splitlines()[0]}); "
                f"delete that file, and it is made again by: spanlab resume {folder}"
            ) from None
        return
    session = read_session(folder)
    if PARTS in session:
        yield from read_parts(folder, session, columns, parts)
        return
    table = response_table(response_rows(session, read_events(folder)))
    yield table if columns is None else table.select([name for name in columns if name in table.column_names])


def _with_trial_timing(folder: Path, table: pyarrow.Table, missing: Sequence[str]) -> pyarrow.Table:
    """A stored table from before trials had these columns, with them, as the events tell; as it is where there was no window, or the events cannot be read."""
    import pyarrow
    import pyarrow.parquet

    try:
        session, events = read_session(folder), read_events(folder)
    except SpanLabError:  # the table alone can still be read
        return table
    found, done = trial_timing(session, events), finished_trials(events)
    if not found:
        return table
    numbered = pyarrow.parquet.read_table(folder / "responses.parquet", columns=["practice", "trial"]).to_pylist()
    keys = [trial_key(bool(row["practice"]), row["trial"]) for row in numbered]
    for column in (column for column in COLUMNS if column.name in missing):
        values = [found.get((key, done.get(key, 0)), {}).get(column.name) for key in keys]
        table = table.append_column(column.name, pyarrow.array(values, pyarrow.int64() if column.type == "integer" else pyarrow.float64()))
    declared = [column.name for column in COLUMNS if column.name in table.column_names]
    return table.select([*declared, *(name for name in table.column_names if name not in declared)])


def read_table(folder: str | Path, columns: Sequence[str] | None = None, parts: Sequence[int] | None = None) -> pyarrow.Table:
    """The response table of one session, as an Arrow table; of an unfinished one what its finished trials (of a large one: its finished parts) hold.

    Parameters
    ----------
    columns : those to read; all when not given
    parts : numbers of the parts of a large session that are wanted; all when not given
    """
    chunks = list(read_chunks(folder, columns, parts))
    if len(chunks) == 1:
        return chunks[0].replace_schema_metadata(None)
    if not chunks:
        empty = response_table([])
        return empty if columns is None else empty.select([name for name in columns if name in empty.column_names])
    return joined(chunks, [column.name for column in COLUMNS])


def read_responses(paths: str | Path | Iterable[str | Path], columns: Sequence[str] | None = None) -> pandas.DataFrame:
    """The response tables of sessions, or of data folders full of sessions, as one data frame (columns: :data:`COLUMNS`, then factors and recorded values).

    Parameters
    ----------
    columns : those to read, such as ``["correct", "set_size"]``; all when not given. Of a large session, nothing else is loaded then
    """
    import pyarrow

    tables = [read_table(folder, columns) for folder in find_sessions([paths] if isinstance(paths, (str, Path)) else paths)]
    return pyarrow.concat_tables(tables, promote_options="permissive").to_pandas()
