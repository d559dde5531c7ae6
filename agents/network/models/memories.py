"""Memories: one small registered class per architecture. Here are the recurrent cells, and a
transformer encoder that cannot look ahead: at each step it attends to that step and the earlier
ones."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

import torch
from pydantic import Field, ValidationError
from torch import Tensor, nn
from torch.nn import functional
from typing_extensions import override

from ....core.errors import SpanLabError
from ....core.registry import Registry, StrictModel, nearest
from ....paradigms.language.diagnostics import sentences
from ..settings import DelayLine

#: Whatever an architecture carries from step to step: tensors whose second dimension is the batch.
State = tuple[Tensor, ...]


class Options(StrictModel):
    """The base of what an architecture declares beside the number of its units."""


class Memory(nn.Module):
    """The base of every architecture: ``forward(inputs (batch, steps, n), state)`` gives outputs
    (batch, steps, hidden) and the state after the last step.

    Going through steps one at a time, handing the state on, must give what going through them at
    once gives; no output may depend on a later input.

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
    #: whether published networks with it start with Xavier-normal weights everywhere; as PyTorch
    #: has it when not
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

    def seeded(self, state: State, seeds: Sequence[int]) -> State:
        """The state before the first step with one seed per trial, for memories that draw random
        numbers; the others leave it as it is."""
        return state

    def start_orthogonal(self) -> None:
        """Let the weights from state to state start as an orthogonal matrix."""
        raise SpanLabError(
            f"the architecture '{self.name}' cannot start orthogonal; write 'start: plain' in the model's settings"
        )

    def start_as_delay_line(self, line: DelayLine, overview: int) -> None:
        """Let most units start as a delay line, fed by the first ``overview`` inputs."""
        raise SpanLabError(
            f"the architecture '{self.name}' cannot start as a delay line; write 'start: plain' in the model's settings"
        )


ARCHITECTURES: Registry[Memory] = Registry("architecture", "spanlab.architectures")


def architecture_and_options(name: str, options: dict[str, Any]) -> tuple[type[Memory], Options]:
    """The class that settings name, and its options.

    Raises
    ------
    SpanLabError
        for an unknown architecture, or options that it does not take.
    """
    if name not in ARCHITECTURES:
        raise SpanLabError(
            f"unknown architecture '{name}'{nearest(name, ARCHITECTURES) or '; there are ' + ', '.join(ARCHITECTURES)}"
        )
    cls = ARCHITECTURES.get(name)
    try:
        return cls, cls.Options.model_validate(options)
    except ValidationError as error:
        place, problem = next(sentences(error, cls.Options, options))
        raise SpanLabError(f"options of the architecture '{name}': {'.'.join(map(str, place))}: {problem}") from None


def memory(name: str, options: dict[str, Any], inputs: int, hidden: int) -> Memory:
    """A memory by its registered name.

    Raises
    ------
    SpanLabError
        for an unknown architecture, or options that it does not take.
    """
    cls, declared = architecture_and_options(name, options)
    return cls(inputs, hidden, declared)


class StepMemory(Memory):
    """The base of memories that are defined by one step: what comes in and what was held make what
    is held, which also goes out."""

    def step(self, incoming: Tensor, held: Tensor) -> Tensor:
        """Return the state after a step: (batch, hidden), from what comes in (batch, inputs) and
        what was held before (batch, hidden)."""
        raise NotImplementedError

    @override
    def initial(self, batch: int, like: Tensor) -> State:
        return (like.new_zeros(1, batch, self.hidden),)

    @override
    def forward(self, inputs: Tensor, state: State) -> tuple[Tensor, State]:
        held, outputs = state[0][0], []
        for incoming in inputs.unbind(1):
            held = self.step(incoming, held)
            outputs.append(held)
        return torch.stack(outputs, 1), (held[None],)


class CellOptions(Options):
    """Options of recurrent cells."""

    layers: Annotated[int, Field(ge=1, le=8)] = Field(
        1, description="layers, each fed by the one before; the outputs are those of the last"
    )


