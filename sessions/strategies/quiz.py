"""A quiz about the instructions: its trials again and again, until enough answers are right."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...paradigms import PlannedTrial
from ..participant_flow import ParticipantFlow
from ..record.quiz import QuizState, quiz_of
from ..record.reader import trial_key
from .one_by_one import TrialTaker, one_by_one


async def take_quiz(taker: TrialTaker, flow: ParticipantFlow, tell: Callable[[], None]) -> QuizState:
    """Take a quiz, attempt by attempt, until it is over. Every attempt has the trials of the plan,
    with numbers of their own; ``block`` counts attempts.

    Trials that an earlier part of the session finished are not taken again, and its decisions hold.

    Parameters
    ----------
    tell : called after every trial of the first attempt
    """
    session, events = taker.session, taker.state.events
    finished = dict(taker.state.scores)
    decided = [event for event in events if event["event"] == "quiz_decision"]
    recorded = sum(event["event"] == "quiz" for event in events)

    def keep(planned: PlannedTrial, scores: Sequence[Mapping[str, Any]]) -> None:
        finished[trial_key(False, planned.trial)] = scores

    while True:
        state = quiz_of(session.info, finished, decided)
        assert state is not None
        for number in range(recorded + 1, len(state.attempts) + 1):
            recorded, attempt = number, state.attempts[number - 1]
            reached = state.reached(attempt)
            flow.note(
                {"event": "quiz", "attempt": number, "right": attempt.right, "items": attempt.items, "passed": reached}
            )
        if state.over:
            return state
        if state.undecided:
            decided.append(
                {"event": "quiz_decision", "attempt": len(state.attempts), "decided": flow.decide_quiz(state)}
            )
            continue
        number = len(state.attempts)
        trials = [
            replace(planned, trial=planned.trial + number * len(session.plan), block=number + 1)
            for planned in session.plan
        ]
        if number and not state.finished:
            flow.ask_quiz_again(trials[0], state.attempts[-1])
        pending = [taker.unseen(planned) for planned in trials if trial_key(False, planned.trial) not in finished]
        await one_by_one(taker, pending, (lambda: None) if number else tell, flow.welcome, [keep])
