"""Reading what a server sends with status 200: a reply, an error that a provider tells in its
place, or what can be read as neither.

Three things that look alike. A reply that arrived whole is kept whatever its metadata look like:
numbers written as text, parts in place of a string, counts that are missing. An error is never a
reply, wherever it stands: in place of the choices, beside them, within one, or as the reason for
which it ended.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from ....core.json_values import as_list, as_object
from ..messages import Reply, Taken

#: Ends of a reply that say that it was broken off and not ended: words of gateways and of single
#: providers.
BROKEN = frozenset(
    {"error", "network_error", "insufficient_system_resource", "abort", "aborted", "cancelled", "failed"}
)
#: Ends of a reply that say that a filter took it away.
FILTERED = ("content_filter", "sensitive", "safety", "prohibited_content", "blocklist", "recitation", "spii")
#: Ends of a reply that was cut, in other words than the usual one.
_CUT = {"max_tokens": "length", "model_length": "length", "model_context_window_exceeded": "length"}
#: The statuses that types of errors have where they are told without one.
_STATUSES = {
    "rate_limit": 429,
    "too_many_requests": 429,
    "overloaded": 503,
    "unavailable": 503,
    "timeout": 504,
    "server_error": 500,
    "api_error": 500,
    "internal": 500,
    "insufficient_quota": 402,
    "authentication": 401,
    "invalid_api_key": 401,
    "permission": 403,
    "not_found": 404,
    "content_filter": 400,
    "content_policy": 400,
    "exceed_context": 400,
    "context_length": 400,
    "invalid_request": 400,
    "badrequest": 400,
    "bad_request": 400,
}


class NoReplyError(Exception):
    """Raised where what came is no reply.

    Parameters
    ----------
    said : the error that the server tells in its place; empty when it tells none
    status : the HTTP status that this error would have had, when it says so
    code : a word for it, when it gives one
    filtered : whether a filter blocked the reply
    taken : the tokens that it counted all the same; None when it counted none
    begun : whether a reply was under way that may have to be paid for
    """

    def __init__(
        self,
        said: str = "",
        status: int | None = None,
        code: str = "",
        filtered: bool = False,
        taken: Taken | None = None,
        begun: bool = True,
    ) -> None:
        super().__init__(said)
        self.said, self.status, self.code = said, status, code
        self.filtered, self.taken, self.begun = filtered, taken, begun


def read_reply(content: bytes, latency_ms: float, reasoning_fields: Sequence[str] = ()) -> Reply:
    """The body of an answer as a reply.

    Parameters
    ----------
    content : as it came
    latency_ms : how long it took
    reasoning_fields : fields of a message that may hold the model's reasoning; the first that is
        there counts

    Raises
    ------
    NoReplyError
        when it tells an error, is cut off, or is not what a chat server sends.
    """
    completion = _object(content)
    choice = _first_choice(completion)
    taken = _taken(completion.get("usage"), (choice or {}).get("usage"))
    _raise_error(completion, choice, taken)
    if choice is None:
        if any(_filters(completion.get(name)) for name in ("prompt_filter_results", "prompt_feedback")):
            raise NoReplyError("a filter blocked the reply", 400, "content_filter", True, taken)
        raise NoReplyError(
            "a completion without a choice" if completion.get("object") == "chat.completion" else "", taken=taken
        )
    message = next((choice[name] for name in ("message", "delta") if isinstance(choice.get(name), Mapping)), None)
    if message is None and not isinstance(choice.get("text"), str):
        raise NoReplyError(taken=taken)
    message = message if message is not None else {"content": choice["text"]}
    text, thoughts = _content(message.get("content"))
    reasoning = (
        next((found for name in reasoning_fields if (found := _content(message.get(name))[0])), None) or thoughts
    )
    if taken is not None and not taken.completion_tokens and (text or reasoning):
        taken = taken.model_copy(update={"completion_tokens": None})  # zero for what was written is no count
    ended = _word(choice.get("finish_reason"))
    if ended is None and not text and not reasoning and not message.get("refusal") and not message.get("tool_calls"):
        raise NoReplyError("a choice that holds nothing and has not ended", taken=taken)
    return Reply(
        content=text,
        reasoning=reasoning or None,
        refusal=_word(message.get("refusal")),
        finish_reason=ended and _CUT.get(ended.lower(), ended),
        served_model=_word(completion.get("model")),
        fingerprint=_word(completion.get("system_fingerprint")),
        **(taken or Taken()).model_dump(),
        latency_ms=latency_ms,
        first_logprobs=_first_logprobs(choice.get("logprobs")),
    )


def _object(content: bytes) -> Mapping[str, Any]:
    """The JSON object of a body; of a stream the one that its pieces make together."""
    # broken characters, which random weights write, are a part of a reply that arrived
    text = content.decode("utf-8-sig", "replace")
    if text.lstrip().startswith(("data:", "event:", ":")):
        return _of_stream(text)
    try:
        completion = json.loads(text)
    except (ValueError, RecursionError):
        raise NoReplyError from None
    if isinstance(completion, list) and len(completion) == 1:
        completion = completion[0]
    if not isinstance(completion, Mapping):
        raise NoReplyError
    return completion


def _of_stream(text: str) -> Mapping[str, Any]:
    """What a stream of server-sent events makes together: texts one after the other, of everything
    else what came last.

    Raises
    ------
    NoReplyError
        when a piece cannot be read, or the stream has broken off.
    """
    whole: dict[str, Any] = {}
    choice: dict[str, Any] = {}
    message: dict[str, Any] = {}
    done = False
    for data in (line.removeprefix("data:").strip() for line in text.splitlines() if line.startswith("data:")):
        done |= data == "[DONE]"
        if not data or data == "[DONE]":
            continue
        try:
            piece = json.loads(data)
        except (ValueError, RecursionError):
            raise NoReplyError("a stream was cut off") from None
        if not isinstance(piece, Mapping):
            raise NoReplyError
        one = _first_choice(piece) or {}
        for name, value in as_object(one.get("delta") or one.get("message")).items():
            texts = isinstance(value, str) and isinstance(message.get(name), str)
            # nothing takes nothing away
            message[name] = message[name] + value if texts else (value or message.get(name))
        first = as_object(choice.get("logprobs")).get("content")  # those of the first token stay
        kept = ("delta", "logprobs") if first else ("delta",)
        choice |= {name: value for name, value in one.items() if value is not None and name not in kept}
        whole |= {name: value for name, value in piece.items() if value is not None and name != "choices"}
    there = bool(choice or message)
    if there and not done and choice.get("finish_reason") is None:
        raise NoReplyError("a stream was cut off")
    return {**whole, "choices": [{**choice, "message": message}] if there else []}


def _first_choice(completion: Mapping[str, Any]) -> Mapping[str, Any] | None:
    return next((one for one in as_list(completion.get("choices"))[:1] if isinstance(one, Mapping)), None)


def _filters(found: Any) -> bool:
    """Return whether what a server says of its filter has blocked something."""
    if isinstance(found, Mapping):
        return found.get("filtered") is True or bool(found.get("block_reason")) or any(map(_filters, found.values()))
    return isinstance(found, list) and any(map(_filters, found))


def is_reply(reply: Reply) -> bool:
    """Return whether what was once kept as a reply is one, by the reason for which it ended: some
    programs keep errors as replies."""
    ended = (reply.finish_reason or "").lower()
    return ended not in BROKEN and not ended.startswith(FILTERED)


def _raise_error(completion: Mapping[str, Any], choice: Mapping[str, Any] | None, taken: Taken | None) -> None:
    """Raise what a body tells as an error, wherever it stands."""
    begun = choice is not None or (taken is not None and bool(taken.completion_tokens))
    inside = choice or {}
    ended = (_word(inside.get("finish_reason")) or "").lower()
    filtered = ended.startswith(FILTERED)
    for found in (completion.get("error"), inside.get("error"), completion.get("errors")):
        found = found[0] if isinstance(found, list) and found else found
        if any(found.values()) if isinstance(found, Mapping) else found:
            said, status, code = error_in(found)
            raise NoReplyError(said, status, code, filtered or _is_filter(code), taken, begun)
    if ended in BROKEN:
        raise NoReplyError(
            f"the reply was broken off ({ended})",
            429 if ended == "insufficient_system_resource" else None,
            ended,
            taken=taken,
            begun=begun,
        )
    if filtered:
        raise NoReplyError(f"a filter blocked the reply ({ended})", 400, "content_filter", True, taken, begun)
    if choice is None and (
        completion.get("object") == "error" or completion.get("type") == "error" or "choices" not in completion
    ):
        for name in ("message", "detail", "error_msg", "msg"):
            if completion.get(name):
                said, status, code = error_in({**completion, "message": completion[name]})
                raise NoReplyError(said, status, code, _is_filter(code), taken, begun)


def error_in(found: Any) -> tuple[str, int | None, str]:
    """An error that is told: what is said, the status that it would have had, and a word for it."""
    if not isinstance(found, Mapping):
        return str(found), None, ""
    said = (
        found.get("message")
        or found.get("detail")
        or found.get("msg")
        or found.get("type")
        or found.get("code")
        or "no reason is given"
    )
    status, words = None, []
    for name in ("status", "status_code", "code", "error_code", "type"):
        value = found.get(name)
        number = _count(value)
        if number is not None and 400 <= number < 600:
            status = status or number
        elif isinstance(value, str) and value:
            words.append(value)
    metadata = found.get("metadata")
    if isinstance(metadata, Mapping) and (metadata.get("flagged_input") or metadata.get("reasons")):
        words.insert(0, "content_filter")
    known = [number for word in words for key, number in _STATUSES.items() if key in word.lower()]
    return (
        said if isinstance(said, str) else json.dumps(said),
        status or next(iter(known), None),
        next(iter(words), ""),
    )


def _is_filter(code: str) -> bool:
    return code.lower().startswith(("content_filter", "content_policy", "responsibleai"))


#: the counts of a usage by which everything is told; what else it counts is a part of them, if it is small enough
_WHOLE = frozenset(
    {"prompt_tokens", "input_tokens", "completion_tokens", "output_tokens", "total_tokens", "reasoning_tokens"}
)


def _taken(*usages: Any) -> Taken | None:
    """The tokens that a server counts, however it writes them; None when it counts none."""
    for usage in (one for one in usages if isinstance(one, Mapping)):
        prompt = _first_count(usage, "prompt_tokens", "input_tokens")
        completion = _first_count(usage, "completion_tokens", "output_tokens")
        total = _first_count(usage, "total_tokens")
        reasoning = _first_count(usage, "completion_tokens_details.reasoning_tokens", "reasoning_tokens")
        cached = _first_count(
            usage, "prompt_tokens_details.cached_tokens", "prompt_cache_hit_tokens", "cache_read_input_tokens"
        )
        kept = _first_count(usage, "cache_creation_input_tokens")
        if prompt is not None and "prompt_tokens" not in usage:  # Anthropic counts these beside what was read
            prompt += (_first_count(usage, "cache_read_input_tokens") or 0) + (kept or 0)
        if total is not None and prompt is None and completion is not None:
            prompt = max(0, total - completion)
        if total is not None and completion is None and prompt is not None:
            completion = max(0, total - prompt)
        prompt = prompt or None  # zero for a prompt that was not empty is no count
        if prompt is None and completion is None:
            continue
        taken = counted(prompt, completion, total, reasoning, cached).model_copy(update={"cache_write_tokens": kept})
        told = (taken.prompt_tokens or 0) + (taken.completion_tokens or 0)
        others = [
            _count(value) or 0 for name, value in usage.items() if name not in _WHOLE and name.endswith("_tokens")
        ]
        if beside := sum(count for count in others if count > told):
            most = max(taken.completion_at_most or 0, (taken.completion_tokens or 0) + beside)
            taken = taken.model_copy(update={"completion_at_most": most})
        return taken
    return None


def counted(
    prompt: int | None, completion: int | None, total: int | None, reasoning: int | None, cached: int | None
) -> Taken:
    """The tokens that a server counts.

    Reasoning is a part of what was written, or stands beside it: in the total alone, or as more
    than all that was written. Where nothing tells which, it may be either.
    """
    if prompt is None or completion is None:
        return Taken(prompt_tokens=prompt, completion_tokens=completion, cached_tokens=cached)
    beside = max(0, (total or 0) - prompt - completion)
    if (reasoning or 0) > completion:
        beside = max(beside, reasoning or 0)
    written = completion + beside
    most = completion + (reasoning or 0) if total is None else 0
    return Taken(
        prompt_tokens=prompt,
        completion_tokens=written,
        reasoning_tokens=reasoning,
        cached_tokens=cached,
        completion_at_most=most if most > written else None,
    )


def _first_count(usage: Mapping[str, Any], *places: str) -> int | None:
    """The count at the first of some places that has one; those after a point are within another."""
    for place in places:
        whole, _, name = place.rpartition(".")
        part = usage.get(whole) if whole else usage
        if isinstance(part, Mapping) and (count := _count(part.get(name))) is not None:
            return count
    return None


def _count(value: Any) -> int | None:
    """A number of tokens, or a status, written as a number of any kind or as text; None for
    anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return round(number) if math.isfinite(number) and 0 <= number < 2**53 else None


