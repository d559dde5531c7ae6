"""Maximum likelihood: a model's parameters for the answers of one person or machine, with
intervals, criteria and held-out answers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import chdtri

from .models import Model, Parameter
from .trials import Trials

#: How many beginnings of the search are followed, and parts of the answers that are held out in
#: turn.
TRIES, FOLDS = 3, 5
LEVEL = 0.95
#: Beyond this an end of an interval lies at the bound of its parameter.
_STEPS, _CLOSE = 25, 0.02
#: Step of numerical slopes.
_STEP = 1e-8


@contextmanager
def single_thread() -> Iterator[None]:
    """Linear algebra in one thread: matrices are tiny here, and threads that wait for one another
    take ten times as long.

    Without threadpoolctl (of the extra ``networks``) nothing is changed.
    """
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        yield
        return
    with threadpool_limits(1):
        yield


@dataclass(frozen=True)
class Space:
    """The parameters of a model as they are searched: each on its scale, and one for every load
    where loads have their own.

    Parameters
    ----------
    places : of each dimension its parameter, and its load or None
    loads : the loads of the answers
    """

    places: tuple[tuple[Parameter, int | None], ...]
    loads: tuple[int, ...]

    @classmethod
    def of(cls, model: Model, trials: Trials) -> Space:
        """The space of a model for some answers."""
        places = [
            (parameter, load)
            for parameter in model.parameters(trials)
            for load in (trials.loads if parameter.each else [None])
        ]
        return cls(tuple(places), trials.loads)

    @property
    def names(self) -> tuple[str, ...]:
        """Of each dimension: the parameter, and its load."""
        return tuple(parameter.name if load is None else f"{parameter.name}_{load}" for parameter, load in self.places)

    @property
    def bounds(self) -> list[tuple[float, float]]:
        """On the scales of the search."""
        return [(parameter.to_scale(parameter.low), parameter.to_scale(parameter.high)) for parameter, _ in self.places]

    def values(self, at: np.ndarray, trials: Trials) -> dict[str, float | np.ndarray]:
        """The values at a point: one number, or one for each answer where loads have their own."""
        values: dict[str, float | np.ndarray] = {}
        rows = np.searchsorted(self.loads, trials.load)
        numbers = [parameter.from_scale(float(x)) for (parameter, _), x in zip(self.places, at, strict=True)]
        for name, group in itertools.groupby(range(len(numbers)), lambda place: self.places[place][0].name):
            own = [*group]
            values[name] = numbers[own[0]] if self.places[own[0]][1] is None else np.asarray(numbers)[own][rows]
        return values

    def point(self, values: Mapping[str, float]) -> np.ndarray:
        """The point of some values, by name and load, or by name for all loads; typical ones where
        none is given."""
        return np.array(
            [
                parameter.to_scale(values.get(name, values.get(parameter.name, parameter.typical)))
                for name, (parameter, _) in zip(self.names, self.places, strict=True)
            ]
        )

    def numbers(self, at: np.ndarray) -> dict[str, float]:
        """The values at a point by the names of dimensions."""
        return {
            name: parameter.from_scale(float(x))
            for name, (parameter, _), x in zip(self.names, self.places, at, strict=True)
        }

    def starts(self) -> list[np.ndarray]:
        """Points where the search may begin: the middle of the prior, and one and a half spreads of
        it to each side, all loads alike."""
        few = list(dict.fromkeys(parameter for parameter, _ in self.places))[:3]
        return [
            np.array(
                [
                    float(
                        np.clip(
                            p.to_scale(p.typical) + shift.get(p.name, 0.0) * p.spread,
                            p.to_scale(p.low),
                            p.to_scale(p.high),
                        )
                    )
                    for p, _ in self.places
                ]
            )
            for steps in itertools.product((-1.5, 0.0, 1.5), repeat=len(few))
            for shift in [{p.name: step for p, step in zip(few, steps, strict=True)}]
        ]


@dataclass(frozen=True)
class Fit:
    """A model fitted to the answers of somebody.

    Parameters
    ----------
    model : the model
    space, at : its parameters, and the point of maximum likelihood
    log_likelihood : there
    answers : how many there were
    """

    model: Model
    space: Space
    at: np.ndarray
    log_likelihood: float
    answers: int

    @property
    def values(self) -> dict[str, float]:
        """The parameters by name."""
        return self.space.numbers(self.at)

    @property
    def at_bounds(self) -> frozenset[str]:
        """The parameters whose best value is a bound of theirs, so that the true one may lie
        beyond."""
        ends = zip(self.space.names, self.at, self.space.bounds, strict=True)
        return frozenset(name for name, at, (low, high) in ends if min(at - low, high - at) < 1e-6 * (high - low))

    @property
    def aicc(self) -> float:
        """Akaike's criterion for small samples (Hurvich & Tsai, 1989); infinite with hardly more
        answers than parameters."""
        count = len(self.at)
        left = self.answers - count - 1
        return 2 * count - 2 * self.log_likelihood + (2 * count * (count + 1) / left if left > 0 else math.inf)

    @property
    def bic(self) -> float:
        """Schwarz's criterion (1978)."""
        return len(self.at) * math.log(self.answers) - 2 * self.log_likelihood

    def simulate(self, trials: Trials, random: np.random.RandomState) -> Trials:
        """The same questions with answers of the fitted model."""
        return trials.answered(self.model.draw(self.space.values(self.at, trials), trials, random))

    def agent(self) -> str:
        """The name of the agent that answers as fitted."""
        return f"cognitive:{self.model.name}?" + "&".join(f"{name}={value:.4g}" for name, value in self.values.items())


