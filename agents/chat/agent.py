"""A chat model as a participant: it is shown the displays of a trial, in words or as pictures, and writes its answers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

from typing_extensions import override

from ...core.agent_kinds import CHAT, AgentKind
from ...core.errors import SpanLabError
from ...paradigms import Ask, Percept, ResponseKind, Truth
from ..base import AgentOptions, ConcurrentAgent, Episode, Journal, Response, Sentences, SettingRules, TrialContext, Unobtainable
from .conversation import Conversation, remembered, sentences_of
from .cost.account import Account
from .memory import Memory, Past
from .messages import Reply, Request
from .open_request import variables_of
from .providers import Serving, serving
from .reading.constrained import response_format
from .reading.extraction import Reading, check_extraction, read, split_reasoning
from .reading.judge import Judge
from .reading.logprobs import answer_logprobs, answer_probabilities
from .settings import ChatSettings
from .transport.client import Client
from .transport.endpoint import Endpoint, EndpointError
from .transport.hooks import SendHook
from .transport.inspect_hook import PREFIX, InspectHook
from .transport.paid_replies import PaidReplies, Send
from .transport.request_limits import RequestLimits
from .vision_check import VisionCheck


class ChatAgent(ConcurrentAgent):
    """``chat:MODEL``: a model behind an OpenAI-compatible endpoint, one conversation per trial.

    Episodes are independent, so that many trials may run at once in one event loop.

    Parameters
    ----------
    model : the name by which the server knows it; may contain colons
    settings : the protocol; the defaults when not given
    endpoint : where it is served; from the environment when not given
    request_limits : time limits, repeats, requests at once, budgets
    clock : seconds from any origin, for latencies
    account : the running account; one without prices when not given
    hook : what sends the requests, in place of an OpenAI-compatible server

    Raises
    ------
    SpanLabError
        when the model has no name, the key is missing, the address is not valid, or the openai package is not installed.
    """

    kind: ClassVar[AgentKind] = CHAT

    def __init__(
        self,
        model: str,
        settings: ChatSettings | None = None,
        endpoint: Endpoint | None = None,
        request_limits: RequestLimits | None = None,
        clock: Callable[[], float] = time.perf_counter,
        account: Account | None = None,
        hook: SendHook | None = None,
    ) -> None:
        if not model.strip():
            raise SpanLabError("which chat model? Name it after the colon, such as chat:gpt-4o-mini")
        self._model = model
        self._settings = settings or ChatSettings()
        headers = self._settings.extra_headers
        served = (endpoint or Endpoint()) if hook is None else Endpoint(key_variable=None, by=hook.name)
        self._endpoint = replace(served, secret_variables=variables_of(headers))
        if hook is not None and (headers or self._settings.conversation_header):
            raise SpanLabError(f"extra_headers and conversation_header are for servers, and {hook.name} is none: leave them out")
        self._request_limits = request_limits or RequestLimits()
        self.name = f"chat:{model}@{self._endpoint.provider}" if self._endpoint.provider else f"chat:{model}"
        self.account = account or Account(self._request_limits)
        self._client = Client(
            self._endpoint, model, self._request_limits, self._settings.conversation_header, clock, self.account, self._settings.repeat, headers, hook
        )
        self._judge = Judge(self._settings, self._endpoint, self._request_limits, self.account) if self._settings.judge else None
        self.practises = self._settings.practice == "feedback"
        self.remembers = self._settings.conversation == "session"
        self.examples = self._settings.examples
        self._memory = Memory(self.remembers, self._settings.conversation_window)
        self._vision = VisionCheck(model, self._endpoint.public, self._settings)

    @classmethod
    @override
    def from_name(cls, detail: str, options: AgentOptions) -> ChatAgent:
        through = InspectHook(detail.removeprefix(PREFIX)) if detail.startswith(PREFIX) else None
        served = serving(detail) if through is None else Serving(detail, Endpoint(key_variable=None, by=through.name))
        beside = {} if served.provider is None else {"max_tokens_field": served.provider.max_tokens_field}
        request_limits, prices = RequestLimits.read({**served.request_limits, **options.care}), options.prices or served.prices
        if request_limits.max_cost is not None and prices is None:
            raise SpanLabError(
                f"--max-cost needs the price of chat:{detail}: give it with --price IN/OUT (a million tokens read, written), or in a file of providers"
            )
        settings = options.chat if isinstance(options.chat, ChatSettings) else ChatSettings.read({**beside, **options.chat})
        return cls(served.model, settings, served.endpoint, request_limits, account=Account(request_limits, prices), hook=through)

    @property
    def model(self) -> str:
        """The name by which the server knows the model."""
        return self._model

    @property
    def request_limits(self) -> RequestLimits:
        """How the server is treated."""
        return self._request_limits

    @override
    def instructions_for(self, paradigm: str) -> str | None:
        """The instructions that this agent gets in place of the paradigm's own, with gaps for the levels of factors; None: the paradigm's own.

        Raises
        ------
        SpanLabError
            when the settings are for other paradigms.
        """
        return self._settings.wording_for(paradigm)

    @override
    def sentences(self, kinds: Iterable[ResponseKind]) -> dict[str, Sentences]:
        """What it is told of questions of these kinds."""
        return {kind.record_key(): sentences_of(kind, self._settings) for kind in kinds}

    @override
    def check_questions(self, kinds: Sequence[ResponseKind]) -> None:
        """Make sure, before a session, that replies to its questions can be read in the way of the settings.

        Raises
        ------
        SpanLabError
            when they cannot.
        """
        for kind in kinds:
            check_extraction(kind, self._settings)

    @override
    async def setup(self, journal: Journal | None = None) -> None:
        """Find out whether the server sees what it is sent, where the settings have pictures.

        Parameters
        ----------
        journal : keeps the replies, which are paid for like any other

        Raises
        ------
        SpanLabError
            when it does not see them.
        """
        await self._vision.run(partial(self._client.ask, fresh=True), journal)  # the cache knows how the server was, not how it is

    @override
    def start(self, context: TrialContext, ask: Send | None = None) -> ChatEpisode:
        """A fresh episode, and with it a fresh conversation.

        Parameters
        ----------
        context : what it is told before the trial
        ask : what gives the replies in place of the server, one for each question, whatever can be read in it (for an estimate)
        """
        if ask is not None:
            settings = self._settings.model_copy(update={"reask": 0})
            return ChatEpisode(Conversation(context, settings, self._model), PaidReplies(ask), settings)
        memory = self._memory
        conversation = Conversation(context, self._settings, self._model, memory.name(context), memory.before(context))
        keep = partial(memory.keep, context) if context.practice or self.remembers else None
        replies = PaidReplies(self._client.ask, past=conversation.past)
        return ChatEpisode(conversation, replies, self._settings, self._request_limits.fail_on_error, self._judge, keep)

    @override
    def tell(self, sentence: str) -> None:
        """Say something around practice before the next trial."""
        self._memory.tell(sentence)

    @override
    def settings(self) -> dict[str, Any]:
        """Model, endpoint and protocol, without secrets: all that shapes the answers. ``label`` is what figures must say of this agent."""
        where = {"model": self._model, "endpoint": self._endpoint.identity, "provider": self._endpoint.provider}
        return {**where, **self._settings.model_dump()}

    @override
    def setting_rules(self) -> SettingRules:
        """Which settings came later than the first records."""
        return SettingRules(later=ChatSettings.later())

    @override
    def apparatus(self) -> dict[str, Any]:
        """Where the model was served, how the server was treated, and what it was found to see."""
        judge = {} if self._judge is None else {"judge": {"model": self._judge.name, "endpoint": self._judge.where}}
        return {"endpoint": self._endpoint.public, **self._request_limits.model_dump(mode="json"), **self._vision.found, **judge}

    @property
    def judge(self) -> Judge | None:
        """Who reads replies in which nothing else finds an answer."""
        return self._judge

    @override
    def status_line(self) -> str:
        """How it stands, in a few words: for the line that shows progress."""
        return self.account.tally()

    @override
    def slot(self) -> AbstractAsyncContextManager[None]:
        """A place for one trial under way; there are as many as requests may be."""
        return self._client.place()

    @override
    def stop(self, why: str) -> None:
        """Ask nothing new from now on: what is under way is still heard and kept, and an episode that wants more gets a ``Stopped``."""
        self._client.wind_down(why)
        if self._judge is not None:
            self._judge.client.wind_down(why)

    @override
    async def teardown(self) -> None:
        """Close the connections of the running event loop."""
        await self._client.aclose()
        if self._judge is not None:
            await self._judge.client.aclose()

    @override
    def close(self) -> None:
        """Close all connections; inside a running event loop prefer :meth:`teardown`."""
        self._client.close()
        if self._judge is not None:
            self._judge.client.close()


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
    ) -> None:
        self._keep = keep
        self._conversation = conversation
        self._judge = judge
        self._judged = None if judge is None else judge.paid()
        self._replies = replies
        self._settings = settings
        self._bearable = bearable
        self._asked = 0

    @override
    def attach(self, journal: Journal) -> None:
        """Keep every reply in ``journal`` before it is used, and take those that it already holds instead of asking again. Before the first step only."""
        self._replies.attach(journal)
        if self._judged is not None:
            self._judged.attach(journal)

    @override
    async def step(self, percept: Percept, truth: Truth | None = None) -> Response | None:
        """Take in a step; the answer when it has a question.

        Raises
        ------
        Unobtainable
            when the endpoint does not give a reply in this trial, while it may in others.
        SpanLabError
            when the endpoint fails for good: a lost connection is no answer of the model's.
        """
        if not percept.model_step:
            return None
        self._conversation.show(percept)
        return None if percept.ask is None else await self._answer(percept.ask)

    @override
    def finish(self) -> None:
        """The trial is over, and remembered where the agent does that."""
        if self._keep is not None:
            self._keep(self._conversation.ended())

    @property
    def conversation(self) -> Conversation:
        """What was said in the trial so far, and before it."""
        return self._conversation

    async def _answer(self, ask: Ask) -> Response:
        self._asked += 1
        asked = self._conversation.prompt_of(ask)
        self._conversation.ask(ask.kind, asked)
        attempts = [await self._attempt(ask.kind)]
        while attempts[-1].reading.value is None and len(attempts) <= self._settings.reask:
            self._conversation.ask_again(ask.kind, asked)
            attempts.append(await self._attempt(ask.kind))
        last = attempts[-1]
        return Response(
            value=last.reading.value,
            raw=last.reply.content,
            outcome="invalid" if last.reading.value is None else "answered",
            notes={**_account(attempts), **self._probabilities(ask.kind, last.reply), **({"warm_up": True} if self._asked <= self._settings.warm_up else {})},
        )

    async def _attempt(self, kind: ResponseKind) -> _Attempt:
        """Ask once, read the reply, and keep what the model is going to see of it."""
        settings, replaying = self._settings, self._replies.replaying
        if settings.view != "words":
            await asyncio.to_thread(self._conversation.draw)  # other conversations, and their clocks, go on
        request = self._conversation.request(_options(kind, settings))
        if (sent := self._replies.kept_for_other_words(request)) and self._conversation.as_sent(sent):
            self._replies.goes_on_with("as they were sent")
            request = self._conversation.request(_options(kind, settings))
        reply = await self._replied(request)
        _, rest = split_reasoning(reply, settings)
        cut = reply.finish_reason == "length"
        reading, verdict = read(kind, rest, settings, cut=cut), None
        if reading.value is None and self._judge is not None and rest.strip() and not cut:
            verdict = await self._replied(self._judge.request(kind, rest, request), self._judged)
            if (value := self._judge.read(kind, verdict)) is not None:
                reading = Reading(value, "model", kind.write(value))
        self._conversation.hear(remembered(rest, reading, settings))
        return _Attempt(reply, reading, replaying, verdict)

    async def _replied(self, request: Request, replies: PaidReplies | None = None) -> Reply:
        try:
            return await (replies or self._replies).reply(request, self._asked)
        except EndpointError as error:
            if not error.of_request:
                raise
            fault = error
        raise Unobtainable(str(fault), self._bearable)

    def _probabilities(self, kind: ResponseKind, reply: Reply) -> dict[str, Any]:
        """The probabilities of the allowed answers, where they were asked for and came."""
        if not self._settings.logprobs or reply.first_logprobs is None:
            return {}
        logprobs = answer_logprobs(kind, reply.first_logprobs)
        return {"answer_logprobs": logprobs, "answer_probabilities": answer_probabilities(kind, logprobs)}


def _options(kind: ResponseKind, settings: ChatSettings) -> dict[str, Any]:
    """What is sent beside the messages."""
    form = response_format(kind, settings)
    return settings.sampling() if form is None else {**settings.sampling(), "response_format": form}


def _account(attempts: Sequence[_Attempt]) -> dict[str, Any]:
    """The account of one answer: of its last reply, and summed over all attempts."""
    replies = [attempt.reply for attempt in attempts]
    last = replies[-1]
    faults = [fault for reply in replies for fault in reply.faults]
    notes: dict[str, Any] = {
        "extraction": attempts[-1].reading.how,
        "latency_ms": round(last.latency_ms, 3),
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
