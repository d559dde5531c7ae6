"""Answers in JSON: the form that a server is asked to enforce, and how such replies are read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ....paradigms import Answer, ResponseKind

if TYPE_CHECKING:
    from ..settings import ChatSettings

ANSWER, REASONING = "answer", "reasoning"
#: Servers refuse this keyword of JSON Schema, or pass it over; what it says is checked when a reply
#: is read.
_REFUSED = frozenset({"uniqueItems"})


def response_format(kind: ResponseKind, settings: ChatSettings) -> dict[str, Any] | None:
    """Return what a request says under ``response_format``: a JSON object with the answer, and with
    the reasons on the side of it on which they are asked for.

    None when replies are not constrained, and for kinds that cannot be answered in JSON (which
    :func:`check_extraction` refuses before a session).
    """
    schema = kind.answer_schema()
    if settings.constrained != "json" or schema is None:
        return None
    of_each = {ANSWER: _without(schema), REASONING: {"type": "string"}}
    keys = _keys(settings)
    whole = {
        "type": "object",
        "properties": {key: of_each[key] for key in keys},
        "required": list(keys),
        "additionalProperties": False,
    }
    return {"type": "json_schema", "json_schema": {"name": ANSWER, "strict": True, "schema": whole}}


def json_sentence(kind: ResponseKind, settings: ChatSettings) -> str:
    """The sentence that goes with the question, so that the model knows of the form; empty when
    replies are not constrained."""
    schema = kind.answer_schema()
    if settings.constrained != "json" or schema is None:
        return ""
    of_each = {ANSWER: "[...]" if schema.get("type") == "array" else "...", REASONING: '"..."'}
    if schema.get("type") == "string":
        of_each[ANSWER] = '"..."'
    return "Write the reply as JSON: {" + ", ".join(f'"{key}": {of_each[key]}' for key in _keys(settings)) + "}."


def read_constrained(kind: ResponseKind, text: str, settings: ChatSettings) -> Answer | None:
    """The answer in a reply that is JSON of the form that was asked for, and nothing else; else
    None."""
    found = object_of(text)
    return kind.answer_from_json(found[ANSWER]) if found is not None and set(found) == set(_keys(settings)) else None


def loosely(text: str) -> str | None:
    """Return what a tolerant reader reads where JSON was asked for: the answer of a JSON object of
    some other form, fenced or not; the text where it is not JSON.

    None for what begins like a JSON object and is none, or gives a key twice: half an object may
    hold half an answer.
    """
    inner = text.strip()
    if inner.startswith("```") and inner.endswith("```"):
        inner = inner.partition("\n")[2].removesuffix("```").strip()
    found = object_of(inner)
    if found is None:
        return None if inner.startswith("{") else text
    answer = found.get(ANSWER)
    if isinstance(answer, list) and all(isinstance(value, str) for value in answer):
        return "; ".join(answer)
    return str(answer) if isinstance(answer, str | int) and not isinstance(answer, bool) else None


def _keys(settings: ChatSettings) -> tuple[str, ...]:
    """The keys of a reply in their order, which is that of writing."""
    return {"none": (ANSWER,), "after": (ANSWER, REASONING), "before": (REASONING, ANSWER)}[settings.reasoning]


def object_of(text: str) -> dict[str, Any] | None:
    """The JSON object that a text is; None when it is none, or holds a key twice."""
    try:
        found = json.loads(
            text, strict=False, object_pairs_hook=_once
        )  # some servers let raw line breaks through in strings
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key occurs twice")
    return dict(pairs)


def _without(schema: Any) -> Any:
    """A schema without the keywords that servers refuse."""
    if isinstance(schema, Mapping):
        return {key: _without(value) for key, value in schema.items() if key not in _REFUSED}
    return [_without(entry) for entry in schema] if isinstance(schema, list) else schema
