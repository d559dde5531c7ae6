"""The language of paradigm files: YAML with lines, expressions, components, steps and flow, and
what is said of mistakes in it."""

from ...core.doors import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
