"""Requests to the endpoint: over the connections of the official client, under a rate limiter, and
repeated as long as that may help.

When a request really leaves is noted at the last moment before its body goes, and again when all of
it has gone.
"""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from ..cost.account import Account, characters
from ..cost.totals import duration
from ..messages import Message, Reply, Request, ScoredReply, Text
from ..open_request import filled_headers
from .departure import TRIES_OF_STRANGERS, Departure, Departures, Fault, Pass, RateLimiter, fault_of_status
from .dialect import STREAM, Dialect
from .endpoint import Endpoint, EndpointError, certificates
from .hooks import Outgoing, SendHook
from .paid_replies import ReplyCache
from .refusals import explain_connection, fault_in_body, how_often, refused
from .replies import NoReplyError, echoed, read_reply
from .request_limits import RequestLimits

if TYPE_CHECKING:
    from .wire import Line


_PICTURED_KEPT = 2048
#: how many conversations share the connections of one client
_CONNECTIONS = 4
#: of refusals: the request is not taken in this form
_NOT_TAKEN = frozenset((400, 422, 500))
#: a wait that a server asks for is told when it is longer
_SILENCE_S = 60.0
#: how long a connection is kept that nobody uses: shorter than servers keep theirs (many for 5 s),
#: so that none is closed while a request is on its way
_KEPT_S = 4.0


