"""Records without what was measured, as the models of the record mark it."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from typing import Any

from spanlab.sessions.record.events import AskedStep, Event
from spanlab.sessions.record.marking import fields_of, inner_models
from spanlab.sessions.record.session_info import SessionInfo
from spanlab.sessions.record.table import COLUMNS
from spanlab.sessions.record.transcript_file import ReplyLine


def without_measured(model: Any, record: dict[str, Any], mask_others: bool = False) -> dict[str, Any]:
    """A record in which every measured value is null; keys and their order stay.

    Parameters
    ----------
    mask_others : whether keys that the model does not declare are measured: so it is within a field
        that is
    """
    declared = {field.name: field for one in inner_models(model) for field in fields_of(one)}
    kept: dict[str, Any] = {}
    for key, value in record.items():
        field = declared.get(key)
        measured = mask_others if field is None else field.holds.measured
        if field is not None and any(inner_models(field.type)) and isinstance(value, (dict, list)):
            several = [
                without_measured(field.type, one, measured) for one in ([value] if isinstance(value, dict) else value)
            ]
            kept[key] = several[0] if isinstance(value, dict) else several
        else:
            kept[key] = None if measured else value
    return kept


def model_of(event: dict[str, Any]) -> type:
    """The model of an event."""
    if event["event"] == "step" and "ask" in event:
        return AskedStep
    return next(
        one
        for one in inner_models(Event)
        if any(field.name == "event" and event["event"] in repr(field.type) for field in fields_of(one))
    )


def _rewritten(text: str, model: Callable[[dict[str, Any]], Any], indent: int | None = None) -> str:
    """JSON without what was measured, after a check that it is laid out as it always was."""
    record = json.loads(text)
    layout: dict[str, Any] = {"indent": 1, "ensure_ascii": False} if indent else {"separators": (",", ":")}
    assert text == json.dumps(record, **layout)
    return json.dumps(without_measured(model(record), record), **layout)


def _table(text: str) -> str:
    head, *rows = csv.reader(io.StringIO(text))
    measured = {column.name for column in COLUMNS if column.measured}
    return "\n".join(
        map(
            repr,
            [head, *([value for name, value in zip(head, row, strict=True) if name not in measured] for row in rows)],
        )
    )


def file_without_measured(name: str, text: str) -> str:
    """The content of a file of a session; all but what was measured is as it stands there."""
    if name == "responses.csv":
        return _table(text)
    if name == "session.json":
        return _rewritten(text.removesuffix("\n"), lambda _: SessionInfo, indent=1)
    model: Callable[[dict[str, Any]], Any] = model_of if name == "events.jsonl" else lambda _: ReplyLine
    return "\n".join(_rewritten(line, model) for line in text.splitlines())
