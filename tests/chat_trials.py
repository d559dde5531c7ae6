"""Trials put to a reader of words, without a server."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from spanlab.agents.chat import ChatSettings
from spanlab.agents.chat.conversation import Conversation
from spanlab.agents.protocol import Briefing
from spanlab.paradigms import Answer, Paradigm, Step, Trial


def briefing(trial: Trial, paradigm: Paradigm) -> Briefing:
    """What an agent is told before the trial."""
    kinds = tuple(dict.fromkeys(step.percept.ask.kind for step in trial.steps if step.percept.ask is not None))
    return Briefing(paradigm.name, paradigm.title, "en", paradigm.told("en", trial.levels), kinds, paradigm.network_view(trial.levels))


def converse(
    trial: Trial, paradigm: Paradigm, reader: Callable[[Sequence[dict[str, Any]]], str], settings: ChatSettings | None = None
) -> Iterator[tuple[Step, tuple[dict[str, Any], ...], Answer | None]]:
    """Every question of the trial: its step, the messages as they are sent at that moment, and the answer that was read in the reply."""
    conversation = Conversation(briefing(trial, paradigm), settings or ChatSettings())
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
