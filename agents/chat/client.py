"""Requests to the endpoint: the official openai client, one per event loop, under a gate, and repeated as long as that may help."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from .account import Account
from .cache import ReplyCache
from .care import Care
from .endpoint import Endpoint, EndpointError, explain
from .faults import TRIES_OF_STRANGERS, Fault, asked_wait, word_of_status
from .gate import Gate, Limit, Pass
from .messages import Message, Picture, Reply, Request
from .replies import NoReplyError, read_reply

if TYPE_CHECKING:
    import ssl

    from openai import AsyncOpenAI

#: how many characters a token is taken to have, until the server has told, and a picture
_CHARACTERS_PER_TOKEN = 4.0
_CHARACTERS_PER_PICTURE = 4000
_PICTURED_KEPT = 2048
#: how many conversations share the connections of one client
_CONNECTIONS = 16


class Client:
    """Sends conversations to one model.

    Parameters
    ----------
    endpoint, model, care : where, which, and how it is treated
    conversation_header : name of a request header that carries the name of the conversation
    clock : seconds from any origin, for the latency
    account : what keeps the account of it; one of its own when not given
    repeat : number of this repetition; what other repetitions were answered does not come from the cache
    """

    def __init__(
        self,
        endpoint: Endpoint,
        model: str,
        care: Care | None = None,
        conversation_header: str | None = None,
        clock: Callable[[], float] = time.perf_counter,
        account: Account | None = None,
        repeat: int = 1,
    ) -> None:
        endpoint.check()
        self._endpoint = endpoint
        self._model = model
        self._care = care or Care()
        self._account = account or Account(self._care)
        self._header = conversation_header
        self._clock = clock
        self._cache = ReplyCache(self._care.cache, [endpoint.identity, endpoint.provider, model, repeat]) if self._care.cache is not None else None
        self._gate = Gate(Limit(self._care.max_concurrency, self._care.concurrency), self._care.requests_per_minute, self._care.tokens_per_minute)
        self._orders: dict[str, int] = {}
        self._met = False
        self._certificates: ssl.SSLContext | None = None
        self._expected = _Expected()
        # connections belong to the event loop that opened them; a few conversations share a client, since it looks at all its connections for every request
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[int, AsyncOpenAI]] = WeakKeyDictionary()
        self._shares = -(-(self._care.concurrency or self._care.max_concurrency) // _CONNECTIONS)

    def _client(self, order: int) -> AsyncOpenAI:
        """The client of a conversation."""
        import httpx2
        import openai

        clients = self._clients.setdefault(asyncio.get_running_loop(), {})
        share = order % self._shares
        if share not in clients:
            self._certificates = self._certificates or httpx2.create_ssl_context()
            # every conversation keeps its connection between its questions
            limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None, keepalive_expiry=60.0)
            clients[share] = openai.AsyncOpenAI(
                api_key=self._endpoint.key(),
                base_url=self._endpoint.url,
                timeout=self._care.timeout_s,
                max_retries=0,
                http_client=openai.DefaultAsyncHttpxClient(limits=limits, verify=self._certificates),
            )
        return clients[share]

    def place(self) -> AbstractAsyncContextManager[None]:
        """A place for one trial: no more of them are open than requests may be under way."""
        return self._gate.place()

    def wind_down(self, why: str) -> None:
        """Send no new request from now on, nor repeat one: whoever wants to gets :class:`.gate.Stopped`. Those under way come back."""
        self._gate.stop(why)

    async def ask(self, request: Request, leaving: Callable[[], None] | None = None, fresh: bool = False) -> Reply:
        """The reply to a conversation.

        Parameters
        ----------
        request : the conversation
        leaving : called when the request really leaves: not for replies from the cache, and once, however often it is repeated
        fresh : whether the server itself is to reply, now, whatever the cache holds

        Raises
        ------
        EndpointError
            when there is none; never for what a reply says. No other request begins after that.
        Stopped
            when no new request may begin.
        """
        cache = None if fresh else self._cache
        if cache is not None and (reply := cache.get(request)) is not None:
            self._account.found(reply)
            return reply
        outcome = await self._until_answered(request, leaving)
        if isinstance(outcome, EndpointError):
            self.wind_down(str(outcome))
            raise outcome  # outside any except block, so that nothing of the request (whose headers hold the key) hangs on it
        if cache is not None:
            cache.put(request, outcome)
        return outcome

    async def _until_answered(self, request: Request, leaving: Callable[[], None] | None) -> Reply | EndpointError:
        """The reply, or why there will be none."""
        order = self._orders.setdefault(request.conversation, len(self._orders))
        client, content = self._client(order), self._content(request)
        headers = {"Content-Type": "application/json", **({self._header: request.conversation} if self._header else {})}
        faults: list[str] = []
        began, left = self._clock(), False
        outcome: Reply | Fault | None = None
        try:
            while True:
                async with self._gate.request(order, self._expected.tokens(request) if self._care.tokens_per_minute else 0.0) as one:
                    if not left:
                        if limit := self._account.exhausted():
                            return EndpointError(limit)
                        if leaving is not None:
                            leaving()
                        self._account.leaves()
                        left = True
                    waited = self._clock() - began
                    outcome = await self._once(client, content, headers, len(faults) + 1)
                    self._note(one, request, outcome)
                if isinstance(outcome, Reply):
                    return outcome.model_copy(update={"faults": tuple(faults), "waited_ms": waited * 1000}) if faults else outcome
                faults.append(outcome.word)
                most = self._care.max_retries if self._met or not outcome.stranger else min(self._care.max_retries, TRIES_OF_STRANGERS)
                if outcome.error.permanent or len(faults) > most:
                    return outcome.error
                await self._gate.pause(outcome.pause(len(faults) - 1, request.identity or request.conversation))
        finally:
            if isinstance(outcome, Reply):
                self._account.arrives(outcome.model_copy(update={"faults": tuple(faults)}) if faults else outcome)
            elif left:
                self._account.fails(*faults)

    def _note(self, one: Pass, request: Request, outcome: Reply | Fault) -> None:
        """Tell the gate what became of a request."""
        if isinstance(outcome, Reply):
            self._met = one.answered = True
            if outcome.prompt_tokens is not None:
                one.tokens = float(outcome.prompt_tokens + (outcome.completion_tokens or 0))
                if self._care.tokens_per_minute:
                    self._expected.learn(request, outcome)
        else:
            one.busy = outcome.busy
            if outcome.error.status is not None:
                one.tokens = 0.0  # refused, and not taken from what the server allows

    def _content(self, request: Request) -> bytes:
        """A request as it is sent."""
        messages = b",".join(map(_written, request.messages))
        return b'{"messages":[' + messages + b"]," + _json({"model": self._model, **request.options})[1:]

    async def _once(self, client: AsyncOpenAI, content: bytes, headers: Mapping[str, str], tries: int) -> Reply | Fault:
        """What one request brings."""
        import httpx2
        import openai

        # one is made up else for every request, and never sent
        options: Any = {"headers": headers, "idempotency_key": "none"}
        started = self._clock()
        try:
            async with asyncio.timeout(self._care.timeout_s):  # of all of it: a server may drip
                response = await client.post("/chat/completions", cast_to=httpx2.Response, content=content, options=options)
            latency_ms = (self._clock() - started) * 1000
            return read_reply(response.content, latency_ms, self._endpoint.reasoning_fields)
        except TimeoutError:
            error = openai.APITimeoutError(request=httpx2.Request("POST", self._endpoint.public))
            return self._fault(error, tries)
        except NoReplyError as nothing:
            if nothing.said:
                return self._told(nothing)
            return self._fault(nothing, tries)
        except (openai.OpenAIError, httpx2.HTTPError, OSError) as error:
            return self._fault(error, tries)

    def _fault(self, error: Exception, tries: int) -> Fault:
        """An exception as a fault."""
        import openai

        told = explain(error, self._endpoint, self._model, self._care.model_copy(update={"max_retries": tries - 1}))
        if isinstance(error, openai.APIStatusError):
            status = error.status_code
            return Fault(word_of_status(status), told, busy=status in (429, 503), wait_s=asked_wait(error.response.headers))
        if isinstance(error, openai.APITimeoutError):
            return Fault("timeout", told, busy=True)  # a server that lets requests queue up says so by being late
        return Fault("garbage" if isinstance(error, NoReplyError | openai.APIResponseValidationError) else "connection", told)

    def _told(self, nothing: NoReplyError) -> Fault:
        """An error that came in place of a reply, as if all was well."""
        status = nothing.status
        permanent = status is not None and 400 <= status < 500 and status not in (408, 409, 429)
        remedy = "change the chat settings or the model" if permanent else "try again later"
        sentence = f"{self._endpoint.public} reported an error instead of a reply ({self._endpoint.redact(nothing.said)}); {remedy}"
        word = "server" if status is None else word_of_status(status)
        return Fault(word, EndpointError(sentence, permanent=permanent, status=status), busy=status in (429, 503))

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        for client in self._clients.pop(asyncio.get_running_loop(), {}).values():
            await client.close()

    def close(self) -> None:
        """Close what can be closed without waiting: connections of loops that are over went with them."""
        for loop, client in [(loop, client) for loop, clients in self._clients.items() for client in clients.values()]:
            if loop.is_running():
                loop.create_task(client.close())
            elif not loop.is_closed():
                loop.run_until_complete(client.close())
        self._clients.clear()


class _Expected:
    """How many tokens a request is going to take, from what those before it took."""

    def __init__(self) -> None:
        self._characters = 0
        self._prompt = 0
        self._completion = 0
        self._replies = 0

    def tokens(self, request: Request) -> float:
        """An estimate for a request and its reply."""
        per_token = self._characters / self._prompt if self._prompt else _CHARACTERS_PER_TOKEN
        completion = self._completion / self._replies if self._replies else 0.0
        return _characters(request) / per_token + completion

    def learn(self, request: Request, reply: Reply) -> None:
        """What a request really took."""
        self._characters += _characters(request)
        self._prompt += reply.prompt_tokens or 0
        self._completion += reply.completion_tokens or 0
        self._replies += 1


def _characters(request: Request) -> int:
    return sum(_CHARACTERS_PER_PICTURE if isinstance(part, Picture) else len(part.text) for message in request.messages for part in message.parts)


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode("utf-8")


def _written(message: Message) -> bytes:
    """A message as it is sent."""
    return _pictured(message) if any(isinstance(part, Picture) for part in message.parts) else _json(message.sent())


@lru_cache(maxsize=_PICTURED_KEPT)
def _pictured(message: Message) -> bytes:
    """A message with pictures, which take time to draw and come back with every question of a conversation."""
    return _json(message.sent())
