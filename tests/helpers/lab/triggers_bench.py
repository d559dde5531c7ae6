"""Sessions that send trigger codes, in a real window with real keys: ``python triggers_bench.py
FOLDER [careless] > facts.json``.

The port is a pseudo-terminal: to pyserial a serial port like any other, whose far end this program
holds. What happened is judged in ``tests/agents/human/triggers/test_sessions.py``.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

from spanlab.agents.human import SimulatedParticipant, WindowOptions, virtual_screen
from spanlab.core.errors import SpanLabError
from spanlab.paradigms import load_paradigm, plan_session
from spanlab.paradigms.design import session_design
from spanlab.sessions import Request, Runner, begin, read_session, reopen
from spanlab.sessions.record.reader import read_events
from spanlab.sessions.triggers import trigger_request

PARADIGM = """
paradigm: triggered
version: 1
title: Codes for everything
factors: {first: [same, different]}
draw:
  second: {one_of: 2}
timeline:
  - {phase: fixation, model_steps: 0, show: {fixation: {}, ms: 100}}
  - {repeat: 3, phase: present, show: [{letter: {symbol: B, size: 40}, ms: 50}, {blank: {}, ms: 50}]}
  - phase: probe
    show: {letter: {symbol: K, size: 40}}
    ask: {choice: {options: [same, different], keys: [f, j]}, answer: =first}
  - {phase: feedback, feedback: {right: {text: right, ms: 100}, wrong: {text: wrong, ms: 100}}}
  - phase: speeded
    show: {letter: {symbol: M, size: 40}, ms: 450}
    ask: {choice: {options: [same, different], keys: [f, j]}, answer: "=['same', 'different'][second]", ends: on_time}
  - phase: marking
    show: {blank: {}}
    ask: {cells: {grid: 3, take: 2}, answer: [0, 4]}
set_size: 1
list_length: 1
instructions: {en: Nothing to do.}
practice: {trials: 1, feedback: false}
designs: {human: {repetitions: 2, interval: 50}}
triggers:
  trial_start: 1
  trial_end: 2
  phases: {fixation: 5, present: 10, probe: 20, feedback: {right: 31, wrong: 32}, speeded: 40}
  responses: {same: 51, different: 52, 0: 53, 4: 54, 8: 54, done: 55}
  verdicts: {right: 61, wrong: 62, missed: 63}
  shared: [54]
"""


#: a block of questions, one with each item
BLOCK = """
paradigm: block
version: 1
title: Questions one after another
factors: {first: [same, different]}
timeline:
  - {phase: fixation, model_steps: 0, show: {fixation: {}, ms: 100}}
  - repeat: 10
    phase: probe
    show: {letter: {symbol: K, size: 40}, ms: 200}
    ask: {choice: {options: [same, different], keys: [f, j]}, answer: =first, ends: on_time}
set_size: 1
list_length: 1
instructions: {en: Nothing to do.}
triggers: {trial_start: 1, phases: {probe: 20}}
"""


class FarEnd:
    """The far end of a serial line: keeps what arrives, and is pulled out after so many codes
    (resets do not count)."""

    def __init__(self, pulled_after: int | None = None) -> None:
        self.master, slave = os.openpty()
        self.device = os.ttyname(slave)
        os.set_blocking(slave, False)
        self._slave = slave  # held until somebody has opened the device
        self.arrived: list[tuple[float, int]] = []
        self._pulled_after = pulled_after
        self._open = True
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        codes = 0
        while self._open:
            try:
                read = os.read(self.master, 64)
            except OSError:
                return
            now = time.perf_counter()
            self.arrived += [(now, byte) for byte in read]
            codes += sum(byte != 0 for byte in read)
            if self._pulled_after is not None and codes >= self._pulled_after:  # a busy machine reads several at once
                os.close(self._slave)
                os.close(self.master)
                return


def agent(port: str, said: list[str]) -> SimulatedParticipant:
    return SimulatedParticipant(
        "chance", WindowOptions(fullscreen=False, size_px=(800, 760), triggers=port), seed=3, speed=6, say=said.append
    )


def taken(
    folder: Path,
    port: str,
    trials: int = 0,
    practice: bool = False,
    resumed: Path | None = None,
    file: str = "triggered.yaml",
) -> dict[str, Any]:
    """A session is begun (or gone on with), and what is there afterwards."""
    said: list[str] = []
    paradigm = load_paradigm(folder / file)
    one, error = agent(port, said), ""
    if resumed is None:
        plan = plan_session(paradigm, 5, session_design(paradigm, None), {}, trials)
        request = Request(
            seed=5, practice=practice, source=str(folder / file), extra={"triggers": trigger_request(paradigm, port)}
        )
        session = begin(folder / "data", paradigm, one, plan, request)
    else:
        session = reopen(resumed)
    try:
        Runner(session, one).run()
    except SpanLabError as stopped:
        error = str(stopped)
    return {
        "folder": str(session.folder),
        "error": error,
        "said": said,
        "events": read_events(session.folder),
        "apparatus": read_session(session.folder).get("apparatus", {}),
        "table": (session.folder / "responses.csv").exists(),
    }


def main(folder: Path) -> None:
    (folder / "triggered.yaml").write_text(PARADIGM, encoding="utf-8")
    (folder / "block.yaml").write_text(BLOCK, encoding="utf-8")
    facts: dict[str, Any] = {}
    with virtual_screen(1024, 800):
        facts["dry"] = taken(folder, "dry", 2, practice=True)
        broken = FarEnd(pulled_after=6)  # in the first trial
        facts["broken"] = taken(folder, f"serial:{broken.device}", 2)
        mended = FarEnd()
        facts["mended"] = taken(
            folder, f"serial:{mended.device}@9600,pulse=3,test=99", resumed=Path(facts["broken"]["folder"])
        )
        facts["arrived"] = [byte for _, byte in mended.arrived]
        facts["last"] = taken(folder, f"serial:{FarEnd(pulled_after=6).device}", 1)
        facts["block"] = taken(folder, f"serial:{FarEnd(pulled_after=6).device}", 2, file="block.yaml")
    print(json.dumps(facts))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
