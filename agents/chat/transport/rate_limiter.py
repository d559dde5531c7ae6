"""The rate limiter: so many requests at once, fewer when the server is too busy; budgets per minute;
older trials first.

All times are those of the running event loop, so that a loop with a clock of its own needs no real
time.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final, Protocol

from ...interruptions import Stopped

_MINUTE_S: Final = 60.0
#: requests may be held up on their way by so much more than those after them: a server counts when
#: they arrive
_JITTER_S: Final = 1.0


class Bucket:
    """A budget a minute, handed out evenly: it holds what flows in within a second, and at least
    one.

    Never more than ``per_minute`` leave it within any minute and a second, save that what costs
    more than it holds may leave a full one, which then owes the rest. It begins with one: what left
    before, in another program, may still count.
    """

    def __init__(self, per_minute: float, at: float) -> None:
        self._size = max(1.0, per_minute / _MINUTE_S)
        self._flow = (per_minute - self._size + 1) / (_MINUTE_S + _JITTER_S)
        self._level = 1.0
        self._at = at

    def _fill(self, at: float) -> None:
        if at > self._at:
            self._level = min(self._size, self._level + (at - self._at) * self._flow)
            self._at = at

    def wait(self, amount: float, at: float) -> float:
        """Seconds until so much may be taken."""
        self._fill(at)
        missing = min(amount, self._size) - self._level
        # what rounding leaves over must not become a wait that is too short for any clock
        return 0.0 if missing <= 1e-9 else max(missing / self._flow, 1e-6)

    def take(self, amount: float, at: float) -> None:
        """Take it, or give some back when it is negative."""
        self._fill(at)
        self._level = min(self._size, self._level - amount)


class Budget(Protocol):
    """Budget of cost or tokens, and the share of it that a request may take."""

    def reserve(self, alone: bool) -> bool:
        """Hold it, if it is there. One that is ``alone`` is let in, to be told why it may not
        leave, unless it waits for what is held elsewhere."""
        ...

    def release(self) -> None:
        """Release what was reserved; the actual use is known now."""


@dataclass(order=True, slots=True)
class _Waiting:
    order: int
    number: int
    tokens: float = field(compare=False)
    budget: Budget | None = field(compare=False)
    admitted: asyncio.Future[None] = field(compare=False)


@dataclass(slots=True)
class Pass:
    """A request that may be sent now. What became of it is noted here before it leaves the limiter.

    ``tokens`` are those that it took, as far as that is known; ``busy``: the server was too busy
    for it, and asked to be left alone for ``wait_s``; ``answered``: a reply came.
    """

    sent_at: float
    expected: float
    tokens: float | None = None
    busy: bool = False
    wait_s: float | None = None
    answered: bool = False


class RateLimiter:
    """Rate limiter: requests wait in it until they may be sent, and trials until they may begin.

    When the server is too busy, the number of requests at once is halved, and nothing leaves for as
    long as it asks to be left alone. Refusals of requests that were sent before count as the
    same refusal. Replies let the number grow again, by one in the time of one reply, up to the one
    that was chosen.

    Parameters
    ----------
    concurrency : how many requests may be under way
    requests_per_minute, tokens_per_minute : budgets; None = no such budget
    """

    def __init__(
        self, concurrency: int, requests_per_minute: float | None = None, tokens_per_minute: float | None = None
    ) -> None:
        self._most, self._now = concurrency, float(concurrency)
        self._calm_from = self._hold_until = float("-inf")
        self._per_minute = (requests_per_minute, tokens_per_minute)
        self._budgets: tuple[Bucket | None, Bucket | None] | None = None
        self._waiting: list[_Waiting] = []
        self._number = 0
        self._timer: asyncio.TimerHandle | None = None
        self._places: list[asyncio.Future[None]] = []
        self._pausing: set[asyncio.Future[None]] = set()
        self._stopping = ""
        #: requests that were sent and have not come back
        self.under_way = 0
        #: trials that have begun and are not over
        self.open_trials = 0

    @property
    def limit(self) -> int:
        """The number of requests that may be under way now."""
        return int(self._now)

    def stop(self, why: str) -> None:
        """Let nothing new in from now on: whoever waits, or comes, gets :class:`Stopped`."""
        self._stopping = self._stopping or why
        for future in (*(waiting.admitted for waiting in self._waiting), *self._places, *self._pausing):
            if not future.done():
                future.set_exception(Stopped(self._stopping))
        self._waiting.clear()

    def look(self) -> None:
        """Let in whoever may go now: what they may take can have changed elsewhere."""
        if self._waiting:
            self._admit()

    def check(self) -> None:
        """Raise :class:`Stopped` when nothing new may begin."""
        if self._stopping:
            raise Stopped(self._stopping)

    async def pause(self, seconds: float) -> None:
        """Wait before a request is sent again.

        Raises
        ------
        Stopped
            as soon as no new request may begin.
        """
        self.check()
        over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._pausing.add(over)
        try:
            async with asyncio.timeout(seconds):
                await over
        except TimeoutError:
            pass
        finally:
            self._pausing.discard(over)

    @asynccontextmanager
    async def place(self) -> AsyncGenerator[None]:
        """A place for one trial: there are as many as requests may be under way, so that trials are
        finished rather than begun."""
        self.check()
        while self.open_trials >= self.limit:
            free: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._places.append(free)
            try:
                await free
            finally:
                if free in self._places:
                    self._places.remove(free)
        self.open_trials += 1
        try:
            yield
        finally:
            self.open_trials -= 1
            self._open_places()

    def _open_places(self) -> None:
        for free in self._places[: max(0, self.limit - self.open_trials)]:
            if not free.done():
                free.set_result(None)

    @asynccontextmanager
    async def request(self, order: int, tokens: float = 0.0, budget: Budget | None = None) -> AsyncGenerator[Pass]:
        """Wait until a request may be sent; it is under way until the context ends.

        Parameters
        ----------
        order : those of a lower number go first
        tokens : how many it is expected to take
        budget : what it may cost, held from the moment when it is let in

        Raises
        ------
        Stopped
            when no new request may begin.
        """
        self.check()
        await self._enter(order, tokens, budget)
        passed = Pass(asyncio.get_running_loop().time(), tokens)
        try:
            yield passed
        finally:
            self._leave(passed, budget)

    async def _enter(self, order: int, tokens: float, budget: Budget | None) -> None:
        waiting = _Waiting(order, self._number, tokens, budget, asyncio.get_running_loop().create_future())
        self._number += 1
        heapq.heappush(self._waiting, waiting)
        self._admit()
        try:
            await waiting.admitted
        except asyncio.CancelledError:
            if waiting in self._waiting:
                self._waiting.remove(waiting)
                heapq.heapify(self._waiting)
            elif waiting.admitted.done() and not waiting.admitted.cancelled() and waiting.admitted.exception() is None:
                self.under_way -= 1  # it was let in at the very moment
                if budget is not None:
                    budget.release()
                self._admit()
            raise

    def _leave(self, passed: Pass, budget: Budget | None) -> None:
        at = asyncio.get_running_loop().time()
        if passed.busy:
            self._hold_until = max(self._hold_until, at + (passed.wait_s or 0.0))
            if passed.sent_at >= self._calm_from:
                self._now, self._calm_from = max(1.0, self._now / 2), at
        elif passed.answered and passed.sent_at >= self._calm_from:
            self._now = min(self._most, self._now + 1 / self._now)
        self.under_way -= 1
        if budget is not None:
            budget.release()
        tokens = self._buckets(at)[1]
        if tokens is not None and passed.tokens is not None:
            tokens.take(passed.tokens - passed.expected, at)
        self._admit()
        self._open_places()

    def _buckets(self, at: float) -> tuple[Bucket | None, Bucket | None]:
        if self._budgets is None:
            requests, tokens = (None if budget is None else Bucket(budget, at) for budget in self._per_minute)
            self._budgets = (requests, tokens)
        return self._budgets

    def _admit(self) -> None:
        """Let in whoever may go now, the oldest trial first; come back when the budgets allow the
        next one."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        loop = asyncio.get_running_loop()
        while self._waiting and self.under_way < self.limit:
            first, at = self._waiting[0], loop.time()
            if first.admitted.done():  # it gave up at this very moment
                heapq.heappop(self._waiting)
                continue
            costs = [
                (bucket, cost)
                for bucket, cost in zip(self._buckets(at), (1.0, first.tokens), strict=True)
                if bucket is not None
            ]
            wait = max([bucket.wait(cost, at) for bucket, cost in costs], default=0.0)
            if (wait := max(wait, self._hold_until - at)) > 1e-9:
                self._timer = loop.call_later(wait, self._admit)
                return
            if first.budget is not None and not first.budget.reserve(alone=not self.under_way):
                return  # when one of those under way comes back, it is known how much is left
            heapq.heappop(self._waiting)
            for bucket, cost in costs:
                bucket.take(cost, at)
            self.under_way += 1
            first.admitted.set_result(None)
