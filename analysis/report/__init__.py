"""The report: one page that opens offline, section by section."""

from ...core.doors import door

__getattr__, __dir__, __all__ = door(__name__, __file__)
