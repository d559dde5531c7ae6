"""The record of a session: its folder, its columns, and how to read it back. Everything that reads
sessions starts here.

A session is one folder:

``session.json``
    who, what, the paradigm with its hash, seed, design, the planned trials, versions, display and
    agent settings; no secrets.
``events.jsonl``
    one line a step; the truth of what happened, from which everything else can be rebuilt.
``transcripts.jsonl``
    of chat models: one line a reply, with what was sent since the one before; on the disk before a
    reply is used.
``responses.csv``, ``responses.parquet``
    one row per answered item, written when the session is finished; the second where pyarrow is
    installed.
``states/``
    of networks, where they were asked for: the hidden states, in pieces.

Here is the one border to pyarrow and pandas, which have no types: what the models declare goes over
it as rows of plain values.
"""

# pyright: basic

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ...core.atomic_files import replacing
from ...core.errors import SpanLabError
from ...core.extras import installed
from .columns import COLUMNS, response_rows
from .events import Event, TrialStart
from .marking import Cell
from .session_files import (
    FORMAT_VERSION,
    failed_trials,
    find_sessions,
    finished_scores,
    finished_trials,
    has_failed,
    is_finished,
    is_practice,
    read_events,
    read_session,
    replies_by_trial,
    seed_independent,
    sessions_below,
    staircase_of,
    trial_key,
    trials_left,
    trials_taken,
)

if TYPE_CHECKING:
    import pandas

__all__ = [
    "COLUMNS",
    "FORMAT_VERSION",
    "ResponseTable",
    "failed_trials",
    "find_sessions",
    "finished_scores",
    "finished_trials",
    "has_failed",
    "is_finished",
    "is_practice",
    "read_events",
    "read_responses",
    "read_session",
    "read_table",
    "response_rows",
    "response_table",
    "seed_independent",
    "sessions_below",
    "staircase_of",
    "tables_are_there",
    "trial_key",
    "trials_left",
    "trials_taken",
    "write_responses",
    "write_table",
]


class ResponseTable(Protocol):
    """The response table, or a part of it, as far as other rooms use it: a table of
    pyarrow, or one of our own."""

    @property
    def column_names(self) -> list[str]:
        """Its columns, in order."""
        ...

    @property
    def num_rows(self) -> int:
        """The number of answered items."""
        ...

    def select(self, columns: Sequence[str], /) -> ResponseTable:
        """Some of its columns."""
        ...

    def to_pylist(self) -> list[dict[str, Any]]:
        """Its rows."""
        ...

    def to_pandas(self) -> pandas.DataFrame:
        """The same as a data frame."""
        ...


@dataclass(frozen=True)
class Table:
    """A table of answers.

    Parameters
    ----------
    values : of each column, None where there is nothing
    types : of each column: string, integer, number or boolean
    """

    values: Mapping[str, Sequence[Any]]
    types: Mapping[str, str]

    @property
    def column_names(self) -> list[str]:
        return list(self.values)

    @property
    def num_rows(self) -> int:
        return len(next(iter(self.values.values()), ()))

    def select(self, columns: Sequence[str], /) -> Table:
        return Table({name: self.values[name] for name in columns}, self.types)

    def to_pylist(self) -> list[dict[str, Any]]:
        rows = zip(*self.values.values(), strict=True)
        return [dict(zip(self.values, row, strict=True)) for row in rows]

    def to_pandas(self) -> pandas.DataFrame:
        """The same as a data frame, with the types that pyarrow would give it."""
        import pandas

        text = pandas.Series([""]).dtype
        columns = {
            name: pandas.Series(cells, dtype=self._dtype(name, cells, text)) for name, cells in self.values.items()
        }
        return pandas.DataFrame(columns)

    def _dtype(self, name: str, cells: Sequence[Any], text: Any) -> Any:
        kind = self.types[name]
        if kind == "string":
            return text
        if kind == "number":
            return "float64"
        if any(cell is None for cell in cells):
            return "float64" if kind == "integer" else "object"
        return "int64" if kind == "integer" else "bool"

    def csv(self) -> str:
        """The text of its CSV file: texts in quotation marks, nothing where there is nothing."""
        written = [_written(cells, self.types[name]) for name, cells in self.values.items()]
        header = ",".join(map(_quoted, self.values))
        return "\n".join([header, *map(",".join, zip(*written, strict=True)), ""])


