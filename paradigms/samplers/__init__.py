"""What may be drawn at random."""

from . import coordination, integration, lists, nback, patterns, switching, updating
from .base import SAMPLERS, Sampler

__all__ = ["SAMPLERS", "Sampler", "coordination", "integration", "lists", "nback", "patterns", "switching", "updating"]
