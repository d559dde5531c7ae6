"""A session in a real window in which things happen that should not: ``python pausing_bench.py
FOLDER``.

A simulated participant answers; at given steps somebody presses Escape, another window takes the
focus, the system gives the processor to something else between a flip and its time stamp, or a
press comes too late. What the record tells of it is judged by
``tests/agents/human/test_pauses.py``.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

from spanlab.agents.base import Response, TrialContext
from spanlab.agents.human import SimulatedParticipant, virtual_screen
from spanlab.agents.human.input.xtest import InputEvent, XTestInput
from spanlab.agents.human.simulated import SimulatedEpisode
from spanlab.paradigms import Percept, Truth, load_paradigm, plan_session
from spanlab.paradigms.design import session_design
from spanlab.sessions import Request, Runner, begin

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # what all tests share
from paradigm_texts import short

SHORT = short(400, 100, before="{phase: fixation, model_steps: 0, show: {fixation: {}, ms: 300}}", ask="window_ms: 900")
TRIALS = 4
#: ms for which the processor is away between one flip and its time stamp
DELAY = 14.0


class Rehearsal(SimulatedParticipant):
    """A simulated participant to whom things happen: by the number of the attempt at a trial and of
    its step, both from 1, ``script`` has those that happen when the step begins, and ``asked``
    those that happen when its question has come on."""

    def __init__(self) -> None:
        super().__init__("ideal", speed=2.0, answers="keys", say=lambda sentence: None)
        self.begun = self.steps = 0
        self.script: dict[tuple[int, int], Callable[[], object]] = {}
        self.asked: dict[tuple[int, int], Callable[[], object]] = {}
        #: when the other hands were to press, on the window's clock
        self.due: list[float] = []

    def start(self, context: TrialContext) -> Rehearsed:
        self.begun, self.steps = self.begun + 1, 0
        return Rehearsed(self, super().start(context).player, context.seed, context.keys, self._sender, context.words)

    def waits(self, for_what: str, onset: float) -> None:
        super().waits(for_what, onset)
        if for_what == "answer":
            self.asked.pop((self.begun, self.steps), lambda: None)()

    def press(self, key: str, after: float) -> Callable[[], None]:
        """Have a key pressed so many seconds from now on, whatever else the hands are told: by
        other hands, with a connection of their own."""

        def press() -> None:
            self.due.append(self.open().window.now() + after)
            self.others.at(self.due[-1], InputEvent(key, hold=0.02))

        return press

    @cached_property
    def others(self) -> XTestInput:
        window = self.open().window
        return XTestInput(window.now, window.size, window.corner)

    def when_shown(self, happens: Callable[[], object]) -> Callable[[], None]:
        """Have it happen when the next picture is on the screen, however late that is."""
        return lambda: self.open().window.win.callOnFlip(happens)

    def look_away(self) -> None:
        """Have another window take the focus, and give it back after 0.15 s."""
        threading.Thread(target=self._look_away).start()

    def _look_away(self) -> None:
        from Xlib import X, display

        server = display.Display()
        before = server.get_input_focus().focus
        other = server.screen().root.create_window(0, 0, 10, 10, 0, X.CopyFromParent, override_redirect=True)
        other.map()
        server.sync()
        other.set_input_focus(X.RevertToNone, X.CurrentTime)
        server.sync()
        time.sleep(0.15)
        server.set_input_focus(before, X.RevertToNone, X.CurrentTime)
        other.destroy()
        server.sync()
        server.close()

    def stamp_late(self) -> None:
        """Have the next flip's time stamp come late: the picture is handed over, and then nothing
        goes on for a while."""
        window = self.open().window.win.winHandle
        swap = window.flip

        def late() -> None:
            swap()
            window.flip = swap
            time.sleep(DELAY / 1000)

        window.flip = late


class Rehearsed(SimulatedEpisode):
    """One trial of it."""

    async def step(self, percept: Percept, truth: Truth | None = None) -> Response | None:
        agent: Any = self._agent
        agent.steps += 1
        agent.script.get((agent.begun, agent.steps), lambda: None)()
        if agent.begun == TRIALS + 2 and agent.steps == 5:
            self._decisions.memory.choose = lambda percept, truth: None  # type: ignore[method-assign]
        return await super().step(percept, truth)


def main(folder: Path) -> None:
    (file := folder / "short.yaml").write_text(SHORT, encoding="utf-8")
    paradigm = load_paradigm(str(file))
    with virtual_screen(1024, 768):
        agent = Rehearsal()
        agent.open()
        # attempts: 1 = trial 1; 2 = trial 2, cut off; 3 = trial 2; 4 = trial 3, cut off; 5 = trial
        # 3; 6 = trial 4
        agent.script = {
            (1, 1): agent.when_shown(agent.press("escape", 0.1)),  # at the fixation cross: nothing has been seen
            (2, 3): agent.when_shown(agent.press("escape", 0.15)),  # within the list
            (5, 1): agent.stamp_late,
            (5, 2): agent.look_away,
        }
        agent.asked = {
            (4, 4): agent.press("escape", 0.1),  # at a question
            (6, 5): agent.press("5", 1.1),  # after the last question of the session, which nobody answers
        }
        plan = plan_session(paradigm, 1, session_design(paradigm), {"list_length": [2]}, TRIALS)
        session = begin(
            folder / "data", paradigm, agent, plan, Request(source=str(file), extra={"study": {"name": "no thanks"}})
        )
        Runner(session, agent).run()
    pressed = [when for _, when in agent.others.done_since(0)]
    print(
        json.dumps(
            {
                "folder": str(session.folder),
                "late_s": max(when - due for when, due in zip(pressed, agent.due, strict=True)),
            }
        )
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
