"""Trials of others in JSON, read key by key; every fault is reported with its key."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from spanlab.paradigms.language import listed, show

T = TypeVar("T")


class MalformedError(ValueError):
    """Raised where something is wrong with a trial.

    Parameters
    ----------
    key : where, such as ``updates > 3``; empty for the whole trial
    message : what was expected and found
    """

    def __init__(self, key: str, message: str) -> None:
        self.key, self.message = key, message
        super().__init__(f"{key}: {message}" if key else message)


class Fields:
    """A JSON object.

    Parameters
    ----------
    data : the object, as JSON gives it
    path : keys above it
    """

    def __init__(self, data: Any, path: str = "") -> None:
        self._path = path
        self._asked: set[str] = set()
        if not isinstance(data, dict):
            raise MalformedError(path, f"expected keys with values; found {show(data)}")
        self._data: Mapping[str, Any] = data

    def __contains__(self, key: str) -> bool:
        return key in self._data

    def wrong(self, key: str, message: str) -> MalformedError:
        """Return the error of a wrong value of a key."""
        return MalformedError(self._at(key), message)

    def _at(self, key: str) -> str:
        return f"{self._path} > {key}" if self._path else key

    def pass_by(self, *keys: str) -> None:
        """Skip keys that are known and add nothing."""
        self._asked.update(keys)

    def unknown(self) -> list[str]:
        """The keys that were not read."""
        return [key for key in self._data if key not in self._asked]

    def any(self, *keys: str) -> Any:
        """The value of a key, under the first of its names that is there."""
        self._asked.update(keys)
        for key in keys:
            if key in self._data:
                return self._data[key]
        raise self.wrong(keys[0], f"this key is missing{f' (and so is {listed(keys[1:])})' if len(keys) > 1 else ''}")

    def whole(self, *keys: str) -> int:
        """A whole number."""
        return self._checked(keys, lambda value: type(value) is int, "a whole number")

    def wholes(self, key: str, length: int | None = None) -> list[int]:
        """A list of whole numbers."""
        return wholes(self.any(key), length, self._at(key))

    def word(self, key: str, of: Mapping[Any, T]) -> T:
        """The meaning of a value that must be one of some words (or numbers, or null)."""
        return one_of(self.any(key), of, self._at(key))

    def list(self, key: str, length: int | None = None) -> list[Any]:
        """A list."""
        return members(self.any(key), length, self._at(key))

    def numbered(self, key: str, length: int, first: int = 0) -> list[Any]:
        """A list that was written as an object with the keys ``first``, ``first + 1`` and so on."""
        return numbered(self.any(key), length, self._at(key), first)

    def equal(self, key: str, expected: Any) -> None:
        """Check a value that follows from others, when it is there."""
        if key in self and self.any(key) != expected:
            raise self.wrong(
                key, f"expected {show(expected)}, as the other keys have it; found {show(self._data[key])}"
            )

    def _checked(self, keys: tuple[str, ...], fits: Callable[[Any], bool], expected: str) -> Any:
        value = self.any(*keys)
        if not fits(value):
            key = next(key for key in keys if key in self._data)
            raise self.wrong(key, f"expected {expected}; found {show(value)}")
        return value


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def members(value: Any, length: int | None, path: str) -> list[Any]:
    """A value as a list of so many."""
    if not isinstance(value, list) or (length is not None and len(value) != length):
        kind = f"one of {len(value)}" if isinstance(value, list) else show(value)
        raise MalformedError(path, f"expected a list{f' of {length}' if length is not None else ''}; found {kind}")
    return value


def wholes(value: Any, length: int | None, path: str) -> list[int]:
    """A value as a list of so many whole numbers."""
    for n, member in enumerate(members(value, length, path)):
        if type(member) is not int:
            raise MalformedError(f"{path} > {n}", f"expected a whole number; found {show(member)}")
    return value


def one_of(value: Any, of: Mapping[Any, T], path: str) -> T:
    """The meaning of a word."""
    plain = value is None or (isinstance(value, (str, int)) and not isinstance(value, bool))
    if not plain or value not in of:
        raise MalformedError(path, f"expected one of {listed(of)}; found {show(value)}")
    return of[value]


def numbered(value: Any, length: int, path: str, first: int = 0) -> list[Any]:
    """An object with numbers for keys as a list."""
    if not isinstance(value, dict):
        raise MalformedError(path, f"expected keys from {first} to {first + length - 1}; found {show(value)}")
    keys = [str(n) for n in range(first, first + length)]
    for key in keys:
        if key not in value:
            raise MalformedError(f"{path} > {key}", "this key is missing")
    for key in value:
        if key not in keys:
            raise MalformedError(f"{path} > {key}", f"only keys from {first} to {first + length - 1} can be here")
    return [value[key] for key in keys]


def as_numbered(values: Iterable[T], first: int = 0) -> dict[str, T]:
    """A list as an object with numbers for keys."""
    return {str(n): value for n, value in enumerate(values, start=first)}
