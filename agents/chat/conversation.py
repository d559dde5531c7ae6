"""What a chat model is told: a pure function of the briefing, of the percepts and of its own replies."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypedDict

from ...paradigms import Percept, ResponseKind
from ..protocol import Briefing
from .settings import ChatSettings

Role = Literal["system", "developer", "user", "assistant"]


class Message(TypedDict):
    """A message as it is sent."""

    role: Role
    content: str


@dataclass(slots=True)
class _Turn:
    """One message in the making. Its parts are texts; they are sent as one string, which every server takes."""

    role: Role
    parts: list[str] = field(default_factory=list)


class Conversation:
    """One conversation: one trial.

    Whatever is shown between two replies becomes one user message, so that roles alternate (many chat templates refuse two user messages in a row).
    """

    def __init__(self, briefing: Briefing, settings: ChatSettings) -> None:
        self._settings = settings
        self._turns: list[_Turn] = []
        legends = dict.fromkeys(kind.legend("words") for kind in briefing.asks)  # each legend once, in order of first use
        for part in (settings.preamble, briefing.instructions, *legends):
            self._add(settings.instructions_as, part)

    def _add(self, role: Role, part: str) -> None:
        part = part.strip("\n")
        if not part.strip():
            return
        if not self._turns or self._turns[-1].role != role:
            self._turns.append(_Turn(role))
        self._turns[-1].parts.append(part)

    def show(self, percept: Percept) -> None:
        """Describe the display of a step."""
        self._add("user", percept.for_machine.stimulus.words())

    def ask(self, kind: ResponseKind) -> None:
        """Put the question."""
        self._add("user", kind.question())

    def ask_again(self, kind: ResponseKind) -> None:
        """Put the question again after a reply that could not be read."""
        self._add("user", f"{self._settings.reask_text} {kind.question()}")

    def hear(self, reply: str) -> None:
        """Keep the model's reply. An empty one leaves no message (servers refuse those): the next question then joins the last."""
        self._add("assistant", reply)

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation so far, as it is sent."""
        return tuple(Message(role=turn.role, content="\n\n".join(turn.parts)) for turn in self._turns)
