"""Designs with up to three factors within and between people: analysis of variance, mixed model,
contrasts.

In the analysis of variance each effect within people is a set of orthonormal contrasts of their cells
(Kronecker products), and the contrasts are tested in a linear model of the groups, with sums of squares
of type III: this is the univariate test of repeated measures, with the correction of Greenhouse and
Geisser (1959) for its degrees of freedom. Generalised eta squared is that of Olejnik and Algina (2003,
Psychological Methods 8, 434-447), for factors that were manipulated. People without an answer in every
cell are left out. Contrasts have the variance of people's own values, pooled over groups.

The mixed model (logistic of right answers, normal of the logarithm of times) has a fixed effect for each
cell, and keeps people who lack some. Its effects are the same contrasts of cells, tested by likelihood
ratio.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import chain, combinations, product
from typing import Any

import numpy as np
import pandas as pd

from ...core.agent_kinds import PARTICIPANT
from ...core.errors import SpanLabError
from ..data.coding import coded, column_named, plain_name
from ..data.scoring import Scored
from ..effects.capacity import cowan_k, pashler_k
from ..effects.conditions import question_of
from ..effects.transforms import detections
from ..means.bootstrap import LEVEL
from .corrections import holm
from .mixed_contrasts import terms
from .mixed_model import Mixed, mixed_model, mixed_time_model, plain_values
from .signal_detection import detection, scale_of

#: A design has at most so many factors.
MOST = 3
COLUMNS = ("effect", "df", "df_error", "f", "p", "epsilon", "p_corrected", "ges", "d_z")
CONTRAST_COLUMNS = ("factor", "at", "contrast", "estimate", "se", "df", "low", "high", "t", "p", "p_holm")


def accuracy(items: pd.DataFrame) -> float:
    """The share of right answers."""
    return float(items["correct"].mean())


def _times(items: pd.DataFrame) -> pd.Series:
    """The times of right answers, in ms."""
    return items.loc[(items["correct"] == 1) & (items["rt_ms"] > 0), "rt_ms"]


def d_prime(items: pd.DataFrame) -> float:
    """d′ of answers with ``signal`` and ``signal_response``."""
    signal, said = items["signal"].to_numpy(bool), items["signal_response"].to_numpy(float) == 1
    hits, misses, alarms, rejections = (int((kind & one).sum()) for kind in (signal, ~signal) for one in (said, ~said))
    return float(detection(hits, misses, alarms, rejections).dprime) / scale_of(bool(items["forced"].any()))


def _held(formula: Callable[..., Any]) -> Callable[[pd.DataFrame], float]:
    """The number of items held, averaged over set sizes."""

    def of(items: pd.DataFrame) -> float:
        each = []
        for size, part in items.groupby("set_size"):
            changed, right = part["changed"].to_numpy(bool), part["correct"].to_numpy(float)
            if changed.all() or not changed.any():
                return math.nan
            each.append(float(formula(size, right[changed].mean(), 1 - right[~changed].mean(), (~changed).sum())))
        return float(np.mean(each))

    return of


MEASURES: Mapping[str, Callable[[pd.DataFrame], float]] = {
    "accuracy": accuracy,
    "d'": d_prime,
    "Cowan's K": _held(cowan_k),
    "Pashler's K": _held(pashler_k),
    "median rt": lambda items: float(_times(items).median()),
    "mean rt": lambda items: float(_times(items).mean()),
    "log rt": lambda items: float(np.log(_times(items)).mean()),
}
#: Measures that a mixed model of single answers stands beside, and how it is made.
_MODELS: Mapping[str, Callable[..., Mixed]] = {"accuracy": mixed_model, "log rt": mixed_time_model}


@dataclass(frozen=True)
class Factorial:
    """A factorial design.

    Parameters
    ----------
    anova : a row for each effect (:data:`COLUMNS`): degrees of freedom, F, p, Greenhouse and
        Geisser's epsilon with the p that it corrects (NaN for effects that need none), generalised eta
        squared, and Cohen's d_z of effects of one degree of freedom within people
    contrasts : every two levels of a factor, over and within the levels of each other one
        (:data:`CONTRAST_COLUMNS`); Holm's correction is made within a factor and what it is compared at
    people, left_out : how many are in both, and how many have no answer in some cell
    formula, terms, mixed, notes : of the mixed model: its effects and contrasts, and what limits it;
        empty where the measure has none
    """

    anova: pd.DataFrame
    contrasts: pd.DataFrame
    people: int
    left_out: int
    formula: str
    terms: pd.DataFrame
    mixed: pd.DataFrame
    notes: tuple[str, ...]

    @property
    def tables(self) -> dict[str, pd.DataFrame]:
        """Its tables that have rows, by name."""
        tables = {"anova": self.anova, "anova_contrasts": self.contrasts, "terms": self.terms, "contrasts": self.mixed}
        return {name: table for name, table in tables.items() if len(table)}


def factorial(scored: Scored, within: Sequence[str], between: Sequence[str], measure: str = "accuracy") -> Factorial:
    """The analysis of the people of one paradigm.

    Parameters
    ----------
    within, between : columns of conditions, with or without the prefix of factors
    measure : one of :data:`MEASURES`

    Raises
    ------
    SpanLabError
        for columns that are not there, more than three factors, and too few people.
    """
    scored = replace(scored, items=scored.items[scored.items["agent_kind"] == PARTICIPANT.name])
    if not 1 <= len(within) + len(between) <= MOST:
        raise SpanLabError(f"an analysis of variance takes one to {MOST} factors")
    name = str(scored.items["paradigm"].iloc[0]) if len(scored.items) else "no paradigm"
    items = _measured(scored, name, measure)
    columns = {one: column_named(items, one, name, "analysis of variance") for one in (*between, *within)}
    items = items.dropna(subset=[*columns.values()])
    levels = {one: coded(plain_values(items[column])) for one, column in columns.items()}
    keys = [pd.Series(codes, index=items.index, name=one) for one, (codes, _) in levels.items()]
    if not len(items) or min(len(every) for _, every in levels.values()) < 2:
        raise SpanLabError(f"{name}: every factor needs at least two levels")
    cells = items.groupby([items["participant"].astype(str), *keys]).apply(MEASURES[measure])
    wide = cells.unstack([*within]) if within else cells.to_frame("")
    wide = wide.reindex(columns=wide.columns.sort_values())
    whole = wide.dropna()
    many = len(wide.index.get_level_values("participant").unique())
    groups = {plain_name(one): whole.index.get_level_values(one).to_numpy(int) for one in between}
    sizes = {plain_name(one): len(every) for one, (_, every) in levels.items()}
    full = math.prod(sizes[plain_name(one)] for one in within)
    few = SpanLabError(f"{name}: too few people have answers in every condition of {', '.join(columns)}")
    if whole.shape[1] < full or len(whole) < 3:
        raise few
    group = _numbered([*groups.values()], len(whole))
    if len(np.unique(group)) < math.prod(sizes[one] for one in groups) or len(whole) < int(group.max()) + 3:
        raise few
    if whole.index.get_level_values("participant").has_duplicates:
        raise SpanLabError(
            f"{name}: some people have several levels of {', '.join(between)}; {{by}} compares within people"
        )
    values = whole.to_numpy(float)
    said = {plain_name(one): [str(level) for level in every] for one, (_, every) in levels.items()}
    found = Factorial(
        anova(values, {plain_name(one): sizes[plain_name(one)] for one in within}, groups),
        contrasts_of(values, [*groups.values()], said),
        len(whole),
        many - len(whole),
        *("", pd.DataFrame(), pd.DataFrame(), ()),
    )
    if measure not in _MODELS:
        return found
    place = [pd.Series(np.array(every, object)[codes], items.index) for codes, every in levels.values()]
    return _with_model(found, scored, items, [one.astype(str) for one in place], said, len(between), measure)


def _measured(scored: Scored, name: str, measure: str) -> pd.DataFrame:
    """The answers of which a measure is made, with the columns that it needs."""
    needed = {"rt": ("rt_ms",), "d'": ("correct_answer",), "K": ("correct_answer", "set_size")}.get(
        measure.split()[-1], ()
    )
    lacking = [column for column in needed if column not in scored.items.columns]
    if lacking:
        raise SpanLabError(f"{name}: the answers have no {lacking[0]}, of which {measure} is made")
    if measure == "d'":
        words, of = question_of(scored.items, (), name, "analysis of variance")
        return of.of_words(scored, {words[0]}, {words[1]}).items.assign(forced=of.kind == "forced choice")
    if measure.endswith("K"):
        return detections(scored).items
    return scored.items


def _with_model(
    found: Factorial,
    scored: Scored,
    items: pd.DataFrame,
    place: Sequence[pd.Series],
    said: Mapping[str, Sequence[str]],
    between: int,
    measure: str,
) -> Factorial:
    """The same with the mixed model of single answers, whose cells are those of the design."""
    joined = [_AND.join(parts) for parts in zip(*place[:between], strict=True)] if between else "people"
    within = [_AND.join(parts) for parts in zip(*place[between:], strict=True)]
    cells = {"record_cell": within} if within else {}
    part = replace(scored, items=items.assign(agent=joined, **cells))
    model = _MODELS[measure](part, str(items["paradigm"].iloc[0]), "record_cell" if cells else "")
    names = [*said]
    formula = model.cells.formula.partition(" + ")[2].replace("record_cell", ":".join(names[between:]))
    formula = f"{'correct' if measure == 'accuracy' else 'log(rt)'} ~ {' * '.join(names)} + {formula}"
    notes = tuple(note for note in (model.problem, *model.notes) if note)
    if model.fit is None:
        return replace(found, formula=formula, notes=notes)
    rows = zip(model.cells.table["agent"], model.cells.table["condition"], strict=True)
    at = {(str(agent), str(condition)): number for number, (agent, condition) in enumerate(rows)}
    grid = [
        at.get((_AND.join(key[:between]) or "people", _AND.join(key[between:])), -1) for key in product(*said.values())
    ]

    def of_cells(weights: np.ndarray) -> np.ndarray | None:
        """Weights of the cells of the model; None where one of them has no answers."""
        needed = np.flatnonzero(weights)
        if any(grid[one] < 0 for one in needed):
            return None
        return np.bincount([grid[one] for one in needed], weights[needed], minlength=len(at))

    effects = {":".join(one): [of_cells(row) for row in _effect(said, one).T] for one in _subsets(names)[1:]}
    lacking = [name for name, rows in effects.items() if any(row is None for row in rows)]
    note = f"No test of {', '.join(lacking)}: nobody has answers in some condition."
    tests = terms(model, {name: rows for name, rows in effects.items() if name not in lacking})  # pyright: ignore[reportArgumentType]
    known = [(row, own) for row, weights in _compared(said) if (own := of_cells(weights)) is not None]
    mixed = _with_holm([row | _of_model(model, weights) for row, weights in known])
    return replace(found, formula=formula, terms=tests, mixed=mixed, notes=(*notes, *[note] * bool(lacking)))


#: Between levels of a cell.
_AND = " & "


def _of_model(model: Mixed, weights: np.ndarray) -> dict[str, float]:
    """A contrast of a mixed model, in log odds (or the logarithm of time), and as a ratio."""
    assert model.fit is not None
    se = float(np.sqrt(weights @ model.fit.covariance @ weights))
    row = _tested(float(weights @ model.fit.fixed), se, min(model.fit.degrees(weights), 1e9))
    return row | {"ratio": math.exp(row["estimate"])}


def contrasts_of(values: np.ndarray, groups: Sequence[np.ndarray], levels: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """The contrasts of people's means (:data:`CONTRAST_COLUMNS`).

    Parameters
    ----------
    values : a row for each person, a column for each condition within people, the last factor the
        quickest
    groups : the group of each person, by each factor between people
    levels : of each factor, those between people first
    """
    group = _numbered(groups, len(values))
    return _with_holm([row | _of_people(values, group, weights) for row, weights in _compared(levels)])


def _numbered(groups: Sequence[np.ndarray], people: int) -> np.ndarray:
    """The number of each person's group among all combinations of groups."""
    return reduce(lambda number, codes: number * (int(codes.max()) + 1) + codes, groups, np.zeros(people, int))


