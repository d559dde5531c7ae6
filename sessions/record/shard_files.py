"""The files of a large session: its response table in parts, each a fixed range of its trials. It imports no sibling.

``session.json`` has ``parts`` then: how many ``trials`` a part has, and whether hidden ``states`` are kept beside. A part is there, whole, or it is not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

PARTS = "parts"


def planned_trials(session: Mapping[str, Any]) -> int:
    """How many trials (practice apart) a session has."""
    plan: Mapping[str, int] | Sequence[object] = session["plan"]
    return plan["trials"] if isinstance(plan, Mapping) else len(plan)


def count_parts(session: Mapping[str, Any]) -> int:
    """How many parts the table of a large session has."""
    return -(-planned_trials(session) // session[PARTS]["trials"])


def part_path(folder: str | Path, number: int) -> Path:
    """The file of one part; numbers count from 0."""
    return Path(folder) / PARTS / f"{number:05d}.parquet"


def parts_missing(folder: str | Path, session: Mapping[str, Any]) -> list[int]:
    """Which parts are not there yet."""
    return [number for number in range(count_parts(session)) if not part_path(folder, number).exists()]


def stored_parts(folder: str | Path, session: Mapping[str, Any]) -> dict[int, Path]:
    """The files of the parts that are there, by their numbers."""
    return {number: path for number in range(count_parts(session)) if (path := part_path(folder, number)).exists()}