def _together(tables: Iterable[Table]) -> Table:
    """Tables one below another; columns that one lacks have nothing there."""
    parts = [*tables]
    types = {name: kind for part in parts for name, kind in part.types.items()}
    names = dict.fromkeys(name for part in parts for name in part.values)
    return Table({name: list(_below(parts, name)) for name in names}, types)


def _below(parts: Sequence[Table], name: str) -> Iterator[Any]:
    for part in parts:
        yield from part.values.get(name, [None] * part.num_rows)


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _written(cells: Sequence[Any], kind: str) -> list[str]:
    """The cells of a column as text."""
    if kind == "number":
        return ["" if cell is None else repr(float(cell)).removesuffix(".0") for cell in cells]
    write = {"string": _quoted, "boolean": {True: "true", False: "false"}.__getitem__, "integer": str}[kind]
    # columns repeat few values
    texts = {cell: "" if cell is None else write(cell) for cell in {*cells}}
    return [texts[cell] for cell in cells]


def _arrow() -> Any:
    """pyarrow; None where it is not installed."""
    try:
        import pyarrow.parquet
    except ModuleNotFoundError:
        return None
    return pyarrow


#: what a cell of each type may be
_HELD: Mapping[str, set[type]] = {
    "string": {str, type(None)},
    "integer": {int, type(None)},
    "number": {int, float, type(None)},
    "boolean": {bool, type(None)},
}


def response_table(rows: Sequence[Mapping[str, Cell]]) -> Table:
    """Rows as a table: the declared columns in order, then the further ones (``factor_``,
    ``record_``, ``score_``, ``event_``) by name."""
    extra = sorted({name for row in rows for name in row} - {column.name for column in COLUMNS})
    types = {column.name: column.type for column in COLUMNS} | dict.fromkeys(extra, "json")
    values: dict[str, list[Any]] = {}
    for name, kind in types.items():
        cells = [row.get(name) for row in rows]
        if kind == "json":
            cells = [None if cell is None else json.dumps(cell) for cell in cells]
        elif strange := {*map(type, cells)} - _HELD[kind]:
            raise SpanLabError(f"the record is damaged: {name} is a {strange.pop().__name__}, not a {kind}")
        values[name] = cells
    return Table(values, {name: "string" if kind == "json" else kind for name, kind in types.items()})


def write_responses(folder: str | Path) -> Table:
    """Write ``responses.parquet`` and ``responses.csv`` from the session's events; each appears
    whole or not at all.

    Raises
    ------
    SpanLabError
        when the session cannot be read, or the tables cannot be written.
    """
    folder = Path(folder)
    table = response_table(response_rows(read_session(folder), read_events(folder)))
    write_table(folder, table)
    return table


def tables_are_there(folder: Path) -> bool:
    """Return whether the tables of a session that is over have been written."""
    names = ("responses.csv", "responses.parquet")[: 2 if installed("pyarrow") else 1]
    return all((folder / name).exists() for name in names)


def write_table(folder: Path, table: Table) -> None:
    """Write a response table as ``responses.csv``, and as ``responses.parquet`` where pyarrow is
    installed; each appears whole or not at all.

    Raises
    ------
    SpanLabError
        when they cannot be written.
    """
    if (arrow := _arrow()) is not None:
        with replacing(folder / "responses.parquet", _HINT) as partial:
            # pyarrow takes a relative path with a colon for an address
            arrow.parquet.write_table(_in_arrow(table), Path(partial).absolute())
    with replacing(folder / "responses.csv", _HINT) as partial:
        Path(partial).write_bytes(table.csv().encode("utf-8"))


#: what to do when a table cannot be written
_HINT = "free some space, or check the disk"


def _in_arrow(table: Any) -> Any:
    """A table of our own as one of pyarrow."""
    if not isinstance(table, Table):
        return table
    arrow = _arrow()
    kinds = {"string": arrow.string(), "integer": arrow.int64(), "number": arrow.float64(), "boolean": arrow.bool_()}
    arrays = [arrow.array(cells, kinds[table.types[name]]) for name, cells in table.values.items()]
    return arrow.table(arrays, names=table.column_names)


