"""Frames, each kept once."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from ....stimuli import Stimulus
from ....stimuli.render.fast.batch import network_frames
from ..settings import FRAME

_CHUNK = 4096


class NetworkFrames:
    """32 × 32 frames as uint8, each different one kept once and addressed by its number."""

    def __init__(self) -> None:
        self._numbers: dict[bytes, int] = {}
        self._frames = np.empty((64, FRAME, FRAME, 3), np.uint8)

    def __len__(self) -> int:
        return len(self._numbers)

    def add(self, stimuli: Sequence[Stimulus]) -> np.ndarray:
        """Render stimuli and keep the new frames; returns their numbers, int64 (n,)."""
        frames = (
            frame
            for start in range(0, len(stimuli), _CHUNK)
            for frame in network_frames(stimuli[start : start + _CHUNK])
        )
        return np.array([self._keep(frame) for frame in frames], np.int64)

    def _keep(self, frame: np.ndarray) -> int:
        number = self._numbers.setdefault(hashlib.blake2b(frame.tobytes(), digest_size=16).digest(), len(self._numbers))
        if number == len(self._frames):
            self._frames = np.concatenate([self._frames, np.empty_like(self._frames)])
        if number == len(self._numbers) - 1:
            self._frames[number] = frame
        return number

    def frames(self) -> np.ndarray:
        """All frames, uint8 (n, 32, 32, 3), in the order of their numbers."""
        return self._frames[: len(self)]
