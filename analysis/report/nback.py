"""What a report says of N-back blocks: how d' changes over N, and what limits the numbers. Measures
over N are those of the figures, below which their tables stand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from ..data.scoring import Scored, plural
from ..nback.cells import nback_cells
from ..nback.measures import GRID, OURS, describe_exceptions, gridded_blocks
from .text import Remark


@dataclass(frozen=True)
class NBack:
    """The N-back blocks of one paradigm, and d' and rates of summed counts over N."""

    blocks: pd.DataFrame
    cells: pd.DataFrame

    def ends(self) -> Mapping[str, str]:
        """How d' changes from the lowest to the highest N, for each answerer, as the end of a
        sentence; without levels at which somebody always gave the same answer, whose d' is what the
        correction makes of it. Nothing of several sizes of the grid."""
        if GRID in self.blocks.columns and self.blocks[GRID].nunique() > 1:
            return {}
        part = self.cells[(self.cells["measure"] == "dprime_pooled") & self.cells["mean"].notna()]
        rates = self.cells.pivot_table(index=["agent", "n"], columns="measure", values="mean", observed=True)
        always = rates[(rates["hit_rate"] == rates["false_alarm_rate"]) & rates["hit_rate"].isin([0, 1])].index
        part = part[~pd.MultiIndex.from_frame(part[["agent", "n"]]).isin(always)]
        said = {}
        for agent, curve in part.sort_values("n").groupby("agent"):
            places = [curve.iloc[0], curve.iloc[-1]] if len(curve) > 1 else [curve.iloc[0]]
            said[str(agent)] = "; d′ " + ", ".join(f"{one['mean']:.1f} at {one['n']}-back" for one in places)
        return said

    def notes(self) -> list[Remark]:
        """The limits of these numbers, and how answers were counted."""
        notes = [Remark(text) for text in describe_exceptions(self.blocks, OURS)]
        of_correction = self.cells["note"].str.contains("its size is the correction")
        empty = int(((self.cells["measure"] == "dprime_pooled") & of_correction).sum())
        if empty:
            whose = f"{plural(empty, 'd′', 'd′ values')} of somebody without any miss, hit or false alarm"
            text = f"{whose}: how large it is depends on the correction, and its interval is too narrow."
            notes.append(Remark(text, warning=True))
        return notes


def nback_results(scored: Scored) -> NBack | None:
    """The results of one paradigm; None when it has no N-back blocks."""
    if not scored.blocks:
        return None
    blocks = gridded_blocks(scored, OURS)
    over = (GRID, "n") if GRID in blocks.columns else ("n",)
    measures = ("hit_rate", "false_alarm_rate", "dprime_pooled")
    return NBack(blocks, nback_cells(blocks, over, OURS, measures=measures))
