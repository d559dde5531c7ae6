"""Tests of a mixed model: its terms, and contrasts between agents and conditions with intervals,
corrected p values and plain effect sizes beside them.

Estimates are log odds, for a participant and an item in the middle of their distribution;
``odds_ratio`` is their exponential. Averages over conditions give every condition the same weight,
and hold only those that all agents (or both, in a pair) have. Intervals are 95 % each, from
Student's t with Satterthwaite's degrees of freedom; they are not corrected. p values are two-sided
and corrected by Holm within their kind.

Near 0 % and 100 % the likelihood is not a parabola. Where a cell of a contrast has fewer than five
right or five wrong answers, test and interval come from the likelihood itself, integrated over all
other effects: its signed root takes the place of t, and an interval has no end on a side that data
at 0 % or 100 % leave open.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from ..data.coding import records
from ..means.bootstrap import LEVEL
from ..planned import NOTHING, Planned
from .corrections import holm
from .laplace import FitError
from .mixed_model import Cells, Mixed

#: Points from which a side is seen.
_SEEN_POINTS = 0.5
#: Kinds of contrasts, in the order of the table, and what is said of each.
KINDS: Mapping[str, str] = {
    "cell": "log odds of being right in one cell",
    "agent": "an agent, averaged over conditions",
    "agents": "two agents, averaged over the conditions that both have",
    "agents in condition": "two agents in one condition",
    "conditions": "two conditions of one agent",
    "trend": "change of log odds for each unit of the condition, in one agent (linear)",
    "trends": "difference of this change between two agents",
}
#: Kinds whose rows are tests against 0, each a family for Holm's correction.
TESTED = ("agents", "agents in condition", "conditions", "trend", "trends")
#: Below so many right or wrong answers in a cell of a contrast, its likelihood is not a parabola.
_FEW_ANSWERS = 5
#: Of a kind with more such contrasts, tests and intervals are Wald's, which are on the safe side
#: there: each takes about a tenth of the time of the fit.
_MOST_BY_LIKELIHOOD = 30
TERM_COLUMNS = ("term", "lr", "f", "df", "df_error", "p", "note")
CONTRAST_COLUMNS = (
    "kind",
    "contrast",
    "first",
    "second",
    "condition",
    "n_first",
    "n_second",
    "estimate",
    "se",
    "low",
    "high",
    "df",
    "t",
    "p",
    "p_holm",
    "odds_ratio",
    "odds_ratio_low",
    "odds_ratio_high",
    "share_first",
    "share_second",
    "points",
    "cohens_h",
    "note",
)


@dataclass(frozen=True)
class _Contrast:
    kind: str
    first: str
    second: str
    condition: object
    weights: np.ndarray


def terms(model: Mixed, effects: Mapping[str, Sequence[np.ndarray]] | None = None) -> pd.DataFrame:
    """Test whether agents differ, conditions differ, and agents differ differently between
    conditions, as averages over common conditions: likelihood-ratio tests. Of other ``effects``,
    contrasts of cells are given.

    Each compares the model with one in which the term's contrasts are 0, both with the standard
    deviations of the whole model. Wald's test, which takes the likelihood for a parabola, finds
    nothing where a cell is at 0 % or 100 %, however far others are from there.

    Returns
    -------
    pandas.DataFrame
        ``term``, ``lr`` (twice the difference of the log likelihoods), ``f`` (``lr / df``), ``df``,
        ``df_error`` (the smallest of the contrasts in the term, which is on the safe side), ``p``
        (of ``f``) and ``note``; empty without a fit.
    """
    from scipy.special import fdtrc

    if model.fit is None or model.laplace is None:
        return pd.DataFrame(columns=[*TERM_COLUMNS])
    asked = _effects(model.cells) if effects is None else effects
    rows = []
    whole = model.laplace.profile(model.fit.sd) if asked else 0.0
    for term, weights in asked.items():
        matrix = np.array(weights)
        df = min(model.fit.degrees(row) for row in matrix)
        row: dict[str, object] = {"term": term, "df": len(matrix), "df_error": df, "note": ""}
        try:
            lr = max(0.0, 2 * (whole - model.laplace.without(matrix).profile(model.fit.sd)))
        except FitError as error:
            rows.append(row | {"note": f"no test: {error}"})
            continue
        f = lr / len(matrix)
        rows.append(row | {"lr": lr, "f": f, "p": float(fdtrc(len(matrix), min(df, 1e9), f))})
    return pd.DataFrame(rows, columns=[*TERM_COLUMNS])


def _effects(cells: Cells) -> dict[str, list[np.ndarray]]:
    """The contrasts of cells that make each term."""
    grid, agents, common = _grid(cells)
    averages = [[grid[agent, condition] for condition in common] for agent in agents]
    asked: dict[str, list[np.ndarray]] = {}
    if len(agents) > 1 and common:
        asked["agent"] = [_mean(averages[0]) - _mean(other) for other in averages[1:]]
    if len(common) > 1:
        columns = [[grid[agent, condition] for agent in agents] for condition in common]
        asked["condition"] = [_mean(columns[0]) - _mean(other) for other in columns[1:]]
        pairs = [(agent, condition) for agent in agents[1:] for condition in common[1:]]
        if pairs:
            first, start = agents[0], common[0]
            asked["agent x condition"] = [
                grid[first, start] - grid[first, condition] - grid[agent, start] + grid[agent, condition]
                for agent, condition in pairs
            ]
    return asked


def contrasts(model: Mixed, planned: Planned = NOTHING, level: float = LEVEL) -> pd.DataFrame:
    """Every contrast of :data:`KINDS` that the cells allow.

    Returns
    -------
    pandas.DataFrame
        :data:`CONTRAST_COLUMNS`. ``n_first``, ``n_second``: answers; ``estimate`` to ``high``: log
        odds (infinite where the data bound them from one side only, NaN where from none); ``t``:
        ``estimate / se``, or the signed root of the likelihood ratio; ``share_first``,
        ``share_second``, ``points`` (their difference in percentage points) and ``cohens_h``:
        observed, as means of people, sessions or trials (:func:`.unit_means`), every condition with
        the same weight; empty without a fit.
    """
    from scipy.special import stdtr, stdtrit

    if model.fit is None:
        return pd.DataFrame(columns=[*CONTRAST_COLUMNS])
    rows, by_likelihood = [], Counter[str]()
    for asked_contrast in asked_of(model.cells):
        estimate = float(asked_contrast.weights @ model.fit.fixed)
        se = float(np.sqrt(asked_contrast.weights @ model.fit.covariance @ asked_contrast.weights))
        df = model.fit.degrees(asked_contrast.weights)
        reach = float(stdtrit(min(df, 1e9), (1 + level) / 2))
        t, low, high = estimate / se, estimate - reach * se, estimate + reach * se
        up, down = _open(asked_contrast, model.cells)
        tested = asked_contrast.kind in TESTED
        # a cell with next to no right, or next to no wrong answers
        least = np.minimum(model.cells.right, model.cells.answers - model.cells.right)[asked_contrast.weights != 0]
        few = (least < _FEW_ANSWERS - 0.5).any()
        if tested and few and by_likelihood[asked_contrast.kind] < _MOST_BY_LIKELIHOOD:
            by_likelihood[asked_contrast.kind] += 1
            t, low, high = _by_likelihood(model, asked_contrast.weights, t, se, reach, (not down, not up)) or (
                t,
                low,
                high,
            )
        low, high = -math.inf if down else low, math.inf if up else high
        if up and down:
            low = high = math.nan
        row = {
            "kind": asked_contrast.kind,
            "contrast": spelt(asked_contrast, model.cells),
            "first": asked_contrast.first,
            "second": asked_contrast.second,
            "condition": asked_contrast.condition,
            "estimate": estimate,
            "se": se,
            "low": low,
            "high": high,
            "df": df,
            "t": np.nan,
            "p": np.nan,
        }
        if tested:
            row |= {"t": t, "p": 2 * float(stdtr(min(df, 1e9), -abs(t)))}
            row |= {
                f"odds_ratio{end}": math.exp(row[name])
                for end, name in (("", "estimate"), ("_low", "low"), ("_high", "high"))
            }
        row |= _observed(asked_contrast, model.cells)
        row["note"] = "; ".join(filter(None, [_edge_note(asked_contrast, model.cells), _other_side(row)]))
        rows.append(row)
    return with_holm(pd.DataFrame(rows, columns=[*CONTRAST_COLUMNS]), ["kind"], planned)


def with_holm(table: pd.DataFrame, kinds: Sequence[str], planned: Planned) -> pd.DataFrame:
    """A table of contrasts with p corrected by Holm's method within each kind; those that were planned
    are corrected among themselves."""
    tested = table[table["kind"].isin(TESTED)]
    named = np.array([planned.contrast(row) for row in records(tested)], bool)
    corrected = pd.Series(np.nan, table.index)
    for _, family in tested.groupby([*(tested[kind] for kind in kinds), named]):
        corrected[family.index] = holm(family["p"].to_numpy(float))
    return table.assign(p_holm=corrected)


def _by_likelihood(
    model: Mixed, weights: np.ndarray, t: float, se: float, reach: float, bounded: tuple[bool, bool]
) -> tuple[float, float, float] | None:
    """The signed root of the likelihood ratio against 0, and where it reaches ``reach`` below and
    above the peak (on the sides that are bounded).

    Both are of the likelihood integrated over all other effects. None where that has no peak.
    """
    assert model.fit is not None
    assert model.laplace is not None
    try:
        density = model.laplace.along(weights, model.fit.sd)
        peak, top = _peak(density, t * se, se)

        def root(value: float) -> float:
            return math.copysign(math.sqrt(max(0.0, 2 * (top - density(value)))), peak - value)

        ends = []
        for side, wanted in zip((-1, 1), bounded, strict=True):
            end = peak + side * reach * se
            for _ in range(12 * wanted):  # the root is close to a straight line
                before, end = end, peak + (end - peak) * reach / max(abs(root(end)), reach / 4)
                if abs(end - before) < 0.01 * se:
                    break
            ends.append(end)
        return root(0.0), ends[0], ends[1]
    except FitError:
        return None


def _peak(density: Callable[[float], float], start: float, se: float) -> tuple[float, float]:
    """Return where a density has its peak, and its logarithm there, by Newton's steps."""
    at, step = start, se / 4
    for _ in range(20):
        left, here, right = (density(at + shift) for shift in (-step, 0.0, step))
        slope, curvature = (right - left) / (2 * step), (right + left - 2 * here) / step**2
        move = float(np.clip(-slope / curvature, -2 * se, 2 * se)) if curvature < 0 else math.copysign(se, slope)
        if curvature < 0 and abs(move) < 0.1 * se:
            return at + move, here - slope**2 / (2 * curvature)
        at += move
    raise FitError("the likelihood of a contrast has no peak")


