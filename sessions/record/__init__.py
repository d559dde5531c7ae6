"""The record of a session: its files, how they are written, and how they are read back. It imports
nothing but the core."""

from ...core.doors import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
