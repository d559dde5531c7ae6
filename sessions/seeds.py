"""Seeds of sessions with people: no two of a data folder get the same trials of a paradigm, unless somebody says so."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from ..paradigms.identity import MAX_MASTER_SEED, digest
from .record.reader import sessions_below
from .session import session_stem

#: seeds of first sessions in studies are below this one, and follow from the participant's number; all others are from here on
LOWER_HALF = (MAX_MASTER_SEED + 1) // 2


@dataclass(frozen=True, slots=True)
class SessionSeed:
    """The seed of a session that one paradigm is.

    Parameters
    ----------
    seed : of the session
    number : of the session, among those that this participant has of the paradigm in this data folder, from 1; None where the seed was given
    """

    seed: int
    number: int | None = None

    def as_json(self) -> dict[str, Any]:
        """Where the seed comes from, for the record of the session."""
        return {"given": True} if self.number is None else {"given": False, "session_number": self.number}


def seed_for(data: Path, paradigm: str, participant: str) -> SessionSeed:
    """The seed of a participant's next session: it follows from paradigm, participant and the number of the session, and is nobody else's in this folder."""
    own = re.compile(re.escape(session_stem(paradigm, participant, 0)[:-1]) + r"\d+(-\d+)?")
    names = session_names(data)
    number = 1 + sum(own.fullmatch(name) is not None for name in names)
    key = [paradigm, session_stem("", participant, 0), number]
    return SessionSeed(next(seed for seed in drawn_seeds(key) if seed not in seeds_taken(names, paradigm)), number)


def drawn_seeds(key: list[object]) -> Iterator[int]:
    """Seeds for something that is named, in the order in which they are tried."""
    return (LOWER_HALF + int(digest([*key, attempt], length=8), 16) % LOWER_HALF for attempt in count(1))


def session_names(data: Path) -> list[str]:
    """The names of all sessions in a data folder, those of studies too."""
    return [folder.name for folder in sessions_below(data)] if data.is_dir() else []


def seeds_taken(names: list[str], paradigm: str) -> set[int]:
    """The seeds of all sessions of a paradigm, by their names."""
    own = re.compile(re.escape(paradigm) + r"-.*-s(\d+)(-\d+)?")
    return {int(found[1]) for name in names if (found := own.fullmatch(name))}
