"""Reading the record of a session, and how far the session has come according to it. Everything that
reads sessions starts here.

A session is one folder:

``session.json``
    who, what, the paradigm with its hash, seed, design, the planned trials, versions, display and
    agent settings; no secrets.
``events.jsonl``
    one line a step; the truth of what happened, from which everything else can be rebuilt.
``transcripts.jsonl``
    of chat models: one line a reply, with what was sent since the one before; on the disk before a
    reply is used.
``responses.csv``, ``responses.parquet``
    one row per answered item, written when the session is finished; the second where pyarrow is
    installed.
``states/``
    of networks, where they were asked for: the hidden states, in pieces.

The models declare what a file must hold; this is checked before anything relies on it, so that
damage is reported in a sentence.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, cast, get_args

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails, SchemaValidator, from_json

from ...core.atomic_files import read_lines
from ...core.errors import SpanLabError
from ...core.json_values import STRICT_JSON, as_object, grouped
from .events import AskedStep, Event, Score, TrialStart
from .further_events import FURTHER_EVENTS, tag_of
from .marking import fields_of, inner_models
from .quiz import QuizState, quiz_of
from .session_info import SessionInfo
from .staircase import Staircase, StaircaseRule
from .transcript_file import TRANSCRIPTS, Content, ReplyLine, SentLine, SentMessage

#: The version of this format.
FORMAT_VERSION = 1

#: how many folders deep sessions are looked for
_DEEPEST = 5


def read_session(folder: str | Path) -> SessionInfo:
    """The content of ``session.json``.

    Raises
    ------
    SpanLabError
        when the folder holds no readable session, or one of another format.
    """
    path = Path(folder) / "session.json"
    try:
        if not path.is_file():
            raise SpanLabError(f"{folder} is not a session: it has no session.json")
        session: object = json.loads(path.read_text(encoding="utf-8"), **STRICT_JSON)
    except (OSError, ValueError, RecursionError) as error:
        raise SpanLabError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    content = as_object(session)
    version = content.get("format_version")
    if not isinstance(version, int):
        raise SpanLabError(f"{path} is not the record of a session (it has no format_version)")
    if version != FORMAT_VERSION:
        raise SpanLabError(
            f"{path} was written by another spanlab (format {version}; this one reads format {FORMAT_VERSION}): update"
            " spanlab"
        )
    if damage := session_damage(content):
        raise SpanLabError(f"{path} is damaged ({damage}); restore it from a copy")
    return cast(SessionInfo, content)


def find_sessions(paths: Iterable[str | Path]) -> list[Path]:
    """Session folders among ``paths`` and, for data folders, in them and up to five levels below
    (studies keep theirs deeper); sorted, each once. Hidden folders are skipped.

    Raises
    ------
    SpanLabError
        for a path that holds no session.
    """
    folders: dict[Path, None] = {}
    for path in map(Path, paths):
        inside = [path] if os.path.exists(path / "session.json") else list(sessions_below(path))
        if not inside:
            raise SpanLabError(f"{path}: there is no session here (a session is a folder with a session.json)")
        folders |= dict.fromkeys(inside)
    return list(folders)


def sessions_below(path: Path) -> Iterator[Path]:
    """Session folders in a folder, and up to five levels below; sorted. Last come folders that may not be read, which
    may be sessions."""
    faults: list[OSError] = []
    for name, inner, files in os.walk(path, followlinks=True, onerror=faults.append):
        if "session.json" in files:
            yield Path(name)
            inner.clear()
        deepest = name.count(os.sep) - str(path).count(os.sep) >= _DEEPEST
        inner[:] = [] if deepest else sorted((one for one in inner if one[0] != "."), key=os.path.normcase)
    yield from (Path(fault.filename) for fault in faults if isinstance(fault, PermissionError))


def read_events(folder: str | Path) -> list[Event]:
    """Everything in ``events.jsonl``, in order. A last line that was cut off by a kill is left out;
    any other unreadable line is an error.

    Raises
    ------
    SpanLabError
        when a line other than the last is damaged.
    """
    path = Path(folder) / "events.jsonl"
    if not path.is_file():
        return []
    events: list[Event] = []
    fault = ""
    for number, line in enumerate(path.read_bytes().split(b"\n"), start=1):
        if not line.strip():
            continue
        content = _content(line)
        if not fault and _sound(content):
            events.append(cast(Event, content))
            continue
        if tag := _tag(content):
            try:
                _model(tag)
            except SpanLabError as error:
                raise SpanLabError(
                    f"{path}:{number}: {error}; install the package, or the newer spanlab, that has written it"
                ) from None
        if (damage := event_damage(content)) is not None:
            fault = fault or f"{path}:{number} is damaged{f' ({damage})' if content else ''}"
            continue
        event = cast(Event, content)
        # A kill may leave a half-written line; what is appended after it begins on a new line, and
        # says so.
        if fault and event["event"] not in ("resumed", "session_start"):
            raise SpanLabError(
                f"{fault}; restore the file from a copy, or remove this line (its trial then counts as unfinished, and"
                " is run again)"
            )
        fault = ""
        events.append(event)
    return events


def _content(line: bytes) -> object:
    """The content of a line; None where it is no JSON."""
    try:
        return from_json(line)
    except ValueError:
        with suppress(ValueError, RecursionError):  # half a surrogate pair, which only this one reads
            return json.loads(line)
    return None


def _sound(content: object) -> bool:
    """Return whether a line is an event that SpanLab itself declares, without damage."""
    fits = _own_checks().get(_tag(content) or "")
    return fits is not None and fits(content)


def seed_independent(session: Mapping[str, Any]) -> bool:
    """Return whether nothing about a participant can be read from the seed of a session, and from
    the identifiers of its trials.

    A seed that somebody gives may follow from an identifier or a number. Records of seeds that were
    drawn at random say so. A machine that repeats the trials of a session has that session's seeds.
    """
    origin = as_object(session.get("seed_from"))
    return bool(origin.get("independent")) or not (session.get("participant") or session.get("like"))


def trials_left(session: Mapping[str, Any], events: Iterable[Event]) -> int:
    """Count the planned trials (practice apart) that are neither finished nor marked as failed."""
    return trials_done(session, list(events))[1]


def trials_done(session: Mapping[str, Any], events: Sequence[Event]) -> tuple[int, int]:
    """Count the trials that are over, and as :func:`trials_left` those that are not."""
    staircase = staircase_of(session, events)
    if staircase is not None:
        taken = len(staircase.levels)
        return taken, 0 if staircase.over else max(0, staircase.rule.trials - taken - len(failed_trials(events)))
    if (quiz := quiz_on_record(session, events)) is not None:
        left = quiz.trials_left
    else:
        over = {*finished_trials(events), *failed_trials(events)}
        left = sum(trial_key(False, planned["trial"]) not in over for planned in session["plan"])
    return len(session["plan"]) - left, left


def quiz_on_record(session: Mapping[str, Any], events: Sequence[Event]) -> QuizState | None:
    """The state of a quiz after its finished trials; None for other sessions."""
    return quiz_of(session, finished_scores(events), events) if session.get("quiz") is not None else None


def staircase_of(session: Mapping[str, Any], events: Iterable[Event]) -> Staircase | None:
    """The staircase of an adaptive session after its finished trials; None for other sessions.

    Raises
    ------
    SpanLabError
        when a trial had another level than the staircase says.
    """
    if "adaptive" not in session:
        return None
    events = list(events)
    staircase = Staircase.begin(StaircaseRule.read(session["adaptive"]))
    scores, starts = finished_scores(events), trials_taken(events)
    for key in sorted((key for key in scores if not is_practice(key)), key=int):
        if starts[key]["levels"].get(staircase.rule.factor) != staircase.level:
            raise SpanLabError(
                f"the record of {session['session']} is damaged: trial {key} does not have the level that the staircase"
                " gives"
            )
        staircase.take(staircase.rule.correct(scores[key]))
    return staircase


def has_failed(folder: str | Path) -> bool:
    """Return whether a session has trials that failed."""
    path = Path(folder) / "events.jsonl"
    # of thousands of sessions few need to be read
    named = path.is_file() and b'"trial_failed"' in path.read_bytes()
    return named and bool(failed_trials(read_events(folder)))


def is_finished(folder: str | Path) -> bool:
    """Return whether the final response table of a session is there."""
    return (Path(folder) / "responses.csv").exists()


def trial_key(practice: bool, trial: int) -> str:
    """Return the name of a trial in events: ``12``, or ``p3`` for practice."""
    return f"p{trial}" if practice else str(trial)


def is_practice(key: str) -> bool:
    """Return whether a trial's name in the events belongs to practice."""
    return key.startswith("p")


