"""``transcripts.jsonl``: what was said to and by a chat model, a line a reply; each was on the disk
before the reply was used.

A line says of which trial, attempt and question it is, gives the identifier of the request, the
messages that were new in it (``sent``) and the reply. Before a request leaves, and again whenever
it is repeated, a line with ``begun`` is written, and one with ``gone`` when all of it has left, so
that those in flight when a program is killed are known. One that came to nothing has a further line
that says so: ``refused`` by the server, ``lost`` (a reply may have been under way, which has to be
paid for; ``in_doubt`` where the request itself may not have reached the server) or ``unsent``.
"""

from __future__ import annotations

from typing import Annotated, Any, NotRequired

from pydantic import with_config
from typing_extensions import TypedDict  # pydantic wants this one below Python 3.12

from .events import TrialKey
from .marking import OPEN, Holds

TRANSCRIPTS = "transcripts.jsonl"


@with_config(OPEN)
class SentLine(TypedDict):
    """a request was sent, or failed"""

    trial: Annotated[TrialKey, Holds("trial to which the request belongs; `0` before the first trial")]
    attempt: Annotated[int, Holds("number of the attempt, from 1")]
    ask: Annotated[
        int, Holds("question to which the request belongs, from 1; 0 for notes and sums before the first question")
    ]
    request: Annotated[str, Holds("identifier of the request")]
    begun: NotRequired[Annotated[bool, Holds("the request is about to be sent")]]
    gone: NotRequired[Annotated[bool, Holds("the whole request was sent")]]
    refused: NotRequired[Annotated[bool, Holds("the server refused the request")]]
    lost: NotRequired[Annotated[bool, Holds("the request failed; a reply may have been on its way")]]
    unsent: NotRequired[Annotated[bool, Holds("the request could not be sent")]]
    in_doubt: NotRequired[Annotated[bool, Holds("the request may not have reached the server")]]
    fault: NotRequired[Annotated[str, Holds("the kind of fault")]]
    scores: NotRequired[Annotated[bool, Holds("the request asks for the probabilities of answers, not for an answer")]]
    anew: NotRequired[
        Annotated[
            bool,
            Holds("the conversation started afresh with this request: the model's notes replaced what was sent before"),
        ]
    ]


@with_config(OPEN)
class SavedReply(TypedDict, total=False):
    """what a server answered"""

    latency_ms: Annotated[Any, Holds("time until the reply", "ms", measured=True)]
    waited_ms: Annotated[Any, Holds("time that the request waited before it was sent", "ms", measured=True)]


class ReplyLine(SentLine):
    """a reply was kept"""

    sent: Annotated[list[Any], Holds("the messages that were new in the request")]
    reply: Annotated[
        SavedReply, Holds("the reply, with its tokens, latency, faults and whatever else the server reported")
    ]


@with_config(OPEN)
class _Picture(TypedDict):
    step: int
    size_px: int
    sha256: str
    example: NotRequired[str]


@with_config(OPEN)
class _Sound(TypedDict):
    step: int
    ms: float
    sha256: str
    example: NotRequired[str]


@with_config(OPEN)
class _MessagePart(TypedDict):
    text: NotRequired[str]
    sound: NotRequired[_Sound]
    picture: NotRequired[_Picture]


@with_config(OPEN)
class SentMessage(TypedDict):
    role: str
    parts: list[_MessagePart]


@with_config(OPEN)
class Content(TypedDict):
    """what readers count on in a reply"""

    content: str
    latency_ms: float | None
    reasoning: NotRequired[str | None]
    refusal: NotRequired[str | None]
    finish_reason: NotRequired[str | None]
    served_model: NotRequired[str | None]
    fingerprint: NotRequired[str | None]
    prompt_tokens: NotRequired[int | None]
    completion_tokens: NotRequired[int | None]
    reasoning_tokens: NotRequired[int | None]
    cached_tokens: NotRequired[int | None]
    cache_write_tokens: NotRequired[int | None]
    waited_ms: NotRequired[float]
    faults: NotRequired[list[str]]
    first_logprobs: NotRequired[dict[str, float] | None]
    cached: NotRequired[bool]
    echoed_of: NotRequired[int]
    echoed: NotRequired[list[Any] | None]
