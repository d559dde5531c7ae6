"""A transformer encoder that cannot look ahead: at each step it attends to that step and the earlier ones."""

from __future__ import annotations

import copy
from typing import Annotated, ClassVar

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional
from typing_extensions import override

from ....core.errors import SpanLabError
from .memories import ARCHITECTURES, Memory, Options, State


class TransformerOptions(Options):
    """Options of the transformer; the defaults are those of the published networks."""

    layers: Annotated[int, Field(ge=1, le=24)] = Field(2, description="layers")
    heads: Annotated[int, Field(ge=1, le=64)] = Field(8, description="heads of attention; the number of units is a multiple of it")
    feedforward: Annotated[int, Field(ge=1, le=16384)] = Field(2048, description="units of the feedforward part of a layer")
    dropout: Annotated[float, Field(ge=0, lt=1)] = Field(0.1, description="share of units that are left out in training")
    positions: Annotated[int, Field(ge=1, le=1024)] = Field(20, description="steps that it can tell apart; trials may not be longer")


class Layer(nn.Module):
    """One layer: attention, then a feedforward part, each added to what came in and normalised (post-norm; Vaswani et al., 2017)."""

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
        """Inputs (batch, steps, n), with the keys and values of the steps before; gives outputs, and the keys and values of all steps."""
        attention, before = self.self_attn, keys.shape[1]
        query, key, value = functional.linear(inputs, attention.in_proj_weight, attention.in_proj_bias).chunk(3, -1)
        keys, values = torch.cat([keys, key], 1), torch.cat([values, value], 1)
        steps = inputs.shape[1]
        # A step attends to itself and to what was before it.
        mask = torch.ones(steps, before + steps, dtype=torch.bool, device=inputs.device).tril(before) if before and steps > 1 else None
        found = functional.scaled_dot_product_attention(
            self._split(query), self._split(keys), self._split(values), mask, self.dropout if self.training else 0.0, is_causal=not before
        )
        attended = attention.out_proj(found.transpose(1, 2).flatten(2))
        middle = self.norm1(inputs + self._drop(attended))
        forward = self.linear2(self._drop(functional.relu(self.linear1(middle))))
        return self.norm2(middle + self._drop(forward)), keys, values

    def _split(self, whole: Tensor) -> Tensor:
        """(batch, steps, n) to (batch, heads, steps, n / heads)."""
        return whole.unflatten(-1, (self.self_attn.num_heads, -1)).transpose(1, 2)

    def _drop(self, whole: Tensor) -> Tensor:
        return functional.dropout(whole, self.dropout, self.training)


@ARCHITECTURES.register
class Transformer(Memory):
    """A causal transformer encoder with learned positions; its state are the keys and values of the steps so far, so that each step is computed once."""

    name: ClassVar[str] = "transformer"
    Options = TransformerOptions
    published_inputs: ClassVar[int | None] = None

    def __init__(self, inputs: int, hidden: int, options: TransformerOptions) -> None:
        super().__init__(inputs, hidden, options)
        if hidden % options.heads:
            raise SpanLabError(f"a transformer with {options.heads} heads of attention has a multiple of {options.heads} units, not {hidden}; change 'hidden'")
        self.entry = nn.Linear(inputs, hidden) if inputs != hidden else nn.Identity()
        self.positions = nn.Embedding(options.positions, hidden)
        first = Layer(hidden, options)
        self.layers = nn.ModuleList([first, *(copy.deepcopy(first) for _ in range(options.layers - 1))])  # as PyTorch's encoder: all layers start alike

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
            raise SpanLabError(f"this transformer takes trials of up to {self.longest} steps, and this one is longer; choose a network with more positions")
        held = self.entry(inputs) + self.positions.weight[before : before + steps]
        keys, values = [], []
        for number, layer in enumerate(self.layers):
            held, key, value = layer(held, state[0][number], state[1][number])
            keys.append(key)
            values.append(value)
        return held, (torch.stack(keys), torch.stack(values))
