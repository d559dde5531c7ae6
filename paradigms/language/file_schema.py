"""A JSON Schema of paradigm files, for editors that complete and check while one types; ``spanlab
check`` knows more. It follows from what is declared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...core.registry import Registry, json_schema, schema_of
from ...stimuli import STIMULI
from ..responses import RESPONSES
from ..samplers import SAMPLERS
from .schema import Head
from .timeline import ASK_KEYS, DISPLAY_KEYS, FLOW_KEYS, SOUND, STEP_KEYS, VERDICTS
from .yaml_source import MERGED

_EXPRESSION = {"$ref": "#/$defs/expression"}
_TABLE_FILE = {"type": "string", "pattern": r"\.(csv|xlsx)$"}
_DISPLAYS = {
    "anyOf": [
        {"$ref": "#/$defs/display"},
        {"type": "array", "items": {"$ref": "#/$defs/display"}, "minItems": 1},
        {"type": "null"},
    ]
}
_ITEMS = {"type": "array", "items": {"$ref": "#/$defs/item"}, "minItems": 1}
_MS = {
    "anyOf": [
        {"type": "number", "exclusiveMinimum": 0},
        {"const": "none"},
        {"const": "sound"},
        {"type": "null"},
        {
            "type": "object",
            "properties": {"uniform": {"type": "array", "minItems": 2, "maxItems": 2}},
            "required": ["uniform"],
            "additionalProperties": False,
        },
        _EXPRESSION,
    ]
}
#: what is known of the keys beside a component, beyond their help
_BESIDE: dict[str, dict[str, Any]] = {
    "ms": _MS,
    "for_machines": {"type": "boolean"},
    "score": {"type": "boolean"},
    "ends": {"enum": ["on_answer", "on_time", None]},
    "counts": {"enum": ["first", "last", None]},
    "late": {"enum": ["record", "ignore", None]},
}
_STEP: dict[str, dict[str, Any]] = {
    "phase": {"type": "string", "pattern": r"^[^\W\d]\w*$"},
    "show": _DISPLAYS,
    "feedback": {"type": "object", "properties": dict.fromkeys(VERDICTS, _DISPLAYS), "additionalProperties": False},
    "ask": {"anyOf": [{"$ref": "#/$defs/question"}, {"type": "null"}]},
    "record": {"anyOf": [{"type": "object"}, {"type": "null"}]},
    "model_steps": {"enum": [0, 1]},
}
_FLOW: dict[str, dict[str, Any]] = {
    "for": {"type": "string", "description": "item in list, or (a, b) in zip(x, y)"},
    "when": {"anyOf": [_EXPRESSION, {"type": "boolean"}], "description": "whether it happens"},
    "else": {**_ITEMS, "description": "what happens otherwise"},
    "repeat": {"anyOf": [{"type": "integer", "minimum": 0}, _EXPRESSION], "description": "how many times"},
    "do": {**_ITEMS, "description": "the steps below for, when and repeat, when there are several"},
}


def file_schema() -> dict[str, Any]:
    """The JSON Schema of a paradigm file, with every registered stimulus, sampler and response
    kind."""
    head = schema_of(Head)
    definitions: dict[str, Any] = head.pop("$defs")
    parts: tuple[tuple[str, Registry[Any], Mapping[str, str]], ...] = (
        ("display", STIMULI, DISPLAY_KEYS),
        ("question", RESPONSES, ASK_KEYS),
        ("sampler", SAMPLERS, {}),
    )
    for name, registry, beside in parts:
        definitions |= _part(name, registry, beside)
    step = {key: {**_STEP[key], "description": text} for key, text in STEP_KEYS.items()}
    definitions["item"] = {
        "type": "object",
        "properties": {**{key: _FLOW[key] for key in FLOW_KEYS}, **step},
        "additionalProperties": False,
    }
    properties = head["properties"]
    properties["timeline"] |= {"items": {"$ref": "#/$defs/item"}}
    properties["draw"] |= {
        "additionalProperties": {"anyOf": [{"$ref": "#/$defs/sampler"}, _EXPRESSION, {"type": "array"}, _TABLE_FILE]}
    }
    for key in MERGED:  # what extends another paradigm says only what differs
        for option in properties[key].get("anyOf", [properties[key]]):
            definitions.get(option.get("$ref", "").rpartition("/")[2], {}).pop("required", None)
        if isinstance(entries := properties[key].get("additionalProperties"), dict):
            properties[key]["additionalProperties"] = {"anyOf": [entries, {"type": "null"}]}
    properties["extends"] = {
        "type": "string",
        "description": "a paradigm whose keys are inherited; those given here override them, and null removes one",
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "SpanLab paradigm",
        "type": "object",
        "properties": {
            key: schema if key in head["required"] else {"anyOf": [schema, {"type": "null"}]}
            for key, schema in properties.items()
        },
        "additionalProperties": False,
        "$defs": definitions,
    }


def _part(name: str, registry: Registry[Any], beside: Mapping[str, str]) -> dict[str, Any]:
    """The definition of ``{NAME: parameters, ...}`` with the keys beside it, and the definitions
    that it needs."""
    schema = json_schema(registry)
    definitions = schema.pop("$defs")
    components = list(schema["properties"])
    properties = {
        **schema["properties"],
        **{key: {**_BESIDE.get(key, {}), "description": text} for key, text in beside.items()},
    }
    one_of: list[dict[str, Any]] = [{"required": [component]} for component in components if component != SOUND]
    if SOUND in components:  # alone, or beside another one
        one_of.append({"required": [SOUND], "not": {"anyOf": [*one_of]}})
    alternatives = {"type": "object", "properties": properties, "additionalProperties": False, "oneOf": one_of}
    return {**definitions, name: alternatives}
