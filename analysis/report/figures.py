"""Figures on the page that are no effects of the registry: those of N-back, and reaction times. ``spanlab figure`` draws the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...core.errors import SpanLabError
from ..figures.figure import Drawing, Wish
from ..data.loading import Data
from ..data.style import Look
from .nback import NBack
from ..figure_catalogue import figure_named
from ..effects.reaction_times import timed_questions
from .commands import Commands
from .effects import Shown
from .folder import Folder
from ..data.numbers import missing, whole
from .html_tables import PageTable, Said, page_table, words_of


def further_figures(
    data: Data, paradigm: str, nback: NBack | None, stem: str, styles: Sequence[Look], folder: Folder, commands: Commands
) -> tuple[list[Shown], list[str]]:
    """The figures of a paradigm that are no effects, and why one of them could not be drawn."""
    found, failed = [], []
    for name in _names(data, paradigm, nback):
        try:
            drawing = figure_named(name).draw(data, Wish((paradigm,), agents=tuple(styles)))
        except SpanLabError as error:
            failed.append(str(error))
            continue
        found.append(_shown(name, drawing, paradigm, data.titles[paradigm], stem, styles, folder, commands))
    return found, failed


def _names(data: Data, paradigm: str, nback: NBack | None) -> list[str]:
    names = []
    if nback is not None:
        lures = bool((nback.cells["measure"] == "lure_rate").any())
        names += ["nback_models", *["nback_lures"] * lures, "nback_published", "nback_dprime"]
    return [*names, *["reaction_time"] * bool(len(timed_questions(data.scored.parts[paradigm])))]


def _shown(name: str, drawing: Drawing, paradigm: str, title: str, stem: str, styles: Sequence[Look], folder: Folder, commands: Commands) -> Shown:
    file = folder.table(f"{stem}_{name}", drawing.table)
    words = drawing.title.removeprefix(f"{title}: ").removeprefix("N-back: ")
    words = words if words.startswith("d′") else words[:1].upper() + words[1:]
    figure = folder.figure(f"{stem}_{name}", drawing.spec, words, drawing.caption, file, styles)
    tables = (_times(drawing, file),) if name == "reaction_time" else ()
    return Shown(figure, tables, tuple(drawing.notes), commands.figure(name, paradigm, f"{figure.stem}.svg"))


def _times(drawing: Drawing, file: str) -> PageTable:
    def who(row: Mapping[Any, Any]) -> str:
        return str(row["participant"] or row["agent"])

    def milliseconds(name: str) -> Said:
        def said(row: Mapping[Any, Any]) -> str:
            if missing(row[name]):
                return ""
            limits = "" if missing(row.get(f"{name}_low")) else f" [{_whole(row[f'{name}_low'])}, {_whole(row[f'{name}_high'])}]"
            return f"{_whole(row[name])}{limits}"

        return name, said

    columns = [("who", who), ("times", lambda row: whole(row["n_items"])), *map(milliseconds, ("mean", "median", "sd", "mu", "sigma", "tau")), words_of("note")]
    caption = "In ms; 95% intervals in brackets. mu and sigma: the normal part of the fitted ex-Gaussian, tau: its exponential part."
    return page_table(drawing.table, columns, "The numbers", caption, file=file)


def _whole(value: float) -> str:
    """Milliseconds in full up to a thousand seconds: limits of few times may have dozens of digits."""
    return f"{value:,.0f}" if abs(value) < 1e6 else f"{value:.1e}"
