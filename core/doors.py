"""Doors of rooms: the names that a room gives to others, each loaded when it is first used. The one border to lazy_loader, which has no types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import lazy_loader  # type: ignore[import-untyped]  # pyright: ignore[reportMissingTypeStubs]

Door = tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]


def door(package: str, file: str) -> Door:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package whose names stand in the ``__init__.pyi`` beside ``file``."""
    return cast("Door", lazy_loader.attach_stub(package, file))  # pyright: ignore[reportUnknownMemberType]
