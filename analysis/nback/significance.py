"""The tests of d' over N in the N-back study, as the study ran them and as they would be run today;
never between variants or models.

* Kruskal-Wallis over the levels of N. The study's "epsilon squared" is ``(H - k + 1) / (n - k)``,
  usually called eta squared of H; epsilon squared, ``H / (n - 1)``, stands beside it (both: Tomczak
  & Tomczak, 2014, Trends in Sport Sciences 21, 19-25).
* Mann-Whitney U, two-sided, for every pair of levels, times the number of pairs (Bonferroni, at
  most 1), with the rank-biserial correlation ``1 - 2 U / (n1 n2)`` of the first level's U: negative
  where the lower N scores higher. Holm's step-down correction, which is never weaker, stands beside
  it.
* Wilcoxon's signed ranks, one-sided, of d' above 1 at each N, uncorrected, with the matched-pairs
  rank-biserial ``(W+ - W-) / (W+ + W-)``. The study's p values come from the exact distribution
  without ties, with W+ rounded down, as older versions of SciPy took it for up to 50 values whether
  or not there were ties. Today SciPy takes the normal approximation where there are ties; its p
  stands beside it.

It matters which values are tested: blocks' d' without its sign (``dprime_abs``), as in the study,
hides blocks below 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from ..stats.corrections import bonferroni, holm

_WHO = ("variant", "model")
#: Up to so many values the exact distribution was taken.
EXACT_UP_TO = 50


def kruskal_wallis(blocks: pd.DataFrame, value: str = "dprime_abs", who: Sequence[str] = _WHO) -> pd.DataFrame:
    """Test whether ``value`` differs between the levels of N, for each of ``who``.

    Returns
    -------
    pandas.DataFrame
        ``who``, ``value``, ``levels``, ``n_blocks``, ``h``, ``df``, ``p``, ``eta_squared`` (the
        study's epsilon squared) and ``epsilon_squared``; NaN where there are fewer than two levels,
        or all values are the same.
    """
    from scipy.stats import kruskal

    rows = []
    for key, groups in _levels(blocks, value, who):
        k, n = len(groups), sum(map(len, groups.values()))
        h = p = math.nan
        if k > 1 and len(np.unique(np.concatenate(list(groups.values())))) > 1:
            h, p = map(float, kruskal(*groups.values()))
        effects = {
            "eta_squared": (h - k + 1) / (n - k) if n > k else math.nan,
            "epsilon_squared": h / (n - 1) if n > 1 else math.nan,
        }
        rows.append(key | {"value": value, "levels": k, "n_blocks": n, "h": h, "df": k - 1, "p": p} | effects)
    return pd.DataFrame(
        rows, columns=[*who, "value", "levels", "n_blocks", "h", "df", "p", "eta_squared", "epsilon_squared"]
    )


def mann_whitney(blocks: pd.DataFrame, value: str = "dprime_abs", who: Sequence[str] = _WHO) -> pd.DataFrame:
    """Every pair of levels of N, for each of ``who``.

    Returns
    -------
    pandas.DataFrame
        ``who``, ``value``, ``first`` and ``second`` (levels of N), ``n_first``, ``n_second``, ``u``
        (of the first), ``p``, ``p_bonferroni``, ``p_holm`` and ``rank_biserial``.
    """
    from scipy.stats import mannwhitneyu

    rows = []
    for key, groups in _levels(blocks, value, who):
        family = []
        for first, second in combinations(groups, 2):
            one, other = groups[first], groups[second]
            u, p = map(float, mannwhitneyu(one, other, alternative="two-sided"))
            effect = 1 - 2 * u / (len(one) * len(other))
            row = {
                "value": value,
                "first": first,
                "second": second,
                "n_first": len(one),
                "n_second": len(other),
                "u": u,
                "p": p,
                "rank_biserial": effect,
            }
            family.append(key | row)
        p_values = [row["p"] for row in family]
        for row, by_bonferroni, by_holm in zip(family, bonferroni(p_values), holm(p_values), strict=True):
            rows.append(row | {"p_bonferroni": float(by_bonferroni), "p_holm": float(by_holm)})
    columns = ["value", "first", "second", "n_first", "n_second", "u", "p", "p_bonferroni", "p_holm", "rank_biserial"]
    return pd.DataFrame(rows, columns=[*who, *columns])


def above(
    blocks: pd.DataFrame, value: str = "dprime_abs", threshold: float = 1.0, who: Sequence[str] = _WHO
) -> pd.DataFrame:
    """Test whether ``value`` lies above a threshold at each N, for each of ``who``.

    Returns
    -------
    pandas.DataFrame
        ``who``, ``value``, ``n``, ``threshold``, ``n_blocks``, ``n_equal`` (values at the
        threshold, left out), ``w_plus``, ``p_exact`` (as the study; NaN above 50 values), ``p``
        (today's), ``rank_biserial``.
    """
    rows = [
        key
        | {"value": value, "n": n, "threshold": threshold, "n_blocks": len(values)}
        | signed_ranks(values - threshold)
        for key, groups in _levels(blocks, value, who)
        for n, values in groups.items()
    ]
    columns = ["value", "n", "threshold", "n_blocks", "n_equal", "w_plus", "p_exact", "p", "rank_biserial"]
    return pd.DataFrame(rows, columns=[*who, *columns])


def signed_ranks(differences: np.ndarray) -> dict[str, float]:
    """Wilcoxon's signed ranks of differences, one-sided for above 0: ``n_equal``, ``w_plus``,
    ``p_exact``, ``p`` and ``rank_biserial``."""
    from scipy.stats import rankdata, wilcoxon

    # d' of equal counts may differ in its last digit
    rounded = np.round(np.asarray(differences, dtype=float), 12)
    kept = rounded[rounded != 0]
    none = {
        "n_equal": len(rounded) - len(kept),
        "w_plus": 0.0,
        "p_exact": math.nan,
        "p": math.nan,
        "rank_biserial": math.nan,
    }
    if not len(kept):
        return none
    ranks = rankdata(np.abs(kept))
    plus, minus = float(ranks[kept > 0].sum()), float(ranks[kept < 0].sum())
    exact = exact_without_ties(plus, len(kept)) if len(kept) <= EXACT_UP_TO else math.nan
    today: Any = wilcoxon(kept, alternative="greater")
    return none | {
        "w_plus": plus,
        "p_exact": exact,
        "p": float(today.pvalue),
        "rank_biserial": (plus - minus) / (plus + minus),
    }


def exact_without_ties(w_plus: float, n: int) -> float:
    """P(W+ >= w_plus) for n values of which none are equal, with ``w_plus`` rounded down to a whole
    number."""
    ways = np.zeros(n * (n + 1) // 2 + 1)
    ways[0] = 1
    for rank in range(1, n + 1):  # each rank is in W+ or not
        ways[rank:] = ways[rank:] + ways[:-rank]
    return float(ways[math.floor(w_plus) :].sum() / 2.0**n)


def _levels(
    blocks: pd.DataFrame, value: str, who: Sequence[str]
) -> list[tuple[dict[str, object], dict[int, np.ndarray]]]:
    """The finite values at each N, in its order."""
    finite = blocks[np.isfinite(blocks[value].astype(float))]
    levels = []
    for key, part in finite.groupby(list(who), sort=True, dropna=False):
        groups = {int(n): part.loc[part["n"] == n, value].to_numpy(float) for n in sorted(part["n"].unique())}
        levels.append((dict(zip(who, key, strict=True)), groups))
    return levels
