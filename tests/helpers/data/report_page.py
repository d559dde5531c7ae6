"""A report as somebody reads it: every address that it refers to, and its readable text."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path


class Page(HTMLParser):
    """Every address that a page refers to, and its readable text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.tags: list[str] = []
        self.words: list[str] = []
        self._silent = False
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self._silent = tag in ("script", "style")
        self.addresses += [
            value or "" for name, value in attrs if name in ("src", "href", "action", "data", "poster", "srcset")
        ]

    def handle_endtag(self, tag: str) -> None:
        self._silent = False

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.words.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", "".join(self.words))


def read(report: Path) -> Page:
    return Page(report.read_text(encoding="utf-8"))


def unfolded(report: Path, folder: Path) -> Path:
    """Write a report's page with everything open that is folded at first, whose figures are then
    drawn at once."""
    (page := folder / "unfolded.html").write_text(
        report.read_text(encoding="utf-8").replace("<details", "<details open"), encoding="utf-8"
    )
    return page