def _of_people(values: np.ndarray, group: np.ndarray, weights: np.ndarray) -> dict[str, float]:
    """A contrast of cells over people, with the variance within groups."""
    many = np.bincount(group)
    own = weights.reshape(len(many), -1)
    means = np.array([values[group == one].mean(axis=0) for one in range(len(many))])
    away, free = values - means[group], len(values) - len(many)
    variance = _beyond_rounding(float(((away @ own.T) ** 2).sum(axis=0) @ (1 / many)) / free, values)
    d_z = _d_z(values @ own[0]) if np.allclose(own, own[0]) else math.nan
    return _tested(float((means * own).sum()), math.sqrt(variance), free) | {"d_z": d_z}


def _d_z(each: np.ndarray) -> float:
    """The mean of people's own differences over their standard deviation."""
    spread = float(each.std(ddof=1))
    return float(each.mean()) / spread if spread > 1e-12 * abs(float(each.mean())) else math.nan


def _tested(estimate: float, se: float, df: float) -> dict[str, float]:
    from scipy.special import stdtr, stdtrit

    reach, t = (float(stdtrit(df, (1 + LEVEL) / 2)) * se, estimate / se) if se > 0 else (math.nan, math.nan)
    ends = {"low": estimate - reach, "high": estimate + reach}
    return {"estimate": estimate, "se": se, "df": df, **ends, "t": t, "p": 2 * float(stdtr(df, -abs(t)))}


