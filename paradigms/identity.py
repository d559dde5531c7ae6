"""Who is who: hashes of paradigms and trials, seeds, and the random streams that come from them.

A trial is named by (paradigm, version, generator, factor levels, seed), and by its draws when these were given. Its randomness comes from one stream per
named draw; a stream depends on the paradigm's name, the seed and the draw's name, so that adding a draw leaves the others alone. Streams are numpy's
``RandomState`` over MT19937, seeded through its array seeding: numpy's compatibility policy (NEP 19) freezes them for all versions.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from ..errors import SpanLabError

#: Largest seed that a user may give for a whole session or data set.
MAX_MASTER_SEED = 2**20 - 1
_MAX_INDEX = 2**30 - 1

SeedStream = Literal["session", "practice", "train", "validation", "test", "check", "replacement"]
_STREAMS: tuple[SeedStream, ...] = ("session", "practice", "train", "validation", "test", "check", "replacement")


def canonical(value: Any) -> str:
    """JSON text that is the same for equal values on every machine."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def digest(value: Any, length: int = 16) -> str:
    """The first ``length`` hexadecimal digits of the SHA-256 of a JSON-like value."""
    return hashlib.sha256(canonical(value).encode("ascii")).hexdigest()[:length]


def trial_id(paradigm: str, version: int, generator: str, levels: Mapping[str, Any], seed: int, draws: Mapping[str, Any] | None = None) -> str:
    """The identity of a trial, as 16 hexadecimal digits; of a trial whose draws were given, it covers these too."""
    return digest([paradigm, version, generator, dict(levels), seed, *([] if draws is None else [dict(draws)])])


def stream(paradigm: str, seed: int, name: str) -> np.random.RandomState:
    """The random stream of one named draw of one trial."""
    words = np.frombuffer(hashlib.sha256(f"{paradigm}|{seed}|{name}".encode()).digest(), dtype="<u4")
    return np.random.RandomState(words)


def trial_seed(purpose: SeedStream, master: int, index: int) -> int:
    """The seed of one trial of a session or data set.

    Purpose, master seed and index are packed side by side into 53 bits, so that two different ones never give the same seed (train, validation and test cannot
    overlap) and every program that reads the record keeps it exactly.

    Raises
    ------
    SpanLabError
        when the master seed or the index is out of range.
    """
    if not 0 <= master <= MAX_MASTER_SEED:
        raise SpanLabError(f"the seed must be between 0 and {MAX_MASTER_SEED}; found {master}")
    if not 0 <= index <= _MAX_INDEX:
        raise SpanLabError(f"at most {_MAX_INDEX + 1} trials share one seed; found trial {index}")
    return (_STREAMS.index(purpose) << 50) | (master << 30) | index
