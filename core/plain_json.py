"""JSON as it should be: each key once, and numbers that are numbers."""

from __future__ import annotations

from typing import Any, NoReturn


def each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
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


def no_constant(name: str) -> NoReturn:
    """``parse_constant``: NaN and Infinity are not JSON.

    Raises
    ------
    ValueError
        always.
    """
    raise ValueError(f"{name} is not a number")
