"""Studies of several paradigms and sessions: who takes what, in which order, and who has finished."""

from ...core.doors import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