class Likelihood:
    """Minus the log likelihood of answers under a model, over its space."""

    def __init__(self, model: Model, trials: Trials, space: Space | None = None) -> None:
        self.model = model
        self.trials = trials.collapsed()
        self.space = space or Space.of(model, trials)
        self.weight = 1.0 if self.trials.weight is None else self.trials.weight

    def __call__(self, at: np.ndarray) -> float:
        return -float((self.weight * self.model.log_likelihood(self.space.values(at, self.trials), self.trials)).sum())

    def lowest(self, start: np.ndarray, fixed: int | None = None) -> tuple[np.ndarray, float]:
        """The lowest point from a start on, where one dimension may be held fixed."""
        free = np.arange(len(start)) != fixed
        bounds = [bound for bound, moves in zip(self.space.bounds, free, strict=True) if moves]
        if not bounds:
            return start, self(start)

        whole, places = start.copy(), np.flatnonzero(free)

        def height_and_slope(at: np.ndarray) -> tuple[float, np.ndarray]:
            whole[free] = at
            height, slope = self(whole), np.empty(len(at))
            for number, place in enumerate(places):
                step = _STEP if at[number] + _STEP <= bounds[number][1] else -_STEP
                whole[place] = at[number] + step
                slope[number] = (self(whole) - height) / step
                whole[place] = at[number]
            return height, slope

        solution = minimize(height_and_slope, start[free], jac=True, method="L-BFGS-B", bounds=bounds)
        whole[free] = solution.x
        return whole, float(solution.fun)

    def lowest_of_all(self, start: np.ndarray, fixed: int, height: float) -> tuple[np.ndarray, float]:
        """A lower point than one that a search with a fixed dimension has found, if there is one
        elsewhere.

        Likelihoods of slots have a kink where slots and items are equally many, and others are flat
        towards a bound; a search stays there. The likeliest of the points where one other dimension
        is moved, by half a spread or to its typical value, is where a second search begins.
        """
        moved = []
        for place, ((parameter, _), (low, high)) in enumerate(zip(self.space.places, self.space.bounds, strict=True)):
            typical = parameter.to_scale(parameter.typical)
            for value in (start[place] - parameter.spread / 2, start[place] + parameter.spread / 2, typical):
                moved.append(start.copy())
                moved[-1][place] = start[place] if place == fixed else min(high, max(low, value))
        other = self.lowest(min(moved, key=self), fixed)
        return other if other[1] < height else (start, height)


def fit(model: Model, trials: Trials, start: np.ndarray | None = None) -> Fit:
    """Fit a model by maximum likelihood.

    Parameters
    ----------
    start : where the search begins besides the most likely of :meth:`Space.starts`; then only the
        best one of these is followed

    Examples
    --------
    >>> from spanlab.extensions.fitting.models import models_named
    >>> trials = Trials("detection", np.ones(8, int), np.arange(8), np.array([1, 1, 1, 0, 0, 0, 0, 1]), {"signal": np.repeat([1, 0], 4)})
    >>> {name: round(value, 2) for name, value in fit(models_named("sdt")[0], trials).values.items()}
    {'d_1': 1.35, 'criterion_1': -0.0}
    """  # noqa: E501
    likelihood = Likelihood(model, trials)
    starts = sorted(likelihood.space.starts(), key=likelihood)[: TRIES if start is None else 1]
    lowest = [likelihood.lowest(at) for at in ([] if start is None else [start]) + starts]
    at, height = min(lowest, key=lambda one: one[1])
    return Fit(model, likelihood.space, at, -height, len(trials) if trials.weight is None else int(trials.weight.sum()))


