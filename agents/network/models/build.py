"""Networks from their settings.

Those of the WorM benchmark (Sikarwar & Zhang, 2023, NeurIPS) have the same layers in the same
order, with the same starting weights.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode
from typing_extensions import override

from ....core.errors import SpanLabError
from ..settings import CompactSettings, Task, WormSettings
from .compact import CompactNetwork
from .encoders import WormEye, WormReader
from .heads import Heads
from .memories import architecture_and_options, memory
from .network import Network


class WormNetwork(Network):
    """A convolutional eye, the task's name, a memory, and linear heads that read its hidden state."""

    name_first = True

    def __init__(self, settings: WormSettings, tasks: Mapping[str, Task]) -> None:
        super().__init__(settings, tasks)
        published = architecture_and_options(settings.architecture, settings.options)[0]
        inputs = settings.inputs or published.published_inputs or settings.hidden
        if inputs <= settings.embedding:
            raise SpanLabError(
                f"a memory that takes in {inputs} numbers has no room for the {settings.embedding} that name the task;"
                " make 'inputs' larger"
            )
        if self.seeing:
            self.eye = WormEye(inputs - settings.embedding)
        self.memory = memory(settings.architecture, settings.options, inputs, settings.hidden)
        self.heads = Heads(self.tasks, settings.hidden)
        self.task_embedding = nn.Embedding(len(self.tasks), settings.embedding)
        if self.reading:
            self.reader = WormReader(inputs - settings.embedding)
        if published.published_xavier:
            self._start_with_xavier()

    @torch.no_grad()
    def _start_with_xavier(self) -> None:
        """All weights from a normal distribution by their numbers of inputs and outputs (the gates
        of a cell as one matrix), all biases zero."""
        for parameter in self.parameters():
            if parameter.ndim > 1:
                nn.init.xavier_normal_(parameter)
            else:
                parameter.zero_()


def build(settings: CompactSettings | WormSettings, tasks: Mapping[str, Task], seed: int) -> Network:
    """A fresh network; the same for the same seed, without touching torch's global random state.

    Raises
    ------
    SpanLabError
        for an unknown architecture, options that it does not take, or sizes that do not go
        together.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return WormNetwork(settings, tasks) if isinstance(settings, WormSettings) else CompactNetwork(settings, tasks)


def check_architecture(settings: CompactSettings | WormSettings) -> None:
    """Check that sizes, architecture and its options go together, whatever the tasks.

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
    """Starting weights are not drawn. Where there is nothing to fill, PyTorch would load its whole
    compiler for that, which takes a second or two."""

    @override
    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func is torch.Tensor.normal_ or getattr(func, "__module__", "") == nn.init.__name__:
            return args[0] if args else (kwargs or {})["tensor"]
        return func(*args, **(kwargs or {}))
