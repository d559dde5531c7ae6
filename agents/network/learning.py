"""One step of learning: frames to logits to loss. Everything here works on torch tensors."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from .config import RateConfig
from .data import Block, Loss
from .models import Network


def logits_of(network: Network, task: str, frames: np.ndarray, numbers: np.ndarray, device: torch.device) -> Tensor:
    """Outputs (trials, steps, head) for frames given by their numbers in a store; each different frame is looked at once."""
    different, places = np.unique(numbers, return_inverse=True)
    seen = network.see(torch.from_numpy(frames[different]).to(device))
    return network(seen.at(torch.from_numpy(places.reshape(numbers.shape)).to(device)), task).logits


def loss_of(logits: Tensor, block: Block, rows: np.ndarray, loss: Loss) -> tuple[Tensor, float]:
    """Mean loss over the trained steps, and the share of them that is right (for outputs: of the wanted ones among as many highest outputs)."""
    device = logits.device
    trained = torch.from_numpy(block.trained[rows]).to(device)
    targets = torch.from_numpy(block.targets[rows]).to(device)[trained]
    outputs = logits[trained]
    if loss == "classes":
        right = float((outputs.detach().argmax(1) == targets).float().mean())
        return functional.cross_entropy(outputs, targets), right
    wanted = targets.float()
    value = functional.binary_cross_entropy_with_logits(outputs, wanted)
    if outputs.shape[1] == 1:
        return value, float(((outputs.detach() > 0) == targets).float().mean())
    order = outputs.detach().argsort(dim=1, descending=True, stable=True)
    ranks = torch.arange(outputs.shape[1], device=device)
    hits = wanted.gather(1, order) * (ranks < wanted.sum(1, keepdim=True))
    return value, float(hits.sum() / wanted.sum())


def rate_at(step: int, steps: int, rate: RateConfig) -> float:
    """Learning rate of a step, counted from 0."""
    if step < rate.warmup:
        return rate.peak * (step + 1) / rate.warmup
    done = (step - rate.warmup) / max(1, steps - rate.warmup)
    return rate.peak * (rate.final + (1 - rate.final) * 0.5 * (1 + math.cos(math.pi * min(1.0, done))))