def _grid(cells: Cells) -> tuple[dict[tuple[str, Any], np.ndarray], list[str], list[Any]]:
    """The weights of each cell, the agents, and the conditions that all agents have."""
    table = cells.table
    units = np.eye(len(table))
    grid = {(row["agent"], row["condition"]): units[number] for number, row in enumerate(records(table))}
    agents, conditions = sorted(table["agent"].unique()), sorted(table["condition"].unique())
    return grid, agents, [condition for condition in conditions if all((agent, condition) in grid for agent in agents)]


def _mean(weights: Sequence[np.ndarray]) -> np.ndarray:
    return np.mean(weights, axis=0)


def asked_of(cells: Cells) -> Iterator[_Contrast]:
    grid, agents, common = _grid(cells)
    conditions_of = {
        agent: [condition for condition in sorted(cells.table["condition"].unique()) if (agent, condition) in grid]
        for agent in agents
    }
    shared = {
        pair: [condition for condition in conditions_of[pair[0]] if condition in conditions_of[pair[1]]]
        for pair in combinations(agents, 2)
    }
    for (agent, condition), weights in grid.items():
        yield _Contrast("cell", agent, "", condition, weights)
    for agent in agents:
        if len(conditions_of[agent]) > 1:
            yield _Contrast(
                "agent", agent, "", "", _mean([grid[agent, condition] for condition in conditions_of[agent]])
            )
    for (first, second), conditions in shared.items():
        if conditions:
            yield _Contrast(
                "agents",
                first,
                second,
                "",
                _mean([grid[first, condition] - grid[second, condition] for condition in conditions]),
            )
    if len(common) > 1 or any(len(conditions) > 1 for conditions in shared.values()):
        for (first, second), conditions in shared.items():
            for one in conditions:
                yield _Contrast("agents in condition", first, second, one, grid[first, one] - grid[second, one])
    if cells.numeric:
        slopes = {agent: _slope(grid, agent, conditions_of[agent]) for agent in agents if len(conditions_of[agent]) > 1}
        for agent, weights in slopes.items():
            yield _Contrast("trend", agent, "", "", weights)
        for (first, second), conditions in shared.items():
            if len(conditions) > 1:
                yield _Contrast(
                    "trends", first, second, "", _slope(grid, first, conditions) - _slope(grid, second, conditions)
                )
    else:
        for agent in agents:
            for one, other in combinations(conditions_of[agent], 2):
                yield _Contrast("conditions", agent, agent, f"{one} and {other}", grid[agent, one] - grid[agent, other])


