"""One step of learning: a joint batch to the losses of its parts. Everything here works on torch
tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from typing_extensions import override

from ..inputs.batches import TrainingBatch
from ..inputs.data import Loss
from ..models import Network, Seen
from ..speedups.patches import Patches
from ..speedups.sight import see_frames, see_patches
from .config import RateConfig


class Loaded(NamedTuple):
    """A batch as tensors on the device where it is worked on; see :class:`.batches.TrainingBatch`.

    ``wanted`` has for each part (task, places, targets, weights).
    """

    frames: Tensor
    patches: Patches | None
    words: Tensor
    numbers: Tensor
    tasks: list[str]
    groups: list[tuple[int, int, int]]
    wanted: list[list[tuple[str, Tensor, Tensor, Tensor | None]]]
    counts: list[int]
    numbers_of_parts: list[int]


def load(batch: TrainingBatch, device: torch.device) -> Loaded:
    """Bring a batch to a device."""

    def to_device(array: np.ndarray) -> Tensor:
        tensor = torch.from_numpy(array)
        return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor.to(device)

    wanted = [
        [
            (
                one.task,
                to_device(one.places),
                to_device(one.targets),
                None if one.weights is None else to_device(one.weights),
            )
            for one in part.wanted
        ]
        for part in batch.parts
    ]
    return Loaded(
        to_device(batch.frames) if batch.patches is None else torch.from_numpy(batch.frames),
        batch.patches,
        to_device(batch.words),
        to_device(batch.numbers),
        batch.tasks,
        batch.groups,
        wanted,
        [part.count for part in batch.parts],
        [part.number for part in batch.parts],
    )


class JointLoss(nn.Module):
    """A network with the losses of its paradigms: what learning goes through.

    Parameters
    ----------
    network : that learns
    losses : kind of loss of each paradigm of the config
    weights : of each paradigm's loss in the sum
    """

    def __init__(self, network: Network, losses: Sequence[Loss], weights: Sequence[float]) -> None:
        super().__init__()
        self.network = network
        self.losses = list(losses)
        self.weights = list(weights)

    @override
    def forward(self, batch: Loaded) -> tuple[Tensor, Tensor, Tensor]:
        """The weighted sum, and for each part its loss and the share that is right."""
        hidden, seen = pass_through(self.network, batch)
        values, right = [], []
        for number, count, wanted in zip(batch.numbers_of_parts, batch.counts, batch.wanted, strict=True):
            kind = self.losses[number]
            value, hits = hidden.new_zeros(()), hidden.new_zeros(())
            for task, places, targets, each in wanted:
                outputs = self.network.answer(hidden[places], seen.rows(places), task)
                outputs = outputs.float() if outputs.dtype.itemsize < 4 else outputs
                value = value + summed(outputs, targets, kind, each) / count
                hits = hits + accuracy(outputs.detach(), targets, kind) / count
            values.append(value)
            right.append(hits)
        losses = torch.stack(values)
        weights = torch.tensor(
            [self.weights[number] for number in batch.numbers_of_parts], dtype=losses.dtype, device=losses.device
        )
        return (losses * weights).sum(), losses.detach(), torch.stack(right)


def pass_through(network: Network, batch: Loaded) -> tuple[Tensor, Seen]:
    """The hidden states at all steps, flat, group after group, and what is seen there."""
    parts = []
    if len(batch.frames):
        parts.append(
            see_frames(network, batch.frames) if batch.patches is None else see_patches(network, batch.patches)
        )
    if len(batch.words):
        parts.append(network.see(batch.words))
    seen = parts[0] if len(parts) == 1 else Seen.joined(parts)
    hidden, numbers = [], []
    for begin, end, steps in batch.groups:
        index = batch.numbers[begin:end, :steps]
        hidden.append(network.remember(seen.at(index), batch.tasks[begin:end])[0].flatten(0, 1))
        numbers.append(index.reshape(-1))
    if seen.beside:
        return torch.cat(hidden), seen.at(torch.cat(numbers))
    # no read-out looks at what is seen at each step: nothing is copied
    return torch.cat(hidden), Seen(seen.inputs[:1].detach().expand(sum(map(len, numbers)), *seen.inputs.shape[1:]))


def summed(outputs: Tensor, targets: Tensor, kind: Loss, weights: Tensor | None = None) -> Tensor:
    """The loss of outputs (n, head), summed over n; with weights (n,) a weighted sum."""
    if weights is not None and kind == "classes":
        return functional.cross_entropy(outputs, targets, reduction="none") @ weights.to(outputs.dtype)
    if weights is not None:
        return functional.binary_cross_entropy_with_logits(outputs, targets.to(outputs.dtype), reduction="none").mean(
            1
        ) @ weights.to(outputs.dtype)
    if kind == "classes":
        return functional.cross_entropy(outputs, targets, reduction="sum")
    return (
        functional.binary_cross_entropy_with_logits(outputs, targets.to(outputs.dtype), reduction="sum")
        / outputs.shape[1]
    )


def accuracy(outputs: Tensor, targets: Tensor, kind: Loss) -> Tensor:
    """Return how many answers are right; of several wanted outputs, the share of them among as many
    highest ones."""
    if kind == "classes":
        return (outputs.argmax(1) == targets).float().sum()
    if outputs.shape[1] == 1:
        return ((outputs > 0) == targets).float().sum()
    wanted = targets.float()
    order = outputs.argsort(dim=1, descending=True, stable=True)
    ranks = torch.arange(outputs.shape[1], device=outputs.device)
    hits = (wanted.gather(1, order) * (ranks < wanted.sum(1, keepdim=True))).sum(1)
    return (hits / wanted.sum(1).clamp(min=1)).sum()


def blind_loss(frequencies: np.ndarray, kind: Loss) -> float:
    """The loss of outputs that are the same at all steps and say how often each is wanted."""
    often = np.clip(frequencies, 1e-9, 1 - 1e-9)
    each = often * np.log(often)
    return float(-each.sum()) if kind == "classes" else float(-(each + (1 - often) * np.log(1 - often)).mean())


def rate_at(step: int, steps: int, rate: RateConfig) -> float:
    """Learning rate of a step, counted from 0."""
    if step < rate.warmup:
        return rate.peak * (step + 1) / rate.warmup
    done = (step - rate.warmup) / max(1, steps - rate.warmup)
    return rate.peak * (rate.final + (1 - rate.final) * 0.5 * (1 + math.cos(math.pi * min(1.0, done))))


@dataclass(slots=True)
class Plateau:
    """The learning rate of the published schedule: it falls by a fifth after four validations whose
    loss is not lower by half a percent.

    Parameters
    ----------
    rate : now
    best : lowest validation loss so far
    waited : validations since then
    """

    rate: float
    best: float = math.inf
    waited: int = 0

    def validated(self, loss: float) -> None:
        """Take in the loss of a validation."""
        if loss < self.best * 0.995:
            self.best, self.waited = loss, 0
            return
        self.waited += 1
        if self.waited > 3:
            self.rate, self.waited = self.rate * 0.8, 0
