"""Composite scores, and correlations of scores, as papers on individual differences report them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from spanlab.core import SpanLabError, nearest

from .people import ScoreTable, correlation

#: Half of the width of a 95% interval of z.
_Z = 1.959963984540054


@dataclass(frozen=True)
class Composite:
    """A mean of standardised scores.

    Parameters
    ----------
    name : of its column
    columns : scores that it is made of, each with 1 or -1 (where a small score is a good one)
    """

    name: str
    columns: tuple[tuple[str, int], ...]


def read_composite(text: str) -> Composite:
    """Read ``NAME=COLUMN,COLUMN,-COLUMN``.

    Raises
    ------
    SpanLabError
        when it is written otherwise, or has fewer than two columns.
    """
    name, equals, listed = text.partition("=")
    columns = [column.strip() for column in listed.split(",") if column.strip()]
    if not name.strip() or not equals or len(columns) < 2:
        raise SpanLabError(
            "--composite is NAME=COLUMN,COLUMN,... of two columns or more (-COLUMN where a small score is a good one),"
            f" not '{text}'"
        )
    return Composite(
        name.strip(), tuple((column.lstrip("-"), -1 if column.startswith("-") else 1) for column in columns)
    )


def add_composite(scores: ScoreTable, composite: Composite) -> None:
    """Add a composite: of everybody who has all of its scores, the mean of their z values over
    these people.

    Its reliability is that of a sum of standardised scores (Mosier, 1943, Psychometrika 8,
    161-168), where all of them have one.

    Raises
    ------
    SpanLabError
        when a column is unknown, has words, or does not differ between people.
    """
    for column, _ in composite.columns:
        if column not in scores.codebook:
            raise SpanLabError(
                f"--composite {composite.name}: there is no column '{column}'{nearest(column, list(scores.codebook))}"
            )
    if composite.name in scores.codebook:
        raise SpanLabError(f"--composite {composite.name}: there is a column of this name already")
    people = [
        person
        for person, row in scores.rows.items()
        if all(isinstance(row.get(column), int | float) for column, _ in composite.columns)
    ]
    values = np.array(
        [[sign * float(scores.rows[person][column]) for column, sign in composite.columns] for person in people]
    )
    if len(people) < 2 or (np.ptp(values, axis=0) == 0).any():
        raise SpanLabError(
            f"--composite {composite.name}: its scores must be numbers that differ between at least two people who have"
            " all of them"
        )
    z = (values - values.mean(axis=0)) / values.std(axis=0, ddof=1)
    means = dict(zip(people, map(float, z.mean(axis=1)), strict=True))
    known = [scores.codebook[column].get("reliability", np.nan) for column, _ in composite.columns]
    reliability = float(1 - (len(known) - sum(known)) / np.corrcoef(z.T).sum())
    sem = (
        float(np.std(list(means.values()), ddof=1) * np.sqrt(max(0.0, 1 - reliability)))
        if reliability == reliability
        else np.nan
    )
    listed = ", ".join(f"{'-' if sign < 0 else ''}{column}" for column, sign in composite.columns)
    scores.add(
        composite.name,
        f"Mean of standardised scores: {listed}.",
        "z",
        "composite",
        means,
        reliability=reliability,
        sem=sem,
    )


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
