"""Slots and resources in change detection: is a whole display the same as before?"""

from __future__ import annotations

import functools
from abc import abstractmethod

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.special import i0e, ive

from ..trials import Trials, Values
from .model import Discrete, Parameter
from .report import ATTENDED, CAPACITY, POWER, PRECISION, TAU, kappa_of

#: Harmonics of the distribution of differences, and the fixed precisions that stand for a gamma
#: distribution.
_HARMONICS = np.arange(1, 65)
_PRECISIONS = np.exp(np.linspace(np.log(1e-6), np.log(1e3), 415))


class _Change(Discrete):
    kinds = ("change",)

    def attention(self, trials: Trials) -> tuple[Parameter, ...]:
        """Parameter of how often one attends, where there are several set sizes."""
        return (ATTENDED,) if len(trials.loads) > 1 else ()

    def refusal(self, trials: Trials) -> str:
        """See :meth:`.Model.refusal`."""
        return "" if trials.levels == 2 else "it says nothing about ratings"


class ChangeSlots(_Change):
    """The changed item is held in a slot and known to have changed, or the answer is guessed."""

    name = "slots"
    title = "slots"
    source = "Pashler (1988), Perception & Psychophysics 44, 369-378; Rouder et al. (2008), PNAS 105, 5975-5979"

    def parameters(self, trials: Trials) -> tuple[Parameter, ...]:
        """Capacity, guessing, and attention."""
        guess = Parameter("guess", "share of changes among guesses", "", 0.001, 0.999, 0.3, 0.8, "logit")
        return (CAPACITY, guess, *self.attention(trials))

    def probabilities(self, values: Values, trials: Trials) -> np.ndarray:
        """Same and different."""
        held = (
            values.get("attended", 1.0)
            * np.minimum(1.0, np.asarray(values["k"]) / trials.load)
            * (trials.beside["signal"] == 1)
        )
        different = held + (1 - held) * values["guess"]
        return np.column_stack([1 - different, different])


class _Differences(_Change):
    """Every item is compared with a noisy memory of itself; a change is said where the largest
    difference is above a criterion.

    The difference of two noisy values is a Fourier series: its coefficients are products of those
    of both.
    """

    ours = (
        "Both displays are noisy. The rule is the largest difference (Wilken & Ma, 2004, Journal of Vision 4(12):11),"
        " not the optimal one. Without attention, both answers are equally likely. Every change is taken as half the"
        " circle, the largest there is."
    )

    def _criterion(self) -> Parameter:
        return Parameter(
            "criterion",
            "difference at which a change is reported",
            "degrees of the circle",
            5.0,
            175.0,
            70.0,
            0.4,
            "log",
        )

    @abstractmethod
    def coefficients(self, values: Values, loads: np.ndarray) -> np.ndarray:
        """Mean resultant lengths of a memory's harmonics (columns) at some loads (rows)."""

    def probabilities(self, values: Values, trials: Trials) -> np.ndarray:
        """Same and different."""
        criterion = np.radians(float(values["criterion"]))
        loads = np.array(trials.loads)
        at = np.searchsorted(loads, trials.load)
        squares = 2 / np.pi * np.sin(_HARMONICS * criterion) / _HARMONICS * self.coefficients(values, loads) ** 2
        unchanged = np.clip(criterion / np.pi + squares.sum(1), 0, 1)[at]
        cosines = _cosines(np.asarray(trials.beside["size"], float).tobytes())
        changed = np.clip(criterion / np.pi + (cosines * squares[at]).sum(1), 0, 1)
        same = unchanged ** (trials.load - 1) * np.where(trials.beside["signal"] == 1, changed, unchanged)
        same = 0.5 + float(values.get("attended", 1.0)) * (same - 0.5)
        return np.column_stack([same, 1 - same])


class ChangeResource(_Differences):
    """All items share a resource equally."""

    name = "resource"
    title = "equal resource"
    source = "Wilken & Ma (2004), Journal of Vision 4(12):11"

    def parameters(self, trials: Trials) -> tuple[Parameter, ...]:
        """Precision, its power, the criterion, and attention."""
        return (PRECISION, POWER, self._criterion(), *self.attention(trials))

    def coefficients(self, values: Values, loads: np.ndarray) -> np.ndarray:
        """Those of one von Mises distribution."""
        return _interpolated()(np.log(float(values["precision"])) - float(values["power"]) * np.log(loads))


@functools.lru_cache(maxsize=8)
def _cosines(sizes: bytes) -> np.ndarray:
    """The cosines of the harmonics (columns) at the sizes of changes (rows), which a search asks
    for thousands of times."""
    return np.cos(np.multiply.outer(np.frombuffer(sizes), _HARMONICS))


@functools.cache
def _harmonics_of_precisions() -> np.ndarray:
    """The harmonics (rows) of von Mises distributions of the fixed precisions (columns)."""
    kappas = kappa_of(_PRECISIONS)
    return ive(_HARMONICS[:, None], kappas) / i0e(kappas)


@functools.cache
def _interpolated() -> CubicSpline:
    return CubicSpline(np.log(_PRECISIONS), _harmonics_of_precisions().T)


class ChangeVariable(_Differences):
    """Precision varies from item to item and display to display by a gamma distribution."""

    name = "vp"
    title = "variable precision"
    source = "Keshvari, van den Berg & Ma (2013), PLoS Computational Biology 9, e1002927"

    def parameters(self, trials: Trials) -> tuple[Parameter, ...]:
        """Mean precision, its power and spread, the criterion, and attention."""
        return (PRECISION, POWER, TAU, self._criterion(), *self.attention(trials))

    def coefficients(self, values: Values, loads: np.ndarray) -> np.ndarray:
        """Means over the gamma distribution; the trapezoidal rule in ln J."""
        tau = float(values["tau"])
        shapes = float(values["precision"]) * loads ** -float(values["power"]) / tau
        scaled = _PRECISIONS / tau
        weights = np.multiply.outer(shapes, np.log(scaled)) - scaled
        weights = np.exp(weights - weights.max(1, keepdims=True))
        return weights @ _harmonics_of_precisions().T / weights.sum(1, keepdims=True)
