"""Sessions: the runner that takes an agent through trials, and the record of what happened.

Names are loaded when they are first used: reading a record needs neither agents nor paradigms.
"""

from ..core.doors import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
