"""The answers behind a mark of a figure, such as a point or a bar: the rows that it is computed
from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ..data.coding import coded
from ..data.scoring import WHO


@dataclass(frozen=True)
class MarkedAnswers:
    """The answers behind a mark.

    Parameters
    ----------
    conditions : what they have in common, by column
    find : reads them: rows of scored answers with ``session`` and ``trial``
    """

    conditions: Mapping[str, Any]
    find: Callable[[], pd.DataFrame]


#: From a mark (a row of a picture's data) to its answers; None for marks of nobody who has answers
#: here, such as chance and published people.
AnswersOf = Callable[[Mapping[str, Any]], MarkedAnswers | None]


def no_answers(mark: Mapping[str, Any]) -> None:
    """Of figures whose marks do not tell their answers."""
    return


def rows_with(items: pd.DataFrame, values: Mapping[str, Any]) -> pd.DataFrame:
    """The rows that have these values, in those of the columns that there are."""
    kept = np.ones(len(items), bool)
    for name, value in values.items():
        if name in items.columns:
            codes, levels = coded(items[name])
            kept &= codes == next((code for code, level in enumerate(levels) if level == value), len(levels))
    return items[kept]


def between_edges(values: pd.Series, low: float, high: float, end: float) -> pd.Series:
    """Mark the values that lie in a bar of a histogram; the last one, which reaches to ``end``,
    includes its upper edge."""
    return (values >= low) & ((values < high) | ((values == high) & (high >= end)))


def answers_of_panels(
    questions: pd.DataFrame,
    rows: pd.DataFrame,
    by: Sequence[str],
    mark: Mapping[str, Any],
    common: str,
    inside: Callable[[pd.DataFrame], pd.Series],
) -> MarkedAnswers:
    """The answers behind a mark of a figure with a panel for each person and condition.

    Parameters
    ----------
    questions : of everybody
    rows : of the figure's table, one for each panel
    by : columns for each combination of which there is a panel
    common : the column, or the field of the mark, that tells what its answers have in common
    inside : which questions of its person and condition belong to the mark
    """
    row = rows.iloc[mark["part"]].to_dict()
    keys = [*WHO, "participant", *by]

    def find() -> pd.DataFrame:
        mine = dict(iter(questions.groupby(keys, sort=True, observed=True, dropna=False)))[
            tuple(row[name] for name in keys)
        ]
        return mine[inside(mine)]

    return MarkedAnswers(
        {**{name: row[name] for name in by}, common: mark["range" if "range" in mark else common]}, find
    )
