"""The model that is closest to people: how well its curve correlates with people's curves, as a
share of how well these correlate with one another."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from ...core.agent_kinds import PARTICIPANT, kind_named
from ..data.coding import records
from ..data.scoring import WHO, Scored, plural, unit_session
from ..data.style import GROUP_MEANS
from ..data.unread import BOUND_COLUMNS, beside_shares, testable
from ..effects.curves import averages
from ..effects.effect import Effect, ready
from ..effects.registry import EFFECTS
from ..means.bootstrap import LEVEL, RESAMPLES, estimate_pooled
from ..means.cell_means import place_of
from ..stats.agreement import Crowd
from .comparison import crowd_of

#: Columns of :func:`fits`, a row for each model and paradigm.
FIT_COLUMNS = (
    "paradigm",
    "effect",
    "agent",
    "against",
    "n_people",
    "n_points",
    "r",
    "ceiling",
    "ceiling_low",
    "ceiling_high",
    "fit",
    "low",
    "high",
    "note",
)
#: Columns of :func:`standings`, a row for each model.
STANDING_COLUMNS = ("agent", "agent_kind", "fit", "low", "high", "n_paradigms", "paradigms", "note")
#: Of fewer people than this the interval of a fit holds less often than it says: in 68 of 100
#: simulated samples of three, in 83 of four.
FEWEST = 8
#: People's curves have something in common where curves that have nothing in common are as alike
#: with a smaller probability than this.
_CLEAR = 0.01
#: A curve that chance makes of a flat one with a larger probability than this has no shape that
#: could be like another one.
_FLAT = 0.05


def fits(
    scored: Scored,
    human: Mapping[str, str] | None = None,
    *,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> pd.DataFrame:
    """The fit of everybody who is not a yardstick to the people who were measured, in each
    paradigm, from the curve with the most points.

    Fit is the mean correlation of a model's curve with the curve of each person, divided by the
    mean correlation of each person's curve with the mean of the others (the lower noise ceiling of
    Nili et al., 2014): 1 is as near to people as their mean is to a person who is not in it.
    Intervals resample people, of whom there must be :data:`FEWEST`, and have the spread over a
    machine's sessions where it took several. Where people's curves may have nothing in common
    (:meth:`.Crowd.in_common`, and the interval of the ceiling), or that of a model may be flat,
    there is no score, nor for a model of which too many replies could not be read. Where any could
    not, the table has :data:`.BOUND_COLUMNS` as well.
    """
    everything, scored = scored, testable(scored)
    rows: list[dict[str, Any]] = []
    people = sorted(set(scored.items.loc[scored.items["agent_kind"] == PARTICIPANT.name, "agent"].astype(str)))
    for paradigm in scored.parts:
        for against in people:
            crowds = [
                (len(crowd.points), effect, crowd)
                for effect in EFFECTS
                if (crowd := _crowd(effect, scored, paradigm, against)) is not None
            ]
            if crowds:
                _, effect, crowd = max(crowds, key=lambda one: one[0])
                table = effect.table(scored, paradigm, human=(human or {}).get(paradigm))
                rows += _rows(effect, scored, table, crowd, paradigm, against, level, resamples, seed)
                rows += _withheld_rows(
                    everything.parts[paradigm], scored.parts[paradigm], effect, len(crowd.curves), against
                )
    table = pd.DataFrame(rows, columns=[*FIT_COLUMNS, "agent_kind"])
    return beside_shares(table, pd.concat([scored.items, _without(everything.items, scored.items)], ignore_index=True))


def _without(items: pd.DataFrame, tested: pd.DataFrame) -> pd.DataFrame:
    """The answers of agents, in their paradigms, that have none among those that may be tested."""
    known = set(zip(tested["paradigm"].astype(str), tested["agent"].astype(str), strict=True))
    return items[
        [key not in known for key in zip(items["paradigm"].astype(str), items["agent"].astype(str), strict=True)]
    ]


def _withheld_rows(part: Scored, tested: Scored, effect: Effect, people: int, against: str) -> list[dict[str, Any]]:
    """A row without a score for each model of which too many replies could not be read."""
    heads = _without(part.items, tested.items)[["paradigm", "agent", "agent_kind"]].drop_duplicates()
    nothing = {
        "effect": effect.name,
        "against": against,
        "n_people": people,
        "note": "too many of its replies could not be read: no score",
    }
    return [{**{str(name): value for name, value in row.items()}, **nothing} for row in records(heads.astype(str))]


def _crowd(effect: Effect, scored: Scored, paradigm: str, against: str) -> Crowd | None:
    if effect.by_choice or effect.missing(scored, paradigm):
        return None
    crowd = crowd_of(effect, scored, paradigm, against)
    return crowd if crowd is not None and len(crowd.points) >= 3 else None


def _rows(
    effect: Effect,
    scored: Scored,
    table: pd.DataFrame,
    crowd: Crowd,
    paradigm: str,
    against: str,
    level: float,
    resamples: int,
    seed: int,
) -> list[dict[str, Any]]:
    shapes, each = crowd.with_others()
    enough = len(shapes) >= FEWEST
    options: dict[str, Any] = {"level": level, "resamples": resamples, "seed": seed}
    ceiling = estimate_pooled(_units(each), lambda sums: sums[:, 0] / sums[:, 1], **options) if enough else None
    limits = (math.nan,) * 3 if ceiling is None else (ceiling.mean, ceiling.low, ceiling.high)
    people = {"paradigm": paradigm, "effect": effect.name, "against": against, "n_people": len(crowd.curves)}
    people |= dict(zip(("ceiling", "ceiling_low", "ceiling_high"), limits, strict=True))
    common = ceiling is not None and ceiling.low > 0 and crowd.in_common(seed=seed) < _CLEAR
    rows = []
    for (agent, kind), part in table.groupby(["agent", "agent_kind"], sort=True, observed=True):
        if kind == GROUP_MEANS or agent == against or kind_named(str(kind)).yardstick:
            continue
        curve = {place_of(row, effect.by): float(row["mean"]) for row in records(part.dropna(subset=["mean"]))}
        row = {"agent": agent, "agent_kind": kind, "n_points": sum(place in curve for place in crowd.points)}
        row |= people | dict.fromkeys(("r", "fit", "low", "high"), math.nan) | {"note": ""}
        mine = _shape(curve, crowd)
        sessions = (
            _session_curves(effect, scored, paradigm, str(agent), crowd)
            if part["unit"].isin(("session", "wording")).all()
            else None
        )
        whole = None if sessions is None else sessions[~np.isnan(sessions).any(axis=1)]
        if not enough:
            note = (
                f"{plural(len(shapes), 'person', 'people')} with a curve that is not flat, and the interval of fewer"
                f" than {FEWEST} does not hold"
            )
        elif row["n_points"] < len(crowd.points):
            note = "it lacks conditions that people have"
        elif whole is not None and len(whole) < 2:
            note = "fewer than two of its sessions have all conditions, so that its curve may be flat"
        elif mine is None or _no_shape(effect, part, whole, _taken(scored, paradigm, str(agent), whole)):
            note = "its curve is flat, or not distinguishable from a flat one"
        elif not common:
            note = "people's curves are not distinguishable from curves with nothing in common"
        else:
            rows.append(
                row
                | _fit(
                    shapes @ mine,
                    each,
                    options,
                    0.0 if sessions is None else _reach_over_sessions(sessions, shapes, level),
                )
            )
            continue
        rows.append(row | {"note": f"{note}: no score"})
    return rows


def _taken(scored: Scored, paradigm: str, agent: str, sessions: np.ndarray | None) -> float:
    """Return how often a machine took each trial: in each of its sessions that have all conditions,
    and in all of their repeats."""
    items = scored.parts[paradigm].items
    own = items[items["agent"].astype(str) == agent]
    return 1.0 if sessions is None else len(sessions) * own["session"].nunique() / unit_session(own).nunique()


def _shape(curve: Mapping[Any, float], crowd: Crowd) -> np.ndarray | None:
    """A curve over people's points without its mean, of length 1; None where it is flat, or lacks a
    point."""
    points = np.array([curve.get(place, math.nan) for place in crowd.points])
    away = points - points.mean()
    size = float(np.linalg.norm(away))
    return away / size if size > 1e-9 else None


def _no_shape(effect: Effect, curve: pd.DataFrame, sessions: np.ndarray | None, taken: float) -> bool:
    """Test whether a machine's curve may be flat: over its sessions, or over the trials of one
    session, which it may have given several times.

    Parameters
    ----------
    taken : how often it took each trial
    """
    if sessions is not None and np.ptp(sessions - sessions.mean(axis=1, keepdims=True), axis=0).max() > 1e-9:
        return _flat_over_sessions(sessions)
    once = curve if sessions is None else curve.assign(n_trials=curve["n_trials"] / taken)
    return _flat(once, shares=effect.value == "correct" and effect.averages is not None)


def _flat(curve: pd.DataFrame, *, shares: bool) -> bool:
    """Test whether a machine's curve may be a flat one with the noise of so many trials: the
    chi-squared test of its means about their weighted mean.

    Positions of one list are answered in the same trials. What these share moves all of the curve
    and no point from another, so that the test finds a shape less often, and not more often, than
    it says.
    """
    from scipy.special import chdtrc

    points = curve.dropna(subset=["mean"])
    trials = points["unit"].eq("trial")  # of which several wordings and repeats are one
    means, many = points["mean"].to_numpy(float), points["n_units"].where(trials, points["n_trials"]).to_numpy(float)
    middle = (means * many + 0.5) / (many + 1)  # a share of 0 or 1 has a variance, too
    variance = middle * (1 - middle) / many if shares else points["sem"].to_numpy(float) ** 2
    if not np.isfinite(variance).all():  # a condition with one trial: nothing is known of its noise
        return True
    if len(points) < 2 or not (variance > 0).any():
        return False
    variance = np.where(variance > 0, variance, variance.max())
    away = means - np.average(means, weights=1 / variance)
    return float(chdtrc(len(points) - 1, float(away**2 @ (1 / variance)))) >= _FLAT


def _session_curves(effect: Effect, scored: Scored, paradigm: str, agent: str, crowd: Crowd) -> np.ndarray:
    """The curve of each session of a machine over people's points; NaN where a session lacks one."""
    part = ready(effect, scored, paradigm)
    items = part.items[part.items["agent"].astype(str) == agent]
    items = items.assign(_unit=unit_session(items))
    table = averages(Scored(items, part.intrusions.iloc[:0], ()), effect.by, who=(*WHO, "_unit"), value=effect.value)
    curves = {
        name: {place_of(row, effect.by): float(row["mean"]) for row in records(rows)}
        for name, rows in table.groupby("_unit")
    }
    return np.array([[curve.get(place, math.nan) for place in crowd.points] for curve in curves.values()])


