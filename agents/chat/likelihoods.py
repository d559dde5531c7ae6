"""Likelihoods of the allowed answers: what is asked of a server for it, and how
that is read."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...core.errors import SpanLabError
from ...paradigms import ResponseKind
from .messages import Message, Reply, Request, ScoredReply, Text, chained
from .reading.extraction import split_reasoning
from .reading.logprobs import answer_logprobs, answer_probabilities
from .settings import ChatSettings

#: how a conversation is written as one text, for models that were never taught to chat
_PLAIN = {"system": "{}\n\n", "developer": "{}\n\n", "user": "{}\n", "assistant": "Answer: {}\n"}
_ANSWER = "Answer: "
#: of how many tokens the probabilities are requested
_TOP_LOGPROBS = 20
_NOTHING_TOLD = (
    "it may ignore the request; likelihoods=prompt is for vLLM, likelihoods=echo for completion endpoints that repeat a"
    " request (vLLM, llama-cpp-python), likelihoods=top for servers that tell the likeliest tokens of a reply"
)


@dataclass(frozen=True, slots=True)
class Likelihoods:
    """Likelihoods that a model gives the allowed answers to a question.

    Parameters
    ----------
    logprobs : by answer as it is written, the natural logarithm of the probability that the reply
        is this answer and ends there; those that are known
    missing : allowed answers of which it is not known
    at_most : of each of these, the logarithm of the probability that it has at most; None where
        none is missing
    whole : whether the end of the answer was scored with it; else it is the beginning of the reply
        that counts
    """

    logprobs: Mapping[str, float]
    missing: tuple[str, ...] = ()
    at_most: float | None = None
    whole: bool = True

    def probabilities(self, kind: ResponseKind) -> dict[str, float] | None:
        """The probability of each answer among the allowed ones; None where some are missing."""
        return None if self.missing else answer_probabilities(kind, self.logprobs)

    def to_record(self, kind: ResponseKind) -> dict[str, Any]:
        """For the record of an answer."""
        missing = {"missing": list(self.missing), "missing_at_most": self.at_most} if self.missing else {}
        return {
            "likelihoods": {
                "logprobs": dict(self.logprobs),
                "probabilities": self.probabilities(kind),
                "with_end": self.whole,
                **missing,
            }
        }


class Scorer:
    """Asks a server how probable a model holds the allowed answers.

    A continuation is what follows the conversation: an answer, and what ends it, so that 1 is told
    from 10. With ``prompt`` and ``echo`` every allowed answer is sent as if the model had given it,
    and once none; what the server says of the tokens after those that all of them share is added
    up. With ``top`` one request asks for the likeliest first tokens of a reply.

    Parameters
    ----------
    settings : of the agent
    """

    def __init__(self, settings: ChatSettings) -> None:
        self._settings = settings
        self._way = settings.likelihoods

    def scores(self, kind: ResponseKind) -> bool:
        """Return whether the answers to a question can be listed."""
        return bool(kind.written_answers())

    def requests(self, kind: ResponseKind, asked: Request) -> list[Request]:
        """Return the requests to send.

        Parameters
        ----------
        asked : the request that puts the question
        """
        if self._way == "top":
            options = {
                **self._settings.sampling(),
                "max_tokens": 1,
                "logprobs": True,
                "top_logprobs": _TOP_LOGPROBS,
            }
            options.pop("stop", None)
            return [replace(asked, options=options, identity=self._identity(asked, ""))]
        return [self._continued(asked, None), *(self._continued(asked, answer) for answer in kind.written_answers())]

    def _continued(self, asked: Request, answer: str | None) -> Request:
        added = () if answer is None else (Message("assistant", (Text(answer),)),)
        identity = self._identity(asked, answer)
        messages = (*asked.messages, *added)
        if self._way == "prompt":
            options = {**self._settings.extra_body, "max_tokens": 1, "prompt_logprobs": 0}
            if answer is not None:
                options |= {"add_generation_prompt": False, "continue_final_message": False}
            return replace(asked, messages=messages, options=options, identity=identity, scores=True)
        options = {**self._settings.extra_body, "max_tokens": 1, "echo": True, "logprobs": 1, "temperature": 0}
        return replace(
            asked,
            messages=messages,
            options=options,
            identity=identity,
            scores=True,
            text=plain_text([message.sent() for message in asked.messages], answer),
        )

    def _identity(self, asked: Request, answer: str | None) -> str:
        return chained(asked.identity, ["likelihoods", self._way, answer])

    def check(self, reply: Reply) -> None:
        """Make sure that a reply tells what was asked for.

        Raises
        ------
        SpanLabError
            when the server does not tell it.
        """
        if self._way == "top":
            if reply.first_logprobs is None or split_reasoning(reply)[0] is not None:
                raise SpanLabError(
                    f"the server does not say how probable the first token of a reply is: {_NOTHING_TOLD}"
                )
        elif not isinstance(reply, ScoredReply) or reply.echoed is None:
            raise SpanLabError(f"the server does not give the probability of what it was sent: {_NOTHING_TOLD}")

    def read(self, kind: ResponseKind, replies: Sequence[Reply]) -> Likelihoods | None:
        """Read what came back.

        Returns
        -------
        None where one token may begin several answers, so that nothing can be said of them

        Raises
        ------
        SpanLabError
            when the server does not tell it, or cuts the conversation into other tokens once an
            answer follows.
        """
        answers = kind.written_answers()
        for reply in replies:
            self.check(reply)
        if self._way == "top":
            return _of_first(kind, replies[0].first_logprobs or {})
        before, *after = [
            _Echo(reply.echoed_of, reply.echoed)
            for reply in replies
            if isinstance(reply, ScoredReply) and reply.echoed is not None
        ]
        continuations = [_after(before, one) for one in after]
        tails = [_tail(answer, tokens) for answer, tokens in zip(answers, continuations, strict=True)]
        usual = next((tail for tail in tails if tail is not None), None)
        if usual is None:
            raise SpanLabError(
                "the server repeats an answer without anything that ends it: its chat template leaves the end out, so 1"
                " cannot be told from 10; set likelihoods to top, or score a model in this program (chat:hf/PATH)"
            )
        return Likelihoods(
            {
                answer: _sum(tokens, tail or usual)
                for answer, tokens, tail in zip(answers, continuations, tails, strict=True)
            }
        )


def plain_text(messages: Sequence[Mapping[str, Any]], answer: str | None = None) -> str:
    """A conversation for models that were never taught to chat, up to where they write, or with an
    answer and its end."""
    before = "".join(_PLAIN[message["role"]].format(message["content"]) for message in messages)
    # a space belongs to the word after it, as most tokenizers have it
    return before + (_ANSWER.rstrip() if answer is None else f"{_ANSWER}{answer}\n")


@dataclass(frozen=True, slots=True)
class _Echo:
    """The tokens of a request: how many, and the last of them."""

    count: int
    last: Sequence[tuple[str, float | None]]


def _after(before: _Echo, whole: _Echo) -> Sequence[tuple[str, float | None]]:
    """The tokens that an answer adds to a conversation."""
    added = whole.count - before.count
    shared = [token for token, _ in whole.last[: len(whole.last) - added]]
    if (
        not 0 < added < len(whole.last)
        or [token for token, _ in before.last[len(before.last) - len(shared) :]] != shared
    ):
        raise SpanLabError(
            "the server cuts the conversation into other tokens once an answer follows it, so that an answer cannot be"
            " scored by itself: with a model that thinks before it answers switch that off"
            " (extra_body={chat_template_kwargs: {enable_thinking: false}}), or set likelihoods to top"
        )
    return whole.last[len(whole.last) - added :]


def _tail(answer: str, tokens: Sequence[tuple[str, float | None]]) -> int | None:
    """Count the tokens after a conversation stand after the end of an answer; None where they
    are not this answer and what ends it."""
    text = ""
    for place, (token, _) in enumerate(tokens):
        text += token
        if text.strip() == answer.strip():
            ended = text != text.rstrip()
            counted = place + (1 if ended else 2)
            return len(tokens) - counted if counted <= len(tokens) else None
    return None


def _sum(tokens: Sequence[tuple[str, float | None]], tail: int) -> float:
    values = [value for _, value in tokens[: len(tokens) - tail]]
    if any(value is None for value in values):
        raise SpanLabError(
            "the server leaves out how probable some of the tokens of an answer are, so that answers cannot be scored"
        )
    return min(0.0, math.fsum(value for value in values if value is not None))


def _of_first(kind: ResponseKind, first_logprobs: Mapping[str, float]) -> Likelihoods | None:
    """Read the likeliest first tokens of a reply; of what is not among them it is known that
    it is not likelier than the least of them."""
    known = answer_logprobs(kind, first_logprobs)
    if known is None:
        return None
    missing = tuple(answer for answer in kind.written_answers() if answer not in known)
    if not missing:
        return Likelihoods(known, whole=False)
    left = 1 - math.fsum(math.exp(value) for value in first_logprobs.values())
    at_most = min([*first_logprobs.values(), math.log(left) if left > 0 else math.inf])
    return Likelihoods(known, missing, at_most, whole=False)
