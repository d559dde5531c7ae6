"""Correlations of scores, as papers on individual differences report them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from .people import ScoreTable, correlation

#: Half of the width of a 95% interval of z.
_Z = 1.959963984540054


def correlations(scores: ScoreTable, chosen: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Return the correlations of all pairs of scores with a reliability, over those who have both.

    ``low`` and ``high`` are Fisher's 95% interval of r; ``corrected`` is r divided by the root of
    both reliabilities (Spearman, 1904).

    Parameters
    ----------
    chosen : columns to take; all with a reliability when not given
    """
    reliable = [name for name, column in scores.codebook.items() if np.isfinite(column.get("reliability", np.nan))]
    wanted = [name for name in reliable if not chosen or name in chosen]
    values = {name: {person: row[name] for person, row in scores.rows.items() if name in row} for name in wanted}
    pairs = []
    for first, second in combinations(wanted, 2):
        r, both = correlation(values[first], values[second]), len(values[first].keys() & values[second].keys())
        both_known = [scores.codebook[name]["reliability"] for name in (first, second)]
        corrected = r / np.sqrt(both_known[0] * both_known[1]) if min(both_known) > 0 else np.nan
        low, high = (
            np.tanh(np.arctanh(r) + np.array((-1, 1)) * _Z / np.sqrt(both - 3))
            if r == r and abs(r) < 1 and both > 3
            else (np.nan, np.nan)
        )
        pairs.append(
            {
                "first": first,
                "second": second,
                "people": both,
                "r": r,
                "low": float(low),
                "high": float(high),
                "corrected": corrected,
            }
        )
    return pairs


def matrix(scores: ScoreTable, pairs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the table of papers: correlations below the diagonal, reliabilities on it, corrected
    correlations above it, then mean and SD."""
    names = list(dict.fromkeys(name for pair in pairs for name in (pair["first"], pair["second"])))
    cells: dict[tuple[str, str], float] = {(name, name): scores.codebook[name]["reliability"] for name in names}
    for pair in pairs:
        cells |= {(pair["second"], pair["first"]): pair["r"], (pair["first"], pair["second"]): pair["corrected"]}
    moments = {
        name: {"mean": scores.codebook[name].get("mean"), "sd": scores.codebook[name].get("sd")} for name in names
    }
    return [{"score": row, **{column: cells[row, column] for column in names}, **moments[row]} for row in names]
