"""Answers of a simulated participant, the moves that give them, and their times: the same at the
window and at a page in a browser."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.errors import SpanLabError
from ...paradigms import Ask, Dial, Percept, Surface, Truth
from ...paradigms.responses.keys import is_key
from ..oracles import Observer
from .input.answering import CONFIRM_KEYS, DONE, TURN_KEYS, UNKNOWN, UNKNOWN_KEYS, Button

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
    return max(FASTEST_MS, (random.normal(mean, deviation) + random.exponential(tail)) / speed) / 1000.0


def observer_settings(observer: Observer, seed: int, speed: float) -> dict[str, Any]:
    """Return observer, seed and speed, and how reaction times are drawn, for the record."""
    return {
        "observer": observer.name,
        **{f"observer_{name}": value for name, value in observer.settings().items()},
        "seed": seed,
        "speed": speed,
        "reaction_times": {
            "distribution": (
                "ex-Gaussian (mean and standard deviation of the Gaussian part, mean of the exponential part), divided"
                " by speed"
            ),
            "answer_ms": list(ANSWER_MS),
            "next_mark_ms": list(NEXT_MARK_MS),
            "go_on_ms": list(GO_ON_MS),
            "fastest_ms": FASTEST_MS,
        },
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


@dataclass(frozen=True, slots=True)
class Move:
    """Something that a hand does in one go: it presses ``keys`` one after the other, or in their
    place a ``button`` below the canvas or a ``place`` on it (in canvas units), where there is one;
    or it writes a ``text``."""

    keys: tuple[str, ...] = ()
    button: Button = ""
    place: tuple[float, float] | None = None
    text: str = ""


def moves(ask: Ask, value: Any, choose: Callable[[Sequence[str]], str]) -> list[Move]:
    """Return the moves that answer a question with a value.

    Parameters
    ----------
    choose : takes one of the keys that stand for the same

    Raises
    ------
    SpanLabError
        when there is nothing to press for it.
    """
    surface, parts = ask.kind.surface(), ask.kind.values_of(value)
    if surface.dial is not None:
        return [Move((*turning_keys(surface.dial, value), CONFIRM_KEYS[0]), place=surface.dial.place_of(value))]
    if surface.ordered is not None and surface.ordered.written:
        (text,) = parts
        below: tuple[Button, ...] = (DONE, UNKNOWN)
        button = DONE if text is not None else UNKNOWN
        end = Move((*["tab"] * (below.index(button) + 1), CONFIRM_KEYS[0]), button)
        return [Move(text=str(text)), end] if text else [end]
    made = [_move(surface, part, choose) for part in parts]
    return [*made, Move((CONFIRM_KEYS[0],), DONE)] if surface.several else made


def _move(surface: Surface, value: int | str | None, choose: Callable[[Sequence[str]], str]) -> Move:
    """The move that gives one value of an answer; None is "don't know"."""
    if value is None:
        key = next((key for key in UNKNOWN_KEYS if key not in dict(surface.keys)), None)
        return Move(() if key is None else (key,), UNKNOWN)
    keys = [key for key, stands_for in surface.keys if stands_for == value and is_key(key)]
    region = next((region for region in surface.regions if region.value == value), None)
    if region is None and not keys:
        raise SpanLabError(
            f"there is no key and no place to click for the answer {value!r}; the response kind has to declare one"
        )
    place = None if region is None else ((region.x0 + region.x1) / 2, (region.y0 + region.y1) / 2)
    return Move((choose(keys),) if keys else (), place=place)
