"""Heads, which answer: one linear head per name, which several tasks may share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from ..settings import Task, heads_of


class Heads(nn.ModuleDict):
    """Linear heads by name, in the order in which tasks first name them.

    Parameters
    ----------
    tasks : their heads' names and sizes
    features : numbers that a head reads
    """

    def __init__(self, tasks: Mapping[str, Task], features: int) -> None:
        super().__init__()
        # as torch keeps modules, without its ban on names with a dot, and on those of its own methods (update, items)
        self._modules |= {head: nn.Linear(features, size) for head, size in heads_of(tasks).items()}

    @torch.no_grad()
    def expect(self, head: str, frequencies: Sequence[float], exclusive: bool) -> None:
        """Let a head begin with how often each of its outputs is wanted, so that learning need not
        begin with that."""
        wanted: Tensor = torch.tensor(frequencies, dtype=torch.float32).clamp(1e-3, 1 - 1e-3)
        self[head].bias.copy_(wanted.log() if exclusive else wanted.logit())  # type: ignore[operator, union-attr]

    @torch.no_grad()
    def read(self, head: str, output: int, first: int, weights: Tensor) -> None:
        """Let an output of a head begin with these weights of the features from ``first`` on."""
        self[head].weight[output, first : first + len(weights)] = weights  # type: ignore[index, operator]
