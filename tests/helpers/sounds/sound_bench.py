"""Sounds in a real window under a virtual screen, played by a JACK server without a loudspeaker,
and recorded there: ``python sound_bench.py [COUNT]``.

Prints, as JSON, of each sound how long after its display it began as the sound library reported it,
and how long after that its first sample was played as the recording has it (by cross-correlation
with the file), in ms.
"""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from scipy.signal import correlate

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lab"))

from sound_paradigms import write_sound

JACK_LIBRARY = "libjack.so.0"
PERIOD, RATE_HZ = 2048, 48000
KINDS = 4


def hurry(priority: int) -> None:
    """Let nothing else come between, where the system allows it."""
    with suppress(OSError, AttributeError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))


@contextmanager
def jack_server(name: str) -> Iterator[None]:
    """A sound server whose device is a clock and nothing else."""
    server = subprocess.Popen(
        ["jackd", "--no-realtime", "-n", name, "-d", "dummy", "-r", str(RATE_HZ), "-p", str(PERIOD)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: hurry(30),
    )
    try:
        time.sleep(1.5)
        yield
    finally:
        server.terminate()
        server.wait(10)


def recording(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """The samples, and the time of each (s on the monotonic clock)."""
    content, place = path.read_bytes(), 0
    samples: list[np.ndarray] = []
    times: list[np.ndarray] = []
    while place < len(content):
        at, count = struct.unpack_from("<dI", content, place)
        place += 12
        samples.append(np.frombuffer(content, "<f4", count, place))
        times.append(at + np.arange(count) / RATE_HZ)
        place += 4 * count
    return np.concatenate(samples), np.concatenate(times)


def play(count: int) -> None:
    """At the window; what was reported, as JSON, in seconds on the monotonic clock."""
    from window_bench import BLANK, CROSS, Bench

    from spanlab.agents.human import virtual_screen
    from spanlab.paradigms import Percept
    from spanlab.paradigms.trial import Display
    from spanlab.stimuli.kinds.files import ShownSound
    from spanlab.stimuli.own_files import SoundFacts

    with virtual_screen(1024, 768), tempfile.TemporaryDirectory() as folder:
        sounds = [
            ShownSound.model_validate(
                SoundFacts.read(write_sound(Path(folder) / f"{kind}.wav", kind, rate_hz=48000)).to_record()
            )
            for kind in range(KINDS)
        ]
        bench = Bench()
        bench.stage.speaker.load(sounds[0])
        time.sleep(3)  # the server's clock settles
        zero = bench.stage.clock._zero - (bench.stage.window.now() - time.monotonic())
        percepts = [
            Percept("present", (Display(sounds[number % KINDS], 150.0), Display((BLANK, CROSS)[number % 2], 250.0)))
            for number in range(count)
        ]
        found = [
            (step["shown"][0]["onset_ms"], step["notes"]["sounds"][0]) for step in bench.trial(percepts, once=True)
        ]
        facts = bench.agent.apparatus()["sound"]
        bench.close()
    print(json.dumps({"facts": facts, "zero": zero, "sounds": found}))


def main(count: int) -> None:
    name = f"spanlab-{os.getpid()}"
    environment = {**os.environ, "JACK_DEFAULT_SERVER": name, "JACK_NO_START_SERVER": "1"}
    with jack_server(name), tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "heard"
        recorder = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("jack_recorder.py")), str(path), str(12 + 0.5 * count)],
            stdout=subprocess.PIPE,
            env=environment,
            preexec_fn=lambda: hurry(20),
        )
        assert recorder.stdout is not None
        recorder.stdout.readline()
        # Psychtoolbox brings a JACK library of its own, which looks for the server at another place
        # than that of the system
        played = subprocess.run(
            [sys.executable, __file__, "play", str(count)],
            env={**environment, "LD_PRELOAD": JACK_LIBRARY},
            stdout=subprocess.PIPE,
            check=True,
            preexec_fn=lambda: hurry(10),
        ).stdout
        recorder.wait(60)
        samples, times = recording(path)
    told: dict[str, Any] = json.loads(played)
    reported, lags, alike = [], [], []
    for number, (display_ms, note) in enumerate(told["sounds"]):
        wanted = np.random.RandomState(number % KINDS).uniform(-0.5, 0.5, (4800, 1)).astype(np.float32)[:, 0]
        onset = told["zero"] + note["onset_ms"] / 1000
        near = np.flatnonzero(np.abs(times - onset) < 0.3)
        match = correlate(samples[near], wanted, "valid")
        best = int(np.argmax(match))
        alike.append(float(match[best] / np.sum(wanted**2)))
        lags.append(1000 * (times[near][best] - onset) + told["facts"]["declared_latency_ms"])
        reported.append(round(note["onset_ms"] - display_ms, 3))
    print(
        json.dumps(
            {
                "facts": told["facts"],
                "after_display_ms": reported,
                "lag_ms": [round(lag, 3) for lag in lags],
                "alike": alike,
            }
        )
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["play"]:
        play(int(sys.argv[2]))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
