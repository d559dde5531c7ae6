"""What ``extends`` means for the content of two files. Needs no validators, so that lists of paradigms are quick."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .yaml_source import YamlPath

#: keys of a file whose entries are inherited one by one; every other value is replaced as a whole
MERGED = ("factors", "draw", "instructions", "translations", "designs", "source", "network", "practice", "example", "triggers")


def titled(title: str | Mapping[str, str], language: str = "en") -> str:
    """A title in a language: in English where there is none, and the first one where there is no English one either."""
    if isinstance(title, str):
        return title
    return title.get(language) or title.get("en") or next(iter(title.values()))


def inherit(base: dict[str, Any], own: dict[str, Any]) -> tuple[dict[str, Any], set[YamlPath]]:
    """``base`` with the keys of ``own``, where null removes one; and the paths at which ``own`` holds."""
    overridden: set[YamlPath] = set()
    return _merge(base, {key: value for key, value in own.items() if key != "extends"}, (), overridden), overridden


def _merge(base: dict[str, Any], own: dict[str, Any], path: YamlPath, overridden: set[YamlPath]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in own.items():
        below = (*path, key)
        if len(below) == 1 and key in MERGED and isinstance(value, dict) and isinstance(base.get(key), dict):
            merged[key] = _merge(base[key], value, below, overridden)
            continue
        overridden.add(below)
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = value
    return merged
