"""Agents without eyes: the guesser, and the declared oracles."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from typing_extensions import override

from ..core.agent_kinds import CAPACITY, CHANCE, IDEAL, AgentKind
from ..paradigms import Percept, Truth
from .base import Agent, AgentOptions, Episode, Response, TrialContext
from .observers import Ideal, LimitedCapacity, Observer, capacity_observer


class Chance(Agent):
    """Guesses: a uniformly random allowed answer to every question. No oracle: it is handed nothing but percepts."""

    kind: ClassVar[AgentKind] = CHANCE

    @override
    def start(self, context: TrialContext) -> ChanceEpisode:
        return ChanceEpisode(context.seed)


class ChanceEpisode(Episode):
    def __init__(self, seed: int) -> None:
        self._random = np.random.RandomState(seed % 2**32)

    @override
    async def step(self, percept: Percept, truth: Truth | None = None) -> Response | None:
        if percept.ask is None:
            return None
        return Response(percept.ask.kind.guess(self._random))


class Oracle(Agent):
    """An observer that is handed the truth, and says so in every record."""

    def __init__(self, observer: Observer, name: str) -> None:
        self.observer = observer
        self.name = name

    @override
    def start(self, context: TrialContext) -> OracleEpisode:
        return OracleEpisode(self.observer, context.seed)

    @override
    def settings(self) -> dict[str, Any]:
        return {"observer": self.observer.name, **self.observer.settings()}


class IdealAgent(Oracle):
    """Remembers everything."""

    kind: ClassVar[AgentKind] = IDEAL

    def __init__(self) -> None:
        super().__init__(Ideal(), "ideal")


class CapacityAgent(Oracle):
    """Remembers what a limited buffer keeps."""

    kind: ClassVar[AgentKind] = CAPACITY

    def __init__(self, observer: LimitedCapacity | None = None, name: str = "capacity") -> None:
        super().__init__(observer or LimitedCapacity(), name)

    @classmethod
    @override
    def from_name(cls, detail: str, options: AgentOptions) -> CapacityAgent:
        return cls(capacity_observer(detail), f"capacity:{detail}" if detail else "capacity")


class OracleEpisode(Episode):
    def __init__(self, observer: Observer, seed: int) -> None:
        self._memory = observer.fresh(seed)

    @override
    async def step(self, percept: Percept, truth: Truth | None = None) -> Response | None:
        assert truth is not None, "the runner hands the truth to declared oracles"
        answer = self._memory.choose(percept, truth)
        return None if percept.ask is None else Response(answer, outcome="omitted" if answer is None else "answered")
