"""Conditions that make memory of what is still in a model's context: what comes between the list of
a trial and its first question."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from ...core.errors import SpanLabError
from ..base import Rehearsal
from .settings import ChatSettings

#: Words of a text that has nothing to do with any task: no colours, numbers, places or letters, and
#: no noun of the lists that SpanLab draws from.
_WHICH = ("gentle", "weary", "curious", "patient", "careful", "famous", "hungry", "cheerful", "clever", "honest")
_ACTORS = (
    "gardener",
    "violinist",
    "plumber",
    "librarian",
    "tailor",
    "surveyor",
    "apprentice",
    "ferryman",
    "astronomer",
    "carpenter",
)
_DOES = ("admires", "forgets", "repairs", "describes", "borrows", "ignores", "examines", "praises")
_THINGS = (
    "umbrella",
    "trombone",
    "barometer",
    "tapestry",
    "almanac",
    "wheelbarrow",
    "telescope",
    "thermos",
    "hammock",
    "accordion",
)
#: Tokens of one of its sentences, as estimates count them (words, and signs).
_SENTENCE = 7 * 1.11 + 0.57


def has_anything_between(settings: ChatSettings) -> bool:
    """Return whether anything comes between list and question."""
    return bool(settings.notepad or settings.retention_load or settings.interference)


def load_text(tokens: int, seed: int) -> str:
    """Return a text of about so many tokens, the same for the same seed."""
    draw = np.random.RandomState(seed % 2**32)
    pick = lambda words: words[draw.randint(len(words))]  # noqa: E731
    sentences = (
        f"The {pick(_WHICH)} {pick(_ACTORS)} {pick(_DOES)} the {pick(_WHICH)} {pick(_THINGS)}."
        for _ in range(math.ceil(tokens / _SENTENCE))
    )
    return " ".join(sentences)


def sums(count: int, seed: int) -> Iterator[str]:
    """Yield so many sums to be done, the same for the same seed."""
    draw = np.random.RandomState((seed + 1) % 2**32)
    for _ in range(count):
        yield f"Before you go on: what is {draw.randint(11, 90)} + {draw.randint(11, 90)}? Write the sum only."


def check_lists(trials: Sequence[Rehearsal], paradigm: str) -> None:
    """Make sure that in all trials a list comes first and its questions after it.

    Raises
    ------
    SpanLabError
        when there is nothing between which something could come.
    """
    for trial in trials:
        asked = [percept.ask is not None for percept in trial.percepts if percept.model_step]
        first = asked.index(True) if True in asked else len(asked)
        if first == 0 or not all(asked[first:]):
            raise SpanLabError(
                "notepad, retention_load and interference come between a list and its questions, and trials of"
                f" {paradigm} ask while their list goes on: leave them out, or choose a paradigm that shows first and"
                " asks afterwards, such as vsr"
            )
