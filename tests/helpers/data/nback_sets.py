"""The stimulus sets of the N-back study, as the samplers here make them, and a second opinion on
what matches."""

from __future__ import annotations

from typing import Any

from sampling import many

from spanlab.paradigms import Generator
from spanlab.paradigms.language.yaml_source import list_paradigms

CONSONANTS = "bcdfghjklnpqrstvwxyz"
MARKS = "#$%&*@^~"
FAMILY = [name for name in list_paradigms() if name.startswith("nback_")]
LEVELS = (1, 2, 3)
GENERATORS: tuple[Generator, ...] = ("corrected", "published")
#: the sets of the published study: name, paradigm, rows and columns of the grid
SETS = {
    "letters": ("nback_verbal", None),
    "3x3": ("nback_spatial", 3),
    "4x4": ("nback_spatial", 4),
    "5x5": ("nback_spatial", 5),
    "7x7": ("nback_spatial", 7),
    "abstraction": ("nback_abstraction", 3),
    "strict": ("nback_abstraction_strict", 3),
}
#: how many items are lures, of 24 and of 30
LURES = {
    "nback_verbal": {"none": (0, 0), "low": (2, 2), "high": (6, 7)},
    "nback_spatial": {"none": (0, 0), "low": (2, 2), "high": (6, 7)},
    "nback_abstraction": {"low": (6, 7), "high": (12, 15)},
    "nback_abstraction_strict": {"none": (0, 0), "low": (6, 7), "high": (12, 15)},
}
Block = list[dict[str, Any]]


def blocks(
    name: str, n: int, generator: Generator = "corrected", lures: str = "free", length: int = 24, times: int = 600
) -> list[Block]:
    """Blocks of one of the sets, from the sampler as the paradigm sets it up."""
    paradigm, grid = SETS[name]
    known = {} if grid is None else {"grid": grid}
    return many(
        paradigm, "items", generator, times, n=n, lures=lures, block_length=length, matches=length // 3, **known
    )


def alike(name: str, one: Any, other: Any) -> bool:
    """Whether two items match."""
    if name not in ("abstraction", "strict"):
        return one == other
    same_row, same_column = one // 3 == other // 3, one % 3 == other % 3
    return (same_row or same_column) and (name == "abstraction" or one != other)


def unlabelled(name: str, n: int, block: Block) -> list[int]:
    """Positions of items that match and are labelled otherwise."""
    return [
        i
        for i in range(n, len(block))
        if block[i]["label"] == "-" and alike(name, block[i]["symbol"], block[i - n]["symbol"])
    ]
