"""Numbers as text: signs, dashes for missing values, limits, p values."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any


def missing(value: Any) -> bool:
    """Whether there is no number."""
    return value is None or str(value) in ("nan", "<NA>", "None")


def number(value: Any, digits: int = 2) -> str:
    """``1.25``; a dash where there is no number."""
    return "–" if missing(value) else with_sign(float(value), digits).removeprefix("+")


def limits(low: Any, high: Any, say: Callable[[float], str] = number) -> str:
    """``0.21 to 0.84``, ``0.21 or more`` where there is no end above; a dash where there is no interval."""
    if missing(low) or missing(high):
        return "–"
    return f"{say(low)} or more" if high == math.inf else f"{say(high)} or less" if low == -math.inf else f"{say(low)} to {say(high)}"


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
