"""Reaction times of people: their distribution as an ex-Gaussian, the sum of a normal and an exponential time, by maximum likelihood.

mu and sigma are mean and standard deviation of the normal part, tau is the mean of the exponential one, all in ms: the mean of the whole is mu + tau, its
variance sigma^2 + tau^2 (Luce, 1986, Response Times). Machines have no reaction times: rows without one are left out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import SpanLabError
from .table import WHO, Scored, plural

if TYPE_CHECKING:
    import pandas as pd

#: Below this many reaction times three parameters are not fitted.
ENOUGH = 40
TIME_COLUMNS = (*WHO, "participant", "n_items", "n_left_out", "mean", "median", "sd", "mu", "sigma", "tau", "log_likelihood", "note")


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


def fit(times: Any) -> ExGaussian:
    """The ex-Gaussian of maximum likelihood, begun at the one with the times' mean, variance and skewness.

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
    skew = float(np.clip(np.mean(((times - mean) / sd) ** 3), 0.1, 1.8))

    def cost(parameters: np.ndarray) -> float:
        sigma, tau = sd * math.exp(parameters[1]), sd * math.exp(parameters[2])
        total = -float(log_density(times, mean + sd * parameters[0], sigma, tau).sum())
        return total if math.isfinite(total) else 1e300

    best = None
    for share in {(skew / 2) ** (1 / 3), 0.3, 0.9}:
        start = [-share, math.log(math.sqrt(max(1 - share**2, 0.01))), math.log(share)]
        bounds = [(-10, 10), (-7, 2), (-7, 2)]
        found = minimize(cost, start, method="L-BFGS-B", bounds=bounds)
        found = minimize(cost, found.x, method="Nelder-Mead", bounds=bounds, options={"xatol": 1e-6, "fatol": 1e-8, "maxiter": 4000})
        best = found if best is None or found.fun < best.fun else best
    assert best is not None
    return ExGaussian(mean + sd * best.x[0], sd * math.exp(best.x[1]), sd * math.exp(best.x[2]), -float(best.fun))


def reaction_times(scored: Scored, *, who: Sequence[str] = WHO, between: tuple[float, float] = (0, math.inf), correct_only: bool = True) -> pd.DataFrame:
    """For each person and paradigm: mean, median, standard deviation, and the fitted ex-Gaussian.

    Parameters
    ----------
    between : times from the first to the second (ms) are used; the others are counted in ``n_left_out``
    correct_only : leave out times of wrong answers

    Returns
    -------
    pandas.DataFrame
        :data:`TIME_COLUMNS`; without fit, and with a note, where there are fewer than 40 times.
    """
    import pandas as pd

    items = scored.items
    if "rt_ms" not in items.columns:
        return pd.DataFrame(columns=list(TIME_COLUMNS))
    items = items[items["rt_ms"].notna() & items["agent_kind"].isin(["participant", "simulated"])]
    items = items[items["correct"] == 1] if correct_only else items
    rows = []
    for key, own in items.groupby([*who, "participant"], sort=True, observed=True):
        times = own["rt_ms"].to_numpy(float)
        used = times[(times >= between[0]) & (times <= between[1])]
        row: dict[str, Any] = dict(zip([*who, "participant"], key, strict=True)) | dict.fromkeys(TIME_COLUMNS[7:], math.nan)
        row |= {"n_items": len(used), "n_left_out": len(times) - len(used), "note": ""}
        if len(used):
            row |= {"mean": used.mean(), "median": float(np.median(used)), "sd": used.std(ddof=1) if len(used) > 1 else math.nan}
        if len(used) < ENOUGH or len(np.unique(used)) < 3:
            row["note"] = f"only {plural(len(used), 'reaction time')}: no distribution fitted"
        else:
            fitted = fit(used)
            row |= {"mu": fitted.mu, "sigma": fitted.sigma, "tau": fitted.tau, "log_likelihood": fitted.log_likelihood}
        rows.append(row)
    return pd.DataFrame(rows, columns=list(TIME_COLUMNS))
