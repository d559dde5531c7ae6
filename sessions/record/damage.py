"""What a record must hold to be read, as its models declare it: found out before anything relies on it, so that damage is told in a sentence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, cast, get_args

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from .events import AskedStep, Event
from .marking import fields_of, inner_models
from .session_info import CompactPlan, Planned, SessionInfo

_ASKED = "step with a question"


def event_damage(event: object) -> str | None:
    """Why a line of ``events.jsonl`` cannot be read, or None."""
    tag = _tag(event)
    if tag is None:
        return "it is no event"
    model = _by_tag().get(tag)
    return f"this version of spanlab knows no event '{tag}'" if model is None else _misfit(model, event)


@cache
def _by_tag() -> Mapping[str, type]:
    return {_tag_of(model): model for model in get_args(Event)}


def _tag_of(model: type) -> str:
    (tag,) = next(get_args(field.type) for field in fields_of(model) if field.name == "event")
    return _ASKED if model is AskedStep else str(tag)


def _tag(event: object) -> str | None:
    """Which event it is; of a step, whether something was asked, too."""
    if not isinstance(event, dict):
        return None
    name = cast(dict[str, object], event).get("event")
    if not isinstance(name, str):
        return None
    return _ASKED if name == "step" and "ask" in event else name


def session_damage(session: Mapping[str, Any]) -> str | None:
    """Why the content of ``session.json`` cannot be read, or None."""
    found = _misfit(SessionInfo, session)
    if found is not None:
        return found
    plan, parts = session["plan"], session.get("parts")
    if parts is not None and parts["trials"] <= 0:
        return "a part without trials"
    if not isinstance(plan, list):
        return "'plan' is not what it should be" if parts is None else _misfit(CompactPlan, plan)
    return _misfit(list[Planned], cast(object, plan))


def misfit(model: type, value: object) -> str | None:
    """What keeps a value from being what a model declares: a key that is missing, of a wrong type, or unknown. None when nothing does."""
    return _misfit(model, value)


def _misfit(model: Any, value: object) -> str | None:
    adapter = _adapter(model)
    if adapter.validator.isinstance_python(value):
        return None
    try:
        adapter.validate_python(value)
    except ValidationError as error:
        return _sentence(error.errors(include_url=False)[0], _keys(model))
    return None


@cache
def _adapter(model: Any) -> TypeAdapter[Any]:
    return TypeAdapter(model)


@cache
def _keys(model: Any) -> frozenset[str]:
    """The names of all fields of a model, and of those in it."""
    return frozenset(_names(model))


def _names(type_: Any) -> Iterator[str]:
    for model in inner_models(type_):
        for field in fields_of(model):
            yield field.name
            yield from _names(field.type)


def _sentence(error: ErrorDetails, keys: frozenset[str]) -> str:
    kind, place = error["type"], error["loc"]
    if kind == "extra_forbidden":
        return f"this version of spanlab knows no key '{place[-1]}' there"
    key = next((one for one in reversed(place) if one in keys), None)
    if kind == "missing":
        return f"'{key}' is missing"
    if key is None:
        return "keys with values are missing"
    return f"'{key}' is not what it should be"
