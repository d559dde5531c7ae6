"""A cell of networks: what is held after one step, from what comes in and what was held before."""

from torch import nn, tanh

from spanlab.agents.network.models import StepMemory


class Leaky(StepMemory):
    name = "leaky"

    def __init__(self, inputs, hidden, options):
        super().__init__(inputs, hidden, options)
        self.entry = nn.Linear(inputs, hidden)

    def step(self, incoming, held):
        return 0.9 * held + 0.1 * tanh(self.entry(incoming))
