"""Entries of a page of reproduction: tables and figures of a paper, each with ours, what was
published, and a verdict."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Literal

from spanlab.core import __version__, write_whole, written_in

#: What became of a table or a figure: the same; not the same, by so much; too few trials to tell;
#: drawn from what is at hand, with nothing published to hold it against; not to be had.
Verdict = Literal["same", "differs", "not resolved", "ours alone", "not available here"]
_ORDER: Sequence[Verdict] = ("same", "differs", "not resolved", "ours alone", "not available here")


@dataclass(frozen=True)
class Row:
    """One row of a table.

    Parameters
    ----------
    what : it is of
    ours, published : values as text; empty where there is none
    verdict : on this row; empty where the entry's says it all
    said : by how much, or why
    """

    what: tuple[str, ...]
    ours: str
    published: str
    verdict: Verdict | Literal[""] = ""
    said: str = ""

    @property
    def judged(self) -> str:
        return f"{self.verdict}: {self.said}" if self.verdict and self.said else self.verdict or self.said


@dataclass(frozen=True)
class Entry:
    """A table or a figure of a paper.

    Parameters
    ----------
    key : its address on the page
    title : its number, where that is known, and what it shows
    verdict, said : what became of it, and by how much or why, in sentences
    columns : names of what :attr:`Row.what` holds
    rows : of the table
    picture : the figure, as SVG
    caption, notes : what must be known to read it
    command : that makes it by itself
    source : where the published values come from: printed (where), recomputed from raw answers, or
        digitised from a picture
    check : whether it only holds settings and code against the paper, and is no result
    """

    key: str
    title: str
    verdict: Verdict
    said: str
    columns: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()
    picture: str = ""
    caption: str = ""
    notes: tuple[str, ...] = ()
    command: str = ""
    source: str = ""
    check: bool = False

    @property
    def compared(self) -> bool:
        """Whether its rows have values, ours or published."""
        return any(row.ours or row.published for row in self.rows)


@dataclass(frozen=True)
class Page:
    """A page of reproduction.

    Parameters
    ----------
    title, lead : its heading, and the paper
    facts : what it was made of, in short
    command : that makes it again
    entries : in the order of the page
    """

    title: str
    lead: str
    facts: tuple[str, ...]
    command: str
    entries: tuple[Entry, ...]

    @property
    def results(self) -> list[Entry]:
        """The entries that are results."""
        return [entry for entry in self.entries if not entry.check]

    @property
    def checks(self) -> list[Entry]:
        """The entries that only hold settings and code against the paper."""
        return [entry for entry in self.entries if entry.check]

    def counted(self) -> str:
        """Counts of each verdict, checks apart."""
        said = _counts(self.results)
        return f"{said}; checks of the configuration: {_counts(self.checks)}" if self.checks else said


def _counts(entries: Sequence[Entry]) -> str:
    counts = Counter(entry.verdict for entry in entries)
    return ", ".join(f"{counts[verdict]} {verdict}" for verdict in _ORDER if counts[verdict])


def verdict_of(rows: Sequence[Row]) -> tuple[Verdict, str]:
    """Return what rows that were held against published ones come to: one that differs makes the
    whole differ, and one that is not resolved leaves it open."""
    judged = [row for row in rows if row.verdict]
    counts = Counter(row.verdict for row in judged)
    if not judged:
        return "not resolved", "no row could be compared with a published one"
    if counts["same"] == len(judged):
        return "same", f"all {len(judged)} rows are as published"
    open_ = f", {counts['not resolved']} not resolved" if counts["not resolved"] else ""
    said = f"{counts['same']} of {len(judged)} rows are as published{open_}; the reasons for the others are beside them"
    return "not resolved" if counts["not resolved"] and not counts["differs"] else "differs", said


def with_own_ids(picture: str, key: str) -> str:
    """An SVG whose names of parts are its own: several on one page must not share any, and they are
    the same whenever the page is made."""
    names = dict.fromkeys(re.findall(r'\bid="([^"]+)"', picture))
    for number, name in enumerate(names):
        unique = f"{key}-{number}"
        picture = (
            picture.replace(f'id="{name}"', f'id="{unique}"')
            .replace(f"url(#{name})", f"url(#{unique})")
            .replace(f'href="#{name}"', f'href="#{unique}"')
        )
    return picture


def write_page(page: Page, folder: Path) -> Path:
    """Write a page, which is one file and opens offline.

    Raises
    ------
    SpanLabError
        when it cannot be written.
    """
    import jinja2

    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    template = files(__package__ or "").joinpath("page.html.jinja").read_text("utf-8")
    css = files("spanlab.core").joinpath("page.css").read_text("utf-8")
    entries = tuple(replace(entry, picture=with_own_ids(entry.picture, entry.key)) for entry in page.entries)
    text = environment.from_string(template).render(page=replace(page, entries=entries), css=css, version=__version__)
    path = folder / "index.html"
    with written_in(folder, f"the page to {folder}", "choose another folder with -o"):
        write_whole(path, text.encode())
    return path
