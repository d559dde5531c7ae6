"""Agents without eyes: the guesser, and the declared oracles."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ..paradigms import Percept, Truth
from .observers import Ideal, LimitedCapacity, Observer
from .protocol import Briefing, Response


class Chance:
    """Guesses: a uniformly random allowed answer to every question. No oracle: it is handed nothing but percepts."""

    kind: ClassVar[str] = "chance"
    oracle: ClassVar[bool] = False
    name = "chance"

    def start(self, briefing: Briefing) -> ChanceMind:
        return ChanceMind(briefing.seed)

    def settings(self) -> dict[str, Any]:
        return {}


class ChanceMind:
    def __init__(self, seed: int) -> None:
        self._random = np.random.RandomState(seed % 2**32)

    async def step(self, percept: Percept) -> Response | None:
        if percept.ask is None:
            return None
        return Response(percept.ask.kind.guess(self._random))


class Oracle:
    """An observer that is handed the truth, and says so in every record."""

    kind: ClassVar[str]
    oracle: ClassVar[bool] = True

    def __init__(self, observer: Observer, name: str) -> None:
        self.observer = observer
        self.name = name

    def start(self, briefing: Briefing) -> OracleMind:
        return OracleMind(self.observer, briefing.seed)

    def settings(self) -> dict[str, Any]:
        return {"observer": self.observer.name, **self.observer.settings()}


class IdealAgent(Oracle):
    """Remembers everything."""

    kind: ClassVar[str] = "ideal"

    def __init__(self) -> None:
        super().__init__(Ideal(), "ideal")


class CapacityAgent(Oracle):
    """Remembers what a limited buffer keeps."""

    kind: ClassVar[str] = "capacity"

    def __init__(self, observer: LimitedCapacity | None = None, name: str = "capacity") -> None:
        super().__init__(observer or LimitedCapacity(), name)


class OracleMind:
    def __init__(self, observer: Observer, seed: int) -> None:
        self._memory = observer.fresh(seed)

    async def step(self, percept: Percept, truth: Truth) -> Response | None:
        answer = self._memory.choose(percept, truth)
        return None if percept.ask is None else Response(answer, outcome="omitted" if answer is None else "answered")
