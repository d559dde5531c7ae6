"""A person's way through a battery, with real keys and clicks: ``python lab_battery.py PICTURES
INCIDENT STAGE ARGUMENTS... > stages.json``.

As ``lab_journey.py``, but whatever a question asks for is answered (marks, lists in order, values
on a dial, ratings), and at STAGE one of these happens: ``leave`` (Escape, and out), ``kill`` (the
program is gone at once), ``unplug`` (a keyboard is removed), ``pause`` (Escape, and on); ``none``
lets the session come to its end.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import lab_journey
from keyboards import Keyboards
from lab_journey import Traveller

from spanlab.agents.human.input.steps import USUAL
from spanlab.agents.human.input.xtest import InputEvent
from spanlab.agents.human.simulated import SimulatedParticipant


class Rehearser(Traveller):
    """Answers every kind of question: by chance, and those that say which answer is right rightly."""

    def __init__(self, pictures: Path, incident: str, stage: str) -> None:
        super().__init__(pictures, stage if incident == "leave" else "")
        self.incident, self.where = incident, stage
        self.hand = SimulatedParticipant("chance", speed=4.0)
        self.hand._refractory_times = lambda: USUAL  # type: ignore[method-assign]
        self.paused = 0
        self.keyboards = Keyboards(os.environ["DISPLAY"]) if incident == "unplug" else None

    def sit_down(self, stage: Any) -> None:
        super().sit_down(stage)
        self.hand._stage, self.hand._xtest = self.stage, self.xtest

    def waits(self, for_what: str, onset: float) -> None:
        phase = self.percept.phase if self.percept is not None else ""
        if self.where == (self.page if for_what in ("page", "choice") else f"{self.paradigm} {phase}"):
            if self.incident == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            if self.keyboards is not None:
                self.keyboards.unplug()
        if (
            self.incident == "pause"
            and self.xtest is not None
            and (self.paused == 1 or (self.paused == 0 and self.where == f"{self.paradigm} {phase}"))
        ):
            self.paused += 1
            if self.paused == 2:
                self.meet("pause", after=0.2)
            self.xtest.at(onset + 0.6, InputEvent("escape" if self.paused == 1 else "space"))
            return
        super().waits(for_what, onset)

    def _answer(self, onset: float) -> None:
        assert self.percept is not None
        ask = self.percept.ask
        assert ask is not None
        value = ask.kind.guess(self.random)
        words = "" if ask.prompt is None else ask.prompt.text_in("en")
        value = next((word for word in ("yes", "no") if f"answer {word}" in words), value)
        self.hand.answer_plan(ask, value)(onset)


def main(pictures: Path, incident: str, stage: str, arguments: list[str]) -> None:
    lab_journey.rehearse(Rehearser(pictures, incident, stage), arguments)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4:])
