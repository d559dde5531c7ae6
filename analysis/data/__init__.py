"""Reading data: sessions and tables are read, scored and named, and rules of exclusion are applied."""

from ...core.doors import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
