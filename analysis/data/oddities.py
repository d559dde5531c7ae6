"""Contents of a laboratory's own table that give wrong numbers without an error: refused in a
sentence that says what to write, or noted."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow

from ...core.agent_kinds import PARTICIPANT
from ...core.errors import SpanLabError
from ...core.json_values import NOTHING

#: Columns that say what was answered to an item: rows of one item that differ in one of them
#: contradict each other.
ANSWERED = ("answer", "correct_answer", "correct", "outcome", "rt_ms")
#: Reaction times of people below this many ms are not possible; as seconds they are usual.
QUICK_MS = 10.0
#: A person whose reaction times are so often below it has them in seconds.
_MOSTLY = 0.9
_NAMES = 6


@dataclass(frozen=True)
class Oddities:
    """Likely mistakes in a table that were used as they are. Those of several parts of a table can
    be added.

    Parameters
    ----------
    rows, kindless : rows with an answerer, and those of them that do not say of what kind it is
    right : rows that are marked as omitted or invalid, and as correct
    people : identifiers of participants
    timed, quick : reaction times of each answerer, and those of them that would be too quick for
        anybody in ms
    """

    rows: int = 0
    kindless: int = 0
    right: int = 0
    people: frozenset[str] = frozenset()
    timed: Mapping[str, int] = field(default_factory=dict)
    quick: Mapping[str, int] = field(default_factory=dict)

    def __add__(self, other: Oddities) -> Oddities:
        return Oddities(
            self.rows + other.rows,
            self.kindless + other.kindless,
            self.right + other.right,
            self.people | other.people,
            Counter(self.timed) + Counter(other.timed),
            Counter(self.quick) + Counter(other.quick),
        )

    def sentences(self) -> tuple[str, ...]:
        """Return what is odd, what was made of it, and what to write in its place."""
        return (*self._kinds(), *self._people(), *self._answers(), *self._times())

    def _kinds(self) -> Iterator[str]:
        if self.kindless:
            of = "No row says" if self.kindless == self.rows else f"{self.kindless:,} of {self.rows:,} rows do not say"
            yield (
                f"{of} what kind of agent answered (agent_kind): these answers count as those of a machine. "
                f"Write {PARTICIPANT.name} for people, and network, chat or a name of your own for machines."
            )

    def _people(self) -> Iterator[str]:
        alike: dict[str, list[str]] = {}
        for name in sorted(self.people):
            alike.setdefault(_key(name), []).append(name)
        several = [names for names in alike.values() if len(names) > 1]
        if several:
            written = "; ".join(" and ".join(map(repr, names)) for names in several[:_NAMES])
            more = f" and {len(several) - _NAMES} more" if len(several) > _NAMES else ""
            yield (
                f"Identifiers of participants are nearly alike and count as different people: {written}{more}. Write"
                " each person's identifier in one way."
            )

    def _answers(self) -> Iterator[str]:
        if self.right:
            rows, are, they = (
                ("1 row", "is", "it counts") if self.right == 1 else (f"{self.right:,} rows", "are", "they count")
            )
            yield (
                f"{rows} {are} marked as omitted or invalid and yet as correct: {they} as wrong. Write the outcome"
                " answered where an answer was given."
            )

    def _times(self) -> Iterator[str]:
        who = [name for name, count in sorted(self.quick.items()) if count >= _MOSTLY * self.timed[name]]
        if who:
            listed = ", ".join(who[:_NAMES]) + (f" and {len(who) - _NAMES} more" if len(who) > _NAMES else "")
            yield (
                f"Reaction times (rt_ms) of {listed} are below {QUICK_MS:g} ms, as if they were in seconds. They are"
                " used as they are: write milliseconds."
            )


def _key(name: str) -> str:
    """The same for identifiers that differ in case, spaces, hyphens and leading zeros alone."""
    return re.sub(r"(?<!\d)0+(?=\d)", "", re.sub(r"[\s_\-–.]+", "", name.casefold()))


def oddities_of(table: pd.DataFrame) -> Oddities:
    """Find what looks like a mistake in a table whose columns have their types."""
    known = (table["agent"] != "").to_numpy() & (table["paradigm"] != "").to_numpy()
    kindless = known & (table["agent_kind"] == "").to_numpy()
    failed = table["outcome"].isin(["omitted", "invalid"]).to_numpy()
    persons = table[known & ((table["agent_kind"] == PARTICIPANT.name).to_numpy() | kindless)]
    people = frozenset(map(str, persons["participant"].unique())) - {""}
    timed, quick = _times_of(persons) if "rt_ms" in table.columns else ({}, {})
    right = int((failed & (table["correct"] == 1).to_numpy()).sum())
    return Oddities(int(known.sum()), int(kindless.sum()), right, people, timed, quick)


def _times_of(table: pd.DataFrame) -> tuple[Mapping[str, int], Mapping[str, int]]:
    """Return how many reaction times each answerer has, and how many of them would be too quick; of
    those only who have such."""
    times = table["rt_ms"].to_numpy(float)
    quick = (times > 0) & (times < QUICK_MS)
    if not quick.any():
        return {}, {}
    who = table["participant"].astype(str).where(table["participant"].astype(str) != "", table["agent"].astype(str))
    have = who[quick].value_counts()
    return {str(name): int(count) for name, count in who[np.isfinite(times)].value_counts().items()}, {
        str(name): int(count) for name, count in have.items()
    }


def contradiction(first: pd.Series, other: pd.Series, rows: int) -> SpanLabError:
    """The error that two rows give the same item two answers.

    Parameters
    ----------
    first, other : two rows of one item
    rows : how many rows contradict an earlier one
    """
    who = "participant" if _plain(first["participant"]) else "agent"
    where = [
        f"{name} {_plain(first[name])}"
        for name in ("paradigm", who, "session", "trial", "step", "ask")
        if _plain(first.get(name))
    ]
    name = next(name for name in ANSWERED if name in first.index and _plain(first[name]) != _plain(other[name]))
    more = f", and {rows - 1:,} further rows contradict earlier ones" if rows > 1 else ""
    return SpanLabError(
        f"two rows of the same item contradict each other: {', '.join(where)} has {name}"
        f" {_plain(first[name]) or 'empty'} in one row and {_plain(other[name]) or 'empty'} in another{more}. Delete"
        " the wrong rows; where both are right, tell them apart by the numbers in trial, step or ask, or by session"
    )


def _plain(value: Any) -> str:
    """A value in a message; empty where it is missing."""
    if value is None or value != value or value == "":
        return ""
    return f"{value:g}" if isinstance(value, float) else str(value)


def refuse_nameless(file: Path, table: pyarrow.Table, hint: str = "") -> None:
    """Refuse a table in which people cannot be told apart: without a column of participants, or
    with rows of people that name nobody.

    Parameters
    ----------
    hint : how to name a column otherwise, where one of the table looks like the one that lacks

    Raises
    ------
    SpanLabError
        with what to write.
    """
    answerers = _answerers(table)
    persons = [one for one in answerers if one.kind == PARTICIPANT.name]
    unsaid = [one for one in answerers if not one.kind]
    if "participant" not in table.column_names:
        if persons or unsaid:
            raise SpanLabError(
                f"{file} has no column participant: several people would count as one. Add it, with an identifier for"
                " each person and nothing for machines; a table of machines alone needs a column agent_kind (network,"
                f" chat ...) instead{hint}"
            )
        return
    named = any(not one.nobody for one in unsaid)
    nameless = [
        one
        for one in answerers
        if one.nobody and (one.kind == PARTICIPANT.name or (not one.kind and (named or one.participant)))
    ]
    if nameless:
        written = sorted({one.participant for one in nameless} - {""})
        found = f" ({', '.join(map(repr, written[:3]))})" if written else ""
        raise SpanLabError(
            f"{file}: {sum(one.rows for one in nameless):,} rows name nobody: participant is empty, or a word that"
            f" means missing, such as NA, null or None{found}. Write an identifier for each person (P01 ...), and"
            " network, chat ... in agent_kind where the answers are a machine's"
        )


@dataclass(frozen=True)
class _Answerer:
    """Rows of a table with the same kind and participant."""

    kind: str
    participant: str
    rows: int

    @property
    def nobody(self) -> bool:
        """True if the participant is no identifier."""
        return self.participant.strip().casefold() in NOTHING


def _answerers(table: pyarrow.Table) -> list[_Answerer]:
    """Return who answers in the rows that have an agent."""
    rows = table.filter(table.column("agent").is_valid())
    names = [name for name in ("agent_kind", "participant") if name in rows.column_names]
    columns = {name: rows.column(name).cast(pyarrow.string()) for name in names} | {
        "all": pyarrow.repeat("", rows.num_rows)
    }
    groups = pyarrow.table(columns).group_by([*columns]).aggregate([([], "count_all")]).to_pylist()
    return [
        _Answerer(group.get("agent_kind") or "", group.get("participant") or "", group["count_all"]) for group in groups
    ]
