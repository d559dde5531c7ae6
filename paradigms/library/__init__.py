"""The paradigms that ship, as YAML files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..language.yaml_source import inherit, read

_HERE = Path(__file__).parent


def list_paradigms() -> list[str]:
    """The names of all paradigms."""
    return sorted(path.stem for path in _HERE.glob("*.yaml"))


def path(name: str) -> Path | None:
    """The file of a paradigm, or None."""
    return _HERE / f"{name}.yaml" if name in list_paradigms() else None


def card(name: str) -> Mapping[str, Any]:
    """The content of a paradigm's file with ``extends`` followed, unvalidated: for lists, quickly."""
    data = read(_HERE / f"{name}.yaml").data
    return inherit(dict(card(data["extends"])), data)[0] if "extends" in data else data