def _content(content: Any) -> tuple[str, str | None]:
    """The text of a message, whether it is one string or parts, and the reasoning that stands among
    the parts."""
    if isinstance(content, str):
        return _sendable(content), None
    if isinstance(content, int | float) and not isinstance(content, bool):
        return str(content), None
    if isinstance(content, Mapping):
        content = [content]
    if not isinstance(content, list):
        return "", None
    texts: list[str] = []
    thoughts: list[str] = []
    for part in content:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, Mapping):
            thinking = str(part.get("type", "")).startswith(("thinking", "reasoning", "redacted"))
            said = next((part[name] for name in ("text", "thinking", "reasoning", "content") if part.get(name)), "")
            (thoughts if thinking else texts).append(said if isinstance(said, str) else _content(said)[0])
    return _sendable("".join(texts)), _sendable("\n\n".join(filter(None, thoughts))) or None


def _word(value: Any) -> str | None:
    """Return what should be a word, whatever it is: the word within an object, or its JSON."""
    if value is None or value == "":
        return None
    if isinstance(value, str):
        return _sendable(value)
    if isinstance(value, Mapping):
        named = next(
            (
                value[name]
                for name in ("type", "reason", "value", "name", "message", "text")
                if isinstance(value.get(name), str)
            ),
            None,
        )
        if named:
            return _sendable(named)
    return _sendable(json.dumps(value, sort_keys=True)) if not isinstance(value, int | float) else str(value)


