"""The analysis: curves, statistics, figures and the report."""

from ..core.doors import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
