"""Import and export: trials, results and sessions in the file formats of others.

Names are loaded when they are first used.
"""

from ..core.doors import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
