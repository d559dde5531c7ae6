"""How the data came about, for the report: timing verdicts of sessions at a window, and exclusions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...core.agent_kinds import SIMULATED
from ...core.errors import SpanLabError
from ..data.exclusions import Exclusions
from ..data.numbers import number, whole
from ..data.scoring import plural
from ..data.sessions import SessionFacts
from ..data.style import listed
from ..data.timing import IN_BROWSERS, session_timing, verdict
from .commands import Commands
from .folder import Folder
from .html_tables import PageColumn, PageTable, page_table, words_of

#: What a damaged record may raise; one session must not hide the others.
_DAMAGE = (SpanLabError, KeyError, ValueError, TypeError, IndexError, AttributeError, ZeroDivisionError)


@dataclass(frozen=True)
class Timed:
    """The timing of a session: ``pass``, ``look`` or ``unknown``, the sentence with its numbers, and what to look at."""

    session: str
    who: str
    verdict: str
    line: str
    look: tuple[str, ...]


@dataclass(frozen=True)
class TimingPart:
    """The timing of all sessions at a window, or at a page in a browser."""

    title: str
    summary: str
    sessions: tuple[Timed, ...]
    notes: tuple[str, ...]
    command: str


def timing_part(sessions: Sequence[SessionFacts], commands: Commands) -> TimingPart | None:
    """The verdicts on all sessions at a window, or at a page in a browser; None where there are none."""
    shown = [facts for facts in sessions if facts.timing is not None]
    if not shown:
        return None
    timed, pages = [_timed(facts) for facts in shown], sum(bool(facts.browser) for facts in shown)
    held = sum(timing.verdict == "pass" for timing in timed)
    notes = ["The record shows what the program did; only a photodiode shows when light leaves the screen."]
    if pages:
        notes.append(f"In a browser, {IN_BROWSERS}.")
    if any(facts.kind == SIMULATED.name for facts in shown):
        notes.append("Simulated participants usually sit at an invisible screen without a graphics card; its timing says nothing about one in a laboratory.")
    where = [f"{plural(count, 'session')} {what}" for count, what in ((len(shown) - pages, "at a window"), (pages, "in a browser")) if count]
    title = "Timing " + listed([what for count, what in ((len(shown) - pages, "at the window"), (pages, "in browsers")) if count])
    summary = f"{listed(where)}: {held} pass, {len(timed) - held} to look at."
    return TimingPart(title, summary, tuple(timed), tuple(notes), commands.timing([str(facts.folder) for facts in shown]))


def _timed(facts: SessionFacts) -> Timed:
    who = facts.participant or facts.agent
    try:
        timing = session_timing(facts.folder)
        if timing is None:
            return Timed(facts.name, who, "unknown", "nothing was shown for a given time", ())
        judged = verdict(timing)
    except _DAMAGE as error:
        return Timed(facts.name, who, "unknown", f"its timing is unknown ({error})", ())
    return Timed(facts.name, who, "pass" if judged.holds else "look", judged.numbers, judged.look)


@dataclass(frozen=True)
class ExclusionPart:
    """What rules left out: a sentence for each rule, the rules and the units as tables."""

    sentences: tuple[str, ...]
    tables: tuple[PageTable, ...]


def exclusion_part(exclusions: Exclusions | None, folder: Folder) -> ExclusionPart | None:
    """What rules left out; None where there are no rules."""
    if exclusions is None:
        return None
    folder.table("exclusion_rules", exclusions.rules)
    file = folder.table("exclusions", exclusions.units)

    def who(row: Mapping[Any, Any]) -> str:
        return str(row["participant"] or row["agent"])

    columns: list[PageColumn] = [
        ("who", who),
        words_of("session"),
        words_of("paradigm"),
        ("trial", lambda row: str(row["trial"]) if row["leave_out"] in ("trials", "answers") else ""),
        ("rule", lambda row: str(row["rule"])),
        ("where", lambda row: str(row["where"])),
        ("value", lambda row: number(row["value"], 3)),
        ("answers", lambda row: whole(row["answers"])),
        words_of("reason"),
    ]
    units = page_table(exclusions.units, columns, "What was left out", words=("session", "paradigm", "where", "reason"), file=file)
    return ExclusionPart(exclusions.notes, (units,) if units.rows else ())
