"""Replies that were paid for: stored in a session before they are used, and in a folder for other
sessions, so that nothing is paid for twice."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ....core.errors import SpanLabError
from ....core.json_values import where_given
from ....paradigms.identity import digest
from ...payments import Journal
from ..messages import Reply, Request, stored_reply
from .departure import Departures
from .replies import is_reply

#: sends a request and gives the reply; is told who wants to know of every departure
Send = Callable[[Request, Departures | None], Awaitable[Reply]]


class PaidReplies:
    """The requests of one conversation.

    Parameters
    ----------
    send : sends a request and gives the reply
    judge : the name of the model that they are sent to, where it is not the one that takes the
        trial; each of them is a conversation of its own then
    past : so many messages were sent in earlier trials, and are kept with these
    scores : whether it is asked how probable answers are; of such a request nothing is kept but the
        answer, and it is asked again where the server did not tell
    """

    def __init__(self, send: Send, judge: str = "", past: int = 0, scores: bool = False) -> None:
        self._send = send
        self._judge, self._scores = judge, scores
        self._journal: Journal | None = None
        self._stored: list[Mapping[str, Any]] = []
        self._written = self._past = past
        self._anew = False

    def attach(self, journal: Journal, request: str | None = None) -> None:
        """Keep every reply in ``journal``, and take those that it already holds first; of these,
        where a ``request`` is named, nothing but the last one to it."""
        self._journal = journal
        lines = [
            line
            for line in journal.replies()
            if line.get("judge", "") == self._judge and bool(line.get("scores")) == self._scores
        ]
        # whether each says how probable something is
        probable = [line["reply"].get("echoed", line["reply"].get("first_logprobs")) is not None for line in lines]
        self._stored = [line for line, told in zip(lines, probable, strict=True) if told or not self._scores]
        if request is not None:
            self._stored = [line for line in self._stored if line.get("request") == request][-1:]

    @property
    def replaying(self) -> bool:
        """True if the next reply is a stored one."""
        return bool(self._stored)

    def begins_anew(self) -> None:
        """The next request does not hold the messages of those before it."""
        self._written, self._anew = 0, True

    async def reply(self, request: Request, question: int) -> Reply:
        """The reply to a request.

        Parameters
        ----------
        request : the conversation so far, with what is added to it
        question : which question of the trial it is about, from 1

        Raises
        ------
        SpanLabError
            when what was kept answers another request, or when there is no reply.
        """
        new = request.messages[self._written :]
        if self._scores:  # the conversation is kept with the reply that it had
            new = tuple(message for message in request.messages[-1:] if message.role == "assistant")
        added = [message.stored() for message in new]
        goes_on = {"past": self._past} if self._past and self._written == self._past else {}
        goes_on = {"anew": True} if self._anew else goes_on
        self._anew = False
        self._written = 0 if self._judge else len(request.messages)
        if self._stored:
            stored = self._stored.pop(0)
            if stored.get("request") != request.identity:
                raise SpanLabError(
                    "a stored reply answers other words than those of this trial: the paradigm or the chat settings"
                    " have changed; start a new session"
                )
            return stored_reply(stored["reply"])
        about = {
            "ask": question,
            "request": request.identity,
            **where_given(judge=self._judge, scores=self._scores),
        }
        journal = self._journal
        reply = await self._send(request, None if journal is None else Departures(journal, about))
        if journal is not None:
            await journal.keep({**about, **goes_on, "sent": added, "reply": reply.model_dump(mode="json")})
        return reply


_VERSION = 1


class ReplyCache:
    """A folder of replies, one file each, appearing whole or not at all; several programs may use
    it at once.

    Parameters
    ----------
    folder : where they are; made when it is not there
    scope : what a reply depends on besides the request: model, endpoint, number of the repetition

    Raises
    ------
    SpanLabError
        when the folder cannot be used.
    """

    def __init__(self, folder: Path, scope: Any) -> None:
        self._folder = folder
        self._scope = scope
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SpanLabError(
                f"replies cannot be kept in {folder}: {error.strerror or error}; choose another folder for the cache"
            ) from None

    def _key(self, request: Request) -> str:
        return digest([_VERSION, self._scope, request.identity, dict(request.options), request.trial_seed], length=40)

    def path(self, request: Request) -> Path:
        """The file of the reply to this request."""
        key = self._key(request)
        return self._folder / key[:2] / f"{key}.json"

    def get(self, request: Request) -> Reply | None:
        """The reply to this request, marked as cached; None when there is none. A damaged file is
        warned of, and counts as none."""
        path = self.path(request)
        try:
            content = json.loads(path.read_bytes())
            if content["key"] != self._key(request):
                raise ValueError("it is the reply to another request")
            reply = stored_reply(content["reply"])
            if not is_reply(reply):
                return None  # an error that was once taken for a reply
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, ValidationError):
            warnings.warn(
                f"{path} is damaged and is not used: the reply is asked for again, and the file replaced", stacklevel=2
            )
            return None
        return reply.model_copy(update={"cached": True})

    def put(self, request: Request, reply: Reply) -> None:
        """Keep a reply, without the faults that preceded it.

        Raises
        ------
        SpanLabError
            when it cannot be written.
        """
        if not is_reply(reply) or reply.refusal is not None:
            return
        path = self.path(request)
        partial = path.with_name(f".{path.name}.{os.getpid()}.part")
        kept = reply.model_copy(update={"faults": (), "waited_ms": 0.0})
        try:
            path.parent.mkdir(exist_ok=True)
            partial.write_text(
                json.dumps({"key": self._key(request), "reply": kept.model_dump(mode="json")}), encoding="ascii"
            )
            partial.replace(path)
        except OSError as error:
            raise SpanLabError(
                f"cannot write {path}: {error.strerror or error}; free some space, or continue without a cache"
            ) from None
