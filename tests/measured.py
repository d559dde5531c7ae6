"""Records without what was measured, as the models of the record mark it."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from spanlab.sessions.columns import COLUMNS
from spanlab.sessions.events import Event
from spanlab.sessions.marking import fields_of, inner_models
from spanlab.sessions.session_info import SessionInfo
from spanlab.sessions.transcript_file import SentLine


def without_measured(model: Any, record: dict[str, Any], mask_others: bool = False) -> dict[str, Any]:
    """A record in which every measured value is null; keys and their order stay.

    Parameters
    ----------
    mask_others : whether keys that the model does not declare are measured: so it is within a field that is
    """
    declared = {field.name: field for one in inner_models(model) for field in fields_of(one)}
    kept: dict[str, Any] = {}
    for key, value in record.items():
        field = declared.get(key)
        measured = mask_others if field is None else field.holds.measured
        inner = [] if field is None else list(inner_models(field.type))
        if inner and isinstance(value, dict):
            kept[key] = without_measured(field.type, value, measured)  # type: ignore[union-attr]
        elif inner and isinstance(value, list):
            kept[key] = [without_measured(field.type, one, measured) for one in value]  # type: ignore[union-attr]
        else:
            kept[key] = None if measured else value
    return kept


def model_of(event: dict[str, Any]) -> Any:
    """The model of an event."""
    (found,) = [
        one
        for one in inner_models(Event)
        if event["event"] in repr(one.__annotations__["event"]) and ("ask" in one.__annotations__) == (event["event"] == "step" and "ask" in event)
    ]
    return found
