"""The response table of trials that nobody has taken: every answer right, each after the same time. It tells what data of a paradigm will hold."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..agents.base import Response
from ..paradigms import Trial
from .large_run import Collected
from .record.reader import response_rows, response_table
from .trial_log import TrialLog

if TYPE_CHECKING:
    import pyarrow

_RT_MS = 500.0


def rehearsed(trials: Iterable[Trial]) -> pyarrow.Table:
    """The response table of these trials.

    Parameters
    ----------
    trials : of one paradigm, steps for people and machines alike
    """
    recorder, paradigm = Collected(), ""
    for number, trial in enumerate(trials, start=1):
        paradigm, key = trial.paradigm, str(number)
        recorder.write(
            {
                "event": "trial_start",
                "trial": key,
                "attempt": 1,
                "block": 1,
                "practice": False,
                "levels": dict(trial.levels),
                "seed": trial.seed,
                "trial_id": trial.trial_id,
                "set_size": trial.set_size,
                "list_length": trial.list_length,
                "started_at": "",
            }
        )
        log = TrialLog(recorder, key, 1)
        for step in trial.steps:
            asked = step.percept.ask is not None
            log.step(step, step.percept, Response(step.truth.answer, _RT_MS, {}, "answered", {}) if asked else None)
        log.flush()
        recorder.write({"event": "trial_end", "trial": key, "attempt": 1, "steps": len(trial.steps)})
    session = {"session": "rehearsed", "participant": "", "agent_kind": "ideal", "agent": "ideal", "paradigm": paradigm}
    return response_table(response_rows(session, recorder.events))
