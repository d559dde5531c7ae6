"""Columns of long tables, read once for each distinct value: codes, numbers, texts, yes and no, and
decoded JSON scalars."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

#: What people and spreadsheets write for yes and for no.
YES = frozenset(
    (
        "true",
        "1",
        "1.0",
        "yes",
        "wahr",
        "vrai",
        "verdadero",
        "vero",
        "waar",
        "verdadeiro",
        "sant",
        "sann",
        "sand",
        "prawda",
        "tosi",
        "igaz",
        "doğru",
        "истина",
    )
)
NO = frozenset(
    (
        "false",
        "0",
        "0.0",
        "no",
        "falsch",
        "faux",
        "falso",
        "onwaar",
        "falskt",
        "usann",
        "falsk",
        "fałsz",
        "epätosi",
        "hamis",
        "yanlış",
        "ложь",
    )
)
_ROOM = 2**62


def coded(column: pd.Series) -> tuple[np.ndarray, list[Any]]:
    """A column as whole numbers from 0 in the order of its sorted values, and these values; -1
    stands for missing."""
    codes, distinct = pd.factorize(column)
    values = [value.item() if isinstance(value, np.generic) else value for value in distinct]
    order = sorted(range(len(values)), key=lambda at: natural(values[at]))
    rank = np.empty(len(values) + 1, dtype=np.int64)
    rank[order] = np.arange(len(values))
    rank[-1] = -1
    return rank[codes], [values[at] for at in order]


def natural(value: Any) -> tuple[bool, Any]:
    """The place of a value in the order that people expect: numbers first, and ``2 items`` before ``10
    items``."""
    if not isinstance(value, str):
        return False, value
    parts = re.split(r"(\d+(?:\.\d+)?)", value)
    return True, [(not part.strip(), float(part), "") if at % 2 else (True, 0.0, part) for at, part in enumerate(parts)]


def packed(codes: Sequence[np.ndarray], sizes: Sequence[int], sort: bool = True) -> np.ndarray:
    """Several columns of codes as one column of whole numbers that sort like the first, then the
    second, and so on (if ``sort``)."""
    code, room = np.zeros(len(codes[0]), dtype=np.int64), 1
    for column_codes, size in zip(codes, sizes, strict=True):
        if size <= 1 and not column_codes.any():
            continue
        if room * max(size, 1) > _ROOM:
            code, names = pd.factorize(code, sort=sort)
            room = len(names)
        code, room = code * max(size, 1) + column_codes, room * max(size, 1)
    return code


def groups(table: pd.DataFrame, columns: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Rows that are alike in ``columns``: the number of each row's group, and the first row of each
    group. Missing values are alike."""
    number = np.zeros(len(table), np.int64)
    for name in columns:
        codes, distinct = pd.factorize(table[name], use_na_sentinel=False)
        if len(distinct) > 1:
            number, _ = pd.factorize(number * len(distinct) + codes)
    return number, first_rows(number, int(number.max(initial=-1)) + 1)


def first_rows(number: np.ndarray, many: int) -> np.ndarray:
    """The first row of each group."""
    first = np.empty(many, dtype=np.int64)
    first[number[::-1]] = np.arange(len(number) - 1, -1, -1)
    return first


def decoded(column: pd.Series) -> pd.Series:
    """A column of JSON scalars (as text, or decoded already) as plain values; None where it holds
    null or nothing."""
    codes, values = pd.factorize(column)
    plain = [*map(plain_value, values)]
    known = [value for value in plain if value is not None]
    missing = len(known) < len(plain) or bool((codes < 0).any())
    if not known or all(isinstance(value, int | float) and not isinstance(value, bool) for value in known):
        whole = not missing and all(isinstance(value, int) for value in known)
        numbers = np.array([*(np.nan if value is None else value for value in plain), np.nan])
        return pd.Series(numbers[codes].astype(np.int64) if whole else numbers[codes], index=column.index)
    if all(isinstance(value, str) for value in known):
        return pd.Series(pd.array([*plain, None], dtype="str").take(codes % (len(plain) + 1)), index=column.index)
    return pd.Series(np.array([*plain, None], dtype=object)[codes], index=column.index).infer_objects()


def numbers(column: pd.Series) -> np.ndarray:
    """A column of JSON scalars as numbers; true is 1, false 0, everything else that is not a number
    NaN."""
    codes, values = pd.factorize(column)
    plain = [value if isinstance(value := plain_value(text), bool | int | float) else np.nan for text in values]
    return np.asarray([*map(float, plain), np.nan])[codes]


def records(table: pd.DataFrame) -> list[dict[Any, Any]]:
    """The rows of a table as ``table.to_dict("records")`` has them, in half the time: a page asks
    for those of hundreds of small tables."""
    columns = [_boxed(column) for _, column in table.items()]
    names = [*table.columns]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def _boxed(column: pd.Series) -> list[Any]:
    """The values of a column as Python's own; None for what is missing where pandas has a value of
    its own for that."""
    values = column.tolist()
    if column.dtype.kind != "O" and isinstance(column.dtype, np.dtype):
        return values
    return [value.item() if isinstance(value, np.generic) else None if value is pd.NA else value for value in values]


def with_whole(table: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """A table with these of its columns as whole numbers, each of which may be missing."""
    return table.assign(**{name: table[name].astype("Int64") for name in names if name in table.columns})


def plain_value(value: object) -> Any:
    """Return what a JSON scalar stands for; other text stands for itself."""
    if not isinstance(value, str):
        return value.item() if isinstance(value, np.generic) else value
    try:
        decoded_value = json.loads(value)
    except ValueError:
        return value
    return value if isinstance(decoded_value, (list, dict)) else decoded_value


def as_text(column: pd.Series) -> pd.Series:
    """A column as text, nothing where it is missing; texts that are kept once (categories) stay so."""
    if isinstance(column.dtype, pd.CategoricalDtype) and column.cat.categories.dtype == "str":
        if not column.isna().any():
            return column
        return (column if "" in column.cat.categories else column.cat.add_categories("")).fillna("")
    return _each(column, lambda value: "" if _missing(value) else str(value), str)


def booleans(column: pd.Series) -> pd.Series:
    """Yes and no in any spelling that a file may hold, as 1.0, 0.0 and NaN."""
    if column.dtype == bool:
        return column.astype(float)
    words = {**dict.fromkeys(YES, 1.0), **dict.fromkeys(NO, 0.0)}
    return _each(column, lambda value: words.get(str(value).strip().lower(), np.nan), float)


def absent(column: pd.Series) -> pd.Series:
    """Return where a column of JSON scalars holds null, decoded or as text."""
    return _each(
        column, lambda value: _missing(value) or (isinstance(value, str) and value.strip() in ("", "null")), bool
    )


def _missing(value: object) -> bool:
    return value is None or value != value


def _each(column: pd.Series, function: Callable[[object], object], kind: type) -> pd.Series:
    """A function of every value of a column, computed once for each distinct value: long tables
    repeat few of them."""
    if not len(column):
        return pd.Series(np.empty(0, object), index=column.index).astype(kind)
    try:
        codes, distinct = pd.factorize(column)
    except TypeError:  # lists and the like
        return column.map(function).astype(kind)
    # missing values have code -1: the last one
    return pd.Series(
        pd.array([*map(function, distinct), function(None)], dtype=kind).take(codes % (len(distinct) + 1)),
        index=column.index,
    )
