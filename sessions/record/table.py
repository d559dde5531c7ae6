"""The response table: its columns, as the models of the record declare them, its rows, as the events of a session give
them, and its files.

Here is the one border to pyarrow and pandas, which have no types: what the models declare goes over it as rows of plain
values.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any, Literal, Protocol, get_args, get_origin

from ...core.atomic_files import replacing
from ...core.doors import installed
from ...core.errors import SpanLabError
from ...core.packed_tables import refuse_growth
from .displays import TrialTiming, trial_timing
from .events import AskedStep, Event, Notes, OwnColumns, Score, ShownDisplay, TrialStart
from .further_events import OWN_EVENTS, event_cells
from .marking import Cell, ColumnType, fields_of
from .reader import (
    find_sessions,
    finished_trials,
    read_events,
    read_session,
    trial_number,
)
from .session_info import SessionInfo

if TYPE_CHECKING:
    import pandas

_TYPES: Mapping[type, ColumnType] = {str: "string", int: "integer", float: "number", bool: "boolean"}


@dataclass(frozen=True, slots=True)
class Column:
    """One column of the response table.

    ``measured`` columns hold what the machine or the person happened to take (times, frames,
    latency); all others are the same in every run of the same session. Columns of type ``json``
    hold a scalar of any type as JSON text (answers may be numbers or words). ``loaded`` ones are
    read by the analysis.
    """

    name: str
    type: ColumnType
    meaning: str
    unit: str = ""
    measured: bool = False
    loaded: bool = False


def _column_type(type_: Any) -> ColumnType:
    if get_origin(type_) is Literal:
        return "string"
    types: set[ColumnType] = {
        _TYPES.get(member, "json") for member in get_args(type_) or (type_,) if member is not NoneType
    }
    return types.pop() if len(types) == 1 else "json"


@dataclass(frozen=True, slots=True)
class ColumnSource:
    """The columns that come from one model: how its part of a row is made."""

    cells: tuple[tuple[str, str, Callable[[Any], Cell] | None, Cell], ...]

    def fill(self, record: Mapping[str, Any]) -> dict[str, Cell]:
        """Its part of a row."""
        row: dict[str, Cell] = {}
        for name, field, cell, missing in self.cells:
            value = record.get(field, missing)
            if cell is not None:
                value = missing if record.get(field) is None else cell(value)
            row[name] = value
        return row


def columns_of(models: Sequence[type], order: Sequence[str]) -> tuple[tuple[Column, ...], tuple[ColumnSource, ...]]:
    """The response table, and for each model what it gives to a row.

    A field that two models share is a column of the first.

    Parameters
    ----------
    order : the names of all columns

    Raises
    ------
    TypeError
        when a column has no place in the order, or a name in the order is no column.
    """
    columns: dict[str, Column] = {}
    sources: list[ColumnSource] = []
    for model in models:
        cells: list[tuple[str, str, Callable[[Any], Cell] | None, Cell]] = []
        for field in fields_of(model):
            marks, holds = field.in_table, field.holds
            if marks is None or (name := marks.name or field.name) in columns:
                continue
            columns[name] = Column(
                name,
                marks.type or _column_type(field.type),
                marks.meaning or holds.meaning,
                holds.unit,
                holds.measured,
                marks.loaded,
            )
            cells.append((name, field.name, marks.cell, marks.missing))
        sources.append(ColumnSource(tuple(cells)))
    if columns.keys() != set(order) or len(order) != len(columns):
        raise TypeError(
            "columns without a place in the order, or in it without a field:"
            f" {', '.join(sorted(columns.keys() ^ set(order))) or 'one of them twice'}"
        )
    return tuple(columns[name] for name in order), tuple(sources)


#: The declared columns in their order: the session, the trial and its question, the item, the
#: answer and its score, times, cost.
ORDER = (
    *("session", "participant", "group", "agent_kind", "agent", "agent_settings_hash", "oracle"),
    *("paradigm", "paradigm_version", "paradigm_hash", "generator", "keys"),
    *("block", "trial", "trial_id", "seed", "step", "ask", "phase"),
    *("practice", "pilot", "set_size", "list_length", "serial_position", "output_position", "retention_steps"),
    *("chance", "blind", "correct_answer", "answer", "outcome", "correct"),
    *("error", "period", "tolerance", "scale_from", "scale_to", "non_targets", "edit_distance"),
    *("feedback_shown", "extraction", "attempts", "warm_up", "rt_ms"),
    *("onset_ms", "planned_ms", "shown_ms", "planned_frames", "shown_frames", "dropped_frames"),
    *("trial_off_ms", "trial_dropped_frames", "trial_paused_ms", "trial_unfocused_ms"),
    *("trial_implausible", "trial_cuts", "trial_reloads"),
    *("latency_ms", "prompt_tokens", "completion_tokens", "started_at"),
)

#: The columns as their models declare them. Factors that are not among them follow as
#: ``factor_<name>``, further values that a paradigm records as ``record_<name>``, those that a kind
#: of question adds to its scores as ``score_<name>``, and those of events of other packages as
#: ``event_<event>_<field>`` (type ``json``).
COLUMNS, _SOURCES = columns_of(
    (SessionInfo, TrialStart, AskedStep, OwnColumns, Score, Notes, ShownDisplay, TrialTiming), ORDER
)
_OF_SESSION, _OF_TRIAL, _OF_QUESTION, _, _OF_SCORE, _OF_NOTES, _OF_DISPLAY, _TIMING = _SOURCES

#: how columns begin that are not declared here
FURTHER = ("factor_", "record_", "score_", "event_")

#: factors and recorded values that are columns by themselves
OWN_COLUMNS = frozenset(OwnColumns.__annotations__)

Row = dict[str, Cell]


def response_rows(session: Mapping[str, Any], events: Iterable[Event]) -> list[Row]:
    """The rows of the response table of one session: one per answered item, finished trials only,
    in the order of the plan (practice first)."""
    events = list(events)
    done = finished_trials(events)
    # only a window says what it has shown
    timing = trial_timing(session, events) if any(event.get("shown") for event in events) else {}
    of_session = _OF_SESSION.fill(session)
    heads: dict[str, tuple[TrialStart, Row]] = {}
    rows: dict[str, list[Row]] = {}
    further: defaultdict[str, Row] = defaultdict(dict)
    for event in events:
        if event["event"] == "trial_start":
            if done.get(key := event["trial"]) == event["attempt"]:
                number = {"trial": trial_number(key)}
                of_trial = {**of_session, **_OF_TRIAL.fill(event), **number, **_named(event["levels"], "factor")}
                heads[key], rows[key] = (event, of_trial), []
        elif (key := event.get("trial", "")) not in heads or done.get(key) != event.get("attempt"):
            continue
        elif event["event"] not in OWN_EVENTS:
            further[key] |= event_cells(event)
        elif event["event"] != "step":
            continue
        elif "ask" in event:
            before = {**heads[key][1], **_of_question(event)}
            times = _TIMING.fill(timing.get((key, event["attempt"]), {}))
            rows[key] += [{**before, **_of_score(score, before), **times} for score in event["scores"]]
        elif feedback := event.get("feedback"):
            last = rows[key][-1]["ask"] if rows[key] else None
            for row in rows[key]:
                if row["ask"] == last:
                    row["feedback_shown"] = feedback
    ordered = sorted(rows, key=lambda key: (not heads[key][0]["practice"], heads[key][0]["block"], trial_number(key)))
    for key, cells in further.items():
        for row in rows[key]:
            row.update(cells)
    return [row for key in ordered for row in rows[key]]


def _of_question(event: AskedStep) -> Row:
    """Return the cells that all rows of a question share."""
    shown = event.get("shown")
    return {
        **_OF_QUESTION.fill(event),
        "feedback_shown": "",  # that of the step after it
        **_OF_NOTES.fill(event["notes"]),
        **_OF_DISPLAY.fill(next(iter(shown or ()), {})),
        **_named(event["record"], "record"),
    }


def _named(values: Mapping[str, Any], prefix: str) -> Row:
    return {name if name in OWN_COLUMNS else f"{prefix}_{name}": value for name, value in values.items()}


def _of_score(score: Score, before: Row) -> Row:
    """Return the cells of one score. If an item has no position, the question's holds."""
    shared = {
        name: before.get(name) if value is None and name in OWN_COLUMNS else value
        for name, value in _OF_SCORE.fill(score).items()
    }
    return {**shared, **{f"score_{name}": value for name, value in score.get("more", {}).items()}}


