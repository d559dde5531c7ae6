"""Values as JSON and YAML have them, with types that can be relied on; values by their keys."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any, NoReturn, TypeVar, cast

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


def as_levels(value: object) -> list[Any]:
    """Several values as a list; one value as a list of it alone."""
    return [*cast("tuple[Any, ...]", value)] if isinstance(value, (list, tuple)) else [value]


def as_object(value: object) -> dict[str, Any]:
    """A mapping of JSON; an empty one for anything else."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    """A list of JSON; an empty one for anything else."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def grouped(pairs: Iterable[tuple[K, V]]) -> dict[K, list[V]]:
    """Return the values of each key, keys and values in the order in which they come.

    >>> grouped((len(word), word) for word in ("to", "the", "be"))
    {2: ['to', 'be'], 3: ['the']}
    """
    groups: dict[K, list[V]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups


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
