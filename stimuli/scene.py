"""A scene: a background and an ordered list of primitives on a 96 × 96 canvas.

x runs to the right and y down from the top left corner; coordinates are those of pixel centres,
corners are inclusive, and fractions are truncated toward zero when a primitive is drawn at scale 1
(the drawing conventions of the WorM benchmark, so that its frames can be matched to the pixel). The
eight directions of arrows are here, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from ..core.registry import nearest

#: Width and height of the canvas.
CANVAS = 96

Colour = tuple[int, int, int]

BACKGROUND: Colour = (214, 214, 214)
#: The named colours of the benchmark.
COLOURS: dict[str, Colour] = {
    "red": (238, 29, 35),
    "green": (58, 181, 74),
    "blue": (36, 85, 224),
    "yellow": (245, 200, 0),
    "orange": (242, 133, 0),
    "purple": (128, 60, 190),
    "pink": (240, 110, 170),
    "cyan": (0, 170, 190),
    "brown": (135, 80, 40),
    "gray": BACKGROUND,
    "black": (0, 0, 0),
    "white": (255, 255, 255),
    "ink": (30, 30, 30),
}


@dataclass(frozen=True, slots=True)
class Rectangle:
    """A box with inclusive corners; ``radius`` > 0 rounds them. The fill is painted first, the
    outline grows inward."""

    x0: float
    y0: float
    x1: float
    y1: float
    fill: Colour | None = None
    outline: Colour | None = None
    width: int = 1
    radius: int = 0


@dataclass(frozen=True, slots=True)
class Line:
    """A straight line with both ends inclusive."""

    x0: float
    y0: float
    x1: float
    y1: float
    colour: Colour
    width: int = 1


@dataclass(frozen=True, slots=True)
class Ellipse:
    """An ellipse inside an inclusive box."""

    x0: float
    y0: float
    x1: float
    y1: float
    fill: Colour | None = None
    outline: Colour | None = None
    width: int = 1


@dataclass(frozen=True, slots=True)
class Polygon:
    """A filled polygon."""

    points: tuple[tuple[float, float], ...]
    fill: Colour


@dataclass(frozen=True, slots=True)
class Arrow:
    """A shaft from (x0, y0) to (x1, y1) with an open head of ``head`` × its length at the second
    end."""

    x0: int
    y0: int
    x1: int
    y1: int
    colour: Colour
    width: int = 1
    head: float = 0.4


@dataclass(frozen=True, slots=True)
class Text:
    """Text centred at (x, y); ``size`` is the height of the font in canvas units."""

    x: float
    y: float
    text: str
    colour: Colour
    size: float


@dataclass(frozen=True, slots=True)
class Image:
    """Raw RGB pixels, ``width`` × ``height``, with the top left corner at (x, y)."""

    x: int
    y: int
    width: int
    height: int
    rgb: bytes


@dataclass(frozen=True, slots=True)
class FileImage:
    """An image from a file, drawn into the area from (x0, y0) to (x1, y1), whose edges are not
    those of pixels (0 to 96).

    ``sha256`` is the hash of the file (:mod:`.own_files`).
    """

    x0: float
    y0: float
    x1: float
    y1: float
    sha256: str


Primitive = Rectangle | Line | Ellipse | Polygon | Arrow | Text | Image | FileImage


@dataclass(frozen=True, slots=True)
class Scene:
    """The contents of the canvas, in drawing order."""

    primitives: tuple[Primitive, ...] = ()
    background: Colour = BACKGROUND


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
