"""From pydantic's errors to sentences with a file, a line and a key."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from ...core.errors import MAX_PROBLEMS, Problem, in_number, shortened
from ...core.registry import nearest
from .yaml_source import YamlPath

_KINDS = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "string_type": "text",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "keys with values",
    "model_type": "keys with values",
    "model_attributes_type": "keys with values",
}


def show(value: Any) -> str:
    """A found value, short enough for a message."""
    return shortened({"None": "nothing", "True": "true", "False": "false"}.get(repr(value), repr(value)))


def listed(values: Iterable[Any], most: int = 12) -> str:
    """Some values for a message, and that there are more."""
    some = list(itertools.islice(values, most + 1))
    return ", ".join(show(value) if not isinstance(value, str) else value[:60] for value in some[:most]) + (
        ", ..." if len(some) > most else ""
    )


def in_order(problems: Iterable[Problem]) -> list[Problem]:
    """Problems as they stand in the file, or in the files."""

    def line(problem: Problem) -> tuple[str, int]:
        name, _, number = problem.where.rpartition(":")
        return (name, int(number)) if number.isdigit() else (problem.where, 0)

    return sorted(problems, key=line)


def sentences(error: ValidationError, model: type[BaseModel], data: Any) -> Iterator[tuple[YamlPath, str]]:
    """(path, message) for everything that pydantic found in ``data``; alternatives of a union are
    told as one."""
    by_path: dict[YamlPath, list[str]] = {}
    values: dict[YamlPath, Any] = {}
    errors = [
        (_real_path(item["loc"], data), item)
        for item in itertools.islice(error.errors(include_url=False), MAX_PROBLEMS + 1)
    ]
    # Where one alternative of a union fits the value but for something inside, the others need no
    # mention.
    closer = {path[:n] for path, item in errors if item["type"] not in _KINDS for n in range(len(path) + 1)}
    for path, item in errors:
        kind = item["type"]
        if kind in _KINDS and path in closer:
            continue
        if kind == "extra_forbidden":
            names = [name for name in _fields_at(model, path[:-1]) if name != path[-1]]
            yield path, f"unknown key '{path[-1]}'{nearest(path[-1], names)}"
        elif kind == "missing":
            yield path, f"'{item['loc'][-1]}' is missing"
        else:
            values.setdefault(path, item["input"])
            by_path.setdefault(path, []).append(expectation(item))
            if kind == "value_error":
                values[path] = _SILENT
    for path, messages in by_path.items():
        value = "" if values[path] is _SILENT else f"; found {show(values[path])}"
        yield (
            path,
            " or ".join(
                dict.fromkeys(message.removeprefix("expected ") if n else message for n, message in enumerate(messages))
            )
            + value,
        )


_SILENT = object()


def expectation(item: Any) -> str:
    """Say what was expected, for one of pydantic's errors."""
    kind, context = item["type"], item.get("ctx", {})
    if kind in _KINDS:
        return f"expected {_KINDS[kind]}"
    if kind == "value_error":
        return str(context.get("error"))
    if kind == "literal_error":
        return f"expected {context.get('expected')}"
    if kind == "string_pattern_mismatch" and context["pattern"] in _PATTERNS:
        return f"expected {_PATTERNS[context['pattern']]}"
    if kind in _BOUNDS:
        return f"expected {_BOUNDS[kind]} {next(iter(context.values()))}"
    if kind in ("too_short", "too_long", "string_too_short", "string_too_long"):
        bound, count = ("least", context["min_length"]) if "short" in kind else ("most", context["max_length"])
        what = "character" if "string" in kind else "value"
        return f"expected at {bound} {count} {in_number(count, what)}"
    message = item["msg"].removeprefix("Input should be ")
    return f"expected {message}" if message != item["msg"] else message[0].lower() + message[1:]


_BOUNDS = {
    "greater_than": "a number above",
    "greater_than_equal": "a number from",
    "less_than": "a number below",
    "less_than_equal": "a number up to",
}


#: patterns of names, in words
_PATTERNS = {
    "^[a-z][a-z0-9_]{0,40}$": "small letters (a to z), digits and underscores, at most 41, beginning with a letter"
}


def _real_path(location: Iterable[int | str], data: Any) -> YamlPath:
    """Pydantic's location without the names of the members of unions, which it puts between the
    keys of the file."""
    path: YamlPath = ()
    for key in location:
        if (key in data) if isinstance(data, dict) else (isinstance(data, list | tuple) and key in range(len(data))):
            path, data = (*path, key), data[key]  # type: ignore[index]
    return path


def _fields_at(model: type[BaseModel], path: YamlPath) -> list[str]:
    """The keys that may stand at a path below a model."""
    models = [model]
    for key in path:
        fields = [field for model in models for name, field in model.model_fields.items() if key in (name, field.alias)]
        models = [inner for field in fields for inner in _models_in(field.annotation)] or models
    return [field.alias or name for model in models for name, field in model.model_fields.items()]


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in get_args(annotation) for model in _models_in(part)]


def validated(model: type[BaseModel], value: Any) -> tuple[BaseModel | None, list[tuple[YamlPath, str]]]:
    """The model built from a value, or None with everything that is wrong."""
    try:
        return model.model_validate(value), []
    except ValidationError as error:
        return None, list(sentences(error, model, value))
