"""Figures that the data of a paradigm will have: the conditions of the registry, applied to trials
that nobody has taken."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from ..data.coding import Declared, DeclaredEffect
from ..data.scoring import score_table
from ..effects.conditions import unnamed_conditions
from ..effects.registry import EFFECTS
from ..figure_catalogue import FIGURES
from .conditions_figure import CONDITIONS


@dataclass(frozen=True)
class Prospects:
    """The figures that data will have (names as ``spanlab figure`` knows them).

    Parameters
    ----------
    figures : that can be drawn
    effects : that the paradigm's file declares
    """

    figures: tuple[str, ...]
    effects: Mapping[str, DeclaredEffect]


def prospects(responses: pd.DataFrame, paradigm: str, content: Mapping[str, Any] | None = None) -> Prospects:
    """The figures that a response table of a paradigm will give.

    Parameters
    ----------
    content : of its file
    """
    scored = score_table(responses.assign(agent_kind=""))  # nobody has taken them yet
    declared = Declared.read(content)
    scored = replace(scored, declared={paradigm: declared})
    figures = [
        figure.name
        for figure in FIGURES
        if not (figure.excerpt_of or figure.of_people or figure.along)
        and figure.concerns(scored, paradigm)
        and not figure.missing(scored, paradigm)
    ]
    if paradigm in scored.parts and unnamed_conditions(
        scored.parts[paradigm], [one for one in EFFECTS if one.name in figures], "correct"
    ):
        figures.append(CONDITIONS.name)
    figures += [*declared.effects] if len(scored.items) else []
    if len(scored.items):
        figures += [figure.name for figure in FIGURES if figure.of_people and figure.concerns(scored, paradigm)]
    return Prospects(tuple(figures), declared.effects)
