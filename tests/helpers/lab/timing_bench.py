"""A thousand timed displays in a real window under a virtual screen, in real time: ``python
timing_bench.py [COUNT | patch | watch COUNT] > facts.json``.

As in a lab, nothing else should run meanwhile; where the system allows it, the window and the
screen get real-time priority.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from contextlib import suppress
from typing import Any

import numpy as np
from window_bench import BLANK, CROSS, NINE, Bench, pattern, screenshot

from spanlab.agents.human import virtual_screen
from spanlab.paradigms import Ask, Percept
from spanlab.paradigms.trial import Display

#: durations in use: of the library, and short ones
LENGTHS = [100, 50, 203, 17, 250, 150, 33, 300, 120, 67]
IN_A_TRIAL = 50


def trial(number: int) -> list[Percept]:
    """Patterns of many lengths, every tenth with a question whose window passes."""
    percepts = []
    for place in range(IN_A_TRIAL):
        ms = LENGTHS[(number + place) % len(LENGTHS)]
        if place % 10 == 9:
            percepts.append(
                Percept(
                    "probe", (Display(CROSS, 100.0), Display(BLANK, 150.0)), Ask(NINE, ends="on_time", window_ms=250.0)
                )
            )
        else:
            percepts.append(Percept("present", (Display(pattern(number * IN_A_TRIAL + place), float(ms)),)))
    return percepts


def patch() -> None:
    """What is on the screen after each flip of a trial with a corner patch: the corner's extremes,
    and how far the rest is from the same trial without one."""
    percepts = [
        Percept(phase, (Display(pattern(number), 50.0),))
        for number, phase in enumerate(("present", "probe", "present"))
    ]
    with virtual_screen(1024, 768):
        seen: dict[str, list[np.ndarray]] = {}
        for options in ("", "upper-left:2"):
            bench = Bench(patch=options)
            flip, shots = bench.stage.window.flip, seen.setdefault(options, [])

            def spy(flip: Any = flip, shots: list[np.ndarray] = shots) -> tuple[float, int]:
                done = flip()
                shots.append(screenshot())
                return done

            bench.stage.window.flip = spy
            bench.trial(percepts, once=True)
            facts = bench.agent.apparatus().get("patch")
            bench.close()
        px = facts["px"]  # type: ignore[index]
        corners = [[int(shot[:px, :px].min()), int(shot[:px, :px].max())] for shot in seen["upper-left:2"]]
        canvas = [shot[200:-200, 300:-300] for shot in seen["upper-left:2"]]
        alone = {shot[200:-200, 300:-300].tobytes() for shot in seen[""]}
    print(
        json.dumps({"corners": corners, "px": px, "canvas_as_without": all(shot.tobytes() in alone for shot in canvas)})
    )


def watch(count: int) -> None:
    """Another program looks at a pixel of the X server all the while, and tells when it changed:
    for each display, by how many ms its time stamp came after the picture was seen, and the bound
    on record."""
    with virtual_screen(1024, 768):
        bench = Bench()
        bench.agent.rest(200)
        watcher = subprocess.Popen(
            [sys.executable, __file__, "pixel", str(count * 0.1 + 3)], stdout=subprocess.PIPE, text=True
        )
        assert watcher.stdout is not None
        watcher.stdout.readline()
        steps = bench.trial(
            [Percept("present", (Display(BLANK if number % 2 else CROSS, 100.0),)) for number in range(count)],
            once=True,
        )
        seen = json.loads(watcher.stdout.readline())
        watcher.wait()
        bench.close()
    late = [min(((step["onset"] - at) * 1000 for at in seen), key=abs) for step in steps]
    print(json.dumps({"late_ms": late, "bound_ms": [step["shown"][0]["onset_bound_ms"] for step in steps]}))


def pixel(seconds: float) -> None:
    """When the pixel in the middle of the screen is seen to have changed, on the system's clock."""
    from Xlib import X, display

    root = display.Display().screen().root
    size, seen, last, end = root.get_geometry(), [], None, time.time() + seconds
    print("watching", flush=True)
    while time.time() < end:
        found: Any = root.get_image(size.width // 2, size.height // 2, 1, 1, X.ZPixmap, 0xFFFFFFFF)
        if found.data != last:
            last = found.data
            seen.append(time.time())
    print(json.dumps(seen))


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
            steps = bench.trial(trial(number), once=True)
            events += [
                {
                    "event": "step",
                    "trial": str(number),
                    "attempt": 1,
                    "step": place,
                    "phase": "test",
                    "shown": step["shown"],
                    "notes": step["notes"],
                }
                for place, step in enumerate(steps, start=1)
            ]
        apparatus = bench.agent.apparatus()
        bench.close()
    print(json.dumps({"events": events, "hz": apparatus["hz"], "favoured": favoured}))


if __name__ == "__main__":
    if sys.argv[1:] == ["patch"]:
        patch()
    elif sys.argv[1:2] == ["watch"]:
        watch(int(sys.argv[2]))
    elif sys.argv[1:2] == ["pixel"]:
        pixel(float(sys.argv[2]))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
