"""Cells of tables that are written for spreadsheets."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")


def harmless(text: str) -> str:
    """A text that no spreadsheet takes for a formula: where it begins like one (``=``, ``+``, ``-``,
    ``@``) and is neither a number nor a sign alone, an apostrophe stands before it.

    Examples
    --------
    >>> harmless("=1+1"), harmless("-3.5"), harmless("-")
    ("'=1+1", '-3.5', '-')
    """
    formula = len(text) > 1 and text[0] in ("=", "+", "-", "@", "\t", "\r") and not _NUMBER.fullmatch(text)
    return f"'{text}" if formula else text


def csv_text(table: pd.DataFrame) -> str:
    """A table as CSV without its index, with :func:`harmless` texts."""
    safe = table.copy()
    for name in safe.columns[[kind.kind not in "biufcM" for kind in safe.dtypes]]:
        safe[name] = safe[name].map(lambda value: harmless(value) if isinstance(value, str) else value)
    return str(safe.to_csv(index=False))  # pyright: ignore[reportUnknownMemberType]
