"""The steps of training since the log last told of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np
import torch

from ....core.errors import SpanLabError
from ..inputs.batches import TrainingBatch
from ..inputs.training_data import TrainingData

if TYPE_CHECKING:
    from lightning_fabric import Fabric


class Recent:
    """Losses and shares that were right, step by step; on a GPU nobody waits for them before they are wanted.

    Parameters
    ----------
    training_data : for the names of paradigms
    fabric : of the processes that share each batch
    """

    def __init__(self, training_data: TrainingData, fabric: Fabric) -> None:
        self._training_data, self._fabric = training_data, fabric
        self._steps: list[tuple[TrainingBatch, torch.Tensor, torch.Tensor]] = []

    def add(self, batch: TrainingBatch, losses: torch.Tensor, right: torch.Tensor, step: int) -> None:
        """Keep what came of a step; where looking costs no waiting, see that its losses are finite."""
        self._steps.append((batch, losses, right))
        if self._fabric.device.type == "cpu":
            self._look(self._steps[-1:], step)

    def check(self, step: int) -> None:
        """See that all losses are finite.

        Raises
        ------
        SpanLabError
            when one is not.
        """
        self._look(self._steps, step)

    def _look(self, steps: list[tuple[TrainingBatch, torch.Tensor, torch.Tensor]], step: int) -> None:
        for batch, losses, _ in steps:
            if not bool(torch.isfinite(losses).all()):
                worst = batch.parts[int((~torch.isfinite(losses)).nonzero()[0])]
                name = self._training_data.paradigms[worst.number].name
                raise SpanLabError(f"the loss of {name} is not finite at step {step}; lower rate.peak in the config")

    def taken(self, step: int) -> tuple[dict[str, float], dict[str, float]]:
        """Mean loss and mean share that was right of each paradigm since this was last asked, over the whole batches."""
        self.check(step)
        values: dict[str, list[list[float]]] = {}
        for batch, losses, right in self._steps:
            both = torch.stack([losses, right])
            if self._fabric.world_size > 1:
                both = cast(torch.Tensor, self._fabric.all_reduce(both, reduce_op="sum"))
            for part, pair in zip(batch.parts, both.T.tolist(), strict=True):
                values.setdefault(self._training_data.label(part.number), []).append(pair)
        self._steps.clear()
        means = {name: np.mean(pairs, axis=0) for name, pairs in values.items()}
        return {name: round(float(mean[0]), 5) for name, mean in means.items()}, {name: round(float(mean[1]), 4) for name, mean in means.items()}