class ResponseTable(Protocol):
    """The response table, or a part of it, as far as other rooms use it: a table of
    pyarrow, or one of our own."""

    @property
    def schema(self) -> object:
        """Its columns and their types, by which tables are compared."""
        ...

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

    def to_pandas(self, *, use_threads: bool = ...) -> pandas.DataFrame:
        """The same as a data frame; the threads of pyarrow wait for each other where a table is small."""
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
    def schema(self) -> object:
        return tuple((name, self.types[name]) for name in self.values)

    @property
    def column_names(self) -> list[str]:
        return list(self.values)

    @property
    def num_rows(self) -> int:
        return len(next(iter(self.values.values()), ()))

    def select(self, columns: Sequence[str], /) -> Table:
        return Table({name: self.values[name] for name in columns}, self.types)

    def to_pylist(self) -> list[dict[str, Any]]:
        return [dict(zip(self.values, row, strict=True)) for row in zip(*self.values.values(), strict=True)]

    def to_pandas(self, *, use_threads: bool = False) -> pandas.DataFrame:
        """The same as a data frame, with the types that pyarrow would give it."""
        import pandas

        text = pandas.Series([""]).dtype
        columns = {
            name: pandas.Series(cells, dtype=self._dtype(name, cells, text)) for name, cells in self.values.items()
        }
        return pandas.DataFrame(columns)

    def _dtype(self, name: str, cells: Sequence[Any], text: Any) -> Any:
        gaps = any(cell is None for cell in cells)
        types = {
            "string": text,
            "number": "float64",
            "integer": "float64" if gaps else "int64",
            "boolean": "object" if gaps else "bool",
        }
        return types[self.types[name]]

    def csv(self) -> str:
        """The text of its CSV file: texts in quotation marks, nothing where there is nothing."""
        written = [_written(cells, self.types[name]) for name, cells in self.values.items()]
        return "\n".join([",".join(map(_quoted, self.values)), *map(",".join, zip(*written, strict=True)), ""])


