"""Statistics: mixed-effects models and their contrasts, effect sizes, signal detection, agreement."""

from ...core.doors import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
