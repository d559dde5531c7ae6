"""How far a study is, from the records alone: its sessions as they run (progress, accuracy, displays
and trigger codes), and who has finished what. Nothing is written."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

from ...core.errors import SpanLabError, in_number
from ..record.displays import implausible_in, read_displays, replacements
from ..record.events import Event
from ..record.reader import (
    failed_trials,
    finished_scores,
    finished_trials,
    is_practice,
    quiz_on_record,
    read_events,
    read_session,
    trials_done,
)
from ..session import day_here, minute_here
from .known_states import KnownStates
from .participants import KINDS, PLACES, REFUSED, Person, group_counts, people, unknown
from .study import Study
from .visit_files import (
    all_taken,
    changed_at,
    completed,
    last_sign,
    read_head,
    read_journal,
    refused,
    runs,
    skipped,
    states,
)

#: Without a sign for so long (s), a session that is not over counts as silent: at a page, in a
#: break, or killed.
SILENT_S = 120.0
_UNFINISHED = ("running", "silent", "interrupted", "not begun")
#: Trials of which the latest accuracy is told.
LATEST = 10

State = Literal["running", "silent", "interrupted", "not begun", "dropped out", "refused", "unreadable", "finished"]
STATES: tuple[State, ...] = get_args(State)


@dataclass(frozen=True, slots=True)
class MonitoredSession:
    """One paradigm in a session of a study, as it is now.

    Parameters
    ----------
    participant, group, session : who, and which session of the study (with its run, where it was
        begun anew)
    paradigm : its name in the study; empty where no paradigm has begun
    done, planned : trials, practice apart; an adaptive session has so many at most
    practice : trials of practice that are finished
    right, items : of all finished trials, practice apart
    latest : share of right items in the latest trials; None before the first
    displays, off, worst_ms : displays with a planned duration, how many had another number of
        refreshes, and the largest deviation
    dropped : refreshes at which a frame was missing
    sent, unsent : trigger codes that the port took, and did not take
    sign : when something was last written (seconds since the epoch)
    note : what somebody should know
    timing : the verdict on the timing of a paradigm that is not running, if somebody judges it
    code : the completion code that was shown, and when
    standing : how the participant stands in this session of the study, where that is not the state
        of this paradigm
    """

    participant: str
    group: str
    session: str
    paradigm: str
    state: State
    sign: float
    done: int = 0
    planned: int = 0
    practice: int = 0
    right: int = 0
    items: int = 0
    latest: float | None = None
    displays: int = 0
    off: int = 0
    worst_ms: float = 0.0
    dropped: int = 0
    sent: int = 0
    unsent: int = 0
    note: str = ""
    timing: str = ""
    code: str = ""
    standing: State | None = None


#: gives the verdict on the timing of a session, in a few words; empty where nothing was timed
Judge = Callable[[Path], str]


class SessionReader:
    """Reads ordinary sessions again and again; a record that has not changed is not read twice.

    Parameters
    ----------
    judge : gives the verdict on the timing of sessions that are not running
    """

    def __init__(self, judge: Judge | None = None) -> None:
        self._judge = judge
        self._read: dict[Path, tuple[tuple[int, int], MonitoredSession]] = {}

    def look(self, folder: Path, identity: tuple[str, str, str], order: Sequence[str], now: float) -> MonitoredSession:
        """A session as it is now.

        Parameters
        ----------
        who : participant, group, session of the study
        order : of the paradigms in the session of the study
        """
        try:
            stat = (folder / "events.jsonl").stat()
            latest, size = self._read.get(folder), (stat.st_size, stat.st_mtime_ns)
            sign = stat.st_mtime
        except OSError:
            latest, size, sign = None, (0, 0), changed_at(folder)
        if latest is None or latest[0] != size:
            try:
                session = _watched(folder, identity, order, sign)
            except SpanLabError as error:
                return MonitoredSession(*identity, folder.name, "unreadable", sign, note=str(error))
            latest = self._read[folder] = (
                size,
                replace(session, timing="" if session.state == "running" else self._timing(folder)),
            )
        return _silent(latest[1]) if latest[1].state == "running" and now - sign > SILENT_S else latest[1]

    def _timing(self, folder: Path) -> str:
        try:
            return "" if self._judge is None else self._judge(folder)
        except SpanLabError:
            return "cannot be judged"


class ParadigmMonitor:
    """Reads the sessions of people with one paradigm, outside studies.

    Parameters
    ----------
    paradigm : its name
    data : data folder
    """

    def __init__(self, paradigm: str, data: Path, judge: Judge | None = None) -> None:
        self._data, self._names = data, re.compile(re.escape(paradigm) + r"-.*-s\d+(-\d+)?")
        self._reader = SessionReader(judge)
        self._who: dict[Path, str] = {}

    def look(self, now: float) -> list[MonitoredSession]:
        """Every session that a person has begun, the latest sign last."""
        folders = [
            path.parent for path in self._data.glob("[!.]*/session.json") if self._names.fullmatch(path.parent.name)
        ]
        sessions: list[MonitoredSession] = []
        for folder in folders:
            try:
                if folder not in self._who:
                    self._who[folder] = str(read_session(folder)["participant"])
                if self._who[folder]:
                    sessions.append(self._reader.look(folder, (self._who[folder], "", ""), (), now))
            except SpanLabError as error:
                sessions.append(
                    MonitoredSession(folder.name, "", "", "", "unreadable", changed_at(folder), note=str(error))
                )
        return sorted(sessions, key=lambda session: session.sign)


class Monitor:
    """Reads the sessions of a study again and again.

    Parameters
    ----------
    study : whose sessions
    data : data folder
    """

    def __init__(self, study: Study, data: Path, judge: Judge | None = None) -> None:
        self._study, self._folder = study, data / study.name
        self._reader = SessionReader(judge)
        self._heads: dict[Path, dict[str, Any]] = {}
        self._over: dict[Path, tuple[float, list[MonitoredSession]]] = {}

    def look(self, now: float) -> list[MonitoredSession]:
        """Every paradigm that has begun in any session of the study, the latest sign last.

        Parameters
        ----------
        now : seconds since the epoch
        """
        sessions: list[MonitoredSession] = []
        for person in (one for one in people(self._folder) if not one.withdrawn):
            for folder in () if person.name is None else runs(self._folder, person.name):
                try:
                    sessions += self._visit(folder, person, now)
                except SpanLabError as error:
                    sessions.append(
                        MonitoredSession(
                            folder.parent.name,
                            person.group,
                            folder.name,
                            "",
                            "unreadable",
                            changed_at(folder),
                            note=str(error),
                        )
                    )
        return sorted(sessions, key=lambda session: session.sign)

    def _visit(self, folder: Path, person: Person, now: float) -> list[MonitoredSession]:
        """The paradigms of one session of the study; one that is over is not read again until
        something is written in it."""
        over = self._over.get(folder)
        if over is not None and over[0] == last_sign(folder):
            return over[1]
        if folder not in self._heads:
            self._heads[folder] = read_head(folder)
        head, journal = self._heads[folder], read_journal(folder)
        identity = (head["participant"], person.group, _session_of(head))
        order = list(head["order"])
        sessions = [
            self._reader.look(path.parent, identity, order, now) for path in sorted(folder.glob("[!.]*/session.json"))
        ]
        happened = [line["event"] for line in journal]
        code = next((f"{line['code']}, {minute_here(line['at'])}" for line in journal if line["event"] == "code"), "")
        if date := refused(journal):
            return [
                *sessions,
                MonitoredSession(*identity, "", "refused", changed_at(folder), note=f"consent refused {date}"),
            ]
        dropped_out = self._gone(folder, person, now) and "finished" not in happened
        if not sessions:
            begun = f"begun {minute_here(journal[-1]['at'])}, no trial yet" if journal else "no trial yet"
            return [
                MonitoredSession(
                    *identity, "", "dropped out" if dropped_out else "not begun", changed_at(folder), note=begun
                )
            ]
        if dropped_out:
            return [
                replace(
                    session,
                    standing="dropped out",
                    state="dropped out" if session.state in _UNFINISHED else session.state,
                )
                for session in sessions
            ]
        latest = max(sessions, key=lambda session: session.sign)
        standing: State = latest.state
        if latest.state == "finished" and "finished" not in happened:
            standing = "silent" if now - last_sign(folder) > SILENT_S else "running"
        rows = [replace(session, standing=standing, code=code if session is latest else "") for session in sessions]
        flag = next((str(line.get("why", "")) for line in journal if line["event"] in ("flagged", "ended")), "")
        if flag:
            rows = [
                replace(row, note="; ".join(filter(None, (flag, row.note)))) if row.paradigm == latest.paradigm else row
                for row in rows
            ]
        if "finished" in happened:
            self._over[folder] = last_sign(folder), rows
        return rows

    def _gone(self, folder: Path, person: Person, now: float) -> bool:
        """Return whether the participant counts as a drop-out."""
        if person.left or self._study.drop_out_s is None:
            return bool(person.left)
        return now - last_sign(folder) > self._study.drop_out_s


def _silent(session: MonitoredSession) -> MonitoredSession:
    return replace(
        session, state="silent", note="; ".join(filter(None, (session.note, "at a page or in a break, or killed")))
    )


def _watched(folder: Path, identity: tuple[str, str, str], order: Sequence[str], sign: float) -> MonitoredSession:
    info, events = read_session(folder), read_events(folder)
    name = str((info.get("study") or {}).get("paradigm") or info["paradigm"])
    place = f" ({order.index(name) + 1} of {len(order)})" if name in order and len(order) > 1 else ""
    done, to_do = trials_done(info, events)
    state, why = _state(events, to_do)
    scores = {key: of_trial for key, of_trial in finished_scores(events).items() if not is_practice(key)}
    items = [
        [score["correct"] for score in of_trial if score["correct_answer"] is not None] for of_trial in scores.values()
    ]
    latest = [item for of_trial in items[-LATEST:] for item in of_trial]
    shown = read_displays(events)
    triggers = [event["sent_ms"] is not None for event in events if event["event"] == "trigger"]
    return MonitoredSession(
        *identity,
        f"{name}{place}",
        state,
        sign,
        done=done,
        planned=len(info["plan"]),
        practice=sum(map(is_practice, finished_trials(events))),
        right=sum(bool(item) for of_trial in items for item in of_trial),
        items=sum(map(len, items)),
        latest=sum(map(bool, latest)) / len(latest) if latest else None,
        displays=len(shown.timed),
        off=sum(display.off != 0 for display in shown.timed),
        worst_ms=max((display.shown_ms - display.planned_ms for display in shown.timed), key=abs, default=0.0),
        dropped=shown.dropped,
        sent=sum(triggers),
        unsent=len(triggers) - sum(triggers),
        note="; ".join(filter(None, [why, *_notes(info, events)])),
    )


def _state(events: Sequence[Event], to_do: int) -> tuple[State, str]:
    """The state of a session, and why it was interrupted."""
    stopped = next(
        (
            event
            for event in reversed(events)
            if event["event"] in ("interrupted", "resumed", "session_start", "session_end")
        ),
        None,
    )
    if not to_do or any(event["event"] == "session_end" for event in events):
        return "finished", ""
    if stopped is not None and stopped["event"] == "interrupted":
        return "interrupted", str(stopped.get("why", ""))
    return "running", ""


def _notes(info: Mapping[str, Any], events: Sequence[Event]) -> Iterator[str]:
    """The facts about a session that its assistant should know."""
    resumed = sum(event["event"] == "resumed" for event in events)
    if resumed:
        yield f"resumed {'once' if resumed == 1 else f'{resumed} times'}"
    if failed := len(failed_trials(events)):
        yield f"{failed} failed"
    implausible = {
        (event["trial"], event["attempt"]) for event in events if event["event"] == "step" and implausible_in(event)
    }
    if implausible:
        yield f"{len(implausible)} with times that cannot be true"
    if replaced := replacements(events):
        yield f"{replaced} replaced"
    quiz = quiz_on_record(info, events)
    if quiz is not None and quiz.attempts:
        yield quiz.describe()


#: All columns; those without a value in any row are left out.
HEADER = (
    *("participant", "group", "session", "paradigm", "state", "trials", "right", "latest"),
    *("displays off", "worst", "dropped", "timing", "triggers", "last sign", "code", "note"),
)
_DAY_S = 24 * 3600.0


@dataclass(frozen=True, slots=True)
class MonitorTable:
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


def table_of(sessions: Sequence[MonitoredSession], now: float, everything: bool) -> MonitorTable:
    """The table of what was seen; without ``everything``, of what recorded anything in the last 24 hours."""
    recent = [session for session in sessions if everything or now - session.sign < _DAY_S]
    rows = [_row(session, now) for session in recent]
    columns = [at for at in range(len(HEADER)) if any(row[at] for row in rows)]
    header, cells = tuple(HEADER[at] for at in columns), tuple(tuple(row[at] for at in columns) for row in rows)
    return MonitorTable(header, cells, tuple(session.state for session in recent), len(sessions) - len(recent))


def standing_by_person(sessions: Iterable[MonitoredSession]) -> dict[str, State]:
    """The state of each person: that of the session of the study with the latest sign."""
    return {
        session.participant: session.standing or session.state
        for session in sorted(sessions, key=lambda session: session.sign)
    }


def standings(sessions: Iterable[MonitoredSession]) -> dict[State, int]:
    """Count the people in each state."""
    everybody = list(standing_by_person(sessions).values())
    return {state: everybody.count(state) for state in STATES}


def describe_standings(counts: Mapping[State, int]) -> str:
    """The counts in words: ``3 running, 1 dropped out, 40 finished``."""
    return ", ".join(f"{counts[state]} {state}" for state in STATES if counts[state])


def _row(session: MonitoredSession, now: float) -> tuple[str, ...]:
    trials = f"{session.done}/{session.planned}" if session.planned else ""
    if session.practice and not session.done and session.state != "finished":
        trials += f" (practice: {session.practice})"
    codes = f"{session.sent} sent" if session.sent or session.unsent else ""
    if session.unsent:
        codes += f", {session.unsent} NOT sent"
    shown = ["", "", ""]
    if session.displays:
        shown = [f"{session.off} of {session.displays}", f"{session.worst_ms:+.1f} ms", str(session.dropped)]
    return (
        session.participant,
        session.group,
        session.session,
        session.paradigm,
        session.state,
        trials,
        f"{session.right / session.items:.0%}" if session.items else "",
        f"{session.latest:.0%}" if session.latest is not None else "",
        *shown,
        session.timing,
        codes,
        f"{duration(max(0.0, now - session.sign))} ago",
        session.code,
        session.note,
    )


def duration(seconds: float) -> str:
    """``40 s``, ``12 min``, ``3 h``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.0f} h"


