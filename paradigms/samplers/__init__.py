"""What may be drawn at random."""

from . import lists, nback, patterns, updating
from .base import SAMPLERS, Sampler

__all__ = ["SAMPLERS", "Sampler", "lists", "nback", "patterns", "updating"]
