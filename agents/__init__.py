"""The agents: their protocol, and every agent that ships.

Names are loaded when they are first used.
"""

from ..core.doors import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
