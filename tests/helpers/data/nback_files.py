"""Files in the formats of the N-back study, made here and small: blocks, renderings of stimuli,
results."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

LETTERS = "bcdfghjklnpqrstvwxyz"
MARKS = "#$%&*@^~"
#: written once by hand: the second item of the first block is a match without a label, as published
#: blocks have them
UNLABELLED = ("bbcdffghhjkklnnpqqrsssvv", "-----m--m--m--m--m--mm-m")


def identity_block(n: int, seed: int, alphabet: str | int = LETTERS, length: int = 24) -> tuple[list[Any], str]:
    """A third of the items are the same as the one n back, and all others are not. Letters, or
    positions 1 ... alphabet."""
    return _block(
        n,
        seed,
        list(alphabet) if isinstance(alphabet, str) else list(range(1, alphabet + 1)),
        lambda one, other: one == other,
        length,
    )


def abstraction_block(n: int, seed: int, identical: bool) -> tuple[list[Any], str]:
    """A third of the positions in a 3 x 3 grid are in the same row or column as the one n back;
    whether the same position counts."""

    def alike(one: int, other: int) -> bool:
        return ((one - 1) // 3 == (other - 1) // 3 or (one - other) % 3 == 0) and (identical or one != other)

    return _block(n, seed, list(range(1, 10)), alike, 24)


def _block(
    n: int, seed: int, symbols: list[Any], alike: Callable[[Any, Any], bool], length: int
) -> tuple[list[Any], str]:
    draw = random.Random(seed)
    matching = set(draw.sample(range(n, length), length // 3))
    items: list[Any] = []
    for position in range(length):
        items.append(
            draw.choice(
                [one for one in symbols if position < n or alike(one, items[position - n]) == (position in matching)]
            )
        )
    return items, "".join("m" if position in matching else "-" for position in range(length))


def block_text(items: list[Any] | str, labels: str, comma: bool = False) -> str:
    """The text of a block file."""
    between = "," if comma else ""
    return between.join(map(str, items)) + "\n" + between.join(labels) + "\n"


def write_block(folder: Path, name: str, text: str | bytes) -> Path:
    """A block file below a folder."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def write_letters(folder: Path, blocks: int = 2, levels: tuple[int, ...] = (1, 2, 3)) -> Path:
    """A set of blocks of letters."""
    for n in levels:
        for number in range(blocks):
            write_block(folder, f"{n}back/{number}.txt", block_text(*identity_block(n, 100 * n + number)))
    return folder


def grid_text(position: int, size: int, marks: dict[int, str] | None = None) -> str:
    """A grid with an X at a position from 1, as it was sent to models; marks by position."""
    cells = ["X" if cell == position else (marks or {}).get(cell, "_") for cell in range(1, size * size + 1)]
    rows = ["|" + "|".join(cells[size * row : size * (row + 1)]) + "|" for row in range(size)]
    return "``` " + " ".join(rows) + " ```"


def noisy_letter(letter: str, seed: int) -> str:
    """A letter among 3 to 6 marks."""
    draw = random.Random(seed)
    signs = [letter, *draw.sample(MARKS, draw.randint(3, 6))]
    draw.shuffle(signs)
    return "".join(signs)


def noisy_grid(position: int, seed: int) -> str:
    """A 3 x 3 grid with 1 to 3 marks."""
    draw = random.Random(seed)
    free = draw.sample([cell for cell in range(1, 10) if cell != position], draw.randint(1, 3))
    return grid_text(position, 3, dict(zip(free, draw.sample(MARKS, len(free)), strict=True)))


def answered(stimuli: list[str], labels: str, seed: int, prefilled: int = 0) -> list[dict[str, Any]]:
    """Trials of one block: three of four answers are right; the first ones may be filled in."""
    draw = random.Random(seed)
    trials = []
    for number, (stimulus, target) in enumerate(zip(stimuli, labels, strict=True)):
        filled = number < prefilled
        right = filled or draw.random() < 0.75
        response = target if right else {"m": "-", "-": "m"}[target]
        rt = float("inf") if filled else round(0.4 + draw.random(), 6)
        trials.append({"stimulus": stimulus, "target": target, "response": response, "correct": right, "rt": rt})
    return trials


def letter_results(
    blocks: int = 2, levels: tuple[int, ...] = (1, 2, 3), length: int = 24, prefilled: int = 0
) -> dict[str, list[dict[str, Any]]]:
    """Results of blocks of letters."""
    results = {}
    for n in levels:
        for number in range(blocks):
            items, labels = identity_block(n, 100 * n + number, length=length)
            results[f"{n}back_{number}"] = answered(items, labels, 7 * n + number, prefilled)
    return results


def never_run(trials: list[dict[str, Any]], since: int = 0) -> list[dict[str, Any]]:
    """The block as a placeholder, from some trial on."""
    return [
        {**trial, **(dict.fromkeys(("response", "correct", "rt"), "") if number >= since else {})}
        for number, trial in enumerate(trials)
    ]


def write_results(path: Path, results: Any) -> Path:
    """A file of results; infinite times are written as the study has them (``Infinity``)."""
    path.write_text(json.dumps(results), encoding="utf-8")
    return path


def counts(trials: list[dict[str, Any]]) -> tuple[int, int, int, int]:
    """Hits, misses, false alarms and correct rejections."""
    kinds = [(trial["target"], trial["response"]) for trial in trials]
    return kinds.count(("m", "m")), kinds.count(("m", "-")), kinds.count(("-", "m")), kinds.count(("-", "-"))
