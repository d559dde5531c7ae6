"""Figures that the data of a paradigm will have, and what it lacks for the others: the conditions
of the registry, applied to trials that nobody has taken."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from ...core.json_values import grouped
from ..data.scoring import score_table
from ..effects.conditions import unnamed_conditions
from ..effects.registry import EFFECTS
from ..figure_catalogue import FIGURES
from .conditions_figure import CONDITIONS

#: What a paradigm says of its trials by keys of their own, whatever it is about.
_COMMON = ("set_size", "list_length", "serial_position", "output_position", "retention_steps", "correct_answer")


@dataclass(frozen=True)
class Prospects:
    """The figures that data will have (names as ``spanlab figure`` knows them), and for each of the
    others what is lacking.

    Parameters
    ----------
    figures : that can be drawn
    lacking : for others, the columns that the data will not have
    why : for others that have all columns, why there is nothing to draw
    """

    figures: tuple[str, ...]
    lacking: dict[str, tuple[str, ...]]
    why: dict[str, str]

    def sentences(self) -> list[str]:
        """The same in lines: figures that differ in what they lack of the common columns one by
        one, others together."""
        sentences = [f"figures: {', '.join(self.figures) or 'none'}"]
        reasons = grouped((why, name) for name, why in self.why.items())
        sentences += [f"no {', '.join(names)}: {why}" for why, names in reasons.items()]
        alike = grouped(
            (columns, name) for name, columns in self.lacking.items() if all(column in _COMMON for column in columns)
        )
        sentences += [
            f"no {', '.join(names)}: the trials have no {' and no '.join(columns)}" for columns, names in alike.items()
        ]
        others = [f"{name} ({', '.join(columns)})" for name, columns in self.lacking.items() if columns not in alike]
        if others:
            sentences.append(f"no figures for lack of columns: {', '.join(others)}")
        return sentences


def prospects(responses: pd.DataFrame, paradigm: str) -> Prospects:
    """The figures that a response table of a paradigm will give."""
    scored = score_table(responses.assign(agent_kind=""))  # nobody has taken them yet
    figures: list[str] = []
    lacking: dict[str, tuple[str, ...]] = {}
    why: dict[str, str] = {}
    for figure in FIGURES:
        if figure.excerpt_of or figure.of_people or figure.along or not figure.concerns(scored, paradigm):
            continue
        sentence = figure.missing(scored, paradigm)
        columns = figure.lacking(scored, paradigm)
        if not sentence:
            figures.append(figure.name)
        elif columns:
            lacking[figure.name] = columns
        else:
            why[figure.name] = sentence.removeprefix(f"{paradigm} has ").removesuffix(".")
    if paradigm in scored.parts and unnamed_conditions(
        scored.parts[paradigm], [one for one in EFFECTS if one.name in figures], "correct"
    ):
        figures.append(CONDITIONS.name)
    if len(scored.items):
        figures += [figure.name for figure in FIGURES if figure.of_people and figure.concerns(scored, paradigm)]
    return Prospects(tuple(figures), lacking, why)
