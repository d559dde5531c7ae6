"""Values as JSON and YAML have them, with types that can be relied on; values by their keys; cells of
tables that are written for spreadsheets."""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast

if TYPE_CHECKING:
    import pandas as pd

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

#: What people and programs write where there is nothing, in small letters.
NOTHING = frozenset(
    (
        "",
        "na",
        "n/a",
        "#n/a",
        "<na>",
        "nan",
        "nil",
        "null",
        "none",
        "missing",
        "unknown",
        "undefined",
        "-",
        "--",
        "?",
        ".",
    )
)


#: values in one plain value, counted at any depth; 16 characters of text count as one more
MAX_VALUES = 50_000
MAX_TEXT = 10_000
#: whole numbers fit into 64 bits, as they do in the record
MAX_WHOLE = 2**63 - 1
_PLAIN = (type(None), bool)
_WHOLE = {int}


class LimitError(ValueError):
    """A limit was met that no experiment reaches, or a value is not plain; the message says which."""


def in_a_list(value: object) -> list[Any]:
    """Several values as a list; one value as a list of it alone."""
    return [*cast("tuple[Any, ...]", value)] if isinstance(value, (list, tuple)) else [value]


def as_object(value: object) -> dict[str, Any]:
    """A mapping of JSON; an empty one for anything else."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    """A list of JSON; an empty one for anything else."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def where_given(**fields: Any) -> dict[str, Any]:
    """The fields of a record that say something: none that is None, false, zero or empty.

    >>> where_given(group="a", place="", repeat=None)
    {'group': 'a'}
    """
    return {name: value for name, value in fields.items() if value}


def grouped(pairs: Iterable[tuple[K, V]]) -> dict[K, list[V]]:
    """Return the values of each key, keys and values in the order in which they come.

    >>> grouped((len(word), word) for word in ("to", "the", "be"))
    {2: ['to', 'be'], 3: ['the']}
    """
    groups: dict[K, list[V]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups


def is_whole(value: Any) -> bool:
    """Return whether a value is a whole number that the record can hold."""
    return isinstance(value, int) and not isinstance(value, bool) and -MAX_WHOLE <= value <= MAX_WHOLE


def is_number(value: Any) -> bool:
    """Return whether a value is a number; true and false are none."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def weigh(value: Any) -> int:
    """Count the values in a plain value (numbers, text, true, false, null, lists, mappings of text
    to plain values), at any depth.

    Raises
    ------
    LimitError
        when there are too many, a number is too large or no number at all, or the value is not
        plain.
    """
    # Most values are one number or a list of numbers: these are seen to without a walk.
    kind = cast("type[object]", type(value))
    if (
        (kind is int and -MAX_WHOLE <= value <= MAX_WHOLE)
        or kind is bool
        or (kind is float and math.isfinite(value))
        or value is None
    ):
        return 1
    total, waiting = 0, [value]
    while waiting:
        item = waiting.pop()
        total += 1
        kind = cast("type[object]", type(item))
        if kind is int:
            if not -MAX_WHOLE <= item <= MAX_WHOLE:
                raise LimitError("a whole number beyond 64 bits")
        elif kind is str:
            if len(item) > MAX_TEXT:
                raise LimitError(f"text of more than {MAX_TEXT} characters")
            total += len(item) >> 4
        elif kind is float:
            if not math.isfinite(item):
                raise LimitError("a number that is too large")
        elif kind is list or kind is tuple:
            if item and set(map(type, item)) == _WHOLE:
                total += len(item)
                if min(item) < -MAX_WHOLE or max(item) > MAX_WHOLE:
                    raise LimitError("a whole number beyond 64 bits")
            else:
                waiting += item
        elif kind is dict:
            if not all(type(key) is str for key in item):
                raise LimitError("the names in a mapping must be text")
            waiting += item.values()
        elif kind not in _PLAIN:
            raise LimitError(f"{'a complex number' if kind is complex else kind.__name__} is not a plain value")
        if total + len(waiting) > MAX_VALUES:
            raise LimitError(f"more than {MAX_VALUES} values")
    return total


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """``object_pairs_hook``: an object whose keys stand once.

    Raises
    ------
    ValueError
        when one occurs twice.
    """
    content = dict(pairs)
    if len(content) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the key {next(name for name in names if names.count(name) > 1)!r} occurs twice")
    return content


def _no_constant(name: str) -> NoReturn:
    """``parse_constant``: NaN and Infinity are not JSON.

    Raises
    ------
    ValueError
        always.
    """
    raise ValueError(f"{name} is not a number")


#: How ``json`` is to read what must be JSON and nothing else.
STRICT_JSON: dict[str, Any] = {"object_pairs_hook": _each_once, "parse_constant": _no_constant}


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
