"""A figure: its declaration, its numbers and its drawing, and the options that somebody can choose."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd

from ...core.errors import SpanLabError
from ..data.scoring import Scored
from ..data.style import Look
from ..inference import Margin
from .marked_answers import AnswersOf, no_answers

if TYPE_CHECKING:
    from ..data.loading import Data
    from .charts import Sheet

#: What bars stand for: 95% intervals, one standard error of the mean to each side, or 95% intervals
#: without what sets people apart (Cousineau-Morey).
Bars = Literal["interval", "sem", "within"]
#: What tooltips call them.
BAR_LABELS: Mapping[Bars, str] = {
    "interval": "95% interval",
    "sem": "mean ± s.e.m.",
    "within": "95% within-person interval",
}
#: Letters in a line below a title.
_WIDTH = 110


@dataclass(frozen=True)
class Wish:
    """The options of a figure.

    Parameters
    ----------
    paradigms : of which paradigms; all that fit when not given
    bars : what the bars of curves stand for
    by : a column, for each value of which there is a panel; none when empty
    along, value : a column along the horizontal axis, and what is measured there, where a figure
        can be of any
    points : whether each of several people is a small point, too
    yardsticks : whether the oracle without errors and guessing are shown beside people and models
    margins : within which differences count as none, by their unit
    """

    paradigms: tuple[str, ...] = ()
    bars: Bars = "interval"
    by: str = ""
    along: str = ""
    value: str = "correct"
    points: bool = False
    yardsticks: bool = False
    margins: Mapping[str, Margin] = field(default_factory=dict[str, Margin])


@dataclass(frozen=True)
class DrawnFigure:
    """A figure with its tables.

    Parameters
    ----------
    title, caption : of the figure
    table : what it is drawn from, as it is written to a file
    shown : the columns of the table, or another table, that a terminal shows
    spec : the declaration: a Vega-Lite specification without configuration
    agents : how each line looks, in drawing order
    notes : what must be known, in plain sentences
    further : more tables for a terminal, each with a heading
    answers : from a row of the declaration's data to the answers behind its mark
    sheet : how it is laid out in a file; the plain one when not given
    """

    title: str
    caption: str
    table: pd.DataFrame
    shown: pd.DataFrame
    spec: dict[str, Any]
    agents: Sequence[Look] = ()
    notes: Sequence[str] = ()
    further: Sequence[tuple[str, pd.DataFrame]] = ()
    answers: AnswersOf = no_answers
    sheet: Sheet | None = None

    def save(self, file: str | Path) -> Path:
        """Write the figure to a file whose name ends in ``.svg``, ``.pdf``, ``.png`` or ``.html``.

        Raises
        ------
        SpanLabError
            when the name ends otherwise, or the file cannot be written.
        """
        from .charts import PLAIN, save_as

        return save_as(self.spec, Path(file), self.agents, self.sheet or PLAIN)

    def _repr_svg_(self) -> str:
        """Return the picture that a notebook shows."""
        from .charts import PLAIN, draw

        return draw(self.spec, self.agents, self.sheet or PLAIN)

    def __repr__(self) -> str:
        return f"DrawnFigure({self.title!r}, {len(self.table)} rows)"


@dataclass(frozen=True, kw_only=True)
class Computed:
    """The numbers of a figure: everything about it but its picture, and how that is drawn.

    Parameters
    ----------
    title, caption, table, shown, further, answers : see :class:`DrawnFigure`
    picture : from how each line looks, in drawing order, to a Vega-Lite specification without
        configuration
    looks : how each line looks, where nobody else decides that
    conditions : whether lines are conditions and not answerers, so that nobody else can decide how
        they look
    notes : what must be known, in plain sentences
    readouts : how networks' answers were read out, where that must be known, too
    asked : options that make it again, besides its name and paradigm
    singles : whether single people are in it
    """

    title: str
    caption: str
    table: pd.DataFrame
    shown: pd.DataFrame
    picture: Callable[[Sequence[Look]], dict[str, Any]]
    looks: Sequence[Look] = ()
    conditions: bool = False
    notes: Sequence[str] = ()
    readouts: Sequence[str] = ()
    further: Sequence[tuple[str, pd.DataFrame]] = ()
    asked: Sequence[str] = ()
    singles: bool = False
    answers: AnswersOf = no_answers

    def draw(self, looks: Sequence[Look] = ()) -> DrawnFigure:
        """The figure; ``looks`` as a page with other figures has decided for everybody."""
        drawn = looks if looks and not self.conditions else self.looks
        notes = (*self.readouts, *self.notes)
        return DrawnFigure(
            self.title,
            self.caption,
            self.table,
            self.shown,
            self.picture(drawn),
            drawn,
            notes,
            self.further,
            self.answers,
        )


def _nothing(scored: Scored, paradigm: str) -> tuple[str, ...]:
    return ()


def _enough(scored: Scored, paradigm: str) -> str:
    return ""


#: Sections of a paradigm's page, in their order: effects, figures of N-back blocks, reaction times,
#: all others.
Section = Literal["effects", "blocks", "times", "others"]
SECTIONS: tuple[Section, ...] = ("effects", "blocks", "times", "others")


@dataclass(frozen=True)
class FigureDeclaration:
    """A figure, declared once: ``spanlab figure``, its list of names, ``spanlab check``, the
    report, Python and the documentation all go by this.

    Parameters
    ----------
    name : as ``spanlab figure`` knows it
    title : what it shows, as its title says after the paradigm's
    compute : from data, and what was asked for, to its numbers; raises SpanLabError, with a
        sentence, where it cannot
    missing : why one paradigm of the data does not have it, in a sentence; empty where it does
    lacking : the columns that it needs and a paradigm has no values in
    line : what it shows, as lists of figures say it; the title when not given
    answers : of what it is: of N-back ``blocks``, of other ``items``, or of ``any`` answers
    section, place : where it stands on a paradigm's page (lines must then be answerers), and in
        which order there; on none where the section is None
    too_few : why a page does not show it although it can be made, in a sentence; empty where it
        does
    expected : paradigms of the library that have it; where they do not, the page says why
    effects : those whose sums are all that it needs, so that it can be made from data that are read
        piece by piece, here or elsewhere; empty where it needs all answers at once
    by : whether it can be apart for each value of a column
    along : whether it can be along any column, and of several values
    of_people : whether it needs people (or who stands in for them), so that trials alone do not
        tell whether there will be one
    excerpt_of : the figure of which it shows some conditions; empty when it is not an excerpt
    """

    name: str
    title: str
    compute: Callable[[Data, Wish], Computed]
    missing: Callable[[Scored, str], str] = lambda scored, paradigm: (
        "" if paradigm in scored.parts else f"{paradigm} has no scored answers."
    )
    lacking: Callable[[Scored, str], tuple[str, ...]] = _nothing
    _: KW_ONLY
    line: str = ""
    answers: Literal["items", "blocks", "any"] = "any"
    section: Section | None = "others"
    place: int = 0
    too_few: Callable[[Scored, str], str] = _enough
    expected: tuple[str, ...] = ()
    effects: tuple[str, ...] = ()
    by: bool = False
    along: bool = False
    of_people: bool = False
    excerpt_of: str = ""

    def draw(self, data: Data, wish: Wish) -> DrawnFigure:
        """The figure from data.

        Raises
        ------
        SpanLabError
            when the data do not have what it needs.
        """
        return self.compute(data, wish).draw()

    def concerns(self, scored: Scored, paradigm: str) -> bool:
        """Return whether the figure fits the kind of answers that a paradigm has."""
        blocks = paradigm in scored.parts and scored.parts[paradigm].blocks
        return self.answers in ("any", "blocks" if blocks else "items")


def lines(caption: str) -> str:
    """A caption, broken into lines that fit below a title."""
    return "\n".join(textwrap.wrap(caption, _WIDTH))


def with_bars(table: pd.DataFrame, bars: Bars) -> pd.DataFrame:
    """A table of curves whose ``low`` and ``high`` are what bars stand for."""
    if bars == "interval":
        return table
    if bars == "within":
        return table.assign(low=table.get("within_low", math.nan), high=table.get("within_high", math.nan))
    mean, sem = table["mean"].astype(float), table["sem"].astype(float)
    return table.assign(low=mean - sem, high=mean + sem)


def named_paradigms(data: Data, wish: Wish) -> list[str]:
    """The paradigms that the user named; empty when none was named.

    Raises
    ------
    SpanLabError
        when the data have no such paradigm.
    """
    there = list(data.titles)
    for name in wish.paradigms:
        if name not in there:
            raise SpanLabError(f"these data have no paradigm '{name}'; they have {', '.join(there) or 'none'}")
    return list(wish.paradigms)


def why_not(find: Callable[[Scored, str], object], scored: Scored, paradigm: str) -> str:
    """Return why a paradigm does not show a figure: the sentence with which its data are refused;
    empty where they are not."""
    try:
        find(scored, paradigm)
    except SpanLabError as error:
        return f"{error}."
    return ""


def chosen(
    name: str,
    missing: Callable[[Scored, str], str],
    data: Data,
    wish: Wish,
    *,
    expected: Sequence[str] = (),
    among: Sequence[str] | None = None,
) -> str:
    """The paradigm of a figure that shows one paradigm: the one that the user named, or the only
    one that has this figure.

    Parameters
    ----------
    name, missing, expected : as the figure declares them
    among : paradigms that it may be of where none was named; all when not given

    Raises
    ------
    SpanLabError
        when there is none, or several and none was named.
    """
    there, wanted = (
        [paradigm for paradigm in data.titles if among is None or paradigm in among],
        named_paradigms(data, wish),
    )
    if len(wanted) > 1:
        raise SpanLabError(f"{name} is a figure of one paradigm: name one with --paradigm, not {', '.join(wanted)}")
    why = {paradigm: missing(data.scored, paradigm) for paradigm in wanted or there}
    fitting = [paradigm for paradigm, sentence in why.items() if not sentence]
    if len(fitting) > 1:
        raise SpanLabError(
            f"several paradigms of these data have {name}: {', '.join(fitting)}; choose one with --paradigm"
        )
    if fitting:
        return fitting[0]
    reasons = " ".join(why.values()) or (
        f"these data have no {' or '.join(expected)}, only {', '.join(data.titles)}."
        if data.titles
        else "there are no scored answers."
    )
    library = f" In the library these have it: {', '.join(expected)}." if expected and not wanted else ""
    raise SpanLabError(f"no figure {name}: {reasons}{library}")
