"""The rate limiter: a limit that follows the server, budgets per minute, older trials first.

All times are those of the running event loop, so that a loop with a clock of its own needs no real
time.
"""

from __future__ import annotations

import asyncio
import heapq
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final, Protocol

from ...interruptions import Stopped

_MINUTE_S: Final = 60.0
#: requests may be held up on their way by so much more than those after them: a server counts when
#: they arrive
_JITTER_S: Final = 1.0
#: what was accepted for so long back says what a server takes: long enough for servers that count
#: by the minute
_WINDOW_S: Final = 120.0
#: a pace that was found begins a little under what the server took, and grows by so much a minute
_UNDER: Final = 0.9
_GROWTH: Final = 0.1
#: how long nothing leaves after refusals without a reply in between: after the second this, then
#: twice as long each time
_HOLD_S: Final = 1.0
_LONGEST_HOLD_S: Final = 60.0
#: so many bursts of refusals within a minute say that it is not about how many are under way at
#: once
_BURSTS: Final = 3


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


class Pace:
    """The pace that a server takes which says nothing but that it was too much.

    At first there is none. A burst of refusals is one piece of news: what was sent before the first
    of them says nothing more, and one request alone tries whether it is over. When it is refused,
    too, or when there is news three times within a minute, the server does not mind how many are
    under way at once but how many come in a time. Then nothing leaves for a while (or for as long
    as the server asks) before the next one tries, and from what the server took in the last two
    minutes follows the pace at which the others go.
    """

    def __init__(self) -> None:
        #: requests a second; None while none was found
        self.rate: float | None = None
        self._accepted: deque[float] = deque()
        self._news: deque[float] = deque()
        self._began: float | None = None
        self._refused = 0
        self._trying = False
        self._calm_from = float("-inf")
        self._hold_until = float("-inf")
        self._last = float("-inf")
        self._grown_at = 0.0

    @property
    def tried(self) -> bool:
        """True while one request tries the server, and the others wait for it."""
        return self._refused > 0 and self._trying

    def wait(self, at: float) -> float:
        """Seconds until the next request may leave."""
        wait = self._hold_until - at
        if self.rate is not None:
            if at > self._grown_at:
                self.rate *= 1 + _GROWTH * (at - self._grown_at) / _MINUTE_S
                self._grown_at = at
            wait = max(wait, self._last + 1 / self.rate - at)
        return 0.0 if wait <= 1e-9 else max(wait, 1e-6)

    def take(self, at: float) -> None:
        """A request leaves."""
        self._began = at if self._began is None else self._began
        self._last = at
        self._trying = True

    def nothing(self, sent_at: float) -> None:
        """A request came to nothing, for a reason that says nothing of the pace."""
        self._trying &= sent_at < self._calm_from

    def accepted(self, sent_at: float, at: float) -> None:
        """A reply came."""
        self._accepted.append(at)
        while self._accepted and self._accepted[0] < at - _WINDOW_S:
            self._accepted.popleft()
        if sent_at < self._calm_from:
            return  # it was let in before the server had too much
        if self._refused > 1:
            self._find(at)
        self._refused = 0
        self._trying = False

    def refused(self, sent_at: float, at: float, asked_s: float | None = None) -> None:
        """The server had too much; ``asked_s``: how long it asks to be left alone."""
        if sent_at < self._calm_from:
            return
        self._calm_from = at
        self._trying = False
        self._refused += 1
        self._news.append(at)
        while self._news[0] < at - _MINUTE_S:
            self._news.popleft()
        if self._refused > 1:
            self._hold_until = at + (
                asked_s if asked_s is not None else min(_LONGEST_HOLD_S, _HOLD_S * 2 ** min(self._refused - 2, 30))
            )
        elif self.rate is not None or len(self._news) >= _BURSTS:
            self._find(at)

    def _find(self, at: float) -> None:
        """The pace, from what was accepted so far."""
        since = max(_HOLD_S, min(_WINDOW_S, at - (at if self._began is None else self._began)))
        self.rate = _UNDER * max(1, len(self._accepted)) / since
        self._grown_at = at


