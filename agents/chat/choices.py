"""Somebody else's answers put to a chat model: it is shown what they were shown, hears what they answered as if it had said so, and is asked how probable it
holds each answer before it hears it."""

from __future__ import annotations

from dataclasses import dataclass

from ...paradigms import Answer, Ask, Percept
from ..base import Journal
from .conversation import Conversation
from .episode import Scoring
from .likelihoods import Likelihoods
from .memory import Past
from .settings import ChatSettings

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

    def show(self, percept: Percept) -> None:
        """Show the display of a step."""
        self.conversation.show(percept)

    async def ask(self, ask: Ask, question: int) -> Likelihoods | None:
        """Put a question: how probable the model holds the allowed answers; None where that is not asked, or cannot be told.

        Parameters
        ----------
        question : which question of the trial it is, from 1
        """
        self.conversation.ask(ask.kind, self.conversation.prompt_of(ask))
        if self.scoring is None:
            return None
        return await self.scoring.score(ask.kind, self.conversation.request({}), question, self.bearable)

    def hear(self, ask: Ask, given: Answer | None) -> None:
        """Let the model hear what was answered."""
        self.conversation.hear(NO_ANSWER if given is None else ask.kind.write(given))

    def ended(self) -> Past:
        """The trial when it is over."""
        return self.conversation.ended()
