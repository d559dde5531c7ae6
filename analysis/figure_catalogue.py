"""Every figure by its name: those of effects, of reaction times, of the benchmark's paper, and those
of other packages. The command line, the report, ``spanlab check``, Python and the
documentation all go by it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from typing_extensions import override

from ..core.errors import SpanLabError
from ..core.registry import Instances, nearest
from .data.style import listed
from .effects.registry import EFFECTS
from .figures.conditions_figure import CONDITIONS
from .figures.effect_figure import effect_figure
from .figures.error_figure import ERROR_DISTRIBUTION
from .figures.figure import SECTIONS, FigureDeclaration, Wish
from .figures.groups_figure import GROUPS
from .figures.reaction_time_figure import REACTION_TIME
from .figures.roc_figure import ROC, ZROC
from .figures.worm import NUMBERS, PAPER_FIGURES, UNITS, elsewhere, paper_figure


class Figures(Instances[FigureDeclaration]):
    """All figures that are made of answers: one for each effect, then SpanLab's others, then those
    of other packages (entry points ``spanlab.figures``)."""

    def __init__(self) -> None:
        declarations = (
            CONDITIONS,
            GROUPS,
            ERROR_DISTRIBUTION,
            REACTION_TIME,
            ROC,
            ZROC,
            *map(paper_figure, PAPER_FIGURES),
        )
        super().__init__("figure", "spanlab.figures", FigureDeclaration, declarations)

    @override
    def known(self) -> Mapping[str, FigureDeclaration]:
        effects = {effect.name: effect_figure(effect) for effect in EFFECTS}
        others = super().known()
        for name in effects.keys() & others.keys():
            raise SpanLabError(
                f"an effect and another figure are both called '{name}'; rename one of them, or uninstall its package"
            )
        return {**effects, **others}

    def on_page(self) -> list[FigureDeclaration]:
        """The figures that a report has for each paradigm that shows them, in their order."""
        ranked = [
            (SECTIONS.index(figure.section), figure.place, number, figure)
            for number, figure in enumerate(self)
            if figure.section is not None
        ]
        return [figure for *_, figure in sorted(ranked, key=lambda rank: rank[:3])]


FIGURES = Figures()


def figure_named(name: str, source: Sequence[str] = ()) -> FigureDeclaration:
    """The figure with that name.

    Parameters
    ----------
    source : the data as they were named

    Raises
    ------
    SpanLabError
        when there is none, with a list of all that there are; and when it is not made of answers,
        with what makes it.
    """
    known = FIGURES.known()
    meant = NUMBERS.get(name, name)
    if meant in known:
        return known[meant]
    other = elsewhere(name, source)
    if other:
        raise SpanLabError(other)
    raise SpanLabError(
        f"there is no figure called '{name}'{nearest(name, [*known, *UNITS, *NUMBERS])}\nThe figures are:\n{listing()}"
    )


def wish_for(
    figure: FigureDeclaration,
    paradigms: Sequence[str],
    bars: str,
    by: str,
    *,
    along: str = "",
    value: str = "",
) -> Wish:
    """Check what somebody asks of a figure.

    Raises
    ------
    SpanLabError
        when there are no such bars, or the figure cannot be apart for a column.
    """
    if bars != "interval" and bars != "sem" and bars != "within":
        raise SpanLabError(
            f"is 'interval' (95%), 'sem' (one standard error to each side) or 'within' (95%, within people), not"
            f" '{bars}'",
            option="bars",
        )
    if bars == "within" and figure.section != "effects" and not figure.along:
        raise SpanLabError(
            f"within is for figures of effects, which have every person in several conditions; {figure.name} is none",
            option="bars",
        )
    if by and not figure.by:
        able = listed([one.name for one in FIGURES if one.by])
        raise SpanLabError(f"is for the figures {able}; {figure.name} has the conditions that it shows", option="by")
    for name, given in (("along", along), ("value", value)):
        if given and not figure.along:
            able = listed([one.name for one in FIGURES if one.along])
            raise SpanLabError(f"is for {able}; {figure.name} has the conditions that it shows", option=name)
    return Wish(tuple(paradigms), bars, by, along, value or "correct")


def listing() -> str:
    """All figures, a line each."""
    shown = [
        *((figure.name, figure.line or figure.title) for figure in FIGURES),
        *((name, f"WorM, {what} (from a checkpoint, by 'spanlab neural')") for name, (_, what) in UNITS.items()),
        *((number, f"the number of {name} in the paper") for number, name in NUMBERS.items()),
    ]
    wide = max(len(name) for name, _ in shown)
    return "\n".join(f"  {name:<{wide}}  {line}" for name, line in shown)
