"""Errors on a circle: circular mean and standard deviation, and the mixture of what was remembered and
guessed, by maximum likelihood (Zhang & Luck, 2008, Nature 453, 233-235): answers about the target's
value, von Mises with concentration kappa, and uniform guesses. The mean is zero: answers are biased
neither way. All angles here are in radians on the whole circle; degrees of a scale that closes after
``period`` degrees become radians by 2 pi / period.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product

import numpy as np

from ..means.bootstrap import LEVEL

#: Least trials for a fit: below, planted parameters are not recovered in simulation
#: (docs/measurements.md has the table).
ENOUGH = 100
#: A component with less weight than this is as good as none.
NIL = 0.005
#: Where the search begins: shares of guesses, and concentrations.
_GUESSES, _KAPPAS = (0.05, 0.4), (3.0, 20.0)
_BOUNDS = ((-12.0, 12.0), (math.log(0.05), math.log(10_000.0)))


@dataclass(frozen=True)
class Mixture:
    """A fitted mixture.

    Parameters
    ----------
    p_guess : the share of guesses
    kappa : concentration of the von Mises distribution
    log_likelihood : of the answers, in log density per radian
    """

    p_guess: float
    kappa: float
    log_likelihood: float

    @property
    def sd(self) -> float:
        """Circular standard deviation of the von Mises distribution, in radians."""
        return kappa_to_sd(self.kappa)

    def density(self, errors: np.ndarray) -> np.ndarray:
        """The probability density of errors (per radian)."""
        return (1 - self.p_guess) * _von_mises(np.cos(errors), self.kappa) + self.p_guess / (2 * math.pi)


def kappa_to_sd(kappa: float) -> float:
    """Circular standard deviation (radians) of a von Mises distribution: the root of -2 ln of its
    mean resultant length."""
    return math.sqrt(-2 * math.log(_resultant(kappa)))


def _resultant(kappa: float) -> float:
    from scipy.special import i0e, i1e

    return float(i1e(kappa) / i0e(kappa))


def circular_mean_sd(angles: np.ndarray) -> tuple[float, float]:
    """Circular mean, and circular standard deviation (the root of -2 ln of the mean resultant
    length), in radians.

    Both are NaN without angles; the mean is NaN where no direction prevails.
    """
    if not len(angles):
        return math.nan, math.nan
    x, y = float(np.cos(angles).mean()), float(np.sin(angles).mean())
    length = min(1.0, math.hypot(x, y))
    if length < 1e-12:
        return math.nan, math.inf
    return math.atan2(y, x), math.sqrt(max(0.0, -2 * math.log(length)))


def _von_mises(cosines: np.ndarray, kappa: float) -> np.ndarray:
    from scipy.special import i0e

    return np.exp(kappa * (cosines - 1)) / (2 * math.pi * float(i0e(kappa)))


def likelihood(at: np.ndarray, cosines: np.ndarray) -> tuple[float, np.ndarray]:
    """Minus the log-likelihood of errors, and its slope.

    Parameters
    ----------
    at : the logit of the share that was remembered, and the logarithm of kappa
    cosines : of the errors
    """
    remembered, kappa = 1 / (1 + math.exp(-at[0])), math.exp(at[1])
    known = remembered * _von_mises(cosines, kappa)
    density = known + (1 - remembered) / (2 * math.pi)
    share = known / density
    slope = [float(share.sum()) - remembered * len(cosines), kappa * float(share @ (cosines - _resultant(kappa)))]
    return -float(np.log(density).sum()), -np.array(slope)


def fit_mixture(errors: np.ndarray) -> Mixture:
    """The mixture of maximum likelihood, from several beginnings; ``errors`` in radians."""
    from scipy.optimize import minimize

    options = {"ftol": 1e-12, "gtol": 1e-6}
    starts = [[math.log(1 / guess - 1), math.log(kappa)] for guess, kappa in product(_GUESSES, _KAPPAS)]
    found = [
        minimize(likelihood, start, (np.cos(errors),), jac=True, method="L-BFGS-B", bounds=_BOUNDS, options=options)
        for start in starts
    ]
    best = min(found, key=lambda one: float(one.fun))
    return Mixture(1 / (1 + math.exp(best.x[0])), math.exp(best.x[1]), -float(best.fun))


def mixture_limits(errors: np.ndarray, fitted: Mixture, level: float = LEVEL) -> dict[str, tuple[float, float]]:
    """Intervals of the share of guesses (on its logit) and of the standard deviation in radians (on
    its logarithm), from the curvature of the likelihood.

    Returns
    -------
    of ``p_guess`` and ``sd`` both ends; NaN where a component is as good as none, or the likelihood
    has no peak
    """
    from scipy.special import ndtri

    nothing: dict[str, tuple[float, float]] = {"p_guess": (math.nan, math.nan), "sd": (math.nan, math.nan)}
    if min(fitted.p_guess, 1 - fitted.p_guess) < NIL:
        return nothing
    cosines, step = np.cos(errors), 1e-4
    at = np.array([math.log(1 / fitted.p_guess - 1), math.log(fitted.kappa)])
    curvature = np.array(
        [
            (likelihood(at + step * one, cosines)[1] - likelihood(at - step * one, cosines)[1]) / (2 * step)
            for one in np.eye(2)
        ]
    )
    curvature = (curvature + curvature.T) / 2
    if not np.isfinite(curvature).all() or np.linalg.eigvalsh(curvature)[0] <= 1e-6:
        return nothing
    reach = float(ndtri(0.5 + level / 2)) * np.sqrt(np.diag(np.linalg.inv(curvature)))
    ends = [math.log(kappa_to_sd(math.exp(at[1] + sign * step))) for sign in (-1, 1)]
    spread = reach[1] * abs(ends[1] - ends[0]) / (2 * step)
    low, high = (1 / (1 + math.exp(at[0] + sign * reach[0])) for sign in (1, -1))
    return {"p_guess": (low, high), "sd": (fitted.sd * math.exp(-spread), fitted.sd * math.exp(spread))}
