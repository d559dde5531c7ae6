"""The sessions of a study as a table and in a few counts: what ``spanlab monitor`` prints, and what the assistant's page shows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from .monitoring import STATES, MonitoredSession, State

#: All columns; those without a value in any row are left out.
HEADER = (
    *("participant", "group", "session", "paradigm", "state", "trials", "right", "latest"),
    *("displays off", "worst", "dropped", "timing", "triggers", "left", "last sign", "code", "note"),
)
_DAY_S = 24 * 3600.0


@dataclass(frozen=True, slots=True)
class Table:
    """Rows with a sign, the latest last.

    Parameters
    ----------
    header : the columns that have a value in any row
    states : of the rows
    left_out : how many older rows are not among them
    """

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    states: tuple[State, ...]
    left_out: int


def table_of(sessions: Sequence[MonitoredSession], now: float, everything: bool) -> Table:
    """The table of what was seen; without ``everything``, of what had a sign in the last 24 hours."""
    recent = [one for one in sessions if everything or now - one.sign < _DAY_S]
    rows = [_row(one, now) for one in recent]
    columns = [at for at in range(len(HEADER)) if any(row[at] for row in rows)]
    header, cells = tuple(HEADER[at] for at in columns), tuple(tuple(row[at] for at in columns) for row in rows)
    return Table(header, cells, tuple(one.state for one in recent), len(sessions) - len(recent))


def standing_by_person(sessions: Iterable[MonitoredSession]) -> dict[str, State]:
    """The state of each person: that of the session of the study with the latest sign."""
    return {one.participant: one.standing or one.state for one in sorted(sessions, key=lambda one: one.sign)}


def standings(sessions: Iterable[MonitoredSession]) -> dict[State, int]:
    """How many people are in each state."""
    everybody = list(standing_by_person(sessions).values())
    return {state: everybody.count(state) for state in STATES}


def describe_standings(counts: Mapping[State, int]) -> str:
    """The counts in words: ``3 running, 1 dropped out, 40 finished``."""
    return ", ".join(f"{counts[state]} {state}" for state in STATES if counts[state])


def _row(one: MonitoredSession, now: float) -> tuple[str, ...]:
    trials = f"{one.done}/{one.planned}" if one.planned else ""
    if one.practice and not one.done and one.state != "finished":
        trials += f" (practice: {one.practice})"
    return (
        one.participant,
        one.group,
        one.session,
        one.paradigm,
        one.state,
        trials,
        f"{one.right / one.items:.0%}" if one.items else "",
        f"{one.latest:.0%}" if one.latest is not None else "",
        f"{one.off} of {one.displays}" if one.displays else "",
        f"{one.worst_ms:+.1f} ms" if one.displays else "",
        str(one.dropped) if one.displays else "",
        one.timing,
        f"{one.sent} sent" + (f", {one.unsent} NOT sent" if one.unsent else "") if one.sent or one.unsent else "",
        f"about {duration(one.left_s)}" if one.left_s is not None else "",
        f"{duration(max(0.0, now - one.sign))} ago",
        one.code,
        one.note,
    )


def duration(seconds: float) -> str:
    """``40 s``, ``12 min``, ``3 h``."""
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.0f} h"
