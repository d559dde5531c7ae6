"""Rendering of scenes: pixels, a window, letters, colours."""

from ...core.doors import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
