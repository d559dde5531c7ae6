"""Errors on a circle: circular mean and standard deviation, and mixture models of what was
remembered, confused and guessed, by maximum likelihood.

Two components (Zhang & Luck, 2008, Nature 453, 233-235): answers about the target's value, von
Mises with concentration kappa, and uniform guesses. Three components (Bays, Catalao & Husain, 2009,
Journal of Vision 9(10):7): also answers about the value of one of the other items, each equally
likely, with the same concentration. Means are zero: answers are biased neither way. All angles here
are in radians on the whole circle; degrees of a scale that closes after ``period`` degrees become
radians by 2 pi / period.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

Model = Literal["two", "three"]
#: components of each model, in their order; the last one is guessing
COMPONENTS: dict[Model, tuple[str, ...]] = {"two": ("p_target", "p_guess"), "three": ("p_target", "p_swap", "p_guess")}
#: Least trials for a fit: below, planted parameters are not recovered in simulation
#: (docs/measurements.md has the table).
ENOUGH: dict[Model, int] = {"two": 100, "three": 150}
#: A component with less weight than this is as good as none.
NIL = 0.005
#: Where the search begins: weights of guesses, weights of swaps, and concentrations.
_GUESSES, _SWAPS, _KAPPAS = (0.05, 0.4), (0.05, 0.25), (3.0, 20.0)
_KAPPA_RANGE = (0.05, 10_000.0)
#: how many of the beginnings are followed: the most likely ones
_TRIES = 3


@dataclass(frozen=True)
class Mixture:
    """A fitted mixture model.

    Parameters
    ----------
    model : ``two`` or ``three`` components
    weights : of the components, in the order of :data:`COMPONENTS`; they sum to 1
    kappa : concentration of the von Mises distribution
    log_likelihood : of the answers, in log density per radian
    """

    model: Model
    weights: tuple[float, ...]
    kappa: float
    log_likelihood: float

    @property
    def sd(self) -> float:
        """Circular standard deviation of the von Mises distribution, in radians."""
        return kappa_to_sd(self.kappa)

    def density(self, errors: np.ndarray) -> np.ndarray:
        """The probability density of errors (per radian). Swaps are spread evenly, as the values of
        other items are."""
        rest = 1 - self.weights[0]
        return self.weights[0] * _von_mises(np.cos(errors), self.kappa) + rest / (2 * math.pi)


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


class _Likelihood:
    """The likelihood of answers under a model, with its slope.

    Parameters
    ----------
    errors : answer minus target
    others : answer minus each of the other items' values, a row for each answer; NaN where there
        are fewer. None for two components
    """

    def __init__(self, errors: np.ndarray, others: np.ndarray | None) -> None:
        self._target = np.cos(errors)
        self._others = None if others is None else np.cos(others)
        self._count = None if others is None else np.maximum(1, np.isfinite(others).sum(1))
        self.parameters = 2 if others is None else 3

    def __call__(self, at: np.ndarray) -> tuple[float, np.ndarray]:
        """Minus the log-likelihood, and its slope, at log weights relative to guessing's and log
        kappa."""
        weights = np.exp(np.append(at[:-1], 0.0) - max(0.0, float(at[:-1].max())))
        weights /= weights.sum()
        kappa = math.exp(at[-1])
        resultant = _resultant(kappa)
        parts = [_von_mises(self._target, kappa)]
        turns = [self._target - resultant]
        if self._others is not None:
            assert self._count is not None
            each = _von_mises(self._others, kappa)
            whole = np.nansum(each, 1) / self._count
            parts.append(whole)
            with np.errstate(invalid="ignore", divide="ignore"):
                turn = np.nansum(each * (self._others - resultant), 1) / self._count / whole
            turns.append(np.where(whole > 0, turn, 0.0))
        parts.append(np.full(len(self._target), 1 / (2 * math.pi)))
        density = sum(weight * part for weight, part in zip(weights, parts, strict=True))
        assert isinstance(density, np.ndarray)
        shares = [weight * part / density for weight, part in zip(weights, parts, strict=True)]
        slope = [
            float(share.sum() - weight * len(density)) for share, weight in zip(shares[:-1], weights[:-1], strict=True)
        ]
        slope.append(kappa * float(sum((share * turn).sum() for share, turn in zip(shares[:-1], turns, strict=True))))
        return -float(np.log(density).sum()), -np.array(slope)


def fit_mixture(errors: np.ndarray, others: np.ndarray | None = None) -> Mixture:
    """The mixture of maximum likelihood, from several beginnings: two components, or three where
    the other items' values are given.

    Parameters
    ----------
    errors : answer minus target, in radians
    others : answer minus each of the other items' values, a row for each answer, NaN where there
        are fewer
    """
    best, _ = _fitted(_Likelihood(errors, others))
    model: Model = "two" if others is None else "three"
    weights, kappa = _natural(best)
    return Mixture(model, weights, kappa, -_Likelihood(errors, others)(best)[0])


def _fitted(likelihood: _Likelihood) -> tuple[np.ndarray, float]:
    from scipy.optimize import minimize

    bounds = [(-12.0, 12.0)] * (likelihood.parameters - 1) + [tuple(map(math.log, _KAPPA_RANGE))]
    starts: list[np.ndarray] = []
    for guess, swap, kappa in itertools.product(_GUESSES, _SWAPS if likelihood.parameters == 3 else (0.0,), _KAPPAS):
        weights = [1 - guess - swap, *([swap] if likelihood.parameters == 3 else [])]
        starts.append(np.array([*(math.log(weight / guess) for weight in weights), math.log(kappa)]))
    best: tuple[np.ndarray, float] | None = None
    for start in sorted(starts, key=lambda start: likelihood(start)[0])[:_TRIES]:
        solution = minimize(
            likelihood, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"ftol": 1e-12, "gtol": 1e-6}
        )
        if best is None or solution.fun < best[1]:
            best = np.asarray(solution.x), float(solution.fun)
    assert best is not None
    return best


def _natural(at: np.ndarray) -> tuple[tuple[float, ...], float]:
    weights = np.exp(np.append(at[:-1], 0.0) - max(0.0, float(at[:-1].max())))
    return tuple(float(weight) for weight in weights / weights.sum()), math.exp(at[-1])


def mixture_limits(
    errors: np.ndarray, fitted: Mixture, others: np.ndarray | None = None, level: float = 0.95
) -> dict[str, tuple[float, float]]:
    """Intervals of the weights (on their logit) and of the standard deviation (on its logarithm),
    from the curvature of the likelihood.

    Returns
    -------
    for each of :data:`COMPONENTS` and ``sd`` (radians) both ends; NaN for all where a component is
    as good as none, or the likelihood has no peak
    """
    from scipy.special import ndtri

    names = COMPONENTS[fitted.model]
    nothing = dict.fromkeys((*names, "sd"), (math.nan, math.nan))
    if min(fitted.weights) < NIL:
        return nothing
    likelihood = _Likelihood(errors, others)
    at = np.array([*(math.log(weight / fitted.weights[-1]) for weight in fitted.weights[:-1]), math.log(fitted.kappa)])
    step, count = 1e-4, len(at)
    curvature = np.array(
        [(likelihood(at + step * one)[1] - likelihood(at - step * one)[1]) / (2 * step) for one in np.eye(count)]
    )
    curvature = (curvature + curvature.T) / 2
    if not np.isfinite(curvature).all() or np.linalg.eigvalsh(curvature)[0] <= 1e-6:
        return nothing
    covariance = np.linalg.inv(curvature)
    z = float(ndtri(0.5 + level / 2))

    def spread(of: Sequence[float]) -> float:
        return z * math.sqrt(float(np.asarray(of) @ covariance @ np.asarray(of)))

    def logits(where: np.ndarray) -> np.ndarray:
        weights, kappa = _natural(where)
        return np.array([*(math.log(weight / (1 - weight)) for weight in weights), math.log(kappa_to_sd(kappa))])

    slopes = np.array([(logits(at + step * one) - logits(at - step * one)) / (2 * step) for one in np.eye(count)]).T
    middle = logits(at)
    ends = [(value - spread(slope), value + spread(slope)) for value, slope in zip(middle, slopes, strict=True)]
    limits = {
        name: (1 / (1 + math.exp(-low)), 1 / (1 + math.exp(-high)))
        for name, (low, high) in zip(names, ends[:-1], strict=True)
    }
    return {**limits, "sd": (math.exp(ends[-1][0]), math.exp(ends[-1][1]))}
