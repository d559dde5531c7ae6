"""Agents whose answers are known already: those of a recorded session, given again, and those that
a model has in published results."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from typing_extensions import override

from ..core.agent_kinds import PUBLISHED, RECORDED, AgentKind
from ..core.errors import SpanLabError
from ..paradigms import Percept, Truth, percept_bytes
from .base import Agent, Episode, Response, TrialContext


class Recorded(Agent):
    """Answers by what is seen: the same displays in the same order get the recorded answers.

    Parameters
    ----------
    name : such as ``recorded:data/vsr-capacity-s1``
    trials : for each recorded trial its percepts and its responses (one per question, in order)
    settings : where the answers come from, for the record
    """

    kind: ClassVar[AgentKind] = RECORDED

    def __init__(
        self,
        name: str,
        trials: Iterable[tuple[Sequence[Percept], Sequence[Response]]],
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        self.name = name
        self._settings = dict(settings or {})
        self._answers: dict[str, list[Response]] = {}
        for percepts, responses in trials:
            seen = hashlib.sha256()
            remaining = list(responses)
            for percept in percepts:
                seen.update(percept_bytes(percept))
                if percept.ask is not None and remaining:
                    self._answers.setdefault(seen.hexdigest(), []).append(remaining.pop(0))

    @override
    def start(self, context: TrialContext) -> RecordedEpisode:
        return RecordedEpisode(self)

    @override
    def settings(self) -> dict[str, Any]:
        return dict(self._settings)

    def recall(self, seen: str) -> Response:
        """The next recorded answer to what was seen.

        Raises
        ------
        SpanLabError
            when the recorded session did not have this trial.
        """
        answers = self._answers.get(seen)
        if not answers:
            raise SpanLabError(
                f"{self.name} has no answer to this trial; replay the trials of that session with {{like}}",
                names=["like"],
            )
        # A trial may have been given more than once: its answers come in the order of recording,
        # the last one for good.
        return answers.pop(0) if len(answers) > 1 else answers[0]


class RecordedEpisode(Episode):
    def __init__(self, agent: Recorded) -> None:
        self._agent = agent
        self._seen = hashlib.sha256()

    @override
    async def step(self, percept: Percept, truth: Truth | None = None) -> Response | None:
        self._seen.update(percept_bytes(percept))
        return percept.ask and self._agent.recall(self._seen.hexdigest())


class Published(Recorded):
    """A model that is met in its published answers only, such as ``published:gpt-4``. No oracle: it
    is known by what it answered."""

    kind: ClassVar[AgentKind] = PUBLISHED
