"""Declarations of the fields of a record. Columns, checks, the columns that the analysis loads and
the tables of the documentation follow from them.

A model is a ``TypedDict`` that pydantic checks: what is written and read is plain JSON, so a model
costs nothing where a trial is timed, and no byte of a file depends on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import NoneType
from typing import Annotated, Any, Literal, NotRequired, get_args, get_origin, get_type_hints

from pydantic import ConfigDict

ColumnType = Literal["string", "integer", "number", "boolean", "json"]
#: What stands in a cell of the response table. ``json`` cells hold a scalar of any type.
Cell = str | int | float | None

#: Models that are to have no other keys than theirs, and those of which others may say more.
CLOSED, OPEN = ConfigDict(extra="forbid", strict=True), ConfigDict(extra="allow", strict=True)

_TYPES: Mapping[type, ColumnType] = {str: "string", int: "integer", float: "number", bool: "boolean"}


@dataclass(frozen=True, slots=True)
class Holds:
    """The meaning of a field.

    Parameters
    ----------
    meaning : in words, for the documentation
    unit : of a number
    measured : whether it is what the machine or the person happened to take; all other fields are
        the same whenever the same session is run again
    """

    meaning: str
    unit: str = ""
    measured: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class InTable:
    """Marks a field that is a column of the response table.

    Parameters
    ----------
    loaded : whether the analysis reads it
    name, meaning, type : as those of the field, when empty
    cell : makes what stands in the table of what stands in the record
    missing : what stands in the table where the record does not have the field
    """

    loaded: bool = False
    name: str = ""
    meaning: str = ""
    type: ColumnType | None = None
    cell: Callable[[Any], Cell] | None = None
    missing: Cell = None


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a model, as it is declared.

    Parameters
    ----------
    type : what its annotation says, without what was said beside
    required : whether every record has it
    """

    name: str
    type: Any
    required: bool
    holds: Holds
    in_table: InTable | None


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


@cache
def fields_of(model: type) -> tuple[Field, ...]:
    """The fields of a model, in the order in which they are declared."""
    hints = get_type_hints(model, include_extras=True)
    return tuple(_field(name, hint, name in keys_of(model)) for name, hint in hints.items())


def keys_of(model: type) -> frozenset[str]:
    """The keys that a model declares as required; those that are marked otherwise one by one are
    among them."""
    return getattr(model, "__required_keys__", frozenset())


def _field(name: str, hint: Any, required: bool) -> Field:
    annotations: list[Any] = []
    while get_origin(hint) in (Annotated, NotRequired):
        required = required and get_origin(hint) is not NotRequired
        hint, *beside = get_args(hint)
        annotations += beside
    holds = [annotation for annotation in annotations if isinstance(annotation, Holds)]
    columns = [annotation for annotation in annotations if isinstance(annotation, InTable)]
    return Field(name, hint, required, holds[0] if holds else Holds(""), columns[0] if columns else None)


def inner_models(type_: Any) -> Iterator[type]:
    """The models that a type is made of: itself, or what a list or a choice of models holds."""
    if isinstance(type_, type) and hasattr(type_, "__required_keys__"):
        yield type_
    for inner in get_args(type_):
        yield from inner_models(inner)


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
