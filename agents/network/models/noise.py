"""An LSTM with noise in its cells: a network with it is a limited one, whether it learned with the
noise or got it afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar

import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional
from typing_extensions import override

from ....core.errors import SpanLabError
from .memories import ARCHITECTURES, CellOptions, Lstm, Options, State
from .network import Network


class NoiseOptions(Options):
    """Options of the LSTM with noise."""

    noise: Annotated[float, Field(ge=0)] = Field(
        0.0,
        description=(
            "standard deviation of the noise that is added to the cell of every unit at each step; what enters a cell"
            " at a step is between -1 and 1"
        ),
    )
    relative: bool = Field(
        False,
        description=(
            "whether the noise of a unit is this many times what its cell holds, so that fuller cells have more noise"
        ),
    )


@ARCHITECTURES.register
class NoisyLstm(Lstm):
    """An LSTM whose cells take up normal noise at every step: what is held drifts, the more the
    longer it is held.

    The noise of a trial follows from the trial's seed and the step alone, so that it is the same
    step by step, in a batch, and when the trial is taken again. In training, the noise of a step of
    training follows from its number, so that every trial meets new noise.
    """

    name: ClassVar[str] = "noisy_lstm"
    Options = NoiseOptions
    carried = 3

    def __init__(self, inputs: int, hidden: int, options: NoiseOptions) -> None:
        super().__init__(inputs, hidden, CellOptions.model_validate({}))
        self.noise, self.relative = options.noise, options.relative

    @override
    def initial(self, batch: int, like: Tensor) -> State:
        zeros = like.new_zeros(1, batch, self.hidden)
        return self.seeded((zeros, zeros, zeros), range(batch))

    @override
    def seeded(self, state: State, seeds: Sequence[int]) -> State:
        held, cells, _ = state
        return held, cells, _mixed(torch.tensor([seed % 2**63 for seed in seeds], device=held.device).reshape(1, -1, 1))

    @override
    def forward(self, inputs: Tensor, state: State) -> tuple[Tensor, State]:
        (held,), (cells,), (numbers,) = state
        into, across, *biases = self.cell.all_weights[0]
        driven, outputs = functional.linear(inputs, into, biases[0] + biases[1]), []
        units = torch.arange(self.hidden, device=inputs.device)
        for incoming in driven.unbind(1):
            enter, keep, candidate, leave = (incoming + held @ across.T).chunk(4, -1)
            numbers = _mixed(numbers + 1)
            drift = self.noise * (torch.randn_like(cells) if self.training else _normal(numbers, units).to(cells.dtype))
            cells = torch.sigmoid(keep) * cells + torch.sigmoid(enter) * torch.tanh(candidate)
            cells = cells + (drift * cells.abs() if self.relative else drift)
            held = torch.sigmoid(leave) * torch.tanh(cells)
            outputs.append(held)
        return torch.stack(outputs, 1), (held[None], cells[None], numbers[None])


def add_noise(network: Network, noise: float, relative: bool | None = None) -> None:
    """Give a network's memory noise; the weights stay as they are.

    Parameters
    ----------
    noise : standard deviation
    relative : whether it is in proportion to what each cell holds; when not given, as the network
        was trained, and else added as it is

    Raises
    ------
    SpanLabError
        when its memory is not an LSTM with a single layer.
    """
    memory = network.memory
    if not isinstance(memory, Lstm) or memory.layers > 1:
        raise SpanLabError(
            f"noise can be added to an LSTM with a single layer, and this network has the memory '{memory.name}'; leave"
            " out the noise"
        )
    if isinstance(memory, NoisyLstm):
        memory.noise, memory.relative = noise, memory.relative if relative is None else relative
    else:
        with torch.device("meta"):
            noisy = NoisyLstm(memory.cell.input_size, memory.hidden, NoiseOptions(noise=noise, relative=bool(relative)))
        noisy.cell = memory.cell
        network.memory = noisy.eval()


def _mixed(numbers: Tensor) -> Tensor:
    """Other numbers, far apart for neighbours, from 0 to 2**63 - 1 (the finaliser of SplitMix64;
    Steele, Lea & Flood, 2014)."""
    for shift, factor in ((30, -4658895280553007687), (27, -7723592293110705685)):
        numbers = (numbers ^ ((numbers >> shift) & ((1 << (64 - shift)) - 1))) * factor
    return (numbers ^ ((numbers >> 31) & ((1 << 33) - 1))) & (2**63 - 1)


def _uniform(numbers: Tensor) -> Tensor:
    """Numbers between 0 and 1, never either, from numbers of 63 bits."""
    return ((numbers >> 23).double() + 0.5) / 2**40


def _normal(numbers: Tensor, units: Tensor) -> Tensor:
    """Standard normal numbers (batch, units) from a number for each trial (batch, 1) and that of
    each unit (Box & Muller, 1958)."""
    first = _mixed(numbers + units * -7046029254386353131)
    return (-2 * _uniform(first).log()).sqrt() * torch.cos(2 * torch.pi * _uniform(_mixed(first + 1)))