def trial_number(key: str) -> int:
    """Return the number of a trial, from its name in the events; practice is numbered by itself."""
    return int(key.removeprefix("p"))


def finished_trials(events: Iterable[Event]) -> dict[str, int]:
    """The valid attempt at each finished trial: the first one with all of its steps."""
    steps: dict[tuple[str, int], int] = {}
    done: dict[str, int] = {}
    for event in events:
        if event["event"] == "trial_start":
            steps[event["trial"], event["attempt"]] = 0
        elif event["event"] == "step" and (attempt := (event["trial"], event["attempt"])) in steps:
            steps[attempt] += 1
        elif (
            event["event"] == "trial_end" and steps.get(attempt := (event["trial"], event["attempt"])) == event["steps"]
        ):
            done.setdefault(*attempt)
    return done


def trials_taken(events: Iterable[Event]) -> dict[str, TrialStart]:
    """The start event of each finished trial in its valid attempt: levels, seed, number of the
    attempt."""
    events = list(events)
    done = finished_trials(events)
    return {
        event["trial"]: event
        for event in events
        if event["event"] == "trial_start" and done.get(event["trial"]) == event["attempt"]
    }


def finished_scores(events: Iterable[Event]) -> dict[str, list[Score]]:
    """The scores of all answers in every finished trial."""
    done = finished_trials(events := list(events))
    scores: dict[str, list[Score]] = {key: [] for key in done}
    for event in events:
        if event["event"] == "step" and "ask" in event and done.get(event["trial"]) == event["attempt"]:
            scores[event["trial"]] += event["scores"]
    return scores


