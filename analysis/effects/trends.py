"""What an effect amounts to, in numbers with tests: the slope along its axis, or the differences of its conditions (switch cost, mixing cost, conflict).

Slopes and differences are weighted sums of the means of cells (:class:`Contrast`: standard error, t-test and bootstrap, whatever units the cells share), tested
two-tailed against what guessing would give.
``omnibus_p`` asks whether the conditions differ at all: Kruskal and Wallis's test over trials, Friedman's over people (or sessions) who have
all conditions (Wilcoxon's for two).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..data.scoring import WHO, Scored, plural, score_table
from ..means.bootstrap import LEVEL, RESAMPLES
from ..means.cell_means import Cells
from ..stats.ranks import friedman, kruskal
from .effect import Effect

if TYPE_CHECKING:
    import pandas as pd


_CHUNK = 4_000_000
#: Whole numbers below 2 to this power are exact in floating point.
_BITS = 50


@dataclass(frozen=True)
class Contrast:
    """A weighted sum of means.

    Parameters
    ----------
    value, se, df : the sum, its standard error and its degrees of freedom (after Satterthwaite); NaN where undefined
    n : units that enter it
    lone : units that are alone in their set of cells, so that their spread is unknown and counted as 0
    draws : bootstrap values, None where nothing can vary
    level : of confidence
    """

    value: float
    se: float
    df: float
    n: int
    lone: int
    draws: np.ndarray | None
    level: float

    def against(self, expected: float) -> dict[str, float]:
        """Two-tailed t-test against a value: ``t``, ``df`` and ``p``."""
        from scipy.special import stdtr

        t = (self.value - expected) / self.se
        return {"t": t, "df": self.df, "p": float(2 * stdtr(self.df, -abs(t)))}

    def limits(self, draws: np.ndarray) -> tuple[float, float]:
        """The expanded percentile interval of bootstrap values (of this contrast, or of something made of it)."""
        from scipy.special import ndtr, stdtrit

        draws = draws[np.isfinite(draws)]
        if len(draws) < 2:
            return math.nan, math.nan
        df = min(self.df, 1e9)
        tail = float(ndtr(-math.sqrt((df + 1) / df) * stdtrit(df, (1 + self.level) / 2)))
        low, high = np.quantile(draws, [tail, 1 - tail])
        return float(low), float(high)


def contrast_of(cells: Cells, numbers: Sequence[int], weights: np.ndarray, **options: Any) -> Contrast:
    """A weighted sum of the means of some cells; see :func:`contrast`."""
    picked = [[column[one] for one in numbers] for column in (cells.values, cells.ids, cells.many)]
    return contrast(picked[0], picked[1], weights, many=picked[2], **options)


def contrast(
    values: Sequence[np.ndarray],
    ids: Sequence[np.ndarray],
    weights: np.ndarray,
    *,
    many: Sequence[np.ndarray] | None = None,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Contrast:
    """``sum of weight x mean of the cell``.

    Units that are in the same cells (a person in all of them, a trial in all positions of its list) form a stratum. Each unit adds ``weight x value / n``
    of its cells to the sum; the spread of what units add is taken within strata, so that what a unit does in one cell may go with what it does in another.
    For units that are in all cells the test is the one-sample t-test of their own contrasts, for two cells without common units it is Welch's.

    Parameters
    ----------
    values, ids : of each cell, the values of its units and the units' numbers, as in :class:`.Cells`
    weights : of the cells
    many : of each cell, how many units each of its entries stands for (the same in all cells); one when not given
    """
    import pandas as pd

    if not values or any(not len(cell) for cell in values):
        return Contrast(math.nan, math.nan, math.nan, 0, 0, None, level)
    times = [np.ones(len(cell), np.int64) for cell in values] if many is None else [np.asarray(one, np.int64) for one in many]
    number, unit = pd.factorize(np.concatenate(ids))
    adds = np.concatenate([weight * np.asarray(cell, float) / one.sum() for weight, cell, one in zip(weights, values, times, strict=True)])
    added = np.bincount(number, weights=adds, minlength=len(unit))
    where = np.repeat(np.arange(len(values)), [len(cell) for cell in values])
    stratum = _alike(number, where, len(unit))
    copies = np.empty(len(unit), np.int64)
    copies[number] = np.concatenate(times)
    size = np.bincount(stratum, weights=copies).astype(np.int64)
    mean = np.bincount(stratum, weights=copies * added) / size
    square = np.bincount(stratum, weights=copies * (added - mean[stratum]) ** 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = np.where(size > 1, size * square / (size - 1), 0.0)
    parts[parts < 1e-24] = 0.0
    variance = float(parts.sum())
    real = parts > 0
    df = variance**2 / float((parts[real] ** 2 / (size[real] - 1)).sum()) if variance else math.nan
    draws = _draws(added, copies, stratum, size, resamples, seed) if variance else None
    return Contrast(float(copies @ added), math.sqrt(variance), df, int(copies.sum()), int((size == 1).sum()), draws, level)


def _alike(number: np.ndarray, where: np.ndarray, many: int) -> np.ndarray:
    """The stratum of each unit: units that are in exactly the same cells share one."""
    code = np.zeros(many, dtype=np.int64)
    for start in range(0, int(where.max()) + 1, _BITS):
        here = (where >= start) & (where < start + _BITS)
        mask = np.bincount(number[here], weights=2.0 ** (where[here] - start), minlength=many)  # exact: a unit is in a cell once
        _, inside = np.unique(mask, return_inverse=True)
        code = np.unique(code * (int(inside.max(initial=0)) + 1) + inside, return_inverse=True)[1]  # in an order that does not depend on that of the units
    return code


def _draws(added: np.ndarray, copies: np.ndarray, stratum: np.ndarray, size: np.ndarray, resamples: int, seed: int) -> np.ndarray:
    """Bootstrap values of the sum: units are drawn again within their strata; where there are very many different ones, sums are normal."""
    random = np.random.RandomState(seed)
    total = np.zeros(resamples)
    for one in range(len(size)):
        mine, times = added[stratum == one], copies[stratum == one]
        distinct, where = np.unique(np.round(mine, 14), return_inverse=True)
        counts = np.bincount(where, weights=times)
        if len(distinct) == 1:
            total += distinct[0] * size[one]
        elif len(distinct) > 5000:
            middle = float(times @ mine) / size[one]
            spread = math.sqrt(float(times @ (mine - middle) ** 2) / size[one])
            total += random.normal(float(times @ mine), math.sqrt(size[one]) * spread, size=resamples)
        else:
            share, step = counts / size[one], max(1, _CHUNK // len(distinct))
            for done in range(0, resamples, step):
                part = min(step, resamples - done)
                total[done : done + part] += random.multinomial(int(size[one]), share, size=part) @ distinct
    return total


#: Columns of a table of contrasts after who and the panels.
TREND_COLUMNS = ("contrast", "value", "low", "high", "guessing", "t", "df", "p", "omnibus_p", "unit", "n_units", "conditions", "note")
#: More units than this need no omnibus test of ranks: it would find any difference, however small.
_RANKS = 1_000_000


def trends(effect: Effect, responses: pd.DataFrame | Scored, paradigm: str, *, level: float = LEVEL, resamples: int = RESAMPLES, seed: int = 0) -> pd.DataFrame:
    """For everybody and every panel of an effect: its slope (per unit of its axis) or its differences, with interval and test.

    Returns
    -------
    pandas.DataFrame
        who, the panels, then :data:`TREND_COLUMNS`; empty where the effect does not apply, or is no average.
    """
    import pandas as pd

    columns = [*WHO, *effect.panels, *TREND_COLUMNS]
    scored = responses if isinstance(responses, Scored) else score_table(responses)
    if effect.make is not None or effect.missing(scored, paradigm):
        return pd.DataFrame(columns=columns)
    cells = effect.whole(scored, paradigm).cells[""]
    lines: dict[tuple[Any, ...], dict[Any, int]] = {}
    heads = [*WHO, *effect.panels]
    for number, row in enumerate(cells.keys.to_dict("records")):
        lines.setdefault(tuple(row[name] for name in heads), {})[row[effect.x]] = number
    rows = []
    for key, line in lines.items():
        overall = _omnibus(cells, list(line.values()))
        for name, weight in _weights(effect, line).items():
            numbers = [line[place] for place in weight]
            weights = np.array(list(weight.values()))
            found = contrast_of(cells, numbers, weights, level=level, resamples=resamples, seed=seed)
            guessing = float(weights @ cells.chance[numbers]) if effect.value == "correct" else 0.0
            head = dict(zip(heads, key, strict=True)) | {"contrast": name, "omnibus_p": overall, "conditions": len(line)}
            rows.append(head | _row(found, guessing, cells, numbers))
    return pd.DataFrame(rows, columns=columns)


def _weights(effect: Effect, line: dict[Any, int]) -> dict[str, dict[Any, float]]:
    """The contrasts of a line: its slope, or the differences that are declared and that it has."""
    if effect.order:
        return {name: {one: 1.0, other: -1.0} for name, one, other in effect.differences if one in line and other in line}
    places = sorted(line)
    if len(places) < 2:
        return {}
    x = np.asarray(places, float) - np.mean(np.asarray(places, float))
    return {"slope": dict(zip(places, map(float, x / (x @ x)), strict=True))}


def _row(found: Contrast, guessing: float, cells: Cells, numbers: Sequence[int]) -> dict[str, Any]:
    unit = cells.unit[numbers[0]]
    row: dict[str, Any] = {"value": found.value, "guessing": guessing, "unit": unit, "n_units": found.n}
    row |= dict.fromkeys(("low", "high", "t", "df", "p"), math.nan)
    if unit == "trial" and not cells.told_apart[list(numbers)].all():
        return row | {"unit": "", "omnibus_p": math.nan, "note": "no trial numbers: no interval, no test"}
    if not found.se > 0:
        return row | {
            "note": f"no spread over {plural(found.n, unit)}: no interval, no test" if found.n > len(numbers) else "too few units: no interval, no test"
        }
    if not math.isnan(guessing):
        row |= found.against(guessing)
    if found.draws is not None:
        row["low"], row["high"] = found.limits(found.draws)
    return row | {"note": "" if not found.lone else "a unit alone in its conditions: the interval is too narrow"}


def _omnibus(cells: Cells, numbers: Sequence[int]) -> float:
    """Whether conditions differ at all; NaN where that cannot be said."""
    many = [int(cells.many[number].sum()) for number in numbers]
    if len(many) < 2 or sum(many) > _RANKS or min(many) < 2 or not cells.told_apart[list(numbers)].all():
        return math.nan
    values = [cells.each(number) for number in numbers]
    if len(np.unique(np.concatenate(values))) < 2:
        return math.nan
    shared = cells.ids[numbers[0]]
    for number in numbers[1:]:
        shared = np.intersect1d(shared, cells.ids[number])
    if cells.unit[numbers[0]] == "trial":
        # Positions of one list are answered in the same trials, and their ranks would not be independent.
        return math.nan if len(shared) else kruskal(values)
    if len(shared) < 3:
        return math.nan
    table = []
    for number in numbers:
        order = np.argsort(cells.ids[number])
        table.append(cells.values[number][order[np.searchsorted(cells.ids[number], shared, sorter=order)]])
    if len(table) == 2:
        from scipy.stats import wilcoxon  # takes half a second to import

        return float(np.asarray(wilcoxon(*table))[1]) if np.any(table[0] != table[1]) else math.nan
    return friedman(np.array(table))
