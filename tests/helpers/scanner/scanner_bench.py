"""Starts with a scanner, in a real window on a busy machine: ``python scanner_bench.py STARTS > facts.json``.

A generator in a process of its own sends pulses: real keys through the X server, or bytes over a
pseudo-terminal. What happened is judged in ``tests/agents/human/triggers/test_scanner.py``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import Any

from spanlab.agents.human import Participant, WindowOptions, virtual_screen
from spanlab.agents.human.display.frames import apart
from spanlab.agents.window import PageContent

#: seconds from one pulse to the next, and how many come after the one with which trials begin
EVERY_S, MORE = 0.8, 1
GENERATOR = """
import os, random, sys, time
from Xlib import XK, X, display
from Xlib.ext import xtest
server, line = display.Display(), int(sys.argv[1])
code = server.keysym_to_keycode(XK.string_to_keysym("5"))
for pulses in sys.stdin:
    due, sent = time.monotonic() + random.uniform(0.02, 0.15), []
    for number in range(int(pulses)):
        time.sleep(max(0.0, due - time.monotonic()))
        sent.append(time.monotonic())
        if line:
            os.write(line, b"5")
        else:
            xtest.fake_input(server, X.KeyPress, code)
            server.sync()
            xtest.fake_input(server, X.KeyRelease, code)
            server.sync()
        due += float(sys.argv[2])
    print(*sent, flush=True)
"""


class Generator:
    """Sends pulses whenever the window begins to wait for them."""

    def __init__(self, line: int) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", GENERATOR, str(line), str(EVERY_S)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            pass_fds=[line] if line else [],
        )
        self.pulses = 0

    def waits(self, for_what: str, onset: float) -> None:
        assert for_what == "pulse"
        assert self.process.stdin is not None
        self.process.stdin.write(f"{self.pulses}\n")
        self.process.stdin.flush()

    def sent(self) -> list[float]:
        assert self.process.stdout is not None
        return [float(one) for one in self.process.stdout.readline().split()]


def starts(scanner: str, line: int, many: int) -> list[dict[str, Any]]:
    agent = Participant(WindowOptions(fullscreen=False, size_px=(700, 600), scanner=scanner), say=lambda sentence: None)
    stage, generator, done = agent.open(), Generator(line), []
    stage.attendant = generator.waits
    for number in range(many):
        at = 1 + number % 6
        generator.pulses = at + MORE
        agent.speak("en")  # a scanner that runs already, before anybody waits for it
        if line:
            os.write(line, b"5" * 6)
            time.sleep(0.3)
        agent.pulses()
        agent.await_pulse(scanner, at, PageContent("The task begins with the scanner.", "Please keep still"))
        begun, counted = time.monotonic(), agent.pulses()
        sent = generator.sent()
        later, until = agent.pulses(), time.monotonic() + 2
        while len(counted + later) < len(sent) and time.monotonic() < until:  # a busy machine may pass them on late
            agent.rest(50)
            later += agent.pulses()
        zero = apart(stage.window.now, time.monotonic)[0] + stage.clock.ms(0.0) / 1000.0
        of_scanner = [one / 1000.0 - zero for one in counted + later]
        done.append({"at": at, "begun": begun, "counted": len(counted), "sent": sent, "recorded": of_scanner})
    generator.process.terminate()
    agent.close()
    return done


def main(many: int) -> None:
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
    try:
        with virtual_screen(800, 700):
            far, near = os.openpty()
            facts = {
                "keys": starts("5", 0, many),
                "serial": starts(f"serial:{os.ttyname(near)},presses=5", far, many),
            }
    finally:
        for process in busy:
            process.kill()
    print(json.dumps(facts))


if __name__ == "__main__":
    main(int(sys.argv[1]))
