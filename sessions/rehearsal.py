"""Trials that nobody takes: the response table that right answers to them would give."""

from __future__ import annotations

from collections.abc import Iterable

from ..agents.base import Response
from ..paradigms import PlannedTrial, Trial
from .record.events import Event
from .record.table import ResponseTable, response_rows, response_table
from .strategies.one_by_one import SessionLog

#: the reaction time of every rehearsed answer
_RT_MS = 500.0


def rehearsed(trials: Iterable[Trial]) -> ResponseTable:
    """The response table that these trials would give.

    Parameters
    ----------
    trials : of one paradigm, steps for people and machines alike
    """
    events: list[Event] = []
    log, paradigm = SessionLog(events.append, lambda: ""), ""
    for number, trial in enumerate(trials, start=1):
        paradigm = trial.paradigm
        trial_log = log.start(PlannedTrial(1, number, trial.levels, trial.seed), trial)
        for step in trial.steps:
            ask = step.percept.ask
            value = None
            if ask is not None:
                value = step.truth.answer if ask.kind.scored else ask.kind.unscored_answer(number % 2 == 0)
            trial_log.step(step, step.percept, None if ask is None else Response(value, _RT_MS, {}, "answered", {}))
        log.finish(trial_log, len(trial.steps))
    session = {"session": "rehearsed", "participant": "", "agent_kind": "ideal", "agent": "ideal", "paradigm": paradigm}
    return response_table(response_rows(session, events))
