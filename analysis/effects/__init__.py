"""The memory effects that SpanLab looks for, each declared once, and the functions that compute
them."""

from ...core.doors import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
