"""The networks of the WorM benchmark (Sikarwar & Zhang, 2023, NeurIPS): the same layers, in the same order, with the same starting weights."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import nn

from ....core.errors import SpanLabError
from ..settings import Task, WormSettings
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
            raise SpanLabError(f"a memory that takes in {inputs} numbers has no room for the {settings.embedding} that name the task; make 'inputs' larger")
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
        """All weights from a normal distribution by their numbers of inputs and outputs (the gates of a cell as one matrix), all biases zero."""
        for parameter in self.parameters():
            if parameter.ndim > 1:
                nn.init.xavier_normal_(parameter)
            else:
                parameter.zero_()
