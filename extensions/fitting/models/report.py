"""Slots and resources in continuous report: which share of answers comes from a memory of which
precision.

Every model is a mixture of von Mises distributions around the target for each set size; a
concentration of 0 is a guess. Precision is Fisher information, J = kappa I1(kappa) / I0(kappa),
which adds up where memories are averaged. In all models alike, a share of trials is not attended to
and guessed (Rouder et al., 2008, PNAS 105, 5975-5979): one slip with a single item would else
refute any number of slots.
"""

from __future__ import annotations

import functools
import math
from abc import abstractmethod
from collections.abc import Callable

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.special import gammainc as gamma_below
from scipy.special import gammainccinv, gammaincinv, gammaln, i0e, i1e, roots_legendre

from ..trials import Trials, Values
from .model import LEAST, Model, Parameter

#: Below this precision a memory is as good as none.
_NOTHING = 1e-9
#: Nodes of the integral over precisions, and the share of memories beyond its ends.
_NODES, _BEYOND = 64, 1e-13

CAPACITY = Parameter("k", "number of slots", "items", 0.2, 12.0, 2.5, 0.4, "log")
SD = Parameter("sd", "standard deviation of a memory", "degrees of the circle", 2.0, 100.0, 20.0, 0.35, "log")
PRECISION = Parameter(
    "precision", "mean precision of a memory with one item", "1/radian²", 0.1, 500.0, 15.0, 0.6, "log"
)
POWER = Parameter("power", "how precision falls with set size (exponent)", "", 0.0, 4.0, 1.0, 0.35)
TAU = Parameter("tau", "scale of the spread of precision", "1/radian²", 0.02, 500.0, 8.0, 0.7, "log")
ATTENDED = Parameter("attended", "share of trials that are attended to", "", 0.5, 0.9995, 0.97, 0.7, "logit")
SWAP = Parameter("swap", "strength of each other item, the target being 1", "", 0.0005, 1.0, 0.05, 0.8, "log")


@functools.cache
def _kappa_of_precision() -> CubicSpline:
    """ln kappa as a function of ln J."""
    kappa = np.exp(np.linspace(math.log(1e-5), math.log(2e5), 4000))
    return CubicSpline(np.log(kappa * i1e(kappa) / i0e(kappa)), np.log(kappa))


def kappa_of(precision: np.ndarray) -> np.ndarray:
    """The concentration of memories of a precision."""
    return np.where(precision > _NOTHING, np.exp(_kappa_of_precision()(np.log(np.maximum(precision, _NOTHING)))), 0.0)


@functools.cache
def _kappa_of_sd() -> CubicSpline:
    """ln kappa as a function of ln of the circular standard deviation."""
    kappa = np.exp(np.linspace(math.log(2e5), math.log(1e-3), 4000))
    return CubicSpline(0.5 * np.log(-2 * np.log(i1e(kappa) / i0e(kappa))), np.log(kappa))


def kappa_of_sd(degrees: float) -> float:
    """The concentration with a circular standard deviation."""
    return float(np.exp(_kappa_of_sd()(math.log(math.radians(degrees)))))


@functools.cache
def _legendre() -> tuple[np.ndarray, np.ndarray]:
    return roots_legendre(_NODES)


def gamma_nodes(mean: float, scale: float) -> tuple[np.ndarray, np.ndarray]:
    """Weights and precisions that stand for a gamma distribution: Gauss-Legendre in ln J; what is
    beyond is no memory."""
    shape = mean / scale
    low = max(math.log(_NOTHING / scale), math.log(max(float(gammaincinv(shape, _BEYOND)), 1e-300)))
    high = math.log(float(gammainccinv(shape, _BEYOND)))
    if low >= high:
        return np.ones(1), np.zeros(1)
    nodes, weights = _legendre()
    at = low + (nodes + 1) / 2 * (high - low)
    share = weights * (high - low) / 2 * np.exp(shape * at - np.exp(at) - gammaln(shape))
    return np.r_[float(gamma_below(shape, math.exp(low))), share], np.r_[0.0, scale * np.exp(at)]