def _flat_over_sessions(curves: np.ndarray) -> bool:
    """Test whether a machine's curve may be a flat one for all that its sessions differ in shape:
    analysis of variance of points within sessions.

    The degrees of freedom are those of Greenhouse and Geisser (1959, Psychometrika 24, 95-112),
    since neighbouring points of a session go up and down together.

    Parameters
    ----------
    curves : sessions, points; at least two sessions, whose shapes are not all the same
    """
    from scipy.special import fdtrc

    sessions = len(curves)
    shapes = curves - curves.mean(axis=1, keepdims=True)
    away = shapes - shapes.mean(axis=0)
    error = float((away**2).sum())
    gram = away @ away.T  # has the eigenvalues of the covariance of the points
    free = max(1.0, float(np.trace(gram) ** 2 / (gram**2).sum()))
    f = sessions * (sessions - 1) * float((shapes.mean(axis=0) ** 2).sum()) / error
    return float(fdtrc(free, free * (sessions - 1), f)) >= _FLAT


def _reach_over_sessions(curves: np.ndarray, shapes: np.ndarray, level: float) -> float:
    """Return how far the mean correlation with people is from that of all sessions of the machine
    (Student's t, jackknife over sessions); NaN where a session lacks conditions.
    """
    from scipy.special import stdtrit

    n, without = len(curves), (curves.sum(axis=0) - curves) / (len(curves) - 1)
    away = without - without.mean(axis=1, keepdims=True)
    r = (away / np.linalg.norm(away, axis=1, keepdims=True) @ shapes.T).mean(axis=1)
    return float(stdtrit(n - 1, (1 + level) / 2)) * math.sqrt((n - 1) / n * float(((r - r.mean()) ** 2).sum()))


