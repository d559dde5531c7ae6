"""Stored replies, read again: what changes is told, a copy has it, and the original stays as it is."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import Run, output_of

from spanlab import replay
from spanlab.agents.chat import READER, ChatAgent, Outgoing, Reply, SendHook
from spanlab.core import SpanLabError
from spanlab.sessions import read_responses
from spanlab.sessions.transcripts.transcript import described, reread, write_reread


class Second(SendHook):
    """A model that answers 2."""

    name = "a hook of this test"

    async def send(self, request: Outgoing) -> Reply:
        return Reply(content="2", prompt_tokens=9, completion_tokens=1, latency_ms=0)


@pytest.fixture
def session(tmp_path: Path) -> Path:
    """A session of a chat model: two lists of two items, four replies."""
    return replay(
        "vsr",
        agent=ChatAgent("m", hook=Second()),
        trials=2,
        seed=31,
        levels={"list_length": [2]},
        data=tmp_path / "data",
    ).folder


def edit(session: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change the first step with a question, as an older reader would have recorded it."""
    lines = [json.loads(line) for line in (session / "events.jsonl").read_text(encoding="utf-8").splitlines()]
    change(next(line for line in lines if "ask" in line))
    (session / "events.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")


def unread(line: dict[str, Any]) -> None:
    line |= {"outcome": "invalid", "value": None}
    line["scores"][0] |= {"answer": None, "correct": False}


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def changes(session: Path) -> list[tuple[str | None, str | None]]:
    return [(one.before, one.now) for one in reread(session)[1] if one.changed]


def test_replies_of_this_reader_are_read_as_they_were(session: Path, run: Run) -> None:
    assert (len(reread(session)[1]), changes(session)) == (4, [])
    status, out, err = run("transcript", str(session), "--reread")
    assert (status, out, err) == (0, "every reply is read as it was (4 replies)\n", "")


def test_what_another_reader_recorded_is_read_otherwise_and_told(session: Path, tmp_path: Path, run: Run) -> None:
    right = read_responses(session)["correct"].tolist()
    edit(session, unread)
    before = files(session)
    out = output_of(*run("transcript", str(session), "--reread", "-o", str(tmp_path / "again")))
    assert "1 of 4 replies are read differently\n  trial 1, question 1: unread -> 2   “2”\n" in out
    assert files(session) == before, "the original stays as it is"
    table = read_responses(tmp_path / "again")
    assert table["outcome"].tolist() == ["answered"] * 4
    assert table["correct"].tolist() == right
    info = json.loads((tmp_path / "again" / "session.json").read_text(encoding="utf-8"))
    assert info["reread"]["reader"] == READER
    assert info["reread"]["changed"] == [{"trial": "1", "question": 1, "before": None, "now": "2"}]
    assert changes(tmp_path / "again") == []


def test_an_answer_in_which_nothing_is_read_any_more_is_unread(session: Path) -> None:
    edit(session, lambda line: line.update(raw="I remember two patterns."))
    assert changes(session) == [("2", None)]
    assert "2 -> unread" in described(reread(session)[1])


def test_a_reply_that_another_model_has_read_stays(session: Path) -> None:
    def judged(line: dict[str, Any]) -> None:
        line["raw"] = "the upper middle, I think"
        line["notes"].update(judge=["2"], extraction="model")

    edit(session, judged)
    assert len(reread(session)[1]) == 3


def test_a_copy_that_exists_and_a_session_without_replies_are_refused(session: Path, tmp_path: Path) -> None:
    write_reread(*reread(session), tmp_path / "again")
    with pytest.raises(SpanLabError, match="exists"):
        write_reread(*reread(session), tmp_path / "again")
    ideal = replay("vsr", agent="ideal", trials=1, seed=31, data=tmp_path / "data")
    with pytest.raises(SpanLabError, match="has no replies of a chat model"):
        reread(ideal.folder)
