"""A training run of seconds, for tests of what training must hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from spanlab.agents.network import TrainingConfig

TINY: dict[str, Any] = {
    "name": "tiny",
    "steps": 6,
    "threads": 1,
    "model": {"encoder": "worm", "architecture": "lstm", "hidden": 8},
    "tasks": [
        {"paradigm": "vsr", "batch": 4, "train_trials": 12, "factors": {"list_length": [2, 3]}},
        {"paradigm": "sfr", "batch": 2, "train_trials": 12, "factors": {"list_length": [1, 2]}},
    ],
    "order": "shuffled",
    "rate": {"peak": 0.001, "warmup": 2},
    "check": {"every": 2, "trials": 2, "test_trials": 2},
    "save_every": 2,
}


def config(**changes: Any) -> TrainingConfig:
    return TrainingConfig.model_validate({**TINY, **changes})


def weights(folder: Path) -> dict[str, Any]:
    import torch

    return torch.load(folder / "tiny.pt", weights_only=True)["weights"]
