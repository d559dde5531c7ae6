"""Values as JSON and YAML have them, with types that can be relied on."""

from __future__ import annotations

from typing import Any, NoReturn, cast

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


def as_levels(value: object) -> list[Any]:
    """Several values as a list; one value as a list of it alone."""
    return [*cast("tuple[Any, ...]", value)] if isinstance(value, (list, tuple)) else [value]


def as_object(value: object) -> dict[str, Any]:
    """A mapping of JSON; an empty one for anything else."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    """A list of JSON; an empty one for anything else."""
    return cast("list[Any]", value) if isinstance(value, list) else []


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
