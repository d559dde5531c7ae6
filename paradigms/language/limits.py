"""Limits that no experiment reaches, so that no file can hang the program or fill the memory."""

from __future__ import annotations

import math
import threading
from typing import Any

#: values in one drawn or computed value, counted at any depth; 16 characters of text count as one
#: more
MAX_VALUES = 50_000
MAX_TEXT = 10_000
#: whole numbers fit into 64 bits, as they do in the record
MAX_WHOLE = 2**63 - 1
#: values that filling in one trial may touch; the largest published trials touch a few thousand
MAX_WORK = 2_000_000
MAX_STEPS = 10_000
MAX_DISPLAYS = 100
MAX_FACTORS = 50
MAX_DRAWS = 200
#: combinations of the levels of crossed factors
MAX_COMBINATIONS = 100_000
MAX_SESSION_TRIALS = 1_000_000

_PLAIN = (type(None), bool)
_WHOLE = {int}


class LimitError(ValueError):
    """A limit was met, or a value is not plain; the message says which."""


class _Account(threading.local):
    left = MAX_WORK


_ACCOUNT = _Account()


def start_trial() -> None:
    """A new trial begins: it has all its work before it."""
    _ACCOUNT.left = MAX_WORK


def work_done() -> int:
    """The number of values that the trial has used so far."""
    return MAX_WORK - _ACCOUNT.left


def spend(work: int) -> None:
    """Note that so many values are touched.

    Raises
    ------
    LimitError
        when the trial has touched too many.
    """
    _ACCOUNT.left -= work
    if _ACCOUNT.left < 0:
        raise LimitError(
            "this takes more work than one trial may cost; are there loops within loops, or very long lists?"
        )


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
    kind = type(value)
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
        kind = type(item)
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
