"""Words, each kept once: what networks that read vectors take in instead of frames."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np

from ....paradigms import random_vectors
from ....paradigms.word_vectors import DIMENSIONS, WordVectors
from ....stimuli import Stimulus


class Store(Protocol):
    """Inputs of networks, each kept once and addressed by its number."""

    def add(self, stimuli: Sequence[Stimulus]) -> np.ndarray:
        """Keep what is new; returns numbers, int64 (n,)."""
        ...

    def frames(self) -> np.ndarray:
        """All of it, in the order of the numbers."""
        ...


class WordStore:
    """Vectors of words as float32, each word kept once and addressed by its number; number 0 is
    that of steps that show no single word, zeros.

    Words can be added before their vectors are known, so that those are read once for all.

    Parameters
    ----------
    vectors : of words; may be given later
    """

    def __init__(self, vectors: WordVectors | None = None) -> None:
        self.vectors = vectors
        self._numbers: dict[str, int] = {}
        self._table: np.ndarray | None = None

    @property
    def words(self) -> list[str]:
        """The words that were added, in the order of their numbers."""
        return list(self._numbers)

    def add(self, stimuli: Sequence[Stimulus]) -> np.ndarray:
        """Keep the words that are new; returns their numbers, int64 (n,)."""
        words = [stimulus.single_word() for stimulus in stimuli]
        return np.array(
            [0 if word is None else self._numbers.setdefault(word, len(self._numbers) + 1) for word in words], np.int64
        )

    def keep(self, words: Iterable[str]) -> None:
        """Keep words that were not shown yet but may be."""
        for word in words:
            self._numbers.setdefault(word, len(self._numbers) + 1)

    def frames(self) -> np.ndarray:
        """All vectors, float32 (n, 300), in the order of the numbers.

        Raises
        ------
        SpanLabError
            when a word has none.
        """
        if self._table is None or len(self._table) != len(self._numbers) + 1:
            self._table = np.zeros((len(self._numbers) + 1, DIMENSIONS), np.float32)
            self._table[1:] = (self.vectors or random_vectors()).of(self.words)
        return self._table
