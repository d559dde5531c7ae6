"""Pages around the trials: text and pictures, and the dialog before a session."""

from ....core.doors import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
