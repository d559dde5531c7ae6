"""Doors of rooms: the names that a room gives to others, each loaded when it is first used. The one border to lazy_loader, which has no types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lazy_loader  # type: ignore[import-untyped]  # pyright: ignore[reportMissingTypeStubs]


def door(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package whose names stand in the ``__init__.pyi`` beside ``file``."""
    attributes: tuple[Callable[[str], Any], Callable[[], list[str]], list[str]] = lazy_loader.attach_stub(package, file)  # pyright: ignore[reportUnknownMemberType]
    return attributes
