"""Import and export: trials, results and sessions in the file formats of others.

Names are loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core import re_exports

if TYPE_CHECKING:
    from ..paradigms.trials_file import GivenTrial
    from .format import Flag, Format, Options, Place, Report, Side
    from .registry import FORMATS
    from .trials_format import ReadingOptions, TrialSet, TrialsFormat, WritingOptions

__getattr__ = re_exports(
    __name__,
    {
        "format": ("Flag", "Format", "Options", "Place", "Report", "Side"),
        "registry": ("FORMATS",),
        "trials_format": ("GivenTrial", "ReadingOptions", "TrialSet", "TrialsFormat", "WritingOptions"),
    },
)

__all__ = [
    "FORMATS",
    "Flag",
    "Format",
    "GivenTrial",
    "Options",
    "Place",
    "ReadingOptions",
    "Report",
    "Side",
    "TrialSet",
    "TrialsFormat",
    "WritingOptions",
]
