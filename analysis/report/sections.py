"""Sections of the report that other packages add, through the entry point group
``spanlab.report_sections``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...core.doors import entry_points_of
from ...core.errors import SpanLabError
from .folder import FigureFiles
from .html_tables import PageTable

if TYPE_CHECKING:
    import pandas as pd

    from ..data.exclusions import Rule
    from ..data.loading import Data

GROUP = "spanlab.report_sections"


@dataclass(frozen=True)
class ReportSection:
    """A section of the report.

    Parameters
    ----------
    title : its heading
    text : what must be known to read it
    figures : drawn above the tables
    tables : the first is open, the others are folded
    notes : what limits it, in plain sentences
    command : what makes its numbers again; empty where nothing does
    """

    title: str
    text: str = ""
    figures: tuple[FigureFiles, ...] = ()
    tables: tuple[PageTable, ...] = ()
    notes: tuple[str, ...] = ()
    command: str = ""


@dataclass(frozen=True)
class SectionRequest:
    """The data and settings that a section is made of.

    Parameters
    ----------
    folders : those of sessions, or full of them, that were given; tables in files are not among
        them
    data : everything that was read
    rules : of exclusion, which are applied to ``data`` already
    table : writes a table into the folder of the report, and returns its address for the page
    figure : writes a figure into the folder of the report, and returns it for the page:
        ``figure(name, spec, title, caption)``. The page strips legends, and stands the panels of a
        ``concat`` in as many columns as it has room for. A row of its data that is a point or a bar
        says with ``answers`` which answers it stands for (see :func:`.stated_answers`), so that the app can
        show their trials
    command : a line of ``spanlab`` with the data of the report: ``command("scores-by-person", "-o",
        "scores")``
    """

    folders: Sequence[Path]
    data: Data
    rules: Sequence[Rule]
    table: Callable[[str, pd.DataFrame], str]
    figure: Callable[[str, dict[str, Any], str, str], FigureFiles]
    command: Callable[..., str] = field(repr=False)


#: Makes a section, or None where the data have nothing for it.
MakeSection = Callable[[SectionRequest], ReportSection | None]


def added_sections(request: SectionRequest) -> list[ReportSection]:
    """Return the sections that installed packages add, by the names of their entry points; one that
    cannot be made is reported, and the others still are."""
    sections: list[ReportSection] = []
    for point in sorted(entry_points_of(GROUP), key=lambda point: point.name):
        try:
            make: MakeSection = point.load()
            made = make(request)
        except SpanLabError as error:
            made = ReportSection(
                point.name.replace("_", " ").capitalize(), notes=(f"This section could not be made: {error}.",)
            )
        except Exception as error:
            print(
                f"NOTE the section '{point.name}' of the report could not be made ({type(error).__name__}: {error})",
                file=sys.stderr,
            )
            made = None
        if made is not None:
            sections.append(made)
    return sections
