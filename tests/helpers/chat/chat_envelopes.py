"""The forms in which servers, gateways and providers send replies and errors with status 200, as
far as they are known to differ."""

from __future__ import annotations

import json
from typing import Any

USAGE = {"prompt_tokens": 100, "completion_tokens": 7, "total_tokens": 107}


def body(message: Any = None, usage: Any = None, choice: Any = None, **more: Any) -> bytes:
    """A reply as chat servers send it, with what is odd about it."""
    first = {
        "index": 0,
        "message": {"role": "assistant", "content": "m"} if message is None else message,
        "finish_reason": "stop",
        **(choice or {}),
    }
    whole = {
        "id": "x",
        "object": "chat.completion",
        "model": "served-1",
        "choices": [first],
        "usage": USAGE if usage is None else usage,
        **more,
    }
    return json.dumps({key: value for key, value in whole.items() if value != "absent"}).encode()


def told(message: str, **more: Any) -> bytes:
    """An error in place of a reply."""
    return json.dumps({"error": {"message": message, **more}}).encode()


#: replies that arrived whole: the answer is m in each; by name: body, tokens read and written as
#: far as they can be known
WHOLE: dict[str, tuple[bytes, tuple[int | None, int | None]]] = {
    "plain": (body(), (100, 7)),
    "fractional usage": (body(usage={"prompt_tokens": 100.0, "completion_tokens": 6.6}), (100, 7)),
    "usage in text": (body(usage={"prompt_tokens": "100", "completion_tokens": "7"}), (100, 7)),
    "usage that is not a number": (body(usage={"prompt_tokens": "many", "completion_tokens": None}), (None, None)),
    "usage of true and false": (body(usage={"prompt_tokens": True, "completion_tokens": False}), (None, None)),
    "negative usage": (body(usage={"prompt_tokens": -1, "completion_tokens": 7}), (None, 7)),
    "usage by total": (body(usage={"completion_tokens": 7, "total_tokens": 107}), (100, 7)),
    "usage in other words": (body(usage={"input_tokens": 100, "output_tokens": 7}), (100, 7)),
    "usage of a list": (body(usage=[100, 7]), (None, None)),
    "no usage": (body(usage="absent"), (None, None)),
    "usage within the choice": (body(usage="absent", choice={"usage": USAGE}), (100, 7)),
    "details that are none": (
        body(usage={**USAGE, "completion_tokens_details": 3, "prompt_tokens_details": "none"}),
        (100, 7),
    ),
    "fingerprint a number": (body(system_fingerprint=20260101), (100, 7)),
    "model an object": (body(model={"name": "served-1"}), (100, 7)),
    "no model": (body(model="absent"), (100, 7)),
    "log probability null": (
        body(choice={"logprobs": {"content": [{"token": "m", "logprob": None, "top_logprobs": None}]}}),
        (100, 7),
    ),
    "log probabilities of nonsense": (body(choice={"logprobs": {"content": [None, 3]}}), (100, 7)),
    "finish_reason an object": (body(choice={"finish_reason": {"type": "stop"}}), (100, 7)),
    "finish_reason a number": (body(choice={"finish_reason": 1}), (100, 7)),
    "no finish_reason": (body(choice={"finish_reason": None}), (100, 7)),
    "content in parts": (
        body(
            {
                "role": "assistant",
                "content": [{"type": "thinking", "thinking": "b or m"}, {"type": "text", "text": "m"}],
            }
        ),
        (100, 7),
    ),
    "content in strings": (body({"role": "assistant", "content": ["m"]}), (100, 7)),
    "content one part": (body({"role": "assistant", "content": {"type": "text", "text": "m"}}), (100, 7)),
    "a delta": (body("absent", choice={"delta": {"content": "m"}, "message": None}), (100, 7)),
    "a text": (body("absent", choice={"text": "m", "message": None}), (100, 7)),
    "an error of nothing beside it": (body(error=None), (100, 7)),
    "an empty error beside it": (body(error={"code": 0, "message": ""}), (100, 7)),
    "refusal of nothing": (body({"role": "assistant", "content": "m", "refusal": ""}), (100, 7)),
    "in a list": (b"[" + body() + b"]", (100, 7)),
    "with a byte order mark": (b"\xef\xbb\xbf" + body(), (100, 7)),
    "space around it": (b" \n" + body() + b"\n", (100, 7)),
}

