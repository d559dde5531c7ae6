"""Sessions for sharing: pseudonyms, what is left out unless the user asks for it, and the remaining
rows.

All formats for sharing data take the same options (:class:`Sharing`) and read sessions through
here, so that all formats leave out the same things.
"""

from __future__ import annotations

import csv
import json
import re
import secrets
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Protocol

from pydantic import Field

from spanlab.core import SpanLabError, in_number, kind_named
from spanlab.core.atomic_files import whole_file
from spanlab.exchange import Flag, Options, Place, Report, counted, harmless
from spanlab.sessions.record import (
    COLUMNS,
    FURTHER,
    Column,
    SessionInfo,
    event_meaning,
    find_sessions,
    finished_trials,
    read_events,
    read_session,
    read_table,
    seed_independent,
    trials_left,
)
from spanlab.sessions.record.table import column_names

SESSIONS = Place("sessions, or folders of sessions such as data", "DATA...", many=True)
#: in place of what somebody has typed
OTHER = "(other)"
#: say who or when, or stand beside the table
_APART = {"session", "participant", "agent_kind", "agent", "started_at"}
#: response kinds whose answers are all foreseen
_FORESEEN = {"choice", "cells", "continuous", "rating", "sequence"}
_SEEDS = {"seed", "trial_id"}
_KEY_COLUMNS = ("participant", "pseudonym")
#: columns of the response table that hold JSON
_JSON = {column.name for column in COLUMNS if column.type == "json"}


#: columns that stand before those of the response table
_WHO = (
    Column("participant_id", "string", "what the participant is called in this data set"),
    Column("participant_type", "string", "person or machine"),
    Column("agent_kind", "string", "what kind of participant it is; `participant` for people"),
    Column("agent", "string", "name of the machine; `participant` for people"),
    Column("caution", "string", "remark that must accompany its data"),
    Column(
        "session",
        "integer",
        "number of the session among those of the participant in this data set, in the order in which they began",
    ),
    Column("study_session", "integer", "number of the session of the study; empty outside of studies"),
)


class Writer(Protocol):
    """A writer of the lines of a table."""

    def writerows(self, rows: Iterable[Iterable[Any]], /) -> Any:
        """Write some lines."""
        ...


class Sharing(Options):
    """The options of everybody who shares data."""

    name: Annotated[
        str | None,
        Field(description="title of the data set; by default made from its paradigms"),
        Flag(metavar="TITLE"),
    ] = None
    authors: Annotated[
        str | None, Field(description="authors of the data set, separated by semicolons"), Flag(metavar="'NAME; NAME'")
    ] = None
    license: Annotated[
        str | None, Field(description="license of the data set, such as CC0 or CC-BY-4.0"), Flag(metavar="LICENSE")
    ] = None
    real_ids: Annotated[bool, Field(description="share the participants' identifiers instead of pseudonyms")] = False
    key_file: Annotated[
        Path | None,
        Field(
            description=(
                "table of pseudonyms, outside the data set; it is created or extended, so that everybody keeps their"
                " pseudonym"
            )
        ),
        Flag(metavar="FILE"),
    ] = None
    fields: Annotated[
        str | None, Field(description="answers about people to share, such as age,sex"), Flag(metavar="FIELD,...")
    ] = None
    dates: Annotated[bool, Field(description="also share the times of trials")] = False
    free_text: Annotated[bool, Field(description="also share free-text answers")] = False
    seeds: Annotated[
        bool,
        Field(
            description=(
                "share seeds and identifiers of trials that cannot reveal who took part, so that trials can be rebuilt"
            )
        ),
    ] = True
    with_seeds: Annotated[
        bool, Field(description="also share seeds and identifiers of trials that may reveal who took part")
    ] = False
    pseudonymous: Annotated[
        bool, Field(description="leave out sessions whose trials anybody who guesses an identifier can rebuild")
    ] = False


