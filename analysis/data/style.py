"""How each answerer looks in figures: the colour, dash and shape of its kind, the same in every figure and in light and dark."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...core.agent_kinds import KINDS, PRINTED, AgentKind, kind_named

if TYPE_CHECKING:
    import pandas as pd

#: Kind of published human data in curve tables; sessions of the kind ``published`` hold what a model answered in published results, trial by trial.
GROUP_MEANS = PRINTED.name


@dataclass(frozen=True, slots=True)
class Look:
    """How one curve is drawn.

    Parameters
    ----------
    label, kind : of the agent
    light, dark : its colour on white and on black
    dash : lengths of strokes and gaps in px; ``(1, 0)`` is solid
    width : of the line in px
    shape : of its points, as Vega names them
    size : area of its points in px²
    hollow : whether its points are outlines
    faint : whether its intervals step back behind those of people and models (guessing and oracles)
    """

    label: str
    kind: str
    light: str
    dark: str
    dash: tuple[int, int]
    width: float
    shape: str
    size: int
    hollow: bool = False
    faint: bool = False


_SOLID, _DASHED = (1, 0), (6, 3)

#: Colours (on white, on black) and shapes of conditions, where lines are conditions and no answerers: after Okabe & Ito, as above; ordered ones from dark to
#: light along viridis, without its pale end.
_NAMED = (
    *(("#0069b0", "#5cb3f0"), ("#c84a00", "#ff8c42"), ("#00805c", "#37e0b0"), ("#b5488c", "#ec97c8"), ("#b07c00", "#f0c04a")),
    *(("#2b2b2b", "#f2f2f2"), ("#4d9fd6", "#a3d5f8")),
)
_ORDERED = (
    *(("#440154", "#d7a8ea"), ("#482475", "#c3a9ee"), ("#414487", "#a9abe8"), ("#355f8d", "#94bde6")),
    *(("#2a788e", "#6fc7de"), ("#21918c", "#63d6d0"), ("#22a884", "#5fe0bd"), ("#7ab51d", "#b4e36a")),
)
_SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "triangle-right")
_DRAWN = [kind.name for kind in KINDS]


def of_kinds(column: pd.Series, question: Callable[[AgentKind], bool]) -> pd.Series:
    """Which rows are of a kind that a question is true of, such as ``lambda kind: kind.yardstick``."""
    return column.isin([name for name in column.unique() if question(kind_named(str(name)))])


def competitors(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of everybody but yardsticks; all rows where there is nobody else."""
    kept = table[~of_kinds(table["agent_kind"], lambda kind: kind.yardstick)]
    return kept if len(kept) else table


def looks(agents: Iterable[tuple[str, str]]) -> list[Look]:
    """Looks for agents, in drawing order: guessing first, people last and so on top.

    Parameters
    ----------
    agents : label and kind of each; several of one kind get different shades, and a second shape from the fourth on
    """
    ranked = sorted(sorted(set(agents), reverse=True), key=lambda agent: _DRAWN.index(agent[1]) if agent[1] in _DRAWN else -1)
    result = []
    for label, kind in ranked:
        mark = kind_named(kind).mark
        number = sorted(name for name, other in ranked if other == kind).index(label)
        shapes = (mark.shape, "circle", "square", "triangle-up", "diamond", "triangle-down", "cross")
        again = number // len(mark.light)
        result.append(
            Look(
                label,
                kind,
                mark.light[number % len(mark.light)],
                mark.dark[number % len(mark.dark)],
                mark.dash,
                mark.width,
                shapes[again % len(shapes)],
                mark.size,
                kind == GROUP_MEANS,
                kind_named(kind).yardstick,
            )
        )
    return result


def condition_looks(labels: Sequence[str], *, ordered: bool = False) -> list[Look]:
    """Looks for conditions, in drawing order: the last one first, so that a legend begins with the first one.

    Parameters
    ----------
    labels : of the conditions, in their order
    ordered : whether they are steps of one scale (list lengths), and so from dark to light
    """
    found = []
    for number, label in enumerate(labels):
        colours = _ORDERED if ordered else _NAMED
        place = round(number * (len(colours) - 1) / max(1, len(labels) - 1)) if ordered else number % len(colours)
        dash = _SOLID if ordered or number < len(colours) else _DASHED
        found.append(Look(label, "condition", *colours[place], dash, 2.0, _SHAPES[(number + 3 * (number // len(_NAMED))) % len(_SHAPES)], 46))
    return found[::-1]