def failed_trials(events: Iterable[Event]) -> dict[str, str]:
    """The reason, as a sentence, for each trial that failed and was not finished later."""
    events = list(events)
    done = finished_trials(events)
    return {
        event["trial"]: event["why"]
        for event in events
        if event["event"] == "trial_failed" and event["trial"] not in done
    }


#: a step that asked something is of another model than one that did not
_ASKED = "step with a question"


def event_damage(event: object) -> str | None:
    """Return why a line of ``events.jsonl`` cannot be read, or None."""
    tag = _tag(event)
    if tag is None:
        return "it is not an event"
    try:
        return misfit(_model(tag), event)
    except SpanLabError as error:
        return str(error)


def _model(tag: str) -> type:
    """The model of an event.

    Raises
    ------
    SpanLabError
        when neither SpanLab nor a package that is installed declares it.
    """
    if model := _own_models().get(tag):
        return model
    try:
        return FURTHER_EVENTS.get(tag)
    except SpanLabError as error:
        raise error if error.__cause__ else SpanLabError(f"this version of spanlab knows no event '{tag}'") from None


@cache
def _own_models() -> Mapping[str, type]:
    return {_ASKED if model is AskedStep else tag_of(model): model for model in get_args(Event)}


@cache
def _own_checks() -> Mapping[str, Callable[[object], bool]]:
    return {tag: fitting(model) for tag, model in _own_models().items()}


def _tag(event: object) -> str | None:
    """Return the kind of an event; steps with a question are a kind of their own."""
    if not isinstance(event, dict):
        return None
    name = cast(dict[str, object], event).get("event")
    if not isinstance(name, str):
        return None
    return _ASKED if name == "step" and "ask" in event else name


def session_damage(session: Mapping[str, Any]) -> str | None:
    """Return why the content of ``session.json`` cannot be read, or None."""
    return misfit(SessionInfo, session)


def misfit(model: Any, value: object) -> str | None:
    """Return why a value does not fit a model: a key that is missing, of a wrong type, or unknown.
    None when it fits."""
    validator = _validator(model)
    if validator.isinstance_python(value):
        return None
    try:
        validator.validate_python(value)
    except ValidationError as error:
        return _sentence(error.errors(include_url=False)[0], _keys(model))
    return None


def fitting(model: Any) -> Callable[[object], bool]:
    """A fast function that tells whether a value fits a model."""
    return _validator(model).isinstance_python


@cache
def _validator(model: Any) -> SchemaValidator:
    return cast(SchemaValidator, TypeAdapter(model).validator)


@cache
def _keys(model: Any) -> frozenset[str]:
    """The names of all fields of a model, and of those in it."""
    return frozenset(_names(model))


def _names(type_: Any) -> Iterator[str]:
    for model in inner_models(type_):
        for field in fields_of(model):
            yield field.name
            yield from _names(field.type)


def _sentence(error: ErrorDetails, keys: frozenset[str]) -> str:
    kind, place = error["type"], error["loc"]
    if kind == "extra_forbidden":
        return f"this version of spanlab knows no key '{place[-1]}' there"
    key = next((step for step in reversed(place) if step in keys), None)
    if kind == "missing":
        return f"'{key}' is missing"
    if key is None:
        return "keys with values are missing"
    return f"'{key}' has the wrong form"