def limits(fitted: Fit, trials: Trials, level: float = LEVEL) -> dict[str, tuple[float, float]]:
    """Intervals from the profile of the likelihood: values whose best likelihood is not
    significantly lower (chi² with one degree of freedom)."""
    likelihood = Likelihood(fitted.model, trials, fitted.space)
    lower, upper = (np.array(side) for side in zip(*fitted.space.bounds, strict=True))
    allowed = float(chdtri(1, 1 - level)) / 2
    ends: dict[str, tuple[float, float]] = {}
    for place, (name, (parameter, _)) in enumerate(zip(fitted.space.names, fitted.space.places, strict=True)):
        both = [_end(likelihood, fitted, place, bound, allowed) for bound in (lower[place], upper[place])]
        ends[name] = (parameter.from_scale(both[0]), parameter.from_scale(both[1]))
    return ends


def holds(fitted: Fit, trials: Trials, planted: Mapping[str, float], level: float = LEVEL) -> dict[str, bool]:
    """Tell whether the interval of each parameter holds a planted value: the same profiles as those
    of :func:`limits`, at one point instead of along them."""
    likelihood = Likelihood(fitted.model, trials, fitted.space)
    allowed = float(chdtri(1, 1 - level)) / 2
    held = {}
    for place, (name, (parameter, _)) in enumerate(zip(fitted.space.names, fitted.space.places, strict=True)):
        start = fitted.at.copy()
        start[place] = parameter.to_scale(planted[name])
        at, height = likelihood.lowest(start, place)
        if height + fitted.log_likelihood > allowed:
            at, height = likelihood.lowest_of_all(at, place, height)
        held[name] = height + fitted.log_likelihood <= allowed
    return held


def _end(likelihood: Likelihood, fitted: Fit, place: int, bound: float, allowed: float) -> float:
    """Find where the profile has fallen by what is allowed: the square of the distance is nearly
    proportional to the fall."""
    middle, top = float(fitted.at[place]), -fitted.log_likelihood
    side = math.copysign(1.0, bound - middle)
    near, far, start = 0.0, abs(bound - middle), fitted.at
    distance = min(far, 0.3 * fitted.space.places[place][0].spread)
    for _ in range(_STEPS):
        if distance <= 0:
            return middle
        at = start.copy()
        at[place] = middle + side * distance
        at, height = likelihood.lowest(at, place)
        if height - top > allowed - _CLOSE:
            at, height = likelihood.lowest_of_all(at, place, height)
        fall = height - top
        if abs(fall - allowed) < _CLOSE:
            break
        if fall < allowed:
            if distance >= abs(bound - middle):
                return bound
            near, start = distance, at
        else:
            far = distance
        guess = distance * math.sqrt(allowed / fall) if fall > 1e-6 else 4 * distance
        guess = min(guess, 4 * distance, abs(bound - middle))
        distance = guess if near < guess < far or (guess == far == abs(bound - middle)) else (near + far) / 2
    return middle + side * distance


def folds(trials: Trials, random: np.random.RandomState) -> np.ndarray:
    """A part from 0 for each answer; a trial stays whole, and every part has its share of each
    load."""
    _, first, number = np.unique(trials.trial, return_index=True, return_inverse=True)
    order = np.lexsort((random.random_sample(len(first)), trials.load[first]))
    part = np.empty(len(first), int)
    part[order] = np.arange(len(first)) % FOLDS
    return part[number.ravel()]


def held_out(fitted: Fit, trials: Trials, part: np.ndarray) -> np.ndarray:
    """The log likelihood of each answer under the model fitted to the other parts; NaN where these
    lack its load."""
    each = np.full(len(trials), np.nan)
    for fold in np.unique(part):
        rest, rows = trials.take(np.flatnonzero(part != fold)), np.flatnonzero(part == fold)
        known = rows[np.isin(trials.load[rows], rest.loads)]
        if not len(rest) or not len(known):
            continue
        likelihood = Likelihood(fitted.model, rest)
        at, _ = likelihood.lowest(likelihood.space.point(fitted.values))
        held = trials.take(known)
        each[known] = fitted.model.log_likelihood(likelihood.space.values(at, held), held)
    return each
