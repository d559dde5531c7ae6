"""Trials in batches, with an agent that answers many at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from ...agents.base import BatchAgent
from ...paradigms import Percept, PlannedTrial
from ..agent_checks import answers_of
from ..trial_log import SessionLog
from .one_by_one import TrialSource, TrialTaker

#: takes the percepts of a trial, and the hidden states with which it was answered
AddStates = Callable[[Sequence[Percept], Any], None]


def run_batch(
    agent: BatchAgent,
    source: TrialSource,
    log: SessionLog,
    planned: Sequence[PlannedTrial],
    add_states: AddStates | None = None,
) -> list[PlannedTrial]:
    """Take trials together and log them.

    Returns
    -------
    the trials that were left out: feedback depends on the answers, so trials with feedback must be
    taken step by step
    """
    trials = [(each, source.compile(each)) for each in planned]
    together = [
        (each, trial, source.steps(trial))
        for each, trial in trials
        if all(step.feedback is None for step in trial.steps)
    ]
    contexts = [source.context(each, trial) for each, trial, _ in together]
    percepts = [[step.percept for step in steps] for _, _, steps in together]
    for (each, trial, steps), responses in zip(
        together, answers_of(agent, contexts, percepts, add_states), strict=True
    ):
        trial_log = log.start(each, trial)
        for step, response in zip(steps, responses, strict=True):
            trial_log.step(step, step.percept, response)
        log.finish(trial_log, len(responses))
    return [each for each, trial in trials if any(step.feedback is not None for step in trial.steps)]


async def in_batches(
    agent: BatchAgent, taker: TrialTaker, pending: Sequence[PlannedTrial], tell: Callable[[], None]
) -> None:
    """Take trials in batches as large as the agent takes them, and those with feedback one by one."""
    for start in range(0, len(pending), agent.batch_size):
        batch = pending[start : start + agent.batch_size]
        with_feedback = run_batch(agent, taker.source, taker.log, batch)
        taker.recorder.commit()
        taker.first_is_over()
        for planned in batch:
            if any(planned is remaining for remaining in with_feedback):
                await taker.take(planned)
            tell()
        await asyncio.sleep(0)
