"""Columns of conditions by the names that people use for them: with or without ``factor_`` and
``record_``, and which of them a paradigm varies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from ...core.errors import SpanLabError
from ...core.registry import nearest
from ...sessions.record.columns import FURTHER, OWN_COLUMNS
from .coding import decoded, natural

#: Columns of the record that conditions may be, besides factors and recorded values.
PLAIN = (
    "list_length",
    "set_size",
    "serial_position",
    "retention_steps",
    "output_position",
    "block",
    "group",
    "confidence",
)


@dataclass(frozen=True)
class DeclaredEffect:
    """An effect that the file of a paradigm declares.

    Parameters
    ----------
    of, along : columns: what is compared, and a condition for each level of which it is shown
    pairs : levels of ``of`` in words: the first minus the second of each
    value : ``correct``, ``rt_ms``, ``rt_median`` or ``d_prime``
    """

    name: str
    of: str
    pairs: tuple[tuple[str, str], ...]
    along: str
    value: str
    caption: str


@dataclass(frozen=True)
class Declared:
    """What the file of a paradigm says of its conditions.

    Parameters
    ----------
    conditions : columns that figures, tests and scores are about, the most important first; empty
        where it names none
    levels : of every factor, by column, in the order of the file
    effects : by name
    """

    conditions: tuple[str, ...] = ()
    levels: Mapping[str, tuple[Any, ...]] = field(default_factory=dict[str, tuple[Any, ...]])
    effects: Mapping[str, DeclaredEffect] = field(default_factory=dict[str, DeclaredEffect])

    @classmethod
    def read(cls, content: object) -> Declared:
        """Read the content of a paradigm's file, as a session keeps it."""
        data: Mapping[str, Any] = content if isinstance(content, Mapping) else {}
        factors = {str(name): _levels(value) for name, value in (data.get("factors") or {}).items()}
        columns = {name: name if name in OWN_COLUMNS else f"factor_{name}" for name in factors}

        def column(name: str) -> str:
            return columns.get(name) or (name if name in OWN_COLUMNS else f"record_{name}")

        effects = {
            name: DeclaredEffect(
                name=name,
                of=column(entry["of"]),
                pairs=tuple((str(one), str(other)) for one, other in entry["contrast"].items()),
                along=column(entry["along"]) if entry.get("along") else "",
                value=entry.get("value", "correct"),
                caption=entry.get("caption") or "",
            )
            for name, entry in (data.get("effects") or {}).items()
        }
        named = tuple(map(column, data.get("conditions") or ()))
        return cls(named, {columns[name]: levels for name, levels in factors.items()}, effects)

    def ordered(self, column: str, words: Iterable[str]) -> list[str]:
        """Levels in words, in the order of the file; in a natural one where it has none."""
        places = {_said(level): place for place, level in enumerate(self.levels.get(column, ()))}
        return sorted(words, key=lambda word: (places.get(word, len(places)), natural(word)))


def _levels(factor: Any) -> tuple[Any, ...]:
    """The levels of a factor as the file has it: a list, at random, or with weights."""
    return tuple(factor.get("random", factor) if isinstance(factor, Mapping) else factor)


def _said(level: Any) -> str:
    return YES_OR_NO[level] if isinstance(level, bool) else str(level)


#: the rows of a table of conditions: what they stand for is in recorded values
_ROWS = "factor_table_row"
#: How truth values are said as levels.
YES_OR_NO = {True: "yes", False: "no"}
#: Those of them that a paradigm may vary as a factor.
_FACTORS = ("list_length", "set_size", "retention_steps")


def plain_name(column: str) -> str:
    """``presence`` for ``factor_presence``."""
    return next((column.removeprefix(prefix) for prefix in FURTHER if column.startswith(prefix)), column)


def column_named(items: pd.DataFrame, name: str, paradigm: str, what: str) -> str:
    """The column that is meant, with or without the prefix of factors and recorded values.

    Parameters
    ----------
    what : what cannot be had without it, for the message

    Raises
    ------
    SpanLabError
        when there is none; the message lists what there is.
    """
    for one in (name, *(f"{prefix}{name}" for prefix in FURTHER)):
        if one in items.columns and (one in PLAIN or one.startswith(FURTHER)) and items[one].notna().any():
            return one
    there = columns_there(items)
    raise SpanLabError(
        f"no {what}: {paradigm} has no column '{name}'{nearest(name, there)}; it has {', '.join(there) or 'none'}"
    )


def columns_there(items: pd.DataFrame) -> list[str]:
    """The names of all columns of conditions that have values."""
    names = [one for one in items.columns if (one in PLAIN or one.startswith(FURTHER)) and items[one].notna().any()]
    return list(dict.fromkeys(map(plain_name, names)))


def varied(items: pd.DataFrame) -> list[str]:
    """The columns of conditions that a paradigm varies as factors, each of several levels; of
    columns with the same information, only the first.

    Numbers come first, since these make curves.
    """
    names = [name for name in _FACTORS if name in items.columns] + sorted(
        one for one in items.columns if one.startswith("factor_") and one != _ROWS
    )
    several = [name for name in names if decoded(items[name]).nunique() > 1]
    kept: list[str] = []
    for name in several:
        if not any(alike(items, name, other) for other in kept):
            kept.append(name)
    return sorted(kept, key=lambda name: not is_numeric(items[name]))


def alike(items: pd.DataFrame, one: str, other: str) -> bool:
    """Return whether two columns distinguish the same conditions, whatever their levels are called."""
    pairs = items[[one, other]].astype(str).drop_duplicates()
    return bool(not pairs[one].duplicated().any() and not pairs[other].duplicated().any())


def is_numeric(column: pd.Series) -> bool:
    """Return whether the levels of a column are numbers."""
    known = decoded(column).dropna()
    return all(
        isinstance(value, int | float | np.number) and not isinstance(value, bool | np.bool_)
        for value in known.unique()
    )
