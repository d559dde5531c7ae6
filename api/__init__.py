"""What can be done with SpanLab, function by function: the commands are these, and so is ``spanlab``
in Python."""

from ..core.doors import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
