"""The reliability of scores: halves of everybody's trials (odd and even ones in their order), or two
sessions, correlated over people. Halves are stepped up to the whole by Spearman and Brown's formula.
The interval is Fisher's.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from ..data.scoring import Scored
from ..means.bootstrap import LEVEL

RELIABILITY_COLUMNS = ("agent", "score", "kind", "r", "whole", "low", "high", "n_people", "note")


def reliability(scored: Scored, *, value: str = "correct", level: float = LEVEL) -> pd.DataFrame:
    """Split-half reliability of people's means of a column in one paradigm, and where people came
    twice, the correlation of their sessions.

    Returns
    -------
    pandas.DataFrame
        :data:`RELIABILITY_COLUMNS`: ``r`` of the halves or sessions; ``whole`` is stepped up from
        halves; the interval is that of ``whole``.
    """
    rows = []
    items = scored.items[scored.items["participant"].astype(str).ne("") & scored.items[value].notna()]
    varied = [
        name
        for name in items.columns
        if name.startswith("factor_") or name in ("set_size", "list_length", "retention_steps")
    ]
    for agent, group in items.groupby("agent", sort=True, observed=True):
        trials = (
            group.groupby(["participant", "session", "unit_trial"], sort=True, observed=True)[value]
            .mean()
            .astype(float)
            .reset_index()
        )
        place = trials.groupby("participant", observed=True).cumcount()
        halves = trials.assign(part=place % 2).pivot_table(
            index="participant", columns="part", values=value, aggfunc="mean", observed=True
        )
        rows.append({"agent": str(agent), "score": value, "kind": "split half"} | _together(halves, True, level))
        levels = group.groupby("participant", observed=True)[varied].agg(
            lambda column: " ".join(sorted(map(str, column.unique())))
        )
        if len(levels.drop_duplicates()) > 1:
            rows[-1]["note"] = "; ".join(
                filter(
                    None,
                    [str(rows[-1]["note"]), "people had different conditions, which count as differences between them"],
                )
            )
        often = trials.groupby("participant", observed=True)["session"].nunique()
        again = trials[trials["participant"].isin(often[often > 1].index)]
        if len(again):
            session = again["session"].astype(str)  # what is loaded has categories, which have no order
            number: Any = session.groupby(again["participant"].astype(str)).rank(method="dense")
            twice = again.assign(part=number)[number <= 2].pivot_table(
                index="participant", columns="part", values=value, aggfunc="mean", observed=True
            )
            rows.append({"agent": str(agent), "score": value, "kind": "retest"} | _together(twice, False, level))
    return pd.DataFrame(rows, columns=[*RELIABILITY_COLUMNS])


def _together(table: pd.DataFrame, halves: bool, level: float) -> dict[str, object]:
    """The correlation of two columns over people."""
    from scipy.special import ndtri

    both = table.dropna().to_numpy(float)
    nothing: dict[str, object] = {
        "r": math.nan,
        "whole": math.nan,
        "low": math.nan,
        "high": math.nan,
        "n_people": len(both),
    }
    if both.shape[1:] != (2,) or len(both) < 4:
        return nothing | {"note": "a correlation over people needs at least four of them"}
    if np.ptp(both[:, 0]) == 0 or np.ptp(both[:, 1]) == 0:
        return nothing | {"note": "people do not differ: no correlation"}
    r = float(np.corrcoef(both.T)[0, 1])
    reach = float(ndtri((1 + level) / 2)) / math.sqrt(len(both) - 3)
    z = math.atanh(min(max(r, -0.999999), 0.999999))

    def stepped(one: float) -> float:
        return spearman_brown(one) if halves else one

    ends = [stepped(math.tanh(z + sign * reach)) for sign in (-1, 1)]
    return {
        "r": r,
        "whole": stepped(r),
        "low": ends[0],
        "high": ends[1],
        "n_people": len(both),
        "note": "" if len(both) >= 10 else "few people: rough",
    }


def spearman_brown(r: float, longer: float = 2.0) -> float:
    """The reliability of a test that is ``longer`` times as long (Spearman and Brown)."""
    return max(-1.0, longer * r / (1 + (longer - 1) * r)) if r > -1 else -1.0
