"""What may be drawn at random."""

from . import lists, nback, patterns, switching, updating
from .base import SAMPLERS, Sampler

__all__ = ["SAMPLERS", "Sampler", "lists", "nback", "patterns", "switching", "updating"]
