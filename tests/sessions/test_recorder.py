"""The recorder: fast, in order, on the disk when it says so, and a sentence when it cannot."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from session_tools import Saying, SayingEpisode, start, take

from spanlab.agents.base import Response, TrialContext
from spanlab.agents.oracles import Chance
from spanlab.agents.payments import in_vain
from spanlab.core.errors import SpanLabError
from spanlab.paradigms import Percept, Truth, load_paradigm
from spanlab.sessions import Runner, read_responses, reopen
from spanlab.sessions.record.events import Event
from spanlab.sessions.record.reader import read_events, read_transcript
from spanlab.sessions.record.writer import Recorder, TrialJournal

VSR = load_paradigm("vsr")


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The size of a file at each time that it was brought to the disk."""
    real, sizes = os.fsync, list[int]()

    def fsync(descriptor: int) -> None:
        sizes.append(os.fstat(descriptor).st_size)
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    return sizes


def test_commit_returns_when_everything_before_it_is_on_the_disk(tmp_path: Path, synced: list[int]) -> None:
    recorder = Recorder(tmp_path)
    synced.clear()
    for n in range(1, 6):
        recorder.write(cast(Event, {"event": "note", "rows": n}))
        recorder.write(cast(Event, {"event": "note", "rows": -n}))
        recorder.commit()
        assert len(synced) == n
        assert synced[-1] == recorder.path.stat().st_size
        assert recorder.path.read_bytes().count(b"\n") == 2 * n
    recorder.finish()


def test_requests_without_a_reply_are_counted_per_attempt(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    for attempt in (1, 2):
        journal = TrialJournal(recorder, "1", attempt, [])
        for ask in range(1, 4):
            journal.begun({"ask": ask, "request": f"r{ask}"})
            if ask < 3:
                asyncio.run(
                    journal.keep(
                        {"ask": ask, "request": f"r{ask}", "sent": [], "reply": {"content": "", "latency_ms": 1.0}}
                    )
                )
    recorder.finish()
    assert in_vain(read_transcript(tmp_path)).count == 2


def test_every_trial_is_on_the_disk_before_the_next_begins(tmp_path: Path, synced: list[int]) -> None:
    finished = []
    session = start(tmp_path, VSR, Chance(), 5)
    log = session.folder / "events.jsonl"

    def tell(done: int, total: int) -> None:
        finished.append((done, log.read_bytes()[: synced[-1]].count(b'"trial_end"')))

    Runner(session, Chance(), tell).run()
    assert finished == [(n, n) for n in range(1, 6)]


def test_a_slow_disk_is_waited_for_between_trials_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, under_way = os.fsync, []
    session = start(tmp_path, VSR, Chance(), 5)
    log = session.folder / "events.jsonl"

    def slow(descriptor: int) -> None:
        written = log.read_bytes()
        under_way.append(written.count(b'"trial_start"') - written.count(b'"trial_end"'))
        time.sleep(0.05)
        real(descriptor)

    monkeypatch.setattr(os, "fsync", slow)
    Runner(session, Chance()).run()
    assert len(under_way) >= 5
    assert set(under_way) == {0}
    assert read_responses(session.folder)["trial"].nunique() == 5


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (float("nan"), "JSON compliant"),
        (np.int64(3), "int64"),
        ({1, 2}, "set"),
        ([1.0, float("inf")], "JSON compliant"),
    ],
)
def test_what_cannot_be_recorded_is_said_and_does_not_hang(tmp_path: Path, raw: Any, why: str) -> None:
    answers = 0

    def answer(*_: object) -> Response:
        nonlocal answers
        answers += 1
        return Response(0, raw=raw if answers > 6 else "key")

    session = start(tmp_path, VSR, Saying(answer), 4, levels={"list_length": [3]})
    with pytest.raises(SpanLabError, match=f"cannot be recorded .*{why}.* this is a fault of the agent"):
        Runner(session, Saying(answer)).run()
    assert list(read_responses(session.folder)["trial"].unique()) == [1, 2], "the finished trials are there"
    Runner(reopen(session.folder), Saying(lambda *_: Response(0))).run()
    assert read_responses(session.folder)["trial"].nunique() == 4


def test_a_disk_that_fails_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = Recorder(tmp_path)
    recorder.write({"event": "note"})
    recorder.commit()

    def broken(descriptor: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", broken)
    recorder.write({"event": "note"})
    for _ in range(2):
        with pytest.raises(
            SpanLabError, match=r"cannot write .*events.jsonl: Input/output error; free some space, or check the disk"
        ):
            recorder.commit()
    with pytest.raises(SpanLabError, match="cannot write"):
        recorder.write({"event": "note"})
    recorder.finish()
    recorder.finish()


def test_an_agent_that_breaks_the_protocol_is_named(tmp_path: Path) -> None:
    class Silent(Saying):
        def start(self, context: TrialContext) -> SayingEpisode:
            return Mute(self, [])

    class Mute(SayingEpisode):
        async def step(self, percept: Percept, truth: Truth | None = None) -> None:
            return None

    with pytest.raises(SpanLabError, match="the agent did not answer in step 4; this is a fault of the agent"):
        take(tmp_path, VSR, Silent(lambda *_: Response(0)), 1, levels={"list_length": [3]})


def test_a_crash_of_the_agent_is_no_answer(tmp_path: Path) -> None:
    """An error never turns into an omitted or invalid answer; the trial is taken again."""
    session = start(tmp_path, VSR, Saying(lambda *_: Response(0)), 3, levels={"list_length": [2]})
    calls = 0

    def answer(*_: object) -> Response:
        nonlocal calls
        calls += 1
        if calls == 4:
            raise ZeroDivisionError
        return Response(0)

    with pytest.raises(ZeroDivisionError):
        Runner(session, Saying(answer)).run()
    events = read_events(session.folder)
    assert events[-1]["event"] == "interrupted"
    assert events[-1]["why"] == "ZeroDivisionError"
    assert set(read_responses(session.folder)["trial"]) == {1}
    Runner(reopen(session.folder), Saying(answer)).run()
    table = read_responses(session.folder)
    assert set(table["outcome"]) == {"answered"}
    assert len(table) == 6