class Client:
    """Sends conversations to one model.

    Parameters
    ----------
    endpoint, model, request_limits : where, which, and how it is treated
    clock : seconds from any origin, for the latency
    account : what keeps the account of it; one of its own when not given
    repeat : number of this repetition; what other repetitions were answered does not come from the
        cache
    headers : further headers of every request; they may name environment variables
    hook : what sends the requests, in place of connections to an address
    """

    def __init__(
        self,
        endpoint: Endpoint,
        model: str,
        request_limits: RequestLimits | None = None,
        clock: Callable[[], float] = time.perf_counter,
        account: Account | None = None,
        repeat: int = 1,
        headers: Mapping[str, str] | None = None,
        hook: SendHook | None = None,
    ) -> None:
        self._hook = hook
        if hook is None or hook.endpoint is None:
            endpoint.check()
        if hook is not None:
            hook.check()
        self._further = dict(headers or {})
        filled_headers(self._further)  # a variable that is not set shows before the first request
        self._endpoint = endpoint
        self._model = model
        self._request_limits = request_limits or RequestLimits()
        self._account = account or Account(self._request_limits)
        self._clock = clock
        scope = [endpoint.public, endpoint.provider, model, repeat, *filter(None, [self._further])]
        self._cache = ReplyCache(self._request_limits.cache, scope) if self._request_limits.cache is not None else None
        #: where requests and trials wait; once it is stopped, no new request leaves, nor one again
        self.rate_limiter = RateLimiter(
            self._request_limits.concurrency,
            self._request_limits.requests_per_minute,
            self._request_limits.tokens_per_minute,
        )
        self._account.freed = self.rate_limiter.look
        self.dialect = Dialect(endpoint.max_tokens_field)
        self._orders: dict[str, int] = {}
        self._met = False
        self._announced_until = -math.inf
        self._usual: dict[str, str] = {}
        # connections belong to the event loop that opened them; a few conversations share a line,
        # since it looks at all its connections for every request
        self._lines: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[int, Line]] = WeakKeyDictionary()
        self._shares = -(-self._request_limits.concurrency // _CONNECTIONS)

    def _line(self, order: int) -> Line:
        """The connections of a conversation."""
        import httpx2
        import openai

        from .wire import Line

        lines = self._lines.setdefault(asyncio.get_running_loop(), {})
        share = order % self._shares
        if share not in lines:
            # every conversation keeps its connection between its questions
            limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None, keepalive_expiry=_KEPT_S)
            client = openai.DefaultAsyncHttpxClient(limits=limits, verify=certificates())
            lines[share] = Line(client, self._request_limits.timeout_s)
            told = openai.AsyncOpenAI(api_key="none", base_url=self._endpoint.url, http_client=client).default_headers
            self._usual = {name.lower(): value for name, value in told.items() if isinstance(value, str)}
        return lines[share]

    def _headers(self, conversation: str) -> dict[str, str]:
        """The headers of a request: those of the official client, the key, and those of one's own."""
        own = filled_headers(self._further, conversation)
        ours = {**self._usual, "content-type": "application/json", "accept-encoding": "gzip, deflate"}
        return {
            **ours,
            "authorization": f"Bearer {self._endpoint.key()}",
            **{name.lower(): value for name, value in own.items()},
        }

    async def ask(self, request: Request, departures: Departures | None = None, fresh: bool = False) -> Reply:
        """The reply to a conversation.

        Parameters
        ----------
        request : the conversation
        departures : who is told whenever the request really leaves, and of what comes to nothing:
            never for replies from the cache
        fresh : whether the server itself is to reply, now, whatever the cache holds

        Raises
        ------
        EndpointError
            when there is none; never for what a reply says. No other request begins after that,
            unless it says something of this request alone.
        Stopped
            when no new request may begin.
        """
        cache = None if fresh else self._cache
        if cache is not None and (reply := cache.get(request)) is not None:
            self._account.note_cached(reply)
            return reply
        outcome = await self._until_answered(request, departures)
        if isinstance(outcome, EndpointError):
            if not outcome.of_request:
                self.rate_limiter.stop(str(outcome))
            raise outcome  # outside any except block, so that nothing of the request (whose headers hold the key) hangs on it  # noqa: E501
        if cache is not None:
            cache.put(request, outcome)
        return outcome

    async def _until_answered(self, request: Request, departures: Departures | None) -> Reply | EndpointError:
        """The reply, or why there will be none."""
        order = self._orders.setdefault(request.conversation, len(self._orders))
        size = characters(request)
        once = (
            partial(self._hooked, request)
            if self._hook is not None
            else partial(self._once, self._line(order), request)
        )
        faults: list[Fault] = []
        began = self._clock()
        while True:
            departure = Departure(self._account, size, _longest(request), departures)
            tokens = self._account.size.tokens(size) if self._request_limits.tokens_per_minute else 0.0
            async with self.rate_limiter.request(order, tokens, departure) as passed:
                if departure.refusal:
                    return EndpointError(departure.refusal)
                waited, spoken = self._clock() - began, self.dialect
                outcome = await self._sent(once, len(faults) + 1, departure)
                self._note(passed, outcome)
            if isinstance(outcome, Reply):
                words = tuple(fault.word for fault in faults)
                return outcome.model_copy(update={"faults": words, "waited_ms": waited * 1000}) if faults else outcome
            faults.append(outcome)
            ours = self._hook is None or self._hook.local
            if ours and outcome.error.status in _NOT_TAKEN and self._adapts(outcome, spoken):
                continue
            if (error := self._in_the_end(faults)) is not None:
                return error
            self._announce(outcome.wait_s)
            await self.rate_limiter.pause(outcome.pause(len(faults) - 1, request.identity or request.conversation))

    def _in_the_end(self, faults: Sequence[Fault]) -> EndpointError | None:
        """Why a request is not repeated after its faults so far; None when it is."""
        last, limits = faults[-1], self._request_limits
        most = limits.max_retries
        if last.stranger and not self._met:
            most = min(most, TRIES_OF_STRANGERS)
        if self.dialect.stream and last.error.status in _NOT_TAKEN and STREAM.search(str(last.error)):
            return EndpointError(f"{last.error}. It was asked for a stream, too: this model cannot be asked")
        if last.error.permanent or len(faults) > most:
            return last.error
        if (asked := last.wait_s or 0.0) > limits.max_wait_s:
            return EndpointError(
                f"{self._endpoint.public} asks to be left alone for {duration(asked)}, which is longer than max_wait"
                f" ({duration(limits.max_wait_s)}): continue later, or give max_wait {math.ceil(asked)}"
            )
        if sum(fault.begun for fault in faults) > limits.max_retries_begun:
            # others are answered, so it is this conversation that the server cannot bring to an end
            return (
                last.error
                if not self._met
                else EndpointError(str(last.error), False, last.error.status, of_request=True)
            )
        return None

    async def _sent(
        self, once: Callable[[int, Departure], Awaitable[Reply | Fault]], tries: int, departure: Departure
    ) -> Reply | Fault:
        """Send a request and return what it brings, once the account and whoever keeps a journal
        have been told."""
        try:
            outcome = await once(tries, departure)
        except BaseException:
            departure.fails(None)
            raise
        if isinstance(outcome, Reply):
            outcome = self._without_secrets(outcome)
        departure.ends(outcome)
        return outcome

    def _without_secrets(self, reply: Reply) -> Reply:
        """A reply as it may be kept: some servers repeat the key that they were told."""
        if not self._endpoint.long_secrets:
            return reply
        said = {name: value for name, value in reply if isinstance(value, str)}
        return reply.model_copy(update={name: self._endpoint.hidden(value) for name, value in said.items()})

    def _announce(self, seconds: float | None) -> None:
        """Say how long nothing is going to leave, where that is long."""
        now = self._clock()
        if seconds is not None and seconds > _SILENCE_S and now >= self._announced_until:
            self._announced_until = now + seconds
            self._account.warn(f"{self._endpoint.public} asks to be left alone for {duration(seconds)}")

    def _note(self, one: Pass, outcome: Reply | Fault) -> None:
        """Tell the rate limiter what became of a request."""
        if isinstance(outcome, Reply):
            self._met = one.answered = True
            if outcome.prompt_tokens is not None:
                one.tokens = float(outcome.prompt_tokens + (outcome.completion_tokens or 0))
        else:
            one.busy, one.wait_s = outcome.busy, outcome.wait_s
            if outcome.error.status is not None and not outcome.begun:
                one.tokens = 0.0  # refused, and not taken from what the server allows

    def _adapts(self, fault: Fault, spoken: Dialect) -> bool:
        """Return whether a refused request can be put otherwise, from now on all of them."""
        if spoken != self.dialect:
            return True  # another request has found out meanwhile
        self.dialect, change = spoken.after(fault.error, self._request_limits.adapt)
        if change:
            self._account.warn(f"{self._endpoint.public} {change}")
        return bool(change)

    def _content(self, request: Request) -> bytes:
        """A request as it is sent."""
        options = self.dialect.put({"model": self._model, **request.options})
        if request.text is not None:
            return _json({**options, "prompt": request.text})
        messages = b",".join(map(_written, self.dialect.messages(request.messages)))
        return b'{"messages":[' + messages + b"]," + _json(options)[1:]

    async def _once(self, line: Line, request: Request, tries: int, departure: Departure) -> Reply | Fault:
        """Send a request once and return what it brings."""
        import httpcore2

        from .wire import UnreadableError

        started = self._clock()
        where = self._endpoint.address("chat/completions" if request.text is None else "completions")
        fault: Fault
        try:
            async with asyncio.timeout(self._request_limits.timeout_s):  # of all of it: a server may drip
                answer = await line.post(
                    where, self._headers(request.conversation), self._content(request), departure.follow
                )
            if answer.status >= 300:
                fault = refused(answer.status, answer.body, answer.headers, self._endpoint, self._model, tries)
            else:
                reply = read_reply(answer.body, (self._clock() - started) * 1000, self._endpoint.reasoning_fields)
                return _scored(reply, answer.body) if request.scores else reply
        except (TimeoutError, httpcore2.TimeoutException):
            late = (
                f"{self._endpoint.public} gave no reply within {self._request_limits.timeout_s:g} s"
                f" ({how_often(tries)}); try again later, or"
                " raise the setting timeout_s"
            )
            # a server that lets requests queue up says so by being late
            fault = Fault("timeout", EndpointError(late, permanent=False), busy=True, begun=departure.left)
        except UnreadableError as wrong:
            fault = Fault("garbage", EndpointError(f"{self._endpoint.public} {wrong}", of_request=True), begun=True)
        except NoReplyError as nothing:
            fault = fault_in_body(nothing, self._endpoint, self._model, tries)
        except (httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.ProxyError, OSError) as error:
            fault = Fault("connection", explain_connection(error, self._endpoint, tries), begun=departure.left)
        if departure.trouble is not None:
            raise departure.trouble
        return fault

    async def _hooked(self, request: Request, tries: int, departure: Departure) -> Reply | Fault:
        """Hand a request to a hook and return what it brings: it leaves when the hook gets it, and
        nobody here knows how far it is until the hook is back."""
        assert self._hook is not None
        outgoing = Outgoing(
            self._model,
            tuple(message.sent() for message in self.dialect.messages(request.messages)),
            request.options,
            request.conversation,
            filled_headers(self._further, request.conversation),
            self._request_limits.batch,
            request.text,
        )
        try:
            self._hook.check_options(outgoing.options)
        except EndpointError as error:
            return Fault("server", error)  # it has not left
        started = self._clock()
        departure.leaves()
        try:
            patient = outgoing.batch or self._hook.local
            async with asyncio.timeout(None if patient else self._request_limits.timeout_s):
                reply = await self._hook.send(outgoing)
        except TimeoutError:
            late = (
                f"{self._hook.name} gave no reply within {self._request_limits.timeout_s:g} s; try again later, or"
                " raise the setting timeout_s"
            )
            return Fault("timeout", EndpointError(late, permanent=False), busy=True, begun=True)
        except EndpointError as error:
            if error.status is not None or not error.begun:
                departure.heard()
            said = str(error).replace(how_often(1), how_often(tries))
            said = said if self._hook.local else self._endpoint.redact(said)
            told = EndpointError(said, error.permanent, error.status, error.of_request, error.filtered)
            if error.status is None:
                return Fault(
                    "server" if self._hook.endpoint is None else "connection",
                    told,
                    begun=error.begun,
                    taken=error.taken,
                )
            fault = fault_of_status(told, error.status, error.wait_s)
            return replace(fault, begun=error.begun or fault.begun, taken=error.taken)
        except Exception as error:
            why = self._endpoint.redact(f"{type(error).__name__}: {error}")
            return Fault(
                "server",
                EndpointError(
                    f"{self._hook.name} failed ({why}); the fault is not in SpanLab: check the hook or its provider"
                ),
                begun=True,
            )
        departure.heard()
        # a hook may know better how long the model took; of a reply from a batch nobody knows
        latency = reply.latency_ms or (None if outgoing.batch else (self._clock() - started) * 1000)
        return reply.model_copy(update={"latency_ms": latency, "faults": (), "waited_ms": 0.0, "cached": False})

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        if self._hook is not None:
            await self._hook.aclose()
        for line in self._lines.pop(asyncio.get_running_loop(), {}).values():
            await line.aclose()

    def close(self) -> None:
        """Close what can be closed without waiting: connections of loops that are over went with
        them."""
        for loop, line in [(loop, line) for loop, lines in self._lines.items() for line in lines.values()]:
            if loop.is_running():
                loop.create_task(line.aclose())
            elif not loop.is_closed():
                loop.run_until_complete(line.aclose())
        self._lines.clear()


def _longest(request: Request) -> int | None:
    """Return the most tokens that a reply has, where the request says so."""
    return next(
        (request.options[name] for name in ("max_tokens", "max_completion_tokens") if name in request.options), None
    )


def _scored(reply: Reply, body: bytes) -> ScoredReply:
    """A reply with what it tells of the tokens that were sent."""
    count, last = echoed(body) or (0, None)
    return ScoredReply(**reply.model_dump(), echoed_of=count, echoed=last)


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode("utf-8")


def _written(message: Message) -> bytes:
    """A message as it is sent."""
    if all(isinstance(part, Text) for part in message.parts):
        return _json(message.sent())
    return _pictured(message)


@lru_cache(maxsize=_PICTURED_KEPT)
def _pictured(message: Message) -> bytes:
    """A message with pictures, which take time to draw, or sounds; they come back with every
    question of a conversation."""
    return _json(message.sent())
