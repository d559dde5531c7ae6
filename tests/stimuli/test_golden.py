"""Every stimulus of the WorM benchmark is drawn to the pixel as the benchmark draws it, one by one
and in batches."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from spanlab.stimuli import STIMULI, Stimulus
from spanlab.stimuli.render.fast import batch
from spanlab.stimuli.render.fast.batch import network_frames
from spanlab.stimuli.render.pixels import network_frame, render

GOLDEN = json.loads((Path(__file__).resolve().parents[1] / "golden" / "worm_frames.json").read_text(encoding="utf-8"))[
    "frames"
]
TASKS = sorted({row[0] for row in GOLDEN})


def built(spec: dict) -> Stimulus:
    ((name, parameters),) = spec.items()
    return STIMULI.get(name)(**parameters)


def test_all_fourteen_data_sets_are_covered() -> None:
    assert (
        sorted(
            [
                "CD_Color",
                "CD_Conj",
                "CD_Gap",
                "CD_Orientation",
                "CD_Size",
                "CS",
                "SC",
                "SFR",
                "SI",
                "SMU",
                "STS",
                "VIR",
                "VSR",
                "VSRec",
            ]
        )
        == TASKS
    )


@pytest.mark.parametrize("task", TASKS)
def test_frames_are_identical_to_the_benchmarks(task: str) -> None:
    for _, trial, step, spec, large, small in (row for row in GOLDEN if row[0] == task):
        scene = built(spec).scene()
        assert hashlib.sha256(render(scene).tobytes()).hexdigest() == large, (
            f"{task} trial {trial} step {step}: 96 x 96"
        )
        assert hashlib.sha256(network_frame(scene).tobytes()).hexdigest() == small, (
            f"{task} trial {trial} step {step}: 32 x 32"
        )


def test_a_batch_is_identical_to_the_benchmarks_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "_WORTH", 1)
    frames = network_frames([built(row[3]) for row in GOLDEN])
    wrong = [
        row[:3]
        for row, frame in zip(GOLDEN, frames, strict=True)
        if hashlib.sha256(frame.tobytes()).hexdigest() != row[5]
    ]
    assert not wrong
