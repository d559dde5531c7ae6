# ruff: noqa: B027 (methods that do nothing are the point)
"""Hooks for chat models: a user's class that sends a request and returns the reply, in place of a
server with OpenAI's protocol.

Everything around it stays: rate limits, repeats, replies on the disk before they are used,
accounts, resuming.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..messages import Reply
from .endpoint import Endpoint


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A request as a hook gets it.

    Parameters
    ----------
    model : as it was named
    messages : the conversation so far, in the form of OpenAI's chat completions
    options : everything else that shapes the reply, under the names of chat completions
        (``temperature``, ``max_tokens``, ``logprobs`` ...)
    conversation : its name, the same for all requests of a conversation
    headers : further headers of one's own, for hooks that reach a server; with the values of the
        variables that they name
    batch : whether it may go in a batch with others, and its reply come within a day
    text : the conversation as one text, where that is what is scored
    """

    model: str
    messages: tuple[Mapping[str, Any], ...]
    options: Mapping[str, Any]
    conversation: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    batch: bool = False
    text: str | None = None


class SendHook(ABC):
    """Sends requests in a way of its own.

    A fault is told by raising an ``EndpointError`` (``permanent=False`` where asking again may
    help; ``status`` as HTTP has it, 429 where there are too many requests; ``of_request=True``
    where it says something of this request alone; ``begun`` where a reply may have been under way,
    ``taken`` the tokens that were counted for it, ``wait_s`` how long the server asks to wait).
    Whatever else is raised stops the session, in a sentence.
    """

    #: as records name it, in place of an address: where the model is, or by what it is reached; no
    #: secrets
    name: str
    #: the server that it reaches, where it reaches one: its address is recorded then, and its key
    #: hidden
    endpoint: Endpoint | None = None
    #: whether it can send requests in batches
    batches: bool = False
    #: whether the model runs in this program: it has all the time that it takes, and says how probable
    #: what it is sent is
    local: bool = False

    def check(self) -> None:
        """Raise a ``SpanLabError`` where something is missing that it needs; asked before a
        session."""

    def check_options(self, options: Mapping[str, Any]) -> None:
        """Raise an ``EndpointError`` for options of a request that cannot be sent; asked before a
        session, and before each request leaves."""

    @abstractmethod
    async def send(self, request: Outgoing) -> Reply:
        """The reply to a request: its ``content``, and whatever else is known of it; ``latency_ms``
        is measured around this."""

    async def aclose(self) -> None:
        """Release what belongs to the running event loop."""
