"""The table of scores: a row for each participant, a codebook, how reliable scores are and how they
correlate, as papers on individual differences report them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

#: Half of the width of a 95% interval of z.
_Z = 1.959963984540054
CODEBOOK = (
    "column",
    "says",
    "unit",
    "source",
    "people",
    "mean",
    "sd",
    "reliability",
    "reliability_sessions",
    "alpha",
    "sem",
)
#: A correlation over people needs so many of them.
_FEWEST = 4


@dataclass
class ScoreTable:
    """The scores of participants.

    Parameters
    ----------
    rows : of each participant the values of the columns
    codebook : of each column its sentence, unit and source, and its mean, spread and reliability
        over people
    simulated : what is said of simulated participants, who are left out, or have these scores;
        empty where none took part
    """

    rows: dict[str, dict[str, Any]] = field(default_factory=dict)
    codebook: dict[str, dict[str, Any]] = field(default_factory=dict)
    simulated: str = ""

    def add(
        self, column: str, says: str, unit: str, source: str, values: Mapping[str, Any], **qualities: float
    ) -> None:
        """Add a column; one in which nobody has a value is left out."""
        known = {person: value for person, value in values.items() if value is not None and value == value}
        if not known:
            return
        self.codebook[column] = (
            {"column": column, "says": says, "unit": unit, "source": source, "people": len(known)}
            | spread(known.values())
            | qualities
        )
        for person, value in known.items():
            self.rows.setdefault(person, {})[column] = value

    def table(self) -> pd.DataFrame:
        """The wide table: a row for each participant, in the order of their names."""
        import pandas as pd

        people = sorted(self.rows)
        return pd.DataFrame(
            {"participant": people}
            | {column: [self.rows[person].get(column) for person in people] for column in self.codebook}
        )

    def codes(self) -> pd.DataFrame:
        """The codebook: a row for each column but ``participant``."""
        import pandas as pd

        return pd.DataFrame(list(self.codebook.values()), columns=[*CODEBOOK])


def spread(values: Any) -> dict[str, float]:
    """Mean and standard deviation of numbers; nothing of words."""
    numbers = [
        float(value) for value in values if isinstance(value, int | float | np.number) and not isinstance(value, bool)
    ]
    if not numbers:
        return {}
    return {"mean": float(np.mean(numbers)), "sd": float(np.std(numbers, ddof=1)) if len(numbers) > 1 else np.nan}


def correlation(first: Mapping[str, float], second: Mapping[str, float]) -> float:
    """Pearson's r over those who have both values; NaN of fewer than four people, or where they do
    not differ."""
    both = np.array(
        [
            (first[one], second[one])
            for one in first
            if one in second and first[one] == first[one] and second[one] == second[one]
        ],
        float,
    )
    if len(both) < _FEWEST or np.ptp(both[:, 0]) == 0 or np.ptp(both[:, 1]) == 0:
        return np.nan
    return float(np.corrcoef(both.T)[0, 1])


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


def alpha(answers: np.ndarray) -> float:
    """Cronbach's alpha: k / (k − 1) × (1 − sum of the items' variances / variance of their sum);
    NaN of fewer than two items, or without spread.

    Parameters
    ----------
    answers : a row for each person, a column for each item; reversed items turned round
    """
    people, items = answers.shape
    if items < 2 or people < 3:
        return np.nan
    whole = answers.sum(axis=1).var(ddof=1)
    return float(items / (items - 1) * (1 - answers.var(axis=0, ddof=1).sum() / whole)) if whole > 0 else np.nan


def said(value: object) -> str:
    """A cell of a table that is read; empty where nothing is known."""
    if value is None or value != value:
        return ""
    return f"{value:.3g}" if isinstance(value, float) else str(value)
