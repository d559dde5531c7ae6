"""The events of other packages: models as those of SpanLab, in the entry-point group
``spanlab.events``.

An agent writes one with :meth:`.Journal.note`: ``journal.note({"event": "blinks", "count": 3})``.
Its fields with ``InTable`` are columns ``event_<event>_<field>`` of the response table. All rows of
a trial have the values of the last such event in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, get_args

from typing_extensions import override

from ...core.errors import SpanLabError
from ...core.registry import Declarations
from .events import Event, OfTrial
from .marking import Cell, Field, Holds, fields_of


def tag_of(model: Any) -> str:
    """Return the name of the events of a model; empty where it declares none, or several."""
    tags = next((get_args(field.type) for field in fields_of(model) if field.name == "event"), ())
    return str(tags[0]) if len(tags) == 1 else ""


#: the names of SpanLab's own events
OWN_EVENTS = frozenset(tag_of(model) for model in get_args(Event))


class EventModels(Declarations[type]):
    """Models of the events of other packages, by the names of the events."""

    @override
    def name_of(self, value: Any) -> str:
        name, fields = tag_of(value), {field.name for field in fields_of(value)}
        if not name.isidentifier() or not fields >= OfTrial.__annotations__.keys():
            raise ValueError(
                f"{value.__name__} is not an event of a trial: a subclass of OfTrial with event: Literal['its_name']"
            )
        if name in OWN_EVENTS:
            raise ValueError(f"SpanLab has an event '{name}' of its own")
        if not hasattr(value, "__pydantic_config__"):
            raise ValueError(f"{value.__name__} does not say whether it may have further keys: @with_config(CLOSED)")
        return name


FURTHER_EVENTS = EventModels("event", "spanlab.events")


@cache
def event_columns(name: str) -> Mapping[str, Field]:
    """The fields of an event that are columns, by the columns' names; none where its package is not
    installed."""
    try:
        fields = fields_of(FURTHER_EVENTS.get(name))
    except SpanLabError:
        return {}
    return {
        f"event_{name}_{field.name}": field
        for field in fields
        if field.in_table and field.name not in OfTrial.__annotations__
    }


def event_cells(event: Mapping[str, Any]) -> dict[str, Cell]:
    """Return what an event of another package gives to the rows of its trial."""
    cells: dict[str, Cell] = {}
    for column, field in event_columns(event["event"]).items():
        value, marks = event.get(field.name), field.in_table
        assert marks is not None
        if value is None:
            cells[column] = marks.missing
        else:
            cells[column] = value if marks.cell is None else marks.cell(value)
    return cells


def event_meaning(column: str) -> Holds:
    """Return the declared meaning of a column of an event."""
    declared = (event_columns(name).get(column) for name in FURTHER_EVENTS.known())
    return next(
        (field.holds for field in declared if field is not None),
        Holds("recorded by a package that is not installed here"),
    )
