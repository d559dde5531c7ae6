"""The order in which a participant takes the parts of a study: fixed, balanced over participants, or shuffled."""

from __future__ import annotations

from random import SystemRandom
from typing import Literal

from ...paradigms.identity import stream

Order = Literal["fixed", "latin_square", "shuffled"]


def williams(parts: int) -> list[list[int]]:
    """Williams' design: the rows of one Latin square for an even number of parts, of two for an odd one.

    Over all rows, every part stands equally often at every position, and every part follows immediately upon every other one equally often (once in the one
    square, twice in the two).
    """
    zigzag = [0]
    for step in range(1, parts):
        zigzag.append((step + 1) // 2 if step % 2 else parts - step // 2)
    square = [[(part + shift) % parts for part in zigzag] for shift in range(parts)]
    return square if rows(parts) == parts else square + [row[::-1] for row in square]


def rows(parts: int) -> int:
    """How many rows Williams' design has; one where there is nothing to put in order."""
    return max(1, parts) if parts % 2 == 0 or parts == 1 else 2 * parts


def order_of(order: Order, parts: int, study: str, number: int, session: int, seed: int | None) -> list[int]:
    """The parts in the order in which a participant takes them, as their numbers in the file (from 0).

    Parameters
    ----------
    order : ``latin_square`` takes the row of the participant's number, in every session the same one; ``shuffled`` draws anew for each session
    parts : how many
    study, number, session, seed : name of the study, number of the participant, number of the session, seed of the study (None: what is shuffled is drawn at
        random, so that nobody can tell a number from an order)
    """
    if order == "latin_square" and parts:
        return williams(parts)[(number - 1) % rows(parts)]
    if order == "shuffled":
        if seed is None:
            return SystemRandom().sample(range(parts), parts)
        return [int(part) for part in stream(study, seed, f"order:{number}:{session}").permutation(parts)]
    return list(range(parts))
