"""Encoders of one step, before anything is remembered: an eye for frames, a reader for the vectors
of words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional
from typing_extensions import override

from ....paradigms.word_vectors import DIMENSIONS


class Seen(NamedTuple):
    """Encoded frames or words.

    Every frame is looked at once and addressed by its number afterwards, however often it is shown,
    in whichever trials.

    Parameters
    ----------
    inputs : (n, ...): what the memory takes in
    beside : what the read-out compares the memory with; each (n, ...)
    """

    inputs: Tensor
    beside: tuple[Tensor, ...] = ()

    def at(self, index: Tensor) -> Seen:
        """The frames with these numbers, in the shape of ``index``: (trials, steps) for sequences."""
        flat = index.reshape(-1)
        parts = [
            part.index_select(0, flat).reshape(*index.shape, *part.shape[1:]) for part in (self.inputs, *self.beside)
        ]
        return Seen(parts[0], tuple(parts[1:]))

    def rows(self, chosen: Tensor) -> Seen:
        """Some trials (or frames) of these."""
        return Seen(self.inputs[chosen], tuple(part[chosen] for part in self.beside))

    @staticmethod
    def joined(parts: Sequence[Seen]) -> Seen:
        """Several lots after one another: frames and words, or chunks of frames."""
        beside = zip(*(part.beside for part in parts), strict=True)
        return Seen(torch.cat([part.inputs for part in parts]), tuple(torch.cat(same) for same in beside))


class WormEye(nn.Module):
    """The published encoder: four convolutions over 32 × 32 pixels, the mean over positions, and a
    linear projection."""

    def __init__(self, outputs: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, 64, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(64, 128, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(128, 256, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(256, 512, 3, padding=1),
            nn.ReLU(),
        )
        self.projection = nn.Linear(512, outputs)

    @override
    def forward(self, frames: Tensor) -> Seen:
        """``frames``: uint8 (n, 32, 32, 3); scaled to 0..1 here, and not centred."""
        found = self.layers(frames.permute(0, 3, 1, 2).to(self.projection.weight.dtype) / 255)
        return Seen(self.projection(found.mean((2, 3))))


class WormReader(nn.Module):
    """The vectors of words in the place of a frame: brought to one length and projected. The
    benchmark published no encoder of words; this one is ours."""

    def __init__(self, outputs: int, words: int) -> None:
        super().__init__()
        self.projection = nn.Linear(DIMENSIONS * words, outputs)

    @override
    def forward(self, vectors: Tensor) -> Seen:
        """``vectors``: float32 (n, 300 × words)."""
        return Seen(self.projection(even(vectors, self.projection.in_features)))


def even(vectors: Tensor, numbers: int) -> Tensor:
    """Vectors brought to one length, since files differ in it by far, and zeros behind them up to so
    many numbers; nothing (zeros) stays nothing."""
    found = functional.normalize(vectors.unflatten(1, (-1, DIMENSIONS)), dim=2).flatten(1) * DIMENSIONS**0.5
    return functional.pad(found, (0, numbers - found.shape[1]))
