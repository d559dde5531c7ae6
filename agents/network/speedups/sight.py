"""Looking at frames fast: each different part of them once. The outputs and gradients are those of
the eye itself, to rounding."""

from __future__ import annotations

import threading
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd import Function
from typing_extensions import override

from ..models import Network, Seen
from ..models.encoders import WormEye
from .patches import Neighbours, Patches, take_apart

#: Outputs of a layer that are worked out together: what lies between fits into memory, and that
#: memory is used again and again.
_CHANNELS = 128
#: Whole frames that are looked at together on a processor.
_TOGETHER = 96


def by_patches(network: Network, device: torch.device) -> bool:
    """Return whether this network looks at frames part by part: the published eye does on a
    processor. A GPU is faster with whole frames."""
    return network.seeing and isinstance(network.eye, WormEye) and device.type == "cpu"


def see_frames(network: Network, frames: Tensor) -> Seen:
    """Encode frames by the eye, uint8 (n, 32, 32, 3); in chunks that fit into the caches of a
    processor."""
    if len(frames) <= _TOGETHER or frames.device.type != "cpu":
        return network.see(frames)
    return Seen.joined([network.see(part) for part in frames.split(_TOGETHER)])


def looked_at(network: Network, frames: np.ndarray) -> Seen:
    """Encode, on a processor, different frames, uint8 (n, 32, 32, 3), or of vectors of words,
    float32 (n, 300), the faster way."""
    if frames.dtype == np.uint8 and by_patches(network, torch.device("cpu")):
        return see_patches(network, take_apart(frames, gradients=torch.is_grad_enabled()))
    return see_frames(network, torch.from_numpy(frames))


def see_patches(network: Network, patches: Patches) -> Seen:
    """Encode frames that were taken apart by the published eye."""
    eye = network.eye
    assert isinstance(eye, WormEye)
    first, second, third, fourth = (layer for layer in eye.layers if isinstance(layer, nn.Conv2d))
    assert first.bias is not None
    pixels = torch.from_numpy(patches.pixels).to(first.weight.dtype).flatten(1) / 255
    found = torch.relu(pixels @ first.weight.permute(2, 3, 1, 0).reshape(27, -1) + first.bias)
    found = _convolve(found, second, patches.second)
    found = _largest(found, patches.first_pool)
    found = _convolve(found, third, patches.third)
    found = _largest(found, patches.second_pool)
    found = _convolve(found, fourth, patches.fourth)
    return Seen(eye.projection(nn.functional.embedding_bag(torch.from_numpy(patches.frames), found, mode="mean")))


def _convolve(inputs: Tensor, layer: nn.Conv2d, neighbours: Neighbours) -> Tensor:
    return cast(Tensor, _Convolution.apply(inputs, layer.weight, layer.bias, neighbours))


def _largest(inputs: Tensor, squares: Neighbours) -> Tensor:
    """The largest of each four."""
    parts = torch.from_numpy(squares.parts)
    if torch.is_grad_enabled():
        return cast(Tensor, _Largest.apply(inputs, parts))
    found = inputs[parts[:, 0]]
    for place in range(1, 4):
        torch.maximum(found, inputs[parts[:, place]], out=found)
    return found


class _Room(threading.local):
    """Memory that is used again: asking the system for hundreds of megabytes anew in each step
    takes as long as filling them."""

    def __init__(self) -> None:
        self.tensors: dict[tuple[str, torch.dtype], Tensor] = {}

    def get(self, name: str, rows: int, columns: int, like: Tensor) -> Tensor:
        held = self.tensors.get((name, like.dtype))
        if held is None or held.numel() < rows * columns:
            with torch.inference_mode(False):  # what is made in that mode cannot be written to outside of it
                held = self.tensors[name, like.dtype] = torch.empty(int(rows * columns * 1.1), dtype=like.dtype)
        return held[: rows * columns].view(rows, columns)


_ROOM = _Room()


class _Convolution(Function):
    """A convolution of 3 × 3 and a rectifier over different surroundings: products are made once
    for each different input, then put together."""

    @staticmethod
    @override
    def forward(ctx: Any, inputs: Tensor, weight: Tensor, bias: Tensor, neighbours: Neighbours) -> Tensor:
        below, outputs = len(inputs), len(weight)
        parts = torch.from_numpy(neighbours.parts)
        places = torch.where(
            parts < 0, below * 9, parts * 9 + torch.arange(9)
        )  # beyond the border: a row of zeros, the last
        found = inputs.new_empty(len(parts), outputs)
        for start in range(0, outputs, _CHANNELS):
            filters = weight[start : start + _CHANNELS]
            width = len(filters)
            room = _ROOM.get("products", below * 9 + 1, width, inputs)
            room[-1] = 0
            torch.mm(inputs, filters.permute(1, 2, 3, 0).reshape(-1, 9 * width), out=room[:-1].view(below, 9 * width))
            found[:, start : start + width] = nn.functional.embedding_bag(places, room, mode="sum")
        found += bias
        found.relu_()
        ctx.save_for_backward(inputs, weight, found)
        ctx.neighbours = neighbours
        return found

    @staticmethod
    @override
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        inputs, weight, found = ctx.saved_tensors
        neighbours: Neighbours = ctx.neighbours
        assert neighbours.users is not None
        assert neighbours.starts is not None
        below, outputs = len(inputs), len(weight)
        users, starts = torch.from_numpy(neighbours.users), torch.from_numpy(neighbours.starts)
        gradient = gradients[0] * (found > 0)
        to_inputs = torch.zeros_like(inputs)
        to_weight = torch.empty_like(weight)
        for start in range(0, outputs, _CHANNELS):
            filters = weight[start : start + _CHANNELS]
            width = len(filters)
            part = gradient[:, start : start + width].contiguous()
            to_products = nn.functional.embedding_bag(users, part, starts, mode="sum", include_last_offset=True).view(
                below, 9 * width
            )
            to_inputs.addmm_(to_products, filters.permute(2, 3, 0, 1).reshape(9 * width, -1))
            to_weight[start : start + width] = (inputs.T @ to_products).view(-1, 3, 3, width).permute(3, 0, 1, 2)
        return to_inputs, to_weight, gradient.sum(0), None


class _Largest(Function):
    """The largest of four, of those that are equal the first."""

    @staticmethod
    @override
    def forward(ctx: Any, inputs: Tensor, parts: Tensor) -> Tensor:
        found = inputs[parts[:, 0]]
        which = torch.zeros(found.shape, dtype=torch.uint8)
        for place in range(1, 4):
            other = inputs[parts[:, place]]
            which.masked_fill_(other > found, place)
            torch.maximum(found, other, out=found)
        ctx.save_for_backward(parts, which)
        ctx.below = len(inputs)
        return found

    @staticmethod
    @override
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        parts, which = ctx.saved_tensors
        shares = torch.stack([gradients[0] * (which == place) for place in range(4)], 1)
        return torch.ops.aten.embedding_dense_backward(shares, parts, ctx.below, -1, False), None
