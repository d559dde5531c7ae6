"""The guesser, and the declared oracles: simulated observers that decide given the truth. They are
yardsticks and stand-ins, never models of a result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
from typing_extensions import override

from ..core.agent_kinds import CAPACITY, CHANCE, IDEAL, AgentKind
from ..core.errors import SpanLabError
from ..paradigms import Answer, Percept, ResponseKind, Truth
from .base import Agent, AgentOptions, Episode, Response, TrialContext

if TYPE_CHECKING:
    from ..paradigms.responses import SerialOrder


class Chance(Agent):
    """Guesses: a uniformly random allowed answer to every question. It is no oracle: all that it gets are
    percepts."""

    kind: ClassVar[AgentKind] = CHANCE

    @override
    def start(self, context: TrialContext) -> ChanceEpisode:
        return ChanceEpisode(context.seed)


class ChanceEpisode(Episode):
    def __init__(self, seed: int) -> None:
        self._random = np.random.RandomState(seed % 2**32)

    @override
    async def step(self, percept: Percept, truth: Truth | None = None) -> Response | None:
        return percept.ask and Response(percept.ask.kind.guess(self._random))


class ItemMemory(Protocol):
    """An observer's state during one trial."""

    def choose(self, percept: Percept, truth: Truth) -> Answer | None:
        """The answer to the question of this step; called for every step, gives None where nothing
        is asked."""


class Observer(Protocol):
    """Decides for an oracle."""

    name: str

    def fresh(self, seed: int) -> ItemMemory: ...

    def settings(self) -> dict[str, Any]: ...


class Ideal:
    """Remembers everything."""

    name = "ideal"

    def fresh(self, seed: int) -> ItemMemory:
        return self

    def choose(self, percept: Percept, truth: Truth) -> Answer | None:
        if percept.ask is not None and truth.answer is None and not percept.ask.kind.scored:
            return percept.ask.kind.unscored_answer(True)
        return percept.ask and truth.answer

    def settings(self) -> dict[str, Any]:
        return {}


class Guessing:
    """Remembers nothing: a uniformly random allowed answer. It never looks at the truth."""

    name = "chance"

    def fresh(self, seed: int) -> ItemMemory:
        return _Guesser(seed)

    def settings(self) -> dict[str, Any]:
        return {}


class _Guesser:
    def __init__(self, seed: int) -> None:
        self._random = np.random.RandomState(seed % 2**32)

    def choose(self, percept: Percept, truth: Truth) -> Answer | None:
        return percept.ask and percept.ask.kind.guess(self._random)


class LimitedCapacity:
    """A buffer of few places, with displacement, rehearsal of the first item and decay.

    Items enter one after another. When the buffer is full, a new item takes the place of one that
    is there: each is equally likely to go, but the first of the list is ``primacy`` times as likely
    to stay (recency and primacy). Every question that is asked lets each remembered item go with
    probability ``decay``. What is not remembered is guessed.

    A question is about the item at its serial position, where the trial records one, else about one
    of the items, each equally likely and none twice. Where a list is answered at once, all items of
    the list come in, also those before the ones that are asked for. Where more is asked than there
    are items (memory is updated all along), each question finds its item with the probability of
    one that came ``set_size`` questions before. A question for which nothing need be held
    (``set_size`` 0) is answered correctly, and takes nothing from the others.

    Parameters
    ----------
    places : size of the buffer
    primacy : how many times safer the first item is from displacement
    decay : probability of losing an item at each question
    """

    name = "capacity"

    def __init__(self, places: int = 3, primacy: float = 3.0, decay: float = 0.06) -> None:
        if places < 1 or primacy <= 0 or not 0 <= decay < 1:
            raise SpanLabError(
                "the capacity observer needs at least 1 place, primacy above 0 and decay from 0 to below 1"
            )
        self.places, self.primacy, self.decay = places, primacy, decay

    def fresh(self, seed: int) -> ItemMemory:
        return _Buffer(self, np.random.RandomState(seed % 2**32))

    def settings(self) -> dict[str, Any]:
        return {"places": self.places, "primacy": self.primacy, "decay": self.decay}


