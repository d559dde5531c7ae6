"""What remembers: one small registered class per architecture. Here are the recurrent cells; the transformer has a module of its own."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import torch
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from torch import Tensor, nn
from typing_extensions import override

from ....core.errors import SpanLabError
from ....core.registry import Registry, nearest
from ....paradigms.language.diagnostics import sentences
from ..settings import DelayLine

#: Whatever an architecture carries from step to step: tensors whose second dimension is the batch.
State = tuple[Tensor, ...]


class Options(BaseModel):
    """The base of what an architecture declares beside the number of its units."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Memory(nn.Module):
    """The base of every architecture: ``forward(inputs (batch, steps, n), state)`` gives outputs (batch, steps, hidden) and the state after the last step.

    Going through steps one at a time, handing the state on, must give what going through them at once gives; no output may depend on a later input.

    Parameters
    ----------
    inputs : numbers that come in at each step
    hidden : numbers that go out at each step, the hidden state
    options : as this architecture declares them
    """

    name: ClassVar[str] = ""
    #: declared settings of the architecture's own
    Options: ClassVar[type[Options]] = Options
    #: numbers that the published networks hand to it at each step; None: as many as it has units
    published_inputs: ClassVar[int | None] = 512
    #: whether published networks with it start with Xavier-normal weights everywhere; as PyTorch has it when not
    published_xavier: ClassVar[bool] = False

    def __init__(self, inputs: int, hidden: int, options: Any) -> None:
        super().__init__()
        self.hidden = hidden

    @property
    def longest(self) -> int | None:
        """The most steps that a trial may have; None where there is no limit."""
        return None

    def initial(self, batch: int, like: Tensor) -> State:
        """The state before the first step, on the device and of the type of ``like``."""
        raise NotImplementedError

    def start_orthogonal(self) -> None:
        """Let the weights from state to state start as an orthogonal matrix."""
        raise SpanLabError(f"the architecture '{self.name}' cannot start orthogonal; write 'start: plain' in the model's settings")

    def start_as_delay_line(self, line: DelayLine, overview: int) -> None:
        """Let most units start as a delay line, fed by the first ``overview`` inputs."""
        raise SpanLabError(f"the architecture '{self.name}' cannot start as a delay line; write 'start: plain' in the model's settings")


ARCHITECTURES: Registry[Memory] = Registry("architecture", "spanlab.architectures")


def architecture_and_options(name: str, options: dict[str, Any]) -> tuple[type[Memory], Options]:
    """The class that settings name, and its options.

    Raises
    ------
    SpanLabError
        for an unknown architecture, or options that it does not take.
    """
    if name not in ARCHITECTURES:
        raise SpanLabError(f"unknown architecture '{name}'{nearest(name, ARCHITECTURES) or '; there are ' + ', '.join(ARCHITECTURES)}")
    cls = ARCHITECTURES.get(name)
    try:
        return cls, cls.Options.model_validate(options)
    except ValidationError as error:
        place, said = next(sentences(error, cls.Options, options))
        raise SpanLabError(f"options of the architecture '{name}': {'.'.join(map(str, place))}: {said}") from None


def memory(name: str, options: dict[str, Any], inputs: int, hidden: int) -> Memory:
    """A memory by its registered name.

    Raises
    ------
    SpanLabError
        for an unknown architecture, or options that it does not take.
    """
    cls, declared = architecture_and_options(name, options)
    return cls(inputs, hidden, declared)


class CellOptions(Options):
    """Options of recurrent cells."""

    layers: Annotated[int, Field(ge=1, le=8)] = Field(1, description="layers, each fed by the one before; the outputs are those of the last")


