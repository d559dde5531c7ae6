"""Trigger codes: how long after the flip they leave, and how long after it they arrive in another
program.

A window under a virtual screen, paced at 60 Hz by the clock, shows a new picture every third frame
and sends a code with it: from within the flip (as sessions do), and, to compare, once the flip has
returned. The serial port is a pseudo-terminal, so there is no wire, no adapter and no box in these
numbers; the far ends (a reader of the pseudo-terminal, an LSL inlet) are programs of their own.
Arrival is when that program has the code, its waking included.
"""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import time
import tty
from collections.abc import Callable, Sequence

import numpy as np

from spanlab.agents.human import virtual_screen
from spanlab.agents.human.display.window import LabWindow, Screen
from spanlab.agents.human.triggers.ports import read_address
from spanlab.agents.human.triggers.sender import Sending, TriggerSender

CODES = 400
EVERY = 3

#: reads the pseudo-terminal at descriptor 0 until a byte 254 comes; tells when which byte was there
READER = """
import os, sys, time
got = []
while not got or got[-1][1] != 254:
    read = os.read(0, 64)
    now = time.perf_counter()
    got += [(now, byte) for byte in read]
print(got)
"""
INLET = """
import sys, time
import pylsl
inlet = pylsl.StreamInlet(pylsl.resolve_byprop("name", "spanlab-benchmark", 1, 30)[0])
inlet.open_stream(10)
print("open", flush=True)
got = []
while not got or got[-1][1] != 254:
    (code,), _ = inlet.pull_sample()
    got.append((time.perf_counter(), code))
print(got)
"""


class Clock:
    """The window's clock beside the one of the line."""

    def __init__(self, window: LabWindow) -> None:
        self.now = window.now

    def beside(self) -> float:
        read = []
        for _ in range(3):
            before = time.perf_counter()
            now = self.now()
            after = time.perf_counter()
            read.append((after - before, now - (before + after) / 2))
        return min(read)[1]


def flips(
    window: LabWindow, line: TriggerSender, draw: Sequence[Callable[[], None]], within: bool
) -> tuple[list[float], list[Sending]]:
    """Flip so often, with a code every few frames; times of those flips on the line's clock, and
    the codes."""
    clock, times, sent = Clock(window), [], []
    for number in range(CODES * EVERY):
        picture = draw[number // EVERY % len(draw)]
        picture()
        sending = Sending(1 + number // EVERY % 250) if number % EVERY == 0 else None
        if sending is not None and within:
            window.on_flip(lambda sending=sending: line.at_once(sending))
        at, _ = window.flip()
        if sending is not None and not within:
            line.at_once(sending)
        if sending is not None:
            times.append(at - clock.beside())
            sent.append(sending)
    line.settle()
    return times, sent


def report(what: str, ms: Sequence[float]) -> None:
    for name, value in (("median", np.median(ms)), ("99 %", np.percentile(ms, 99)), ("longest", np.max(ms))):
        print(f"{what}: {name}\t{value:.3f}\tms")


def after(times: Sequence[float], others: Sequence[float | None]) -> list[float]:
    return [(other - at) * 1000 for at, other in zip(times, others, strict=True) if other is not None]


def main() -> None:
    kept: list[float] = []
    with virtual_screen(1024, 768):
        window = LabWindow(Screen(fullscreen=False, size_px=(800, 600), width_cm=34.0), lambda sentence: None)
        from psychopy import visual

        pictures = [
            visual.ImageStim(
                window.win, image=np.random.RandomState(number).uniform(-1, 1, (512, 512)), size=(512, 512)
            )
            for number in range(4)
        ]
        draw = [picture.draw for picture in pictures]
        for draw_display in draw:
            draw_display()
        window.flip()

        line = TriggerSender(read_address("dry"), print)
        for within in (True, False):
            times, sent = flips(window, line, draw, within)
            report(
                f"dry run, {'within the flip' if within else 'once the flip has returned'}: flip to code",
                after(times, [sending.at for sending in sent]),
            )
        line.close()

        master, slave = os.openpty()
        tty.setraw(slave)
        reader = subprocess.Popen([sys.executable, "-c", READER], stdin=master, stdout=subprocess.PIPE, text=True)
        line = TriggerSender(read_address(f"serial:{os.ttyname(slave)},test=0"), print)
        for within in (True, False):
            times, sent = flips(window, line, draw, within)
            where = "within the flip" if within else "once the flip has returned"
            report(f"serial, {where}: flip to code", after(times, [sending.at for sending in sent]))
            if within:
                kept = times
        line.at_once(Sending(254))
        arrived = eval(reader.communicate()[0])
        codes = [at for at, byte in arrived if byte not in (0, 254)]
        report("serial, within the flip: flip to arrival", after(kept, codes[: len(kept)]))
        report(
            "serial: width of pulses of 5 ms",
            [
                (end - at) * 1000
                for (at, code), (end, following) in itertools.pairwise(arrived)
                if code and not following
            ],
        )
        line.close()

        line = TriggerSender(read_address("lsl:spanlab-benchmark,test=0"), print)
        inlet = subprocess.Popen(
            [sys.executable, "-c", INLET], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert inlet.stdout is not None
        inlet.stdout.readline()
        times, sent = flips(window, line, draw, True)
        line.at_once(Sending(254))
        arrived = eval(inlet.communicate()[0])
        report("LSL, within the flip: flip to code", after(times, [sending.at for sending in sent]))
        report(
            "LSL, within the flip: flip to LSL's time of the code", after(times, [sending.stamp for sending in sent])
        )
        report("LSL, within the flip: flip to arrival", after(times, [at for at, code in arrived if code != 254]))
        line.close()
        window.close()


if __name__ == "__main__":
    main()