def read_table(folder: str | Path, columns: Sequence[str] | None = None) -> ResponseTable:
    """The response table of one session; of an unfinished one what its finished trials hold.

    Parameters
    ----------
    columns : those to read; all when not given

    Raises
    ------
    SpanLabError
        when the session cannot be read.
    """
    folder, arrow = Path(folder), _arrow()
    if arrow is not None and (folder / "responses.parquet").exists():
        try:
            stored = arrow.parquet.read_schema(folder / "responses.parquet").names
            available = None if columns is None else [name for name in columns if name in stored]
            return arrow.parquet.read_table(folder / "responses.parquet", columns=available)
        except (arrow.ArrowException, OSError, UnicodeDecodeError) as error:  # the last for names of columns
            raise SpanLabError(
                f"{folder} is damaged and cannot be read (responses.parquet: {str(error).splitlines()[0]}); "
                f"delete that file, and make it again with: spanlab resume {folder}"
            ) from None
    table = response_table(response_rows(read_session(folder), read_events(folder)))
    return table if columns is None else table.select([name for name in columns if name in table.column_names])


def read_responses(paths: str | Path | Iterable[str | Path], columns: Sequence[str] | None = None) -> pandas.DataFrame:
    """The response tables of sessions, or of data folders full of sessions, as one data frame
    (columns: :data:`COLUMNS`, then factors and recorded values).

    Parameters
    ----------
    columns : those to read, such as ``["correct", "set_size"]``; all when not given
    """
    tables = [
        read_table(folder, columns) for folder in find_sessions([paths] if isinstance(paths, (str, Path)) else paths)
    ]
    if (arrow := _arrow()) is not None:
        frame = arrow.concat_tables(map(_in_arrow, tables), promote_options="permissive").to_pandas()
    else:
        frame = _together(table for table in tables if isinstance(table, Table)).to_pandas()
    if "correct" in frame.columns and frame["correct"].dtype == object:
        frame["correct"] = frame["correct"].astype("boolean")  # ratings have none: still something to take means of
    return frame


#: the key under which is kept what an agent asks before the first trial
NO_TRIAL = "0"


@dataclass(frozen=True, slots=True)
class SessionState:
    """The state of a session by its record. Mappings are by the keys of trials.

    Parameters
    ----------
    events : all that happened
    finished : attempts at which trials were finished
    failed : reasons of trials that could not be had
    attempts : the last attempt at each trial that was begun
    replies : replies that were paid for, in order
    preparations : how often the agent was asked something before the first trial
    trial_ids : identities of the trials that were begun
    starts : the events with which trials began that were taken
    scores : scores of finished trials
    practised : whether practice is over
    decisions : what the assistant decided about practice, in order
    """

    events: Sequence[Event]
    finished: Mapping[str, int]
    failed: Mapping[str, str]
    attempts: Mapping[str, int]
    replies: Mapping[str, Sequence[Mapping[str, Any]]]
    preparations: int
    trial_ids: Mapping[str, str]
    starts: Mapping[str, TrialStart]
    scores: Mapping[str, Sequence[Mapping[str, Any]]]
    practised: bool
    decisions: Sequence[str]

    @classmethod
    def of(cls, events: Sequence[Event], lines: Sequence[Mapping[str, Any]], moved: bool = False) -> SessionState:
        """Read the state from the lines of a record.

        Parameters
        ----------
        events : of ``events.jsonl``
        lines : of ``transcripts.jsonl``
        moved : whether a trial that failed is asked for again at another place of its conversation,
            so that its replies do not count
        """
        attempts: dict[str, int] = {}
        for event in events:
            key, attempt = event.get("trial", ""), event.get("attempt")
            if attempt is not None:
                attempts[key] = max(attempt, attempts.get(key, 0))
        replies = replies_by_trial(lines)
        if moved:
            ends = {event["trial"]: event["attempt"] for event in events if event["event"] == "trial_failed"}
            replies = {
                key: [line for line in of_trial if line.get("attempt", 1) > ends.get(key, 0)]
                for key, of_trial in replies.items()
            }
        return cls(
            events,
            finished_trials(events),
            failed_trials(events),
            attempts,
            replies,
            max((line["attempt"] for line in lines if line["trial"] == NO_TRIAL), default=0),
            {event["trial"]: event["trial_id"] for event in events if event["event"] == "trial_start"},
            trials_taken(events),
            finished_scores(events),
            any(event["event"] == "practice" for event in events),
            [event["decided"] for event in events if event["event"] == "practice_decision"],
        )
