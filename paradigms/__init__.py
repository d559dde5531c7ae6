"""The YAML timelines, and the compiler that turns one into trials.

Names are loaded when they are first used, so that listing paradigms needs neither numpy nor the
validators.
"""

from ..core.doors import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
