"""Small sounds, and a paradigm that plays them: which tone comes back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import soundfile

TONES = """\
paradigm: tones
version: 1
title: Which sound came back
factors:
  list_length: [2, 3]
draw:
  order: {permutation: {of: 4, take: =list_length}}
  back: {permutation: {of: 4, take: 1}}
sounds: [tones]
timeline:
  - for: one in order
    phase: present
    show: {sound: {file: "tones/{=one + 1}.wav", words: "sound {=one + 1}"}, ms: 120}
    record: {serial_position: =number}
  - phase: probe
    show: {text: "?", sound: {file: "tones/{=back[0] + 1}.wav", volume: 0.5, words: "sound {=back[0] + 1}"}}
    ask: {choice: {options: [old, new]}, answer: "='old' if back[0] in order else 'new'"}
set_size: =list_length
instructions: {en: You hear some sounds. Then you hear one sound. Say whether it is old or new.}
designs:
  human: {repetitions: 3}
"""


def burst(number: int, ms: float = 100.0, rate_hz: int = 48000, channels: int = 1) -> np.ndarray:
    """One of many noises, unlike any other and unlike itself at any other time."""
    return np.random.RandomState(number).uniform(-0.5, 0.5, (round(ms * rate_hz / 1000), channels)).astype(np.float32)


def write_sound(
    path: Path, number: int = 1, ms: float = 100.0, rate_hz: int = 48000, channels: int = 1, **save: Any
) -> Path:
    """A file with a noise."""
    path.parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(path, burst(number, ms, rate_hz, channels), rate_hz, **save)
    return path


def write_tones(folder: Path, text: str = TONES, name: str = "tones.yaml", **save: Any) -> Path:
    """The paradigm with its sounds in a folder, and the path of its file."""
    for number in range(1, 5):
        write_sound(folder / "tones" / f"{number}.wav", number, **save)
    (path := folder / name).write_text(text, encoding="utf-8")
    return path
