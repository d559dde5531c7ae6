"""A thousand timed displays in a real window under a virtual screen, in real time: ``python timing_bench.py [COUNT] > facts.json``.

As in a lab, nothing else should run meanwhile; where the system allows it, the window and the screen get real-time priority.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from typing import Any

import numpy as np
from lab_bench import BLANK, CROSS, NINE, Bench, pattern, screenshot

from spanlab.agents.participant import virtual_screen
from spanlab.paradigms import Ask, Display, Percept

#: durations in use: of the library, and short ones
LENGTHS = [100, 50, 203, 17, 250, 150, 33, 300, 120, 67]
IN_A_TRIAL = 50


def trial(number: int) -> list[Percept]:
    """Patterns of many lengths, every tenth with a question whose window passes."""
    percepts = []
    for place in range(IN_A_TRIAL):
        ms = LENGTHS[(number + place) % len(LENGTHS)]
        if place % 10 == 9:
            percepts.append(Percept("probe", (Display(CROSS, 100.0), Display(BLANK, 150.0)), Ask(NINE, ends="on_time", window_ms=250.0)))
        else:
            percepts.append(Percept("present", (Display(pattern(number * IN_A_TRIAL + place), float(ms)),)))
    return percepts


def patch() -> None:
    """What is on the screen after each flip of a trial with a corner patch: the corner's extremes, and how far the rest is from the same trial without one."""
    percepts = [Percept(phase, (Display(pattern(number), 50.0),)) for number, phase in enumerate(("present", "probe", "present"))]
    with virtual_screen(1024, 768):
        seen: dict[str, list[np.ndarray]] = {}
        for options in ("", "upper-left:2:present"):
            bench = Bench(patch=options)
            flip, shots = bench.room.window.flip, seen.setdefault(options, [])

            def spy(flip: Any = flip, shots: list[np.ndarray] = shots) -> tuple[float, int]:
                done = flip()
                shots.append(screenshot())
                return done

            bench.room.window.flip = spy
            bench.trial(percepts)
            facts = bench.agent.apparatus().get("patch")
            bench.close()
        px = facts["px"]  # type: ignore[index]
        corners = [[int(shot[:px, :px].min()), int(shot[:px, :px].max())] for shot in seen["upper-left:2:present"]]
        canvas = [shot[200:-200, 300:-300] for shot in seen["upper-left:2:present"]]
        alone = {shot[200:-200, 300:-300].tobytes() for shot in seen[""]}
    print(json.dumps({"corners": corners, "px": px, "canvas_as_without": all(shot.tobytes() in alone for shot in canvas)}))


def main(count: int) -> None:
    favoured = False
    with suppress(AttributeError, OSError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        favoured = True
    with virtual_screen(1024, 768):
        bench = Bench()
        events: list[dict[str, Any]] = []
        number = 0
        while sum(len(event["shown"]) for event in events) < count:
            number += 1
            steps = bench.trial(trial(number))
            for place, step in enumerate(steps, start=1):
                events.append(
                    {"event": "step", "trial": str(number), "attempt": 1, "step": place, "phase": "test", "shown": step["shown"], "notes": step["notes"]}
                )
        apparatus = bench.agent.apparatus()
        bench.close()
    print(json.dumps({"events": events, "hz": apparatus["hz"], "favoured": favoured}))


if __name__ == "__main__":
    if sys.argv[1:] == ["patch"]:
        patch()
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
