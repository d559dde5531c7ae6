"""The probabilities of a request's tokens, each given those before it, where a server returns them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

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
        found = json.loads(content.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError):
        return None
    choices = found.get("choices") if isinstance(found, Mapping) else None
    choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], Mapping) else None
    if choice is None:
        return None
    for of_prompt in (found.get("prompt_logprobs"), choice.get("prompt_logprobs")):
        if isinstance(of_prompt, list):
            return _kept([_first(one) for one in of_prompt])
    logprobs, usage = choice.get("logprobs"), found.get("usage")
    tokens, values = (
        logprobs.get(name) if isinstance(logprobs, Mapping) else None for name in ("tokens", "token_logprobs")
    )
    written = usage.get("completion_tokens") if isinstance(usage, Mapping) else None
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


def _first(entry: Any) -> tuple[str, float | None] | None:
    """A token of a request by what is told of it: the token itself stands before others that might
    have come."""
    if entry is None:
        return "", None
    one = next(iter(entry.values()), None) if isinstance(entry, Mapping) else None
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
