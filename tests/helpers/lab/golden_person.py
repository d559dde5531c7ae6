"""Somebody who takes a session at the window with real keys and clicks, and leaves it half-way:
``python golden_person.py LEAVE_AFTER ARGUMENTS...``.

The command line runs in this process as it does in a lab. After LEAVE_AFTER finished ordinary
trials (never, when 0) Escape is pressed in the next one, at its first question, and then L.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from lab_journey import Traveller, watch

from spanlab.agents.human.input.xtest import InputEvent, XTestInput
from spanlab.sessions.strategies.one_by_one import SessionLog
from spanlab.sessions.trial_log import TrialLog


class Person(Traveller):
    """Turns pages, answers every question at random, and leaves."""

    def __init__(self, leave_after: int) -> None:
        # no dialog and no pictures: nothing of the traveller's typist
        self.stages: list[str] = []
        self.xtest: XTestInput | None = None
        self.stage: Any = None
        self.paradigm = self.page = ""
        self.percept = None
        self.random = np.random.RandomState(1)
        self.leaving = False
        self.leave_at = "nowhere"
        self.pictures = Path()
        self.leave_after, self.done = leave_after, 0

    def meet(self, stage: str, after: float = 0.0) -> None:
        self.stages.append(stage)

    def waits(self, for_what: str, onset: float) -> None:
        if self.leave_after and self.done >= self.leave_after and for_what == "answer" and not self.leaving:
            assert self.xtest is not None
            self.leaving = True
            self.xtest.at(onset + 0.6, InputEvent("escape"))
            for late in range(1, 20):  # on a busy machine the page may come late
                self.xtest.at(onset + 1.2 + 0.5 * late, InputEvent("l"))
            return
        if for_what == "choice" and "de" in sys.argv:
            assert self.xtest is not None
            self.xtest.at(onset + 0.6, InputEvent("e"))  # einverstanden
            return
        super().waits(for_what, onset)


def count(person: Person) -> None:
    """Let the person know how many ordinary trials are finished."""
    finish = SessionLog.finish

    def finished(self: SessionLog, log: TrialLog, steps: int) -> None:
        finish(self, log, steps)
        person.done += not log.key.startswith("p")

    SessionLog.finish = finished  # type: ignore[method-assign]


def main(leave_after: int, arguments: list[str]) -> None:
    person = Person(leave_after)
    watch(person)
    count(person)
    from spanlab.cli import main as spanlab

    sys.argv = ["spanlab", *arguments]
    spanlab()


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
