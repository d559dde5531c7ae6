"""Groups of people beside each other: what each person has in a condition, on average and along an
axis, compared between groups of different people.

People are the units. Two groups are compared by Welch's t test (1947, Biometrika 34, 28-35), which
assumes no equal variances and holds its size where groups differ in number and spread; several by
Welch's F test (1951, Biometrika 38, 330-336), and every two of them with Holm's correction. Hedges'
g stands beside. Everybody counts once and alike, whatever the number of their trials. Whoever lacks
a condition that is in all groups is in no mean over conditions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from ...core.agent_kinds import PARTICIPANT
from ...core.errors import SpanLabError
from ..data.coding import in_short, mean_or_nan, plain_name, records
from ..data.scoring import Scored, plural
from ..means.bootstrap import FEW, LEVEL
from ..stats.corrections import holm
from .conditions import conditions_effect
from .effect import Effect

#: The column of the record that says in which group somebody is.
GROUP = "group"
#: Columns of a table of comparisons, and what they hold.
COLUMNS = {
    "contrast": (
        "what is compared: the mean over conditions, the slope along them or one condition, and of which groups"
    ),
    "n_first": "people in the first group",
    "n_second": "people in the second group; of a test of several groups, in all others",
    "mean_first": "mean of the people of the first group",
    "mean_second": "mean of the people of the second group",
    "value": "the first mean minus the second",
    "se": "its standard error",
    "low": "lower end of its 95% interval",
    "high": "upper end of its 95% interval",
    "t": "Welch's t",
    "f": "Welch's F, of several groups at once",
    "df": "degrees of freedom (of F: of the denominator)",
    "p": "p value, two-tailed",
    "p_holm": (
        "p value, corrected after Holm: over the pairs of groups, and over the conditions where they are compared one"
        " by one"
    ),
    "hedges_g": "Hedges' g: the difference in pooled standard deviations, without its bias in small samples",
    "g_low": "lower end of its 95% interval",
    "g_high": "upper end of its 95% interval",
    "note": "what the reader must know about it",
}
#: How groups are compared, for captions and a Methods section.
GROUP_METHOD = (
    "Groups are compared between people, each of whom counts once, by two-tailed t tests without the assumption of"
    " equal variances (Welch, 1947); several groups first by an F test (Welch, 1951), and then every two of them with"
    " corrected p values (Holm, 1979)."
)


def people_in_groups(scored: Scored, paradigm: str) -> Scored:
    """The answers of people who are in a group.

    Raises
    ------
    SpanLabError
        with a sentence, where there are no two groups of people, or somebody is in several.
    """
    part = scored.parts.get(paradigm)
    if part is None or GROUP not in part.items.columns:
        raise SpanLabError(f"{paradigm} has no groups of people")
    named = part.items[GROUP].astype(object).where(part.items[GROUP].notna(), "").astype(str)
    kept = (part.items["agent_kind"] == PARTICIPANT.name) & (part.items["participant"] != "") & (named != "")
    items = part.items[kept].assign(**{GROUP: named[kept]}).reset_index(drop=True)
    if items[GROUP].nunique() < 2:
        raise SpanLabError(f"{paradigm} has no two groups of people")
    several = items.groupby("participant", observed=True)[GROUP].nunique()
    if (several > 1).any():
        who = str(several.index[several > 1][0])
        raise SpanLabError(
            f"{paradigm}: {who} is in several groups, which are compared between different people; --by group compares"
            " them within people"
        )
    return Scored(items, part.intrusions.iloc[:0], ())


def group_effect(people: Scored, paradigm: str, along: str = "", value: str = "correct") -> Effect:
    """The effect of groups along a column: the first factor that varies within people when none is
    named, and the groups themselves where none does.

    Raises
    ------
    SpanLabError
        for columns that are not there, and where nothing of this sort was measured.
    """
    names = [name for name in people.conditions if plain_name(name) != GROUP]
    within = [name for name in names if (people.items.groupby("participant", observed=True)[name].nunique() > 1).any()]
    along = along or next(iter(within), "")
    if plain_name(along) == GROUP or not along:
        return replace(conditions_effect(people, paradigm, GROUP, "", value), name="groups", panels=(), panel_labels=())
    return replace(conditions_effect(people, paradigm, along, GROUP, value), name="groups", panel_labels=("{}",))


def between_groups(effect: Effect, people: Scored, paradigm: str, level: float = LEVEL) -> pd.DataFrame:
    """Comparisons of every two groups: the mean over the conditions that all groups have, the slope
    along them, and each condition by itself.

    Returns
    -------
    pandas.DataFrame
        :data:`COLUMNS`
    """
    values = _of_each_person(effect, people, paradigm)
    groups = sorted(values)
    shared = sorted(
        set.intersection(*({*values[group]} for group in groups)), key=lambda place: (isinstance(place, str), place)
    )
    rows: list[dict[str, Any]] = []
    if not shared:
        return pd.DataFrame(columns=[*COLUMNS])
    whole = {group: _complete(values[group], shared) for group in groups}
    lacking = sum(len(set().union(*(values[group][place] for place in shared))) - len(whole[group]) for group in groups)
    several = len(shared) > 1
    measures = {f"mean over {effect.x_title}" if several else "mean": np.full(len(shared), 1 / len(shared))}
    if several and not effect.order:
        x = np.asarray(shared, float) - np.mean(np.asarray(shared, float))
        measures[f"slope along {effect.x_title}"] = x / (x @ x)
    for what, weights in measures.items():
        sums = {group: matrix @ weights for group, matrix in whole.items()}
        note = f"{plural(lacking, 'person', 'people')} without all conditions left out" if lacking else ""
        rows += _family([(what, sums)], groups, level, note)
    if several:
        rows += _family(
            [
                (f"{effect.x_title} {in_short(place)}", {group: _values(values[group][place]) for group in groups})
                for place in shared
            ],
            groups,
            level,
        )
    return pd.DataFrame(rows, columns=[*COLUMNS])


def _values(of: Mapping[int, float]) -> np.ndarray:
    return np.array([value for value in of.values() if value == value])


def _complete(places: Mapping[Any, Mapping[int, float]], shared: Sequence[Any]) -> np.ndarray:
    """A row for each person who has all conditions, a column for each condition."""
    everybody = sorted(set.intersection(*({*places[place]} for place in shared)))
    matrix = np.array([[places[place][person] for place in shared] for person in everybody]).reshape(
        len(everybody), len(shared)
    )
    return matrix[np.isfinite(matrix).all(1)]


def _of_each_person(effect: Effect, people: Scored, paradigm: str) -> dict[str, dict[Any, dict[int, float]]]:
    """For each group and place along the axis (the same place for all where groups are the axis),
    the value of each person by number."""
    cells = effect.evidence(people, paradigm).cells[""]
    values: dict[str, dict[Any, dict[int, float]]] = {}
    alone = effect.x == GROUP

    def keep(row: Mapping[Any, Any], numbers: np.ndarray, measured: np.ndarray) -> None:
        place = "" if alone else row[effect.x]
        values.setdefault(in_short(row[GROUP]), {})[place] = dict(
            zip(map(int, numbers), map(float, measured), strict=True)
        )

    if effect.sensitivity is not None:
        names = [name for name in cells.keys.columns if name != "signal"]
        pairs = effect.sensitivity.pairs(cells)
        at = effect.sensitivity.asked(cells, pairs.values())[0]
        for key, pair in pairs.items():
            if min(pair) >= 0:
                measured, numbers = effect.sensitivity.each(cells, pair, effect.sensitivity.measures[0], at)
                keep(dict(zip(names, key, strict=True)), numbers, measured)
        return values
    for number, row in enumerate(records(cells.keys)):
        keep(row, cells.ids[number], cells.values[number])
    return values


def _family(
    measured: Sequence[tuple[str, Mapping[str, np.ndarray]]], groups: Sequence[str], level: float, note: str = ""
) -> list[dict[str, Any]]:
    """Tests that are corrected together: of every two groups in every measure; before them Welch's
    F where there are more than two groups."""
    tests, pairs = [], []
    for what, of_groups in measured:
        if len(groups) > 2:
            tests.append(
                {"contrast": f"{what}, any two groups", "n_first": len(of_groups[groups[0]])}
                | welch_f([of_groups[group] for group in groups])
            )
            tests[-1] |= {"n_second": sum(len(of_groups[group]) for group in groups[1:]), "note": note}
        for first, second in combinations(groups, 2):
            pairs.append(
                {"contrast": f"{what}, {first} minus {second}"} | welch_t(of_groups[first], of_groups[second], level)
            )
            pairs[-1]["note"] = "; ".join(filter(None, (pairs[-1]["note"], note)))
    return [
        *tests,
        *(
            row | {"p_holm": float(p)}
            for row, p in zip(pairs, holm([row.get("p", math.nan) for row in pairs]), strict=True)
        ),
    ]


def welch_t(first: np.ndarray, second: np.ndarray, level: float = LEVEL) -> dict[str, Any]:
    """The difference of two independent means, with Welch's test and interval, and Hedges' g;
    NaN where there are too few values."""
    from scipy.special import stdtr, stdtrit

    row: dict[str, Any] = {
        "n_first": len(first),
        "n_second": len(second),
        "note": "",
        "mean_first": mean_or_nan(first),
        "mean_second": mean_or_nan(second),
    }
    row["value"] = row["mean_first"] - row["mean_second"]
    if min(len(first), len(second)) < 2:
        return row | {"note": "a group of one person: no test"}
    parts = [float(one.var(ddof=1)) / len(one) for one in (first, second)]
    variance = sum(parts)
    if not variance > 1e-24:
        return row | {"note": "everybody in a group is alike: no test"}
    df = variance**2 / sum(part**2 / (len(one) - 1) for part, one in zip(parts, (first, second), strict=True))
    se = math.sqrt(variance)
    t, reach = row["value"] / se, float(stdtrit(df, (1 + level) / 2)) * se
    size, size_low, size_high = hedges_g(first, second, level)
    row |= {
        "se": se,
        "low": row["value"] - reach,
        "high": row["value"] + reach,
        "t": t,
        "df": df,
        "p": 2 * float(stdtr(df, -abs(t))),
        "hedges_g": size,
        "g_low": size_low,
        "g_high": size_high,
    }
    return row | {
        "note": f"only {min(len(first), len(second))} people in a group" if min(len(first), len(second)) < FEW else ""
    }


def hedges_g(first: np.ndarray, second: np.ndarray, level: float = LEVEL) -> tuple[float, float, float]:
    """The difference of two groups in pooled standard deviations, without its bias in small samples,
    with its interval from the noncentral t distribution (Steiger & Fouladi, 1997)."""
    n, other = len(first), len(second)
    df, scale = n + other - 2, math.sqrt(n * other / (n + other))
    spread = math.sqrt(((n - 1) * float(first.var(ddof=1)) + (other - 1) * float(second.var(ddof=1))) / df)
    d = float(first.mean() - second.mean()) / spread
    low, high = _noncentrality(d * scale, df, level)
    factor = math.exp(math.lgamma(df / 2) - math.lgamma((df - 1) / 2)) / math.sqrt(df / 2)
    return d * factor, low / scale * factor, high / scale * factor


def _noncentrality(t: float, df: int, level: float) -> tuple[float, float]:
    """The noncentralities for which ``t`` lies just at the ends of the middle ``level`` of the
    noncentral t distribution."""
    from scipy.optimize import brentq
    from scipy.special import chdtri, ndtr

    # P(T <= t) is the mean of Phi(t * s - nc) over the distribution of s, a standard deviation with
    # df degrees of freedom. SciPy's own is NaN in places.
    places, weights = np.polynomial.legendre.leggauss(400)
    spread = np.sqrt(chdtri(df, (1 + places) / 2) / df)

    def below(nc: float) -> float:
        return float(weights @ ndtr(t * spread - nc)) / 2

    tail, reach = (1 - level) / 2, 10 + 10 * abs(t)
    low, high = (brentq(lambda nc, at=at: below(nc) - at, t - reach, t + reach) for at in (1 - tail, tail))
    return float(low), float(high)  # type: ignore[arg-type]


def welch_f(groups: Sequence[np.ndarray]) -> dict[str, float]:
    """Test whether the means of several groups differ at all: ``f``, ``df`` of the denominator and
    ``p``; nothing where a group has no spread."""
    from scipy.special import fdtrc

    many = len(groups)
    if min(len(one) for one in groups) < 2 or not all(one.var(ddof=1) > 1e-24 for one in groups):
        return {}
    weights = np.array([len(one) / one.var(ddof=1) for one in groups])
    means = np.array([one.mean() for one in groups])
    middle = float(weights @ means / weights.sum())
    spread = float(
        sum((1 - weight / weights.sum()) ** 2 / (len(one) - 1) for weight, one in zip(weights, groups, strict=True))
    )
    f = float(weights @ (means - middle) ** 2) / (many - 1) / (1 + 2 * (many - 2) / (many**2 - 1) * spread)
    df = (many**2 - 1) / (3 * spread)
    return {"f": f, "df": df, "p": float(fdtrc(many - 1, df, f))}
