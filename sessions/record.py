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
    of large sessions: that table in parts, in place of both (:mod:`.part_files`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ..errors import SpanLabError
from ..whole import replacing
from .attempts import failed_trials as failed_trials
from .attempts import finished_scores as finished_scores
from .attempts import finished_trials as finished_trials
from .attempts import is_practice as is_practice
from .attempts import trial_key as trial_key
from .attempts import trials_taken as trials_taken
from .damage import event_damage, session_damage
from .displays import TRIAL_TIMING, trial_timing
from .part_files import PARTS, joined, parts_missing, planned_trials, read_parts
from .part_files import stored_parts as stored_parts
from .staircase import Rule, Staircase

if TYPE_CHECKING:
    import pandas
    import pyarrow

#: The version of this format. Readers accept this one and all older ones. Sessions whose trials come from the second version of random streams need 3; of
#: those with the first, large ones (:mod:`.part_files`) need 2, and others are written as 1.
FORMAT_VERSION = 3

ColumnType = Literal["string", "integer", "number", "boolean", "json"]


@dataclass(frozen=True, slots=True)
class Column:
    """One column of the response table.

    ``measured`` columns hold what the machine or the person happened to take (times, frames, latency); all others are the same in every run of the same
    session. Columns of type ``json`` hold a scalar of any type as JSON text (answers may be numbers or words).
    """

    name: str
    type: ColumnType
    meaning: str
    unit: str = ""
    measured: bool = False


COLUMNS: tuple[Column, ...] = (
    Column("session", "string", "name of the session, unique within a data folder"),
    Column("participant", "string", "identifier of the person; empty for machines"),
    Column("agent_kind", "string", "participant, simulated, chat, network, chance, ideal, capacity, recorded or published"),
    Column("agent", "string", "the agent as it was named, such as network:laptop"),
    Column("agent_settings_hash", "string", "hash of everything that shaped the agent's answers"),
    Column("oracle", "boolean", "whether the agent was handed the truth (a simulated observer)"),
    Column("paradigm", "string", "short name of the paradigm"),
    Column("paradigm_version", "integer", "version of the paradigm"),
    Column("paradigm_hash", "string", "hash of the whole paradigm file"),
    Column("generator", "string", "corrected or published trial generator"),
    Column("keys", "string", "whether the keys of two words were as in the paradigm (standard) or had changed sides (swapped); empty for machines"),
    Column("block", "integer", "block, from 1"),
    Column("trial", "integer", "trial in the session, from 1; practice trials have their own numbers"),
    Column(
        "trial_id",
        "string",
        "hash of paradigm, version, generator, factor levels, seed and streams (and of the draws, where these were given)",
    ),
    Column("paired_trial_id", "string", "trial_id of the trial of another paradigm that had the same draws (--paired-with); empty for all other trials"),
    Column("seed", "integer", "seed of the trial"),
    Column("streams", "integer", "version of the random streams from which the trial was drawn; 1 in older records, where trials of one seed were alike"),
    Column("step", "integer", "step of the trial, from 1"),
    Column("ask", "integer", "question of the trial, from 1"),
    Column("phase", "string", "phase of the step, such as probe"),
    Column("practice", "boolean", "whether it was practice"),
    Column("pilot", "boolean", "whether the session was marked as a pilot"),
    Column("set_size", "integer", "number of items held in mind, as the paradigm defines it"),
    Column("list_length", "integer", "number of items presented one after another"),
    Column("serial_position", "integer", "position of the asked item in presentation, from 1"),
    Column("output_position", "integer", "position of the item in the answer, from 1"),
    Column("retention_steps", "integer", "empty steps between the last item and the probe"),
    Column("chance", "number", "probability that a uniform guess among the allowed answers scores this item as correct"),
    Column("blind", "number", "that of the best guess of somebody who knows paradigm, condition and question, but has not looked; null in older records"),
    Column("correct_answer", "json", "the correct answer; null for an intrusion"),
    Column("answer", "json", "the answer given; null when there was none"),
    Column("outcome", "string", "answered, omitted (the window passed) or invalid (an answer outside the allowed ones)"),
    Column("correct", "boolean", "whether the item was answered correctly"),
    Column("feedback_shown", "string", "right, wrong or missed, when feedback on this answer was shown; empty otherwise"),
    Column("extraction", "string", "how the answer was read from a reply: exact, first_character, tolerant, constrained or unread; empty unless chat"),
    Column("attempts", "integer", "replies to this question: 1, and 1 more each time that it was put again; null unless chat"),
    Column("warm_up", "boolean", "whether the question came before those that count in a conversation; such rows are left out of curves"),
    Column("rt_ms", "number", "reaction time from the onset of the question; null where none means something", "ms", True),
    Column("onset_ms", "number", "onset of the step's first display on the session's clock", "ms", True),
    Column("planned_ms", "number", "planned duration of the step's first display; null when self-paced", "ms"),
    Column("shown_ms", "number", "duration for which it was shown", "ms", True),
    Column("planned_frames", "integer", "planned duration at the measured refresh rate", "frames", True),
    Column("shown_frames", "integer", "frames for which it was shown", "frames", True),
    Column("dropped_frames", "integer", "frames that came late during the step", "frames", True),
    Column("trial_off_ms", "number", "how far the duration of a display of the trial was from its plan, at most; null when none had one", "ms", True),
    Column("trial_dropped_frames", "integer", "frames that came late in displays of the trial with a planned duration; null when none had one", "frames", True),
    Column("trial_paused_ms", "number", "how long the trial was paused; null but at a window", "ms", True),
    Column("trial_unfocused_ms", "number", "how long another window had the focus in the trial; null where that was not watched", "ms", True),
    Column("latency_ms", "number", "time from a request to the reply that was used; null unless chat", "ms", True),
    Column("prompt_tokens", "integer", "tokens read by the model for this answer, over all its attempts, as the server counts them", "tokens", True),
    Column("completion_tokens", "integer", "tokens written by the model for this answer, over all its attempts, as the server counts them", "tokens", True),
    Column("started_at", "string", "wall-clock time of the trial's start (UTC, ISO 8601)", "", True),
)
"""The declared columns; factors that are not among them follow as ``factor_<name>`` and further recorded values as ``record_<name>`` (type ``json``)."""

#: how many folders deep sessions are looked for
_DEEPEST = 5

#: factors and recorded values that are columns by themselves
OWN_COLUMNS = {"set_size", "list_length", "retention_steps", "serial_position", "output_position"}
_SESSION_COLUMNS = (
    "session",
    "participant",
    "agent_kind",
    "agent",
    "agent_settings_hash",
    "oracle",
    "paradigm",
    "paradigm_version",
    "paradigm_hash",
    "generator",
    "pilot",
)


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


def read_events(folder: str | Path) -> list[dict[str, Any]]:
    """Everything in ``events.jsonl``, in order. A last line that was cut off by a kill is left out; any other unreadable line is an error.

    Raises
    ------
    SpanLabError
        when a line other than the last is damaged.
    """
    path = Path(folder) / "events.jsonl"
    if not path.exists():
        return []
    events: list[dict[str, Any]] = []
    found = ""
    for number, line in enumerate(path.read_bytes().split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            event = json.loads(line)
        except ValueError:
            event = {}
        damage = event_damage(event)
        if damage is not None:
            found = found or f"{path}:{number} is damaged{f' ({damage})' if event else ''}"
            continue
        # A kill may leave a half-written line; what is appended after it begins on a new line, and says so.
        if found and event["event"] not in ("resumed", "session_start"):
            raise SpanLabError(f"{found}; restore the file from a copy, or remove this line (its trial then counts as not finished, and is taken again)")
        found = ""
        events.append(event)
    return events


def streams_of(session: Mapping[str, Any]) -> int:
    """The version of the random streams of a session's trials; records that name none are older than the second."""
    return session.get("streams", 1)


def trials_left(session: Mapping[str, Any], events: Iterable[Mapping[str, Any]]) -> int:
    """How many planned trials (practice apart) are neither finished nor marked as failed."""
    events = list(events)
    staircase = staircase_of(session, events)
    if staircase is not None:
        return 0 if staircase.over else max(0, staircase.rule.trials - len(staircase.levels) - len(failed_trials(events)))
    over = {*finished_trials(events), *failed_trials(events)}
    return sum(trial_key(False, planned["trial"]) not in over for planned in session["plan"])


def staircase_of(session: Mapping[str, Any], events: Iterable[Mapping[str, Any]]) -> Staircase | None:
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


def response_rows(session: Mapping[str, Any], events: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The rows of the response table of one session: one per answered item, finished trials only, in the order of the plan (practice first)."""
    events = list(events)
    done, timing = finished_trials(events), trial_timing(session, events)
    common = {name: session.get(name) for name in _SESSION_COLUMNS}
    keys = session.get("keys")
    common["streams"] = streams_of(session)
    common["keys"] = "" if keys is None else "swapped" if keys["swapped"] else "standard"
    heads: dict[str, Mapping[str, Any]] = {}
    rows: dict[str, list[dict[str, Any]]] = {}
    for event in events:
        key = event.get("trial")
        if key is None or done.get(key) != event.get("attempt"):
            continue
        if event["event"] == "trial_start":
            heads[key], rows[key] = event, []
        elif key not in heads:
            continue
        elif event["event"] == "step" and "ask" in event:
            of_trial = timing.get((key, event["attempt"]), {})
            rows[key] += [{**common, **_row(heads[key], event, score), **of_trial} for score in event["scores"]]
        elif event["event"] == "step" and event.get("feedback"):
            last = rows[key][-1]["ask"] if rows[key] else None
            for row in rows[key]:
                if row["ask"] == last:
                    row["feedback_shown"] = event["feedback"]
    ordered = sorted(rows, key=lambda key: (not heads[key]["practice"], heads[key]["block"], int(key.removeprefix("p"))))
    return [row for key in ordered for row in rows[key]]


def _row(head: Mapping[str, Any], event: Mapping[str, Any], score: Mapping[str, Any]) -> dict[str, Any]:
    shown, notes = (event.get("shown") or [{}])[0], event.get("notes") or {}
    row: dict[str, Any] = {
        **{name: head.get(name) for name in ("block", "trial_id", "seed", "practice", "set_size", "list_length", "started_at")},
        "paired_trial_id": head.get("paired", ""),
        "trial": int(head["trial"].removeprefix("p")),
        "step": event["step"],
        "ask": event["ask"],
        "phase": event["phase"],
        "chance": event["chance"],
        "blind": event.get("blind"),
        "correct_answer": score["correct_answer"],
        "answer": score["answer"],
        "outcome": event["outcome"],
        "correct": score["correct"],
        "feedback_shown": "",
        "extraction": notes.get("extraction", ""),
        "attempts": notes.get("attempts"),
        "warm_up": bool(notes.get("warm_up")),
        **{name: notes.get(name) for name in ("latency_ms", "prompt_tokens", "completion_tokens")},
        "rt_ms": event.get("rt_ms"),
        "planned_ms": event["planned_ms"],
        **{name: shown.get(name) for name in ("onset_ms", "shown_ms", "planned_frames", "shown_frames")},
        "dropped_frames": sum(one["dropped_frames"] for one in event["shown"]) if event.get("shown") else None,
    }
    for name, value in head["levels"].items():
        row[name if name in OWN_COLUMNS else f"factor_{name}"] = value
    for name, value in event["record"].items():
        row[name if name in OWN_COLUMNS else f"record_{name}"] = value
    for name in ("serial_position", "output_position"):
        if score.get(name) is not None:
            row[name] = score[name]
    return row


def response_table(rows: Sequence[Mapping[str, Any]]) -> pyarrow.Table:
    """Rows as a table: the declared columns in order, then ``factor_`` and ``record_`` columns by name.

    Raises
    ------
    SpanLabError
        when a value does not fit its column.
    """
    import pyarrow

    types = {"string": pyarrow.string(), "integer": pyarrow.int64(), "number": pyarrow.float64(), "boolean": pyarrow.bool_(), "json": pyarrow.string()}
    extra = sorted({name for row in rows for name in row} - {column.name for column in COLUMNS})
    columns = [*COLUMNS, *(Column(name, "json", "") for name in extra)]
    arrays = []
    for column in columns:
        cells = [_json_cell(row.get(column.name)) if column.type == "json" else row.get(column.name) for row in rows]
        try:
            arrays.append(pyarrow.array(cells, types[column.type]))
        except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError, OverflowError) as error:
            raise SpanLabError(f"the column {column.name} of the record takes values of type {column.type} only: {error}") from None
    return pyarrow.table(arrays, names=[column.name for column in columns])


def _json_cell(value: Any) -> str | None:
    return None if value is None else json.dumps(value)


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
