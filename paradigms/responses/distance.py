"""How far an ordered answer is from the right one."""

from __future__ import annotations

from collections.abc import Sequence


def edit_distance(response: Sequence[object], correct: Sequence[object]) -> int:
    """The fewest insertions, deletions and substitutions of single items that turn one sequence into the other (Levenshtein, 1966)."""
    row = list(range(len(correct) + 1))
    for number, item in enumerate(response, start=1):
        before, row[0] = row[0], number
        for place, expected in enumerate(correct, start=1):
            before, row[place] = row[place], min(row[place] + 1, row[place - 1] + 1, before + (item != expected))
    return row[-1]
