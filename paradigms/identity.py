"""Identities: hashes of paradigms and trials, seeds, and the random streams made from them.

A trial is named by (paradigm, version, generator, factor levels, seed), and by its draws when these
were given. Its randomness comes from one stream per named draw; a stream
depends on the paradigm's name, the seed, the factor levels and the draw's name, so that trials of
different levels are independent and adding a draw leaves the others alone. Streams are numpy's
``RandomState`` over MT19937, seeded through its array seeding: numpy's compatibility policy (NEP
19) freezes them for all versions.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np
from numpy.random.bit_generator import ISeedSequence

from ..core.errors import SpanLabError

#: A constant part of every trial's hashes, which keeps trials apart from other uses of the same streams.
_OF_TRIALS = 2
#: Largest seed that a user may give for a whole session or data set.
MAX_MASTER_SEED = 2**20 - 1
_MAX_INDEX = 2**30 - 1

SeedStream = Literal["session", "practice", "train", "validation", "test", "check", "replacement", "example"]
_STREAMS: tuple[SeedStream, ...] = (
    "session",
    "practice",
    "train",
    "validation",
    "test",
    "check",
    "replacement",
    "example",
)


def canonical(value: Any) -> str:
    """JSON text that is the same for equal values on every machine."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def digest(value: Any, length: int = 16) -> str:
    """The first ``length`` hexadecimal digits of the SHA-256 of a JSON-like value."""
    return hashlib.sha256(canonical(value).encode("ascii")).hexdigest()[:length]


def trial_id(
    paradigm: str,
    version: int,
    generator: str,
    levels: Mapping[str, Any],
    seed: int,
    draws: Mapping[str, Any] | None = None,
) -> str:
    """The identity of a trial, as 16 hexadecimal digits; of a trial whose draws were given, it
    covers these too."""
    given = [] if draws is None else [dict(draws)]
    return digest([paradigm, version, generator, dict(levels), seed, _OF_TRIALS, *given])


class _Nothing(ISeedSequence):
    """Seeds a generator that is going to be seeded anew: without it, numpy would ask the operating
    system for chance, which takes longer than all else."""

    def generate_state(self, n_words: int, dtype: Any = np.uint32) -> np.ndarray:
        return np.zeros(n_words, dtype)


_NOTHING = _Nothing()


def trial_root(paradigm: str, seed: int, levels: Mapping[str, Any]) -> str:
    """The common origin of the random streams of one trial.

    Parameters
    ----------
    levels : for draws, those of all factors; for random factors, those of the crossed ones
    """
    return f"{_OF_TRIALS}|{paradigm}|{seed}|{canonical(dict(levels))}"


def _words(root: str, name: str) -> np.ndarray:
    return np.frombuffer(hashlib.sha256(f"{root}|{name}".encode()).digest(), dtype="<u4")


def _unseeded() -> np.random.RandomState:
    return np.random.RandomState(np.random.MT19937(_NOTHING))  # type: ignore[arg-type]


def stream(paradigm: str, seed: int, name: str) -> np.random.RandomState:
    """The random stream of something that is named, such as the order of a session's trials."""
    return stream_of(f"{paradigm}|{seed}", name)


def stream_of(root: str, name: str) -> np.random.RandomState:
    """The random stream of one named draw of one trial (:func:`trial_root`)."""
    random = _unseeded()
    random.seed(_words(root, name))
    return random


class _Returned(threading.local):
    def __init__(self) -> None:
        self.streams: list[np.random.RandomState] = []


_RETURNED = _Returned()


@contextmanager
def lent_stream(root: str, name: str) -> Iterator[np.random.RandomState]:
    """The same stream as that of :func:`stream_of`, for as long as the ``with`` lasts: its
    generator is used again, which takes a fifth of the time."""
    random = _RETURNED.streams.pop() if _RETURNED.streams else _unseeded()
    random.seed(_words(root, name))
    try:
        yield random
    finally:
        _RETURNED.streams.append(random)


def trial_seed(purpose: SeedStream, master: int, index: int) -> int:
    """The seed of one trial of a session or data set.

    Purpose, master seed and index are packed side by side into 53 bits, so that two different ones
    never give the same seed (train, validation and test cannot overlap) and every program that
    reads the record keeps it exactly.

    Raises
    ------
    SpanLabError
        when the master seed or the index is out of range.
    """
    if not hasattr(master, "__index__"):
        raise SpanLabError(f"the seed must be a whole number between 0 and {MAX_MASTER_SEED}; found {master!r}")
    if not 0 <= master <= MAX_MASTER_SEED:
        raise SpanLabError(f"the seed must be between 0 and {MAX_MASTER_SEED}; found {master}")
    if not 0 <= index <= _MAX_INDEX:
        raise SpanLabError(f"at most {_MAX_INDEX + 1} trials share one seed; found trial {index}")
    return (_STREAMS.index(purpose) << 50) | (master << 30) | index
