"""Reaction times of people: their distribution as an ex-Gaussian, the sum of a normal and an
exponential time, by maximum likelihood.

mu and sigma are mean and standard deviation of the normal part, tau is the mean of the exponential
one, all in ms: the mean of the whole is mu + tau, its variance sigma^2 + tau^2 (Luce, 1986,
Response Times). Machines have no reaction times: rows without one are left out. A question that is
scored in several items (free recall) has one time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ...core.agent_kinds import KINDS as AGENT_KINDS
from ...core.errors import SpanLabError
from ..data.coding import groups
from ..data.scoring import WHO, Scored, plural
from ..means.bootstrap import LEVEL
from ..means.over_people import means_over_people
from .transforms import TRIAL

#: Below this many reaction times three parameters are not fitted.
ENOUGH = 40
#: A part whose spread is a smaller share than this of the times' standard deviation is as good as
#: none.
_NIL = 0.005
#: Kinds of answerers whose reaction times mean something: people, and the simulated participant who
#: presses real keys.
KINDS = tuple(kind.name for kind in AGENT_KINDS if kind.at_window)
_PARAMETERS = ("mu", "sigma", "tau")
#: Columns of a table of reaction times after who, ``participant`` and ``by``.
MEASURE_COLUMNS = (
    *("n_items", "n_left_out", "mean", "median", "sd"),
    *(f"{name}{end}" for name in _PARAMETERS for end in ("", "_low", "_high")),
    *("log_likelihood", "unit", "note"),
)


@dataclass(frozen=True)
class ExGaussian:
    """An ex-Gaussian distribution; ``log_likelihood`` is that of the times that it was fitted to."""

    mu: float
    sigma: float
    tau: float
    log_likelihood: float

    def density(self, times: Any) -> Any:
        """The probability density (per ms) at some times."""
        return np.exp(log_density(np.asarray(times, float), self.mu, self.sigma, self.tau))


def log_density(times: np.ndarray, mu: float, sigma: float, tau: float) -> np.ndarray:
    """The logarithm of the ex-Gaussian density; exact also far out in the tails."""
    from scipy.special import log_ndtr

    return -math.log(tau) + sigma**2 / (2 * tau**2) - (times - mu) / tau + log_ndtr((times - mu) / sigma - sigma / tau)


def _slope(times: np.ndarray, mu: float, sigma: float, tau: float) -> np.ndarray:
    """The derivative of the log-likelihood by mu, log sigma and log tau."""
    from scipy.special import log_ndtr

    away = times - mu
    z = away / sigma - sigma / tau
    hazard = np.exp(-0.5 * z**2 - 0.5 * math.log(2 * math.pi) - log_ndtr(z))
    by_mu = 1 / tau - hazard / sigma
    by_sigma = sigma / tau**2 - hazard * (away / sigma**2 + 1 / tau)
    by_tau = -1 / tau - sigma**2 / tau**3 + away / tau**2 + hazard * sigma / tau**2
    return np.array([by_mu.sum(), sigma * by_sigma.sum(), tau * by_tau.sum()])


def fit(times: Any) -> ExGaussian:
    """Fit an ex-Gaussian by maximum likelihood, starting from the one with the times' mean,
    variance and skewness.

    Raises
    ------
    SpanLabError
        for fewer than 3 different times, and for times that are not finite.
    """
    from scipy.optimize import minimize

    times = np.asarray(times, float)
    if len(np.unique(times)) < 3 or not np.isfinite(times).all():
        raise SpanLabError("an ex-Gaussian needs at least 3 different reaction times, all of them finite")
    mean, sd = float(times.mean()), float(times.std())
    scaled = (times - mean) / sd
    skew = float(np.clip(np.mean(scaled**3), 0.1, 1.8))

    def cost(at: np.ndarray) -> tuple[float, np.ndarray]:
        sigma, tau = math.exp(at[1]), math.exp(at[2])
        total = -float(log_density(scaled, at[0], sigma, tau).sum())
        return (total, -_slope(scaled, at[0], sigma, tau)) if math.isfinite(total) else (1e300, np.zeros(3))

    best = None
    for share in {(skew / 2) ** (1 / 3), 0.3, 0.9}:
        start = [-share, math.log(math.sqrt(max(1 - share**2, 0.01))), math.log(share)]
        solution = minimize(
            cost,
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=[(-10, 10), (-7, 2), (-7, 2)],
            options={"ftol": 1e-14, "gtol": 1e-8},
        )
        best = solution if best is None or solution.fun < best.fun else best
    assert best is not None
    likelihood = -float(best.fun) - len(times) * math.log(sd)
    return ExGaussian(mean + sd * best.x[0], sd * math.exp(best.x[1]), sd * math.exp(best.x[2]), likelihood)


def limits(times: Any, fitted: ExGaussian, level: float = LEVEL) -> dict[str, tuple[float, float]]:
    """Intervals of mu, sigma and tau from the curvature of the likelihood, those of sigma and tau
    on their logarithm; NaN where it has none (a part is nil)."""
    from scipy.special import ndtri

    times = np.asarray(times, float)
    sd = float(times.std())
    at = np.array([fitted.mu, math.log(fitted.sigma), math.log(fitted.tau)])
    steps = np.array([1e-4 * sd, 1e-4, 1e-4])
    curvature = np.empty((3, 3))
    for number, step in enumerate(steps):
        ahead, behind = at.copy(), at.copy()
        ahead[number] += step
        behind[number] -= step
        up, down = (
            _slope(times, parameters[0], math.exp(parameters[1]), math.exp(parameters[2]))
            for parameters in (ahead, behind)
        )
        curvature[number] = (down - up) / (2 * step)
    nothing: dict[str, tuple[float, float]] = dict.fromkeys(_PARAMETERS, (math.nan, math.nan))
    scale = np.array([sd, 1.0, 1.0])
    curvature = (curvature + curvature.T) / 2 * np.outer(scale, scale)
    nil = min(fitted.sigma, fitted.tau) < _NIL * sd
    if nil or not np.isfinite(curvature).all() or np.linalg.eigvalsh(curvature)[0] <= 1e-6:
        return nothing
    half = float(ndtri(0.5 + level / 2)) * np.sqrt(np.diag(np.linalg.inv(curvature))) * scale
    return {
        "mu": (float(at[0] - half[0]), float(at[0] + half[0])),
        "sigma": (math.exp(at[1] - half[1]), math.exp(at[1] + half[1])),
        "tau": (math.exp(at[2] - half[2]), math.exp(at[2] + half[2])),
    }


def timed_questions(scored: Scored, *, correct_only: bool = True) -> pd.DataFrame:
    """Each question with a reaction time once, of answerers whose times mean something. A question
    is correct when all of its items are."""
    key = (timed_questions, correct_only)
    if key not in scored.known:  # figures, tables and effects ask for the same ones
        scored.known[key] = _timed_questions(scored, correct_only)
    return scored.known[key]


def _timed_questions(scored: Scored, correct_only: bool) -> pd.DataFrame:
    """Look for the questions that :func:`timed_questions` returns."""
    items = scored.items
    if "rt_ms" not in items.columns:
        return items.iloc[:0].assign(rt_ms=0.0)
    times = pd.to_numeric(items["rt_ms"], errors="coerce").astype(float)
    items = items.assign(rt_ms=times)[np.isfinite(times) & items["agent_kind"].isin(KINDS)]
    apart = bool((items["unit_trial"] >= 0).all() and items["ask"].notna().all())
    number, first = groups(items, TRIAL) if apart else (np.arange(len(items)), np.arange(len(items)))
    wrong = np.bincount(number, weights=(items["correct"] != 1).to_numpy(float), minlength=len(first)) > 0
    return items.iloc[first[~wrong] if correct_only else first]


def reaction_times(
    scored: Scored,
    *,
    who: Sequence[str] = WHO,
    by: Sequence[str] = (),
    between: tuple[float, float] = (0, math.inf),
    correct_only: bool = True,
    level: float = LEVEL,
) -> pd.DataFrame:
    """For each person and paradigm: mean, median, standard deviation, and the fitted ex-Gaussian.

    Parameters
    ----------
    by : columns for each combination of which there is a row of its own
    between : times from the first to the second (ms) are used; the others are counted in
        ``n_left_out``
    correct_only : leave out times of wrong answers
    level : of the intervals, see :func:`limits`

    Returns
    -------
    pandas.DataFrame
        ``who``, ``participant``, ``by`` and :data:`MEASURE_COLUMNS`; without fit, and with a note,
        where there are fewer than 40 times.
    """
    keys = [*who, "participant", *by]
    rows = []
    for key, questions in timed_questions(scored, correct_only=correct_only).groupby(keys, sort=True, observed=True):
        times = questions["rt_ms"].to_numpy(float)
        used = times[(times >= between[0]) & (times <= between[1])]
        row: dict[str, Any] = (
            dict(zip(keys, key, strict=True))
            | dict.fromkeys(MEASURE_COLUMNS, math.nan)
            | {"n_items": len(used), "n_left_out": len(times) - len(used), "unit": "question", "note": ""}
        )
        if len(used):
            row |= {
                "mean": used.mean(),
                "median": float(np.median(used)),
                "sd": used.std(ddof=1) if len(used) > 1 else math.nan,
            }
        if len(used) < ENOUGH or len(np.unique(used)) < 3:
            row["note"] = f"only {plural(len(used), 'reaction time')}: no distribution fitted"
        else:
            fitted = fit(used)
            row |= {
                "mu": fitted.mu,
                "sigma": fitted.sigma,
                "tau": fitted.tau,
                "log_likelihood": fitted.log_likelihood,
            } | {
                f"{name}{end}": bound
                for name, ends in limits(used, fitted, level).items()
                for end, bound in zip(("_low", "_high"), ends, strict=True)
            }
            if math.isnan(row["mu_low"]):
                row["note"] = "one part of the distribution is practically zero: no intervals"
        rows.append(row)
    return pd.DataFrame(rows, columns=[*keys, *MEASURE_COLUMNS])


def over_people(
    table: pd.DataFrame, *, who: Sequence[str] = WHO, by: Sequence[str] = (), level: float = LEVEL
) -> pd.DataFrame:
    """Means over several people of each person's fit, with intervals over people; ``participant``
    says how many they are.

    Parameters
    ----------
    table : of :func:`reaction_times`, by the same columns
    """
    return means_over_people(
        table[table["mu"].notna()],
        [*who, *by],
        MEASURE_COLUMNS,
        counts=("n_items", "n_left_out"),
        measures=dict.fromkeys(_PARAMETERS, False),
        further=lambda people: {name: float(people[name].mean()) for name in ("mean", "median", "sd")},
        level=level,
    )
