"""Answers of chat models, looked at: one table over all sessions of a folder, and each conversation
with its pictures, beside what others answered to the same questions. The page is the same in the app
and as a folder for colleagues, which needs no program."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from threading import Lock
from typing import Any

from spanlab.core import SpanLabError, kind_named, make_folder
from spanlab.core.kit import page_files
from spanlab.paradigms.language.yaml_source import titled
from spanlab.sessions import same_trials, taken_trials
from spanlab.sessions.record import Event, finished_trials, is_practice, read_events, read_session
from spanlab.sessions.transcripts import Transcript

from .index import SessionIndex, SessionLine
from .shown import answer_mark, given_answer, question_of
from .web import RefusedError, said_levels

#: so many letters of a reply stand in the table
_SHOWN = 160
#: the columns of the table
COLUMNS = (
    "session", "who", "kind", "paradigm", "levels", "trial", "question", "answer", "right_answer", "mark", "reply",
    "tokens_read", "tokens_written", "cost", "latency_ms",
)  # fmt: skip
Row = tuple[Any, ...]
#: what odd records raise when they are read
_ODD = (SpanLabError, OSError, LookupError, ValueError, TypeError, AttributeError)


@dataclass(frozen=True, slots=True)
class Answered:
    """The answers of a session.

    Parameters
    ----------
    line : of the session
    rows : of the table, in the order of :data:`COLUMNS`
    trials : by key, the identity of the trial and its questions as they were recorded
    """

    line: SessionLine
    rows: list[Row]
    trials: Mapping[str, tuple[str, list[Event]]]


class Replies:
    """The answers of the sessions of a folder, read again where a session has gone on.

    Parameters
    ----------
    index : of the folder
    only : of this session alone; of all when empty
    people : whether answers of people are among them, also those that a machine repeats
    language : of titles and levels
    """

    def __init__(self, index: SessionIndex, only: str = "", *, people: bool = True, language: str = "en") -> None:
        self._index, self.data, self._language = index, index.data, language
        self._only, self._people = only, people
        self._read: dict[str, Answered] = {}
        #: sessions that were left out, as they cannot be read
        self.unread: list[str] = []
        self._lock = Lock()

    def sessions(self) -> list[Answered]:
        """The answers of each session, the newest first; those of sessions that cannot be read are
        left out (``unread``)."""
        with self._lock:
            lines = [  # others than machines' own, of people and repeated from a record, where they are asked for
                line
                for line in self._index.lines()
                if self._people or (not line.participant and kind_named(line.kind).role not in ("person", "replay"))
            ]
            self.unread = [path for path in self._index.unread() if self._only in ("", path)]
            kept, self._read = self._read, {}
            for line in (line for line in lines if self._only in ("", line.path)):
                before = kept.get(line.path)
                try:
                    self._read[line.path] = (
                        before if before and before.line == line else _answered(self.data, line, self._language)
                    )
                except _ODD:
                    self.unread.append(line.path)
            return list(self._read.values())

    def table(self) -> list[dict[str, Any]]:
        """The table: a row for each answer of a chat model."""
        return [
            dict(zip(COLUMNS, row, strict=True))
            for one in self.sessions()
            if kind_named(one.line.kind).converses
            for row in one.rows
        ]

    def page_data(self) -> dict[str, Any]:
        """The table as the page has it, with the state by which it is seen that it has changed."""
        sessions = self.sessions()
        return {
            "columns": COLUMNS,
            "models": sorted({one.line.kind for one in sessions if kind_named(one.line.kind).converses}),
            "rows": [row for one in sessions for row in one.rows],
            "unread": self.unread,
            "state": self.state(),
        }

    def state(self) -> str:
        """By which it is seen that the table has changed."""
        return str(hash(tuple(one.line.state for one in self.sessions())))

    def conversation(self, path: str, key: str) -> dict[str, Any]:
        """A trial of a session: what was sent and replied, the questions with their right answers,
        and what everybody answered who took the same one.

        Raises
        ------
        SpanLabError
            when there is no such finished trial.
        """
        found = {one.line.path: one for one in self.sessions()}
        if path not in found or key not in found[path].trials:
            raise RefusedError("trial", session=path, trial=key)
        first, (trial_id, _) = found[path], found[path].trials[key]
        taken = _taken(str(self.data / path), first.line.state)[key]
        asked = [step for step in taken.trial.steps if step.percept.ask is not None]
        takers = [(first, key)]
        takers += (
            (one, its)
            for one in found.values()
            for its, (same, _) in one.trials.items()
            if same == trial_id and one is not first
        )
        return {
            "session": path,
            "trial": key,
            "who": first.line.who,
            "title": titled(first.line.titles, self._language),
            "levels": said_levels(taken.start["levels"], self._language),
            "questions": [question_of(step) for step in asked],
            "takers": [
                {
                    "who": one.line.who,
                    "session": one.line.path,
                    "trial": its,
                    "answers": [
                        given_answer(step.percept.ask, event)
                        for step, event in zip(asked, one.trials[its][1], strict=False)
                        if step.percept.ask is not None
                    ],
                }
                for one, its in takers
            ],
            "turns": (
                _transcript(str(self.data / path), first.line.state).talk(key).turns
                if kind_named(first.line.kind).converses
                else ()
            ),
        }


@lru_cache(maxsize=16)
def _taken(folder: str, state: str) -> Mapping[str, Any]:
    """The finished trials of a session by key, compiled anew."""
    return {trial.key: trial for trial in taken_trials(same_trials(folder), read_events(folder))}


@lru_cache(maxsize=16)
def _transcript(folder: str, state: str) -> Transcript:
    return Transcript(folder)


def _answered(data: Path, line: SessionLine, language: str) -> Answered:
    events, info = read_events(data / line.path), read_session(data / line.path)
    done = finished_trials(events)
    started = {event["trial"]: event for event in events if event["event"] == "trial_start"}
    trials: dict[str, tuple[str, list[Event]]] = {
        key: (str(started[key]["trial_id"]), [])
        for key in sorted(done, key=lambda key: (len(key), key))
        if key in started and not is_practice(key)
    }
    for event in events:
        if (
            event["event"] == "step"
            and "ask" in event
            and event["trial"] in trials
            and event["attempt"] == done[event["trial"]]
        ):
            trials[event["trial"]][1].append(event)
    prices = info.get("prices") or {}
    rows = [
        _row(line, key, said_levels(started[key]["levels"], language), event, prices)
        for key, (_, questions) in trials.items()
        for event in questions
    ]
    json.dumps(rows, ensure_ascii=False, allow_nan=False).encode()  # one value that no page can have would empty all
    return Answered(line, rows, trials)


def _row(
    line: SessionLine, key: str, levels: Mapping[str, str], event: Mapping[str, Any], prices: Mapping[str, float]
) -> Row:
    notes, scores = event["notes"], event["scores"]
    read, written = notes.get("prompt_tokens"), notes.get("completion_tokens")
    cost = None
    if prices and read is not None:
        cost = (read * prices["input"] + (written or 0) * prices["output"]) / 1e6
    return (
        line.path,
        line.who,
        line.kind,
        line.paradigm,
        ", ".join(f"{name} {level}" for name, level in levels.items()),
        key,
        event["ask"],
        _said(event["value"], scores),
        " ".join(_said(score["correct_answer"], [score]) for score in scores),
        answer_mark(event),
        " ".join((event["raw"] or "").split())[:_SHOWN] if isinstance(event["raw"], str) else "",
        read,
        written,
        cost,
        notes.get("latency_ms", event["rt_ms"]),
    )


def _said(value: Any, scores: Sequence[Mapping[str, Any]]) -> str:
    """An answer as people and models write it: places count from 1, but not the values of a scale."""
    if isinstance(value, list | tuple):
        return " ".join(_said(one, scores) for one in value)
    on_a_scale = any(score.get("period") is not None or score.get("scale_from") is not None for score in scores)
    if isinstance(value, int) and not on_a_scale:
        return str(value + 1)
    return "" if value is None else str(value)


def write_bundle(replies: Replies, page: str, talk: Callable[[str, str], str], output: Path) -> list[str]:
    """Write the page with all its conversations as files that open without a program, and return
    what is left out, as it cannot be read.

    Parameters
    ----------
    page : the page, which asks for its data by scripts beside it
    talk : gives the conversation of a session's trial, as the page shows it

    Raises
    ------
    SpanLabError
        when the folder cannot be written.
    """
    make_folder(output / "data", f"the page to {output}", "choose another folder with -o")
    try:
        for name, (content, _) in page_files("spanlab.extensions.app").items():
            if name in ("kit.css", "app.css") or name.endswith(".ttf"):
                (output / name).write_bytes(content)
        (output / "replies.js").write_text(_one_script(), encoding="utf-8")
        # a folder that cannot be read may be a person's, and have their code as its name
        _write_data(output, "table", {**replies.page_data(), "unread": []})
        left_out = replies.unread
        for one in replies.sessions():
            for key in one.trials:
                try:
                    said = talk(one.line.path, key)
                except _ODD:
                    left_out.append(f"{one.line.path}/{key}")
                else:
                    _write_data(output, f"{one.line.path}/{key}", said)
        (output / "index.html").write_text(page, encoding="utf-8")
    except OSError as error:
        raise SpanLabError(f"{output} cannot be written: {error.strerror or error}") from None
    return left_out


def _write_data(output: Path, name: str, value: Any) -> None:
    """Write data as a script: pages that are files may load no data otherwise."""
    path = output / "data" / f"{name}.js"
    path.parent.mkdir(parents=True, exist_ok=True)
    said = json.dumps(value, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    path.write_text(f"spanlabData({json.dumps(name)}, {said});\n", encoding="utf-8")


def _one_script() -> str:
    """The page's script with the kit in it: pages that are files may load no modules."""
    kit = (files("spanlab.core.kit") / "kit.js").read_text("utf-8").replace("export ", "")
    own = (files("spanlab.extensions.app") / "page" / "replies.js").read_text("utf-8")
    return "".join(
        ["{\n", kit, *(line for line in own.splitlines(keepends=True) if not line.startswith("import ")), "}\n"]
    )
