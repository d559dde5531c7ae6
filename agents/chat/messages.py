"""Traffic with a chat server: messages of text, pictures and sounds, requests,
replies."""

from __future__ import annotations

import base64
import hashlib
import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from ...core.json_values import where_given
from ...paradigms.identity import canonical
from ...stimuli import Stimulus
from ...stimuli.render.pixels import picture

Role = Literal["system", "developer", "user", "assistant"]

_PICTURES_KEPT = 2048


@dataclass(frozen=True, slots=True)
class Text:
    """Words of a message."""

    text: str

    def sent(self) -> dict[str, Any]:
        """As a part of a message on its way to a server."""
        return {"type": "text", "text": self.text}

    def stored(self) -> dict[str, Any]:
        """As it is kept."""
        return {"text": self.text}


@dataclass(frozen=True, slots=True)
class Picture:
    """A display as a picture in a message.

    Parameters
    ----------
    stimulus : what is shown
    step : which of the steps that the agent was given, from 1; pictures are not stored but drawn
        anew, and this says which
    size_px : width and height
    example : the worked example to which the step belongs, where it is none of the trial's own
    """

    stimulus: Stimulus
    step: int
    size_px: int
    example: str = ""

    def file(self) -> bytes:
        """The PNG file."""
        return png(self.stimulus, self.size_px)  # type: ignore[arg-type]  # frozen models have a hash

    def sent(self) -> dict[str, Any]:
        """As a part of a message on its way to a server."""
        url = f"data:image/png;base64,{base64.b64encode(self.file()).decode('ascii')}"
        return {"type": "image_url", "image_url": {"url": url}}

    def stored(self) -> dict[str, Any]:
        """As it is kept: which display it was, and the hash of its file, so that a picture drawn
        anew can be held against it."""
        sha256 = hashlib.sha256(self.file()).hexdigest()
        return {
            "picture": {
                "step": self.step,
                **where_given(example=self.example),
                "size_px": self.size_px,
                "sha256": sha256,
            }
        }


@dataclass(frozen=True, slots=True)
class Sound:
    """A sound in a message.

    Parameters
    ----------
    wav : the WAV file, which holds the samples and nothing else
    ms : how long it lasts
    step : which of the steps that the agent was given, from 1
    example : the worked example to which the step belongs, where it is none of the trial's own
    """

    wav: bytes
    ms: float
    step: int
    example: str = ""

    @property
    def characters(self) -> int:
        """Length of its file as it is sent: three bytes are four characters in base64."""
        return len(self.wav) * 4 // 3

    def sent(self) -> dict[str, Any]:
        """As a part of a message on its way to a server."""
        return {
            "type": "input_audio",
            "input_audio": {"data": base64.b64encode(self.wav).decode("ascii"), "format": "wav"},
        }

    def stored(self) -> dict[str, Any]:
        """As it is kept: which display it came with, and the hash of its file."""
        return {
            "sound": {
                "step": self.step,
                **where_given(example=self.example),
                "ms": round(self.ms, 3),
                "sha256": hashlib.sha256(self.wav).hexdigest(),
            }
        }


@lru_cache(maxsize=_PICTURES_KEPT)
def png(stimulus: Stimulus, size_px: int) -> bytes:
    """A display as a PNG file."""
    file = io.BytesIO()
    picture(stimulus.scene(), size_px).save(file, format="PNG")
    return file.getvalue()


Part = Text | Picture | Sound


@dataclass(frozen=True, slots=True)
class Message:
    """A message that is complete: it will not change any more."""

    role: Role
    parts: tuple[Part, ...]

    def sent(self) -> dict[str, Any]:
        """As it goes to a server: with one string where it holds nothing but text, which every
        server takes."""
        if all(isinstance(part, Text) for part in self.parts):
            return {
                "role": self.role,
                "content": "\n\n".join(part.text for part in self.parts if isinstance(part, Text)),
            }
        return {"role": self.role, "content": [part.sent() for part in self.parts]}

    def stored(self) -> dict[str, Any]:
        """As it is kept: without the pictures and sounds themselves."""
        return {"role": self.role, "parts": [part.stored() for part in self.parts]}


@dataclass(frozen=True, slots=True)
class Request:
    """One request of a conversation.

    Parameters
    ----------
    messages : the conversation so far
    options : everything else that is sent and shapes the reply (temperature, response format ...)
    identity : hash of model, messages and options, such as :func:`chained` gives
    conversation : name of the conversation, for servers with a memory; no part of the identity
    trial_seed : of the agent's own randomness in this trial; tells apart two trials that happen to
        send the same
    scores : whether it is asked how probable what is sent is, and not for a reply
    text : the conversation as one text, for completion endpoints; None where messages are sent
    """

    messages: tuple[Message, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    identity: str = ""
    conversation: str = ""
    trial_seed: int = 0
    scores: bool = False
    text: str | None = None


def chained(before: str, value: Any) -> str:
    """A hash of a whole conversation that grows with it: the hash up to here, and what was added."""
    return hashlib.sha256(f"{before}{canonical(value)}".encode("ascii")).hexdigest()[:16]


class Taken(BaseModel):
    """Tokens as a server counts them; None where it does not. Of those that were read it had kept
    ``cached_tokens`` from earlier requests.

    ``cache_write_tokens`` of them it has written to its cache. ``completion_tokens`` are all that
    were written, reasoning included; ``completion_at_most`` is the largest number that the server's
    fields allow, where that is larger.
    """

    model_config = ConfigDict(frozen=True)

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    reasoning_tokens: int | None = None
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    completion_at_most: int | None = None


class Reply(Taken):
    """One reply that was paid for, fit for JSON.

    ``content`` is the whole text ('' when there was none), ``reasoning`` what the server delivered
    apart from it. ``faults`` names what went wrong before it came, one word an attempt (rate_limit,
    server, connection, timeout, garbage, filter); ``latency_ms`` is the time of the attempt that
    succeeded, ``waited_ms`` that of all before it. ``first_logprobs`` are the natural logarithms of
    the probabilities of the first token, by token, as far as the server gives them. ``cached``
    replies came from the cache and cost nothing. Of replies from a batch no latency is known.
    """

    content: str
    reasoning: str | None = None
    refusal: str | None = None
    finish_reason: str | None = None
    served_model: str | None = None
    fingerprint: str | None = None
    latency_ms: float | None
    waited_ms: float = 0.0
    faults: tuple[str, ...] = ()
    first_logprobs: dict[str, float] | None = None
    cached: bool = False


class ScoredReply(Reply):
    """A reply that says how probable what was sent is: of so many tokens the last ones, each with
    the natural logarithm of its probability given those before it; None where the server does not
    tell."""

    echoed_of: int = 0
    echoed: tuple[tuple[str, float | None], ...] | None = None


def stored_reply(stored: Mapping[str, Any]) -> Reply:
    """A reply as it was kept."""
    return (ScoredReply if "echoed" in stored else Reply).model_validate(stored)
