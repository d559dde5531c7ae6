"""Cells of tables that are written for spreadsheets."""

from __future__ import annotations

import re

_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")


def harmless(text: str) -> str:
    """A text that no spreadsheet takes for a formula: where it begins like one (``=``, ``+``, ``-``,
    ``@``) and is no number, an apostrophe stands before it.

    Examples
    --------
    >>> harmless("=1+1"), harmless("-3.5"), harmless("-")
    ("'=1+1", '-3.5', "'-")
    """
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") and not _NUMBER.fullmatch(text) else text
