"""Simulated observers by name, and the one with limited precision: its memory is noisy, so that it
errs at every level of difficulty. Yardsticks, no models of a result."""

from __future__ import annotations

from math import erf, sqrt
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from typing_extensions import override

from ..core.agent_kinds import PRECISION, AgentKind
from ..core.errors import SpanLabError
from ..paradigms import Answer, Percept, ResponseKind, Truth
from .oracles import Guessing, Ideal, Observer, Oracle, capacity_observer, set_size_of

if TYPE_CHECKING:
    from .base import AgentOptions

#: An item is recognised where its remembered value is off by less than this: half the way to the
#: next of four values on a circle.
_NEXT = 45.0
#: A recorded value, or a factor: by how many degrees what is compared with an item differs from it.
_DIFFERENCE = "difference_degrees"


class LimitedPrecision:
    """A memory without a limit of places, whose items share one precision: with N items, the
    standard deviation is that of one times the root of N.

    Values on a dial are answered with normal errors of that size. Where a trial says that what is
    compared differs by some degrees (``difference_degrees``), the error must be below these: of two
    answers, that is right with the probability ``Φ(difference_degrees / (sd √N))``. Other items are recognised where
    such an error is below 45°, with the probability ``erf(45 / (sd √(2 N)))``, and guessed
    otherwise: 99.7% of single items with ``sd`` 15, 92% of three, 74% of seven. So staircases
    reverse. The rule of the root is that of a resource that is shared evenly (Palmer, 1990, Journal
    of Experimental Psychology: HPP 16, 332-350).

    Parameters
    ----------
    sd : standard deviation of a single item, in degrees of 360
    """

    name = "precision"

    def __init__(self, sd: float = 15.0) -> None:
        if not 0 < sd <= 90:
            raise SpanLabError(
                "the observer with limited precision needs a standard deviation above 0, and up to 90 degrees"
            )
        self.sd = sd

    def fresh(self, seed: int) -> NoisyMemory:
        """Return the memory of one trial."""
        return NoisyMemory(self.sd, np.random.RandomState(seed % 2**32))

    def settings(self) -> dict[str, Any]:
        """Return the parameters, for the record."""
        return {"sd": self.sd}


class NoisyMemory:
    """The memory of one trial: every answer has an error of its own."""

    def __init__(self, sd: float, random: np.random.RandomState) -> None:
        self._sd, self._random = sd, random
        #: whether the last answer was known; None where none was given
        self._sure: bool | None = None

    def choose(self, percept: Percept, truth: Truth) -> Answer | None:
        """Return the answer to the question of this step, or None where nothing is asked."""
        if percept.ask is None:
            return None
        kind = percept.ask.kind
        if not kind.scored:
            return kind.unscored_answer(self._sure)
        if truth.answer is None:
            return None
        items = len(truth.answer) if isinstance(truth.answer, tuple) else set_size_of(truth)
        if items == 0:
            return truth.answer
        sd = self._sd * sqrt(items)
        if (dial := kind.surface().dial) is not None:
            assert isinstance(truth.answer, int)
            off = round(self._random.normal(0, sd) / 360 * len(dial.values))
            self._sure = abs(off) * 360 / len(dial.values) < _NEXT
            return dial.values[(dial.values.index(truth.answer) + off) % len(dial.values)]
        return self._recognised(kind, truth.answer, erf(_near(truth) / (sd * sqrt(2))))

    def _recognised(self, kind: ResponseKind, right: Answer, probability: float) -> Answer:
        """Answer with what is recognised, each item by itself, and with guesses for the others."""
        if not isinstance(right, tuple):
            self._sure = bool(self._random.random_sample() < probability)
            return right if self._sure else kind.guess(self._random)
        known = self._random.random_sample(len(right)) < probability
        self._sure = bool(known.all())
        if self._sure:
            return right
        kept = {value for value, sure in zip(right, known, strict=True) if sure}
        guesses: list[int | str | None] = []
        while len(guesses) < len(right):
            guess = kind.guess(self._random)
            assert isinstance(guess, tuple)
            guesses += [value for value in guess if value not in kept]
        spare = list(dict.fromkeys(guesses))
        while len(spare) < int((~known).sum()):  # few symbols, which may come again
            spare.append(guesses[int(self._random.randint(len(guesses)))])
        left = iter(spare)
        return tuple(value if sure else next(left) for value, sure in zip(right, known, strict=True))


def _near(truth: Truth) -> float:
    """Return the error in degrees from which on an item is not recognised."""
    difference = truth.record.get(_DIFFERENCE, truth.levels.get(_DIFFERENCE))
    stated = isinstance(difference, int | float) and not isinstance(difference, bool)
    return abs(float(difference)) if stated else _NEXT


def precision_observer(detail: str) -> LimitedPrecision:
    """Return the observer with this standard deviation in degrees; the default where nothing is
    named.

    Raises
    ------
    SpanLabError
        when that is not a number of degrees.
    """
    try:
        return LimitedPrecision(float(detail)) if detail else LimitedPrecision()
    except ValueError:
        raise SpanLabError(
            f"precision:SD takes a standard deviation in degrees, such as precision:20; found '{detail}'"
        ) from None


class PrecisionAgent(Oracle):
    """Remembers everything, with limited precision."""

    kind: ClassVar[AgentKind] = PRECISION
    usual = LimitedPrecision

    @classmethod
    @override
    def from_name(cls, detail: str, options: AgentOptions) -> PrecisionAgent:
        return cls(precision_observer(detail), ":".join(filter(None, ("precision", detail))))


def make_observer(name: str) -> Observer:
    """An observer by name: ``ideal``, ``chance``, ``capacity``, ``capacity:PLACES``, ``precision``
    or ``precision:SD``.

    Raises
    ------
    SpanLabError
        for an unknown one.
    """
    kind, _, detail = name.partition(":")
    if kind == "ideal" and not detail:
        return Ideal()
    if kind == "chance" and not detail:
        return Guessing()
    if kind == "capacity":
        return capacity_observer(detail)
    if kind == "precision":
        return precision_observer(detail)
    raise SpanLabError(
        f"unknown observer '{name}'; there are ideal, chance, capacity:PLACES (such as capacity:4) and precision:SD"
        " (such as precision:15)"
    )
