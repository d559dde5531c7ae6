"""Trials whose truth is another one, whatever is shown: whoever sees no truth gets the same, to the
byte."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from spanlab.paradigms import PlannedTrial, Step, Trial, Truth
from spanlab.sessions.strategies.one_by_one import TrialSource


def forged(trial: Trial) -> Trial:
    """The trial with another right answer to each of its questions."""
    return replace(trial, steps=tuple(map(_forged_step, trial.steps)), set_size=None)


def _forged_step(step: Step) -> Step:
    ask = step.percept.ask
    if ask is None:
        return step
    random = np.random.RandomState(1)
    others = (ask.kind.guess(random) for _ in range(100))
    return replace(step, truth=Truth(next(other for other in others if other != step.truth.answer)))


def scored(planned: PlannedTrial) -> bool:
    """Whether a trial counts: what became of practice is told to those who take it."""
    return not planned.practice


def forge_sessions(monkeypatch: pytest.MonkeyPatch, which: Callable[[PlannedTrial], bool] = scored) -> None:
    """Forge the trials of all sessions from now on.

    Parameters
    ----------
    which : of these trials
    """
    compile_ = TrialSource.compile

    def compiled(source: TrialSource, planned: PlannedTrial) -> Trial:
        trial = compile_(source, planned)
        return forged(trial) if which(planned) else trial

    monkeypatch.setattr(TrialSource, "compile", compiled)
