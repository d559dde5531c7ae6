"""A person's way through a session of a study, with real keys and clicks: ``python lab_journey.py
PICTURES LEAVE_AT ARGUMENTS... > stages.json``.

The command line runs in this process as it does in a lab. Somebody types into the dialog, turns
pages, answers every question (any answer will do), and at the stage called LEAVE_AT presses Escape
and leaves. A picture of the screen is kept of each stage.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
from dialog_typist import Typist

from spanlab.agents.human import participant, trial_player
from spanlab.agents.human.input.xtest import InputEvent, XTestInput
from spanlab.agents.human.pages import between_trials
from spanlab.paradigms import Percept


class Traveller:
    """Sits in front of the window and does what it asks for.

    ``stages`` is what was met, in order: pages by their titles, questions by their phases with the
    paradigm's name, the pause.
    """

    def __init__(self, pictures: Path, leave_at: str) -> None:
        self.pictures, self.leave_at = pictures, leave_at
        self.typist = Typist(os.environ["DISPLAY"])
        self.stages: list[str] = []
        self.xtest: XTestInput | None = None
        self.stage: Any = None
        self.paradigm = self.page = ""
        self.percept: Percept | None = None
        self.random = np.random.RandomState(1)
        self.leaving = False

    # -- what is met -------------------------------------------------------------------------------

    def fill_in(self) -> None:
        """The dialogs: who takes part; then, after consent, first with an age that cannot be, then
        with one that can."""
        self.typist.focus(self.typist.wait_for(lambda: self.typist.window("SpanLab")))
        time.sleep(0.3)
        self.meet("dialog")
        self.typist.type("P01\t7\n")
        self.typist.wait_for(lambda: "Consent" in self.stages)
        self.typist.focus(self.typist.wait_for(lambda: self.typist.window("SpanLab")))
        time.sleep(0.3)
        self.meet("questions")
        self.typist.type("270\n")
        time.sleep(0.4)
        self.meet("dialog complains")
        self.typist.key("BackSpace")
        self.typist.key("Return")

    def sit_down(self, stage: Any) -> None:
        if self.stage is not stage:  # the window opens anew after the questions
            self.stage, self.xtest = stage, XTestInput(stage.window.now, stage.window.size, stage.window.corner)
            stage.attendant = self.waits

    def meet(self, stage: str, after: float = 0.0) -> None:
        """Note a stage, and take its picture when it is the first of its kind."""
        new = stage not in self.stages
        self.stages.append(stage)
        if not new:
            return

        def picture() -> None:
            time.sleep(after)
            self.typist.picture(self.pictures / f"{stage.lower().replace(' ', '-')}.png")

        if after:
            threading.Thread(target=picture).start()
        else:
            picture()

    def see(self, percept: Percept) -> None:
        """A step begins."""
        self.percept = percept
        ms = percept.displays[0].ms
        if percept.ask is None and ms is not None and ms >= 400:
            self.meet(f"{self.paradigm} {percept.phase}", after=0.15)

    def waits(self, for_what: str, onset: float) -> None:
        """The window waits for an answer, or for a page to be turned."""
        assert self.xtest is not None
        phase = self.percept.phase if self.percept is not None else ""
        stage = self.page if for_what in ("page", "choice") else f"{self.paradigm} {phase}"
        if self.leaving:
            self.meet("pause", after=0.2)
            self.xtest.at(onset + 0.6, InputEvent("l"))
        elif stage == self.leave_at:
            self.meet(stage, after=0.2)
            self.leaving = True
            self.xtest.at(onset + 0.6, InputEvent("escape"))
        elif for_what == "choice":
            self.meet(stage, after=0.2)
            self.xtest.at(onset + 0.6, InputEvent("a"))
        elif for_what == "answer":
            self.meet(stage, after=0.25)
            self._answer(onset)
        else:
            self.meet(stage, after=0.2)
            self.xtest.at(
                onset + 0.6, InputEvent("space") if self.random.randint(2) else InputEvent(x=0, y=-40, hold=0.05)
            )

    def _answer(self, onset: float) -> None:
        assert self.xtest is not None
        assert self.percept is not None
        assert self.percept.ask is not None
        surface = self.percept.ask.kind.surface()
        clicks = [self._click(region) for region in surface.regions]
        keys = [InputEvent(key, hold=0.03) for key, _ in surface.keys]
        if not surface.several:
            touches = clicks if clicks and (not keys or self.random.randint(2)) else keys
            self.xtest.at(onset + 0.5, touches[int(self.random.randint(len(touches)))])
            return
        chosen = self.random.permutation(len(clicks))[: surface.take or 2]
        for number, which in enumerate(chosen):
            self.xtest.at(onset + 0.6 + 0.15 * number, clicks[int(which)])
        x, y = self.stage.surface.done_middle()
        self.xtest.at(onset + 0.8 + 0.15 * len(chosen), InputEvent(x=x, y=y, hold=0.03))

    def _click(self, region: Any) -> InputEvent:
        x, y = self.stage.surface.to_pixels((region.x0 + region.x1) / 2, (region.y0 + region.y1) / 2)
        return InputEvent(x=x, y=y, hold=0.03)


def watch(traveller: Traveller) -> None:
    """Let the traveller know of pages and steps."""
    opened, show, play, start = (
        participant.Participant.open,
        between_trials.show,
        trial_player.Player.play,
        participant.Participant.start,
    )

    def open_(self: Any) -> Any:
        stage = opened(self)
        traveller.sit_down(stage)
        return stage

    def show_(stage: Any, page: Any, *rest: Any, **more: Any) -> str:
        traveller.page = page.title or "text"
        return show(stage, page, *rest, **more)

    def play_(self: Any, percept: Percept) -> Any:
        traveller.see(percept)
        return play(self, percept)

    def start_(self: Any, context: Any) -> Any:
        traveller.paradigm = context.paradigm
        return start(self, context)

    participant.Participant.open, between_trials.show = open_, show_  # type: ignore[method-assign]
    trial_player.Player.play, participant.Participant.start = play_, start_  # type: ignore[method-assign]


def rehearse(traveller: Traveller, arguments: list[str]) -> None:
    """Run the command line with the traveller in front of the window."""
    watch(traveller)
    if "--participant" not in arguments:
        threading.Thread(target=traveller.fill_in, daemon=True).start()
    from spanlab.cli import main as spanlab

    sys.argv = ["spanlab", *arguments]
    status: Any = 0
    try:
        spanlab()
    except SystemExit as error:
        status = error.code
    print(json.dumps({"stages": traveller.stages, "status": status}))


if __name__ == "__main__":
    rehearse(Traveller(Path(sys.argv[1]), sys.argv[2]), sys.argv[3:])
