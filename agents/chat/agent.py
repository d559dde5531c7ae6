"""A chat model as a participant: it is shown the displays of a trial, in words or as pictures, and
writes its answers."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from typing_extensions import override

from ...core.agent_kinds import CHAT, AgentKind
from ...core.errors import SpanLabError
from ...core.json_values import where_given
from ...paradigms import Answer, Ask, ResponseKind
from ...stimuli import Stimulus
from ..at_once import ConcurrentAgent
from ..base import AgentOptions, Outlook, Sentences, TrialContext
from ..payments import Cost, Journal, Ledger
from .between import check_lists, has_anything_between
from .conversation import Before, Conversation, Memory, check_said, sentences_of
from .cost.account import Account
from .cost.estimate import estimate
from .cost.totals import Prices, account_of, describe_account, totals_of
from .episode import ChatEpisode, Scoring
from .likelihoods import Likelihoods, Scorer
from .open_request import variables_of
from .options import as_written, check_options
from .probe import Probe
from .providers import serving
from .reading.extraction import READER, check_extraction
from .reading.judge import Judge
from .settings import ChatSettings
from .transport.client import Client
from .transport.dialect import Dialect
from .transport.endpoint import Endpoint
from .transport.hooks import SendHook
from .transport.paid_replies import PaidReplies, Send
from .transport.request_limits import RequestLimits


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
        when the model has no name, the key is missing, the address is not valid, or the openai
        package is not installed.
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
        #: the name by which the server knows the model
        self.model = model
        #: how a trial is put to the model and its replies are read
        self.protocol = settings or ChatSettings()
        headers = self.protocol.extra_headers
        served = (
            (endpoint or Endpoint()) if hook is None else hook.endpoint or Endpoint(key_variable=None, by=hook.name)
        )
        self._endpoint = replace(served, secret_variables=variables_of(headers))
        if hook is not None and headers and hook.endpoint is None:
            raise SpanLabError(f"extra_headers are for servers, and {hook.name} is not one: leave them out")
        if request_limits is not None and request_limits.batch and (hook is None or not hook.batches):
            raise SpanLabError(
                "batches are for models through inspect_ai (chat:inspect/PROVIDER/MODEL): leave out batch"
            )
        if hook is not None and not hook.local and self.protocol.likelihoods in ("prompt", "echo"):
            raise SpanLabError(
                f"likelihoods={self.protocol.likelihoods} is for servers and models in this program, and {hook.name}"
                " is neither: set likelihoods to top, or to none"
            )
        if hook is not None and hook.local and self.protocol.constrained == "json":
            raise SpanLabError("a model in this program cannot be held to a schema of answers: set constrained to none")
        if hook is not None and self.protocol.sounds == "audio":
            raise SpanLabError(
                f"sounds go to servers that speak chat completions, and requests to {hook.name} are sent in another"
                " form: set sounds to words"
            )
        #: limits on requests: rate, repeats, budgets
        self.request_limits = request_limits or RequestLimits()
        self.name = f"chat:{model}@{self._endpoint.provider}" if self._endpoint.provider else f"chat:{model}"
        self.spending = account or Account(self.request_limits)
        self._client = Client(
            self._endpoint,
            model,
            self.request_limits,
            clock,
            self.spending,
            self.protocol.repeat,
            headers,
            hook,
        )
        if hook is not None:
            hook.check_options(self.protocol.sampling())
        #: the model that reads replies in which nothing else finds an answer
        self.judge = (
            Judge(self.protocol, self._endpoint, self.request_limits, self.spending) if self.protocol.judge else None
        )
        self.practises = self.protocol.practice == "feedback"
        self.remembers = self.protocol.conversation == "session"
        self.examples = self.protocol.examples
        self._memory = Memory(self.remembers, self.protocol.conversation_window)
        self._scorer = None if self.protocol.likelihoods == "none" else Scorer(self.protocol)
        self._probe = Probe(model, self._endpoint.public, self.protocol)

    @override
    def check_session(self, outlook: Outlook) -> None:
        """Make sure, before a session, that something can come between list and questions.

        Raises
        ------
        SpanLabError
            when nothing can.
        """
        if has_anything_between(self.protocol):
            check_lists([*outlook.trials, *outlook.practice], outlook.paradigm)

    @classmethod
    @override
    def from_name(cls, detail: str, options: AgentOptions) -> ChatAgent:
        served = serving(detail)
        limits, price, chat = (options.values.get(name) for name in ("care", "price", "chat"))
        request_limits = RequestLimits.read({**served.request_limits, **(limits or {})})
        prices = (price if isinstance(price, Prices) else Prices.of(price)) or served.prices
        if request_limits.max_cost is not None and prices is None:
            raise SpanLabError(
                f"needs the price of chat:{detail}: give it with --price IN/OUT (a million tokens read,"
                " written), or in a file of providers",
                option="max_cost",
            )
        settings = chat if isinstance(chat, ChatSettings) else ChatSettings.read(chat or {})
        return cls(
            served.model,
            settings,
            served.endpoint,
            request_limits,
            account=Account(request_limits, prices),
            hook=served.hook,
        )

    @classmethod
    @override
    def from_record(cls, detail: str, options: AgentOptions, info: Mapping[str, Any]) -> ChatAgent:
        """The model of a recorded session, with its settings and, where no other ones are given,
        its prices."""
        before = info.get("prices") and Prices.model_validate(info["prices"])
        values = {"price": before, **options.values, "chat": ChatSettings.of_session(info)}
        return cls.from_name(detail, replace(options, values=values))

    @classmethod
    @override
    def options(cls) -> frozenset[str]:
        """Settings, request limits and prices."""
        return frozenset({"chat", "care", "price"})

    @override
    def instructions_for(self, paradigm: str) -> str | None:
        """The instructions that this agent gets in place of the paradigm's own, with gaps for the
        levels of factors; None: the paradigm's own.

        Raises
        ------
        SpanLabError
            when the settings are for other paradigms.
        """
        return self.protocol.wording_for(paradigm)

    @override
    def sentences(self, kinds: Iterable[ResponseKind]) -> dict[str, Sentences]:
        """The sentences for a chat model about questions of these kinds."""
        return {kind.record_key(): sentences_of(kind, self.protocol) for kind in kinds}

    @override
    def check_trial(self, context: TrialContext, steps: int) -> None:
        """Make sure, before a session, that a model gets the questions of a questionnaire: nothing
        but their wording says what is asked.

        Raises
        ------
        SpanLabError
            when it would only be told how to answer.
        """
        if context.questionnaire and context.prompts and not self.protocol.prompts:
            raise SpanLabError(
                f"{context.paradigm} is a questionnaire, and a chat model would not be told its questions, which stand"
                " in 'prompt': give --chat prompts=true"
            )

    @override
    def check_displays(self, stimuli: Iterable[Stimulus]) -> None:
        """Make sure, before a session, that a model that gets words is told all that is to be seen.

        Raises
        ------
        SpanLabError
            when an image has no words.
        """
        for stimulus in stimuli:
            check_said(stimulus, self.protocol)

    @override
    def check_questions(self, kinds: Sequence[ResponseKind]) -> None:
        """Make sure, before a session, that replies to its questions can be read in the way of the
        settings.

        Raises
        ------
        SpanLabError
            when they cannot.
        """
        check_options(kinds, self.protocol)
        for kind in kinds:
            check_extraction(as_written(kind, self.protocol), self.protocol)

    @override
    async def setup(self, journal: Journal | None = None) -> None:
        """Find out whether the server sees and hears what it is sent, where the settings have
        pictures or sounds.

        Parameters
        ----------
        journal : keeps the replies, which are paid for like any other

        Raises
        ------
        SpanLabError
            when it does not see them.
        """
        # the cache knows how the server was, not how it is
        await self._probe.run(partial(self._client.ask, fresh=True), journal)

    @override
    def start(self, context: TrialContext, ask: Send | None = None) -> ChatEpisode:
        """A fresh episode, and with it a fresh conversation.

        Parameters
        ----------
        context : what it is told before the trial
        ask : what gives the replies in place of the server, one for each question, whatever can be
            read in it (for an estimate)
        """
        if ask is not None:
            settings = self.protocol.model_copy(update={"reask": 0})
            counted = self._scorer and Scoring(self._scorer, PaidReplies(ask, scores=True), read=False)
            return ChatEpisode(Conversation(context, settings, self.model), PaidReplies(ask), settings, scoring=counted)
        memory = self._memory
        conversation = Conversation(context, self.protocol, self.model, memory.name(context), memory.before(context))
        keep = partial(memory.keep, context) if context.practice or self.remembers else None
        return ChatEpisode(
            conversation,
            PaidReplies(self._client.ask, past=conversation.past),
            self.protocol,
            self.request_limits.fail_on_error,
            self.judge,
            keep,
            self._scoring(),
        )

    def _scoring(self) -> Scoring | None:
        """The scoring of answers in a trial; None where answers are read instead."""
        return self._scorer and Scoring(self._scorer, PaidReplies(self._client.ask, scores=True))

    def memory(self) -> Memory:
        """A memory as its settings have it, for trials that somebody else has taken."""
        return Memory(self.remembers, self.protocol.conversation_window)

    def follow(self, context: TrialContext, before: Before, scored: bool = True, ask: Send | None = None) -> Follower:
        """Follow a trial that somebody else has taken.

        Parameters
        ----------
        context : what they were told before it
        before : what came before it
        scored : whether their answers are scored
        ask : what gives the replies in place of the server, whatever can be read in them (for an
            estimate)

        Raises
        ------
        SpanLabError
            when the settings do not say how a server tells how probable answers are.
        """
        if self._scorer is None:
            raise SpanLabError(
                "how does the server say how probable an answer is? Give --chat likelihoods=prompt (vLLM),"
                " likelihoods=echo (a completion endpoint that repeats what it was sent, such as that of"
                " llama-cpp-python or vLLM), or likelihoods=top (the likeliest first tokens, which leaves gaps)"
            )
        if has_anything_between(self.protocol):
            raise SpanLabError(
                "notepad, retention_load and interference were no part of the session that is scored: leave them out"
            )
        conversation = Conversation(context, self.protocol, self.model, uuid.uuid4().hex, before)
        scoring = (
            Scoring(self._scorer, PaidReplies(ask or self._client.ask, scores=True), read=ask is None)
            if scored
            else None
        )
        return Follower(conversation, self.protocol, scoring, self.request_limits.fail_on_error)

    @override
    def tell(self, sentence: str) -> None:
        """Say something around practice before the next trial."""
        self._memory.tell(sentence)

    @override
    def settings(self) -> dict[str, Any]:
        """Model, endpoint and protocol, without secrets: all that shapes the answers. ``label`` is
        what figures must say of this agent."""
        where = {"model": self.model, "endpoint": self._endpoint.identity, "provider": self._endpoint.provider}
        return {**where, **self.protocol.model_dump()}

    @override
    def apparatus(self) -> dict[str, Any]:
        """The place where the model was served, the limits on requests, what it was found to see,
        and the version of the reader of its replies."""
        return {
            "endpoint": self._endpoint.public,
            **self.request_limits.model_dump(mode="json"),
            **self._probe.found,
            "reader": READER,
            **where_given(judge=self.judge and {"model": self.judge.name, "endpoint": self.judge.where}),
        }

    @override
    def recorded_options(self) -> dict[str, Any]:
        """Request limits and prices."""
        price_lists = {"prices": self.spending.prices, "judge_prices": self.judge and self.judge.account.prices}
        described = {
            name: prices.model_dump(exclude_none=True) for name, prices in price_lists.items() if prices is not None
        }
        return {"care": self.request_limits.model_dump(mode="json", exclude_none=True), **described}

    @override
    def estimate(self, outlook: Outlook) -> Cost:
        """Hold the conversations of the session with replies of SpanLab's own, and count what would
        be sent."""
        practice = outlook.practice
        rounds = "with practice" if practice else ""
        if outlook.rounds > 1:
            rounds = f"with one round of practice, of at most {outlook.rounds}"
        forecast = estimate(self, outlook.trials, practice, outlook.order, rounds)
        numbers = forecast.to_record()
        self._foresee(numbers)
        return Cost(numbers, str(forecast))

    def _foresee(self, estimate: Mapping[str, Any]) -> None:
        self.spending.foresee(estimate["requests"], estimate["prompt_tokens"], estimate["completion_tokens"])
        if self.judge is not None and (judge := estimate.get("judge")):
            self.judge.account.foresee(
                judge["requests_at_most"], judge["prompt_tokens_at_most"], judge["completion_tokens_at_most"]
            )

    @override
    def carry(self, ledger: Ledger) -> None:
        """Go on from what earlier parts of the session have cost, the judge's replies apart."""
        self.spending.carry(totals_of(ledger.lines, ledger.replies))
        if self.judge is not None:
            self.judge.account.carry(totals_of(ledger.lines, ledger.replies, judge=True))
        if foreseen := ledger.info.get("estimate"):
            self._foresee(foreseen)

    @override
    def account(self, ledger: Ledger) -> Cost:
        """Requests, tokens and cost by the record, in numbers and in words."""
        numbers = account_of(ledger)
        if (dialect := self._client.dialect) != Dialect(self._endpoint.max_tokens_field):
            numbers["dialect"] = asdict(dialect)
        return Cost(numbers, describe_account(numbers))

    @override
    def status_line(self) -> str:
        """The state of the requests in a few words, for the line that shows progress."""
        return self.spending.tally()

    @override
    def recorded_in(self, folder: Path, say: Callable[[str], None]) -> None:
        """Know who hears what happens meanwhile."""
        self.spending.warn = say
        if self.judge is not None:
            self.judge.account.warn = say

    @override
    def slot(self) -> AbstractAsyncContextManager[None]:
        """A place for one trial under way; there are as many as requests may be."""
        return self._client.rate_limiter.place()

    @override
    def stop(self, why: str) -> None:
        """Ask nothing new from now on: what is under way is still heard and kept, and an episode
        that wants more gets a ``Stopped``."""
        self._client.rate_limiter.stop(why)
        if self.judge is not None:
            self.judge.client.rate_limiter.stop(why)

    @override
    async def teardown(self) -> None:
        """Close the connections of the running event loop."""
        await self._client.aclose()
        if self.judge is not None:
            await self.judge.client.aclose()

    @override
    def close(self) -> None:
        """Close all connections; inside a running event loop prefer :meth:`teardown`."""
        self._client.close()
        if self.judge is not None:
            self.judge.client.close()


