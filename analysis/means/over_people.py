"""Means over people of measures that each person has, and the values of several people in each cell,
with intervals without the differences between people."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ..data.coding import records
from ..data.scoring import plural
from .bootstrap import FEW, LEVEL
from .cell_means import Cells
from .contrasts import estimate


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