# -- who has finished what ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StudyOverview:
    """A table of participants by sessions by paradigms.

    A cell holds trials done of trials planned (of a staircase that is over, those that were taken);
    ``-`` where a paradigm of the session has not begun, nothing where the session has none such.
    ``checks`` counts the attention checks that were answered correctly, of all that were asked.
    """

    study: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    summary: str


def overview(study: Study, data: Path) -> StudyOverview:
    """The progress of everybody; for a damaged record, what is wrong with it.

    Raises
    ------
    SpanLabError
        when nobody knows who takes part, because their list is damaged.
    """
    folder = data / study.name
    names = [paradigm.name for paradigm in study.paradigms]
    rows: list[dict[str, str]] = []
    everybody = sorted(people(folder), key=lambda person: (KINDS.index(person.kind), person.number))
    through, known = 0, KnownStates(data, study.name)
    for person in everybody:
        visits = [] if person.withdrawn or person.name is None else runs(folder, person.name)
        who = {"no.": str(person.number), "participant": person.name or "", "group": person.group}
        try:
            of_person = [who | _of_visit(study, person, visit, known) for visit in visits]
            rows += of_person or [who | {"note": _about(person)}]
            finished = {row["session"].partition(" ")[0] for row in of_person if row["finished"] == "yes"}
            through += person.kind == "person" and len(finished) == len(study.sessions)
        except SpanLabError as error:  # one damaged file must not hide the others
            rows.append(who | {"note": str(error)})
    known.keep()
    rows += [
        {"no.": "?", "participant": name, "note": f"data that {PLACES} in {folder} does not know of"}
        for name in unknown(folder, everybody)
    ]
    columns = ["no.", "participant", "group", "session", "begun", *map(_column, names), "checks", "finished", "note"]
    if not study.groups:
        columns.remove("group")
    if not any(taken.paradigm.data.get("attention_checks") for taken in study.paradigms):
        columns.remove("checks")
    return StudyOverview(
        study.name,
        tuple(column.removeprefix(_PARADIGM) for column in columns),
        tuple(tuple(row.get(column, "") for column in columns) for row in rows),
        _summary(study, everybody, through),
    )


