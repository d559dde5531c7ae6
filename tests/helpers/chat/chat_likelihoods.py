"""A model of letters whose probabilities are known, behind the doors by which servers tell them: a
word of a conversation is one letter, and so is its end."""

from __future__ import annotations

import hashlib
import json
import math
import string
from collections.abc import Mapping, Sequence
from typing import Any

from chat_servers import Answer, Request

END = "<|end|>"
LETTERS = (*string.digits, *string.ascii_letters, *" .,-;:\n?()'\"/|\u2013", END)


def distribution(before: str) -> Mapping[str, float]:
    """The probability of each next letter, by the last letters of what stands before it."""
    seed = hashlib.sha256(before[-200:].encode()).digest()
    weights = [1 + (seed[place % 32] * (place + 7)) % 251 for place in range(len(LETTERS))]
    return {letter: weight / sum(weights) for letter, weight in zip(LETTERS, weights, strict=True)}


def probability(before: str, *letters: str) -> float:
    """The probability that some letters follow, one after the other."""
    product = 1.0
    for letter in letters:
        product *= distribution(before)[letter]
        before += letter
    return product


def letters_of(text: str) -> list[str]:
    """A text in letters, with its ends."""
    found: list[str] = []
    for number, part in enumerate(text.split(END)):
        found += [END] * bool(number) + list(part)
    return found


def prompt_of(body: Mapping[str, Any]) -> str:
    """What a chat template of this model makes of messages."""

    def words(content: Any) -> str:
        return (
            content
            if isinstance(content, str)
            else "\n\n".join(part["text"] for part in content if part["type"] == "text")
        )

    text = "".join(f"[{message['role']}]{words(message['content'])}{END}\n" for message in body["messages"])
    return text + "[assistant]" if body.get("add_generation_prompt", True) else text


def scores(text: str, kept: int = 60) -> list[tuple[str, float | None]]:
    """Each letter of a text with the logarithm of its probability; those long before its end with
    any."""
    letters, before = letters_of(text), ""
    found: list[tuple[str, float | None]] = []
    for place, letter in enumerate(letters):
        known = distribution(before).get(letter, 1e-9) if place >= len(letters) - kept else 0.5
        found.append((letter, math.log(known) if place else None))
        before += letter
    return found


def like_vllm(request: Request) -> Answer:
    """Chat completions with ``prompt_logprobs``; a reply is always 3."""
    text = prompt_of(request.body)
    found: dict[str, Any] = _completion(
        {"message": {"role": "assistant", "content": "3"}, "finish_reason": "stop"}, len(letters_of(text))
    )
    if request.body.get("prompt_logprobs") is not None:
        told = scores(text)
        found["prompt_logprobs"] = [
            None if value is None else {str(ord(letter[0])): {"logprob": value, "rank": 1, "decoded_token": letter}}
            for letter, value in told
        ]
    return 200, "application/json", json.dumps(found).encode()


def like_completions(request: Request) -> Answer:
    """A completion endpoint that repeats what it was sent; a reply is always 3."""
    if not request.path.endswith("/v1/completions"):
        return like_vllm(request)
    told: Sequence[tuple[str, float | None]] = [*scores(request.body["prompt"]), ("3", -1.0)]
    logprobs = {
        "tokens": [letter for letter, _ in told],
        "token_logprobs": [value for _, value in told],
        "top_logprobs": None,
        "text_offset": [],
    }
    found = _completion(
        {"text": request.body["prompt"] + "3", "finish_reason": "length", "logprobs": logprobs}, len(told) - 1
    )
    return 200, "application/json", json.dumps(found).encode()


def _completion(choice: Mapping[str, Any], tokens: int) -> dict[str, Any]:
    return {
        "model": "letters",
        "choices": [{"index": 0, **choice}],
        "usage": {"prompt_tokens": tokens, "completion_tokens": 1},
    }
