"""What a record must hold to be read, as its models declare it: found out before anything relies on it, so that damage is told in a sentence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Annotated, Any, Union, get_args

from pydantic import Discriminator, Tag, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from .events import AskedStep, Event
from .marking import fields_of, inner_models
from .session_info import CompactPlan, Planned, SessionInfo

_ASKED = "step with a question"


def event_damage(event: object) -> str | None:
    """Why a line of ``events.jsonl`` cannot be read, or None."""
    return _misfit(Event, event)


def session_damage(session: Mapping[str, Any]) -> str | None:
    """Why the content of ``session.json`` cannot be read, or None."""
    found = _misfit(SessionInfo, session)
    if found is not None:
        return found
    plan, parts = session["plan"], session.get("parts")
    if parts is not None and parts["trials"] <= 0:
        return "a part without trials"
    if isinstance(plan, dict):
        return "'plan' is not what it should be" if parts is None else _misfit(CompactPlan, plan)
    return _misfit(list[Planned], plan)


def misfit(model: type, value: object) -> str | None:
    """What keeps a value from being what a model declares: a key that is missing, of a wrong type, or unknown. None when nothing does."""
    return _misfit(model, value)


def _misfit(model: Any, value: object) -> str | None:
    checks = _adapter(model).validator
    if checks.isinstance_python(value):
        return None
    try:
        checks.validate_python(value)
    except ValidationError as error:
        return _sentence(error.errors(include_url=False)[0], _keys(model))
    return None


@cache
def _adapter(model: Any) -> TypeAdapter[Any]:
    return TypeAdapter(_events() if model is Event else model)


def _events() -> Any:
    """All events as one type, told apart by ``event``; a step by whether something was asked, too."""
    tagged = tuple(Annotated[one, Tag(_tag_of(one))] for one in get_args(Event))
    return Annotated[Union[tagged], Discriminator(_tag)]  # noqa: UP007 - the types are known only now


def _tag_of(model: type) -> str:
    (tag,) = next(get_args(field.type) for field in fields_of(model) if field.name == "event")
    return _ASKED if model is AskedStep else str(tag)


def _tag(event: Any) -> str | None:
    if not isinstance(event, dict) or not isinstance(event.get("event"), str):
        return None
    return _ASKED if event["event"] == "step" and "ask" in event else event["event"]


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
    if kind == "union_tag_not_found":
        return "it is no event"
    if kind == "union_tag_invalid":
        return f"this version of spanlab knows no event '{error['input']['event']}'"
    if kind == "extra_forbidden":
        return f"this version of spanlab knows no key '{place[-1]}' there"
    key = next((one for one in reversed(place) if one in keys), None)
    if kind == "missing":
        return f"'{key}' is missing"
    if key is None or (kind == "dict_type" and isinstance(place[-1], int)):
        return "keys with values are missing"
    return f"'{key}' is not what it should be"
