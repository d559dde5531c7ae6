"""Memory of a chat model for trials before the one at hand: practice, and with one conversation
for a block the trials of that block."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field

from ..base import TrialContext
from .messages import Message, Part


@dataclass(frozen=True, slots=True)
class Past:
    """One trial of a conversation that is over.

    Parameters
    ----------
    instructions : the instructions under which it was taken
    messages : what was sent in it and what the model said, from its first message on
    instructed, led : whether these messages hold the instructions, and what was said around
        practice
    examples : names of the worked examples that they hold
    left : what was shown after the last question (what became of the answer, where a paradigm tells
        it), to be sent with what comes next
    """

    instructions: tuple[str, ...]
    messages: tuple[Message, ...]
    instructed: bool = False
    led: bool = False
    examples: tuple[str, ...] = ()
    left: tuple[tuple[Part, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Before:
    """Messages before a trial in its conversation.

    Parameters
    ----------
    practice : practice trials
    trials : trials of its block
    remarks : sentences after practice, or between practice trials
    """

    practice: tuple[Past, ...] = ()
    trials: tuple[Past, ...] = ()
    remarks: tuple[str, ...] = ()


@dataclass
class Memory:
    """Memory of an agent.

    Parameters
    ----------
    whole : whether the trials of a block are one conversation
    window : so many of them are sent again; None: all
    """

    whole: bool
    window: int | None = None
    _name: str = field(default_factory=lambda: uuid.uuid4().hex)
    _practice: list[Past] = field(default_factory=list[Past])
    _blocks: dict[int, list[Past]] = field(default_factory=dict[int, list[Past]])
    _remarks: list[str] = field(default_factory=list[str])

    def tell(self, sentence: str) -> None:
        """Have something said before the next trial; after practice, before the first trial of
        every conversation."""
        self._remarks.append(sentence)

    def before(self, context: TrialContext) -> Before:
        """Return what comes before a trial."""
        trials = [] if context.practice else self._blocks.get(context.block, [])
        kept = trials if self.window is None else trials[-self.window :]
        return Before(tuple(self._practice), tuple(kept), tuple(self._remarks))

    def keep(self, context: TrialContext, past: Past) -> None:
        """Remember a trial that is over."""
        if context.practice:
            self._practice.append(past)
            self._remarks.clear()
        elif self.whole:
            self._blocks.setdefault(context.block, []).append(past)

    def name(self, context: TrialContext) -> str:
        """The name of the conversation to which a trial belongs, for servers with a memory."""
        one = context.practice or self.whole
        return f"{self._name}-{'practice' if context.practice else context.block}" if one else uuid.uuid4().hex
