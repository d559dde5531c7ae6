"""From pydantic's errors to sentences with a file, a line and a key."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pydantic import BaseModel, ValidationError

from ..components import nearest
from .yaml_text import YamlPath

_KINDS = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "string_type": "text",
    "bool_type": "true or false",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "keys with values",
    "model_type": "keys with values",
    "model_attributes_type": "keys with values",
}


def show(value: Any) -> str:
    """A found value, short enough for a message."""
    text = "nothing" if value is None else "true" if value is True else "false" if value is False else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def sentences(error: ValidationError, fields: Iterable[str]) -> Iterator[tuple[YamlPath, str]]:
    """(path, message) for everything that pydantic found; alternatives of a union are told as one."""
    told: dict[YamlPath, list[str]] = {}
    values: dict[YamlPath, Any] = {}
    names = list(fields)
    for item in error.errors(include_url=False):
        path = tuple(key for key in item["loc"] if isinstance(key, int) or not _is_union_tag(key))
        kind = item["type"]
        if kind == "extra_forbidden":
            told.setdefault(path, []).append(f"unknown key '{path[-1]}'{nearest(path[-1], names)}")
            values[path] = _SILENT
            continue
        if kind == "missing":
            told.setdefault(path[:-1], []).append(f"'{path[-1]}' is missing")
            values[path[:-1]] = _SILENT
            continue
        values.setdefault(path, item["input"])
        if kind in _KINDS:
            told.setdefault(path, []).append(f"expected {_KINDS[kind]}")
        elif kind == "value_error":
            told.setdefault(path, []).append(str(item.get("ctx", {}).get("error")))
            values[path] = _SILENT
        elif kind == "literal_error":
            told.setdefault(path, []).append(f"expected {item.get('ctx', {}).get('expected')}")
        else:
            told.setdefault(path, []).append(item["msg"][0].lower() + item["msg"][1:])
    for path, messages in told.items():
        found = "" if values[path] is _SILENT else f"; found {show(values[path])}"
        yield path, " or ".join(dict.fromkeys(message.removeprefix("expected ") if n else message for n, message in enumerate(messages))) + found


_SILENT = object()


def _is_union_tag(key: str) -> bool:
    # pydantic names the members of a union in the location: constrained-int, tuple[...], function-before[...]
    return "[" in key or "-" in key or key in ("int", "str", "float", "bool", "tuple", "list", "dict", "none")


def validated(model: type[BaseModel], value: Any) -> tuple[BaseModel | None, list[tuple[YamlPath, str]]]:
    """The model built from a value, or None with everything that is wrong."""
    try:
        return model.model_validate(value), []
    except ValidationError as error:
        return None, list(sentences(error, model.model_fields))
