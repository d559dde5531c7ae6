"""The appearance of a step: scenes, stimuli and their renderers."""

from . import kinds  # declares the stimuli
from .scene import (
    BACKGROUND,
    CANVAS,
    COLOURS,
    FROM_TO,
    STEPS,
    Arrow,
    Colour,
    Ellipse,
    FileImage,
    Image,
    Line,
    Polygon,
    Primitive,
    Rectangle,
    Scene,
    Text,
)
from .stimulus import STIMULI, Stimulus

__all__ = [
    "BACKGROUND",
    "CANVAS",
    "COLOURS",
    "FROM_TO",
    "STEPS",
    "STIMULI",
    "Arrow",
    "Colour",
    "Ellipse",
    "FileImage",
    "Image",
    "Line",
    "Polygon",
    "Primitive",
    "Rectangle",
    "Scene",
    "Stimulus",
    "Text",
    "kinds",
]
