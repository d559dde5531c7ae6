"""What may be drawn at random."""

from . import change, coordination, distributions, integration, lists, nback, noise, nouns, patterns, span, switching, updating
from .base import SAMPLERS, Sampler
from .integration import whole
from .nback import NBackBlock
from .noise import CellNoise, LetterNoise
from .span import direction_of

__all__ = [
    "SAMPLERS",
    "CellNoise",
    "LetterNoise",
    "NBackBlock",
    "Sampler",
    "change",
    "coordination",
    "direction_of",
    "distributions",
    "integration",
    "lists",
    "nback",
    "noise",
    "nouns",
    "patterns",
    "span",
    "switching",
    "updating",
    "whole",
]
