"""Trials of the WorM benchmark as it writes them: twenty of each data set, made by its published
generator, with hashes of the frames that its code draws.

Each entry of ``golden/worm_trials.json`` has the ``trial`` (the benchmark's JSON; for complex span
also the order of arrows, which the benchmark does not store), its ``length`` in steps, its
``labels`` (for free recall the cells wanted), and for each step the first 16 digits of the SHA-256
of the frame's bytes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from spanlab.extensions.replication.worm.names import DATA_SETS, TRIALS, DataSet
from spanlab.paradigms import Step, Trial

#: data sets by a short name of theirs
SETS: dict[str, DataSet] = {data_set.stem: data_set for data_set in DATA_SETS}


@cache
def golden() -> dict[str, list[dict[str, Any]]]:
    """The golden trials, by folder of the data set."""
    return json.loads((Path(__file__).resolve().parents[2] / "golden" / "worm_trials.json").read_text(encoding="utf-8"))


def trials_of(data_set: DataSet) -> list[dict[str, Any]]:
    """The trials of a data set in the benchmark's JSON; a copy, to spoil."""
    return [json.loads(json.dumps(entry["trial"])) for entry in golden()[data_set.folder]]


def write_folder(root: Path, splits: Mapping[str, Mapping[str, Iterable[Any]]]) -> Path:
    """A data folder as the benchmark has it, without frames: data set to split to trials."""
    for name, trials in splits.items():
        (root / name).mkdir(parents=True)
        content = {"train": [], "test": [], "gen_test": []} | {split: list(some) for split, some in trials.items()}
        (root / name / TRIALS).write_text(json.dumps(content), encoding="utf-8")
    return root


def model_steps(trial: Trial) -> list[Step]:
    return [step for step in trial.steps if step.percept.model_step]


def hashed(frame: np.ndarray) -> str:
    return hashlib.sha256(np.ascontiguousarray(frame).tobytes()).hexdigest()[:16]
