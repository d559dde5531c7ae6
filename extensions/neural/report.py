"""Everything about the units of a network in one folder: figures, tables, and a page that explains
each of them."""

from __future__ import annotations

import base64
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from spanlab.analysis.figures import Sheet, draw
from spanlab.core import __version__, written_in

from . import charts
from .clusters import MOST
from .losses import Silencing
from .panels import neural_parts
from .states import TaskStates
from .variance import INACTIVE

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True)
class Subject:
    """The page's facts about the network and its trials.

    Parameters
    ----------
    name : of the network
    lead : who was looked at, doing what: a sentence or two
    facts : a few words each
    tasks : rows of a table: what was taken in each task, by column
    notes : what to know before reading on
    command : that makes the page again
    """

    name: str
    lead: str
    facts: Sequence[str]
    tasks: Sequence[Mapping[str, str]]
    notes: Sequence[str]
    command: str


def write_neural_report(
    subject: Subject,
    states: Sequence[TaskStates],
    embedding: tuple[Sequence[str], np.ndarray],
    silenced: Silencing,
    out: str | Path,
    *,
    inactive: float = INACTIVE,
    most: int = MOST,
    advance: Callable[[int, int], None] = lambda done, total: None,
) -> Path:
    """Analyse states and write ``index.html``, ``figures/`` (SVG, PDF, PNG) and ``tables/`` (CSV).

    Parameters
    ----------
    embedding : names of tasks, and the numbers by which the network tells them apart (tasks, n)
    silenced : does the trials without some units
    inactive : share of the highest task variance below which a unit is inactive
    most : most clusters that are tried
    advance : called with the number of parts that are done, and of all

    Returns
    -------
    Path
        of ``index.html``

    Raises
    ------
    SpanLabError
        when the states cannot be looked at, or the folder cannot be written.
    """
    out = Path(out)
    parts, notes = neural_parts(states, embedding, silenced, inactive, most)
    with written_in(out / "tables", f"the analysis to {out}", "choose another folder with -o"):
        (out / "figures").mkdir(exist_ok=True)
        shown = []
        for number, part in enumerate(parts):
            tables = {name: table for name, table in part.tables.items() if len(table)}
            for name, table in tables.items():
                table.to_csv(out / "tables" / f"{name}.csv", index=False)
            shown.append(
                {
                    "part": part,
                    "tables": list(tables),
                    "figures": [_drawn(name, caption, spec, out) for name, caption, spec in part.figures],
                }
            )
            advance(number + 1, len(parts))
        index = out / "index.html"
        index.write_text(_page(subject, shown, [*subject.notes, *notes]), encoding="utf-8")
    return index


def _drawn(name: str, caption: str, spec: dict[str, Any], out: Path) -> dict[str, str]:
    """A figure in its three files, and as the page shows it: from within itself, so that it can be
    sent around alone."""
    import vl_convert as vlc

    svg = draw(spec | {"title": {**spec["title"], "subtitle": textwrap.wrap(caption, 100)}}, ())
    plain = {key: value for key, value in spec.items() if key != "title"}  # the page has it as text
    stem = out / "figures" / name
    stem.with_suffix(".svg").write_text(svg, encoding="utf-8")
    stem.with_suffix(".pdf").write_bytes(vlc.svg_to_pdf(svg))
    stem.with_suffix(".png").write_bytes(vlc.svg_to_png(svg, scale=2))
    return {
        "name": name,
        "caption": caption,
        "source": _inside(draw(plain, ())),
        "dark": _inside(draw(charts.on_black(plain), (), Sheet(theme="dark"))),
    }


def _inside(svg: str) -> str:
    """A picture as an address that holds all of it."""
    return "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode()


def _page(subject: Subject, parts: Sequence[Mapping[str, Any]], notes: Sequence[str]) -> str:
    import jinja2

    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    here = files(__name__.rpartition(".")[0])
    return environment.from_string(here.joinpath("index.html.jinja").read_text("utf-8")).render(
        subject=subject,
        parts=parts,
        notes=notes,
        version=__version__,
        css=files("spanlab.core").joinpath("page.css").read_text("utf-8"),
    )
