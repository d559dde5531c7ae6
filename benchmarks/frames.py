"""Training frames (32 × 32) for trials of the fourteen WorM data sets: in batches, and the plain
way, in the same run and on one core.

The plain way draws every step of every trial at 96 × 96 with Pillow (blanks and repeats included),
writes it as PNG with Pillow's usual compression, reads it back and resizes it, as one does who
makes a data set on disk and trains on it; the files go to memory where the system has such a
folder. Its frames must equal those of the batch. The batch is measured on trials that it has not
seen before; tables that serve a whole training run are made in turns that do not count. What these
took is reported apart, and so is the rate of compiling. Turns of both ways alternate, and medians
are reported. With arguments (such as ``vsr cd_size``), only those data sets are measured.
"""

from __future__ import annotations

import gc
import math
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from PIL import Image

from spanlab.paradigms import WORM_TASKS, Paradigm, Trial, compile_trial, list_paradigms, load_paradigm
from spanlab.stimuli import Stimulus
from spanlab.stimuli.render.fast.batch import network_frames
from spanlab.stimuli.render.pixels import NETWORK, drawn

TURNS = 7
#: turns in batches before those that count, in which tables are made
WARM = 5
#: trials a turn that are drawn, at least; made more so that every condition comes equally often
DRAWN = 24
#: trials a turn that are rendered in batches, as a multiple of those
TIMES = 8


def main(only: Sequence[str]) -> None:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    found = data_sets()
    tasks = [task for task in WORM_TASKS if not only or task in only]
    ratios = {}
    with tempfile.TemporaryDirectory(dir=in_memory()) as folder:
        print(f"PNG files in {folder}")
        for task in tasks:
            ratios[task] = measured(task, *found[task], Path(folder))
    print(
        f"all: geometric mean of the {len(ratios)}"
        f" ratios\t{math.exp(sum(map(math.log, ratios.values())) / len(ratios)):.1f}\ttimes as fast"
    )
    print(f"all: smallest ratio ({min(ratios, key=ratios.__getitem__)})\t{min(ratios.values()):.1f}\ttimes as fast")


def data_sets() -> dict[str, tuple[Paradigm, list[dict[str, Any]]]]:
    """Task to its paradigm and all its combinations of factor levels."""
    found: dict[str, tuple[Paradigm, list[dict[str, Any]]]] = {}
    for name in list_paradigms():
        paradigm = load_paradigm(name)
        if paradigm.family == "WorM variants":
            continue
        for levels in paradigm.combinations():
            view = paradigm.network_view(levels)
            if view is not None and view.task in WORM_TASKS:
                found.setdefault(view.task, (paradigm, []))[1].append(levels)
    return found


def in_memory() -> str | None:
    """A folder in memory, or None for the usual place of temporary files."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def measured(task: str, paradigm: Paradigm, combinations: list[dict[str, Any]], folder: Path) -> float:
    """Print the rates of one data set; returns how many times as fast the batch is."""
    rounds = math.ceil(DRAWN / len(combinations))
    few, many = rounds * len(combinations), TIMES * rounds * len(combinations)
    compiling, plain, batch, steps, warm = [], [], [], 0, 0.0
    for turn in range(WARM + TURNS):
        began = time.perf_counter()
        trials = [
            compile_trial(paradigm, combinations[number % len(combinations)], turn * many + number)
            for number in range(many)
        ]
        compiling.append((time.perf_counter() - began) / many)
        stimuli = shown(trials)
        gc.collect()
        began = time.perf_counter()
        frames = network_frames(stimuli)
        elapsed = time.perf_counter() - began
        if turn < WARM:
            warm += elapsed
            continue
        batch.append(elapsed / many)
        began = time.perf_counter()
        expected = plainly(trials[:few], folder)
        plain.append((time.perf_counter() - began) / few)
        steps += len(stimuli)
        if not np.array_equal(frames[: len(expected)], expected):
            raise SystemExit(f"{task}: the batch differs from plain drawing")
    ratio = median(plain_s / other for plain_s, other in zip(plain, batch, strict=True))
    print(f"{task}: steps in a trial\t{steps / TURNS / many:.1f}\tframes")
    print(f"{task}: compiled\t{1 / median(compiling):.1f}\ttrials/s")
    print(f"{task}: the first {WARM * many} trials in batches, with tables\t{warm:.2f}\ts")
    print(f"{task}: plain\t{1 / median(plain):.1f}\ttrials/s")
    print(f"{task}: batch\t{1 / median(batch):.1f}\ttrials/s")
    print(f"{task}: batch against plain\t{ratio:.1f}\ttimes as fast", flush=True)
    return ratio


def shown(trials: Sequence[Trial]) -> list[Stimulus]:
    """What machines get, step by step."""
    return [step.percept.for_machine.stimulus for trial in trials for step in trial.steps if step.percept.model_step]


def plainly(trials: Sequence[Trial], folder: Path) -> np.ndarray:
    """Every step drawn, written, read and resized."""
    paths = []
    for number, stimulus in enumerate(shown(trials)):
        paths.append(f"{folder}/{number}.png")
        drawn(stimulus.scene()).save(paths[-1])
    return np.stack([read(path) for path in paths])


def read(path: str) -> np.ndarray:
    with Image.open(path) as image:
        return np.array(image.convert("RGB").resize((NETWORK, NETWORK), Image.Resampling.BILINEAR))


if __name__ == "__main__":
    main(sys.argv[1:])
