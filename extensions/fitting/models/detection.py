"""Questions with two answers: old or new (signal detection and thresholds, with or without ratings of
confidence), same or different (slots and resources)."""

from __future__ import annotations

import functools
from abc import abstractmethod

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.special import i0e, ive, ndtr

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


_D = Parameter("d", "distance of signals from other questions", "SD of noise", -1.0, 6.0, 1.5, 1.0, each=True)
_CRITERION = Parameter(
    "criterion", "how far the criterion lies above the midpoint between the two", "SD of noise", -3.0, 3.0, 0.0, 0.5
)


class SignalDetection(Discrete):
    """Equal variances; every load has its own sensitivity and its own criterion."""

    name = "sdt"
    title = "signal detection, equal variances"
    kinds = ("detection", "change")
    source = (
        "Green & Swets (1966), Signal Detection Theory and Psychophysics; Macmillan & Creelman (2005), Detection"
        " Theory, chapter 2"
    )
    ours = "With ratings, all loads share one criterion and the distances between criteria."
    criterion_each = True

    def parameters(self, trials: Trials) -> tuple[Parameter, ...]:
        """Sensitivity, criterion, and with ratings the distances of the further criteria."""
        criterion = Parameter(**{**vars(_CRITERION), "each": self.criterion_each and trials.levels == 2})
        gaps = range(1, trials.levels - 1)
        return (
            _D,
            criterion,
            *(
                Parameter(
                    f"gap_{at}", f"distance of criteria {at} and {at + 1}", "SD of noise", 0.01, 4.0, 0.5, 0.5, "log"
                )
                for at in gaps
            ),
        )

    def probabilities(self, values: Values, trials: Trials) -> np.ndarray:
        """Normal evidence between criteria. The criterion that stands for all is the middle one."""
        gaps = np.cumsum([0.0, *(float(values[f"gap_{at}"]) for at in range(1, trials.levels - 1))])
        criteria = np.add.outer(
            np.asarray(values["criterion"]) * np.ones(len(trials)), gaps - gaps[(len(gaps) - 1) // 2]
        )
        signal = trials.beside["signal"] == 1
        middle = np.where(signal, 0.5, -0.5) * values["d"]
        below = ndtr((criteria - middle[:, None]) / np.where(signal, values.get("sd", 1.0), 1.0)[:, None])
        ones = np.ones((len(trials), 1))
        return np.diff(np.hstack([0 * ones, below, ones]), axis=1)


class SharedCriterion(SignalDetection):
    """Equal variances; all loads share one criterion."""

    name = "sdt-shared"
    title = "signal detection, equal variances, one criterion"
    criterion_each = False


class UnequalVariance(SignalDetection):
    """Unequal variances, for ratings: yes and no alone do not tell the variance from the
    sensitivity."""

    name = "sdt-unequal"
    title = "signal detection, unequal variances"
    source = (
        "Macmillan & Creelman (2005), Detection Theory, chapter 3; Dorfman & Alf (1969), Journal of Mathematical"
        " Psychology 6, 487-496"
    )

    def parameters(self, trials: Trials) -> tuple[Parameter, ...]:
        """Those of equal variances, and the standard deviation of signals."""
        return (
            *super().parameters(trials),
            Parameter("sd", "standard deviation of signals", "SD of noise", 0.1, 10.0, 1.25, 0.3, "log"),
        )

    def refusal(self, trials: Trials) -> str:
        """See :meth:`.Model.refusal`."""
        return (
            ""
            if trials.levels > 3
            else "its variance cannot be told from yes and no alone: it needs ratings of confidence"
        )


class Threshold(Discrete):
    """Two high thresholds: a question is known for certain, or guessed; all loads share one
    guessing rate."""

    name = "threshold"
    title = "two high thresholds"
    kinds = ("detection", "change")
    source = "Snodgrass & Corwin (1988), Journal of Experimental Psychology: General 117, 34-50"

    def parameters(self, trials: Trials) -> tuple[Parameter, ...]:
        """Knowing and guessing."""
        return (
            Parameter(
                "known", "share of questions whose answer is known", "", 0.001, 0.999, 0.6, 1.0, "logit", each=True
            ),
            Parameter("guess", "share of yes among guesses", "", 0.001, 0.999, 0.4, 0.8, "logit"),
        )

    def probabilities(self, values: Values, trials: Trials) -> np.ndarray:
        """No and yes."""
        known = np.asarray(values["known"])
        yes = (1 - known) * values["guess"] + known * (trials.beside["signal"] == 1)
        return np.column_stack([1 - yes, yes])

    def refusal(self, trials: Trials) -> str:
        """See :meth:`.Model.refusal`."""
        return "" if trials.levels == 2 else "it says nothing about ratings"
