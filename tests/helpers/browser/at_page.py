"""A simulated participant at a page in a real browser."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from hands import Decision
from typing_extensions import override

from spanlab.agents import Observer, Response, TrialContext
from spanlab.agents.human import (
    AFTER_REFRACTORY_MS,
    ANSWER_MS,
    NEXT_MARK_MS,
    Decisions,
    drawn_seconds,
    observer_settings,
)
from spanlab.agents.human.input import USUAL
from spanlab.core import AgentKind, kind_named
from spanlab.extensions.browser.participant.agent import BrowserEpisode, BrowserParticipant
from spanlab.extensions.browser.participant.channel import Channel
from spanlab.extensions.browser.participant.frames import FrameStore
from spanlab.extensions.browser.participant.screen import PageScreen
from spanlab.paradigms import Ask, Percept, Truth
from spanlab.stimuli.render import PaletteName

#: A question with a window is answered within this share of it: hands notice it later than its
#: onset.
_SHARE_OF_WINDOW = 0.4


class SimulatedAtPage(BrowserParticipant):
    """An observer decides what is answered, given the truth; whoever drives the browser presses it
    there. A declared oracle.

    Parameters
    ----------
    observer : decides
    seed : of reaction times
    speed : how many times faster than the declared reaction times; displays keep their times
    others : as for :class:`BrowserParticipant`
    """

    kind: ClassVar[AgentKind] = kind_named("simulated")

    def __init__(
        self,
        channel: Channel,
        frames: FrameStore,
        screen: Callable[[], PageScreen],
        observer: Observer,
        palette: PaletteName = "published",
        seed: int = 1,
        speed: float = 1.0,
    ) -> None:
        super().__init__(channel, frames, screen, palette)
        self.observer = observer
        self.name = f"simulated:{observer.name}"
        self._seed, self._speed = seed, speed
        self._random = np.random.RandomState(seed % 2**32)
        #: what was decided, by the number of the command and that of the step
        self.decisions: dict[tuple[int, int], Decision] = {}

    @override
    def settings(self) -> dict[str, Any]:
        return {
            **super().settings(),
            **observer_settings(self.observer, self._seed, self._speed),
            "answers_from": "the moment at which the question is noticed on the page",
        }

    @override
    def start(self, context: TrialContext) -> SimulatedAtPageEpisode:
        self.prepare_trial(context)
        self._random = np.random.RandomState([context.seed % 2**32, self._seed % 2**32])
        return SimulatedAtPageEpisode(self, context)

    def decide(self, ask: Ask, value: Any) -> Decision:
        """Decide when to answer a question, and with what."""
        after = drawn_seconds(self._random, ANSWER_MS, self._speed)
        if ask.window_ms is None:
            after = max(after, (max(USUAL.same_ms, USUAL.other_ms) + AFTER_REFRACTORY_MS) / 1000.0)
        else:
            after = min(after, _SHARE_OF_WINDOW * ask.window_ms / 1000.0)
        return Decision(ask, value, after, drawn_seconds(self._random, NEXT_MARK_MS, self._speed))


class SimulatedAtPageEpisode(BrowserEpisode):
    """One trial of the simulated participant."""

    def __init__(self, agent: SimulatedAtPage, context: TrialContext) -> None:
        super().__init__(agent, context.keys, context.words, cuts=not context.questionnaire)
        self._simulated, self._decisions = agent, Decisions(agent.observer, context.seed)
        self._decision: Decision | None = None

    @override
    async def step(self, percept: Percept, truth: Truth | None = None) -> Response | None:
        """Take one step at the page; the truth decides what is answered."""
        assert truth is not None, "the runner hands the truth to declared oracles"
        value, ask = self._decisions.value(percept, truth), self.as_asked(percept).ask
        self._decision = None if ask is None else self._simulated.decide(ask, value)
        return await super().step(percept)

    @override
    def about_to_play(self) -> None:
        if self._decision is not None:
            self._simulated.decisions[self.at] = self._decision
