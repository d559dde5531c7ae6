"""A chat model as a participant: it reads the displays of a trial in words and writes its answers."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from ...errors import SpanLabError
from ...paradigms import Ask, Percept
from ...paradigms.identity import digest
from ..protocol import Briefing, Journal, Response
from .account import Account
from .care import Care
from .client import Client
from .conversation import Conversation
from .endpoint import Endpoint
from .messages import Message, Reply, Request, Text
from .settings import ChatSettings


class ChatAgent:
    """``chat:MODEL``: a model behind an OpenAI-compatible endpoint, one conversation per trial.

    Minds are independent, so that many trials may run at once in one event loop.

    Parameters
    ----------
    model : the name by which the server knows it; may contain colons
    settings : the protocol; the defaults when not given
    endpoint : where it is served; from the environment when not given
    care : time limits, repeats, requests at once, budgets
    clock : seconds from any origin, for latencies
    account : the running account; one without prices when not given

    Raises
    ------
    SpanLabError
        when the model has no name, the key is missing, the address is none, or the openai package is not installed.
    """

    kind: ClassVar[str] = "chat"
    oracle: ClassVar[bool] = False

    def __init__(
        self,
        model: str,
        settings: ChatSettings | None = None,
        endpoint: Endpoint | None = None,
        care: Care | None = None,
        clock: Callable[[], float] = time.perf_counter,
        account: Account | None = None,
    ) -> None:
        if not model.strip():
            raise SpanLabError("which chat model? Name it after the colon, such as chat:gpt-4o-mini")
        self._model = model
        self._settings = settings or ChatSettings()
        self._endpoint = endpoint or Endpoint()
        self._care = care or Care()
        self.name = f"chat:{model}@{self._endpoint.provider}" if self._endpoint.provider else f"chat:{model}"
        self.account = account or Account(self._care)
        self.concurrency = self._care.concurrency or self._care.max_concurrency
        self._client = Client(self._endpoint, model, self._care, self._settings.conversation_header, clock, self.account)

    def start(self, briefing: Briefing) -> ChatMind:
        """A fresh mind, and with it a fresh conversation."""
        return ChatMind(Conversation(briefing, self._settings), self._client, self._model, self._settings)

    def settings(self) -> dict[str, Any]:
        """Model, endpoint and protocol, without secrets: all that shapes the answers. ``label`` is what figures must say of this agent."""
        where = {"model": self._model, "endpoint": self._endpoint.identity, "provider": self._endpoint.provider}
        return {**where, **self._settings.model_dump()}

    def apparatus(self) -> dict[str, Any]:
        """Where the model was served and how the server was treated."""
        return {"endpoint": self._endpoint.public, **self._care.model_dump(mode="json")}

    def tally(self) -> str:
        """How it stands, in a few words."""
        return self.account.tally()

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        await self._client.aclose()

    def close(self) -> None:
        """Close all connections; inside a running event loop prefer ``aclose``."""
        self._client.close()


class ChatMind:
    """One trial's conversation with a chat model."""

    def __init__(self, conversation: Conversation, client: Client, model: str, settings: ChatSettings) -> None:
        self._conversation = conversation
        self._client = client
        self._model = model
        self._settings = settings
        self._identifier = uuid.uuid4().hex
        self._journal: Journal | None = None
        self._stored: list[Mapping[str, Any]] = []

    def attach(self, journal: Journal) -> None:
        """Keep every reply in ``journal`` before it is used, and take those that it already holds instead of asking again. Before the first step only."""
        self._journal = journal
        self._stored = list(journal.replies())

    async def step(self, percept: Percept) -> Response | None:
        """Read a step; the answer when it has a question.

        Raises
        ------
        SpanLabError
            when the endpoint fails for good: a lost connection is no answer of the model's.
        """
        if not percept.model_step:
            return None
        self._conversation.show(percept)
        return None if percept.ask is None else await self._answer(percept.ask)

    async def _answer(self, ask: Ask) -> Response:
        self._conversation.ask(ask.kind)
        replies: list[Reply] = []
        replayed = 0
        value = None
        while value is None and len(replies) <= self._settings.reask:
            if replies:
                self._conversation.ask_again(ask.kind)
            replayed += bool(self._stored)
            reply = await self._reply()
            replies.append(reply)
            self._conversation.hear(reply.content)
            value = ask.kind.parse(reply.content)
        return Response(
            value=value,
            raw=replies[-1].content,
            outcome="invalid" if value is None else "answered",
            notes=_notes(replies, replayed),
        )

    async def _reply(self) -> Reply:
        """The next reply of the conversation: from the journal as long as it holds any, else from the model."""
        messages = self._conversation.messages
        request = digest([self._model, messages, self._settings.sampling()])
        if self._stored:
            stored = self._stored.pop(0)
            if stored.get("request") != request:
                raise SpanLabError(
                    "a stored reply answers other words than those of this trial: the paradigm or the chat settings have changed; start a new session"
                )
            return Reply.model_validate(stored["reply"])
        if self._journal is not None:
            self._journal.note({"note": "request", "request": request})  # a request without a stored reply may have been paid for
        said = tuple(Message(message["role"], (Text(message["content"]),)) for message in messages)
        reply = await self._client.ask(Request(said, self._settings.sampling(), request, self._identifier))
        if self._journal is not None:
            # in a thread: other conversations go on while the disk is waited for
            await asyncio.to_thread(self._journal.store, {"request": request, "reply": reply.model_dump()})
        return reply


def _notes(replies: list[Reply], replayed: int) -> dict[str, Any]:
    """The account of one answer: of its last reply, and summed over all attempts."""
    last = replies[-1]
    notes: dict[str, Any] = {
        "latency_ms": round(last.latency_ms, 3),
        "attempts": len(replies),
        "retries": sum(len(reply.faults) for reply in replies),
        "replayed": replayed,
        "prompt_tokens": _total(reply.prompt_tokens for reply in replies),
        "completion_tokens": _total(reply.completion_tokens for reply in replies),
        "finish_reason": last.finish_reason,
        "served_model": last.served_model,
    }
    if last.fingerprint is not None:
        notes["fingerprint"] = last.fingerprint
    if last.refusal is not None:
        notes["refusal"] = last.refusal
    if len(replies) > 1:
        notes["earlier_replies"] = [reply.content for reply in replies[:-1]]
    return notes


def _total(counts: Any) -> int | None:
    """The sum of what was counted; None when nothing was."""
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
