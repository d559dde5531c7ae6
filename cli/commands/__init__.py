"""Commands of the command line, by what they are about; ``cli/app.py`` registers them. Part of the
command line."""

from ...core.doors import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
