"""Conversations of chat sessions, put together from the record and shown as pages."""

from ...core.doors import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
