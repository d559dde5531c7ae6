"""Columns of somebody else's table by the names of the response table: as the user says, and what a
column looks like."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow

from ...core.agent_kinds import PARTICIPANT
from ...core.errors import SpanLabError
from ...core.registry import nearest
from ...sessions.record.reader import COLUMNS

OPTION = "--map"
_OURS = frozenset(column.name for column in COLUMNS)
#: What others call our columns, in small letters without signs between them; the likeliest first.
_LIKE = {
    "participant": (
        "participant subject subj sub subjectid subjectnr subjectno subjectnumber participantid participantnr ppt ppn"
        " pp vp vpn proband pid sid id"
    ),
    "correct": "correct accuracy acc corr iscorrect right score",
    "rt_ms": "rtms rt reactiontime reactiontimems responsetime responsetimems latency",
    "answer": "answer response resp keypress key choice",
    "correct_answer": "correctanswer correctresponse corrans correctans correctkey corrresp solution",
    "trial": "trial trialnumber trialnr trialno trialnum trialindex",
    "set_size": "setsize memoryload load nitems numitems",
    "list_length": "listlength length seqlength sequencelength",
    "serial_position": "serialposition serialpos position itemposition",
    "session": "session sessionid run visit",
    "practice": "practice ispractice training",
    "paradigm": "paradigm task experiment exp expname",
    "agent": "agent model system",
    "agent_kind": "agentkind kind agenttype",
}
_SYNONYMS = {name: words.split() for name, words in _LIKE.items()}


@dataclass(frozen=True)
class ColumnMap:
    """Names and values by which the columns of tables in files are read.

    Parameters
    ----------
    names : pairs of a column of the file and the column of the response table that it is
    values : pairs of a column that the file lacks and the value that all its rows have
    """

    names: tuple[tuple[str, str], ...] = ()
    values: tuple[tuple[str, str], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.names or self.values)

    @property
    def typed(self) -> str:
        """The option's value that means the same."""
        return ",".join(
            [*(f"{theirs}={ours}" for theirs, ours in self.names), *(f"{ours}:{value}" for ours, value in self.values)]
        )

    def renamed(self, file: Path, names: Sequence[str]) -> list[str]:
        """The columns of a file by their names in the response table.

        Raises
        ------
        SpanLabError
            when the file lacks a column, or has two that would be the same.
        """
        new = dict(self.names)
        for theirs, ours in self.names:
            if theirs not in names and ours not in names:
                raise SpanLabError(
                    f"{OPTION} {theirs}={ours}: {file} has no column '{theirs}'{nearest(theirs, names)}; it has"
                    f" {', '.join(filter(None, names))}"
                )
            if theirs in names and ours in names and ours not in new:
                raise SpanLabError(
                    f"{OPTION} {theirs}={ours}: {file} has a column '{ours}', too, and it is unclear which one counts"
                )
        return [new.get(name, name) for name in names]

    def filled(self, table: pyarrow.Table) -> pyarrow.Table:
        """A table with the columns that it lacks and that have one value."""
        for name, value in self.values:
            if name not in table.column_names:
                table = table.append_column(name, pyarrow.repeat(value, table.num_rows))
        return table


#: Columns are what they are called.
AS_WRITTEN = ColumnMap()


def read_map(texts: str | Sequence[str]) -> ColumnMap:
    """``["subject=participant,accuracy=correct", "agent:people"]`` as a map.

    Raises
    ------
    SpanLabError
        when an entry is none, or names no column of the response table.
    """
    names: dict[str, str] = {}
    values: dict[str, str] = {}
    for entry in (
        entry.strip() for text in ([texts] if isinstance(texts, str) else texts) for entry in text.split(",")
    ):
        theirs, equals, ours = (part.strip() for part in entry.rpartition("="))
        if not equals:
            ours, colon, theirs = (part.strip() for part in entry.partition(":"))
            if not colon or not ours or not theirs:
                raise SpanLabError(
                    f"{OPTION} takes THEIRS=OURS, such as subject=participant,accuracy=correct, and OURS:VALUE for a"
                    f" column that is missing, such as agent_kind:participant; found '{entry}'"
                )
        if ours not in _OURS and not re.fullmatch(r"(factor|record)_\w+", ours):
            known = nearest(ours, _OURS) or " (see 'The record' in the documentation; a condition is factor_NAME)"
            raise SpanLabError(f"{OPTION} {entry}: the response table has no column '{ours}'{known}")
        if not theirs or ours in {*names.values(), *values} or (equals and theirs in names):
            raise SpanLabError(f"{OPTION} {entry}: each column is named once")
        (names if equals else values)[theirs if equals else ours] = ours if equals else theirs
    return ColumnMap(tuple(names.items()), tuple(values.items()))


def looks_like(names: Iterable[str]) -> dict[str, str]:
    """For columns of the response table that are not among some names, the name that looks like
    each."""
    there = {_plain(name): name for name in reversed([*names]) if name}
    found: dict[str, str] = {}
    for ours, words in _SYNONYMS.items():
        if (
            ours not in there.values()
            and (theirs := next((there[word] for word in words if word in there), ""))
            and theirs not in _OURS
        ):
            found[ours] = theirs
    return found


def _plain(name: str) -> str:
    return re.sub(r"[\W_]+", "", name.casefold())


def hint(names: Sequence[str], missing: Sequence[str]) -> str:
    """Return what to write where columns are missing; it begins with a colon or a full stop.

    Parameters
    ----------
    missing : of the response table
    """
    like = {ours: theirs for ours, theirs in looks_like(names).items() if ours in missing}
    if not like:
        return ""
    said = " and ".join(f"'{theirs}' looks like {ours}" for ours, theirs in like.items())
    constants = {"agent": PARTICIPANT.name, "agent_kind": PARTICIPANT.name, "paradigm": "NAME"}
    rest = [f"{name}:{value}" for name, value in constants.items() if name not in names and name not in like]
    return (
        f". {said[0].upper()}{said[1:]}: {OPTION}"
        f" {','.join([*(f'{theirs}={ours}' for ours, theirs in like.items()), *rest])}"
    )


def unread(file: Path, names: Sequence[str]) -> list[str]:
    """That columns of a file look like ones of the response table and are not read; nothing where
    there are none."""
    like = looks_like(names)
    if not like:
        return []
    said = ", ".join(f"'{theirs}' ({ours})" for ours, theirs in like.items())
    option = ",".join(f"{theirs}={ours}" for ours, theirs in like.items())
    return [
        f"{file} has columns that look like those of a response table and are not read: {said}. {OPTION} {option} reads"
        " them."
    ]
