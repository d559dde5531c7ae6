"""What a mixed model is asked: its terms, and contrasts between agents and conditions with intervals, corrected p values and plain effect sizes beside them.

Estimates are log odds, for a participant and an item in the middle of their distribution; ``odds_ratio`` is their exponential. Averages over conditions give
every condition the same weight, and hold only those that all agents (or both, in a pair) have. Intervals are 95 % each, from Student's t with Satterthwaite's
degrees of freedom; they are not corrected. p values are two-sided and corrected by Holm within their kind.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from .corrections import holm
from .effect_sizes import h_of
from .laplace import FitError
from .mixed import Cells, Mixed
from .resampling import LEVEL

if TYPE_CHECKING:
    import pandas as pd

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


def terms(model: Mixed) -> pd.DataFrame:
    """Whether agents differ, conditions differ, and agents differ differently between conditions, as averages over common conditions: likelihood-ratio tests.

    Each compares the model with one in which the term's contrasts are 0, both with the standard deviations of the whole model. Wald's test, which takes the
    likelihood for a parabola, finds nothing where a cell is at 0 % or 100 %, however far others are from there.

    Returns
    -------
    pandas.DataFrame
        ``term``, ``lr`` (twice the difference of the log likelihoods), ``f`` (``lr / df``), ``df``, ``df_error`` (the smallest of the contrasts in the
        term, which is on the safe side), ``p`` (of ``f``) and ``note``; empty without a fit.
    """
    import pandas as pd
    from scipy.special import fdtrc

    if model.fit is None or model.laplace is None:
        return pd.DataFrame(columns=[*TERM_COLUMNS])
    grid, agents, common = _grid(model.cells)
    averages = [[grid[agent, one] for one in common] for agent in agents]
    asked: dict[str, list[np.ndarray]] = {}
    if len(agents) > 1 and common:
        asked["agent"] = [_mean(averages[0]) - _mean(other) for other in averages[1:]]
    if len(common) > 1:
        columns = [[grid[agent, one] for agent in agents] for one in common]
        asked["condition"] = [_mean(columns[0]) - _mean(other) for other in columns[1:]]
        pairs = [(agent, one) for agent in agents[1:] for one in common[1:]]
        if pairs:
            first, start = agents[0], common[0]
            asked["agent x condition"] = [grid[first, start] - grid[first, one] - grid[agent, start] + grid[agent, one] for agent, one in pairs]
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


def contrasts(model: Mixed, level: float = LEVEL) -> pd.DataFrame:
    """Every contrast of :data:`KINDS` that the cells allow.

    Returns
    -------
    pandas.DataFrame
        :data:`CONTRAST_COLUMNS`. ``n_first``, ``n_second``: answers; ``estimate`` to ``high``: log odds;
        ``share_first``, ``share_second``, ``points`` (their
        difference in percentage points) and ``cohens_h``: observed, every condition with the same weight; empty without a fit.
    """
    import pandas as pd
    from scipy.special import stdtr, stdtrit

    if model.fit is None:
        return pd.DataFrame(columns=[*CONTRAST_COLUMNS])
    rows = []
    for one in _asked(model.cells):
        estimate = float(one.weights @ model.fit.fixed)
        se = float(np.sqrt(one.weights @ model.fit.covariance @ one.weights))
        df = model.fit.degrees(one.weights)
        reach = float(stdtrit(min(df, 1e9), (1 + level) / 2)) * se
        row = {"kind": one.kind, "contrast": _spelt(one, model.cells), "first": one.first, "second": one.second, "condition": one.condition}
        row |= {"estimate": estimate, "se": se, "low": estimate - reach, "high": estimate + reach, "df": df}
        tested = one.kind in TESTED
        row |= {"t": estimate / se, "p": 2 * float(stdtr(min(df, 1e9), -abs(estimate) / se))} if tested else {"t": np.nan, "p": np.nan}
        row |= {f"odds_ratio{end}": float(np.exp(row[name])) for end, name in (("", "estimate"), ("_low", "low"), ("_high", "high"))} if tested else {}
        row |= _observed(one, model.cells) | {"note": _edge_note(one, model.cells, estimate)}
        rows.append(row)
    table = pd.DataFrame(rows, columns=[*CONTRAST_COLUMNS])
    table["p_holm"] = np.nan
    for kind in TESTED:
        family = table["kind"] == kind
        table.loc[family, "p_holm"] = holm(table.loc[family, "p"].to_numpy(float))
    return table


def _grid(cells: Cells) -> tuple[dict[tuple[str, Any], np.ndarray], list[str], list[Any]]:
    """The weights of each cell, the agents, and the conditions that all agents have."""
    table = cells.table
    units = np.eye(len(table))
    grid = {(row["agent"], row["condition"]): units[number] for number, row in enumerate(table.to_dict("records"))}
    agents, conditions = sorted(table["agent"].unique()), sorted(table["condition"].unique())
    return grid, agents, [one for one in conditions if all((agent, one) in grid for agent in agents)]


def _mean(weights: Sequence[np.ndarray]) -> np.ndarray:
    return np.mean(weights, axis=0)


def _asked(cells: Cells) -> Iterator[_Contrast]:
    grid, agents, common = _grid(cells)
    own = {agent: [one for one in sorted(cells.table["condition"].unique()) if (agent, one) in grid] for agent in agents}
    shared = {pair: [one for one in own[pair[0]] if one in own[pair[1]]] for pair in combinations(agents, 2)}
    for (agent, condition), weights in grid.items():
        yield _Contrast("cell", agent, "", condition, weights)
    for agent in agents:
        if len(own[agent]) > 1:
            yield _Contrast("agent", agent, "", "", _mean([grid[agent, one] for one in own[agent]]))
    for (first, second), conditions in shared.items():
        if conditions:
            yield _Contrast("agents", first, second, "", _mean([grid[first, one] - grid[second, one] for one in conditions]))
    if len(common) > 1 or any(len(conditions) > 1 for conditions in shared.values()):
        for (first, second), conditions in shared.items():
            for one in conditions:
                yield _Contrast("agents in condition", first, second, one, grid[first, one] - grid[second, one])
    if cells.numeric:
        slopes = {agent: _slope(grid, agent, own[agent]) for agent in agents if len(own[agent]) > 1}
        for agent, weights in slopes.items():
            yield _Contrast("trend", agent, "", "", weights)
        for (first, second), conditions in shared.items():
            if len(conditions) > 1:
                yield _Contrast("trends", first, second, "", _slope(grid, first, conditions) - _slope(grid, second, conditions))
    else:
        for agent in agents:
            for one, other in combinations(own[agent], 2):
                yield _Contrast("conditions", agent, agent, f"{one} and {other}", grid[agent, one] - grid[agent, other])


def _slope(grid: Mapping[tuple[str, Any], np.ndarray], agent: str, conditions: Sequence[Any]) -> np.ndarray:
    """The weights of the least-squares line through an agent's cells."""
    x = np.array(conditions, float) - np.mean(np.array(conditions, float))
    return np.sum([one * grid[agent, condition] for one, condition in zip(x / (x @ x), conditions, strict=True)], axis=0)


