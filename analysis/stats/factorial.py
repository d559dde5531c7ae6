"""Analyses of variance of designs with up to three factors within and between people.

Each effect within people is a set of orthonormal contrasts of their cells (Kronecker products), and
the contrasts are tested in a linear model of the groups, with sums of squares of type III: this is the
univariate test of repeated measures, with the correction of Greenhouse and Geisser (1959) for its
degrees of freedom. Generalised eta squared is that of Olejnik and Algina (2003, Psychological Methods
8, 434-447), for factors that were manipulated. People without an answer in every cell are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import chain, combinations, product

import numpy as np
import pandas as pd

from ...core.agent_kinds import PARTICIPANT
from ...core.errors import SpanLabError
from ..data.coding import coded, column_named, plain_name
from ..data.scoring import Scored

#: A design has at most so many factors.
MOST = 3
COLUMNS = ("effect", "df", "df_error", "f", "p", "epsilon", "p_corrected", "ges")


@dataclass(frozen=True)
class Anova:
    """The table of an analysis of variance.

    Parameters
    ----------
    table : a row for each effect (:data:`COLUMNS`): degrees of freedom, F, p, Greenhouse and
        Geisser's epsilon with the p that it corrects (NaN for effects that need none), and
        generalised eta squared
    people, left_out : how many are in it, and how many have no answer in some cell
    """

    table: pd.DataFrame
    people: int
    left_out: int


def accuracy(items: pd.DataFrame) -> float:
    """The share of right answers."""
    return float(items["correct"].mean())


def log_time(items: pd.DataFrame) -> float:
    """The mean logarithm of the times of right answers, in ms."""
    times = items.loc[(items["correct"] == 1) & (items["rt_ms"] > 0), "rt_ms"]
    return float(np.log(times).mean())


def median_time(items: pd.DataFrame) -> float:
    """The median time of right answers, in ms."""
    return float(items.loc[items["correct"] == 1, "rt_ms"].median())


MEASURES: Mapping[str, Callable[[pd.DataFrame], float]] = {
    "accuracy": accuracy,
    "median rt": median_time,
    "log rt": log_time,
}


def factorial(scored: Scored, within: Sequence[str], between: Sequence[str], measure: str = "accuracy") -> Anova:
    """The analysis of variance of the people of one paradigm.

    Parameters
    ----------
    within, between : columns of conditions, with or without the prefix of factors
    measure : one of :data:`MEASURES`

    Raises
    ------
    SpanLabError
        for columns that are not there, more than three factors, and too few people.
    """
    items = scored.items[scored.items["agent_kind"] == PARTICIPANT.name]
    if not 1 <= len(within) + len(between) <= MOST:
        raise SpanLabError(f"an analysis of variance takes one to {MOST} factors")
    name = str(items["paradigm"].iloc[0]) if len(items) else "no paradigm"
    columns = {one: column_named(items, one, name, "analysis of variance") for one in (*within, *between)}
    levels = {one: coded(items[column]) for one, column in columns.items()}
    keys = [pd.Series(codes, index=items.index, name=one) for one, (codes, _) in levels.items()]
    if measure != "accuracy" and "rt_ms" not in items.columns:
        raise SpanLabError(f"{name}: there are no reaction times")
    cells = items.groupby([items["participant"], *keys]).apply(MEASURES[measure])
    wide = cells.unstack([*within]) if within else cells.to_frame("")
    wide = wide.reindex(columns=wide.columns.sort_values())
    whole = wide.dropna()
    many = len(wide.index.get_level_values("participant").unique())
    if whole.shape[1] < np.prod([len(levels[one][1]) for one in within], initial=1) or len(whole) < 3:
        raise SpanLabError(f"{name}: too few people have answers in every condition of {', '.join(columns)}")
    groups = [whole.index.get_level_values(one).to_numpy(int) for one in between]
    table = anova(
        whole.to_numpy(float),
        {plain_name(one): len(levels[one][1]) for one in within},
        {plain_name(one): codes for one, codes in zip(between, groups, strict=True)},
    )
    return Anova(table, len(whole), many - len(whole))


def anova(cells: np.ndarray, within: Mapping[str, int], between: Mapping[str, np.ndarray]) -> pd.DataFrame:
    """The table of an analysis of variance.

    Parameters
    ----------
    cells : a row for each person, a column for each condition within people, the last factor the
        quickest
    within : levels of each factor within people
    between : group of each person, by the factor between people
    """
    from scipy import stats

    design, columns = _design(between, len(cells))
    inverse = np.linalg.pinv(design.T @ design)
    free = len(cells) - np.linalg.matrix_rank(design)
    rows, errors = [], 0.0
    for inside in _subsets([*within]):
        contrasts = reduce(np.kron, [_contrasts(many, name in inside) for name, many in within.items()], np.eye(1))
        values = cells @ contrasts
        weights = inverse @ design.T @ values
        residual = values - design @ weights
        error = residual.T @ residual
        errors += float(np.trace(error))
        steps = values.shape[1]
        epsilon = float(np.trace(error) ** 2 / (steps * np.sum(error * error))) if steps > 1 else np.nan
        for outside in _subsets([*between]):
            if not inside and not outside:
                continue
            place = columns[outside]
            part = weights[place]
            effect = float(np.trace(part.T @ np.linalg.inv(inverse[np.ix_(place, place)]) @ part))
            df, df_error = steps * len(place), steps * free
            f = (effect / df) / (np.trace(error) / df_error)
            corrected = stats.f.sf(f, df * epsilon, df_error * epsilon)
            name = ":".join((*outside, *inside))
            rows.append((name, df, df_error, f, stats.f.sf(f, df, df_error), epsilon, corrected, effect))
    table = pd.DataFrame(rows, columns=[*COLUMNS])
    table["ges"] /= table["ges"] + errors
    return table


def _subsets(names: Sequence[str]) -> list[tuple[str, ...]]:
    return [*chain.from_iterable(combinations(names, many) for many in range(len(names) + 1))]


def _contrasts(levels: int, compared: bool) -> np.ndarray:
    """Orthonormal contrasts of the levels of a factor, or their mean."""
    mean = np.full((levels, 1), levels**-0.5)
    if not compared:
        return mean
    return np.linalg.qr(np.hstack([mean, np.eye(levels)[:, 1:]]))[0][:, 1:]


def _design(between: Mapping[str, np.ndarray], people: int) -> tuple[np.ndarray, dict[tuple[str, ...], list[int]]]:
    """The groups of people in contrasts that sum to nothing, and which of its columns are whose."""
    coded_groups = {
        name: np.vstack([np.eye(codes.max()), -np.ones(codes.max())])[codes] for name, codes in between.items()
    }
    parts, places, at = [], {}, 0
    for names in _subsets([*between]):
        columns = [coded_groups[name].T for name in names]
        part = np.array([np.prod(one, axis=0) for one in product(*columns)]) if names else np.ones((1, people))
        places[names] = [*range(at, at + len(part))]
        parts.append(part)
        at += len(part)
    return np.vstack(parts).T, places
