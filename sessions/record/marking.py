"""Declarations of the fields of a record. Columns, checks, the columns that the analysis loads and
the tables of the documentation follow from them.

A model is a ``TypedDict`` that pydantic checks: what is written and read is plain JSON, so a model
costs nothing where a trial is timed, and no byte of a file depends on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal, NotRequired, get_args, get_origin, get_type_hints

from pydantic import ConfigDict

ColumnType = Literal["string", "integer", "number", "boolean", "json"]
#: What stands in a cell of the response table. ``json`` cells hold a scalar of any type.
Cell = str | int | float | None

#: Models that are to have no other keys than theirs, and those of which others may say more.
CLOSED, OPEN = ConfigDict(extra="forbid", strict=True), ConfigDict(extra="allow", strict=True)


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


@cache
def fields_of(model: type) -> tuple[Field, ...]:
    """The fields of a model, in the order in which they are declared."""
    hints = get_type_hints(model, include_extras=True)
    # those that are marked otherwise one by one are among them
    required = getattr(model, "__required_keys__", frozenset[str]())
    return tuple(_field(name, hint, name in required) for name, hint in hints.items())


def _field(name: str, hint: Any, required: bool) -> Field:
    annotations: list[Any] = []
    while get_origin(hint) in (Annotated, NotRequired):
        required = required and get_origin(hint) is not NotRequired
        hint, *beside = get_args(hint)
        annotations += beside
    holds = [annotation for annotation in annotations if isinstance(annotation, Holds)]
    columns = [annotation for annotation in annotations if isinstance(annotation, InTable)]
    return Field(name, hint, required, next(iter(holds), Holds("")), next(iter(columns), None))


def inner_models(type_: Any) -> Iterator[type]:
    """The models that a type is made of: itself, or what a list or a choice of models holds."""
    if isinstance(type_, type) and hasattr(type_, "__required_keys__"):
        yield type_
    for inner in get_args(type_):
        yield from inner_models(inner)
