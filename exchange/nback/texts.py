"""The stimuli of the N-back study (AAAI 2024) as they were sent to chat models: read back into what was shown.

A letter is itself; with noise it stands somewhere in a string of other signs (``%@l#``). A grid is one line: its rows between bars, each cell empty (``_``),
holding the ``X``, or holding a noise sign, all within backticks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

#: the signs of the study's noise
NOISE = "#$%&*@^~"
_ROW = re.compile(r"\|(?:[^|]\|)+")


@dataclass(frozen=True, slots=True)
class ShownLetter:
    """A letter, and the whole string around it (the letter alone without noise)."""

    letter: str
    text: str


@dataclass(frozen=True, slots=True)
class ShownGrid:
    """The cell of the X (from 0, row by row), the grid's rows, and the noise signs by cell."""

    cell: int
    grid: int
    noise: Mapping[int, str] = field(default_factory=dict)


def read_stimulus(text: str) -> ShownLetter | ShownGrid:
    """Read a stimulus as it was sent.

    Raises
    ------
    ValueError
        when it is neither letter nor grid; the message says why.
    """
    if "|" in text:
        return _read_grid(text)
    letters = [sign for sign in text if sign not in NOISE]
    if len(letters) != 1 or not letters[0].isalpha():
        raise ValueError(f"expected one letter, alone or among the noise signs {NOISE}; found {_brief(text)}")
    if len(set(text)) != len(text):
        raise ValueError(f"a noise sign stands twice in {_brief(text)}")
    return ShownLetter(letters[0], text)


def _read_grid(text: str) -> ShownGrid:
    rows = text.strip().removeprefix("```").removesuffix("```").split()
    cells = [row[1::2] for row in rows if _ROW.fullmatch(row)]
    if len(cells) != len(rows) or any(len(row) != len(rows) for row in cells):
        raise ValueError(f"expected a square grid, such as ``` |_|X| |_|_| ```; found {_brief(text)}")
    flat = "".join(cells)
    if flat.count("X") != 1:
        raise ValueError(f"expected one X in the grid; found {flat.count('X')}")
    noise = {cell: sign for cell, sign in enumerate(flat) if sign not in "_X"}
    strange = next((sign for sign in noise.values() if sign not in NOISE), None)
    if strange is not None:
        raise ValueError(f"{strange!r} in a cell is none of the noise signs {NOISE}")
    if len(set(noise.values())) != len(noise):
        raise ValueError("a noise sign stands twice in the grid")
    return ShownGrid(flat.index("X"), len(rows), noise)


def _brief(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")
