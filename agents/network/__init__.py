"""Networks as participants: they see 32 × 32 frames, one per step, and answer through the head of
their task.

Nothing here imports torch until a network is used.
"""

from ...core.doors import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
