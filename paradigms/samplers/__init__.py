"""What may be drawn at random."""

from . import change, coordination, distributions, integration, lists, nback, noise, nouns, patterns, span, switching, updating
from .base import SAMPLERS, Sampler

__all__ = [
    "SAMPLERS",
    "Sampler",
    "change",
    "coordination",
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
]
