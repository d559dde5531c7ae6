"""Figures that the data of a paradigm will have: the conditions of the registry, applied to trials
that nobody has taken."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd

from ...core.json_values import grouped
from ..data.coding import Declared, DeclaredEffect
from ..data.scoring import score_table
from ..effects.conditions import unnamed_conditions
from ..effects.registry import EFFECTS
from ..figure_catalogue import FIGURES
from .conditions_figure import CONDITIONS


@dataclass(frozen=True)
class Prospects:
    """The figures that data will have (names as ``spanlab figure`` knows them), and what keeps others
    from being drawn that have all columns.

    Parameters
    ----------
    figures : that can be drawn
    why : for others that have all columns, why there is nothing to draw
    effects : that the paradigm's file declares
    """

    figures: tuple[str, ...]
    why: dict[str, str]
    effects: Mapping[str, DeclaredEffect] = field(default_factory=dict[str, DeclaredEffect])

    def sentences(self) -> list[str]:
        """The same in lines; figures for which the data have no columns at all do not concern them."""
        reasons = grouped((why, name) for name, why in self.why.items())
        return [
            f"figures: {', '.join(self.figures) or 'none'}",
            *(f"no {', '.join(names)}: {why}" for why, names in reasons.items()),
        ]


def prospects(responses: pd.DataFrame, paradigm: str, content: Mapping[str, Any] | None = None) -> Prospects:
    """The figures that a response table of a paradigm will give.

    Parameters
    ----------
    content : of its file
    """
    scored = score_table(responses.assign(agent_kind=""))  # nobody has taken them yet
    declared = Declared.read(content)
    scored = replace(scored, declared={paradigm: declared})
    figures: list[str] = []
    why: dict[str, str] = {}
    for figure in FIGURES:
        if figure.excerpt_of or figure.of_people or figure.along or not figure.concerns(scored, paradigm):
            continue
        sentence = figure.missing(scored, paradigm)
        if not sentence:
            figures.append(figure.name)
        elif not figure.lacking(scored, paradigm):
            why[figure.name] = sentence.removeprefix(f"{paradigm} has ").removesuffix(".")
    if paradigm in scored.parts and unnamed_conditions(
        scored.parts[paradigm], [one for one in EFFECTS if one.name in figures], "correct"
    ):
        figures.append(CONDITIONS.name)
    figures += [*declared.effects] if len(scored.items) else []
    if len(scored.items):
        figures += [figure.name for figure in FIGURES if figure.of_people and figure.concerns(scored, paradigm)]
    return Prospects(tuple(figures), why, declared.effects)
