"""Comparison of models with people: scores, differences, and comparisons of curves."""

from ...core.doors import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
