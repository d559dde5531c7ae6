"""Small images, and a paradigm that shows them: which face comes back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

FACES = """\
paradigm: faces
version: 1
title: Which face came back
factors:
  list_length: [2, 3]
draw:
  order: {permutation: {of: 4, take: =list_length}}
  back: {permutation: {of: 4, take: 1}}
images: [faces]
timeline:
  - for: face in order
    phase: present
    show: {image: {file: "faces/{=face + 1}.png", words: "face {=face + 1}"}, ms: 60}
    record: {serial_position: =number}
  - phase: probe
    show: {image: {file: "faces/{=back[0] + 1}.png", size: 60, words: "face {=back[0] + 1}"}}
    ask: {choice: {options: [old, new]}, answer: "='old' if back[0] in order else 'new'"}
set_size: =list_length
network: {task: faces, head: 2}
instructions: {en: You see some faces. Then you see one face. Say whether it is old or new.}
designs:
  human: {repetitions: 3}
"""


def pattern(number: int, size: tuple[int, int] = (40, 30), clear: bool = False) -> Image.Image:
    """One of many pictures: blocks of colours, and a margin that is see-through where wanted."""
    blocks = np.random.RandomState(number).randint(0, 256, (3, 4, 4), dtype=np.uint8)
    blocks[..., 3] = 255
    image = Image.fromarray(blocks).resize(size, Image.Resampling.NEAREST)
    if clear:
        image.paste((255, 0, 255, 0), (0, 0, size[0], size[1] // 3))
    return image if clear else image.convert("RGB")


def write_faces(folder: Path, text: str = FACES, name: str = "faces.yaml", **save: Any) -> Path:
    """The paradigm with its images in a folder, and the path of its file."""
    (folder / "faces").mkdir(parents=True, exist_ok=True)
    for number in range(1, 5):
        pattern(number).save(folder / "faces" / f"{number}.png", **save)
    (path := folder / name).write_text(text, encoding="utf-8")
    return path
