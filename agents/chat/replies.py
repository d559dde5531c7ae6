"""Reading what a server sends with status 200: a reply, or why it is none."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from .messages import Reply


class NoReplyError(Exception):
    """What came is no reply.

    Parameters
    ----------
    said : the error that the server tells in its place; empty when it tells none
    status : the HTTP status that this error would have had, when it says so
    """

    def __init__(self, said: str = "", status: int | None = None) -> None:
        super().__init__(said)
        self.said = said
        self.status = status


def read_reply(content: bytes, latency_ms: float, reasoning_fields: Sequence[str] = ()) -> Reply:
    """The body of an answer as a reply.

    Parameters
    ----------
    content : as it came
    latency_ms : how long it took
    reasoning_fields : fields of a message that may hold the model's reasoning; the first that is there counts

    Raises
    ------
    NoReplyError
        when it is cut off, not UTF-8, or not what a chat server sends.
    """
    try:
        completion = json.loads(content.decode("utf-8"))
    except (ValueError, RecursionError):
        raise NoReplyError from None
    try:
        choice = completion["choices"][0]
        message, usage = choice["message"], completion.get("usage") or {}
        return Reply(
            content=_sendable(message.get("content") or ""),
            reasoning=_text(next((message[name] for name in reasoning_fields if message.get(name)), None)),
            refusal=_text(message.get("refusal")),
            finish_reason=_text(choice.get("finish_reason")),
            served_model=_text(completion.get("model")),
            fingerprint=_text(completion.get("system_fingerprint")),
            prompt_tokens=usage.get("prompt_tokens"),
            completion_tokens=usage.get("completion_tokens"),
            reasoning_tokens=(usage.get("completion_tokens_details") or {}).get("reasoning_tokens"),
            cached_tokens=(usage.get("prompt_tokens_details") or {}).get("cached_tokens"),
            latency_ms=latency_ms,
            first_logprobs=_first_logprobs(choice.get("logprobs")),
        )
    except (AttributeError, LookupError, TypeError, ValidationError):
        pass
    error = completion.get("error") if isinstance(completion, dict) else None
    if isinstance(error, dict) and error.get("message"):
        raise NoReplyError(str(error["message"]), error["code"] if isinstance(error.get("code"), int) else None)
    if isinstance(error, str) and error:
        raise NoReplyError(error)
    raise NoReplyError


def _first_logprobs(logprobs: Any) -> dict[str, float] | None:
    """The logarithms of the probabilities of the first token, by token; None when the server gives none. The likeliest counts where tokens look alike."""
    if not isinstance(logprobs, Mapping) or not isinstance(logprobs.get("content"), list) or not logprobs["content"]:
        return None
    first = logprobs["content"][0]
    found: dict[str, float] = {}
    for one in [first, *(first.get("top_logprobs") or [])]:
        token, value = _sendable(one["token"]), float(one["logprob"])
        if value == value and abs(value) != float("inf"):
            found[token] = max(value, found.get(token, value))
    return found or None


def _text(value: Any) -> str | None:
    return None if value is None else _sendable(value)


def _sendable(text: Any) -> str:
    """A text as it can be sent back: half characters (lone surrogates), which only garbage has, become question marks."""
    if not isinstance(text, str):
        raise TypeError
    return text.encode("utf-8", "replace").decode("utf-8")