def _slope(grid: Mapping[tuple[str, Any], np.ndarray], agent: str, conditions: Sequence[Any]) -> np.ndarray:
    """The weights of the least-squares line through an agent's cells."""
    x = np.array(conditions, float) - np.mean(np.array(conditions, float))
    return np.sum(
        [one * grid[agent, condition] for one, condition in zip(x / (x @ x), conditions, strict=True)], axis=0
    )


def spelt(contrast: _Contrast, cells: Cells) -> str:
    where = f", {cells.by} {contrast.condition}" if cells.by and contrast.condition != "" else ""
    if contrast.kind == "trend":
        return f"{contrast.first}, for each {cells.by}"
    if contrast.kind == "trends":
        return f"{contrast.first} - {contrast.second}, for each {cells.by}"
    if contrast.kind == "conditions":
        return f"{contrast.first}, {cells.by} {str(contrast.condition).replace(' and ', ' - ')}"
    return f"{contrast.first} - {contrast.second}{where}" if contrast.second else f"{contrast.first}{where}"


def _observed(contrast: _Contrast, cells: Cells) -> dict[str, object]:
    """Numbers of answers and shares that were observed: of the cells with positive weights, and of
    those with negative ones."""
    n, share = cells.answers, cells.shares
    mine = cells.agents == contrast.first
    # the middle of a line has no weight, but is on the line
    involved = (
        mine | (cells.agents == contrast.second) if contrast.kind in ("trend", "trends") else contrast.weights != 0
    )
    first = involved & (mine if contrast.kind != "conditions" else contrast.weights > 0)
    second = involved & ~first
    row: dict[str, object] = {"n_first": int(n[first].sum()), "n_second": int(n[second].sum())}
    if contrast.kind in ("trend", "trends"):
        return row
    row["share_first"] = float(share[first].mean())
    if second.any():
        row["share_second"] = float(share[second].mean())
        row["points"] = 100 * (row["share_first"] - row["share_second"])  # type: ignore[operator]
        row["cohens_h"] = h_of(row["share_first"], row["share_second"])  # type: ignore[arg-type]
    return row


