"""A table with a row for each participant, such as scores: its columns are measures of exclusion
rules and conditions of figures."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from ...core.errors import SpanLabError
from ...core.registry import nearest
from .files import read_columns
from .scoring import identity

#: A number with more different values than this is cut at its median, where it is a condition.
MOST_LEVELS = 6
_NAMES = 6


def read_people(file: Path) -> pd.DataFrame:
    """Return a table of participants, indexed by ``participant``.

    Raises
    ------
    SpanLabError
        when the file cannot be read, has no column ``participant``, or names somebody twice.
    """
    table = numbered_texts(read_columns(file))
    if "participant" not in table.columns:
        raise SpanLabError(
            f"{file} is not a table of participants: it has no column 'participant' (spanlab scores-by-person DATA"
            " -o DIR writes one)"
        )
    if twice := sorted(table.loc[table["participant"].duplicated(), "participant"].astype(str).unique()):
        raise SpanLabError(
            f"{file} has more than one row of {', '.join(twice[:5])}: a table of participants has one for each"
        )
    return table.set_index("participant")


def numbered_texts(table: pd.DataFrame) -> pd.DataFrame:
    """A table of texts with columns of numbers as such, whatever separates decimals; identifiers stay
    texts."""
    numbers = {}
    for name in table.columns:
        texts = table[name].dropna().astype(str).str.strip()
        points = texts.str.replace(",", ".", regex=False) if texts.str.fullmatch(r"[-+]?\d*,?\d+").all() else texts
        values = pd.to_numeric(points, errors="coerce")
        if name != "participant" and values.notna().all():
            numbers[name] = values.reindex(table.index)
    return table.assign(**numbers)


def strangers(file: Path, known: pd.Index, participants: Iterable[str]) -> str:
    """That most participants are not in a table of them, and which identifiers are nearly alike; empty
    where they are in it."""
    names, there = {*map(str, participants)} - {""}, {*map(str, known)}
    missing = sorted(names - there)
    if len(missing) * 2 <= len(names):
        return ""
    alike = {identity(name): name for name in there - names}
    near = [f"{alike[identity(name)]} and {name}" for name in missing if identity(name) in alike]
    look = f" Nearly alike: {', '.join(near[:_NAMES])}." if near else ""
    return f"{file}: {len(missing)} of {len(names)} participants are not in this table.{look}"


def column_of(file: Path, column: str) -> pd.Series:
    """Return a column of a table of participants, by participant.

    Raises
    ------
    SpanLabError
        when there is none of this name; the message has the nearest one.
    """
    table = read_people(file)
    if column not in table.columns:
        raise SpanLabError(f"{file} has no column '{column}'{nearest(column, [*map(str, table.columns)])}")
    return table[column]


def with_people(responses: pd.DataFrame, people: pd.DataFrame) -> pd.DataFrame:
    """Return a response table in which each column of a table of participants is a condition
    (``record_COLUMN``); whoever is not in it has no value.

    Numbers of more than six different values are cut at the median of the participants, into ``up
    to MEDIAN`` and ``above MEDIAN``.

    Parameters
    ----------
    responses : of one or many sessions
    people : indexed by ``participant``
    """
    if "participant" not in responses.columns:
        return responses
    names = responses["participant"].astype(str)
    columns = {f"record_{name}": names.map(conditions(people[name])) for name in people.columns}
    return responses.assign(**{name: values for name, values in columns.items() if name not in responses.columns})


def conditions(values: pd.Series) -> pd.Series:
    """Return the values of participants as conditions, in the JSON text of the record."""
    if (
        pd.api.types.is_numeric_dtype(values)
        and not pd.api.types.is_bool_dtype(values)
        and values.nunique() > MOST_LEVELS
    ):
        median = float(values.median())
        words = values.gt(median).map({True: f"above {median:.4g}", False: f"up to {median:.4g}"})
        values = words.where(values.notna())
    return values.map(_as_json)


def _as_json(value: Any) -> str | None:
    if pd.isna(value):
        return None
    return json.dumps(value.item() if hasattr(value, "item") else value)
