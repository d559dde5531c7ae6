"""Answers of a simulated participant, and their times: the same at the window and at a page in a
browser."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...paradigms import Dial, Percept, Truth
from ..oracles import Observer
from .input.answering import TURN_KEYS

#: Reaction times are ex-Gaussian: (mean and standard deviation of the Gaussian part, mean of the
#: exponential part), in ms.
ANSWER_MS = (650.0, 90.0, 180.0)
#: From one mark to the next, when several make the answer.
NEXT_MARK_MS = (330.0, 50.0, 90.0)
#: From one key that moves a mark on a dial to the next.
NEXT_TURN_MS = (110.0, 15.0, 20.0)
#: To a display that is self-paced without a question, and to a page.
GO_ON_MS = (700.0, 100.0, 200.0)
#: No answer comes earlier than this, whatever the speed.
FASTEST_MS = 60.0
#: So long after the refractory times have passed, an answer to a self-paced question comes at the
#: earliest: they count from the flip, as the window has it.
AFTER_REFRACTORY_MS = 10.0


class Decisions:
    """Answers of an observer in one trial.

    Parameters
    ----------
    seed : of the trial: the same seed gives the same answers
    """

    def __init__(self, observer: Observer, seed: int) -> None:
        self.memory = observer.fresh(seed)
        self._guess = np.random.RandomState([seed % 2**32, 1])

    def value(self, percept: Percept, truth: Truth) -> Any:
        """The answer to a step; None for none. Where a question waits until there is an answer,
        there is one."""
        value = self.memory.choose(percept, truth)
        if percept.ask is not None and value is None and percept.ask.window_ms is None:
            value = percept.ask.kind.guess(self._guess)
        return value


def drawn_seconds(random: np.random.RandomState, distribution: tuple[float, float, float], speed: float) -> float:
    """One ex-Gaussian time, in seconds, of somebody who is so many times as fast."""
    mean, deviation, tail = distribution
    ms = (random.normal(mean, deviation) + random.exponential(tail)) / speed
    return max(FASTEST_MS, ms) / 1000.0


def observer_settings(observer: Observer, seed: int, speed: float) -> dict[str, Any]:
    """Return observer, seed and speed, for the record."""
    return {
        "observer": observer.name,
        **{f"observer_{name}": value for name, value in observer.settings().items()},
        "seed": seed,
        "speed": speed,
    }


def reaction_times() -> dict[str, Any]:
    """Return how reaction times are drawn, for the settings of an agent."""
    return {
        "distribution": (
            "ex-Gaussian (mean and standard deviation of the Gaussian part, mean of the exponential part), divided by"
            " speed"
        ),
        "answer_ms": list(ANSWER_MS),
        "next_mark_ms": list(NEXT_MARK_MS),
        "go_on_ms": list(GO_ON_MS),
        "fastest_ms": FASTEST_MS,
    }


def turning_keys(dial: Dial, value: int) -> list[str]:
    """The keys that move the mark from where it begins to a value; where it is there already, one
    forth and one back."""
    count, by_step = len(dial.values), {steps: key for key, steps in TURN_KEYS.items()}
    left = (dial.values.index(value) - dial.start + count // 2) % count - count // 2
    if left == 0:
        return [by_step[1], by_step[-1]]
    coarse = round(left / 10)
    keys = [by_step[10 if coarse > 0 else -10]] * abs(coarse)
    fine = left - 10 * coarse
    return keys + [by_step[1 if fine > 0 else -1]] * abs(fine)
