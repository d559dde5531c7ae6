"""Words, each kept once: what networks that read vectors take in instead of frames."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np

from ....paradigms import random_vectors
from ....paradigms.word_vectors import WordVectors
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
    """What steps show to networks that read vectors of words, as float32: each word, or words side
    by side, kept once and addressed by its number; number 0 is that of steps without, zeros.

    Words can be added before their vectors are known, so that those are read once for all.

    Parameters
    ----------
    vectors : of words; may be given later
    most : words a step; those of a step that shows more are not read
    """

    def __init__(self, vectors: WordVectors | None = None, most: int = 1) -> None:
        self.vectors, self.most = vectors, most
        self._words: dict[str, None] = {}
        self._numbers: dict[tuple[str, ...], int] = {(): 0}
        self._table: np.ndarray | None = None

    @property
    def words(self) -> list[str]:
        """The words that were added, in the order in which they came."""
        return list(self._words)

    def add(self, stimuli: Sequence[Stimulus]) -> np.ndarray:
        """Keep what is new; returns numbers, int64 (n,)."""
        numbers = np.zeros(len(stimuli), np.int64)
        for row, words in enumerate(stimulus.shown_words() for stimulus in stimuli):
            if len(words) <= self.most:
                self.keep(words)
                numbers[row] = self._numbers.setdefault(words, len(self._numbers))
        return numbers

    def keep(self, words: Iterable[str]) -> None:
        """Keep words that were not shown yet but may be."""
        self._words.update(dict.fromkeys(words))

    def frames(self) -> np.ndarray:
        """All vectors, float32 (n, 300 × most), in the order of the numbers.

        Raises
        ------
        SpanLabError
            when a word has none.
        """
        if self._table is None or len(self._table) != len(self._numbers):
            self._table = (self.vectors or random_vectors()).beside(list(self._numbers), self.most)
        return self._table