def _transcript_damage(line: Mapping[str, Any]) -> str | None:
    """Why a line of ``transcripts.jsonl`` cannot be read, or None."""
    without_reply = any(line.get(end) is True for end in ("begun", "gone", "refused", "lost", "unsent"))
    if damage := misfit(SentLine if without_reply else ReplyLine, line):
        return damage
    return None if without_reply else misfit(list[SentMessage], line["sent"]) or misfit(Content, line["reply"])


def read_transcript(folder: str | Path) -> list[dict[str, Any]]:
    """The lines of ``transcripts.jsonl``, in order; none when the session has no such file. A last
    line that was cut off by a kill is left out.

    Raises
    ------
    SpanLabError
        when any other line is damaged.
    """
    path = Path(folder) / TRANSCRIPTS
    lines = read_lines(path)
    for number, line in enumerate(lines, start=1):
        if damage := _transcript_damage(line):
            raise SpanLabError(
                f"{path}:{number} is damaged ({damage}); restore the file from a copy, or remove this line and those of"
                " its trial after it"
            )
    return lines


def is_reply(line: Mapping[str, Any]) -> bool:
    """Return whether a line keeps a reply."""
    return "reply" in line


def replies_by_trial(lines: Iterable[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    """Return the saved requests and replies of every trial, in order."""
    return grouped((line["trial"], line) for line in lines if is_reply(line))


#: the key under which is kept what an agent asks before the first trial
NO_TRIAL = "0"


@dataclass(frozen=True, slots=True)
class SessionState:
    """The state of a session by its record. Mappings are by the keys of trials.

    Parameters
    ----------
    events : all that happened
    finished : attempts at which trials were finished
    failed : reasons of trials that could not be had
    attempts : the last attempt at each trial that was begun
    replies : replies that were paid for, in order
    preparations : how often the agent was asked something before the first trial
    trial_ids : identities of the trials that were begun
    starts : the events with which trials began that were taken
    scores : scores of finished trials
    practised : whether practice is over
    decisions : what the assistant decided about practice, in order
    """

    events: Sequence[Event]
    finished: Mapping[str, int]
    failed: Mapping[str, str]
    attempts: Mapping[str, int]
    replies: Mapping[str, Sequence[Mapping[str, Any]]]
    preparations: int
    trial_ids: Mapping[str, str]
    starts: Mapping[str, TrialStart]
    scores: Mapping[str, Sequence[Mapping[str, Any]]]
    practised: bool
    decisions: Sequence[str]

    @classmethod
    def of(cls, events: Sequence[Event], lines: Sequence[Mapping[str, Any]], moved: bool = False) -> SessionState:
        """Read the state from the lines of a record.

        Parameters
        ----------
        events : of ``events.jsonl``
        lines : of ``transcripts.jsonl``
        moved : whether a trial that failed is asked for again at another place of its conversation,
            so that its replies do not count
        """
        attempts: dict[str, int] = {}
        for event in events:
            key, attempt = event.get("trial", ""), event.get("attempt")
            if attempt is not None:
                attempts[key] = max(attempt, attempts.get(key, 0))
        replies = replies_by_trial(lines)
        if moved:
            ends = {event["trial"]: event["attempt"] for event in events if event["event"] == "trial_failed"}
            replies = {
                key: [line for line in of_trial if line.get("attempt", 1) > ends.get(key, 0)]
                for key, of_trial in replies.items()
            }
        return cls(
            events,
            finished_trials(events),
            failed_trials(events),
            attempts,
            replies,
            max((line["attempt"] for line in lines if line["trial"] == NO_TRIAL), default=0),
            {event["trial"]: event["trial_id"] for event in events if event["event"] == "trial_start"},
            trials_taken(events),
            finished_scores(events),
            any(event["event"] == "practice" for event in events),
            [event["decided"] for event in events if event["event"] == "practice_decision"],
        )


class SessionLedger:
    """The record of an agent's requests, as :class:`..agents.base.Ledger` has it; files are read
    when they are asked for.

    Parameters
    ----------
    folder : of the session
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def info(self) -> Mapping[str, Any]:
        """The content of ``session.json``."""
        return dict(read_session(self.folder))

    @cached_property
    def events(self) -> Sequence[Event]:
        """The lines of ``events.jsonl``."""
        return read_events(self.folder)

    @cached_property
    def _lines(self) -> Sequence[Mapping[str, Any]]:
        return read_transcript(self.folder)

    @property
    def lines(self) -> Sequence[Mapping[str, Any]]:
        """The lines of ``transcripts.jsonl``."""
        return self._lines

    @property
    def replies(self) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        """The lines that keep a reply, by trial."""
        return replies_by_trial(self.lines)

    @property
    def failed(self) -> Mapping[str, str]:
        """The trials that failed, with the reasons."""
        return failed_trials(self.events)