def _spelt(one: _Contrast, cells: Cells) -> str:
    where = f", {cells.by} {one.condition}" if cells.by and one.condition != "" else ""
    if one.kind == "trend":
        return f"{one.first}, for each {cells.by}"
    if one.kind == "trends":
        return f"{one.first} - {one.second}, for each {cells.by}"
    if one.kind == "conditions":
        return f"{one.first}, {cells.by} {str(one.condition).replace(' and ', ' - ')}"
    return f"{one.first} - {one.second}{where}" if one.second else f"{one.first}{where}"


def _observed(one: _Contrast, cells: Cells) -> dict[str, object]:
    """Numbers of answers and shares that were observed: of the cells with positive weights, and of those with negative ones."""
    n, share = cells.table["n"].to_numpy(float), cells.table["correct"].to_numpy(float)
    agents = cells.table["agent"].to_numpy()
    mine = agents == one.first
    # the middle of a line has no weight, but is on the line
    involved = mine | (agents == one.second) if one.kind in ("trend", "trends") else one.weights != 0
    first = involved & (mine if one.kind != "conditions" else one.weights > 0)
    second = involved & ~first
    row: dict[str, object] = {"n_first": int(n[first].sum()), "n_second": int(n[second].sum())}
    if one.kind in ("trend", "trends"):
        return row
    row["share_first"] = float(share[first].mean())
    if second.any():
        row["share_second"] = float(share[second].mean())
        row["points"] = 100 * (row["share_first"] - row["share_second"])  # type: ignore[operator]
        row["cohens_h"] = h_of(row["share_first"], row["share_second"])  # type: ignore[arg-type]
    return row


def _at_edge(cells: Cells) -> np.ndarray:
    return np.isin(cells.table["correct"].to_numpy(float), (0.0, 1.0))


def _edge_note(one: _Contrast, cells: Cells, estimate: float) -> str:
    """What cells at 0 % or 100 % make of a contrast: the data then bound it from one side, or from none."""
    share = cells.table["correct"].to_numpy(float)
    if not (_at_edge(cells) & (one.weights != 0)).any():
        return ""
    if one.kind in ("agents in condition", "conditions") and len(set(share[one.weights != 0])) == 1:
        return f"both at {share[one.weights != 0][0]:.0%}: no telling apart"
    up = bool((((one.weights > 0) & (share == 1)) | ((one.weights < 0) & (share == 0))).any())
    down = bool((((one.weights < 0) & (share == 1)) | ((one.weights > 0) & (share == 0))).any())
    if one.kind not in ("trend", "trends") and up != down and up == (estimate > 0):
        return f"cells at 0 % or 100 %: at least so far {'above' if up else 'below'}"
    return "cells at 0 % or 100 %: its size is partly the prior's"