def _fit(mine: np.ndarray, ceiling: np.ndarray, options: Mapping[str, Any], reach: float = 0.0) -> dict[str, Any]:
    """The fit of a model, from the correlation of its curve with each person's, and those of each
    person's with the mean of the others.

    Parameters
    ----------
    reach : of the mean correlation over the machine's sessions; the interval has it beside that
        over people (:class:`.Apart`)
    """
    fit = estimate_pooled(
        np.column_stack([mine, ceiling]),
        lambda sums: np.where(sums[:, 1] > 0, sums[:, 0] / sums[:, 1], np.nan),
        **options,
    )
    further = reach / float(ceiling.mean())
    low, high = fit.mean - math.hypot(fit.mean - fit.low, further), fit.mean + math.hypot(fit.high - fit.mean, further)
    return {
        "r": float(mine.mean()),
        "fit": fit.mean,
        "low": low,
        "high": high,
        "note": "" if low == low else "a session lacks conditions: no interval",
    }


def _units(values: np.ndarray) -> np.ndarray:
    return np.column_stack([values, np.ones(len(values))])


def standings(fits_of: pd.DataFrame) -> pd.DataFrame:
    """The mean fit of each answerer over the paradigms in which it has a score, the best first.

    The limits are the means of the limits of these paradigms, as if all went up and down together:
    the same people may have taken them all, and the interval is then wide enough.
    """
    rows = []
    for (agent, kind), group in fits_of.groupby(["agent", "agent_kind"], sort=True, observed=True):
        there = group[group["fit"].notna()]
        row: dict[str, Any] = {
            "agent": agent,
            "agent_kind": kind,
            "n_paradigms": len(there),
            "paradigms": ", ".join(there["paradigm"].astype(str)),
        } | {
            name: float(there[name].mean()) if len(there) and there[name].notna().all() else math.nan
            for name in ("fit", "low", "high")
        }
        missed = group[group["fit"].isna()]
        row |= {name: float(group[name].mean()) for name in BOUND_COLUMNS if name in group.columns}
        rows.append(row | {"note": "; ".join(f"{one.paradigm}: {one.note}" for one in missed.itertuples(index=False))})
    table = pd.DataFrame(
        rows, columns=[*STANDING_COLUMNS, *(name for name in BOUND_COLUMNS if name in fits_of.columns)]
    )
    return table.sort_values("fit", ascending=False, kind="stable", na_position="last", ignore_index=True)
