"""The life of a request: it waits, leaves, is answered or comes to nothing, and is accounted for; what
went wrong where it came to nothing; and the rate limiter in which it waits.

The rate limiter lets so many requests go at once, fewer when the server is too busy, older trials
first, within budgets per minute. All of its times are those of the running event loop, so that a loop
with a clock of its own needs no real time.
"""

from __future__ import annotations

import asyncio
import heapq
import random
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final, Literal

from ....core.json_values import where_given
from ...interruptions import Stopped
from ...payments import Journal
from ..cost.account import Account, Sum
from ..messages import Reply, Taken
from .endpoint import EndpointError

_MINUTE_S: Final = 60.0
#: requests may be held up on their way by so much more than those after them: a server counts when
#: they arrive
_JITTER_S: Final = 1.0


#: what went wrong, in a word: the server wants fewer requests, failed, was cut off, took too long,
#: sent what is no reply, or a filter took it away
FaultWord = Literal["rate_limit", "server", "connection", "timeout", "garbage", "filter"]

_FIRST_S: Final = 0.5
_LONGEST_S: Final = 60.0
#: the request, or a gateway on its way, took too long
_LATE: Final = frozenset({408, 504, 524})
#: so often a request is repeated while the server has never given a reply: it may not be there at
#: all
TRIES_OF_STRANGERS: Final = 2


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a request brought no reply.

    Parameters
    ----------
    word : the kind
    error : the sentence for the user, should nothing help
    busy : whether it says that there are too many requests
    wait_s : how long the server asked to wait; None when it said nothing
    begun : whether a reply may have been under way, which has to be paid for although it never came
    taken : the tokens that the server counted for it, where it told them
    """

    word: FaultWord
    error: EndpointError
    busy: bool = False
    wait_s: float | None = None
    begun: bool = False
    taken: Taken | None = None

    @property
    def stranger(self) -> bool:
        """True if the fault may mean that this is not a chat server at all."""
        return self.word in ("connection", "garbage")

    def pause(self, before: int, seed: str) -> float:
        """Seconds to wait before the request is sent again: what the server asked for, or else
        twice as long each time; with some chance, so that requests that failed together do not come
        back together.

        Parameters
        ----------
        before : how often it has failed before
        seed : of the chance
        """
        chance = random.Random(f"{seed} {before}").random()
        if self.wait_s is not None:
            return self.wait_s * (1 + 0.1 * chance)
        return min(_FIRST_S * 2 ** min(before, 30), _LONGEST_S) * (0.5 + 0.5 * chance)


def fault_of_status(told: EndpointError, status: int, wait_s: float | None = None) -> Fault:
    """The fault of a refusal that has been put into a sentence. One by somebody between us and the
    model, who did not wait for its reply, may have to be paid for."""
    busy = not told.permanent and status in (402, 429, 503, 529)
    word: FaultWord = "timeout" if status in _LATE else "server"
    if told.filtered:
        word = "filter"
    elif status == 429 or (busy and status == 402):
        word = "rate_limit"
    return Fault(word, told, busy, wait_s, begun=status in _LATE)


def asked_wait(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Return the seconds that a server asks to wait: ``retry-after-ms``, or ``Retry-After`` in
    seconds or as a date. None when it says nothing that can be read."""
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) / unit
        except ValueError:
            continue
        if 0 <= seconds < float("inf"):
            return seconds
    try:
        until = parsedate_to_datetime(headers.get("retry-after", ""))
    except ValueError:
        return None
    # the server's own clock counts, where it tells it
    try:
        since = parsedate_to_datetime(headers["date"]) if "date" in headers else None
    except ValueError:
        since = None
    return max(0.0, (_with_zone(until) - _with_zone(since or now or datetime.now(UTC))).total_seconds())


def _with_zone(time: datetime) -> datetime:
    """A time; one without a zone is meant in UTC."""
    return time if time.tzinfo is not None else time.replace(tzinfo=UTC)


class Departures:
    """Notes every departure of a request in a journal, before it leaves and when it is gone, and what
    came to nothing.

    Parameters
    ----------
    about : the request
    """

    def __init__(self, journal: Journal, about: Mapping[str, Any]) -> None:
        self._journal, self._about = journal, about

    def leaves(self) -> None:
        """It leaves now, for the first time or again."""
        self._journal.begun(self._about)

    def gone(self) -> None:
        """The whole request has been sent."""
        self._journal.gone(self._about)

    def fails(self, fault: Fault, left: bool, in_doubt: bool) -> None:
        """It came to nothing; ``left``: whether it had left at all, ``in_doubt``: whether it is not
        known that it reached the server."""
        record = {**self._about, "fault": fault.word}
        if not left:
            self._journal.unsent(record)
        elif fault.begun:
            taken = fault.taken and fault.taken.model_dump(exclude_none=True)
            self._journal.lost({**record, **where_given(taken=taken, in_doubt=in_doubt)})
        else:
            self._journal.refused(record)


