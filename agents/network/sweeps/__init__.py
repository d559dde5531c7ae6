"""Grids of training runs, and what came of them."""

from ....core.doors import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
