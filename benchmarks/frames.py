"""Network frames (32 × 32) per second: in batches, and by drawing each with Pillow and resizing it, in the same run.

All steps of some trials of each paradigm are rendered, over every combination of factor levels. The plain way draws a display that recurs within a trial
once (a program without batches would do that too); it is measured on a part of the trials, between the batches, so that both meet the same machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from spanlab.paradigms import Trial, compile_trial, list_paradigms, load_paradigm
from spanlab.stimuli import Stimulus
from spanlab.stimuli.pixels import network_frame, network_frames

TRIALS = 1200
PLAIN_TRIALS = 120


def shown(trials: list[Trial]) -> list[Stimulus]:
    """What machines get, step by step."""
    return [step.percept.for_machine.stimulus for trial in trials for step in trial.steps if step.percept.model_step]


def plainly(trials: list[Trial]) -> np.ndarray:
    """Every step drawn with Pillow, displays that recur within a trial once."""
    frames = []
    for trial in trials:
        known: dict[Stimulus, np.ndarray] = {}
        for stimulus in shown([trial]):
            if stimulus not in known:
                known[stimulus] = network_frame(stimulus.scene())
            frames.append(known[stimulus])
    return np.stack(frames)


def timed(work: Callable[[], np.ndarray]) -> tuple[float, np.ndarray]:
    """Frames per second, and the frames."""
    began = time.perf_counter()
    frames = work()
    return len(frames) / (time.perf_counter() - began), frames


def main() -> None:
    for name in list_paradigms():
        paradigm = load_paradigm(name)
        combinations = paradigm.combinations()
        trials = [compile_trial(paradigm, combinations[seed % len(combinations)], seed) for seed in range(TRIALS)]
        stimuli = shown(trials)
        began = time.perf_counter()
        network_frames(stimuli)
        print(f"{name}: first batch, with tables\t{time.perf_counter() - began:.2f}\ts")
        fast, plain = [], []
        for turn in range(3):
            some = trials[turn * PLAIN_TRIALS : (turn + 1) * PLAIN_TRIALS]
            rate, frames = timed(lambda some=some: plainly(some))
            plain.append(rate)
            fast.append(timed(lambda stimuli=stimuli: network_frames(stimuli))[0])
            if not np.array_equal(frames, network_frames(shown(some))):
                raise SystemExit(f"{name}: the batch differs from plain drawing")
        print(f"{name}: batch\t{np.median(fast):.0f}\tframes/s")
        print(f"{name}: Pillow drawing and resizing\t{np.median(plain):.0f}\tframes/s")
        print(f"{name}: batch against Pillow\t{np.median(fast) / np.median(plain):.1f}\ttimes as fast")


if __name__ == "__main__":
    main()
