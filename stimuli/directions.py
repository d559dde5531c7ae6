"""The eight directions of arrows."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from ..core.registry import nearest

#: Direction to (dx, dy); y runs down.
STEPS: dict[str, tuple[int, int]] = {
    "up": (0, -1),
    "down": (0, 1),
    "left": (-1, 0),
    "right": (1, 0),
    "up_left": (-1, -1),
    "up_right": (1, -1),
    "down_left": (-1, 1),
    "down_right": (1, 1),
}

#: The benchmark's (WorM's) names say from where to where.
FROM_TO = {
    "up_down": "down",
    "down_up": "up",
    "left_right": "right",
    "right_left": "left",
    "upleft_downright": "down_right",
    "downright_upleft": "up_left",
    "upright_downleft": "down_left",
    "downleft_upright": "up_right",
}


def _direction(value: Any) -> Any:
    name = FROM_TO.get(value, value) if isinstance(value, str) else value
    if not isinstance(name, str) or name not in STEPS:
        raise ValueError(f"unknown direction '{value}'{nearest(value, STEPS)} (one of {', '.join(STEPS)})")
    return name


#: One of eight directions; the benchmark's from-to names (``up_down`` for down) are understood.
Direction = Annotated[str, BeforeValidator(_direction), Field(json_schema_extra={"enum": list(STEPS)})]


def direction_words(direction: str) -> str:
    """``up and left``."""
    return direction.replace("_", " and ")