def _with_holm(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    table = pd.DataFrame(rows)
    table = table.assign(p_holm=np.nan)
    for _, family in table.groupby(["factor", "at"]):
        table.loc[family.index, "p_holm"] = holm(family["p"].to_numpy(float))
    return table[[*CONTRAST_COLUMNS, *(one for one in table.columns if one not in CONTRAST_COLUMNS)]]


def _compared(levels: Mapping[str, Sequence[str]]) -> Iterator[tuple[dict[str, str], np.ndarray]]:
    """Every two levels of each factor, over all others and at each level of each other one, with the
    weights of all cells, of which the last factor is the quickest."""
    for name, every in levels.items():
        places = [("", dict[str, int]())]
        places += [
            (f"{other} {level}", {other: at})
            for other in levels
            if other != name
            for at, level in enumerate(levels[other])
        ]
        for where, held in places:
            for one, two in combinations(range(len(every)), 2):
                parts = [np.full(len(own), 1 / len(own)) for own in levels.values()]
                for place, other in enumerate(levels):
                    if other == name:
                        parts[place] = np.eye(len(every))[one] - np.eye(len(every))[two]
                    elif other in held:
                        parts[place] = np.eye(len(levels[other]))[held[other]]
                yield (
                    {"factor": name, "at": where, "contrast": f"{every[one]} minus {every[two]}"},
                    reduce(np.kron, parts),
                )


def _effect(levels: Mapping[str, Sequence[str]], inside: Sequence[str]) -> np.ndarray:
    """Orthonormal contrasts of all cells that make an effect, a column each."""
    return reduce(np.kron, [_contrasts(len(every), name in inside) for name, every in levels.items()], np.eye(1))


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
        steps, spread = values.shape[1], _beyond_rounding(float(np.trace(error)), cells)
        errors += spread
        epsilon = float(spread**2 / (steps * np.sum(error * error))) if steps > 1 and spread else np.nan
        for outside in (one for one in _subsets([*between]) if inside or one):
            place = columns[outside]
            part = weights[place]
            effect = _beyond_rounding(
                float(np.trace(part.T @ np.linalg.inv(inverse[np.ix_(place, place)]) @ part)), cells
            )
            df, df_error = steps * len(place), steps * free
            f = np.inf if effect else np.nan  # where nobody differs from others
            if spread:
                f = (effect / df) / (spread / df_error)
            corrected = stats.f.sf(f, df * epsilon, df_error * epsilon)
            d_z = abs(_d_z(values[:, 0])) if steps == 1 and not outside else np.nan
            name = ":".join((*outside, *inside))
            rows.append((name, df, df_error, f, stats.f.sf(f, df, df_error), epsilon, corrected, effect, d_z))
    table = pd.DataFrame(rows, columns=[*COLUMNS])
    table["ges"] /= table["ges"] + errors
    return table


def _beyond_rounding(square: float, cells: np.ndarray) -> float:
    """A sum of squares, or 0 where it is what rounding leaves of values that do not differ."""
    return square if square > cells.size * (1e-12 * float(np.abs(cells).max())) ** 2 else 0.0


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