class Report(Model):
    """A model of continuous report: a mixture of memories of different precision around the target."""

    kinds = ("report",)
    own: tuple[Parameter, ...]
    swaps = False

    def parameters(self, trials: Trials) -> tuple[Parameter, ...]:
        """The model's own ones, the strength of other items where there are swaps, and with several
        set sizes how often one attends."""
        return (*self.own, *((SWAP,) if self.swaps else ()), *((ATTENDED,) if len(trials.loads) > 1 else ()))

    def refusal(self, trials: Trials) -> str:
        """See :meth:`.Model.refusal`."""
        lacks = max(trials.loads) < 2 or any(
            np.isnan(trials.beside["others"][rows, : load - 1]).any() for load, rows in trials.by_load.items()
        )
        return "there are no other items to swap with, or it is not said what they were" if self.swaps and lacks else ""

    @abstractmethod
    def encoding(self, values: Values, load: int) -> tuple[np.ndarray, np.ndarray]:
        """Weights and concentrations of the memories at a set size."""

    def log_likelihood(self, values: Values, trials: Trials) -> np.ndarray:
        """The log density of errors; a swap is an answer about one of the other items, each equally
        likely."""
        density = np.empty(len(trials))
        for load, rows in trials.by_load.items():
            around = self._around(*self.encoding(values, load))
            density[rows] = around(trials.answer[rows])
            if (swapped := self.swapped(values, load)) > 0:
                mean = around(trials.answer[rows, None] - trials.beside["others"][rows, : load - 1]).mean(1)
                density[rows] = (1 - swapped) * density[rows] + swapped * mean
        attended = float(values.get("attended", 1.0))
        return np.log(np.maximum(attended * density + (1 - attended) / (2 * np.pi), LEAST))

    def _around(self, weights: np.ndarray, kappas: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        scaled = weights / (2 * np.pi * i0e(kappas))
        return lambda angle: np.exp(np.multiply.outer(np.cos(angle) - 1, kappas)) @ scaled

    def swapped(self, values: Values, load: int) -> float:
        """The share of answers about other items."""
        if not self.swaps or load < 2:
            return 0.0
        strength = (load - 1) * float(values["swap"])
        return strength / (1 + strength)

    def draw(self, values: Values, trials: Trials, random: np.random.RandomState) -> np.ndarray:
        """Errors in radians, from -pi to pi."""
        errors = np.empty(len(trials))
        for load, rows in trials.by_load.items():
            weights, kappas = self.encoding(values, load)
            kappa = kappas[np.searchsorted(np.cumsum(weights)[:-1], random.random_sample(len(rows)))]
            noise = np.where(
                kappa > 0, random.vonmises(0.0, np.maximum(kappa, 1e-9)), random.uniform(-np.pi, np.pi, len(rows))
            )
            centre = np.zeros(len(rows))
            swap = random.random_sample(len(rows)) < self.swapped(values, load)
            if swap.any():
                centre[swap] = trials.beside["others"][rows[swap], random.randint(load - 1, size=len(rows))[swap]]
            errors[rows] = np.angle(np.exp(1j * (centre + noise)))
        unattended = random.random_sample(len(trials)) >= float(values.get("attended", 1.0))
        return np.where(unattended, random.uniform(-np.pi, np.pi, len(trials)), errors)


class Slots(Report):
    """So many items are held, all with the same precision; others are guessed."""

    name = "slots"
    title = "slots"
    source = "Zhang & Luck (2008), Nature 453, 233-235"
    own = (CAPACITY, SD)

    def encoding(self, values: Values, load: int) -> tuple[np.ndarray, np.ndarray]:
        """Guesses, and items in a slot."""
        held = min(1.0, float(values["k"]) / load)
        return np.array([1 - held, held]), np.array([0.0, kappa_of_sd(float(values["sd"]))])


class Averaging(Report):
    """Slots that several of may hold one item, whose precision then adds up."""

    name = "slots-averaging"
    title = "slots and averaging"
    source = "Zhang & Luck (2008), Nature 453, 233-235"
    ours = (
        "Precision adds up as Fisher information; with 5 slots for 2 items, half of the items have 2 slots and half 3."
    )
    own = (CAPACITY, SD)

    def encoding(self, values: Values, load: int) -> tuple[np.ndarray, np.ndarray]:
        """Items with the next lower and the next higher number of slots."""
        share, fewer = math.modf(float(values["k"]) / load)
        kappa = kappa_of_sd(float(values["sd"]))
        single = kappa * float(i1e(kappa) / i0e(kappa))  # the precision of a memory of that concentration
        return np.array([1 - share, share]), kappa_of(single * np.array([fewer, fewer + 1]))


class Resource(Report):
    """All items share a resource equally: nothing is guessed, and precision falls with set size."""

    name = "resource"
    title = "equal resource"
    source = (
        "Bays & Husain (2008), Science 321, 851-854; Palmer (1990), JEP: Human Perception and Performance 16, 332-350"
    )
    own = (PRECISION, POWER)

    def encoding(self, values: Values, load: int) -> tuple[np.ndarray, np.ndarray]:
        """One precision for all."""
        return np.ones(1), kappa_of(np.array([float(values["precision"]) * load ** -float(values["power"])]))


class Variable(Report):
    """Precision varies from item to item and trial to trial by a gamma distribution, whose mean
    falls with set size."""

    name = "vp"
    title = "variable precision"
    source = "van den Berg, Shin, Chou, George & Ma (2012), PNAS 109, 8780-8785"
    ours = "No motor noise."
    own = (PRECISION, POWER, TAU)

    def encoding(self, values: Values, load: int) -> tuple[np.ndarray, np.ndarray]:
        """The nodes of the gamma distribution."""
        weights, precisions = gamma_nodes(
            float(values["precision"]) * load ** -float(values["power"]), float(values["tau"])
        )
        return weights, kappa_of(precisions)


class SlotsSwaps(Slots):
    """Slots, and answers about other items: at one set size the three components of Bays, Catalao
    and Husain."""

    name = "slots+swaps"
    title = "slots and swaps"
    source = "Bays, Catalao & Husain (2009), Journal of Vision 9(10):7"
    ours = "One strength of swapping and one capacity for all set sizes."
    swaps = True


class ResourceSwaps(Resource):
    """An equal resource, and answers about other items."""

    name = "resource+swaps"
    title = "equal resource and swaps"
    source = f"{Resource.source}; {SlotsSwaps.source}"
    swaps = True


class VariableSwaps(Variable):
    """Variable precision, and answers about other items."""

    name = "vp+swaps"
    title = "variable precision and swaps"
    source = f"{Variable.source}; {SlotsSwaps.source}"
    swaps = True