class Cell(Memory):
    """The base of PyTorch's recurrent cells.

    ``gates`` are the blocks of their weight matrices, in order; the candidate is what may enter the
    state.
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
        return (like.new_zeros(self.layers, batch, self.hidden),) * self.carried

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
            self.gate("candidate", self._without_biases(layer)["weight_hh"]).copy_(
                nn.init.orthogonal_(torch.empty(self.hidden, self.hidden))
            )

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

    All weights are learned; only where they start is chosen. As a delay line most units start with
    closed forget gates and with candidate weights that are a shifted identity, so that the state
    begins as a queue (on orthogonal matrices for long memories: Henaff, Szlam & LeCun, 2016, ICML);
    the other units start as integrators with open forget gates (Jozefowicz, Zaremba & Sutskever,
    2015, ICML). With an orthogonal start forget gates are open.
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
            raise SpanLabError(
                "a delay line is one layer; leave out 'layers', or write 'start: orthogonal' in the model's settings"
            )
        weights = self._without_biases(0)
        width, end = line.width, line.slots * line.width
        recurrent = self.gate("candidate", weights["weight_hh"])
        recurrent[:end] *= 0.1
        recurrent[:end, :end] = 0
        recurrent[:end, :end].diagonal(-width).fill_(line.gain)
        # Only the first group takes in what is seen, and mostly the overview, which comes first
        # among the inputs.
        self.gate("candidate", weights["weight_ih"])[width:end] *= 0.1
        self.gate("candidate", weights["weight_ih"])[:width, overview:] *= 0.1
        bias = weights["bias_ih"]
        for name, value in (("input", 2.0), ("forget", -2.0), ("output", 2.0)):
            self.gate(name, bias)[:end] = value
        self.gate("input", bias)[end:] = -1.0
        self.gate("forget", bias)[end:] = 4.0


class TransformerOptions(Options):
    """Options of the transformer; the defaults are those of the published networks."""

    layers: Annotated[int, Field(ge=1, le=24)] = Field(2, description="layers")
    heads: Annotated[int, Field(ge=1, le=64)] = Field(
        8, description="heads of attention; the number of units is a multiple of it"
    )
    feedforward: Annotated[int, Field(ge=1, le=16384)] = Field(
        2048, description="units of the feedforward part of a layer"
    )
    dropout: Annotated[float, Field(ge=0, lt=1)] = Field(
        0.1, description="share of units that are left out in training"
    )
    positions: Annotated[int, Field(ge=1, le=1024)] = Field(
        20, description="steps that it can tell apart; trials may not be longer"
    )


class Layer(nn.Module):
    """One layer: attention, then a feedforward part, each added to what came in and normalised
    (post-norm; Vaswani et al., 2017)."""

    def __init__(self, hidden: int, options: TransformerOptions) -> None:
        super().__init__()
        self.dropout = options.dropout
        self.self_attn = nn.MultiheadAttention(hidden, options.heads, batch_first=True)
        self.linear1 = nn.Linear(hidden, options.feedforward)
        self.linear2 = nn.Linear(options.feedforward, hidden)
        self.norm1 = nn.LayerNorm(hidden)
        self.norm2 = nn.LayerNorm(hidden)

    @override
    def forward(self, inputs: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Inputs (batch, steps, n), with the keys and values of the steps before; gives outputs,
        and the keys and values of all steps."""
        attention, before = self.self_attn, keys.shape[1]
        query, key, value = functional.linear(inputs, attention.in_proj_weight, attention.in_proj_bias).chunk(3, -1)
        keys, values = torch.cat([keys, key], 1), torch.cat([values, value], 1)
        steps = inputs.shape[1]
        # A step attends to itself and to what was before it.
        mask = (
            torch.ones(steps, before + steps, dtype=torch.bool, device=inputs.device).tril(before)
            if before and steps > 1
            else None
        )
        found = functional.scaled_dot_product_attention(
            self._split(query),
            self._split(keys),
            self._split(values),
            mask,
            self.dropout if self.training else 0.0,
            is_causal=not before,
        )
        middle = self.norm1(inputs + self._drop(attention.out_proj(found.transpose(1, 2).flatten(2))))
        forward = self.linear2(self._drop(functional.relu(self.linear1(middle))))
        return self.norm2(middle + self._drop(forward)), keys, values

    def _split(self, whole: Tensor) -> Tensor:
        """(batch, steps, n) to (batch, heads, steps, n / heads)."""
        return whole.unflatten(-1, (self.self_attn.num_heads, -1)).transpose(1, 2)

    def _drop(self, whole: Tensor) -> Tensor:
        return functional.dropout(whole, self.dropout, self.training)


@ARCHITECTURES.register
class Transformer(Memory):
    """A causal transformer encoder with learned positions; its state are the keys and values of the
    steps so far, so that each step is computed once."""

    name: ClassVar[str] = "transformer"
    Options = TransformerOptions
    published_inputs: ClassVar[int | None] = None

    def __init__(self, inputs: int, hidden: int, options: TransformerOptions) -> None:
        super().__init__(inputs, hidden, options)
        if hidden % options.heads:
            raise SpanLabError(
                f"a transformer with {options.heads} heads of attention has a multiple of {options.heads} units, not"
                f" {hidden}; change 'hidden'"
            )
        self.entry = nn.Linear(inputs, hidden) if inputs != hidden else nn.Identity()
        self.positions = nn.Embedding(options.positions, hidden)
        first = Layer(hidden, options)
        self.layers = nn.ModuleList(
            [first, *(copy.deepcopy(first) for _ in range(options.layers - 1))]
        )  # as PyTorch's encoder: all layers start alike

    @property
    @override
    def longest(self) -> int:
        """The most steps that a trial may have: each has a position of its own."""
        return self.positions.num_embeddings

    @override
    def initial(self, batch: int, like: Tensor) -> State:
        nothing = like.new_zeros(len(self.layers), batch, 0, self.hidden)
        return nothing, nothing

    @override
    def forward(self, inputs: Tensor, state: State) -> tuple[Tensor, State]:
        before, steps = state[0].shape[2], inputs.shape[1]
        if before + steps > self.longest:
            raise SpanLabError(
                f"this transformer takes trials of up to {self.longest} steps, and this one is longer; choose a network"
                " with more positions"
            )
        held = self.entry(inputs) + self.positions.weight[before : before + steps]
        keys, values = [], []
        for number, layer in enumerate(self.layers):
            held, key, value = layer(held, state[0][number], state[1][number])
            keys.append(key)
            values.append(value)
        return held, (torch.stack(keys), torch.stack(values))
