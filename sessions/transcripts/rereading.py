"""Stored replies of a chat model, read again by the reader of this version: paid replies are never
bought twice."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...agents.base import Response
from ...agents.chat.messages import Reply
from ...agents.chat.reading.extraction import READER, read_reply
from ...agents.chat.settings import ChatSettings
from ...core.agent_kinds import kind_named
from ...core.atomic_files import json_line, whole_folder
from ...core.errors import SpanLabError
from ...core.registry import as_tuple
from ..record.reader import read_events, write_responses
from ..replaying import TakenTrial, taken_trials
from ..session import Session, same_trials, write_info
from ..trial_log import judge

_WIDTH = 60


@dataclass(frozen=True)
class Reread:
    """A step of a session, as it was recorded and as it is read now."""

    recorded: Mapping[str, Any]
    event: Mapping[str, Any]
    before: str | None
    now: str | None

    @property
    def changed(self) -> bool:
        """True if it is read otherwise than it was."""
        return (self.recorded["outcome"], self.recorded["value"]) != (self.event["outcome"], self.event["value"])


def reread(folder: Path) -> tuple[Session, list[Reread]]:
    """Read the replies of a session of a chat model again, practice excepted. What another model
    has read stays as that has read it, and of a question that was put again the last reply counts.

    Raises
    ------
    SpanLabError
        when it is not one, or its replies are not in its events.
    """
    session = same_trials(folder)
    if not kind_named(session.info["agent_kind"]).converses or "published" in session.info:
        raise SpanLabError(f"{folder} has no replies of a chat model that SpanLab has read")
    settings = ChatSettings.of_session(session.info)
    return session, [one for trial in taken_trials(session, read_events(folder)) for one in _steps(trial, settings)]


def _steps(trial: TakenTrial, settings: ChatSettings) -> list[Reread]:
    truths = {step.index + 1: step.truth for step in trial.trial.steps}
    steps: list[Reread] = []
    for percept, line in trial.steps:
        ask = percept.ask
        if ask is None or "ask" not in line or line["outcome"] not in ("answered", "invalid"):
            continue
        notes, raw = line["notes"], line["raw"] or ""
        reply = Reply(content=raw, finish_reason=notes.get("finish_reason"), latency_ms=None)
        _, reading = read_reply(ask.kind, reply, settings)
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
        steps.append(Reread(line, event, before, now))
    return steps


def write_reread(session: Session, replies: Sequence[Reread], place: Path) -> None:
    """Write a copy of the session in which the answers are those that are read now.

    Raises
    ------
    SpanLabError
        when the copy exists already, or cannot be written.
    """
    changes = [one for one in replies if one.changed]
    new = {_step_of(one.recorded): one.event for one in changes}
    told = [
        {"trial": one.event["trial"], "question": one.event["ask"], "before": one.before, "now": one.now}
        for one in changes
    ]
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with whole_folder(place) as copy:
            shutil.copytree(session.folder, copy, dirs_exist_ok=True)
            events = [new.get(_step_of(event), event) for event in map(dict, read_events(copy))]
            (copy / "events.jsonl").write_bytes(b"".join(map(json_line, events)))
            by = session.info.get("apparatus", {}).get("reader")
            write_info(copy, {**session.info, "reread": {"reader": READER, "read_by": by, "changed": told}})
            write_responses(copy)
    except OSError as error:
        raise SpanLabError(f"{place} cannot be written: {error.strerror or error}") from None


def _step_of(event: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return which step of which trial an event is about."""
    return event.get("trial"), event.get("attempt"), event.get("step")


def described(replies: Sequence[Reread]) -> str:
    """What is read otherwise than it was, in lines."""
    changes = [one for one in replies if one.changed]
    if not changes:
        return f"every reply is read as it was ({len(replies)} replies)"
    lines = [f"{len(changes)} of {len(replies)} replies are read otherwise"]
    for one in changes:
        text = " ".join((one.recorded["raw"] or "").split())
        said = text if len(text) <= _WIDTH else f"{text[: _WIDTH // 2]} … {text[-_WIDTH // 2 :]}"
        before, now = ("unread" if answer is None else answer for answer in (one.before, one.now))
        lines.append(f"  trial {one.event['trial']}, question {one.event['ask']}: {before} -> {now}   “{said}”")
    return "\n".join(lines)