@dataclass(slots=True)
class SharedSession:
    """A session to be shared.

    Parameters
    ----------
    label : what its participant is called: letters and digits alone
    visit : number of the session of the study; 0 outside of studies
    finished : whether nothing of it is missing
    free : the phases in which somebody may have answered in words of one's own: typed, or to a
        response kind of another package, of which nothing is known here
    fields : what was asked in it and is to be shared
    seeds : whether its seeds and identifiers of trials are shared
    settings_hash : of its agent; where that might tell who took part, the name that the machine has
        in this data set
    number : of the session among those of its participant, from 1, in the order in which they began
    """

    folder: Path
    info: SessionInfo
    label: str
    person: bool
    visit: int
    finished: bool
    free: frozenset[str]
    fields: dict[str, Any]
    seeds: bool
    settings_hash: str
    number: int = 0

    def hides_text(self, options: Sharing, phase: str | None) -> bool:
        """Return True if the answers in a phase may be free text, and such text is not to be
        shared."""
        return not options.free_text and (phase in self.free or any("=" in name for name in self.free))

    @property
    def task(self) -> str:
        """The paradigm's name, with letters and digits only."""
        return _alphanumeric(self.info["paradigm"])

    @property
    def title(self) -> str:
        """The paradigm's title."""
        return self.info.get("paradigm_title") or self.info["paradigm"]


@dataclass(slots=True)
class SharedParticipant:
    """A person or a machine whose sessions are shared.

    Parameters
    ----------
    agent : a person, or the machine as it was named, without folders and people's identifiers
    caution : what must be said of it, such as that it is a scripted server
    fields : what was asked and is to be shared, as far as all sessions say the same
    groups : of studies with groups; one for each participant unless there are several such studies
    """

    label: str
    person: bool
    agent_kind: str
    agent: str
    caution: str
    fields: dict[str, Any]
    groups: set[str] = field(default_factory=set[str])


