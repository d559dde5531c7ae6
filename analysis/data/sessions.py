"""Read sessions for a comparison: their response tables, facts about each session, and the names of
everything that could not be read."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any, cast

import pandas as pd

from ...core.agent_kinds import PARTICIPANT, kind_named
from ...core.errors import SpanLabError, in_number
from ...core.json_values import as_list, as_object
from ...sessions.record.displays import Displays, read_displays
from ...sessions.record.events import Climbed, Event
from ...sessions.record.quiz import attention_checks
from ...sessions.record.reader import (
    failed_trials,
    find_sessions,
    is_finished,
    quiz_on_record,
    read_events,
    read_session,
    staircase_of,
)
from ...sessions.record.session_info import browser_of
from ...sessions.record.staircase import describe_span
from ...sessions.record.table import COLUMNS, JoinedTables, ResponseTable, read_table, response_table
from .coding import Declared
from .scoring import plural


@dataclass(frozen=True)
class Conduct:
    """Course of a session.

    Parameters
    ----------
    practice, quiz : whether they were passed at last; None where there were none that have ended
    checks, checked : attention checks that were answered correctly, and all that were asked
    cuts : trials that were cut off within a step and replaced, by the reason
    resumed : how often the session went on after it had ended early
    pauses, paused_ms : pauses between trials, and how long they were together
    """

    practice: bool | None = None
    quiz: bool | None = None
    checks: int = 0
    checked: int = 0
    cuts: Mapping[str, int] = field(default_factory=dict)
    resumed: int = 0
    pauses: int = 0
    paused_ms: float = 0.0

    @property
    def missed(self) -> tuple[str, ...]:
        """The checks that were not passed, in words."""
        checks = (f"{self.checks} of {self.checked} attention checks right",) if self.checks < self.checked else ()
        return (
            *["practice not passed"] * (self.practice is False),
            *["quiz not passed"] * (self.quiz is False),
            *checks,
        )

    @property
    def upsets(self) -> tuple[str, ...]:
        """The interruptions, in words."""
        cuts = tuple(
            f"{count} trial{'s' * (count != 1)} {_CUT.get(why, f'cut off ({why})')}"
            for why, count in sorted(self.cuts.items())
        )
        return (*cuts, *[f"resumed {self.resumed} time{'s' * (self.resumed != 1)}"] * bool(self.resumed))


#: what the record says of a trial that was cut off, in words
_CUT = {"paused": "paused", "hidden": "cut off by a hidden page", "reloaded": "cut off by reloading the page"}


def conduct_of(session: Mapping[str, Any], events: Sequence[Event]) -> Conduct:
    """Return the course of a session.

    Parameters
    ----------
    session : content of ``session.json``
    """
    practice = [event["passed"] for event in events if event["event"] == "practice"]
    quiz = quiz_on_record(session, events)
    pauses = [event.get("for_ms") or 0.0 for event in events if event["event"] == "break"]
    data = as_object(session.get("paradigm_data"))
    right, asked = attention_checks(session, events) if data.get("attention_checks") else (0, 0)
    return Conduct(
        practice=next(reversed(practice), None),
        quiz=None if quiz is None or not quiz.attempts else quiz.passed,
        checks=right,
        checked=asked,
        cuts=Counter(event["why"] for event in events if event["event"] == "trial_cut"),
        resumed=sum(event["event"] == "resumed" for event in events),
        pauses=len(pauses),
        paused_ms=sum(pauses),
    )


def responses_of(read: Iterable[tuple[str, Mapping[str, Any], ResponseTable]]) -> pd.DataFrame:
    """The response tables of sessions as one, in their order, without columns that have no value. ``session`` is
    the name of each, ``_number`` its number, and ``_check`` is true where questions test no memory: attention checks,
    quizzes, questionnaires.

    Parameters
    ----------
    read : name, content of ``session.json`` and response table of each session
    """
    every, frames = list[str](), list[pd.DataFrame]()
    alike: dict[tuple[bool | tuple[str, ...], object], tuple[list[int], JoinedTables]] = {}
    latest, which, joined = None, list[int](), JoinedTables()
    for number, (name, session, table) in enumerate(read):
        every.append(name)
        if table.num_rows:
            if latest != (kind := (_without_memory(session), table.schema)):  # a schema is slow to look up
                latest, (which, joined) = kind, alike.setdefault(kind, ([], JoinedTables()))
            which += [number] * table.num_rows
            joined.add(table)
    names = pd.Series(every).array
    for (phases, _), (which, joined) in alike.items():
        frame = (
            joined.frame()
            .dropna(axis="columns", how="all")
            .assign(**{"session": pd.Categorical(names[which]), "_number": which})
        )
        if phases is True:
            frame["_check"] = True
        elif phases and "phase" in frame.columns:
            frame["_check"] = frame["phase"].isin(phases)
        frames.append(frame)
    if not frames:
        return pd.DataFrame()
    kinds = [(name, kind) for frame in frames for name, kind in frame.dtypes.items()]
    for name in {name for name, _ in kinds} - {name for name, kind in kinds if kind != "category"}:
        # one below another, texts are kept once only where all have the same categories
        known = {word for frame in frames if name in frame.columns for word in frame[name].cat.categories}
        for frame in frames:
            frame[name] = pd.Categorical(frame.get(name, [None] * len(frame)), pd.Index(sorted(known), dtype="str"))
    return pd.concat(frames)[[*dict.fromkeys(name for name, _ in kinds)]].sort_values(
        "_number", kind="stable", ignore_index=True
    )


def _without_memory(session: Mapping[str, Any]) -> bool | tuple[str, ...]:
    """The phases of a session whose questions test no memory; true for all."""
    data = as_object(session.get("paradigm_data"))
    if session.get("quiz") is not None or data.get("questionnaire") is True:
        return True
    return tuple(data.get("attention_checks") or ())


@dataclass(frozen=True)
class SessionFacts:
    """Facts about a session.

    Parameters
    ----------
    folder, name : where it is and what it is called
    kind, agent, participant, paradigm : as recorded
    label : what figures must say of this agent, such as ``scripted server, not a model``; often
        empty
    oracle, pilot : as recorded
    title, instructions : of the paradigm, as told to people and models; empty when the record does
        not tell
    human : the published human data that belong to the paradigm (a name in ``human_data``); empty
        when there are none
    trials : trials (practice not counted) in the response table
    planned : trials planned, None when unknown
    started : wall-clock time of its first trial (UTC), or empty
    finished : whether the final table had been written
    timing : the displays of its window, None where none was shown in one for a given time
    failed : trials that failed (chat models), which are in no table: how many, by reason
    changing : whether instructions change with the conditions, so that those here are only the
        first trial's
    protocol : what practice and memory somebody had, for people and chat models; empty for others
    context : what prompt a chat model had, and whether the list was still in its context when it
        was asked; empty for others
    browser : where it was taken at a page in one; empty for all others
    conduct : how it went, as its events tell; of what has none, nothing went wrong
    model : the set file, its settings and the agent, where a session is of a set file: the same in
        all wordings and repeats; empty for others
    wording, repeat : which of the set file's wordings it had (empty for none), and which repeat it
        is
    declared : what the file of its paradigm says of conditions
    """

    folder: Path
    name: str
    kind: str
    agent: str
    participant: str
    paradigm: str
    label: str
    oracle: bool
    pilot: bool
    title: str
    instructions: str
    human: str
    trials: int
    planned: int | None
    started: str
    finished: bool
    timing: Displays | None
    failed: Mapping[str, int] = field(default_factory=dict)
    changing: bool = False
    protocol: str = ""
    context: str = ""
    browser: str = ""
    conduct: Conduct = field(default_factory=Conduct)
    model: str = ""
    wording: str = ""
    repeat: int = 1
    declared: Declared = field(default_factory=Declared)


@dataclass(frozen=True)
class SpanFacts:
    """The result of an adaptive session, which is a span and not a curve.

    Parameters
    ----------
    facts : of the session
    conditions : levels that all of its trials share, such as ``direction: backward``; often empty
    factor : whose levels followed from the answers, in words
    start : level of the first trial
    rule : span test or staircase
    result : what the staircase says of itself, None before the first trial is finished or where it
        cannot be known
    problem : why it cannot be known; empty otherwise
    """

    facts: SessionFacts
    conditions: str
    factor: str
    start: float
    rule: str
    result: Climbed | None
    over: bool
    problem: str = ""

    @property
    def sentence(self) -> str:
        """The span, or why there is none, as a sentence."""
        if self.problem:
            return self.problem
        if self.result is None:
            return "It has no finished trial, so there is no span."
        if not self.over:
            return f"It is unfinished ({plural(self.result['trials'], 'trial')} so far), so there is no span yet."
        text = describe_span(self.result)
        return f"{text[0].upper()}{text[1:]}."

    @property
    def left_out(self) -> str:
        """That the session is left out of curves, why, and its span."""
        return (
            f"Left out: {self.facts.folder} has an adaptive design. Its levels depended on its answers, so its curves"
            f" cannot be compared with others. {self.sentence}"
        )


@dataclass(frozen=True)
class Gathered:
    """All sessions of a comparison: one response table (``session`` made unique), facts per session
    in the same naming, problems in plain sentences, and the results of adaptive sessions, which are
    in no table."""

    responses: pd.DataFrame
    sessions: tuple[SessionFacts, ...]
    problems: tuple[str, ...]
    spans: tuple[SpanFacts, ...] = ()


@dataclass(frozen=True)
class Head:
    """A session that can be compared: its folder, its name (made unique) and the content of
    ``session.json``."""

    folder: Path
    name: str
    session: Mapping[str, Any]


def heads(paths: Iterable[str | Path]) -> tuple[list[Head], list[str]]:
    """The sessions among some folders, or in data folders, and in plain sentences what is none,
    damaged, or not to be compared."""
    sessions, adaptive, problems = _all_heads(paths)
    return sessions, [*problems, *(span_facts(head).left_out for head in adaptive)]


def _all_heads(paths: Iterable[str | Path]) -> tuple[list[Head], list[Head], list[str]]:
    """The sessions that can be compared, adaptive ones, and in plain sentences what is none or
    damaged."""
    folders, problems = _folders(paths)
    names: set[str] = set()
    texts: dict[str, Any] = {}  # of paradigms: ten thousand sessions of one hold it once
    sessions: list[Head] = []
    adaptive: list[Head] = []
    for folder in folders:
        try:
            session = read_session(folder)
        except DAMAGE as error:
            problems.append(left_out(folder, error))
            continue
        same = texts.setdefault(str(session.get("paradigm_hash")), session.get("paradigm_data"))
        if same == session.get("paradigm_data"):
            session["paradigm_data"] = same
        name = str(session.get("session") or folder.name)
        if isinstance(aside := session.get("set_aside"), Mapping):
            problems.append(
                f"Left out: {folder} was set aside, and its paradigm was taken again ({aside.get('reason')})."
            )
            continue
        if session.get("adaptive"):
            adaptive.append(Head(folder, name, session))
            continue
        if name in names:
            name = next(
                candidate for number in range(2, len(folders) + 2) if (candidate := f"{name} ({number})") not in names
            )
        names.add(name)
        sessions.append(Head(folder, name, session))
    return sessions, adaptive, problems


def span_facts(head: Head) -> SpanFacts:
    """The result of an adaptive session."""
    session, problem = head.session, ""
    try:
        events = read_events(head.folder)
        staircase = staircase_of(session, events)
    except DAMAGE:
        events, staircase, problem = [], None, "Its events cannot be read, so there is no span."
    starts = [event["started_at"] for event in events if event["event"] == "trial_start"]
    rule = as_object(session.get("adaptive"))
    return SpanFacts(
        facts=replace(
            facts_of(
                head, len(staircase.levels) if staircase is not None else 0, min(starts, default=""), _timing(events)
            ),
            conduct=conduct_of(session, events),
        ),
        conditions=_shared_levels(session),
        factor=str(rule.get("factor") or "level").replace("_", " "),
        start=float(rule.get("start") or 0),
        rule="span test" if rule.get("rule") == "span" else "staircase",
        result=staircase.summary() if staircase is not None and staircase.levels else None,
        over=staircase is not None and staircase.over,
        problem=problem,
    )


def _shared_levels(session: Mapping[str, Any]) -> str:
    """The levels that all planned trials share, the adaptive factor apart, in words."""
    planned = [as_object(trial.get("levels")) for trial in as_list(session.get("plan")) if isinstance(trial, Mapping)]
    if not planned:
        return ""
    moved = str((session.get("adaptive") or {}).get("factor"))
    factors = as_object(as_object(session.get("paradigm_data")).get("factors"))
    several = [
        name for name, levels in factors.items() if name != moved and not (isinstance(levels, list) and len(levels) < 2)
    ]
    shared = {
        name: planned[0][name]
        for name in several
        if name in planned[0] and all(levels.get(name) == planned[0][name] for levels in planned)
    }
    return ", ".join(f"{name.replace('_', ' ')}: {str(level).replace('_', ' ')}" for name, level in shared.items())


#: memory of earlier trials in words: of people, and of chat models that have as much of it
ONE_SITTING, WHOLE_BLOCK = "one sitting", "one conversation for each block"
#: What a chat model has when it is asked, unless its own notes took the place of what it was shown.
READABLE = "the list still in its context"
#: columns that only exclusion rules and exports need
_NOT_NEEDED = frozenset(column.name for column in COLUMNS if not column.loaded) - {"started_at"}
#: What a damaged file may raise; it must not hide the other sessions.
DAMAGE = (SpanLabError, OSError, ValueError, KeyError, TypeError, IndexError, AttributeError)


def left_out(folder: Path, error: Exception) -> str:
    """The sentence that a session cannot be read."""
    if isinstance(error, SpanLabError):
        return f"Left out: {error}"
    return f"Left out: {folder} is damaged and cannot be read ({type(error).__name__}: {error})"


def nothing_read(problems: Sequence[str]) -> SpanLabError:
    """The error for the case that no session could be read."""
    return SpanLabError(
        "no session could be read"
        + (":\n" + "\n".join(problems) if problems else "; give session folders or data folders")
    )


def gather(paths: Iterable[str | Path], spans_suffice: bool = False, whole: bool = True) -> Gathered:
    """Read session folders, or data folders full of them.

    What cannot be read is named in ``problems`` and left out. Unfinished sessions give their
    finished trials.

    Parameters
    ----------
    spans_suffice : whether adaptive sessions alone are enough to go on with; the response table
        then has no row
    whole : whether columns are read that effects and scores do not need

    Raises
    ------
    SpanLabError
        when nothing at all could be read.
    """
    session_heads, adaptive, problems = _all_heads(paths)
    spans = tuple(map(span_facts, adaptive))
    problems += [span.left_out for span in spans]
    first: list[tuple[str, ResponseTable]] = []
    known: list[tuple[Head, Displays | None, Counter[str] | None, Conduct]] = []
    told: list[list[str]] = [[]]

    def read() -> Iterator[tuple[str, Mapping[str, Any], ResponseTable]]:
        for head in session_heads:
            try:
                table = read_table(head.folder, without=() if whole else _NOT_NEEDED)
            except DAMAGE as error:
                told[-1].append(left_out(head.folder, error))
                continue
            try:
                events = read_events(head.folder)
                timing, failed = _timing(events), Counter(failed_trials(events).values())
                conduct = conduct_of(head.session, events)
            except SpanLabError as error:
                timing, failed, conduct = None, None, Conduct()
                told[-1].append(f"Timing unknown: {error}")
            known.append((head, timing, failed, conduct))
            told.append([])
            if not first:
                first.append((head.name, table))
            yield head.name, head.session, table

    responses = responses_of(read())
    trials, started = _trials_of(responses)
    sessions = [
        replace(facts_of(head, trials.get(number, 0), started.get(number, ""), timing, failed), conduct=conduct)
        for number, (head, timing, failed, conduct) in enumerate(known)
    ]
    for facts, before in zip_longest(sessions, told):
        problems += before + (unfinished(facts) if facts else [])
    if not sessions and spans and spans_suffice:
        return Gathered(response_table([]).to_pandas(), (), tuple(problems), spans)
    if not sessions:
        raise nothing_read(problems)
    if responses.empty:
        return Gathered(first[0][1].to_pandas().assign(session=first[0][0]), tuple(sessions), tuple(problems), spans)
    del responses["_number"]
    for column in first[0][1].column_names:
        if column not in responses.columns:
            responses[column] = None
    return Gathered(responses, tuple(sessions), tuple(problems), spans)


def _trials_of(responses: pd.DataFrame) -> tuple[dict[int, int], dict[int, str]]:
    """How many trials each session has, practice apart, and when the first of all began."""
    if "trial" not in responses.columns:
        return {}, {}
    real = responses
    if "practice" in responses.columns:
        real = responses[~responses["practice"].fillna(False).astype(bool)]
    trials = cast("dict[int, int]", real.groupby("_number")["trial"].nunique().to_dict())
    if "started_at" not in responses.columns:
        return trials, {}
    begun = responses[["_number", "started_at"]].dropna().astype({"started_at": "str"})
    return trials, cast("dict[int, str]", begun.groupby("_number")["started_at"].min().to_dict())


def unfinished(facts: SessionFacts) -> list[str]:
    """One sentence each if a session is unfinished or has failed trials; an empty list otherwise."""
    notes: list[str] = []
    of = f" of {facts.planned}" if facts.planned else ""
    if facts.failed:
        count = sum(facts.failed.values())
        reasons = "; ".join(f"{many:,} since {why}" for why, many in facts.failed.items())
        notes.append(
            f"Session {facts.name} ({facts.agent}, {facts.paradigm}): {count:,}{of} trials failed, and "
            f"{in_number(count, 'is', 'are')} left out ({reasons}). "
            "If trials are refused because of what they show, the remaining ones are a selection."
        )
    if facts.finished:
        return notes
    return [
        *notes,
        (
            f"Session {facts.name} ({facts.agent}, {facts.paradigm}) is unfinished: its"
            f" {plural(facts.trials, 'finished trial')}{of} {in_number(facts.trials, 'is', 'are')} used."
        ),
    ]


def _folders(paths: Iterable[str | Path]) -> tuple[list[Path], list[str]]:
    folders: dict[Path, Path] = {}
    problems: list[str] = []
    for path in paths:
        try:
            for folder in find_sessions([path]):
                folders.setdefault(folder.resolve(), folder)
        except SpanLabError as error:
            problems.append(str(error))
    return list(folders.values()), problems


def facts_of(
    head: Head, trials: int, started: str = "", timing: Displays | None = None, failed: Mapping[str, int] | None = None
) -> SessionFacts:
    """Facts from ``session.json`` and from the response table; what the record does not hold stays
    empty.

    Parameters
    ----------
    trials : in its table, practice apart
    started : when the first of them began
    timing : the displays of its window
    failed : trials that failed, by reason; as its account says when not given
    """
    session = head.session
    plan, data = session.get("plan"), session.get("paradigm_data")
    written = str(as_object(as_object(data).get("instructions")).get(str(session.get("language")), ""))
    several = (
        isinstance(plan, list) and len({str(trial.get("levels")) for trial in plan if isinstance(trial, Mapping)}) > 1
    )
    link = session.get("evaluation") or {}
    return SessionFacts(
        folder=head.folder,
        name=head.name,
        kind=str(session.get("agent_kind") or ""),
        agent=str(session.get("agent") or ""),
        participant=str(session.get("participant") or ""),
        paradigm=str(session.get("paradigm") or ""),
        label=str(session.get("label") or ""),
        oracle=bool(session.get("oracle")),
        pilot=bool(session.get("pilot")),
        title=str(session.get("paradigm_title") or ""),
        instructions=" ".join(str(session.get("instructions") or "").split()),
        human=str(session.get("human") or ""),
        trials=trials,
        planned=len(plan) if isinstance(plan, list) else None,
        started=started,
        finished=is_finished(head.folder),
        timing=timing,
        failed=failed if failed is not None else dict((session.get("account") or {}).get("failed") or {}),
        changing="{=" in written and several,
        protocol=_protocol(session),
        context=_context(session),
        browser=str(browser_of(session) or "") if kind_named(str(session.get("agent_kind") or "")).at_window else "",
        model=json.dumps([link.get(name) for name in ("set", "settings")] + [session.get("agent")]) if link else "",
        wording=str(link.get("wording") or ""),
        repeat=int(link.get("repeat") or 1),
        declared=Declared.read(data),
    )


def _protocol(session: Mapping[str, Any]) -> str:
    """Return what practice somebody had, and how far memory of earlier trials can reach, in words."""
    kind, settings = str(session.get("agent_kind") or ""), session.get("agent_settings") or {}
    feedback = ((session.get("paradigm_data") or {}).get("practice") or {}).get("feedback", True)
    practice = "practice with feedback" if feedback else "practice without feedback"
    if not session.get("practice"):
        practice = "no practice"
    if kind == PARTICIPANT.name:
        return f"{practice} and {ONE_SITTING}"
    if not kind_named(kind).converses:
        return ""
    count = settings.get("examples") or 0
    shown = f", {count} worked example{'s' * (count != 1)}" if count else ""
    window, whole = settings.get("conversation_window"), settings.get("conversation") == "session"
    memory = WHOLE_BLOCK if whole else "a conversation of its own for each trial"
    memory += f", of {window + 1} trials" if whole and window else ""
    return f"{practice}{shown} and {memory}"


def _context(session: Mapping[str, Any]) -> str:
    """Return what prompt a chat model had, what came between list and question, whether it could
    still read the list then, and where its trials come from."""
    if not kind_named(str(session.get("agent_kind") or "")).converses:
        return ""
    settings = as_object(session.get("agent_settings"))
    preset = f"the preset {settings['preset']}" if settings.get("preset") else ""
    prompt = preset or (
        "instructions in other words" if settings.get("instructions") else "the paradigm's instructions"
    )
    turns = ", one display a turn" if settings.get("delivery") == "acknowledged" else ""
    there = "nothing but its own notes of the list" if settings.get("notepad") else READABLE
    load, count = settings.get("retention_load") or 0, settings.get("interference") or 0
    filled = [
        *([f"a text of about {load:,} tokens"] if load else []),
        *([f"{count} sum{'s' * (count != 1)}"] if count else []),
    ]
    after = f", after {' and '.join(filled)}" if filled else ""
    draws = any(as_object(trial).get("draws") is not None for trial in as_list(session.get("plan")))
    source = "; its trials come from a file, and may be in its training data if they were published" if draws else ""
    return f"{prompt}{turns}, and, when asked, {there}{after}{source}"


def _timing(events: Sequence[Mapping[str, Any]]) -> Displays | None:
    if not any("shown" in event for event in events):
        return None  # nobody was at a window
    displays = read_displays(events)
    return displays if displays.runs else None
