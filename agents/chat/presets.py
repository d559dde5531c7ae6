"""Presets: protocols that have a name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...components import nearest
from ...errors import SpanLabError

PRESETS: Mapping[str, Mapping[str, Any]] = {"default": {}}


def preset(name: str) -> Mapping[str, Any]:
    """The settings of a preset.

    Raises
    ------
    SpanLabError
        for an unknown name.
    """
    if name not in PRESETS:
        raise SpanLabError(f"chat settings: there is no preset '{name}'{nearest(name, PRESETS) or '; there are ' + ', '.join(PRESETS)}")
    return PRESETS[name]
