"""Requests to the endpoint: the official openai client, one per event loop, and one kind of reply."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from pydantic import BaseModel, ConfigDict, ValidationError

from .endpoint import Endpoint, EndpointError, explain
from .settings import ChatSettings, Patience

if TYPE_CHECKING:
    from openai import AsyncOpenAI

    from .conversation import Message


class Reply(BaseModel):
    """One reply that was paid for, fit for JSON.

    ``content`` is the whole text ('' when there was none); ``latency_ms`` runs from the request to the reply, with the repeats that ``retries`` counts.
    """

    model_config = ConfigDict(frozen=True)

    content: str
    refusal: str | None = None
    finish_reason: str | None = None
    served_model: str | None = None
    fingerprint: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    latency_ms: float
    retries: int = 0


class Client:
    """Sends conversations to one model.

    Parameters
    ----------
    endpoint, model, settings, patience : where, which and how
    clock : seconds from any origin, for the latency
    """

    def __init__(self, endpoint: Endpoint, model: str, settings: ChatSettings, patience: Patience, clock: Callable[[], float] = time.perf_counter) -> None:
        endpoint.check()
        self._endpoint = endpoint
        self._model = model
        self._settings = settings
        self._patience = patience
        self._clock = clock
        # connections belong to the event loop that opened them
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, AsyncOpenAI] = WeakKeyDictionary()

    def _client(self) -> AsyncOpenAI:
        import openai

        loop = asyncio.get_running_loop()
        if loop not in self._clients:
            self._clients[loop] = openai.AsyncOpenAI(
                api_key=self._endpoint.key(), base_url=self._endpoint.url, timeout=self._patience.timeout_s, max_retries=self._patience.max_retries
            )
        return self._clients[loop]

    async def ask(self, messages: Sequence[Message], conversation: str) -> Reply:
        """The reply to a conversation.

        Raises
        ------
        EndpointError
            when there is none; never for what a reply says.
        """
        import openai

        header = self._settings.conversation_header
        client = self._client()
        started = self._clock()
        try:
            raw = await client.chat.completions.with_raw_response.create(
                model=self._model,
                messages=messages,  # type: ignore[arg-type]
                extra_headers={header: conversation} if header else None,
                **self._settings.sampling(),
            )
            outcome = self._read(raw.parse(), (self._clock() - started) * 1000, raw.retries_taken)
            del raw
        except (openai.OpenAIError, ValueError) as error:  # ValueError: neither JSON nor UTF-8
            outcome = explain(error, self._endpoint, self._model, self._patience)
        if isinstance(outcome, EndpointError):
            raise outcome  # outside the except block, so that nothing of the request (whose headers hold the key) hangs on it
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
                retries=retries,
            )
        except (AttributeError, IndexError, TypeError, ValidationError):
            error = getattr(completion, "error", None)
        if isinstance(error, dict) and error.get("message"):
            said = self._endpoint.redact(str(error["message"]))
            return EndpointError(f"{self._endpoint.public} reported an error instead of a reply ({said}); try again later", permanent=False)
        return explain(ValueError(), self._endpoint, self._model, self._patience)

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
