"""How each kind of answerer looks in figures: one colour-blind-safe colour, dash and shape per kind, the same in every figure and in light and dark.

Colours follow Okabe & Ito (2008, "Color Universal Design"), darkened or lightened to stay legible as thin lines on white and on black. Nothing is told by
colour alone: people are thick and solid, oracles are dashed, published people are hollow diamonds, guessing is grey.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

#: Kind of published human data in curve tables; sessions of the kind ``published`` hold what a model answered in published results, trial by trial.
GROUP_MEANS = "group means"
#: Kinds of answerers that were handed the answers.
ORACLES = ("ideal", "capacity", "simulated")
#: Kinds that are there to compare with, and compete with nobody: they enter no test, no family of tests, and stretch no axis.
YARDSTICKS = (*ORACLES, "chance")


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


_SOLID, _DASHED, _DOTTED = (1, 0), (6, 3), (2, 2)

#: Kind, in drawing order (later ones lie on top): colours on white, colours on black (one per agent of the kind), dash, width, shape, size.
_KINDS: dict[str, tuple[tuple[str, ...], tuple[str, ...], tuple[int, int], float, str, int]] = {
    "chance": (("#8a8a8a", "#a9a9a9"), ("#858585", "#6c6c6c"), _SOLID, 1.4, "cross", 34),
    "ideal": (("#5d5a88", "#8d8ab5"), ("#b3b0e0", "#8885bb"), _DASHED, 1.6, "triangle-down", 44),
    "capacity": (("#b07c00", "#d9a62b"), ("#f0c04a", "#c2922a"), _DASHED, 1.6, "triangle-right", 44),
    "simulated": (("#b5488c", "#d68fb8"), ("#ec97c8", "#bf6d9b"), _DASHED, 2.0, "triangle-left", 48),
    "recorded": (("#6b705c", "#969b87"), ("#b7bca5", "#8d927d"), _SOLID, 1.8, "stroke", 60),
    "published": (("#3d6b00", "#79a63c", "#284600"), ("#a5d65f", "#cdeba3", "#7eae3a"), _SOLID, 1.8, "wedge", 60),
    "chat": (("#00805c", "#3fae8c", "#00543d"), ("#37e0b0", "#98ecd3", "#17a97f"), _SOLID, 2.0, "triangle-up", 52),
    "scripted": (("#00805c", "#3fae8c", "#00543d"), ("#37e0b0", "#98ecd3", "#17a97f"), _DOTTED, 1.8, "triangle-up", 52),
    "network": (("#0069b0", "#4d9fd6", "#00406b"), ("#5cb3f0", "#a3d5f8", "#2e86c4"), _SOLID, 2.0, "square", 42),
    GROUP_MEANS: (("#2b2b2b", "#6a6a6a"), ("#f2f2f2", "#bdbdbd"), _SOLID, 1.4, "diamond", 56),
    "participant": (("#c84a00", "#e58a4f"), ("#ff8c42", "#ffb98a"), _SOLID, 3.2, "circle", 66),
}
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
_FAINT = ("chance", "ideal", "capacity", "simulated")
_OTHER = (("#555555",), ("#bbbbbb",), _SOLID, 1.6, "square", 40)


def competitors(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of everybody but yardsticks; all rows where there is nobody else."""
    kept = table[~table["agent_kind"].isin(YARDSTICKS)]
    return kept if len(kept) else table


def looks(agents: Iterable[tuple[str, str]]) -> list[Look]:
    """Looks for agents, in drawing order: guessing first, people last and so on top.

    Parameters
    ----------
    agents : label and kind of each; several of one kind get different shades, and a second shape from the fourth on
    """
    order = list(_KINDS)
    ranked = sorted(sorted(set(agents), reverse=True), key=lambda agent: order.index(agent[1]) if agent[1] in order else -1)
    result = []
    for label, kind in ranked:
        light, dark, dash, width, shape, size = _KINDS.get(kind, _OTHER)
        number = sorted(name for name, other in ranked if other == kind).index(label)
        shapes = (shape, "circle", "square", "triangle-up", "diamond", "triangle-down", "cross")
        again = number // len(light)
        result.append(
            Look(
                label,
                kind,
                light[number % len(light)],
                dark[number % len(dark)],
                dash,
                width,
                shapes[again % len(shapes)],
                size,
                kind == GROUP_MEANS,
                kind in _FAINT,
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
