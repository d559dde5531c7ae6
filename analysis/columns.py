"""Columns of long tables, read once for each distinct value: codes, numbers and decoded JSON scalars."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

_ROOM = 2**62


def coded(column: pd.Series) -> tuple[np.ndarray, list[Any]]:
    """A column as whole numbers from 0 in the order of its sorted values, and these values; -1 stands for missing."""
    import pandas as pd

    codes, values = pd.factorize(column)
    values = [one.item() if isinstance(one, np.generic) else one for one in values]
    order = sorted(range(len(values)), key=lambda at: (isinstance(values[at], str), values[at]))
    rank = np.empty(len(values) + 1, dtype=np.int64)
    rank[order] = np.arange(len(values))
    rank[-1] = -1
    return rank[codes], [values[at] for at in order]


def packed(codes: Sequence[np.ndarray], sizes: Sequence[int]) -> np.ndarray:
    """Several columns of codes as one column of whole numbers that sort like the first, then the second, and so on."""
    import pandas as pd

    code, room = np.zeros(len(codes[0]), dtype=np.int64), 1
    for one, size in zip(codes, sizes, strict=True):
        if room * max(size, 1) > _ROOM:
            code, names = pd.factorize(code, sort=True)
            room = len(names)
        code, room = code * max(size, 1) + one, room * max(size, 1)
    return code


def groups(table: pd.DataFrame, columns: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Rows that are alike in ``columns``: the number of each row's group, and the first row of each group. Missing values are alike."""
    import pandas as pd

    found = [coded(table[name]) for name in columns]
    number, names = pd.factorize(packed([code + 1 for code, _ in found], [len(values) + 1 for _, values in found]))
    return number, first_rows(number, len(names))


def first_rows(number: np.ndarray, many: int) -> np.ndarray:
    """The first row of each group."""
    first = np.empty(many, dtype=np.int64)
    first[number[::-1]] = np.arange(len(number) - 1, -1, -1)
    return first


def decoded(column: pd.Series) -> pd.Series:
    """A column of JSON scalars (as text, or decoded already) as plain values; None where it holds null or nothing."""
    import pandas as pd

    codes, values = pd.factorize(column)
    plain = np.array([*map(plain_value, values), None], dtype=object)
    return pd.Series(plain[codes], index=column.index).infer_objects()


def numbers(column: pd.Series) -> np.ndarray:
    """A column of JSON scalars as numbers; true is 1, false 0, everything else that is no number NaN."""
    import pandas as pd

    codes, values = pd.factorize(column)
    plain = [value if isinstance(value := plain_value(one), bool | int | float) else np.nan for one in values]
    return np.asarray([*map(float, plain), np.nan])[codes]


def plain_value(value: object) -> Any:
    """What a JSON scalar stands for; other text stands for itself."""
    if not isinstance(value, str):
        return value.item() if isinstance(value, np.generic) else value
    try:
        found = json.loads(value)
    except ValueError:
        return value
    return value if isinstance(found, (list, dict)) else found
