"""Requests to the endpoint: the official openai client, one per event loop, and one kind of reply."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from pydantic import ValidationError

from .account import Account
from .care import Care
from .endpoint import Endpoint, EndpointError, explain
from .messages import Reply, Request

if TYPE_CHECKING:
    from openai import AsyncOpenAI


class Client:
    """Sends conversations to one model.

    Parameters
    ----------
    endpoint, model, care : where, which, and how it is treated
    conversation_header : name of a request header that carries the name of the conversation
    clock : seconds from any origin, for the latency
    account : what keeps the account of it; one of its own when not given
    """

    def __init__(
        self,
        endpoint: Endpoint,
        model: str,
        care: Care | None = None,
        conversation_header: str | None = None,
        clock: Callable[[], float] = time.perf_counter,
        account: Account | None = None,
    ) -> None:
        endpoint.check()
        self._endpoint = endpoint
        self._model = model
        self._care = care or Care()
        self._account = account or Account(self._care)
        self._header = conversation_header
        self._clock = clock
        # connections belong to the event loop that opened them
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, AsyncOpenAI] = WeakKeyDictionary()

    def _client(self) -> AsyncOpenAI:
        import openai

        loop = asyncio.get_running_loop()
        if loop not in self._clients:
            self._clients[loop] = openai.AsyncOpenAI(
                api_key=self._endpoint.key(), base_url=self._endpoint.url, timeout=self._care.timeout_s, max_retries=self._care.max_retries
            )
        return self._clients[loop]

    async def ask(self, request: Request) -> Reply:
        """The reply to a conversation.

        Raises
        ------
        EndpointError
            when there is none; never for what a reply says.
        """
        import openai

        client = self._client()
        if limit := self._account.exhausted():
            raise EndpointError(limit)
        self._account.leaves()
        started = self._clock()
        try:
            raw = await client.chat.completions.with_raw_response.create(
                model=self._model,
                messages=[message.sent() for message in request.messages],  # type: ignore[arg-type]
                extra_headers={self._header: request.conversation} if self._header else None,
                extra_body=dict(request.options),
            )
            outcome = self._read(raw.parse(), (self._clock() - started) * 1000, raw.retries_taken)
            del raw
        except (openai.OpenAIError, ValueError) as error:  # ValueError: neither JSON nor UTF-8
            outcome = explain(error, self._endpoint, self._model, self._care)
        if isinstance(outcome, EndpointError):
            self._account.fails()
            raise outcome  # outside the except block, so that nothing of the request (whose headers hold the key) hangs on it
        self._account.arrives(outcome)
        return outcome

    def _read(self, completion: Any, latency_ms: float, retries: int) -> Reply | EndpointError:
        """What came back with status 200: a reply, or what is wrong with it. The openai client does not validate it."""
        try:
            choice, usage = completion.choices[0], completion.usage
            return Reply(
                content=_sendable(choice.message.content or ""),
                refusal=choice.message.refusal,
                finish_reason=choice.finish_reason,
                served_model=completion.model,
                fingerprint=completion.system_fingerprint,
                prompt_tokens=usage.prompt_tokens if usage else None,
                completion_tokens=usage.completion_tokens if usage else None,
                latency_ms=latency_ms,
                faults=("server",) * retries,
            )
        except (AttributeError, IndexError, TypeError, ValidationError):
            error = getattr(completion, "error", None)
        if isinstance(error, dict) and error.get("message"):
            said = self._endpoint.redact(str(error["message"]))
            return EndpointError(f"{self._endpoint.public} reported an error instead of a reply ({said}); try again later", permanent=False)
        return explain(ValueError(), self._endpoint, self._model, self._care)

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.close()

    def close(self) -> None:
        """Close what can be closed without waiting: connections of loops that are over went with them."""
        for loop, client in list(self._clients.items()):
            if loop.is_running():
                loop.create_task(client.close())
            elif not loop.is_closed():
                loop.run_until_complete(client.close())
        self._clients.clear()


def _sendable(text: str) -> str:
    """A reply as it can be sent back: half characters (lone surrogates), which only garbage has, become question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")
