"""Stored replies, read again: what changes is told, a copy has it, and the original stays as it is."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import Run

from spanlab.agents.chat import READER
from spanlab.core import SpanLabError
from spanlab.sessions import read_responses

from ..rereading import reread, write_reread

GOLDEN = Path(__file__).resolve().parents[3] / "tests" / "golden" / "record"


@pytest.fixture
def session(tmp_path: Path) -> Path:
    """A copy of a session of a chat model: two lists of two items, four replies."""
    return shutil.copytree(GOLDEN / "vsr-chat-scripted-s31", tmp_path / "data" / "chat")


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


def test_replies_that_today_s_reader_has_read_are_read_as_they_were(session: Path, run: Run) -> None:
    again = reread(session)
    assert (len(again.replies), again.changes, again.right(now=True)) == (4, [], again.right(now=False))
    status, out, err = run("rescore", str(session.parent))
    assert (status, err) == (0, "")
    assert (
        out == f"{session}: every reply is read as it was, by a reader that the record does not name then and reader"
        f" {READER} now (4 replies)\n"
    )


def test_what_another_reader_recorded_is_read_otherwise_and_told(session: Path, tmp_path: Path, run: Run) -> None:
    edit(session, unread)
    before = files(session)
    status, out, _ = run("rescore", str(session), "-o", str(tmp_path / "again"))
    assert status == 0
    assert "1 of 4 replies are read otherwise" in out
    assert "of 4 items; unread 1 -> 0 replies" in out
    assert "  trial 1, question 1: unread -> 2   “2”\n" in out
    assert files(session) == before, "the original stays as it is"
    table = read_responses(tmp_path / "again" / "chat")
    assert table["outcome"].tolist() == ["answered"] * 4
    assert table["correct"].tolist() == read_responses(GOLDEN / "vsr-chat-scripted-s31")["correct"].tolist()
    info = json.loads((tmp_path / "again" / "chat" / "session.json").read_text(encoding="utf-8"))
    assert info["rescored"] == {
        "reader": READER,
        "read_by": None,
        "changed": [{"trial": "1", "question": 1, "before": None, "now": "2"}],
    }
    assert reread(tmp_path / "again" / "chat").changes == []


def test_an_answer_in_which_nothing_is_read_any_more_is_unread(session: Path) -> None:
    edit(session, lambda line: line.update(raw="I remember two patterns."))
    again = reread(session)
    assert [(change.before, change.now) for change in again.changes] == [("2", None)]
    assert (again.unread(now=False), again.unread(now=True)) == (0, 1)
    assert again.right(now=True)[0] == again.right(now=False)[0] - 1


def test_a_reply_that_another_model_has_read_stays(session: Path) -> None:
    edit(
        session,
        lambda line: (
            line.update(raw="the upper middle, I think"),
            line["notes"].update(judge=["2"], extraction="model"),
        )[0],
    )
    assert len(reread(session).replies) == 3


def test_a_question_that_need_not_have_been_asked_again_is_named(session: Path, run: Run) -> None:
    edit(session, lambda line: (unread(line), line["notes"].update(earlier_replies=["My answer: 2"], attempts=2))[0])
    _, _, err = run("rescore", str(session))
    assert "1 question was put again after a reply in which there is an answer now" in err


def test_a_copy_that_exists_and_a_session_without_replies_are_refused(session: Path, tmp_path: Path, run: Run) -> None:
    write_reread(reread(session), tmp_path / "again")
    with pytest.raises(SpanLabError, match="exists"):
        write_reread(reread(session), tmp_path / "again")
    with pytest.raises(SpanLabError, match="has no replies of a chat model"):
        reread(GOLDEN / "vsr-ideal-s11")
    status, _, err = run("rescore", str(GOLDEN / "vsr-ideal-s11"))
    assert status == 1
    assert "no session of a chat model in" in err
