# ruff: noqa: B027 (methods that do nothing are the point)
"""The open door of chat models: a class of one's own that sends a request and gives the reply, in place of a server that speaks as OpenAI's does.

Everything around it stays: rate limits, repeats, replies on the disk before they are used, accounts, resuming.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..messages import Reply


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A request as a hook gets it.

    Parameters
    ----------
    model : as it was named
    messages : the conversation so far, in the form of OpenAI's chat completions
    options : everything else that shapes the reply, under the names of chat completions (``temperature``, ``max_tokens``, ``logprobs`` ...)
    conversation : its name, the same for all requests of a conversation
    """

    model: str
    messages: tuple[Mapping[str, Any], ...]
    options: Mapping[str, Any]
    conversation: str


class SendHook(ABC):
    """Sends requests in a way of its own.

    A fault is told by raising an ``EndpointError`` (``permanent=False`` where asking again may help; ``status`` as HTTP has it, 429 where there are too many
    requests; ``of_request=True`` where it says something of this request alone). Whatever else is raised stops the session, in a sentence.
    """

    #: as records name it, in place of an address: where the model is, or by what it is reached; no secrets
    name: str

    def check(self) -> None:
        """Raise a ``SpanLabError`` where something is missing that it needs; asked before a session."""

    @abstractmethod
    async def send(self, request: Outgoing) -> Reply:
        """The reply to a request: its ``content``, and whatever else is known of it; ``latency_ms`` is measured around this."""

    async def aclose(self) -> None:
        """Let go of what belongs to the running event loop."""