class Departure:
    """One departure of a request: from the moment when it waits to be let in until it is known what
    it took.

    No server can answer a request before its body arrives. So a request leaves when the connection
    stands, the headers are sent and the body is next: what fails or is killed before that is not a
    departure. It is gone when all of the body was handed to the system, which delivers it whatever
    becomes of this program. In between, and where a connection was closed in order without a byte
    of a reply (as servers close idle ones, which may cross a request on its way), nobody here can
    know whether the server has it.

    Parameters
    ----------
    account : with the limits of cost and tokens
    characters : of the conversation
    at_most : so many tokens are written at most, where the request says so
    observer : who is told besides
    """

    def __init__(
        self, account: Account, characters: int, at_most: int | None = None, observer: Departures | None = None
    ) -> None:
        self._account, self._characters, self._at_most, self._observer = account, characters, at_most, observer
        #: why it may not leave, although it was let in
        self.refusal = ""
        #: whether it has left
        self.left = False
        #: what kept the departure from being noted
        self.trouble: Exception | None = None
        self._is_request = self._gone = self._heard = self._closed = False

    # -- it waits ------------------------------------------------------------------------------

    def reserve(self, alone: bool) -> bool:
        """Let it in, if it may go beside what is under way; what it may take is held then. One that
        is ``alone`` always may, and is told ``refusal``.

        Of the first request nothing is known but an estimate, so with a limit it goes alone. Later
        ones go together, no more than twice as many as there were replies, as long as all of them,
        with room for longer replies than any so far, are within the limit; beyond that one after
        the other, those of an account that shares the limit among them. So a limit is passed by no
        more than one request.
        """
        account = self._account
        under_way = account.all_under_way
        if account.limited and alone and not under_way:
            self.refusal = account.exhausted(self._characters, self._at_most)
        elif account.limited:
            untried = not alone and len(account.under_way) >= 2 * account.size.replies
            if untried or account.beyond(sum([*(one.coming() for one in under_way), self.coming()], Sum())):
                return False
        account.under_way.add(self)
        return True

    def coming(self) -> Sum:
        """The sum that it is going to take, with room for more."""
        return self._account.coming(self._characters, self._at_most, surely=True)

    # -- it leaves -----------------------------------------------------------------------------

    def follow(self, event: str, about: Mapping[str, Any]) -> None:
        """Take note of an event of the connection."""
        if event.endswith(".started") and "request" in about:
            self._is_request = about["request"].method == b"POST"  # and not what a proxy is asked
        if not self._is_request:
            return
        match event.partition(".")[2]:
            case "send_request_body.started":
                self.leaves()
            case "send_request_body.complete":
                self._goes()
            case "receive_response_headers.complete":
                self._heard = True
            case "receive_response_headers.failed":
                self._closed = _is_close(about["exception"])

    def leaves(self) -> None:
        """It leaves; again, when a server has sent it elsewhere."""
        self._gone = self._heard = self._closed = False
        self._note(self._observer and self._observer.leaves)
        if self.left:
            self._account.lose(self._characters, self._at_most, None)
        self._account.begins()
        self.left = True

    def heard(self) -> None:
        """All of it has left, and something came back."""
        self._goes()
        self._heard = True

    def _goes(self) -> None:
        self._gone = True
        self._note(self._observer and self._observer.gone)

    def _note(self, tell: Callable[[], None] | None) -> None:
        try:
            if tell is not None:
                tell()
        except Exception as error:
            self.trouble = error
            raise

    # -- it is answered, or comes to nothing -----------------------------------------------------

    @property
    def in_doubt(self) -> bool:
        """True if it left, and it is not known whether it reached the server."""
        return self.left and not self._heard and (self._closed or not self._gone)

    def ends(self, outcome: Reply | Fault) -> None:
        """It is known what became of it."""
        if isinstance(outcome, Reply):
            self._account.arrives(outcome, self._characters, self._at_most)
            return
        self.fails(outcome)
        if self._observer is not None:
            self._observer.fails(outcome, self.left, self.in_doubt)

    def fails(self, fault: Fault | None) -> None:
        """It comes to nothing; without a fault, since nobody waits for it any more."""
        totals = self._account.totals
        if fault is not None:
            totals.faults[fault.word] += 1
        if self.left and (fault is None or fault.begun):
            self._account.lose(self._characters, self._at_most, fault and fault.taken, self.in_doubt)
        elif self.left:
            totals.refused += 1

    def release(self) -> None:
        """Nothing is held for it any more."""
        self._account.release(self)


def _is_close(error: BaseException) -> bool:
    """Return whether a connection was closed in order, and neither broken off nor used for
    something else."""
    import httpcore2

    # else it is about something that came
    return isinstance(error, httpcore2.RemoteProtocolError) and error.__cause__ is None


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


@dataclass(order=True, slots=True)
class _Waiting:
    order: int
    number: int
    tokens: float = field(compare=False)
    budget: Departure | None = field(compare=False)
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
    async def request(self, order: int, tokens: float = 0.0, budget: Departure | None = None) -> AsyncGenerator[Pass]:
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

    async def _enter(self, order: int, tokens: float, budget: Departure | None) -> None:
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

    def _leave(self, passed: Pass, budget: Departure | None) -> None:
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