#: before the name of a paradigm, so that no other column has it
_PARADIGM = "paradigm "


def _column(paradigm: str) -> str:
    return f"{_PARADIGM}{paradigm}"


def _summary(study: Study, everybody: Sequence[Person], through: int) -> str:
    counted = [person for person in everybody if person.kind == "person"]
    withdrawn = sum(bool(person.withdrawn) for person in counted)
    others = "".join(
        f", {many} {kind}" for kind in KINDS[1:] if (many := sum(person.kind == kind for person in everybody))
    )
    summary = (
        f"{study.name}: {len(counted)} {in_number(len(counted), 'participant')}, {through} through with every"
        f" session, {withdrawn} withdrawn{others}"
    )
    if study.people is not None:
        summary += f"\nplaces: {sum(person.takes_part for person in counted)} of {study.people} taken"
    if study.groups:
        summary += f"\ngroups: {group_counts(study.groups, everybody)}"
    return summary


def _of_visit(study: Study, person: Person, folder: Path, known: KnownStates) -> dict[str, str]:
    """The cells about one session of the study."""
    head, progress, journal = read_head(folder), states(folder, known.state), read_journal(folder)
    gone = skipped(journal)
    names = [paradigm.name for paradigm in study.paradigms]
    cells = {
        **{_column(name): "-" for name in head["order"]},
        **{_column(name): "skipped" for name in gone},
        **{_column(name): state.progress for name, state in progress.items()},
    }
    notes = ["" if head["study_hash"] == study.hash else "older study file"]
    if date := refused(journal):
        notes.append(f"consent refused {date}")
    if person.left and person.why != REFUSED:  # a refusal of consent has a note of its own
        notes.append(f"{person.why} {day_here(person.left)}, the place is free")
    notes += [f"{name} {state.progress}" for name, state in progress.items() if name not in names]  # of an older file
    notes += [f"{name} skipped: {reason}" for name, reason in gone.items()]
    notes += [f"{line['paradigm']} taken again: {line['reason']}" for line in journal if line["event"] == "repeated"]
    notes += [f"{name}: {state.practice}" for name, state in progress.items() if state.practice]
    notes += [
        f"{name}: {state.quiz.describe()}"
        for name, state in progress.items()
        if state.quiz is not None and state.quiz.attempts
    ]
    right, asked = (sum(state.checks[part] for state in progress.values()) for part in (0, 1))
    return {
        "session": _session_of(head),
        "begun": day_here(head["created"]),
        **cells,
        "checks": f"{right}/{asked}" if asked else "",
        "finished": "yes" if all_taken(head["order"], progress, gone) else "no",
        "note": ", ".join(filter(None, [_about(person), *notes])),
    }


def _session_of(head: Mapping[str, Any]) -> str:
    """Which session of the study a visit is: ``2``, or ``2 (run 3)``."""
    return str(head["session"]) + (f" (run {head['run']})" if head["run"] > 1 else "")


def _about(person: Person) -> str:
    """Who is no ordinary participant, or has withdrawn."""
    notes = ["" if person.kind == "person" else person.kind]
    if person.withdrawn:
        # ordinary sessions are of a paradigm each; in this table a session is one of the study
        paradigms = f"{person.sessions} {in_number(person.sessions, 'paradigm')}"
        removed = f"data of {paradigms}" if person.sessions else "all data"
        notes.append(f"withdrew {day_here(person.withdrawn)}, {removed} removed")
    return ", ".join(filter(None, notes))


def finished_sessions(study_folder: Path, name: str) -> set[int]:
    """The sessions of the study that a participant has finished, in any of their runs."""
    return {read_head(folder)["session"] for folder in runs(study_folder, name) if completed(folder)}