#: what is heard where somebody gave no answer
NO_ANSWER = "(no answer)"


@dataclass(frozen=True, slots=True)
class Follower:
    """One trial of somebody else, followed by a model.

    Parameters
    ----------
    conversation : fresh, with whatever came before the trial
    settings : of the agent
    scoring : how answers are scored; None where the trial is only gone through
    bearable : as :class:`..base.Unobtainable` has it
    """

    conversation: Conversation
    settings: ChatSettings
    scoring: Scoring | None = None
    bearable: float = 0.0

    def attach(self, journal: Journal) -> None:
        """Keep every reply in ``journal``, and take those that it already holds first."""
        if self.scoring is not None:
            self.scoring.replies.attach(journal)

    async def ask(self, ask: Ask, question: int) -> Likelihoods | None:
        """Put a question: how probable the model holds the allowed answers; None where that is not
        asked, or cannot be told.

        Parameters
        ----------
        question : which question of the trial it is, from 1
        """
        self.conversation.ask(ask.kind, self.conversation.prompt_of(ask))
        if self.scoring is None:
            return None
        return await self.scoring.score(
            as_written(ask.kind, self.settings), self.conversation.request({}), question, self.bearable
        )

    def hear(self, ask: Ask, given: Answer | None) -> None:
        """Let the model hear what was answered."""
        self.conversation.hear(NO_ANSWER if given is None else as_written(ask.kind, self.settings).write(given))
