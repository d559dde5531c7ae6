"""The state of a training run, from which it goes on."""

from __future__ import annotations

import io
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import torch

from ....core.errors import SpanLabError
from ..checkpoints_io.files import read_torch, write_atomically
from ..models import Network

FORMAT = "spanlab training state"


@dataclass(slots=True)
class TrainingState:
    """State of a run. Which trials come next, the random numbers of a step, and the learning rate
    (save on a plateau) follow from the number of the step.

    Parameters
    ----------
    config : hash of the config
    step : steps that were taken
    best, best_step, best_score : weights with the highest validation accuracy so far
    trials : trials seen so far, by paradigm
    wall_s, cpu_s : time of the earlier parts of the run
    vectors : hash of the file of word vectors, where one is read
    plateau : of the published schedule: the learning rate, the lowest validation loss, the
        validations since
    """

    config: str
    step: int = 0
    best: dict[str, Any] = field(default_factory=dict)
    best_step: int = 0
    best_score: float = -1.0
    trials: dict[str, int] = field(default_factory=dict)
    wall_s: float = 0.0
    cpu_s: float = 0.0
    vectors: str | None = None
    plateau: list[float] | None = None


def write_state(
    path: Path, state: TrainingState, network: Network, optimizer: torch.optim.Optimizer, wall_s: float, cpu_s: float
) -> None:
    """Write everything that the next step depends on, atomically."""
    buffer = io.BytesIO()
    data = {
        "format": FORMAT,
        **{part.name: getattr(state, part.name) for part in fields(TrainingState)},
        "wall_s": wall_s,
        "cpu_s": cpu_s,
        "network": network.state_dict(),
        "optimizer": optimizer.state_dict(),
    }
    torch.save(data, buffer)
    write_atomically(path, buffer.getbuffer())


def read_state(path: Path, config: str, network: Network, optimizer: torch.optim.Optimizer) -> TrainingState:
    """Bring network and optimizer back to where they were.

    Raises
    ------
    SpanLabError
        when there is no state, or it belongs to another config.
    """
    if not path.is_file():
        raise SpanLabError(
            f"there is no training state at {path} to resume; train without --resume, in a folder that holds no such"
            " network"
        )
    data, _ = read_torch(path, "training state")
    if data.get("format") != FORMAT:
        raise SpanLabError(f"{path} is not a training state of SpanLab; move it away and train without --resume")
    if data.get("config") != config:
        raise SpanLabError(
            f"{path} belongs to a run with another config, or with other paradigm files; resume with those of that run,"
            " or train under another name"
        )
    try:
        network.load_state_dict(data["network"])
        optimizer.load_state_dict(data["optimizer"])
        kept = {part.name: data[part.name] for part in fields(TrainingState)}
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise SpanLabError(
            f"{path} is damaged ({str(error).splitlines()[0]}); move it away and train without --resume"
        ) from None
    return TrainingState(**kept)
