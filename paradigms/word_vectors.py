"""Vectors of words, for networks: from a word2vec or GloVe file, or random ones.

A file is read once from end to end, and only the words that are needed are kept, so that it may be larger than the memory.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..core.errors import SpanLabError
from ..stimuli import Stimulus
from .identity import stream
from .language.diagnostics import listed
from .vector_files import read_file

#: Numbers in the vector of a word: the length of the published word2vec vectors.
DIMENSIONS = 300


@dataclass(frozen=True, slots=True, eq=False)
class WordVectors:
    """Vectors of words, float32.

    Parameters
    ----------
    name : where they come from, as it is recorded
    sha256 : of the file; None for random vectors
    table : the vectors that there are, by word; a word without one is an error for vectors from a file, and random vectors are made when they are needed
    seed : of random vectors; None for those from a file
    """

    name: str
    sha256: str | None = None
    table: dict[str, np.ndarray] = field(default_factory=dict, repr=False)
    seed: int | None = None

    def of(self, words: Sequence[str]) -> np.ndarray:
        """The vectors of words, float32 (words, 300).

        Raises
        ------
        SpanLabError
            when some have none; names them.
        """
        if self.seed is None:
            missing = [word for word in dict.fromkeys(words) if word not in self.table]
            if missing:
                raise SpanLabError(f"no vectors for these words: {listed(missing, 50)}; those of {self.name} were read for {len(self.table)} other words")
        found = np.zeros((len(words), DIMENSIONS), np.float32)
        for row, word in enumerate(words):
            if word not in self.table:
                assert self.seed is not None
                self.table[word] = _random_vector(self.seed, word)
            found[row] = self.table[word]
        return found

    def shown(self, stimuli: Sequence[Stimulus]) -> np.ndarray:
        """What a network reads of stimuli, float32 (stimuli, 300): the vector of the one word that is shown, zeros where none or more than one is."""
        words = [stimulus.single_word() for stimulus in stimuli]
        found = np.zeros((len(stimuli), DIMENSIONS), np.float32)
        rows = [row for row, word in enumerate(words) if word is not None]
        found[rows] = self.of([word for word in words if word is not None])
        return found

    def described(self) -> dict[str, Any]:
        """For the record."""
        return {"name": self.name, "sha256": self.sha256}


def random_vectors(seed: int = 0) -> WordVectors:
    """Random vectors of length 1: the vector of a word depends on the word and the seed alone, and is the same on every machine."""
    return WordVectors(f"random unit vectors, seed {seed}", seed=seed)


def read_vectors(path: str | Path, words: Iterable[str]) -> WordVectors:
    """The vectors of some words from a file.

    Parameters
    ----------
    path : a word2vec file (text or binary) or a GloVe file with vectors of 300 numbers, perhaps packed with gzip
    words : those that are needed

    Raises
    ------
    SpanLabError
        when the file cannot be read or is no such file (with the line or the entry), or has no vector for some of the words.
    """
    path = Path(path)
    wanted = list(dict.fromkeys(words))
    table, sha256 = read_file(path, wanted, DIMENSIONS)
    missing = [word for word in wanted if word not in table]
    if missing:
        raise SpanLabError(f"{path} has no vectors for {len(missing)} of the {len(wanted)} words that are needed: {listed(missing, 50)}; choose another file")
    return WordVectors(path.name, sha256, table)


def _random_vector(seed: int, word: str) -> np.ndarray:
    numbers = stream("word vectors", seed, word).standard_normal(DIMENSIONS)
    return (numbers / math.sqrt(math.fsum(number * number for number in numbers))).astype(np.float32)