class _Buffer:
    def __init__(self, observer: LimitedCapacity, random: np.random.RandomState) -> None:
        self._observer, self._random = observer, random
        self._kept: set[int] | None = None
        #: whether it remembered what was asked last; None before that, and of lists
        self._sure: bool | None = None
        self._order: list[int] = []
        self._asked = 0

    def choose(self, percept: Percept, truth: Truth) -> Answer | None:
        if percept.ask is not None and not percept.ask.kind.scored:
            return percept.ask.kind.unscored_answer(self._sure)
        if percept.ask is None or truth.answer is None:
            return None
        right, kind = truth.answer, percept.ask.kind
        size = _list_length(kind, right) if isinstance(right, tuple) else set_size_of(truth)
        if size == 0:
            return right
        if self._kept is None:
            self._kept = self._fill(size)
            self._order = [int(item) + 1 for item in self._random.permutation(size)]
        elif not isinstance(right, tuple):
            self._kept = {item for item in sorted(self._kept) if self._random.random_sample() >= self._observer.decay}
        self._asked += 1
        if isinstance(right, tuple):
            return self._recall(kind, right)
        self._sure = self._remembers(truth, size)
        return right if self._sure else kind.guess(self._random)

    def _remembers(self, truth: Truth, size: int) -> bool:
        """Return whether the item is kept that this question is about."""
        assert self._kept is not None
        if self._asked > min(size, len(self._order)):
            return self._random.random_sample() < (
                min(1.0, self._observer.places / size) * (1 - self._observer.decay) ** size
            )
        return (truth.record.get("serial_position") or self._order[self._asked - 1]) in self._kept

    def _fill(self, size: int) -> set[int]:
        """The items that survive presentation, numbered from 1."""
        buffer: list[int] = []
        for item in range(1, size + 1):
            if len(buffer) == self._observer.places:
                weights = np.array([1 / self._observer.primacy if kept == 1 else 1.0 for kept in buffer])
                buffer.pop(int(self._random.choice(len(buffer), p=weights / weights.sum())))
            buffer.append(item)
        return set(buffer)

    def _recall(self, kind: ResponseKind, right: tuple[int | str | None, ...]) -> Answer:
        """Return a list as far as it is remembered, the freshest first where order is not asked, and
        guesses for the rest."""
        from ..paradigms.responses import SerialOrder

        if isinstance(kind, SerialOrder):
            return self._recall_in_order(kind, right)
        assert self._kept is not None
        known = [right[item - 1] for item in sorted(self._kept, reverse=True) if item <= len(right)]
        guesses: list[int | str | None] = []
        while len(known) + len(guesses) < len(right):
            guess = kind.guess(self._random)
            assert isinstance(guess, tuple)
            guesses += [cell for cell in guess if cell not in known and cell not in guesses]
        return tuple([*known, *guesses][: len(right)])

    def _recall_in_order(self, kind: SerialOrder, right: tuple[int | str | None, ...]) -> Answer:
        """Return what is remembered in its place, and guesses in the others."""
        assert self._kept is not None
        positions = kind.positions or range(1, len(right) + 1)
        known = {place for place, position in enumerate(positions) if position in self._kept}
        guesses = list(kind.guess(self._random)[: len(right)])  # type: ignore[index]
        if not kind.repeats:
            given = {right[place] for place in known}
            spare = [value for value in kind.values if value not in given]
            guesses = [spare[int(number)] for number in self._random.permutation(len(spare))[: len(right)]]
        rest = iter(guesses)
        return tuple(right[place] if place in known else next(rest) for place in range(len(right)))


def _list_length(kind: ResponseKind, right: tuple[int | str | None, ...]) -> int:
    """Return how many items came in before a list is asked for; the question may be about the last of
    them only."""
    from ..paradigms.responses import SerialOrder

    return max(kind.positions) if isinstance(kind, SerialOrder) and kind.positions else len(right)


def set_size_of(truth: Truth) -> int:
    """Return how many items must be held for this question; 1 when the paradigm does not say."""
    size = truth.record.get("set_size", truth.levels.get("set_size"))
    return 1 if size is None else int(size)


def capacity_observer(detail: str) -> LimitedCapacity:
    """The limited observer with so many places; the default when nothing is said.

    Raises
    ------
    SpanLabError
        when that is not a number of places.
    """
    if detail and not (detail.isdecimal() and len(detail) <= 3):
        raise SpanLabError(f"capacity:PLACES takes a number of places, such as capacity:4; found '{detail}'")
    return LimitedCapacity(places=int(detail)) if detail else LimitedCapacity()


class Oracle(Agent):
    """An observer that is handed the truth, and says so in every record.

    Parameters
    ----------
    observer : who decides for it; the one of its kind when not given
    name : as it was asked for; that of its kind when not given
    """

    #: the observer of its kind
    usual: ClassVar[type[Observer]]

    def __init__(self, observer: Observer | None = None, name: str = "") -> None:
        self.observer = observer or self.usual()
        self.name = name or self.kind.name

    @override
    def start(self, context: TrialContext) -> OracleEpisode:
        return OracleEpisode(self.observer, context.seed)

    @override
    def settings(self) -> dict[str, Any]:
        return {"observer": self.observer.name, **self.observer.settings()}


class IdealAgent(Oracle):
    """Remembers everything."""

    kind: ClassVar[AgentKind] = IDEAL
    usual = Ideal


class CapacityAgent(Oracle):
    """Remembers what a limited buffer keeps."""

    kind: ClassVar[AgentKind] = CAPACITY
    usual = LimitedCapacity

    @classmethod
    @override
    def from_name(cls, detail: str, options: AgentOptions) -> CapacityAgent:
        return cls(capacity_observer(detail), ":".join(filter(None, ("capacity", detail))))


class OracleEpisode(Episode):
    def __init__(self, observer: Observer, seed: int) -> None:
        self._memory = observer.fresh(seed)

    @override
    async def step(self, percept: Percept, truth: Truth | None = None) -> Response | None:
        assert truth is not None, "the runner hands the truth to declared oracles"
        answer = self._memory.choose(percept, truth)
        if percept.ask is None:
            return None
        return Response(answer, outcome="omitted" if answer is None else "answered")
