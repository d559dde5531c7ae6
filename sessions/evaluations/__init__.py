"""Evaluations beyond single sessions: sets of sessions, and the probabilities that models give to
the answers of others."""

from ...core.doors import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
