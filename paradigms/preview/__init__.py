"""Previews of a trial: its timeline as a picture, and worked examples."""

from ...core.doors import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
