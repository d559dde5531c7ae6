"""The scores of the published table (WorM, Table A3), each declared once: its paradigm, its
conditions, and the weight of each condition.

A score A compares slopes and a score B means; both are weighted sums of the accuracies of
conditions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np


@dataclass(frozen=True)
class ScoreKind:
    """One row of the published table.

    Parameters
    ----------
    task, name : as the published table has them, such as ``vsr`` and ``A_primacy``
    x : the column along which the slope is taken, or over whose values the mean is taken
    panels : columns in each combination of which there is a line of its own
    needs : further columns without which a paradigm has no such score
    part : of the list; ``primacy`` and ``recency`` are cut at the minimum
    matched : whether people and answerer are compared at the same points; else each has its own
    """

    task: str
    name: str
    x: str
    panels: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    part: Literal["whole", "primacy", "recency"] = "whole"
    matched: bool = True

    @property
    def slope(self) -> bool:
        """True if this is a score A (of slopes) and not a score B (of means)."""
        return self.name.startswith("A_")

    @property
    def by(self) -> tuple[str, ...]:
        """The columns that span its conditions."""
        return (*self.panels, self.x)


_DOMAINS = ("factor_storage", "factor_distractor_domain")
_RESOLUTION = "factor_pattern_distractor_difference"
SCORES: tuple[ScoreKind, ...] = (
    ScoreKind("vsr", "A_primacy", "serial_position", ("list_length",), part="primacy"),
    ScoreKind("vsr", "A_recency", "serial_position", ("list_length",), part="recency"),
    ScoreKind("vsr", "B_length", "list_length", needs=("serial_position",)),
    ScoreKind("vir", "A_retentioninterval", "retention_steps", ("list_length",)),
    ScoreKind("vir", "B_retentioninterval", "retention_steps", ("list_length",)),
    ScoreKind("cs", "A_cognitiveload", "record_cognitive_load", _DOMAINS, needs=("serial_position",), matched=False),
    ScoreKind("cs", "B_cognitiveload", "record_cognitive_load", _DOMAINS, needs=("serial_position",), matched=False),
    ScoreKind("smu", "A_setsize", "set_size"),
    ScoreKind("smu", "B_setsize", "set_size"),
    ScoreKind("vsrec", "A_patterndiff", _RESOLUTION, ("list_length",)),
    ScoreKind("vsrec", "B_patterndiff", _RESOLUTION, ("list_length",)),
    ScoreKind("cd", "A_setsize", "set_size", ("factor_feature",)),
    ScoreKind("cd", "B_setsize", "set_size", ("factor_feature",)),
)


def lowest_place(panel: tuple[Any, ...], curve: Mapping[tuple[Any, ...], float]) -> float:
    """The place at which a curve is lowest; the first one if there are several."""
    line = sorted((place[-1], value) for place, value in curve.items() if place[:-1] == panel)
    return (
        min(line, key=lambda point: (point[1], point[0]))[0] if line and not isinstance(line[0][0], str) else math.nan
    )


def weights(
    score: ScoreKind, places: Sequence[tuple[Any, ...]], cuts: Mapping[tuple[Any, ...], float]
) -> dict[tuple[Any, ...], float]:
    """The weight of each condition in M: the sum of weight times accuracy is the mean, or the mean
    of the panels' slopes.

    Parameters
    ----------
    places : the conditions; the last entry of each is the place along the line, all before it name
        its panel
    cuts : for each panel the place of people's minimum; only primacy and recency are cut
    """
    if not score.slope:
        return {place: 1 / len(places) for place in sorted(places)} if places else {}
    weight_of: dict[tuple[Any, ...], float] = {}
    lines: dict[tuple[Any, ...], list[float]] = {}
    for *names, x in sorted(places):
        panel = tuple(names)
        cut = cuts.get(panel, math.nan)
        if score.part == "whole" or (x <= cut if score.part == "primacy" else x >= cut):
            lines.setdefault(panel, []).append(x)
    lines = {panel: line for panel, line in lines.items() if len(line) >= 2}
    for panel, line in lines.items():
        x = np.asarray(line)
        away = x - x.mean()
        for at, weight in zip(line, away / (away @ away) / len(lines), strict=True):
            weight_of[(*panel, at)] = float(weight)
    return weight_of


def describe_places(score: ScoreKind, places: Sequence[tuple[Any, ...]]) -> str:
    """The conditions of a score, in words."""

    def text(values: Sequence[Any]) -> str:
        return ", ".join(
            value if isinstance(value, str) else f"{value:.2f}".rstrip("0").rstrip(".") for value in sorted(set(values))
        )

    names = [name.removeprefix("factor_").removeprefix("record_").replace("_", " ") for name in score.by]
    parts = [f"{name} {text(values)}" for name, values in zip(names, zip(*places, strict=True), strict=True)]
    return "; ".join(parts) + (f" ({score.part} part)" if score.part != "whole" else "")
