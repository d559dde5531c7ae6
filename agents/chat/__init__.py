"""Chat models as participants, through any OpenAI-compatible endpoint, or a hook of one's own."""

from ...core.doors import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
