"""The values of several people in each cell, and intervals of cell means without the differences
between people."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..data.coding import records
from .bootstrap import LEVEL
from .cell_means import Cells


def of_each_person(cells: Cells) -> list[tuple[dict[str, Any], float]]:
    """The key of a cell and the mean of one person in it, for every person of answerers who are
    several people."""
    values_of = []
    for number, key in enumerate(records(cells.keys)):
        if cells.unit[number] == "participant" and len(cells.values[number]) > 1:
            values_of += [(key, float(value)) for value in cells.values[number]]
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
