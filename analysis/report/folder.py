"""The folder of a report: figures (SVG, PDF) and tables (CSV) beside the page. Folded figures have
no files unless they are asked for."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from ...core.atomic_files import write_whole
from ...core.json_values import csv_text
from ..data.style import CONDITION, Look
from ..figures.charts import can_draw, for_page, recoloured, save


@dataclass(frozen=True)
class FigureFiles:
    """A figure on the page: its declaration, and its files relative to the page.

    Parameters
    ----------
    stem : of the figure's files, without their extension
    table : file of its numbers, with the extension
    filed : the figure was written as SVG and PDF, and not left to the page
    """

    key: str
    title: str
    caption: str
    stem: str
    table: str
    spec: dict[str, Any]
    filed: bool = True


#: in the folder of a report that is going to have another: that one, which is whole; and in it, what is to go
WHOLE, _GONE = ".report.new", "gone"


def finish(place: Path) -> None:
    """Put a report that is whole in its place, also one whose program was killed meanwhile: the page last, so that it
    never stands beside the tables of another. With links in it, it is none of ours, and removed; no link leads it
    elsewhere."""
    whole = place / WHOLE
    if (whole / "report.html").exists() and not any(path.is_symlink() for path in (whole, *whole.rglob("*"))):
        (place / "report.html").unlink(missing_ok=True)
        for folder in ("tables", "figures"):
            if (place / folder).is_symlink():  # to wherever somebody wants files to be replaced
                (place / folder).unlink()
            (place / folder).mkdir(exist_ok=True)
            for file in (whole / folder).iterdir():
                file.replace(place / folder / file.name)
        for name in re.findall(r"(?m)^figures/[\w-]+\.(?:svg|pdf)$", (whole / _GONE).read_text(encoding="utf-8")):
            (place / name).unlink(missing_ok=True)
        (whole / "report.html").replace(place / "report.html")
    shutil.rmtree(whole, ignore_errors=True)


class Folder:
    """Folder of a report, in which it is made before it takes its place.

    Parameters
    ----------
    path : of the folder, where nobody looks for a report
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        #: pictures that could not be drawn
        self.missing: list[str] = []
        for folder in (path / "tables", path / "figures"):
            folder.mkdir(parents=True, exist_ok=True)
        self._not_filed: list[str] = []

    def replace(self, place: Path) -> None:
        """Put the report in its place. Pictures of an earlier report that this one does not have would show other
        numbers, and go."""
        (self.path / _GONE).write_text("\n".join(self._not_filed), encoding="utf-8")
        self.path.rename(place / WHOLE)
        finish(place)

    def table(self, name: str, table: pd.DataFrame) -> str:
        """Write a table and return its file name for the page; empty for a table without rows."""
        if not len(table):
            return ""
        file = f"tables/{name}.csv"
        write_whole(self.path / file, csv_text(table).encode())
        return file

    def figure(
        self,
        name: str,
        spec: dict[str, Any],
        title: str,
        caption: str,
        table: str,
        styles: Sequence[Look],
        filed: bool = True,
    ) -> FigureFiles:
        """Declare a figure for the page and, if it is ``filed``, write it as SVG and PDF."""
        stem = self.path / "figures" / name
        if filed and not can_draw():
            self.missing.append(f"figures/{name}.svg and .pdf")
            filed = False
        if filed:
            save(spec, stem, styles)
        else:
            self._not_filed += [f"figures/{name}.svg", f"figures/{name}.pdf"]
        return FigureFiles(
            name, title, caption, f"figures/{name}", table, _with_variables(for_page(spec), styles), filed
        )


def _with_variables(spec: dict[str, Any], styles: Sequence[Look]) -> dict[str, Any]:
    """A declaration whose colours of answerers are those of the page, which has one set for light
    and one for dark; conditions keep their own."""
    return recoloured(
        spec, {look.light: f"var(--agent-{number})" for number, look in enumerate(styles) if look.kind != CONDITION}
    )


def names_of_files(names: Iterable[str]) -> Mapping[str, str]:
    """A unique name for each paradigm, fit for files and addresses."""
    taken: dict[str, str] = {}
    for name in names:
        stem = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_") or "paradigm"
        free = next(
            candidate
            for number in range(1, len(taken) + 2)
            if (candidate := stem if number == 1 else f"{stem}_{number}") not in taken.values()
        )
        taken[name] = free
    return taken
