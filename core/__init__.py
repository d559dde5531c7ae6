"""Code that every part of the package may use."""

from .doors import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
