"""Reading rows and columns in a reply. What could mean other cells means none."""

from __future__ import annotations

import re

from .wording import negated

_NUMBER = re.compile(r"\d+")
#: Between the row and the column of one cell.
_COMMA = re.compile(r" ?, ?")
_NAMED = re.compile(r"(?<![^\W\d_])(row|column|col|r|c)(?:\.? ?[:=#]? ?)(\d{1,3})(?!\d)", re.IGNORECASE)
_NUMBERED_LINE = re.compile(r"^ ?(\d{1,3})[.)] (?=\D*\d)", re.MULTILINE)
_OR = re.compile(r"\b(?:or|oder|ou)\b|或", re.IGNORECASE)
_LONGEST = 3


def read_pairs(text: str, count: int) -> list[tuple[int, int]] | None:
    """The ``count`` pairs of a row and a column in a reply, or None when it has any other number of them, or any further number.

    Pairs are written ``1,4``, in brackets or not, or as ``row 1, column 4`` (or the other way round); lines may be numbered from 1.
    """
    text = re.sub(r"[^\S\n]+", " ", text)
    if negated(text) or _OR.search(text):
        return None
    text = _without_line_numbers(text)
    found = list(_NUMBER.finditer(text))
    if len(found) != 2 * count or any(len(number[0]) > _LONGEST for number in found):
        return None
    named = list(_NAMED.finditer(text))
    if named:
        return _named_pairs([(match[1][0].lower(), int(match[2])) for match in named], count)
    for number in found:
        before, after = text[number.start() - 1 : number.start()], text[number.end() : number.end() + 1]
        if before in ("-", "+", "−", ".", "\ufffd") or before.isalpha() or after.isalpha() or after == "\ufffd":
            return None
    if not all(_COMMA.fullmatch(text, row.end(), column.start()) for row, column in zip(found[::2], found[1::2], strict=True)):
        return None
    return [(int(row[0]), int(column[0])) for row, column in zip(found[::2], found[1::2], strict=True)]


def _named_pairs(named: list[tuple[str, int]], count: int) -> list[tuple[int, int]] | None:
    """Rows and columns that are called so: always in the same order."""
    order = [name for name, _ in named[:2]]
    if len(named) != 2 * count or set(order) != {"r", "c"} or [name for name, _ in named] != order * count:
        return None
    numbers = [number for _, number in named]
    row, column = order.index("r"), order.index("c")
    return list(zip(numbers[row::2], numbers[column::2], strict=True))


def _without_line_numbers(text: str) -> str:
    """A list without the numbers of its lines, where these run from 1."""
    numbers = [int(match[1]) for match in _NUMBERED_LINE.finditer(text)]
    return _NUMBERED_LINE.sub("", text) if numbers and numbers == list(range(1, len(numbers) + 1)) else text
