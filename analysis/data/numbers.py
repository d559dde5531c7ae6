"""Numbers as text: signs, dashes for missing values, limits, p values."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...core.errors import in_number


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
    if high == math.inf:
        return f"{say(low)} or more"
    return f"{say(high)} or less" if low == -math.inf else f"{say(low)} to {say(high)}"


def p_value(p: Any) -> str:
    """``.023`` or ``< .001``; a dash where there is none."""
    if missing(p):
        return "–"
    return "< .001" if p < 0.001 else f"{p:.3f}".replace("0.", ".", 1)


def whole(value: Any) -> str:
    """``1,250``; nothing where there is no number."""
    return "" if missing(value) else f"{int(value):,}"


def counted(value: Any, unit: str) -> str:
    """``12 participants``; nothing where nothing was counted."""
    if missing(value) or not unit:
        return ""
    return f"{int(value):,} {in_number(int(value), unit)}"


def with_sign(value: float, digits: int = 2) -> str:
    """``+1.25``, ``−0.50`` and plain 0."""
    text = f"{value:+.{digits}f}"
    return text[1:] if not float(text) else text.replace("-", "−")


def decimals(low: float, high: float, least: int = 0) -> int:
    """How many decimals an interval needs to be seen: ``least``, or more where it is narrow.

    >>> decimals(-12.4, 3.1), decimals(-0.5, -0.3), decimals(-0.0107, -0.0066)
    (0, 1, 3)
    """
    width = high - low
    return least if not 0 < width < math.inf else max(least, min(9, math.ceil(-math.log10(width / 2))))


def odds(value: float, low: float, high: float) -> tuple[str, str]:
    """An odds ratio and its interval, in as many digits as the interval needs.

    >>> odds(1.7611, 1.2, 2.7), odds(0.99931, 0.99914, 0.99948)
    (('1.76', '1.2 to 2.7'), ('0.99931', '0.99914 to 0.99948'))
    """
    width = (high - low) / value if value else math.nan
    digits = min(12, 1 + math.ceil(-math.log10(width / 2))) if 0 < width < 0.02 else 3

    def say(ratio: float) -> str:
        return f"{ratio:.{digits}g}" if ratio < 1000 else f"{ratio:.1e}"

    return say(value), limits(low, high, say)
