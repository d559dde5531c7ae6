"""The response table: its columns, as the models of the record declare them, its rows, as the events of a session give them, and the one place where these
become a table of pyarrow's."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...core.errors import SpanLabError
from .attempts import finished_trials
from .displays import TrialTiming, trial_timing
from .events import AskedStep, Event, Notes, OwnColumns, Score, Shown, TrialStart
from .marking import Cell, Column, columns_of
from .session_info import SessionInfo

if TYPE_CHECKING:
    import pyarrow

#: The declared columns; factors that are not among them follow as ``factor_<name>`` and further recorded values as ``record_<name>`` (type ``json``).
COLUMNS, _SOURCES = columns_of((SessionInfo, TrialStart, AskedStep, OwnColumns, Score, Notes, Shown, TrialTiming))
_OF_SESSION, _OF_TRIAL, _OF_QUESTION, _, _OF_SCORE, _OF_NOTES, _OF_DISPLAY, _ = _SOURCES

#: factors and recorded values that are columns by themselves
OWN_COLUMNS = frozenset(OwnColumns.__annotations__)

Row = dict[str, Cell]


def response_rows(session: Mapping[str, Any], events: Iterable[Event]) -> list[Row]:
    """The rows of the response table of one session: one per answered item, finished trials only, in the order of the plan (practice first)."""
    events = list(events)
    done, timing = finished_trials(events), trial_timing(session, events)
    of_session = _OF_SESSION.fill(session)
    heads: dict[str, tuple[TrialStart, Row]] = {}
    rows: dict[str, list[Row]] = {}
    for event in events:
        if event["event"] == "trial_start":
            if done.get(key := event["trial"]) == event["attempt"]:
                heads[key], rows[key] = (event, {**of_session, **_OF_TRIAL.fill(event), **_named(event["levels"], "factor")}), []
        elif event["event"] != "step" or (key := event["trial"]) not in heads or done.get(key) != event["attempt"]:
            continue
        elif "ask" in event:
            before = {**heads[key][1], **_of_question(event)}
            of_trial = timing.get((key, event["attempt"]), {})
            rows[key] += [{**before, **_of_score(score, before), **of_trial} for score in event["scores"]]
        elif feedback := event.get("feedback"):
            last = rows[key][-1]["ask"] if rows[key] else None
            for row in rows[key]:
                if row["ask"] == last:
                    row["feedback_shown"] = feedback
    ordered = sorted(rows, key=lambda key: (not heads[key][0]["practice"], heads[key][0]["block"], int(key.removeprefix("p"))))
    return [row for key in ordered for row in rows[key]]


def _of_question(event: AskedStep) -> Row:
    """What the rows of a question share."""
    shown = event.get("shown")
    return {
        **_OF_QUESTION.fill(event),
        "feedback_shown": "",  # that of the step after it
        **_OF_NOTES.fill(event["notes"]),
        **_OF_DISPLAY.fill(shown[0] if shown else {}),
        **_named(event["record"], "record"),
    }


def _named(values: Mapping[str, Any], prefix: str) -> Row:
    return {name if name in OWN_COLUMNS else f"{prefix}_{name}": value for name, value in values.items()}


def _of_score(score: Score, before: Row) -> Row:
    """What a row has of its own; where an item does not say its position, the question's holds."""
    return {name: before.get(name) if value is None and name in OWN_COLUMNS else value for name, value in _OF_SCORE.fill(score).items()}


def response_table(rows: Sequence[Mapping[str, Cell]]) -> pyarrow.Table:
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
        name = column.name
        cells: list[Cell] = [row.get(name) for row in rows]
        if column.type == "json":
            cells = [None if cell is None else json.dumps(cell) for cell in cells]
        try:
            arrays.append(pyarrow.array(cells, types[column.type]))
        except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError, OverflowError) as error:
            raise SpanLabError(f"the column {column.name} of the record takes values of type {column.type} only: {error}") from None
    return pyarrow.table(arrays, names=[column.name for column in columns])