def _other_side(row: Mapping[str, Any]) -> str:
    """Return that the points that were observed are on the other side than the odds: conditions near 0 or
    100 % weigh more in odds, and answers that repeat count once in the model, and each in points."""
    points = float(row.get("points", math.nan))
    if not abs(points) >= _SEEN_POINTS or points * float(row["estimate"]) >= 0:
        return ""
    return "points are on the other side: odds weigh conditions and repeated answers otherwise"


def h_of(first: float, second: float) -> float:
    """Cohen's h of two shares: the difference of their arcsines (Cohen, 1988)."""
    return 2 * math.asin(math.sqrt(first)) - 2 * math.asin(math.sqrt(second))


def _open(contrast: _Contrast, cells: Cells) -> tuple[bool, bool]:
    """Return whether cells at 0 % or 100 % leave a contrast without an end above, and below."""
    share = cells.shares
    up = ((contrast.weights > 0) & (share == 1)) | ((contrast.weights < 0) & (share == 0))
    down = ((contrast.weights < 0) & (share == 1)) | ((contrast.weights > 0) & (share == 0))
    return bool(up.any()), bool(down.any())


def _edge_note(contrast: _Contrast, cells: Cells) -> str:
    """Return what cells at 0 % or 100 % make of a contrast: the data then bound it from one side,
    or from none."""
    share = cells.shares[contrast.weights != 0]
    up, down = _open(contrast, cells)
    if not (up or down):
        return ""
    if contrast.kind in ("agents in condition", "conditions") and len(set(share)) == 1:
        return f"both at {share[0]:.0%}: not distinguishable, no interval"
    if up and down:
        return "cells at 0 % or 100 %: its size is the prior's, no interval"
    return (
        f"cells at 0 % or 100 %: the data bound it from {'below' if up else 'above'} only, and its size is partly the"
        " prior's"
    )
