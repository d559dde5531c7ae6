"""What a chat model is told: a pure function of the context, of the percepts and of its own replies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...paradigms import Percept, ResponseKind
from ...paradigms.identity import canonical
from ..base import Sentences, TrialContext
from .messages import Message, Part, Picture, Request, Role, Text, chained
from .reading.constrained import json_sentence
from .reading.extraction import Reading
from .settings import ChatSettings


class Conversation:
    """One conversation: one trial.

    It only ever grows: a message that was sent once is sent again as it was. What is shown between two replies is gathered, and becomes messages when a reply
    is wanted.

    Parameters
    ----------
    context : what the agent is told before the trial
    settings : the protocol
    model : the model's name, a part of the identity of every request
    name : of the conversation, for servers with a memory
    """

    def __init__(self, context: TrialContext, settings: ChatSettings, model: str = "", name: str = "") -> None:
        self._settings = settings
        self._name = name
        self._sentences = context.sentences
        self._seed = context.seed
        self._messages: list[Message] = []
        self._waiting: list[tuple[Part, ...]] = []  # messages of the user in the making, one for each step
        self._shown = 0
        self._start = self._chain = chained("", model)
        self._instruct(context)

    def _instruct(self, context: TrialContext) -> None:
        settings = self._settings
        if settings.wording == "full":
            parts = [settings.preamble, context.instructions, *dict.fromkeys(self._told(kind)["legend"] for kind in context.asks)]  # each legend once
        else:
            forms = dict.fromkeys(self._told(kind)["form"] for kind in context.asks)
            parts = [settings.preamble, context.instructions, settings.reasoning_text, *forms]
        told = tuple(Text(part.strip("\n")) for part in parts if part.strip())
        if not told:
            return
        if settings.instructions_as == "user":
            self._waiting.append(told)
        else:
            self._say(settings.instructions_as, told)

    def show(self, percept: Percept) -> None:
        """Show the display of a step."""
        self._shown += 1
        stimulus, settings = percept.for_machine.stimulus, self._settings
        parts: list[Part] = []
        if settings.view != "image":
            parts.append(Text(stimulus.words().strip("\n")))
        if settings.view != "words":
            parts.append(Picture(stimulus, self._shown, settings.image_px, settings.image_detail))
        self._waiting.append(tuple(parts))

    def ask(self, kind: ResponseKind) -> None:
        """Put the question to what was shown last."""
        if self._settings.wording == "full":
            question = Text(self._told(kind)["question"])
            if self._waiting:
                self._waiting[-1] = (*self._waiting[-1], question)
            else:
                self._waiting.append((question,))

    def ask_again(self, kind: ResponseKind) -> None:
        """Put the question again after a reply that could not be read: now in words, whatever the wording."""
        self._waiting.append((Text(f"{self._settings.reask_text} {self._told(kind)['question']}"),))

    def _told(self, kind: ResponseKind) -> Sentences:
        """What is said of a kind of question: as the context says, or else as it is now."""
        return self._sentences.get(kind.record_key()) or told_of(kind, self._settings)

    def hear(self, reply: str) -> None:
        """Keep what the model is going to see again of its reply. Servers refuse empty messages: something else stands for an empty reply."""
        self._send()
        self._say("assistant", (Text(reply if reply.strip() else self._settings.empty_reply),))

    def draw(self) -> None:
        """Draw the pictures that are going to be sent next, which takes some 20 ms each and may be done in a thread."""
        for message in self._waiting:
            for part in message:
                if isinstance(part, Picture):
                    part.file()

    def request(self, options: Mapping[str, Any]) -> Request:
        """The conversation so far as a request: whatever was shown and asked is part of it from now on.

        Parameters
        ----------
        options : everything else that is sent and shapes the reply
        """
        self._send()
        return Request(tuple(self._messages), options, chained(self._chain, dict(options)), self._name, self._seed)

    def as_sent(self, sent: Sequence[Mapping[str, Any]]) -> bool:
        """Put the messages that were really sent, as they were kept, in the place of the last ones: displays may be said in other words now. Pictures are drawn
        anew and must be those of then.

        Returns
        -------
        whether it could be done
        """
        before, now = self._messages[: -len(sent)], self._messages[-len(sent) :]
        if len(now) != len(sent) or any(message.role != then["role"] for message, then in zip(now, sent, strict=True)):
            return False
        pictures = {canonical(part.stored()): part for message in now for part in message.parts if isinstance(part, Picture)}
        parts = [[Text(part["text"]) if "text" in part else pictures.get(canonical(part)) for part in then["parts"]] for then in sent]
        if any(part is None for some in parts for part in some):
            return False
        then = [Message(message.role, tuple(part for part in some if part is not None)) for message, some in zip(now, parts, strict=True)]
        self._messages, self._chain = [], self._start
        for message in (*before, *then):
            self._say(message.role, message.parts)
        return True

    @property
    def messages(self) -> tuple[Message, ...]:
        """What was sent, and what the model said to it."""
        return tuple(self._messages)

    def _send(self) -> None:
        """Make messages of what was gathered."""
        if self._settings.delivery == "merged":
            parts = tuple(part for message in self._waiting for part in message)
            if parts:
                self._say("user", parts)
        else:
            for message in self._waiting:
                if self._settings.delivery == "acknowledged" and self._messages and self._messages[-1].role == "user":
                    self._say("assistant", (Text(self._settings.acknowledgement),))
                self._say("user", message)
        self._waiting.clear()

    def _say(self, role: Role, parts: tuple[Part, ...]) -> None:
        message = Message(role, parts)
        self._messages.append(message)
        self._chain = chained(self._chain, message.stored())


def told_of(kind: ResponseKind, settings: ChatSettings) -> Sentences:
    """What is said of a kind of question; where nothing but stimuli goes out, reasons and form are asked for in the instructions."""
    form = json_sentence(kind, settings)
    beside = [settings.reasoning_text, form] if settings.wording == "full" else []
    return {"legend": kind.legend("words"), "question": " ".join(filter(None, [kind.question(), *beside])), "form": form}


def remembered(text: str, reading: Reading, settings: ChatSettings) -> str:
    """What a model sees again of its reply: all of it, its part with the answer, or the answer that was read in it. Of a reply that could not be read, all."""
    if reading.value is None:
        return text
    if settings.history == "extracted":
        return reading.said
    if settings.reasoning == "none" or settings.reasoning_history == "kept":
        return text
    if reading.how == "constrained":
        return reading.said  # the reasons are a part of the JSON
    lines = text.strip().splitlines()
    return lines[0] if settings.reasoning == "after" else lines[-1]