def _first_logprobs(logprobs: Any) -> dict[str, float] | None:
    """The logarithms of the probabilities of the first token, by token; None when the server gives
    none. The likeliest counts where tokens look alike."""
    if not isinstance(logprobs, Mapping) or not isinstance(logprobs.get("content"), list) or not logprobs["content"]:
        return None
    first = logprobs["content"][0]
    found: dict[str, float] = {}
    for entry in [first, *as_list(as_object(first).get("top_logprobs"))]:
        if (
            not isinstance(entry, Mapping)
            or not isinstance(entry.get("token"), str)
            or isinstance(entry.get("logprob"), bool)
        ):
            continue
        try:
            value = float(entry["logprob"])
        except (KeyError, TypeError, ValueError):
            continue  # null: the server does not tell this one
        if math.isfinite(value):
            token = _sendable(entry["token"])
            found[token] = max(value, found.get(token, value))
    return found or None


def _sendable(text: str) -> str:
    """A text as it can be sent back: half characters (lone surrogates), which only garbage has,
    become question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")


#: of a request, so many tokens at its end are kept: an answer, what ends it, and enough before it
#: to see that the conversation is cut as before
KEPT = 64

#: the last tokens of a request, each with the natural logarithm of its probability (None for the
#: first one, which nothing comes before)
Echoed = tuple[tuple[str, float | None], ...]


def echoed(content: bytes) -> tuple[int, Echoed] | None:
    """Return how many tokens a request had, and the last of them.

    Parameters
    ----------
    content : what came back: with ``prompt_logprobs`` of its own, as vLLM has them, or with the
        request among the tokens of the reply (``echo``)

    Returns
    -------
    None where the server tells nothing of it, or nothing that can be read
    """
    try:
        found = _object(content)
    except NoReplyError:
        return None
    choice = _first_choice(found)
    if choice is None:
        return None
    for of_prompt in (found.get("prompt_logprobs"), choice.get("prompt_logprobs")):
        if isinstance(of_prompt, list):
            return _kept([_token_of(one) for one in of_prompt])
    logprobs = as_object(choice.get("logprobs"))
    tokens, values = logprobs.get("tokens"), logprobs.get("token_logprobs")
    written = as_object(found.get("usage")).get("completion_tokens")
    if (
        not isinstance(tokens, list)
        or not isinstance(values, list)
        or len(tokens) != len(values)
        or not isinstance(written, int)
    ):
        return None
    pairs = [
        (token, _number(value)) if isinstance(token, str) else None for token, value in zip(tokens, values, strict=True)
    ]
    return _kept(pairs[: len(pairs) - written])


def _token_of(entry: Any) -> tuple[str, float | None] | None:
    """A token of a request by what is told of it: the token itself stands before others that might
    have come."""
    if entry is None:
        return "", None
    one = next(iter(as_object(entry).values()), None)
    if not isinstance(one, Mapping) or not isinstance(one.get("decoded_token"), str):
        return None
    return one["decoded_token"], _number(one.get("logprob"))


def _number(value: Any) -> float | None:
    return (
        float(value)
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        else None
    )


def _kept(pairs: Sequence[tuple[str, float | None] | None]) -> tuple[int, Echoed] | None:
    last = [
        (token.encode("utf-8", "replace").decode("utf-8"), value)
        for token, value in (pair for pair in pairs[-KEPT:] if pair is not None)
    ]
    return (len(pairs), tuple(last)) if pairs and len(last) == len(pairs[-KEPT:]) else None
