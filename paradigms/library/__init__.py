"""The paradigms that ship, as YAML files."""

from __future__ import annotations

from pathlib import Path

_HERE = Path(__file__).parent


def names() -> list[str]:
    """The names of all paradigms."""
    return sorted(path.stem for path in _HERE.glob("*.yaml"))


def path(name: str) -> Path | None:
    """The file of a paradigm, or None."""
    return _HERE / f"{name}.yaml" if name in names() else None
