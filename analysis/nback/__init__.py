"""N-back: hits, false alarms and d' of blocks and cells, and the published results."""

from ...core.doors import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
