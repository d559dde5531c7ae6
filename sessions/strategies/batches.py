"""Trials in batches, with an agent that answers many at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from ...agents.at_once import BatchAgent
from ...agents.base import Agent, Response, TrialContext
from ...core.errors import SpanLabError
from ...paradigms import Generator, Paradigm, Percept, PlannedTrial
from ...paradigms.compile import one_of_each
from ..session import FAULT, found
from .one_by_one import TrialTaker


def check_states(agent: Agent, paradigm: Paradigm, plan: Sequence[PlannedTrial], generator: Generator) -> None:
    """Check that the hidden states of an agent can be kept.

    Raises
    ------
    SpanLabError
        when it has none, or does not answer these trials in batches.
    """
    why = ""
    if not isinstance(agent, BatchAgent) or not agent.hidden_units:
        why = f"{agent.name} has no hidden states"
    elif any(planned.varies for planned in plan):
        why = "the design is adaptive: each trial waits for the answers before"
    elif any(
        step.feedback is not None
        for planned in one_of_each(plan)
        for step in planned.compile(paradigm, generator).steps
    ):
        why = f"{paradigm.name} gives feedback, so each trial has to be run step by step"
    if why:
        raise SpanLabError(f"the hidden states cannot be kept: {why}. Leave out {{states}}", names=["states"])


def take_batch(agent: BatchAgent, taker: TrialTaker, planned: Sequence[PlannedTrial]) -> list[PlannedTrial]:
    """Take trials together and log them.

    Returns
    -------
    the trials that were left out: feedback depends on the answers, so trials with feedback must be
    taken step by step
    """
    source, session = taker.source, taker.session
    trials = [(each, source.compile(each)) for each in planned]
    together = [
        (each, trial, source.steps(trial))
        for each, trial in trials
        if all(step.feedback is None for step in trial.steps)
    ]
    contexts = [source.context(each, trial) for each, trial, _ in together]
    percepts = [[step.percept for step in steps] for _, _, steps in together]
    hidden: dict[int, Any] | None = {} if session.info.get("states") else None
    answers = answers_of(agent, contexts, percepts, hidden)
    if hidden:
        from ...agents.network.hidden_states import write_states

        # before the answers: where those are on the disk, the states are
        write_states(
            session.folder,
            [(each.trial, steps) for each, _, steps in together],
            [hidden[number] for number in range(len(together))],
            session.name,
        )
    for (each, trial, steps), responses in zip(together, answers, strict=True):
        trial_log = taker.log.start(each, trial)
        for step, response in zip(steps, responses, strict=True):
            trial_log.step(step, step.percept, response)
        taker.log.finish(trial_log, len(responses))
    return [each for each, trial in trials if any(step.feedback is not None for step in trial.steps)]


async def in_batches(
    agent: BatchAgent, taker: TrialTaker, pending: Sequence[PlannedTrial], tell: Callable[[], None]
) -> None:
    """Take trials in batches as large as the agent takes them, and those with feedback one by one."""
    for start in range(0, len(pending), agent.batch_size):
        batch = pending[start : start + agent.batch_size]
        with_feedback = take_batch(agent, taker, batch)
        taker.recorder.commit()
        taker.first_is_over()
        for planned in batch:
            if any(planned is remaining for remaining in with_feedback):
                await taker.take(planned)
            tell()
        await asyncio.sleep(0)


def answers_of(
    agent: BatchAgent,
    contexts: Sequence[TrialContext],
    trials: Sequence[Sequence[Percept]],
    hidden: dict[int, Any] | None = None,
) -> Sequence[Sequence[Response | None]]:
    """Get the answers of an agent to a batch of trials: one per step of each trial.

    Parameters
    ----------
    hidden : takes the hidden states with which each trial was answered

    Raises
    ------
    SpanLabError
        with what the agent gave, and what was expected.
    """
    if not trials:
        return []
    answers: Any = (
        agent.answer(contexts, trials) if hidden is None else agent.answer(contexts, trials, hidden.__setitem__)
    )
    try:
        fits = [len(of_trial) for of_trial in answers] == [len(trial) for trial in trials]
    except TypeError:
        fits = False
    if not fits:
        raise SpanLabError(
            f"{agent.name} gave {found(answers)}; expected from answer() is a list with a list for each of the"
            f" {len(trials)} trials, with an answer or None for each of its steps: {FAULT}"
        )
    if hidden is not None and len(hidden) != len(trials):
        raise SpanLabError(f"{agent.name} kept the hidden states of {len(hidden)} of {len(trials)} trials: {FAULT}")
    return answers
