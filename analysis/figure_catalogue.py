"""Every figure that ``spanlab figure`` knows, by name: those of effects, of N-back, of reaction times, and the published ones drawn from any data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING

from ..core.errors import SpanLabError
from ..core.registry import nearest
from .effects.registry import EFFECTS
from .figures.effect_figure import draw_effect
from .figures.figure import Drawing, Wish
from .figures.nback_study import NBACK_FIGURES
from .figures.reaction_time_figure import LINE, NAME, draw_reaction_times
from .figures.worm import NUMBERS, PAPER_FIGURES, UNITS, draw_paper_figure, elsewhere

if TYPE_CHECKING:
    from .data.loading import Data


@dataclass(frozen=True)
class Figure:
    """A figure by its name: what it shows, in a line, and the function that draws it from data."""

    name: str
    line: str
    draw: Callable[[Data, Wish], Drawing]


@cache
def figures() -> dict[str, Figure]:
    """All figures that are made of answers, by name."""
    known = [Figure(one.name, f"{one.title} ({', '.join(one.paradigms)})", partial(draw_effect, one)) for one in EFFECTS]
    known.append(Figure(NAME, LINE, draw_reaction_times))
    known += [Figure(one.name, one.line, partial(one.draw, one)) for one in NBACK_FIGURES]
    known += [Figure(one.name, one.line, partial(draw_paper_figure, one)) for one in PAPER_FIGURES]
    return {one.name: one for one in known}


def figure_named(name: str, source: Sequence[str] = ()) -> Figure:
    """The figure of that name.

    Parameters
    ----------
    source : the data as they were named

    Raises
    ------
    SpanLabError
        when there is none, with a list of all that there are; and when it is not made of answers, with what makes it.
    """
    known = figures()
    if name in known:
        return known[name]
    other = elsewhere(name, source)
    if other:
        raise SpanLabError(other)
    raise SpanLabError(f"there is no figure called '{name}'{nearest(name, [*known, *UNITS, *NUMBERS])}\nThese there are:\n{listing()}")


def listing() -> str:
    """All figures, a line each."""
    shown = [(one.name, one.line) for one in figures().values()]
    shown += [(name, f"WorM, {what} (from a checkpoint, by 'spanlab neural')") for name, (_, what) in UNITS.items()]
    shown += [(number, f"the number of {name} in the paper") for number, name in NUMBERS.items()]
    wide = max(len(name) for name, _ in shown)
    return "\n".join(f"  {name:<{wide}}  {line}" for name, line in shown)
