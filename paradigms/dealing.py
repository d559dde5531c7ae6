"""Dealing things of several kinds evenly, by chance; and runs of the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def run_at_end(answers: Sequence[Any]) -> int:
    """How many of the last values are the same."""
    return run_around(answers, len(answers) - 1) if answers else 0


def run_around(answers: Sequence[Any], place: int) -> int:
    """The length of the run that a place lies in."""
    first = last = place
    while first and answers[first - 1] == answers[place]:
        first -= 1
    while last + 1 < len(answers) and answers[last + 1] == answers[place]:
        last += 1
    return last - first + 1


def dealt(random: np.random.RandomState, sizes: Sequence[int], kinds: int) -> list[list[int]]:
    """How often each kind comes in groups of these sizes: in every group, and in all groups together, no kind more than once more often than another."""
    deck: list[int] = []
    counts: list[list[int]] = []
    for size in sizes:
        base, more = divmod(size, kinds)
        hand: list[int] = []
        while len(hand) < more:
            if not deck:
                # A new deck begins with kinds that the hand does not have.
                order = [int(n) for n in random.permutation(kinds)]
                deck = [n for n in order if n not in hand] + [n for n in order if n in hand]
            hand.append(deck.pop(0))
        counts.append([base + (kind in hand) for kind in range(kinds)])
    return counts


def spread(random: np.random.RandomState, counts: Sequence[int], sizes: Sequence[int]) -> list[list[int]]:
    """Share things of several kinds out over groups, so that each group has them as evenly as possible.

    Parameters
    ----------
    counts : of each kind; no two differ by more than one
    sizes : of the groups; together as many as there are things
    """
    kinds = len(counts)
    more = [count - sum(size // kinds for size in sizes) for count in counts]
    shares: list[list[int]] = []
    for size in sizes:
        base, rest = divmod(size, kinds)
        order = sorted((int(n) for n in random.permutation(kinds)), key=lambda kind: -more[kind])
        for kind in order[:rest]:
            more[kind] -= 1
        shares.append([base + (kind in order[:rest]) for kind in range(kinds)])
    return shares


def shuffled(random: np.random.RandomState, counts: Sequence[int]) -> list[int]:
    """So many of each kind, in random order."""
    cards = [kind for kind, count in enumerate(counts) for _ in range(count)]
    return [cards[int(n)] for n in random.permutation(len(cards))]
