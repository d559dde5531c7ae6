"""One trial, step by step: percepts go in, answers come out, and each is judged."""

from __future__ import annotations

from collections.abc import Sequence

from typing_extensions import override

from ..agents.base import Episode
from ..agents.interruptions import TrialCut
from ..agents.window import WindowAgent, WindowEpisode
from ..core.errors import SpanLabError
from ..paradigms import Step
from .trial_log import Judged, TrialLog, each_asks, last_verdict


class Cues:
    """Hooks of a trial besides its percepts; for machines they do nothing."""

    def before(self, following: Step | None) -> None:
        """Tell it, before a step, which one follows."""

    def after(self, answer: Judged | None, following: Step | None) -> None:
        """Tell it, after a step, what became of its answer."""


class WindowCues(Cues):
    """Hooks of a trial at a window: displays ahead of time, and verdicts for trigger codes.

    Parameters
    ----------
    steps : of the trial; in a block of questions the agent may stop between any two
    """

    def __init__(self, agent: WindowAgent, episode: WindowEpisode, steps: Sequence[Step]) -> None:
        self._agent, self._episode = agent, episode
        self._stops_between = each_asks(steps)

    @override
    def before(self, following: Step | None) -> None:
        # What does not depend on the answer may be put on the very frame on which it is due.
        self._episode.announce_next(
            following.percept if following is not None and following.feedback is None else None, following is None
        )

    @override
    def after(self, answer: Judged | None, following: Step | None) -> None:
        if answer is not None and answer.verdict is not None:
            self._episode.judged(answer.verdict)
        if self._stops_between and following is not None:
            self._agent.still_ready()


async def run_trial(
    steps: Sequence[Step], episode: Episode, log: TrialLog, cues: Cues, oracle: bool = False
) -> list[Judged]:
    """Take one trial and log every step.

    Parameters
    ----------
    steps : of the trial, those that the agent sees
    oracle : whether the agent also gets the truth

    Raises
    ------
    TrialCut
        when a step was cut off; it is logged.
    """
    judged: list[Judged] = []
    for step, following in zip(steps, [*steps[1:], None], strict=True):
        cues.before(following)
        percept = step.shown_after(last_verdict(judged) or "missed")
        try:
            response = await (episode.step(percept, step.truth) if oracle else episode.step(percept))
        except TrialCut as cut:
            log.cut(step, percept, episode, cut.why)
            episode.cut()
            log.flush()
            raise
        answer = log.step(step, percept, response, episode, last_verdict(judged) if step.feedback is not None else None)
        judged += [] if answer is None else [answer]
        try:
            cues.after(answer, following)
        except SpanLabError:
            episode.cut()
            log.flush()
            raise
    episode.finish()
    log.flush()
    return judged
