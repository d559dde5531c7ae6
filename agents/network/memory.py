"""Recurrent parts: one small registered class per architecture."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from ...components import nearest
from ...errors import SpanLabError
from .settings import ModelSettings

#: Whatever an architecture carries from step to step: tensors whose second dimension is the batch.
State = tuple[Tensor, ...]


class Memory(nn.Module):
    """The base of every recurrent part: ``forward(inputs (batch, steps, n), state)`` gives outputs (batch, steps, hidden) and the state after the last step.

    Going through steps one at a time, handing the state on, must give what going through them at once gives; no output may depend on a later input.
    """

    name: ClassVar[str] = ""

    def __init__(self, settings: ModelSettings, inputs: int) -> None:
        super().__init__()

    def initial(self, batch: int, like: Tensor) -> State:
        """The state before the first step, on the device and of the type of ``like``."""
        raise NotImplementedError


ARCHITECTURES: dict[str, type[Memory]] = {}


def architecture(name: str) -> Callable[[type[Memory]], type[Memory]]:
    """Register a recurrent part under the name that configs use."""

    def register(cls: type[Memory]) -> type[Memory]:
        cls.name = name
        ARCHITECTURES[name] = cls
        return cls

    return register


def memory(settings: ModelSettings, inputs: int) -> Memory:
    """The recurrent part that the settings name.

    Raises
    ------
    SpanLabError
        for an unknown architecture.
    """
    if settings.architecture not in ARCHITECTURES:
        known = nearest(settings.architecture, ARCHITECTURES) or "; there are " + ", ".join(ARCHITECTURES)
        raise SpanLabError(f"unknown architecture '{settings.architecture}'{known}")
    return ARCHITECTURES[settings.architecture](settings, inputs)


@architecture("lstm")
class Lstm(Memory):
    """A long short-term memory of one layer (Hochreiter & Schmidhuber, 1997).

    All weights are learned; only where they start is chosen. With ``start: delay_line`` most units start with closed forget gates and with candidate weights
    that are a shifted identity, so that the state begins as a queue (on orthogonal matrices for long memories: Henaff, Szlam & LeCun, 2016, ICML); the
    other units start as integrators with open forget gates (Jozefowicz, Zaremba & Sutskever, 2015, ICML). With ``start: orthogonal`` the candidate
    weights are a random orthogonal matrix.
    """

    def __init__(self, settings: ModelSettings, inputs: int) -> None:
        super().__init__(settings, inputs)
        self.hidden = settings.hidden
        self.cell = nn.LSTM(inputs, settings.hidden, batch_first=True)
        weights: dict[str, Tensor] = dict(self.cell.named_parameters())
        with torch.no_grad():
            weights["bias_ih_l0"].zero_()
            weights["bias_hh_l0"].zero_()
            if settings.start == "delay_line":
                self._start_as_delay_line(settings, weights)
            else:
                self._gate("candidate", weights["weight_hh_l0"]).copy_(nn.init.orthogonal_(torch.empty(self.hidden, self.hidden)))
                self._gate("forget", weights["bias_ih_l0"]).fill_(1.0)

    def _gate(self, name: str, weights: Tensor) -> Tensor:
        start = ("input", "forget", "candidate", "output").index(name) * self.hidden
        return weights[start : start + self.hidden]

    def _start_as_delay_line(self, settings: ModelSettings, weights: dict[str, Tensor]) -> None:
        line = settings.delay_line
        width, end = line.width, line.slots * line.width
        recurrent = self._gate("candidate", weights["weight_hh_l0"])
        recurrent[:end] *= 0.1
        recurrent[:end, :end] = 0
        units = torch.arange(width, end)
        recurrent[units, units - width] = line.gain
        # Only the first group takes in what is seen, and mostly the overview, which comes first among the inputs.
        self._gate("candidate", weights["weight_ih_l0"])[width:end] *= 0.1
        self._gate("candidate", weights["weight_ih_l0"])[:width, settings.code :] *= 0.1
        bias = weights["bias_ih_l0"]
        for gate, value in (("input", 2.0), ("forget", -2.0), ("output", 2.0)):
            self._gate(gate, bias)[:end] = value
        self._gate("input", bias)[end:] = -1.0
        self._gate("forget", bias)[end:] = 4.0

    def initial(self, batch: int, like: Tensor) -> State:
        zeros: Any = like.new_zeros(1, batch, self.hidden)
        return zeros, zeros

    def forward(self, inputs: Tensor, state: State) -> tuple[Tensor, State]:
        return self.cell(inputs, (state[0], state[1]))