@dataclass(slots=True)
class SharedData:
    """All data to be shared."""

    sessions: list[SharedSession]
    participants: list[SharedParticipant]
    fields: list[str]
    options: Sharing
    _named: dict[str, SharedParticipant] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._named = {one.label: one for one in self.participants}

    @property
    def remark(self) -> str:
        """The paragraph of a README where right answers and levels may tell who took part; empty
        where they cannot."""
        many = sum(not _seeds_safe(one.info, self.options) for one in self.sessions)
        return (
            f"\n**Not pseudonymous.** {counted(many, 'session')} {_TRACEABLE}. {_TRIALS_TELL.partition(' --')[0]}\n"
            if many
            else ""
        )

    @property
    def name(self) -> str:
        """The title of the data set."""
        titles = sorted({one.title for one in self.sessions})
        return self.options.name or ", ".join(titles[:5]) + (" and others" if len(titles) > 5 else "")

    @property
    def who(self) -> str:
        """The numbers of people and machines that took part."""
        people = sum(one.person for one in self.participants)
        machines = counted(len(self.participants) - people, "machine")
        return f"{people} {in_number(people, 'person', 'people')} and {machines}"

    @property
    def grouped(self) -> bool:
        """True if somebody belongs to a group of a study."""
        return any(one.groups for one in self.participants)

    @property
    def authors(self) -> list[str]:
        """The authors of the data set."""
        return [name.strip() for name in (self.options.authors or "").split(";") if name.strip()]

    def participant(self, session: SharedSession) -> SharedParticipant:
        """The participant of a session."""
        return self._named[session.label]

    def fields_of(self, session: SharedSession) -> dict[str, Any]:
        """Return the answers to questions about the participant: in the session itself, or else in
        others."""
        return {**self.participant(session).fields, **session.fields}

    def of_session(self, session: SharedSession, rows: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
        """The rows of a response table without the columns and rows that are not shared."""
        left_out = {name for name in (*_APART, *_SEEDS) if not self.has(name)} | (set() if session.seeds else _SEEDS)
        for row in rows:
            shared = {name: value for name, value in row.items() if name not in left_out}
            shared["agent_settings_hash"] = session.settings_hash
            if session.hides_text(self.options, row.get("phase")):
                answer = row.get("answer")
                if isinstance(answer, str) and answer != row.get("correct_answer"):
                    shared["answer"] = OTHER
                shared |= {
                    name: OTHER
                    for name, value in shared.items()
                    if name.startswith(("score_", "event_")) and isinstance(value, str)
                }
            yield shared

    def has(self, column: str) -> bool:
        """Return True if a column of the response table is shared."""
        return (column not in _APART or (column == "started_at" and self.options.dates)) and (
            column not in _SEEDS or any(one.seeds for one in self.sessions)
        )

    def columns(self, names: Iterable[str]) -> list[Column]:
        """The shared columns of the response table: those that are declared, then others (factors
        and recorded values) by name."""
        declared = {column.name for column in COLUMNS}
        scored = {
            f"score_{name}": about
            for session in self.sessions
            for name, about in session.info.get("score_fields", {}).items()
        }
        others = [Column(name, "json", *_meaning(name, scored.get(name))) for name in sorted({*names} - declared)]
        return [column for column in (*COLUMNS, *others) if self.has(column.name)]

    def rows(self, session: SharedSession) -> Iterator[dict[str, Any]]:
        """The response table of a session, row by row."""
        table = read_table(session.folder)
        names = [name for name in table.column_names if _holds_json(name)]
        rows = table.to_pylist()
        for row in rows:
            row |= {name: _read(row[name]) for name in names if row[name] is not None}
        return self.of_session(session, rows)

    @property
    def who_columns(self) -> list[Column]:
        """The columns before those of the response table: the participant, the session, and what
        people were asked."""
        return [*_WHO, *(Column(name, "json", f"what people were asked: {name}") for name in self.fields)]

    def all_columns(self) -> list[Column]:
        """The shared columns of all sessions."""
        return self.columns({name for one in self.sessions for name in column_names(one.folder)})

    def header(self, columns: Sequence[Column]) -> list[str]:
        """The first line of a table of answers."""
        return [column.name for column in (*self.who_columns, *columns)]

    def write_rows(self, writer: Writer, session: SharedSession, columns: Sequence[Column]) -> int:
        """Write the answered items of a session into a table as text, and return how many there
        were."""
        who, rows = self.participant(session), [*self.rows(session)]
        before = [
            f"sub-{who.label}",
            "person" if who.person else "machine",
            who.agent_kind,
            who.agent,
            who.caution,
            session.number,
            session.visit or "",
        ]
        asked = [cell(self.fields_of(session).get(name), "") for name in self.fields]
        texts = [cells(column.name, [row.get(column.name) for row in rows], "") for column in columns]
        writer.writerows([*before, *asked, *row] for row in zip(*texts, strict=True))
        return len(rows)


def gather(sources: Sequence[str], options: Sharing, report: Report, place: Path) -> SharedData:
    """Collect all sessions in some folders under names that do not identify people, and report what
    is left out.

    Parameters
    ----------
    place : where the data set is going to be

    Raises
    ------
    SpanLabError
        when a session cannot be read, or a wish cannot be met.
    """
    _check_options(options, place)
    infos = [(folder, read_session(folder)) for folder in find_sessions(sources)]
    people = sorted({info["participant"] for _, info in infos if kind_named(info["agent_kind"]).person})
    wanted = [name.strip() for name in (options.fields or "").split(",") if name.strip()]
    _check_fields(wanted, [info for _, info in infos])
    labels = _own_ids(people) if options.real_ids else _pseudonyms(people, options.key_file)
    machines = _machine_labels([info for _, info in infos], set(labels.values()))
    sessions: list[SharedSession] = []
    participants: dict[str, SharedParticipant] = {}
    left_out = 0
    for folder, info in sorted(infos, key=lambda one: one[1].get("created") or ""):
        if "set_aside" in info:
            report.note(
                f"NOTE a session of {info['paradigm']} was set aside, and taken again; it is left out: {folder}"
            )
            continue
        events = read_events(folder)
        if not finished_trials(events):
            report.note(f"NOTE a session of {info['paradigm']} has no finished trial, and is left out: {folder}")
            continue
        if options.pseudonymous and not _seeds_safe(info, options):
            left_out += 1
            continue
        person = kind_named(info["agent_kind"]).person
        label = labels[info["participant"]] if person else machines[_machine(info)]
        finished = not trials_left(info, events)
        entries = info.get("study", {}).get("fields") or {}
        asked = {name: entries[name] for name in wanted if person and name in entries}
        visit = int(info.get("study", {}).get("session") or 0)
        free, seeds = (
            frozenset(_free_phases(info["paradigm_data"])),
            options.seeds and (options.with_seeds or _seeds_safe(info, options)),
        )
        # the settings of such a machine may tell whose trials or answers it repeats
        repeats = kind_named(info["agent_kind"]).role == "replay" or not seed_independent(info)
        hashed = info["agent_settings_hash"] if person or options.with_seeds or not repeats else label
        sessions.append(SharedSession(folder, info, label, person, visit, finished, free, asked, seeds, hashed))
        # what must accompany an agent's data: that it is no model, or was handed the answers
        cautions = [*filter(None, [info.get("label")]), *["was given the correct answers (an oracle)"] * info["oracle"]]
        participant = participants.setdefault(
            label, SharedParticipant(label, person, info["agent_kind"], _agent(info), "; ".join(cautions), {})
        )
        participant.groups.update(filter(None, [info.get("group")]))
        participant.fields |= asked
    if left_out:
        report.note(f"NOTE {counted(left_out, 'session')} {_TRACEABLE}: left out (--pseudonymous)")
    if not sessions:
        why = (
            "the trials of every session may tell who took part (--pseudonymous)"
            if left_out
            else "no session has a finished trial"
        )
        raise SpanLabError(f"there is nothing to share: {why}")
    _tell(sessions, people, labels, options, report)
    for session in sessions:
        fields = participants[session.label].fields
        for name in [name for name in session.fields if name in fields and fields[name] != session.fields[name]]:
            del fields[name]
    sessions.sort(
        key=lambda session: (not session.person, session.label)
    )  # not by folder: the order of names would tell whose pseudonyms they are
    numbers = Counter[str]()
    for session in sessions:
        numbers[session.label] += 1
        session.number = numbers[session.label]
    return SharedData(
        sessions,
        sorted(participants.values(), key=lambda participant: (not participant.person, participant.label)),
        wanted,
        options,
    )


def _check_options(options: Sharing, place: Path) -> None:
    """Raise SpanLabError where options contradict one another, or would share the table of
    pseudonyms."""
    if options.key_file is not None and options.real_ids:
        raise SpanLabError("--key-file has the pseudonyms, and --real-ids does without them: leave out one of the two")
    if options.key_file is not None and options.key_file.resolve().is_relative_to(place.resolve()):
        raise SpanLabError(
            f"{options.key_file} would be shared with the data: keep the table of pseudonyms outside of {place}"
        )
    if options.with_seeds and not options.seeds:
        raise SpanLabError("--with-seeds shares all seeds, and --no-seeds none: leave out one of the two")


def _tell(
    sessions: Sequence[SharedSession],
    people: Sequence[str],
    labels: Mapping[str, str],
    options: Sharing,
    report: Report,
) -> None:
    unfinished = sum(not one.finished for one in sessions)
    if unfinished:
        report.note(
            f"NOTE {counted(unfinished, 'session')} {in_number(unfinished, 'is', 'are')} not finished: the finished"
            " trials are shared"
        )
    free = sorted({one.info["paradigm"] for one in sessions if one.free})
    if free and not options.free_text:
        report.note(
            f"NOTE wrong answers to {', '.join(free)} may be free text, and are shared as {OTHER}; --free-text shares"
            " them as they are"
        )
    if many := sum(not _seeds_safe(one.info, options) for one in sessions):
        seeds = _SEEDS_LEFT_OUT if options.seeds else "Seeds and identifiers of trials are left out, too."
        seeds = _SEEDS_SHARED if options.with_seeds else seeds
        report.note(f"NOTE NOT PSEUDONYMOUS: {counted(many, 'session')} {_TRACEABLE}. {_TRIALS_TELL} {seeds}")
    if not people:
        return
    if options.real_ids:
        report.note("NOTE participants keep their own identifiers")
    elif options.key_file is None:
        report.note("NOTE pseudonyms were drawn at random, and no table of them is kept; --key-file FILE keeps one")
    else:
        report.note(f"NOTE {options.key_file} links pseudonyms to people: do not share it")


_TRACEABLE = "with seeds that may tell who took part (they were given, or came with the data)"
_TRIALS_TELL = (
    "Right answers and levels follow from the seed: whoever guesses an identifier can make its trials again, and see"
    " from them whether it is right. --pseudonymous leaves these sessions out; publish them only if the participants"
    " may be known."
)
_SEEDS_LEFT_OUT = (
    "Seeds and identifiers of trials are left out, so these trials cannot be made again; --with-seeds shares them."
)
_SEEDS_SHARED = (
    "Their seeds are shared: whoever guesses an identifier can see from the seeds whether it is right. Do not publish"
    " these data."
)


def _seeds_safe(info: SessionInfo, options: Sharing) -> bool:
    """Return True if the seeds of a session tell nothing about people that is not shared anyway."""
    return seed_independent(info) or (options.real_ids and kind_named(info["agent_kind"]).person)


def _check_fields(wanted: Sequence[str], infos: Sequence[SessionInfo]) -> None:
    asked = sorted({name for info in infos for name in info.get("study", {}).get("fields") or {}})
    unknown = [name for name in wanted if name not in asked]
    if unknown:
        there = f"what was asked: {', '.join(asked)}" if asked else "nothing was asked of anybody in these sessions"
        raise SpanLabError(f"--fields: no session has '{unknown[0]}'; {there}")
    reserved = {"species", "group", *(column.name for column in (*_WHO, *COLUMNS))}
    taken = [name for name in wanted if name in reserved]
    if taken:
        raise SpanLabError(f"--fields: a column of that name is there already: '{taken[0]}'")


def _own_ids(people: Sequence[str]) -> dict[str, str]:
    labels = {one: _alphanumeric(one) for one in people}
    taken: dict[str, str] = {}
    for one, label in labels.items():
        other = taken.setdefault(label.casefold(), one)
        if not label or other != one:
            alike = (
                f"the identifiers '{other}' and '{one}' are the same"
                if label
                else f"nothing is left of the identifier '{one}'"
            )
            raise SpanLabError(
                f"{alike} in letters and digits, and data sets are shared with no other signs in identifiers: leave out"
                " --real-ids"
            )
    return labels


def _pseudonyms(people: Sequence[str], key_file: Path | None) -> dict[str, str]:
    """A number for everybody, at random; those of the key file stay as they are."""
    kept = {} if key_file is None or not key_file.exists() else _read_key(key_file)
    new = [one for one in people if one not in kept]
    used = {int(label) for label in kept.values()}
    highest = max([len(people) + len(used), *used])
    free = [number for number in range(1, highest + 1) if number not in used][: len(new)]
    secrets.SystemRandom().shuffle(free)
    labels = {**kept, **{one: f"{number:03d}" for one, number in zip(new, free, strict=True)}}
    if key_file is not None and new:
        with whole_file(key_file) as file:
            csv.writer(file, lineterminator="\n").writerows([_KEY_COLUMNS, *sorted(labels.items())])
    return labels


def _read_key(path: Path) -> dict[str, str]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            header, *rows = [row for row in csv.reader(file) if row]
    except (OSError, ValueError, csv.Error) as error:
        raise SpanLabError(f"{path} cannot be read as a table of pseudonyms: {error}") from None
    if tuple(header) != _KEY_COLUMNS or any(len(row) != 2 or not re.fullmatch("[0-9]{1,6}", row[1]) for row in rows):
        raise SpanLabError(
            f"{path} is not a table of pseudonyms (two columns, participant and pseudonym; pseudonyms are numbers);"
            " name another file"
        )
    if len({row[0] for row in rows}) < len(rows) or len({int(row[1]) for row in rows}) < len(rows):
        raise SpanLabError(f"{path} has a participant or a pseudonym twice")
    return {who: f"{int(number):03d}" for who, number in rows}


def _machine(info: SessionInfo) -> tuple[str, str]:
    """Machines of one name with other settings are others."""
    return _agent(info), info["agent_settings_hash"]


def _agent(info: SessionInfo) -> str:
    """Return the name of an agent, without folders, and without the participant whose answers a
    replay gives again."""
    kind = kind_named(info["agent_kind"])
    if kind.person or kind.role == "replay":
        return kind.name
    name, colon, rest = info["agent"].partition(":")
    return name + colon + re.split(r"[/\\]", rest.rstrip("/"))[-1]


def _machine_labels(infos: Sequence[SessionInfo], taken: set[str]) -> dict[tuple[str, str], str]:
    labels: dict[tuple[str, str], str] = {}
    used = {label.casefold() for label in taken}
    for machine in sorted({_machine(info) for info in infos if not kind_named(info["agent_kind"]).person}):
        stem = label = _alphanumeric(machine[0]) or "machine"
        number = 1
        while label.casefold() in used:
            number += 1
            label = f"{stem}v{number}"
        used.add(label.casefold())
        labels[machine] = label
    return labels


def _free_phases(value: object) -> Iterator[str]:
    """The phases with questions of which not all answers are foreseen."""
    if isinstance(value, Mapping):
        asked = value.get("ask")
        if isinstance(asked, Mapping) and not asked.keys() & _FORESEEN:
            yield str(value.get("phase"))
        yield from chain.from_iterable(map(_free_phases, value.values()))
    elif isinstance(value, Sequence) and not isinstance(value, str):
        yield from chain.from_iterable(map(_free_phases, value))


def _meaning(name: str, scored: Mapping[str, str] | None) -> tuple[str, str]:
    """Return the meaning and the unit of a column that is not declared."""
    what, _, rest = name.partition("_")
    if scored is not None:
        return scored["meaning"], scored["unit"]
    if what == "event":
        holds = event_meaning(name)
        return holds.meaning, holds.unit
    return (f"level of the factor {rest}" if what == "factor" else f"what the paradigm records as {rest}"), ""


def _alphanumeric(text: str) -> str:
    """Its letters and digits; words keep apart by a capital letter."""
    words = re.split(r"[^A-Za-z0-9]+", text)
    return words[0] + "".join(word[:1].upper() + word[1:] for word in words[1:])


def cell(value: Any, missing: str = "n/a") -> str:
    """A value as text for a table: numbers with a point, no tab and no end of a line."""
    if value is None or value == "":
        return missing
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (str, int, float)):
        return harmless(re.sub(r"[\t\r\n]+", " ", str(value)))
    return json.dumps(value, ensure_ascii=False)


def cells(name: str, values: Sequence[Any], missing: str = "n/a") -> list[str]:
    """The cells of a column, as :func:`cell` has them; what stands in many rows is made into text once."""
    if _holds_json(name):  # lists, and numbers beside truth values
        return [cell(value, missing) for value in values]
    known = {value: cell(value, missing) for value in {*values}}
    return [known[value] for value in values]


@lru_cache(maxsize=1 << 14)  # most values stand in many rows
def _read(text: str) -> Any:
    return json.loads(text)


@cache
def _holds_json(name: str) -> bool:
    return name in _JSON or name.startswith(FURTHER)
