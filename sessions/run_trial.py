"""One trial, step by step: percepts go in, answers come out, and each is judged."""

from __future__ import annotations

import inspect
from collections.abc import Sequence

from typing_extensions import override

from ..agents.base import Agent, Episode
from ..agents.interruptions import TrialCut
from ..agents.window import WindowAgent, WindowEpisode
from ..core.errors import SpanLabError
from ..paradigms import Step
from .session import FAULT, found
from .trial_log import Judged, TrialLog, last_verdict


async def run_trial(
    steps: Sequence[Step], episode: Episode, log: TrialLog, cues: Cues, oracle: bool = False
) -> list[Judged]:
    """Take one trial and log every step.

    Parameters
    ----------
    steps : of the trial, those that the agent sees
    cues : what the agent is told besides percepts
    oracle : whether the agent also gets the truth

    Raises
    ------
    TrialCut
        when a step was cut off; it is logged.
    """
    judged: list[Judged] = []
    for step, following in zip(steps, [*steps[1:], None], strict=True):
        cues.before(following)
        verdict = last_verdict(judged)
        percept = step.shown_after(verdict or "missed")
        try:
            response = await (episode.step(percept, step.truth) if oracle else episode.step(percept))
        except TrialCut as cut:
            log.cut(step, percept, episode, cut.why)
            episode.cut()
            log.flush()
            raise
        answer = log.step(step, percept, response, episode, None if step.feedback is None else verdict)
        if answer is not None:
            judged.append(answer)
        try:
            cues.after(answer, following)
        except SpanLabError:
            episode.cut()
            log.flush()
            raise
    episode.finish()
    log.flush()
    return judged


class Cues:
    """What somebody is told in a trial besides percepts; for machines, nothing."""

    def before(self, following: Step | None) -> None:
        """Before a step: tell which one follows."""

    def after(self, answer: Judged | None, following: Step | None) -> None:
        """After a step: tell how its answer was judged."""


class WindowCues(Cues):
    """What a window is told besides percepts: displays ahead of time, and verdicts for trigger codes.

    Parameters
    ----------
    steps : of the trial; in a block of questions the agent may stop between any two
    """

    def __init__(self, agent: WindowAgent, episode: WindowEpisode, steps: Sequence[Step]) -> None:
        self._agent, self._episode = agent, episode
        self._stops_between = each_asks(steps)

    @override
    def before(self, following: Step | None) -> None:
        # A display that does not depend on the answer can then be on the very frame on which it is due.
        self._episode.announce_next(
            following.percept if following is not None and following.feedback is None else None, following is None
        )

    @override
    def after(self, answer: Judged | None, following: Step | None) -> None:
        if answer is not None and answer.verdict is not None:
            self._episode.judged(answer.verdict)
        if self._stops_between and following is not None:
            self._agent.still_ready()


def each_asks(steps: Sequence[Step]) -> bool:
    """Return whether a trial is a block of questions, one with each item, as in N-back: it may end after
    any of them."""
    asks = [step.percept.ask is not None for step in steps if step.percept.model_step and step.feedback is None]
    return len(asks) > 1 and all(asks)


def check_episode(agent: Agent, episode: object) -> Episode:
    """Check that an agent has begun a trial correctly.

    Raises
    ------
    SpanLabError
        with what it gave, and what was expected.
    """
    expected, name = (WindowEpisode, "a WindowEpisode") if isinstance(agent, WindowAgent) else (Episode, "an Episode")
    if not isinstance(episode, expected):
        raise SpanLabError(f"{agent.name} began a trial with {found(episode)}; expected {name} from start(): {FAULT}")
    if agent.kind.oracle and len(inspect.signature(episode.step).parameters) < 2:
        raise SpanLabError(
            f"{agent.name} is of the kind '{agent.kind.name}', which is an oracle, and {type(episode).__name__}.step"
            f" takes no truth; expected async def step(self, percept, truth=None): {FAULT}"
        )
    return episode
