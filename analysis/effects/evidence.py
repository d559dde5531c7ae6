"""Evidence for an effect in one paradigm: whether it is there at all, and its cells; and how far guessing
gets: chance, which is the line of every figure, and what somebody reaches who has not looked but knows
how trials are made. A record tells both of every question (``chance`` and ``blind``)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import pandas as pd

from ..data.scoring import Scored
from ..means.bootstrap import LEVEL
from ..means.cell_means import Cells

#: Shares of right answers that differ by less are said to be the same.
_SAME = 0.005


@dataclass(frozen=True)
class Guessing:
    """The recorded accuracies of guessing over some answers: means of ``chance`` and ``blind``, and the
    extremes of the latter; NaN where they are not known."""

    chance: float = math.nan
    blind: float = math.nan
    lowest: float = math.nan
    highest: float = math.nan

    @classmethod
    def of(cls, items: pd.DataFrame) -> Guessing:
        """Those of scored items."""
        if not {"blind", "chance"} <= {*items.columns}:
            return cls()
        chance, right = items["chance"].to_numpy(float), items["blind"].to_numpy(float)
        known = np.isfinite(chance) & np.isfinite(right)
        if not known.any():
            return cls()
        chance, right = chance[known], right[known]
        return cls(float(chance.mean()), float(right.mean()), float(right.min()), float(right.max()))

    @property
    def sentence(self) -> str:
        """The sentence for figures and reports; empty where nobody guesses better than chance."""
        if not self.blind > self.chance + _SAME:
            return ""
        spread = f" ({self.lowest:.0%} to {self.highest:.0%}, by question)"
        spread = spread if round(self.highest, 2) > round(self.lowest, 2) else ""
        return (
            f"The chance line is a uniform guess among the allowed answers ({self.chance:.0%}). Somebody who sees"
            " nothing, but knows how trials are made and always gives the most frequent answer, is right in"
            f" {self.blind:.0%}{spread}: memory begins above that."
        )


@dataclass(frozen=True)
class Evidence:
    """The evidence for an effect in a paradigm.

    Parameters
    ----------
    items : scored answers
    blocks : whether they are of N-back blocks
    there : of the columns that the effect needs, those that have a value somewhere
    conditions : what there is along its axis
    valued : whether there is something to average
    lost : rows that are in no cell
    guessed : what the record tells of guessing
    cells : by name (an average has one, without a name); empty where there is no such effect, or
        where they were not asked for
    """

    items: int = 0
    blocks: bool = False
    there: frozenset[str] = frozenset()
    conditions: frozenset[Any] = frozenset()
    valued: bool = False
    lost: int = 0
    guessed: Guessing = Guessing()
    cells: Mapping[str, Cells] = field(default_factory=dict)


class Estimator(Protocol):
    """How the numbers of an effect come from its rows. One object stands for it in the declaration
    (:class:`.curves.Averages`, :class:`.sensitivity.Sensitivity`, :class:`.capacity.Capacity`, or one of your own,
    which must be hashable).
    """

    @property
    def value(self) -> str:
        """The column that rows must have a value in."""
        ...

    def cells(self, scored: Scored, by: Sequence[str], who: Sequence[str]) -> Mapping[str, Cells]:
        """The cells of an effect from prepared rows, by name; those of its curves have no name.

        Parameters
        ----------
        by : columns that span the cells: panels, then the horizontal axis
        who : columns that tell answerers apart
        """
        ...

    def table(self, cells: Mapping[str, Cells], *, level: float = LEVEL) -> pd.DataFrame:
        """The tidy table from the cells."""
        ...
