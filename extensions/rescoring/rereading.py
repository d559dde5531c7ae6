"""Answers that today's reader of replies reads in a recorded session of a chat model."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spanlab.agents import Response
from spanlab.agents.chat import READER, ChatSettings, Reply, read_reply
from spanlab.core import SpanLabError, as_tuple, json_line, whole_folder
from spanlab.sessions import Session, TakenTrial, judge, same_trials, taken_trials, write_info
from spanlab.sessions.record import read_events, write_responses


@dataclass(frozen=True)
class RereadReply:
    """A stored reply, read again.

    Parameters
    ----------
    trial, question, reply : where it was given, and its text
    before, now : the answers as they are written; None where there is none
    recorded, event : the step as it was recorded, and with the answer that is read now
    asked_again : whether the question was put again after an earlier reply in which there is an
        answer now
    """

    trial: str
    question: int
    reply: str
    before: str | None
    now: str | None
    recorded: dict[str, Any]
    event: dict[str, Any]
    asked_again: bool

    @property
    def changed(self) -> bool:
        """True if it is read otherwise than it was."""
        return (self.recorded["outcome"], self.recorded["value"]) != (self.event["outcome"], self.event["value"])


@dataclass(frozen=True)
class RereadSession:
    """A session whose stored replies were read again.

    Parameters
    ----------
    reader : by which they were read when they came; None where the record does not say
    feedback : whether its trials said whether answers were right; what they said stays
    """

    session: Session
    reader: int | None
    replies: Sequence[RereadReply]
    feedback: bool

    @property
    def folder(self) -> Path:
        """The folder of the session."""
        return self.session.folder

    @property
    def changes(self) -> list[RereadReply]:
        """The replies that are read otherwise than they were."""
        return [reply for reply in self.replies if reply.changed]

    def right(self, now: bool) -> tuple[int, int]:
        """Return how many items are right, of how many, as they are read now or as they were
        recorded."""
        scores = [score for reply in self.replies for score in (reply.event if now else reply.recorded)["scores"]]
        return sum(bool(score["correct"]) for score in scores), len(scores)

    def unread(self, now: bool) -> int:
        """Return how many replies have no answer, as they are read now or as they were recorded."""
        return sum((reply.event if now else reply.recorded)["outcome"] == "invalid" for reply in self.replies)


def reread(folder: Path) -> RereadSession:
    """Read the stored replies of a session of a chat model again, practice excepted.

    Raises
    ------
    SpanLabError
        when it is not one, or its replies are not in its events.
    """
    session = same_trials(folder)
    info = session.info
    if info["agent_kind"] != "chat" or "published" in info:
        raise SpanLabError(f"{folder} has no replies of a chat model that SpanLab has read")
    trials = list(taken_trials(session, read_events(folder)))
    settings = ChatSettings.of_session(info)
    replies = [reply for trial in trials for reply in _replies(trial, settings)]
    feedback = any("feedback" in line for trial in trials for _, line in trial.steps)
    return RereadSession(session, info.get("apparatus", {}).get("reader"), replies, feedback)


def _replies(trial: TakenTrial, settings: ChatSettings) -> Iterator[RereadReply]:
    """The replies of a trial, read again. What another model has read stays as that has read it."""
    truths = {step.index + 1: step.truth for step in trial.trial.steps}
    for percept, line in trial.steps:
        ask = percept.ask
        if ask is None or "ask" not in line or line["outcome"] not in ("answered", "invalid"):
            continue
        notes = line["notes"]
        _, reading = read_reply(ask.kind, _reply(line["raw"] or "", notes.get("finish_reason")), settings)
        if reading.value is None and notes.get("judge"):
            continue
        outcome = "invalid" if reading.value is None else "answered"
        judged = judge(ask, truths[line["step"]], Response(reading.value, line["rt_ms"], line["raw"], outcome, notes))
        changed = {
            **line,
            "outcome": judged.response.outcome,
            "value": judged.response.value,
            "notes": {**notes, "extraction": reading.how},
            "scores": [*judged.scores],
        }
        event = json.loads(json_line(changed))
        before, now = (
            None if step["outcome"] == "invalid" else ask.kind.write(as_tuple(step["value"])) for step in (line, event)
        )
        earlier = [read_reply(ask.kind, _reply(text, None), settings)[1] for text in notes.get("earlier_replies") or ()]
        yield RereadReply(
            trial.key,
            line["ask"],
            line["raw"] or "",
            before,
            now,
            dict(line),
            event,
            any(found.value is not None for found in earlier),
        )


def _step_of(event: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return which step of which trial an event is about."""
    return event.get("trial"), event.get("attempt"), event.get("step")


def _reply(text: str, finish_reason: str | None) -> Reply:
    return Reply(content=text, finish_reason=finish_reason, latency_ms=None)


def write_reread(session: RereadSession, output: Path) -> Path:
    """Write a copy of the session in which the answers are those that are read now; the original
    stays as it is.

    Parameters
    ----------
    output : folder of the copies

    Raises
    ------
    SpanLabError
        when the copy exists already, or cannot be written.
    """
    new = {_step_of(reply.recorded): reply.event for reply in session.changes}
    place = output / session.folder.name
    try:
        output.mkdir(parents=True, exist_ok=True)
        with whole_folder(place) as copy:
            shutil.copytree(session.folder, copy, dirs_exist_ok=True)
            events = [new.get(_step_of(event), event) for event in map(dict, read_events(copy))]
            (copy / "events.jsonl").write_bytes(b"".join(map(json_line, events)))
            changed = [
                {"trial": reply.trial, "question": reply.question, "before": reply.before, "now": reply.now}
                for reply in session.changes
            ]
            write_info(
                copy,
                {**session.session.info, "rescored": {"reader": READER, "read_by": session.reader, "changed": changed}},
            )
            if (session.folder / "responses.csv").exists():
                write_responses(copy)
    except OSError as error:
        raise SpanLabError(f"{place} cannot be written: {error.strerror or error}") from None
    return place
