"""Means over people of measures that each person has."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd

from ..data.scoring import plural
from .bootstrap import FEW, LEVEL
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
