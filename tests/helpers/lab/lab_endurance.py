"""Minutes of a simulated session in one window, and what each second of it cost: ``python
lab_endurance.py MINUTES FOLDER > samples.json``.

Sessions follow one another without a pause, with pages and all kinds of answers. Every trial is a
row: seconds since the start, resident memory (kB), frames and processor time (s) since the row
before.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from spanlab.agents.human import SimulatedParticipant, WindowOptions, stage, virtual_screen
from spanlab.paradigms import load_paradigm, plan_session
from spanlab.paradigms.language.schema import SessionDesign
from spanlab.sessions import Request, Runner, begin

TASKS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("vsr", {"list_length": 4}),
    ("sfr", {"list_length": 4}),
    ("cd", {"feature": "conjunction", "set_size": 8}),
    ("smu", {"set_size": 4}),
    ("cs", {"storage": "visual", "distractor_domain": "spatial", "load": 1}),
)


def resident() -> int:
    """Memory of this process, in kB."""
    with open("/proc/self/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


def main(minutes: float, data: Path) -> None:
    rows: list[tuple[float, int, int, float]] = []
    flips, began = [0], time.monotonic()

    def counted(act: Any) -> Any:
        def call(self: Any, *rest: Any) -> Any:
            flips[0] += 1
            return act(self, *rest)

        return call

    stage.Stage.flip, stage.Stage.again = counted(stage.Stage.flip), counted(stage.Stage.again)  # type: ignore[method-assign]
    paradigms = {name: load_paradigm(name) for name, _ in TASKS}
    with virtual_screen():
        agent = SimulatedParticipant(
            "capacity", WindowOptions(width_cm=34.0), seed=1, speed=4.0, say=lambda sentence: None
        )
        agent.open()
        opened, agent.close = agent.close, lambda: None  # type: ignore[method-assign]
        last = [0, time.process_time()]

        def sample(done: int, total: int) -> None:
            now = time.process_time()
            rows.append((time.monotonic() - began, resident(), flips[0] - last[0], now - last[1]))
            last[:] = [flips[0], now]

        number = 0
        while time.monotonic() - began < 60 * minutes:
            name, levels = TASKS[number % len(TASKS)]
            number += 1
            plan = plan_session(paradigms[name], number, SessionDesign(), levels=levels, trials=3)
            Runner(begin(data, paradigms[name], agent, plan, Request(seed=number)), agent, sample).run()
        opened()
    print(json.dumps(rows))


if __name__ == "__main__":
    main(float(sys.argv[1]), Path(sys.argv[2]))
