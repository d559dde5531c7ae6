"""Trials put to a reader of words, without a server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from spanlab.agents.base import Response, TrialContext
from spanlab.agents.chat import ChatSettings, Endpoint
from spanlab.agents.chat.agent import ChatEpisode
from spanlab.agents.chat.conversation import Conversation
from spanlab.agents.chat.messages import Reply, Request
from spanlab.agents.chat.transport.departure import Departures
from spanlab.agents.chat.transport.paid_replies import PaidReplies
from spanlab.paradigms import Answer, Paradigm, Percept, Step, Trial
from spanlab.paradigms.language.component_spec import filled

#: nobody listens there
HERE = Endpoint("http://127.0.0.1:9/v1", key_variable=None)

Say = Callable[[Request, int], str]


def context(trial: Trial, paradigm: Paradigm) -> TrialContext:
    """What an agent is told before the trial."""
    kinds = tuple(dict.fromkeys(step.percept.ask.kind for step in trial.steps if step.percept.ask is not None))
    return TrialContext(
        paradigm.name,
        paradigm.title,
        "en",
        paradigm.instructions_in("en", trial.levels),
        kinds,
        paradigm.network_view(trial.levels),
    )


def converse(
    trial: Trial,
    paradigm: Paradigm,
    reader: Callable[[Sequence[dict[str, Any]]], str],
    settings: ChatSettings | None = None,
) -> Iterator[tuple[Step, tuple[dict[str, Any], ...], Answer | None]]:
    """Every question of the trial: its step, the messages as they are sent at that moment, and the
    answer that was read in the reply."""
    conversation = Conversation(context(trial, paradigm), settings or ChatSettings())
    for step in trial.steps:
        if not step.percept.model_step:
            continue
        conversation.show(step.percept)
        if step.percept.ask is not None:
            conversation.ask(step.percept.ask.kind)
            messages = tuple(message.sent() for message in conversation.request({}).messages)
            reply = reader(messages)
            conversation.hear(reply)
            yield step, messages, step.percept.ask.kind.parse(reply)


def brief(trial: Trial, paradigm: Paradigm, settings: ChatSettings) -> TrialContext:
    """What the agent is told, with the instructions that its settings have for the paradigm."""
    own = settings.wording_for(paradigm.name)
    told = context(trial, paradigm)
    return told if own is None else replace(told, instructions=filled(own, trial.levels, "a test"))


def hold(
    trial: Trial,
    paradigm: Paradigm,
    settings: ChatSettings,
    say: Say,
    percepts: Sequence[Percept] | None = None,
    model: str = "m",
) -> tuple[list[Request], list[Response]]:
    """A conversation without a server: what was sent and what was answered. ``say`` gives the reply
    to a request, which it gets with its number."""
    requests: list[Request] = []

    async def send(request: Request, departures: Departures | None) -> Reply:
        requests.append(request)
        return Reply(content=say(request, len(requests)), latency_ms=1.0)

    async def run() -> list[Response]:
        episode = ChatEpisode(
            Conversation(brief(trial, paradigm, settings), settings, model), PaidReplies(send), settings
        )
        steps = percepts if percepts is not None else [step.shown_after("right") for step in trial.steps]
        return [answer for percept in steps if (answer := await episode.step(percept)) is not None]

    return requests, asyncio.run(run())


def sent(request: Request) -> list[dict[str, Any]]:
    """The messages of a request as they go out."""
    return [message.sent() for message in request.messages]


def turns(request: Request) -> list[tuple[str, Any]]:
    """The role and the content of each message."""
    return [(message["role"], message["content"]) for message in sent(request)]
