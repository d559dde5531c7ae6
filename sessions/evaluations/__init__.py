"""Evaluations beyond single sessions: sets of sessions."""

from ...core.doors import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
