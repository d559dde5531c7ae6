"""Logistic models with normal random effects, fitted by Laplace's approximation.

Answers ``y`` of ``n`` are binomial with ``logit(p) = A u``. ``u`` holds the fixed effects and then,
one component after the other, the random effects: levels of a component are independent and normal
around 0, with a standard deviation of their own. Standard deviations maximise the approximate
integral over ``u`` (Tierney & Kadane, 1986, Journal of the American Statistical Association 81,
82-86). The fixed effects then maximise the integral over the random effects alone: at the common
mode of both they would be too small. Their covariance comes from the whole curvature, so that what
is uncertain about random effects is in it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from typing_extensions import override

from ...core.errors import SpanLabError

SINGULAR = (
    "the model cannot be fitted: two of its effects cannot be distinguished with these data. Compare fewer agents or"
    " conditions"
)


class FitError(SpanLabError):
    """A model that cannot be fitted to these data; the message says why and what to do."""


class Held:
    """Contrasts of the fixed effects that are held at some values while everything else is free:
    ``rows`` at right angles, of length 1; ``at`` their values."""

    def __init__(self, rows: np.ndarray) -> None:
        self.rows, self.at = rows, np.zeros(len(rows))
        self.pull: np.ndarray | None = None

    def moved(self, start: np.ndarray, p: int) -> np.ndarray:
        """A place to start from, where the contrasts have their values: all effects go along as
        they did where somebody last looked."""
        away = self.at - self.rows @ start[:p]
        if self.pull is not None:
            return start + self.pull @ away
        moved = start.copy()
        moved[:p] += self.rows.T @ away
        return moved

    def nearest(self, size: int, p: int) -> np.ndarray:
        """The place nearest to no effect at all where the contrasts have their values."""
        place = np.zeros(size)
        place[:p] = self.rows.T @ self.at
        return place

    def along(self, step: np.ndarray, factors: Factors, p: int) -> np.ndarray:
        """A step that leaves the contrasts as they are, made from one that does not."""
        toward = self._toward(factors, len(step), p)
        self.pull = toward @ np.linalg.inv(self.rows @ toward[:p])
        return step - self.pull @ (self.rows @ step[:p])

    def log_det(self, factors: Factors, p: int) -> float:
        """Return what is added to the log determinant of the curvature where the contrasts are
        held."""
        return float(np.linalg.slogdet(self.rows @ self._toward(factors, factors.size, p)[:p])[1])

    def within(self, covariance: np.ndarray) -> np.ndarray:
        """The covariance of the fixed effects where the contrasts are held."""
        pull = covariance @ self.rows.T
        return covariance - pull @ np.linalg.solve(self.rows @ pull, pull.T)

    def _toward(self, factors: Factors, size: int, p: int) -> np.ndarray:
        unit = np.zeros((size, len(self.rows)))
        unit[:p] = self.rows.T
        return factors.solve(unit)


class Curvature:
    """The curvature of a model for some weights of its rows. It always has the same places, so that
    what does not depend on the weights is worked out once: the places, what each row adds to each
    of them, and the order of elimination."""

    def __init__(self, design: Any) -> None:
        self.order: np.ndarray | None = None
        self.design = design
        self._lay_out(design.tocsr())

    def _lay_out(self, design: Any) -> None:
        """Lay out which places the curvature has, and what the rows of the design add to them."""
        from scipy import sparse

        counts, (rows, size) = np.diff(design.indptr), design.shape
        row = np.repeat(np.arange(rows), counts)
        many = counts[row]
        left, ends = np.repeat(np.arange(design.nnz), many), np.cumsum(many)
        right = np.arange(len(left)) - np.repeat(ends - many, many) + np.repeat(design.indptr[row], many)
        column = design.indices.astype(np.int64)
        itself = np.arange(size, dtype=np.int64) * (size + 1)
        places, place_of = np.unique(np.concatenate([column[right] * size + column[left], itself]), return_inverse=True)
        values, of_row = design.data[left] * design.data[right], np.repeat(row, many)
        self.adds: Any = sparse.csr_matrix((values, (place_of[: len(left)], of_row)), shape=(len(places), rows))
        self.diagonal = place_of[len(left) :]
        ends = np.searchsorted(places, np.arange(size + 1, dtype=np.int64) * size).astype(np.intc)
        indices = (places % size).astype(np.intc)
        self.matrix: Any = sparse.csc_matrix((np.zeros(len(places)), indices, ends), shape=(size, size))
        self.matrix.has_canonical_format = True

    def at(self, weight: np.ndarray, precision: np.ndarray) -> Factors:
        """The factors for these weights of rows and precisions of effects."""
        if self.order is not None:
            return Factors(self._matrix(weight, precision[self.order]), self.order)
        factors = Factors(self._matrix(weight, precision))
        self.order = np.argsort(factors.factors.perm_c)
        self._lay_out(self.design[:, self.order].tocsr())
        return factors

    def _matrix(self, weight: np.ndarray, precision: np.ndarray) -> Any:
        """The matrix of these weights, until the next call; making another one each time would take
        as long as half of a factorisation."""
        data = self.adds @ weight
        data[self.diagonal] += precision
        self.matrix.data = data
        return self.matrix


class Apart:
    """Random effects in groups that no row connects. How uncertain the sum of a row's effects is
    takes one solution for each place in the largest group, and not one for each effect."""

    def __init__(self, random: Any) -> None:
        from scipy.sparse.csgraph import connected_components

        self.random = random.tocsr()
        group = connected_components((self.random.T @ self.random).tocsr(), directed=False)[1]
        order = np.argsort(group, kind="stable")
        first = np.searchsorted(group[order], group[order])
        self.place = np.empty(len(group), int)
        self.place[order] = np.arange(len(group)) - first
        self.rows = np.repeat(np.arange(self.random.shape[0]), np.diff(self.random.indptr))

    def leverage(self, factors: Factors) -> np.ndarray:
        """Return how uncertain the sum of its random effects is, for each row."""
        rows, many = self.random.shape
        places = int(self.place.max(initial=-1)) + 1
        step = max(1, 10_000_000 // max(rows, many, 1))
        leverage_of = np.zeros(rows)
        for first in range(0, places, step):
            unit = np.zeros((many, min(step, places - first)))
            here = np.flatnonzero((self.place >= first) & (self.place < first + unit.shape[1]))
            unit[here, self.place[here] - first] = 1
            along = self.random @ factors.solve(unit)
            place = self.place[self.random.indices] - first
            inside = (place >= 0) & (place < unit.shape[1])
            added = self.random.data[inside] * along[self.rows[inside], place[inside]]
            leverage_of += np.bincount(self.rows[inside], added, minlength=rows)
        return leverage_of


class Factors:
    """A symmetric sparse matrix, factorised.

    Parameters
    ----------
    order : of the effects in the rows and columns of the matrix, where that is a good order of
        elimination; as they are, and one is looked for, when not given
    """

    def __init__(self, matrix: Any, order: np.ndarray | None = None) -> None:
        from scipy.sparse.linalg import splu

        self.order, self.size = order, matrix.shape[0]
        ordering = "MMD_AT_PLUS_A" if order is None else "NATURAL"
        try:
            self.factors = splu(matrix, permc_spec=ordering, diag_pivot_thresh=0.0, options={"SymmetricMode": True})
        except RuntimeError:
            raise FitError(SINGULAR) from None

    def solve(self, right: np.ndarray) -> np.ndarray:
        if self.order is None:
            return self.factors.solve(right)
        solution = np.empty(right.shape)
        solution[self.order] = self.factors.solve(right[self.order])
        return solution

    def log_det(self) -> float:
        return float(np.log(np.abs(self.factors.U.diagonal())).sum())


#: Standard deviations are looked for between these.
SMALLEST, LARGEST = 0.01, 8.0
#: Of the gamma prior of standard deviations, whose shape is 2.
PRIOR_RATE = 2.0
_STEPS = 100
_CLOSE = 1e-8
#: Log odds beyond which there is no telling from 0 % or 100 %.
_FAR = 30.0
_SEPARATED = "the model cannot be fitted without a prior: some cell is at 0 % or 100 %, so that its effect is infinite"
#: Between two values of the logarithm of a standard deviation, where slopes are taken.
_STEP = 0.1


@dataclass(frozen=True)
class Fit:
    """A fitted model.

    Parameters
    ----------
    fixed, covariance : of the fixed effects
    sd : standard deviation of each component
    log_likelihood : Laplace's approximation of the (restricted) log likelihood, without priors on
        standard deviations
    slopes : how the covariance changes with the logarithm of each standard deviation
    uncertainty : covariance of the logarithms of the standard deviations
    """

    fixed: np.ndarray
    covariance: np.ndarray
    sd: np.ndarray
    log_likelihood: float
    slopes: tuple[np.ndarray, ...]
    uncertainty: np.ndarray

    def degrees(self, contrast: np.ndarray) -> float:
        """Degrees of freedom of a contrast of fixed effects, since standard deviations are
        estimated (Satterthwaite, 1946, Biometrics Bulletin 2, 110-114)."""
        change = np.array([contrast @ slope @ contrast for slope in self.slopes])
        spread = float(change @ self.uncertainty @ change)
        variance = float(contrast @ self.covariance @ contrast)
        return math.inf if spread <= 2 * variance**2 / 1e6 else max(1.0, 2 * variance**2 / spread)


class Laplace:
    """A logistic model: its data and the mode for given standard deviations.

    Parameters
    ----------
    y, n : right answers and answers, per row
    fixed : design of the fixed effects, a row for each row of ``y``
    levels : for each component the level (from 0) of each row; -1 for rows that have none
    prior_sd : of the normal prior of every fixed effect around ``prior_mean``; infinite for none
    offset : what is added to the log odds of each row, known beforehand; nothing when not given
    """

    def __init__(
        self,
        y: np.ndarray,
        n: np.ndarray,
        fixed: np.ndarray,
        levels: Sequence[np.ndarray] = (),
        prior_sd: float = math.inf,
        prior_mean: float = 0.0,
        offset: np.ndarray | None = None,
    ) -> None:
        from scipy import sparse

        self.y, self.n = np.asarray(y, float), np.asarray(n, float)
        self.many = [int(level.max(initial=-1)) + 1 for level in levels]
        blocks: list[Any] = [sparse.csr_matrix(np.asarray(fixed, float))]
        for level, many in zip(levels, self.many, strict=True):
            rows = np.flatnonzero(level >= 0)
            blocks.append(sparse.csr_matrix((np.ones(len(rows)), (rows, level[rows])), shape=(len(self.y), many)))
        self.design: Any = sparse.hstack(blocks, format="csr")
        self.transposed = self.design.T.tocsr()
        self.curvatures: dict[int, Curvature] = {}
        self.parts: list[Apart] = []
        self.held: Held | None = None
        self.p = fixed.shape[1]
        self.prior = 0.0 if math.isinf(prior_sd) else prior_sd**-2
        self.centre = np.zeros(self.design.shape[1])
        self.centre[: self.p] = prior_mean if self.prior else 0.0
        self.start = np.zeros(self.design.shape[1])
        self.offset = np.zeros(len(self.y)) if offset is None else np.asarray(offset, float)

    def mode(self, sd: Sequence[float] | np.ndarray, fixed: np.ndarray | None = None) -> tuple[np.ndarray, Factors]:
        """The fixed and random effects at their mode, and the factors of the curvature there; of
        the random effects alone where ``fixed`` is given.

        Raises
        ------
        FitError
            where there is no single mode.
        """
        if fixed is not None:
            return self._mode(sd, np.concatenate([fixed, self.start[self.p :]]), self.p)
        if self.held is None:
            return self._mode(sd, self.start.copy())
        try:
            return self._mode(sd, self.held.moved(self.start, self.p))
        except FitError:  # too far to go at once
            return self._mode(sd, self.held.nearest(len(self.start), self.p))

    def _mode(self, sd: Sequence[float] | np.ndarray, u: np.ndarray, first: int = 0) -> tuple[np.ndarray, Factors]:
        """The mode, looked for from ``u``; effects before ``first`` stay as they are."""
        precision, held = self._precision(sd), None if first else self.held
        value = self._joint(u, precision)
        for _ in range(_STEPS):
            gain, weight, _ = self._at(u)
            slope = (self.transposed @ gain - precision * (u - self.centre))[first:]
            factors = self._factors(weight, precision, first)
            step = factors.solve(slope)
            if held is not None:
                step = held.along(step, factors, self.p)
            if not np.isfinite(step).all():
                raise FitError(SINGULAR)
            step = np.concatenate([np.zeros(first), step])
            if float(slope @ step[first:]) < _CLOSE:
                u = u + step
                break
            size = 1.0
            while (better := self._joint(u + size * step, precision)) < value - 1e-10 and size > 1e-6:
                size /= 2
            u, value = u + size * step, better
            if np.abs(u[: self.p]).max(initial=0) > self._far:
                raise FitError(_SEPARATED)
        else:
            raise FitError(
                "the fit did not converge: the mode was not found in 100 steps. Leave out agents or conditions with"
                " very few answers"
            )
        self.start = u
        return u, self._factors(self._at(u)[1], precision, first)

    def log_likelihood(self, sd: Sequence[float] | np.ndarray, restricted: bool = True) -> float:
        """Laplace's approximation; ``restricted``: integrated over the fixed effects, too, else at
        their mode."""
        u, factors = self.mode(sd)
        precision = self._precision(sd)
        value = self._joint(u, precision) - sum(
            many * math.log(deviation) for many, deviation in zip(self.many, sd, strict=True)
        )
        if restricted:
            free, volume = self.p, factors.log_det()
            if self.held is not None:
                free, volume = free - len(self.held.rows), volume + self.held.log_det(factors, self.p)
            return value + (free * math.log(self.prior) / 2 if self.prior else 0.0) - volume / 2
        return value - (self._factors(self._at(u)[1], precision, self.p).log_det() / 2 if self.many else 0.0)

    def at_marginal_mode(self, sd: Sequence[float] | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The fixed effects that maximise Laplace's approximation of the integral over the random
        effects, and their covariance."""
        u, factors = self.mode(sd)
        covariance = self.covariance(factors)
        if not self.many:
            return u[: self.p], covariance
        fixed, precision = u[: self.p], self._precision(sd)
        design, random = self.design[:, : self.p].toarray(), self.design[:, self.p :].tocsr()
        for _ in range(_STEPS):
            u, inner = self.mode(sd, fixed)
            gain, weight, change = self._at(u)
            slope = design.T @ gain - precision[: self.p] * (fixed - self.centre[: self.p])
            # How the curvature of the random effects changes with the fixed effects, these moving
            # the random effects along.
            leverage = self._apart(random).leverage(inner)
            along = -inner.solve(random.T @ (design * weight[:, None]))
            moved = design + random @ along
            step = covariance @ (slope - ((change * leverage) @ moved) / 2)
            fixed = fixed + step
            if (np.abs(step) <= 1e-2 * np.sqrt(np.maximum(np.diag(covariance), 0)) + 1e-9).all():
                break
            if np.abs(fixed).max() > self._far:
                raise FitError(_SEPARATED)
        else:
            raise FitError(
                "the fit did not converge: the fixed effects were not found in 100 steps. Leave out agents or"
                " conditions with very few answers"
            )
        u, _ = self.mode(sd, fixed)
        self.start = u
        return fixed, self.covariance(self._factors(self._at(u)[1], precision))

    def profile(self, sd: Sequence[float] | np.ndarray) -> float:
        """Laplace's approximation of the log likelihood (with the prior of the fixed effects),
        integrated over the random effects, at its highest."""
        fixed, _ = self.at_marginal_mode(sd)
        u, inner = self.mode(sd, fixed if self.many else None)
        value = self._joint(u, self._precision(sd)) - sum(
            many * math.log(deviation) for many, deviation in zip(self.many, sd, strict=True)
        )
        return value - (inner.log_det() / 2 if self.many else 0.0)

    @property
    def _far(self) -> float:
        """Beyond this an effect has no end. Where contrasts are held, others may have to go far,
        and a prior sees to it that they end."""
        return math.inf if self.held is not None and self.prior else _FAR

    def without(self, contrasts: np.ndarray) -> Laplace:
        """The same model with these contrasts of its fixed effects at 0, a row each; the prior is
        that of the effects that are left."""
        _, values, rows = np.linalg.svd(contrasts)
        return self._holding(rows[: int((values > 1e-10 * values.max()).sum())])

    def along(self, contrast: np.ndarray, sd: Sequence[float] | np.ndarray) -> Callable[[float], float]:
        """Return how likely each value of a contrast of the fixed effects is: its log density under
        prior and data, but for a constant, integrated over all else.

        Returns
        -------
        callable
            from a value to Laplace's approximation at that value.
        """
        size = math.sqrt(float(contrast @ contrast))
        model = self._holding(contrast[None] / size)

        def density(value: float) -> float:
            assert model.held is not None
            model.held.at = np.array([value / size])
            return model.log_likelihood(sd)

        return density

    def _holding(self, rows: np.ndarray) -> Laplace:
        """The same model with contrasts of its fixed effects held at 0; they are at right angles,
        and of length 1. What was worked out for one serves both."""
        model = copy(self)
        model.held = Held(rows)
        return model

    def covariance(self, factors: Factors) -> np.ndarray:
        """That of the fixed effects."""
        unit = np.zeros((self.design.shape[1], self.p))
        unit[: self.p] = np.eye(self.p)
        covariance = factors.solve(unit)[: self.p]
        if self.held is not None:
            covariance = self.held.within(covariance)
        if not (np.isfinite(covariance).all() and (np.diag(covariance) > (0 if self.held is None else -1e-9)).all()):
            raise FitError(SINGULAR)
        return (covariance + covariance.T) / 2

    def _at(self, u: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """For each row, how the log likelihood of its answers rises with what the design says of
        it; its curvature there, and how that changes."""
        from scipy.special import expit

        chance = expit(self.design @ u + self.offset)
        weight = self.n * chance * (1 - chance)
        return self.y - self.n * chance, weight, weight * (1 - 2 * chance)

    def _of_answers(self, eta: np.ndarray) -> float:
        """The log likelihood of all answers."""
        return float(self.y @ eta - self.n @ np.logaddexp(0, eta))

    def _precision(self, sd: Sequence[float] | np.ndarray) -> np.ndarray:
        return np.concatenate(
            [
                np.full(self.p, self.prior),
                *(np.full(many, float(deviation) ** -2) for many, deviation in zip(self.many, sd, strict=True)),
            ]
        )

    def _joint(self, u: np.ndarray, precision: np.ndarray) -> float:
        return self._of_answers(self.design @ u + self.offset) - float((precision * (u - self.centre) ** 2).sum()) / 2

    def _factors(self, weight: np.ndarray, precision: np.ndarray, first: int = 0) -> Factors:
        if first not in self.curvatures:
            self.curvatures[first] = Curvature(self.design[:, first:])
        return self.curvatures[first].at(weight, precision[first:])

    def _apart(self, random: Any) -> Apart:
        if not self.parts:
            self.parts.append(Apart(random))
        return self.parts[0]


class Probit(Laplace):
    """The same with the normal distribution in the place of the logistic one: ``p = Phi(A u)``, as
    in signal detection."""

    @override
    def _at(self, u: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        from scipy.special import log_ndtr

        eta = self.design @ u + self.offset
        gains, weights, changes = np.zeros(len(eta)), np.zeros(len(eta)), np.zeros(len(eta))
        for sign, many in ((1.0, self.y), (-1.0, self.n - self.y)):
            ratio = np.exp(-0.5 * eta**2 - 0.5 * math.log(2 * math.pi) - log_ndtr(sign * eta))
            weight = ratio * (ratio + sign * eta)
            gains += sign * many * ratio
            weights += many * weight
            changes += sign * many * (ratio * (1 - weight) - weight * (ratio + sign * eta))
        return gains, weights, changes

    @override
    def _of_answers(self, eta: np.ndarray) -> float:
        from scipy.special import log_ndtr

        return float(self.y @ log_ndtr(eta) + (self.n - self.y) @ log_ndtr(-eta))


class Normal(Laplace):
    """The same of values with mean ``A u`` and a normal residual, whose standard deviation stands after
    those of the components; Laplace's approximation is exact.

    Parameters
    ----------
    y, n, squares : the sum of the values of each row, their number, and the sum of their squares
    """

    def __init__(
        self, y: np.ndarray, n: np.ndarray, fixed: np.ndarray, levels: Sequence[np.ndarray], squares: np.ndarray
    ) -> None:
        super().__init__(y, n, fixed, levels)
        self.many.append(0)
        self.squares, self.residual = float(squares.sum()), 1.0

    @override
    def _precision(self, sd: Sequence[float] | np.ndarray) -> np.ndarray:
        self.residual = float(sd[-1])
        return super()._precision(sd)

    @override
    def _at(self, u: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        weight = self.n / self.residual**2
        return self.y / self.residual**2 - weight * (self.design @ u), weight, np.zeros(len(self.n))

    @override
    def _of_answers(self, eta: np.ndarray) -> float:
        away = self.squares - 2 * float(self.y @ eta) + float(self.n @ eta**2)
        return -away / (2 * self.residual**2) - float(self.n.sum()) * math.log(self.residual)


def fit(model: Laplace, *, restricted: bool = True, penalised: bool = True) -> Fit:
    """Estimate standard deviations and fixed effects.

    Parameters
    ----------
    restricted : integrate over the fixed effects when standard deviations are estimated, so that
        these are not too small for few levels
    penalised : standard deviations have a gamma prior with shape 2 and rate :data:`PRIOR_RATE`
        (mode 0.5, mean 1 in log odds). It keeps them away from 0, where few levels could not show a
        spread (Chung, Rabe-Hesketh, Dorie, Gelman & Liu, 2013, Psychometrika 78, 685-709), and from
        growing without end

    Raises
    ------
    FitError
        when the fit does not settle.
    """
    from scipy.optimize import minimize

    many = len(model.many)
    theta = np.zeros(0)

    def loss(theta: np.ndarray) -> float:
        return -model.log_likelihood(np.exp(theta), restricted) - (
            float((theta - PRIOR_RATE * np.exp(theta)).sum()) if penalised else 0.0
        )

    if many:
        bounds = [(math.log(SMALLEST), math.log(LARGEST))] * many
        solution = minimize(
            loss,
            np.full(many, math.log(0.5)),
            method="L-BFGS-B",
            bounds=bounds,
            options={"maxiter": 200, "ftol": 1e-10, "gtol": 1e-4},
        )
        theta = solution.x
        if not np.isfinite(solution.fun) or (not solution.success and np.abs(solution.jac).max() > 0.05):
            raise FitError(
                f"the fit did not converge ({str(solution.message).strip().lower()}). Compare fewer agents or"
                " conditions, or gather more answers"
            )
        if (theta > bounds[0][1] - 1e-6).any():
            raise FitError(
                "the fit did not converge: a random effect diverged. There are too few answers for each of its levels"
            )
    sd = np.exp(theta)
    fixed, covariance = model.at_marginal_mode(sd)
    if not model.prior and np.diag(covariance).max() > _FAR**2:
        raise FitError(_SEPARATED)
    value = model.log_likelihood(sd, restricted)
    slopes = []
    for shift in _STEP * np.eye(many):
        up, down = (model.covariance(model.mode(np.exp(theta + sign * shift))[1]) for sign in (1, -1))
        slopes.append((up - down) / (2 * _STEP))
    return Fit(fixed, covariance, sd, value, tuple(slopes), _uncertainty(loss, theta) if many else np.zeros((0, 0)))


def _uncertainty(loss: Callable[[np.ndarray], float], theta: np.ndarray) -> np.ndarray:
    """The inverse of the curvature of a function at its minimum; directions in which it is flat are
    taken as uncertain by a factor of e^2."""
    many = len(theta)
    shifts, here = _STEP * np.eye(many), loss(theta)
    curvature = np.empty((many, many))
    ends = [(loss(theta + shift), loss(theta - shift)) for shift in shifts]
    for i in range(many):
        curvature[i, i] = (sum(ends[i]) - 2 * here) / _STEP**2
        for j in range(i):
            both = loss(theta + shifts[i] + shifts[j]) + loss(theta - shifts[i] - shifts[j])
            curvature[i, j] = curvature[j, i] = (both - sum(ends[i]) - sum(ends[j]) + 2 * here) / (2 * _STEP**2)
    values, vectors = np.linalg.eigh(curvature)
    return (vectors / np.maximum(values, 0.25)) @ vectors.T