class Cell(Memory):
    """The base of PyTorch's recurrent cells.

    ``gates`` are the blocks of their weight matrices, in order; the candidate is what may enter the state.
    """

    Options = CellOptions
    published_xavier = True
    torch_class: ClassVar[type[nn.RNNBase]]
    gates: ClassVar[tuple[str, ...]] = ("candidate",)
    #: tensors of the state: the hidden state, and for some the cell
    carried: ClassVar[int] = 1

    def __init__(self, inputs: int, hidden: int, options: CellOptions) -> None:
        super().__init__(inputs, hidden, options)
        self.layers = options.layers
        self.cell = self.torch_class(inputs, hidden, num_layers=options.layers, batch_first=True)  # type: ignore[call-arg]

    @override
    def initial(self, batch: int, like: Tensor) -> State:
        zeros = like.new_zeros(self.layers, batch, self.hidden)
        return (zeros,) * self.carried

    @override
    def forward(self, inputs: Tensor, state: State) -> tuple[Tensor, State]:
        outputs, after = self.cell(inputs, state if self.carried > 1 else state[0])
        return outputs, after if self.carried > 1 else (after,)

    def gate(self, name: str, weights: Tensor) -> Tensor:
        """The rows of a weight matrix or a bias that belong to a gate."""
        start = self.gates.index(name) * self.hidden
        return weights[start : start + self.hidden]

    @torch.no_grad()
    @override
    def start_orthogonal(self) -> None:
        for layer in range(self.layers):
            weights = self._without_biases(layer)
            self.gate("candidate", weights["weight_hh"]).copy_(nn.init.orthogonal_(torch.empty(self.hidden, self.hidden)))

    def _without_biases(self, layer: int) -> dict[str, Tensor]:
        """The weights of a layer by their names, biases set to zero."""
        names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        weights: dict[str, Tensor] = {name: getattr(self.cell, f"{name}_l{layer}") for name in names}
        weights["bias_ih"].zero_()
        weights["bias_hh"].zero_()
        return weights


@ARCHITECTURES.register
class Rnn(Cell):
    """A plain recurrent network (Elman, 1990) with tanh units."""

    name: ClassVar[str] = "rnn"
    torch_class = nn.RNN


@ARCHITECTURES.register
class Gru(Cell):
    """Gated recurrent units (Cho et al., 2014)."""

    name: ClassVar[str] = "gru"
    torch_class = nn.GRU
    gates = ("reset", "update", "candidate")


@ARCHITECTURES.register
class Lstm(Cell):
    """A long short-term memory (Hochreiter & Schmidhuber, 1997).

    All weights are learned; only where they start is chosen. As a delay line most units start with closed forget gates and with candidate weights that
    are a shifted identity, so that the state begins as a queue (on orthogonal matrices for long memories: Henaff, Szlam & LeCun, 2016, ICML); the
    other units start as integrators with open forget gates (Jozefowicz, Zaremba & Sutskever, 2015, ICML). With an orthogonal start forget gates are open.
    """

    name: ClassVar[str] = "lstm"
    torch_class = nn.LSTM
    gates = ("input", "forget", "candidate", "output")
    carried = 2

    @torch.no_grad()
    @override
    def start_orthogonal(self) -> None:
        super().start_orthogonal()
        for layer in range(self.layers):
            self.gate("forget", getattr(self.cell, f"bias_ih_l{layer}")).fill_(1.0)

    @torch.no_grad()
    @override
    def start_as_delay_line(self, line: DelayLine, overview: int) -> None:
        if self.layers > 1:
            raise SpanLabError("a delay line is one layer; leave out 'layers', or write 'start: orthogonal' in the model's settings")
        weights = self._without_biases(0)
        width, end = line.width, line.slots * line.width
        recurrent = self.gate("candidate", weights["weight_hh"])
        recurrent[:end] *= 0.1
        recurrent[:end, :end] = 0
        recurrent[:end, :end].diagonal(-width).fill_(line.gain)
        # Only the first group takes in what is seen, and mostly the overview, which comes first among the inputs.
        self.gate("candidate", weights["weight_ih"])[width:end] *= 0.1
        self.gate("candidate", weights["weight_ih"])[:width, overview:] *= 0.1
        bias = weights["bias_ih"]
        for name, value in (("input", 2.0), ("forget", -2.0), ("output", 2.0)):
            self.gate(name, bias)[:end] = value
        self.gate("input", bias)[end:] = -1.0
        self.gate("forget", bias)[end:] = 4.0
