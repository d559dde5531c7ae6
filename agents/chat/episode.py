"""One trial's conversation with a chat model, from its first display to the last answer that is
read."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from typing_extensions import override

from ...core.json_values import where_given
from ...paradigms import Ask, Percept, ResponseKind, Truth
from ..base import Episode, Response
from ..interruptions import Unobtainable
from ..payments import Journal
from .between import load_text, sums
from .conversation import NOTEPAD_TEXT, Conversation, Past, remembered
from .likelihoods import Likelihoods, Scorer
from .messages import Reply, Request
from .options import as_written
from .reading.constrained import response_format
from .reading.extraction import Reading, cut_in_reasoning, read_reply, split_reasoning
from .reading.judge import Judge
from .reading.logprobs import answer_logprobs, answer_probabilities
from .settings import ChatSettings
from .transport.endpoint import EndpointError
from .transport.paid_replies import PaidReplies


@dataclass(frozen=True, slots=True)
class Scoring:
    """Scoring of the allowed answers to the questions of a trial.

    Parameters
    ----------
    scorer : what asks
    replies : keeps what was paid for
    read : whether what comes back is read; not where replies are ours, for an estimate
    """

    scorer: Scorer
    replies: PaidReplies
    read: bool = True

    async def score(self, kind: ResponseKind, asked: Request, question: int, bearable: float) -> Likelihoods | None:
        """Ask how probable the model holds the answers to a question; None where that cannot be
        told of it."""
        if not self.scorer.scores(kind):
            return None
        replies: list[Reply] = []
        for request in self.scorer.requests(kind, asked):
            replies.append(await obtained(self.replies, request, question, bearable))
            if self.read:
                self.scorer.check(replies[-1])  # a server that tells nothing is not asked for every answer
        return self.scorer.read(kind, replies) if self.read else None


async def obtained(replies: PaidReplies, request: Request, question: int, bearable: float) -> Reply:
    """The reply to a request.

    Raises
    ------
    Unobtainable
        when there is none in this trial, while there may be in others.
    """
    try:
        return await replies.reply(request, question)
    except EndpointError as error:
        if not error.of_request:
            raise
        fault = error
    raise Unobtainable(str(fault), bearable)


@dataclass(frozen=True, slots=True)
class _Attempt:
    """One reply to a question and what was read in it."""

    reply: Reply
    reading: Reading
    replayed: bool
    verdict: Reply | None = None


class ChatEpisode(Episode):
    """One trial's conversation with a chat model."""

    def __init__(
        self,
        conversation: Conversation,
        replies: PaidReplies,
        settings: ChatSettings,
        bearable: float = 0.0,
        judge: Judge | None = None,
        keep: Callable[[Past], None] | None = None,
        scoring: Scoring | None = None,
    ) -> None:
        self._keep = keep
        self._scoring = scoring
        self._likelihoods: dict[str, Any] = {}
        self._noted: dict[str, Any] = {}
        #: conversation of the trial so far, with what came before it
        self.conversation = conversation
        self._judge = judge
        self._judged = judge and judge.paid()
        self._replies = replies
        self._settings = settings
        self._bearable = bearable
        self._asked = 0

    @override
    def attach(self, journal: Journal) -> None:
        """Keep every reply in ``journal`` before it is used, and take those that it already holds
        instead of asking again. Before the first step only."""
        self._replies.attach(journal)
        if self._judged is not None:
            self._judged.attach(journal)
        if self._scoring is not None:
            self._scoring.replies.attach(journal)

    @override
    async def step(self, percept: Percept, truth: Truth | None = None) -> Response | None:
        """Take in a step; the answer when it has a question.

        Raises
        ------
        Unobtainable
            when the endpoint does not give a reply in this trial, while it may in others.
        SpanLabError
            when the endpoint fails for good: a lost connection is not an answer of the model's.
        """
        if not percept.model_step:
            return None
        if percept.ask is not None and not self._asked:
            await self._come_between()
        self.conversation.show(percept)
        return percept.ask and await self._answer(percept.ask)

    async def _come_between(self) -> None:
        """Do what the settings have between the list and the first question."""
        conversation, settings = self.conversation, self._settings
        if settings.notepad:
            conversation.lead(NOTEPAD_TEXT)
            notes, self._noted = await self._unscored()
            conversation.forget_all_but(notes)
            self._replies.begins_anew()
        if settings.retention_load:
            conversation.lead(load_text(settings.retention_load, conversation.seed))
        for sum_to_do in sums(settings.interference, conversation.seed):
            conversation.lead(sum_to_do)
            conversation.hear((await self._unscored())[0])

    async def _unscored(self) -> tuple[str, dict[str, Any]]:
        """Return what the model says to what is no question of the trial, without its reasoning;
        and as notes on the next answer, with whether it was cut off."""
        if self._settings.view != "words":
            await asyncio.to_thread(self.conversation.draw)
        reply = await self._replied(self.conversation.request(self._settings.sampling()))
        said = split_reasoning(reply)[1]
        return said, {"notepad": said, **where_given(notepad_cut_off=reply.finish_reason == "length")}

    @override
    def finish(self) -> None:
        """The trial is over, and remembered where the agent does that."""
        if self._keep is not None:
            self._keep(self.conversation.ended())

    async def _answer(self, ask: Ask) -> Response:
        self._asked += 1
        asked = self.conversation.prompt_of(ask)
        self.conversation.ask(ask.kind, asked)
        written = as_written(ask.kind, self._settings)
        attempts = [await self._attempt(written, first=True)]
        while attempts[-1].reading.value is None and len(attempts) <= self._settings.reask:
            if cut_in_reasoning(attempts[-1].reply):
                break  # the same limit would cut it again
            self.conversation.ask_again(ask.kind, asked)
            attempts.append(await self._attempt(written))
        last = attempts[-1]
        noted, self._noted = self._noted, {}
        return Response(
            value=last.reading.value,
            raw=last.reply.content,
            outcome="invalid" if last.reading.value is None else "answered",
            notes={
                **_account(attempts),
                **self._probabilities(written, last.reply),
                **self._likelihoods,
                **noted,
                **where_given(warm_up=self._asked <= self._settings.warm_up),
            },
        )

    async def _attempt(self, kind: ResponseKind, first: bool = False) -> _Attempt:
        """Ask once, read the reply, and keep what the model is going to see of it."""
        settings, replaying = self._settings, self._replies.replaying
        if settings.view != "words":
            await asyncio.to_thread(self.conversation.draw)  # other conversations, and their clocks, go on
        request = self.conversation.request(_options(kind, settings))
        if first and self._scoring is not None:
            found = await self._scoring.score(kind, request, self._asked, self._bearable)
            self._likelihoods = {} if found is None else found.to_record(kind)
        reply = await self._replied(request)
        (rest, reading), verdict = read_reply(kind, reply, settings), None
        if reading.value is None and self._judge is not None and rest.strip() and reply.finish_reason != "length":
            verdict = await self._replied(self._judge.request(kind, rest, request), self._judged)
            if (value := self._judge.read(kind, verdict)) is not None:
                reading = Reading(value, "model", kind.write(value))
        self.conversation.hear(remembered(rest, reading, settings))
        return _Attempt(reply, reading, replaying, verdict)

    async def _replied(self, request: Request, replies: PaidReplies | None = None) -> Reply:
        return await obtained(replies or self._replies, request, self._asked, self._bearable)

    def _probabilities(self, kind: ResponseKind, reply: Reply) -> dict[str, Any]:
        """The probabilities of the allowed answers, where those of the first token came and it is the
        answer's."""
        first = self._settings.constrained == "none" and self._settings.reasoning != "before"
        if not first or reply.first_logprobs is None or split_reasoning(reply)[0] is not None:
            return {}
        logprobs = answer_logprobs(kind, reply.first_logprobs)
        return {"answer_logprobs": logprobs, "answer_probabilities": answer_probabilities(kind, logprobs)}


