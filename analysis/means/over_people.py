"""Means over people of measures that each person has, the values of several people in each cell, with
intervals without the differences between people, and people whom a mean does not describe."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ..data.coding import records
from ..data.scoring import plural
from .bootstrap import FEW, LEVEL
from .cell_means import Cells
from .contrasts import estimate, questions_of


def means_over_people(
    table: pd.DataFrame,
    keys: Sequence[str],
    columns: Sequence[str],
    *,
    counts: Sequence[str],
    measures: Mapping[str, bool],
    further: Callable[[pd.DataFrame], Mapping[str, Any]],
    level: float = LEVEL,
) -> pd.DataFrame:
    """Means over several people, with intervals over people; ``participant`` says how many they
    are, and ``note`` where they are few.

    A measure is averaged over the people who have a value.

    Parameters
    ----------
    table : a row for each person, with ``participant``
    keys : columns for each combination of which there is a row
    columns : of a row beside the keys and ``participant``; what is in none of the following is NaN
    counts : columns that are added up
    measures : columns that are averaged with an interval (``NAME_low``, ``NAME_high``), and whether
        each is a proportion
    further : other columns of a row, computed from the rows of its people
    """
    rows = []
    people = table[table["participant"] != ""] if len(table) else table
    for key, group in people.groupby([*keys], sort=True, observed=True, dropna=False) if len(people) else ():
        if group["participant"].nunique() < 2:
            continue
        row: dict[str, Any] = (
            dict(zip(keys, key, strict=True))
            | dict.fromkeys(columns, math.nan)
            | {"participant": f"mean of {len(group)} people", "unit": "participant"}
        )
        row |= {name: int(group[name].sum()) for name in counts} | dict(further(group))
        fewest, part = len(group), list[str]()
        for name, proportion in measures.items():
            values = group[name].dropna().to_numpy(float)
            if len(values) >= 2:
                mean = estimate(values, proportion=proportion, level=level)
                row |= {name: mean.mean, f"{name}_low": mean.low, f"{name}_high": mean.high}
                fewest = min(fewest, len(values))
                part += [f"{name} of {len(values)} of {len(group)} people"] * (len(values) < len(group))
        rough = [f"only {plural(fewest, 'participant')}{' for some of it' if part else ''}: rough intervals"]
        rows.append(row | {"note": "; ".join([*rough * (fewest < FEW), *part])})
    return pd.DataFrame(rows, columns=[*keys, "participant", *columns])


def of_each_person(cells: Cells) -> list[dict[str, Any]]:
    """The key of a cell, one ``person`` in it and their ``mean``, for every person of answerers who are
    several people."""
    values_of = []
    for number, key in enumerate(records(cells.keys)):
        if cells.unit[number] == "participant" and len(cells.values[number]) > 1:
            each = zip(cells.ids[number], cells.values[number], strict=True)
            values_of += [{**key, "person": str(person), "mean": float(value)} for person, value in each]
    return values_of


def within_people(cells: Cells, who: int, level: float = LEVEL) -> list[tuple[float, float]]:
    """For each cell the limits of its mean within people (Cousineau, 2005; Morey, 2008, Tutorials
    in Quantitative Methods for Psychology 4, 61-64).

    Of every person the difference of their own mean from the mean of all is taken off; what is left
    has a standard error that is corrected for the number of conditions, and Student's t. Two such
    intervals of two conditions are as wide as that of their difference over the root of 2. NaN
    where there are not several people, or not everybody is in every condition.

    Parameters
    ----------
    who : how many columns of the cells' keys tell answerers apart
    """
    from scipy.special import stdtrit

    limits = [(math.nan, math.nan)] * len(cells.keys)
    columns = list(cells.keys.columns)[:who]
    for _, rows in (
        cells.keys.reset_index(drop=True).groupby(columns, sort=False, observed=True, dropna=False).groups.items()
    ):
        numbers = [int(row) for row in rows]
        people = np.unique(cells.ids[numbers[0]])
        several = len(numbers) > 1 and len(people) > 1 and all(cells.unit[one] == "participant" for one in numbers)
        if not several or not all(np.array_equal(np.sort(cells.ids[one]), people) for one in numbers):
            continue
        table = np.column_stack([cells.values[one][np.argsort(cells.ids[one])] for one in numbers])
        n, conditions = table.shape
        left = table - table.mean(axis=1, keepdims=True) + table.mean()
        error = left.std(axis=0, ddof=1) * math.sqrt(conditions / (conditions - 1) / n)
        reach = float(stdtrit(n - 1, (1 + level) / 2)) * error
        for one, mean, half in zip(numbers, table.mean(axis=0), reach, strict=True):
            limits[one] = (float(mean - half), float(mean + half))
    return limits


# People whom a mean does not describe: how often the rules see them, and wrongly, is measured
# (``benchmarks/populations.py``, docs/measurements.md)

#: How many times larger than within two groups the sum of squares between them is in normal samples of so
#: many people, at the split where it is largest (a fifth of the people at least, and two, on each side): in
#: 4 % up to ten people, and in 2 % of more, since people who differ much are flatter than normal on the scale
#: of arcsines (100,000 samples each).
_SPLIT = {6: 14.5, 8: 9.0, 10: 6.9, 12: 6.58, 16: 5.14, 24: 3.97, 40: 3.17, 80: 2.85}
#: Of the test for people who carry an effect; differences of shares have more distant people than normal ones.
_FALSE = 0.03


@dataclass(frozen=True)
class Each:
    """What each person (or session) adds to a claim.

    Parameters
    ----------
    values : of everybody who is in all of its cells
    noise : the standard deviation of one of them from chance alone
    answers : of each, over all cells
    """

    values: tuple[float, ...]
    noise: float
    answers: float

    @classmethod
    def of(cls, cells: Cells, numbers: Sequence[int], weights: np.ndarray, shares: bool) -> Each:
        """Of a weighted sum of the means of some cells."""
        shared = functools.reduce(np.intersect1d, [cells.ids[one] for one in numbers])
        means = np.array([cells.values[one][np.isin(cells.ids[one], shared)] for one in numbers])
        asked = np.array([cells.trials[one].mean() * questions_of(cells, one) for one in numbers])
        share = means.mean(axis=1) if shares and len(shared) else np.zeros(len(numbers))
        noise = math.sqrt(float((weights**2 * share * (1 - share) / asked).sum()))
        return cls(tuple((weights @ means).tolist()), noise, float(asked.sum()))


def without_carriers(values: np.ndarray, noise: float = 0.0) -> tuple[int, float]:
    """How many people carry an effect, and its mean without them: they are further from all others than a
    normal sample has anybody (Rosner, 1983, Technometrics 25, 165-172; a quarter of the people at most),
    and without them the mean is less than half, or on the other side of 0. (0, NaN) where nobody does.

    Parameters
    ----------
    values : the effect of each person
    noise : the standard deviation that it has from chance alone
    """
    from scipy.special import stdtrit

    left, found = np.asarray(values, float), 0
    kept = left
    for removed in range(1, len(left) // 4 + 1):
        many, away = len(kept), np.abs(kept - kept.mean())
        t = float(stdtrit(many - 2, 1 - _FALSE / (2 * many)))
        bound = (many - 1) * t / math.sqrt((many - 2 + t * t) * many)
        furthest = int(away.argmax())
        beyond = away[furthest] > bound * max(float(kept.std(ddof=1)), noise)
        kept = np.delete(kept, furthest)
        if beyond:
            found, left = removed, kept
    whole, rest = float(np.mean(values)), float(left.mean())
    carried = found > 0 and rest * math.copysign(1, whole) < abs(whole) / 2
    return (found, rest) if carried else (0, math.nan)


def two_groups(shares: np.ndarray, answers: float) -> tuple[int, float, float] | None:
    """The two groups of which people consist rather than lie around one mean: how many are in the lower
    one, and the means of both; None where the shares may well be of one normal population (on the scale
    of arcsines, where shares vary alike).

    Parameters
    ----------
    answers : of each person
    """
    many = len(shares)
    if many < min(_SPLIT):
        return None
    ordered = np.sort(np.asarray(shares, float))
    scale = np.arcsin(np.sqrt(ordered))
    least = max(2, math.ceil(many / 5))
    sums, sizes = np.cumsum(scale), np.arange(1, many)
    apart = sums[:-1] / sizes - (sums[-1] - sums[:-1]) / (many - sizes)
    between = (sizes * (many - sizes) / many * apart**2)[least - 1 : many - least]
    lower = least + int(between.argmax())
    within = max(float(many * scale.var() - between.max()), (many - 2) / (4 * answers))
    bound = math.exp(np.interp(math.log(many), np.log([*_SPLIT]), np.log([*_SPLIT.values()])))
    if between.max() <= bound * within:
        return None
    return lower, float(ordered[:lower].mean()), float(ordered[lower:].mean())
