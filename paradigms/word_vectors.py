"""Vectors of words, for networks: from a word2vec or GloVe file, or random ones.

A file is read once from end to end, as it is or packed with gzip, and only the words that are
needed are kept, so that it may be larger than the memory. What it is, its beginning tells: a header
of two numbers and then lines (word2vec's text, which fastText writes, too) or raw numbers
(word2vec's binary form), or lines without a header (GloVe).
"""

from __future__ import annotations

import gzip
import hashlib
import io
import math
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy as np

from ..core.errors import SpanLabError
from ..stimuli import Stimulus
from .identity import stream
from .language.diagnostics import listed, show

_CHUNK = 1 << 20
#: Longest line of a text file, and longest word of a binary one, in bytes: what is longer is
#: something else.
_LONGEST_LINE = 1 << 16
_LONGEST_WORD = 1 << 12


class _MalformedError(ValueError):
    """Raised for a file of word vectors whose content is wrong."""


def read_file(path: Path, words: Iterable[str], dimensions: int) -> tuple[dict[str, np.ndarray], str]:
    """The vectors of those of some words that are in a file (of a word that comes twice, the
    first), and the SHA-256 of the file.

    Raises
    ------
    SpanLabError
        when it cannot be read, or its content is not what it should be; with the line or the entry.
    """
    needed = {word.encode("utf-8"): word for word in words}
    try:
        with io.BufferedReader(io.FileIO(path), _CHUNK) as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
            file.seek(0)
            begins = file.peek()[:4]
            if begins.startswith(b"PK\x03\x04"):
                raise _MalformedError("it is a zip archive; unpack it first")
            packed = begins.startswith(b"\x1f\x8b")
            content = io.BufferedReader(cast(Any, gzip.GzipFile(fileobj=file)), _CHUNK) if packed else file
            return _vectors(content, needed, dimensions), sha256
    except (_MalformedError, gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise SpanLabError(
            f"{path} is not a file of word vectors that can be read (word2vec or GloVe): {error}"
        ) from None
    except OSError as error:
        raise SpanLabError(f"cannot read the word vectors {path}: {error.strerror or error}") from None


def _vectors(content: io.BufferedReader[Any], needed: dict[bytes, str], dimensions: int) -> dict[str, np.ndarray]:
    first = content.peek()[:_LONGEST_LINE].split(b"\n", 1)[0].split()
    if not first:
        raise _MalformedError("it is empty, or begins with an empty line")
    if len(first) == 2 and all(part.isdigit() for part in first):
        entries, numbers = (int(part) for part in first)
        _check_dimensions(numbers, dimensions)
        content.readline(_LONGEST_LINE)
        # Raw numbers hold bytes that no text has.
        if any(
            byte < 32 and byte not in b"\t\r\n"
            for byte in content.peek()[:_LONGEST_WORD].partition(b" ")[2][: 4 * dimensions]
        ):
            return _binary(content, needed, entries, dimensions)
        return _text(content, needed, dimensions, entries)
    if len(first) < 3 or not all(map(_is_number, first[1:])):
        raise _MalformedError(
            "its first line is neither the number of words and of dimensions nor a word with the numbers of its vector"
        )
    _check_dimensions(len(first) - 1, dimensions)
    return _text(content, needed, dimensions, None)


def _check_dimensions(length: int, dimensions: int) -> None:
    if length != dimensions:
        raise _MalformedError(f"its vectors have {length} numbers, and networks here read vectors of {dimensions}")


def _text(
    content: io.BufferedReader[Any], needed: dict[bytes, str], dimensions: int, entries: int | None
) -> dict[str, np.ndarray]:
    """Lines of a word and its numbers. Words may hold spaces (some GloVe files have such), the last
    numbers count."""
    table: dict[str, np.ndarray] = {}
    header = entries is not None
    number = 0
    while line := content.readline(_LONGEST_LINE):
        number += 1
        at = f"line {number + header}"
        if len(line) == _LONGEST_LINE:
            raise _MalformedError(f"{at} is longer than any line of such a file")
        line = line.strip()
        if line.count(b" ") < dimensions and len(line.split()) <= dimensions:
            raise _MalformedError(
                f"{at} has fewer than {dimensions} numbers" + (" (the file may be incomplete)" if line else "")
            )
        word = needed.get(line.split(None, 1)[0])
        if word is None or word in table:
            continue
        fields = line.split()
        if len(fields) > dimensions + 1:
            if _is_number(fields[1]):
                raise _MalformedError(f"{at} has more than {dimensions} numbers")
            continue
        table[word] = _finite([_number(part, at) for part in fields[1:]], at)
    if entries is not None and entries != number:
        raise _MalformedError(f"it says that it holds {entries} words, and holds {number}")
    return table


def _binary(
    content: io.BufferedReader[Any], needed: dict[bytes, str], entries: int, dimensions: int
) -> dict[str, np.ndarray]:
    """Words, each with a space and its numbers in four bytes each, perhaps with a line break before
    the next."""
    table: dict[str, np.ndarray] = {}
    for entry in range(1, entries + 1):
        word_bytes = b""
        while not word_bytes.endswith(b" ") and len(word_bytes) < _LONGEST_WORD and (byte := content.read(1)):
            word_bytes += byte
        numbers = content.read(4 * dimensions)
        if len(numbers) < 4 * dimensions or not word_bytes.endswith(b" "):
            raise _MalformedError(f"it says that it holds {entries} words, and ends or is damaged in number {entry}")
        word = needed.get(word_bytes[:-1].lstrip(b"\n"))
        if word is not None and word not in table:
            table[word] = _finite(np.frombuffer(numbers, "<f4"), f"word {entry} ('{word}')")
    if content.read(_LONGEST_WORD).strip():
        raise _MalformedError(f"it says that it holds {entries} words, and goes on after them")
    return table


def _is_number(text: bytes) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _number(text: bytes, at: str) -> float:
    if not _is_number(text):
        raise _MalformedError(f"{at}: {show(text.decode('utf-8', 'replace'))} is not a number")
    return float(text)


def _finite(numbers: Any, at: str) -> np.ndarray:
    with np.errstate(over="ignore"):
        vector = np.array(numbers, np.float32)
    if not np.isfinite(vector).all():
        raise _MalformedError(f"{at}: a number is infinite or none at all")
    return vector


#: Numbers in the vector of a word: the length of the published word2vec vectors.
DIMENSIONS = 300


@dataclass(frozen=True, slots=True, eq=False)
class WordVectors:
    """Vectors of words, float32.

    Parameters
    ----------
    name : where they come from, as it is recorded
    sha256 : of the file; None for random vectors
    table : the vectors that there are, by word; a word without one is an error for vectors from a
        file, and random vectors are made when they are needed
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
                raise SpanLabError(
                    f"no vectors for these words: {listed(missing, 50)}; those of {self.name} were read for"
                    f" {len(self.table)} other words"
                )
        vectors = np.zeros((len(words), DIMENSIONS), np.float32)
        for row, word in enumerate(words):
            if word not in self.table:
                assert self.seed is not None
                self.table[word] = _random_vector(self.seed, word)
            vectors[row] = self.table[word]
        return vectors

    def shown(self, stimuli: Sequence[Stimulus], most: int = 1) -> np.ndarray:
        """Return the input of a network that reads at most so many words a step, float32 (stimuli,
        300 × most): see :meth:`beside`."""
        return self.beside([stimulus.shown_words() for stimulus in stimuli], most)

    def beside(self, shown: Sequence[Sequence[str]], most: int) -> np.ndarray:
        """The vectors of words that are shown together, one behind the other and then zeros,
        float32 (shown, 300 × most); zeros alone where there are more."""
        rows = [words if len(words) <= most else () for words in shown]
        vectors = np.zeros((len(rows), most, DIMENSIONS), np.float32)
        filled = np.arange(most) < np.array([len(words) for words in rows], int)[:, None]
        vectors[filled] = self.of([word for words in rows for word in words])
        return vectors.reshape(len(rows), most * DIMENSIONS)

    def described(self) -> dict[str, Any]:
        """For the record."""
        return {"name": self.name, "sha256": self.sha256}


def random_vectors(seed: int = 0) -> WordVectors:
    """Random vectors of length 1: the vector of a word depends on the word and the seed alone, and
    is the same on every machine."""
    return WordVectors(f"random unit vectors, seed {seed}", seed=seed)


def read_vectors(path: str | Path, words: Iterable[str]) -> WordVectors:
    """The vectors of some words from a file.

    Parameters
    ----------
    path : a word2vec file (text or binary) or a GloVe file with vectors of 300 numbers, perhaps
        packed with gzip
    words : those that are needed

    Raises
    ------
    SpanLabError
        when the file cannot be read or is no such file (with the line or the entry), or has no
        vector for some of the words.
    """
    path = Path(path)
    distinct = list(dict.fromkeys(words))
    table, sha256 = read_file(path, distinct, DIMENSIONS)
    missing = [word for word in distinct if word not in table]
    if missing:
        raise SpanLabError(
            f"{path} has no vectors for {len(missing)} of the {len(distinct)} words that are needed:"
            f" {listed(missing, 50)}; choose another file"
        )
    return WordVectors(path.name, sha256, table)


def _random_vector(seed: int, word: str) -> np.ndarray:
    numbers = stream("word vectors", seed, word).standard_normal(DIMENSIONS)
    return (numbers / math.sqrt(math.fsum(number * number for number in numbers))).astype(np.float32)
