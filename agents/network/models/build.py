"""Networks from their settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode
from typing_extensions import override

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
    with torch.device("meta"), _NothingDrawn():
        return build(settings, tasks, seed=0)


class _NothingDrawn(TorchFunctionMode):
    """Starting weights are not drawn. Where there is nothing to fill, PyTorch would load its whole compiler for that, which takes a second or two."""

    @override
    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> Any:
        if func is torch.Tensor.normal_ or getattr(func, "__module__", "") == nn.init.__name__:
            return args[0] if args else (kwargs or {})["tensor"]
        return func(*args, **(kwargs or {}))
