"""Networks from their settings."""

from __future__ import annotations

from collections.abc import Mapping

import torch

from ..settings import CompactSettings, Task, WormSettings
from . import transformer  # noqa: F401  (registers its architecture)
from .compact import CompactNetwork
from .network import Network
from .worm import WormNetwork


def build(settings: CompactSettings | WormSettings, tasks: Mapping[str, Task], seed: int) -> Network:
    """A fresh network; the same for the same seed, without touching torch's global random state.

    Raises
    ------
    SpanLabError
        for an unknown architecture, options that it does not take, or sizes that do not go together.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return WormNetwork(settings, tasks) if isinstance(settings, WormSettings) else CompactNetwork(settings, tasks)


def check_architecture(settings: CompactSettings | WormSettings) -> None:
    """Whether sizes, architecture and its options go together, whatever the tasks.

    Raises
    ------
    SpanLabError
        when they do not.
    """
    empty(settings, {"any": Task(1, "any")})


def empty(settings: CompactSettings | WormSettings, tasks: Mapping[str, Task]) -> Network:
    """The network without weights: it has their names and shapes, and takes no memory."""
    with torch.device("meta"):
        return build(settings, tasks, seed=0)
