"""Weights in bytes: each matrix as whole numbers from -127 to 127, with one scale for every 32 of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

#: Weights that share a scale, in the order in which they lie in the file.
BLOCK = 32
_LARGEST = 127


def pack(weights: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Weights as they are written, and the scales of those that are bytes: matrices. Others (biases, scales of the network's own) are in half precision."""
    import torch

    stored, scales = {}, {}
    for name, tensor in weights.items():
        if tensor.ndim < 2:
            stored[name] = tensor.to(torch.float16).clone()
            continue
        blocks = _blocks(tensor.float())
        scale = (blocks.abs().amax(1) / _LARGEST).to(torch.float16)
        # Of a scale that is too small for half precision nothing is left.
        whole = torch.nan_to_num(blocks / scale.float()[:, None], nan=0.0, posinf=0.0, neginf=0.0)
        stored[name] = whole.round().clamp(-_LARGEST, _LARGEST).to(torch.int8).flatten()[: tensor.numel()].reshape(tensor.shape).clone()
        scales[name] = scale
    return stored, scales


def unpack(whole: Tensor, scale: Tensor) -> Tensor:
    """The weights that bytes stand for, in float32."""
    return (_blocks(whole.float()) * scale.float()[:, None]).flatten()[: whole.numel()].reshape(whole.shape).clone()


def scales_needed(numbers: int) -> int:
    """Return how many scales go with so many bytes."""
    return -(-numbers // BLOCK)


def _blocks(tensor: Tensor) -> Tensor:
    """A matrix row after row, in blocks; the last one is filled with zeros."""
    import torch

    flat = tensor.flatten()
    return torch.nn.functional.pad(flat, (0, -len(flat) % BLOCK)).view(-1, BLOCK)