def _options(kind: ResponseKind, settings: ChatSettings) -> dict[str, Any]:
    """Return what is sent beside the messages."""
    return {**settings.sampling(), **where_given(response_format=response_format(kind, settings))}


def _account(attempts: Sequence[_Attempt]) -> dict[str, Any]:
    """The account of one answer: of its last reply, and summed over all attempts."""
    replies = [attempt.reply for attempt in attempts]
    last = replies[-1]
    faults = [fault for reply in replies for fault in reply.faults]
    notes: dict[str, Any] = {
        "extraction": attempts[-1].reading.how,
        "latency_ms": None if last.latency_ms is None else round(last.latency_ms, 3),
        "attempts": len(attempts),
        "retries": len(faults),
        "replayed": sum(attempt.replayed for attempt in attempts),
        "prompt_tokens": _total(reply.prompt_tokens for reply in replies),
        "completion_tokens": _total(reply.completion_tokens for reply in replies),
        "finish_reason": last.finish_reason,
        "served_model": last.served_model,
    }
    beside = {
        "faults": faults,
        "waited_ms": round(sum(reply.waited_ms for reply in replies), 3),
        "reasoning_tokens": _total(reply.reasoning_tokens for reply in replies),
        "cached_tokens": _total(reply.cached_tokens for reply in replies),
        "from_cache": sum(reply.cached for reply in replies),
        "fingerprint": last.fingerprint,
        "refusal": last.refusal,
        "judge": [attempt.verdict.content for attempt in attempts if attempt.verdict is not None],
        "earlier_replies": [reply.content for reply in replies[:-1]],
    }
    return {**notes, **{name: value for name, value in beside.items() if value}}


def _total(counts: Any) -> int | None:
    """The sum of what was counted; None when nothing was."""
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
