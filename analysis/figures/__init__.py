"""Figures: charts, the marks that they share, and the figures of papers."""

from ...core.doors import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