#: where a limit begins that follows the server
FIRST_LIMIT: Final = 8
#: for so long after it was halved a limit stays as it is: what a server refuses meanwhile belongs
#: to the same burst
COOL_DOWN_S: Final = 2.0


class Limit:
    """Limit on the number of requests under way.

    It begins small, doubles from reply to reply until the server first complains, and from then on
    grows by one in the time of one reply. When the server is too busy it is halved, at most once in
    a cool-down, and only for requests that were sent after the last time: all that a burst of
    refusals says is one thing.

    Parameters
    ----------
    most : it never grows over this
    fixed : it stays at this, whatever happens
    """

    def __init__(self, most: int, fixed: int | None = None) -> None:
        self._most = most
        self._fixed = fixed
        self._value = float(fixed if fixed is not None else min(FIRST_LIMIT, most))
        self._doubling = True
        self._calm_from = float("-inf")

    @property
    def fixed(self) -> bool:
        """True if the limit is fixed."""
        return self._fixed is not None

    @property
    def now(self) -> int:
        """The limit as a whole number, at least 1."""
        return int(self._value)

    def thrive(self, under_way: int, at: float) -> None:
        """A reply came, while so many were under way. A limit that was not made use of does not
        grow."""
        if self._fixed is None and at >= self._calm_from and 2 * under_way > self._value:
            self._value = min(self._most, self._value + (1 if self._doubling else 1 / self._value))

    def suffer(self, sent_at: float, at: float) -> bool:
        """The server was too busy for a request; whether the limit was halved for it."""
        if self._fixed is not None or sent_at < self._calm_from:
            return False
        self._value = max(1.0, self._value / 2)
        self._doubling = False
        self._calm_from = at + COOL_DOWN_S
        return True


class Budget(Protocol):
    """Budget of cost or tokens, and the share of it that a request may take."""

    def reserve(self, alone: bool) -> bool:
        """Hold it, if it is there. One that is ``alone`` is let in, to be told why it may not
        leave, unless it waits for what is held elsewhere."""
        ...

    def release(self) -> None:
        """Release what was reserved; the actual use is known now."""
        ...


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

    Parameters
    ----------
    limit : how many requests may be under way
    requests_per_minute, tokens_per_minute : budgets; None = no such budget
    """

    def __init__(
        self, limit: Limit, requests_per_minute: float | None = None, tokens_per_minute: float | None = None
    ) -> None:
        self._limit = limit
        self._pace = None if limit.fixed else Pace()
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
        return self._limit.now

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
        while self.open_trials >= self._limit.now:
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
        for free in self._places[: max(0, self._limit.now - self.open_trials)]:
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
            self._limit.suffer(passed.sent_at, at)
            if self._pace is not None:
                self._pace.refused(passed.sent_at, at, passed.wait_s)
        elif passed.answered:
            self._limit.thrive(self.under_way, at)
            if self._pace is not None:
                self._pace.accepted(passed.sent_at, at)
        elif self._pace is not None:
            self._pace.nothing(passed.sent_at)
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
        while self._waiting and self.under_way < self._limit.now:
            first, at = self._waiting[0], loop.time()
            if first.admitted.done():  # it gave up at this very moment
                heapq.heappop(self._waiting)
                continue
            if self._pace is not None and self._pace.tried:
                return
            costs = [
                (bucket, cost)
                for bucket, cost in zip(self._buckets(at), (1.0, first.tokens), strict=True)
                if bucket is not None
            ]
            waits = [bucket.wait(cost, at) for bucket, cost in costs] + (
                [] if self._pace is None else [self._pace.wait(at)]
            )
            if (wait := max(waits, default=0.0)) > 0:
                self._timer = loop.call_later(wait, self._admit)
                return
            if first.budget is not None and not first.budget.reserve(alone=not self.under_way):
                return  # when one of those under way comes back, it is known how much is left
            heapq.heappop(self._waiting)
            for bucket, cost in costs:
                bucket.take(cost, at)
            if self._pace is not None:
                self._pace.take(at)
            self.under_way += 1
            first.admitted.set_result(None)
