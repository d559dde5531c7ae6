"""What ``spanlab figure`` makes: a table, a chart of it, and what must be said of both; and what somebody may ask of it."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ...core.errors import SpanLabError
from ..data.style import Look

if TYPE_CHECKING:
    import pandas as pd

    from ..data.loading import Data

#: What bars stand for: 95% intervals, or one standard error of the mean to each side.
Bars = Literal["interval", "sem"]
#: What tooltips call them.
BARS_SAID: Mapping[Bars, str] = {"interval": "95% interval", "sem": "mean ± s.e.m."}
#: Letters in a line below a title.
_WIDTH = 110


@dataclass(frozen=True)
class Wish:
    """What was asked for.

    Parameters
    ----------
    paradigms : of which paradigms; all that fit when not given
    bars : what the bars of curves stand for
    by : a column, for each value of which reaction times are shown apart; none when empty
    source : the data as they were named, for commands that are told
    agents : how everybody looks, where a page with other figures has decided that; as the data of the figure have it when not given
    """

    paradigms: tuple[str, ...] = ()
    bars: Bars = "interval"
    by: str = ""
    source: tuple[str, ...] = ()
    agents: tuple[Look, ...] = ()


@dataclass(frozen=True)
class Drawing:
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
    """

    title: str
    caption: str
    table: pd.DataFrame
    shown: pd.DataFrame
    spec: dict[str, Any]
    agents: Sequence[Look] = ()
    notes: Sequence[str] = ()
    further: Sequence[tuple[str, pd.DataFrame]] = ()

    def save(self, file: str | Path) -> Path:
        """Write the figure to a file whose name ends in ``.svg``, ``.pdf``, ``.png`` or ``.html``.

        Raises
        ------
        SpanLabError
            when the name ends otherwise, or the file cannot be written.
        """
        from .charts import save_as

        return save_as(self.spec, Path(file), self.agents)

    def _repr_svg_(self) -> str:
        """How a notebook shows it."""
        from .charts import draw

        return draw(self.spec, self.agents)

    def __repr__(self) -> str:
        return f"Drawing({self.title!r}, {len(self.table)} rows)"


def lines(caption: str) -> str:
    """A caption, broken into lines that fit below a title."""
    return "\n".join(textwrap.wrap(caption, _WIDTH))


def with_bars(table: pd.DataFrame, bars: Bars) -> pd.DataFrame:
    """A table of curves whose ``low`` and ``high`` are what bars stand for."""
    if bars == "interval":
        return table
    mean, sem = table["mean"].astype(float), table["sem"].astype(float)
    return table.assign(low=mean - sem, high=mean + sem)


def named_paradigms(data: Data, wish: Wish) -> list[str]:
    """The paradigms that were asked for; empty when none was named.

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
