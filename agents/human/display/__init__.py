"""The window and everything drawn in it, the durations that it can show, and how a display is
measured."""

from ....core.doors import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
