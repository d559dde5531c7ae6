"""Keys, clicks and buttons: how they are read and interpreted."""

from ....core.doors import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
