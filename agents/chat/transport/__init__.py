"""Requests on their way to a chat server and back: endpoints, limits, repeats, and replies that are
kept."""

from ....core.doors import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
