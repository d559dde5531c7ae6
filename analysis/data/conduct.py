"""The course of somebody's session, from its record: practice, quiz and attention checks, and what cut it off."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from ...sessions.record.events import Event
from ...sessions.record.quiz import attention_checks, quiz_of
from ...sessions.record.reader import finished_scores


@dataclass(frozen=True)
class Conduct:
    """Course of a session.

    Parameters
    ----------
    practice, quiz : whether they were passed at last; None where there were none that have ended
    checks, checked : attention checks that were answered correctly, and all that were asked
    cuts : trials that were cut off within a step and replaced, by the reason
    resumed : how often the session went on after it had ended early
    pauses, paused_ms : pauses between trials, and how long they were together
    """

    practice: bool | None = None
    quiz: bool | None = None
    checks: int = 0
    checked: int = 0
    cuts: Mapping[str, int] = field(default_factory=dict)
    resumed: int = 0
    pauses: int = 0
    paused_ms: float = 0.0

    @property
    def missed(self) -> tuple[str, ...]:
        """The checks that were not passed, in words."""
        checks = (f"{self.checks} of {self.checked} attention checks right",) if self.checks < self.checked else ()
        return (*["practice not passed"] * (self.practice is False), *["quiz not passed"] * (self.quiz is False), *checks)

    @property
    def upsets(self) -> tuple[str, ...]:
        """The interruptions, in words."""
        cuts = tuple(f"{count} trial{'s' * (count != 1)} {_CUT.get(why, f'cut off ({why})')}" for why, count in sorted(self.cuts.items()))
        return (*cuts, *[f"resumed {self.resumed} time{'s' * (self.resumed != 1)}"] * bool(self.resumed))


#: what the record says of a trial that was cut off, in words
_CUT = {"paused": "paused", "hidden": "cut off by a hidden page", "reloaded": "cut off by reloading the page"}


def conduct_of(session: Mapping[str, Any], events: Sequence[Event]) -> Conduct:
    """Return the course of a session.

    Parameters
    ----------
    session : content of ``session.json``
    """
    practice = [event["passed"] for event in events if event["event"] == "practice"]
    quiz = quiz_of(session, finished_scores(events), events) if session.get("quiz") is not None else None
    pauses = [event.get("for_ms") or 0.0 for event in events if event["event"] == "break"]
    right, asked = attention_checks(session, events) if isinstance(session.get("paradigm_data"), Mapping) else (0, 0)
    return Conduct(
        practice=practice[-1] if practice else None,
        quiz=None if quiz is None or not quiz.attempts else quiz.passed,
        checks=right,
        checked=asked,
        cuts=Counter(event["why"] for event in events if event["event"] == "trial_cut"),
        resumed=sum(event["event"] == "resumed" for event in events),
        pauses=len(pauses),
        paused_ms=sum(pauses),
    )


def without_memory(session: Mapping[str, Any], table: pd.DataFrame) -> pd.DataFrame:
    """The response table of a session, with ``_check`` where questions test no memory: attention checks, quizzes, questionnaires.

    Parameters
    ----------
    session : content of ``session.json``
    """
    data = session.get("paradigm_data")
    phases = (data.get("attention_checks") if isinstance(data, Mapping) else None) or ()
    if session.get("quiz") is not None or (isinstance(data, Mapping) and data.get("questionnaire") is True):
        return table.assign(_check=True)
    return table.assign(_check=table["phase"].isin(phases)) if phases and "phase" in table.columns else table