#: errors with status 200; by name: body, the word for it, whether it lasts, whether it says
#: something of this request alone, whether a reply was under way
ERRORS: dict[str, tuple[bytes, str, bool, bool, bool]] = {
    "in place of the reply": (told("the provider is gone", code=502), "server", False, False, False),
    "its status in text": (told("the provider is gone", code="502"), "server", False, False, False),
    "without a status": (told("it did not work"), "server", False, False, False),
    "a sentence": (b'{"error": "it did not work"}', "server", False, False, False),
    "in a list, as at Google": (
        b"[" + told("quota", code=429, status="RESOURCE_EXHAUSTED") + b"]",
        "rate_limit",
        False,
        False,
        False,
    ),
    "too fast, by type": (told("slow down", type="rate_limit_error"), "rate_limit", False, False, False),
    "overloaded, as at Anthropic": (
        b'{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}',
        "server",
        False,
        False,
        False,
    ),
    "as an object, as vLLM did": (
        b'{"object": "error", "message": "it broke", "type": "InternalServerError", "code": 500}',
        "server",
        False,
        False,
        False,
    ),
    "a detail, as FastAPI": (b'{"detail": "Internal Server Error"}', "server", False, False, False),
    "errors": (b'{"errors": [{"message": "it broke", "code": 500}]}', "server", False, False, False),
    "too long, as llama.cpp": (
        told("the request exceeds", type="exceed_context_size_error", code=400),
        "server",
        True,
        True,
        False,
    ),
    "too long, by code": (
        told("no", code="context_length_exceeded", type="invalid_request_error"),
        "server",
        True,
        True,
        False,
    ),
    "refused": (told("this picture cannot be read", code=400), "server", True, True, False),
    "no credit": (told("Insufficient credits", code=402), "server", True, False, False),
    "a key": (told("No auth credentials found", code=401), "server", True, False, False),
    "moderated": (
        told("flagged", code=403, metadata={"reasons": ["violence"], "flagged_input": "..."}),
        "filter",
        True,
        True,
        False,
    ),
    "beside the choices": (body(error={"message": "the provider is gone", "code": 502}), "server", False, False, True),
    "beside empty choices": (
        json.dumps({"choices": [], "error": {"message": "gone", "code": 502}}).encode(),
        "server",
        False,
        False,
        False,
    ),
    "within the choice": (
        body(choice={"error": {"message": "gone", "code": 502}, "finish_reason": "error"}),
        "server",
        False,
        False,
        True,
    ),
    "within the choice, too fast": (
        body(choice={"error": {"message": "upstream is full", "code": 429}}),
        "rate_limit",
        False,
        False,
        True,
    ),
    "by the end alone": (body(choice={"finish_reason": "error"}), "server", False, False, True),
    "by an end in an object": (body(choice={"finish_reason": {"type": "error"}}), "server", False, False, True),
    "the network, as at Z.ai": (body(choice={"finish_reason": "network_error"}), "server", False, False, True),
    "no machine left, as at DeepSeek": (
        body(choice={"finish_reason": "insufficient_system_resource"}),
        "rate_limit",
        False,
        False,
        True,
    ),
    "broken off, as vLLM": (body(choice={"finish_reason": "abort"}), "server", False, False, True),
    "a filter": (body(choice={"finish_reason": "content_filter"}), "filter", True, True, True),
    "a filter with its reason": (
        body({"role": "assistant", "content": ""}, choice={"finish_reason": "content_filter: SAFETY"}),
        "filter",
        True,
        True,
        True,
    ),
    "a filter, as at Z.ai": (body(choice={"finish_reason": "sensitive"}), "filter", True, True, True),
    "a choice that has not ended": (
        body({"role": "assistant", "content": ""}, choice={"finish_reason": None}),
        "server",
        False,
        False,
        True,
    ),
}

#: what cannot be read at all
UNREADABLE: dict[str, bytes] = {
    "nothing": b"",
    "cut off": body()[:60],
    "a page": b"<html>Welcome</html>",
    "null": b"null",
    "a number": b"3",
    "no choices": json.dumps({"id": "x", "usage": USAGE}).encode(),
    "empty choices": b'{"choices": []}',
    "choices of nothing": b'{"choices": [null]}',
    "choices of an object": b'{"choices": {"0": {}}}',
    "no message": b'{"choices": [{"index": 0, "finish_reason": "stop"}]}',
    "two replies in a row": body() + body(),
}
