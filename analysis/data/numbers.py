"""Numbers as text: signs, dashes for missing values, limits, p values."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...core.verdicts import VerdictRule

VERDICTS = (
    VerdictRule(
        name="an interval",
        says=(
            "95% interval … to …",
            "95% interval … or more",
            "95% interval …–…%",
            "95% interval … or less",
            "90% interval … to …",
            "=95% interval",
            "=90% interval",
            "with a 95% interval",
            "95% interval in brackets",
            "no interval",
            "rough interval",
            "have a rough interval or none; the table says which",
            "its interval is too narrow",
            "the interval is too narrow",
            "intervals are too narrow",
            "its interval is wider than it need be",
            "the interval is the normal one",
            "A single unit has no interval",
            "A single unit has no interval, and units that are all alike have none",
            "The interval of a score is that of (M - H) / H",
            "people's 95% interval",
            "on the safe side",
            "(95% interval)",
            "95% intervals",
            "standard errors and intervals are …",
            "exact ones … where all are alike",
        ),
        rests_on="the spread between participants, sessions or trials, as many as there are",
        says_no_when=(
            "there is one unit, no spread, or trials cannot be told apart: no interval; of few units it is called "
            "rough, and where it is known to be too narrow, too narrow"
        ),
        tests=(
            "tests/analysis/stats/test_intervals.py::test_means_of_times_of_few_people_hold",
            "tests/analysis/stats/test_intervals.py::test_people_who_are_all_always_right_have_no_interval_of_a_difference",
        ),
    ),
)


def missing(value: Any) -> bool:
    """Return whether there is no number."""
    return value is None or str(value) in ("nan", "<NA>", "None")


def number(value: Any, digits: int = 2) -> str:
    """``1.25``; a dash where there is no number."""
    return "–" if missing(value) else with_sign(float(value), digits).removeprefix("+")


def limits(low: Any, high: Any, say: Callable[[float], str] = number) -> str:
    """``0.21 to 0.84``, ``0.21 or more`` where there is no end above; a dash where there is no
    interval."""
    if missing(low) or missing(high):
        return "–"
    return (
        f"{say(low)} or more"
        if high == math.inf
        else f"{say(high)} or less"
        if low == -math.inf
        else f"{say(low)} to {say(high)}"
    )


def p_value(p: Any) -> str:
    """``.023`` or ``< .001``; a dash where there is none."""
    return "–" if missing(p) else "< .001" if p < 0.001 else f"{p:.3f}".replace("0.", ".", 1)


def whole(value: Any) -> str:
    """``1,250``; nothing where there is no number."""
    return "" if missing(value) else f"{int(value):,}"


def counted(value: Any, unit: str) -> str:
    """``12 participants``; nothing where nothing was counted."""
    return "" if missing(value) or not unit else f"{int(value):,} {unit}{'' if int(value) == 1 else 's'}"


def with_sign(value: float, digits: int = 2) -> str:
    """``+1.25``, ``−0.50`` and plain 0."""
    text = f"{value:+.{digits}f}"
    return text[1:] if not float(text) else text.replace("-", "−")
