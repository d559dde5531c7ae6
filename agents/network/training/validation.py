"""Validation while a network is trained, and the test in the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..inputs.training_data import TrainingData
from ..models import Network
from .evaluation import ConditionAccuracy, Examined, examine, gained, mean_accuracy


@dataclass(frozen=True, slots=True)
class Validation:
    """Accuracy of a network on the validation trials.

    Parameters
    ----------
    found : what came of each paradigm
    accuracy : of each, as the config's ``validation`` has it
    score : by which weights are selected, as the config's ``selection`` has it
    loss : mean over paradigms
    """

    found: dict[str, Examined]
    accuracy: dict[str, float]
    score: float
    loss: float

    def to_record(self) -> dict[str, Any]:
        """For the log."""
        return {
            "accuracy": self.accuracy,
            "mean": round(float(np.mean(list(self.accuracy.values()))), 4),
            "score": round(self.score, 4),
            "loss": {name: round(examined.loss, 5) for name, examined in self.found.items()},
            "mean_loss": round(self.loss, 5),
            "conditions": [[row.paradigm, row.levels, round(row.accuracy, 4)] for examined in self.found.values() for row in examined.rows],
        }


def validate(network: Network, training_data: TrainingData) -> Validation:
    """Measure the accuracy of a network on the validation trials now."""
    config, found = training_data.config, {}
    network.eval()
    for number, (pool, seen) in enumerate(zip(training_data.pools["validation"], training_data.pools["train"], strict=True)):
        found[training_data.label(number)] = examine(network, pool, seen)
    network.train()
    published = config.validation == "published"
    accuracy = {name: round(examined.accuracy if published else mean_accuracy(examined.rows), 4) for name, examined in found.items()}
    scores: Sequence[float] = list(accuracy.values()) if config.selection == "published" else [gained(examined.rows) for examined in found.values()]
    return Validation(found, accuracy, float(np.mean(scores)), float(np.mean([examined.loss for examined in found.values()])))


def test(network: Network, training_data: TrainingData) -> list[ConditionAccuracy]:
    """Accuracy on test trials, by paradigm and combination of factor levels."""
    network.eval()
    rows: list[ConditionAccuracy] = []
    for pool in training_data.pools["test"]:
        tasks = {block.task for block in pool.blocks}
        trained = (seen for seen in training_data.pools["train"] if seen.paradigm.name == pool.paradigm.name and tasks & {block.task for block in seen.blocks})
        rows += examine(network, pool, next(trained, None), partial(training_data.held_out, pool.paradigm)).rows
    return rows