def _together(tables: Iterable[Table]) -> Table:
    """Tables one below another; columns that one lacks have nothing there."""
    parts = [*tables]
    types = {name: kind for part in parts for name, kind in part.types.items()}
    return Table(
        {name: list(_below(parts, name)) for name in dict.fromkeys(name for part in parts for name in part.values)},
        types,
    )


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
        import pyarrow.parquet  # pyright: ignore[reportMissingTypeStubs, reportUnusedImport]
    except ModuleNotFoundError:
        return None
    return pyarrow


#: what a cell of each type may be
_HELD: Mapping[str, set[type]] = {
    "string": {str, NoneType},
    "integer": {int, NoneType},
    "number": {int, float, NoneType},
    "boolean": {bool, NoneType},
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
    return all(
        (folder / name).exists() for name in ("responses.csv", "responses.parquet")[: 2 if installed("pyarrow") else 1]
    )


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
    try:
        arrays = [arrow.array(cells, kinds[table.types[name]]) for name, cells in table.values.items()]
    except (OverflowError, arrow.ArrowInvalid) as error:
        raise SpanLabError(f"a value in this record fits no column of the table ({error}): it is damaged") from None
    return arrow.table(arrays, names=table.column_names)


def read_table(
    folder: str | Path, columns: Sequence[str] | None = None, without: Collection[str] = ()
) -> ResponseTable:
    """The response table of one session; of an unfinished one what its finished trials hold.

    Parameters
    ----------
    columns : those to read; all when not given
    without : those not to read

    Raises
    ------
    SpanLabError
        when the session cannot be read.
    """

    def wanted(names: Sequence[str]) -> list[str]:
        asked = names if columns is None else [name for name in columns if name in names]
        return [name for name in dict.fromkeys(asked) if name not in without]

    with _stored(Path(folder)) as stored:
        if stored is not None:
            # a table this small is read by one thread in an eighth of the time that several take
            return stored.read(wanted(stored.schema_arrow.names), use_threads=False)
    table = response_table(response_rows(read_session(folder), read_events(folder)))
    return table.select(wanted(table.column_names))


def column_names(folder: str | Path) -> list[str]:
    """The names of the columns of a session's response table."""
    with _stored(Path(folder)) as stored:
        if stored is not None:
            return stored.schema_arrow.names
    return read_table(folder).column_names


@contextmanager
def _stored(folder: Path) -> Generator[Any]:
    """The file of pyarrow in which a session's response table is; None where there is none."""
    arrow = _arrow()
    if arrow is None or not (folder / "responses.parquet").is_file():
        yield None
        return
    try:
        # a file this small is read at once in two thirds of the time that its parts take
        whole = arrow.BufferReader((folder / "responses.parquet").read_bytes())
        with arrow.parquet.ParquetFile(whole, pre_buffer=False) as stored:
            refuse_growth(folder / "responses.parquet", stored.metadata.num_rows * stored.metadata.num_columns)
            yield stored
    except (arrow.ArrowException, OSError, UnicodeDecodeError) as error:  # the last for names of columns
        raise SpanLabError(
            f"{folder} is damaged and cannot be read (responses.parquet: {str(error).splitlines()[0]}); "
            f"delete that file, and make it again with: spanlab resume {folder}"
        ) from None


#: so many tables are joined at once
_AT_ONCE = 256


def read_responses(paths: str | Path | Iterable[str | Path], columns: Sequence[str] | None = None) -> pandas.DataFrame:
    """The response tables of sessions, or of data folders full of sessions, as one data frame
    (columns: :data:`COLUMNS`, then factors and recorded values).

    Parameters
    ----------
    columns : those to read, such as ``["correct", "set_size"]``; all when not given
    """
    return _in_one(
        [read_table(folder, columns) for folder in find_sessions([paths] if isinstance(paths, (str, Path)) else paths)]
    )


class JoinedTables:
    """Response tables with the same columns, joined as they come: those of thousands of sessions, one by one, take
    several times the memory of all together."""

    def __init__(self) -> None:
        self._joined: list[ResponseTable] = []
        self._latest: list[ResponseTable] = []

    def add(self, table: ResponseTable) -> None:
        """Add a table."""
        self._latest.append(table)
        if len(self._latest) == _AT_ONCE and (arrow := _arrow()) is not None:
            self._joined.append(arrow.concat_tables(map(_in_arrow, self._latest)).combine_chunks())
            self._latest.clear()

    def frame(self) -> pandas.DataFrame:
        """All as one data frame, in order; texts are kept once, as categories, where pyarrow is installed."""
        return _in_one([*self._joined, *self._latest], strings_to_categorical=True)


def _in_one(tables: Sequence[ResponseTable], **options: bool) -> pandas.DataFrame:
    if (arrow := _arrow()) is not None:
        whole = arrow.concat_tables(map(_in_arrow, tables), promote_options="permissive")
        frame = whole.to_pandas(use_threads=len(tables) > 1, **options)
    else:
        frame = _together(table for table in tables if isinstance(table, Table)).to_pandas()
    if "correct" in frame.columns and frame["correct"].dtype == object:
        frame["correct"] = frame["correct"].astype("boolean")  # ratings have none: still something to take means of
    return frame
