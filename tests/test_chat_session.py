"""Whole sessions of a chat agent: several trials at once, an endpoint that fails half way, and the same table in the end."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from chat_servers import Answer, Request, forwarding, listening, real_cache, recording

from spanlab.agents.chat import Care, ChatAgent, ChatSettings, Endpoint
from spanlab.agents.chat.scripted_rules import demonstration_rules
from spanlab.agents.chat.scripted_server import LABEL, MODEL, ScriptedServer
from spanlab.errors import SpanLabError
from spanlab.paradigms import load_paradigm, plan_session
from spanlab.sessions import COLUMNS, Runner, begin, find_sessions, read_responses, read_session, reopen
from spanlab.sessions import Request as Wanted
from spanlab.sessions.record import read_events

VSR = load_paradigm("vsr")
PLAN = plan_session(VSR, seed=4, trials=16)
LASTING = [column.name for column in COLUMNS if not column.measured and column.name != "session"]
ASKS = sum(planned.levels["list_length"] for planned in PLAN)


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(demonstration_rules(lengths=()), cache=real_cache()) as running:
        yield running


def _agent(base_url: str, concurrency: int) -> ChatAgent:
    return ChatAgent(MODEL, ChatSettings(label=LABEL), Endpoint(base_url, key_variable=None), Care(concurrency=concurrency, max_retries=0))


def _table(folder: Path) -> pd.DataFrame:
    """The lasting columns, trial by trial."""
    return read_responses(folder).sort_values(["trial", "step"], ignore_index=True).reindex(columns=LASTING)


@pytest.fixture(scope="module")
def undisturbed(server: ScriptedServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    agent = _agent(server.base_url, concurrency=1)
    session = begin(tmp_path_factory.mktemp("data"), VSR, agent, PLAN, Wanted(seed=4))
    Runner(session, agent).run()
    return session.folder


def test_trials_at_once_give_the_same_table(server: ScriptedServer, undisturbed: Path, tmp_path: Path) -> None:
    agent = _agent(server.base_url, concurrency=8)
    session = begin(tmp_path, VSR, agent, PLAN, Wanted(seed=4))
    Runner(session, agent).run()
    pd.testing.assert_frame_equal(_table(session.folder), _table(undisturbed))
    assert len(_table(undisturbed)) == ASKS
    info = read_session(session.folder)
    assert (info["agent"], info["agent_kind"], info["label"], info["oracle"]) == ("chat:scripted", "chat", LABEL, False)
    assert info["apparatus"]["concurrency"] == 8


@pytest.mark.parametrize("concurrency", [1, 4])
def test_an_endpoint_that_fails_loses_nothing_and_repeats_only_what_was_in_flight(
    server: ScriptedServer, undisturbed: Path, tmp_path: Path, concurrency: int
) -> None:
    forward = forwarding(server.root)
    failing = itertools.cycle([False] * 17 + [True])  # every eighteenth request is refused for good

    def moody(request: Request) -> Answer:
        return (400, "application/json", b'{"error": {"message": "context too long"}}') if next(failing) else forward(request)

    with listening(moody) as tap:
        agent = _agent(tap.base_url, concurrency)
        session = begin(tmp_path, VSR, agent, PLAN, Wanted(seed=4))
        stops = 0
        while True:
            try:
                Runner(session, agent).run()
                break
            except SpanLabError as error:
                fault = str(error)
            assert "context too long" in fault
            stops += 1
            session, agent = reopen(session.folder), _agent(tap.base_url, concurrency)
    assert stops >= 3
    pd.testing.assert_frame_equal(_table(session.folder), _table(undisturbed))
    events = read_events(session.folder)
    asked = sum(event.get("note") == "request" for event in events)
    kept = [json.dumps(event["reply"]["request"]) + event["trial"] for event in events if event["event"] == "reply"]
    assert len(kept) == len(set(kept)) == ASKS, "no reply was paid for twice"
    # at each stop: the refused request, those under way, and one that begins before the others hear of it
    assert len(tap.requests) <= asked <= ASKS + stops * (concurrency + 1), "only requests in flight were repeated"


_PROGRAM = """
import sys
from pathlib import Path
from spanlab.agents.chat import Care, ChatAgent, ChatSettings, Endpoint
from spanlab.paradigms import load_paradigm, plan_session
from spanlab.sessions import Request, Runner, begin, find_sessions, reopen
data, base_url, trials = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
agent = ChatAgent("scripted", ChatSettings(), Endpoint(base_url, key_variable=None), Care(concurrency=3))
paradigm = load_paradigm("vsr")
folders = find_sessions([data]) if data.exists() and any(data.iterdir()) else []
session = reopen(folders[0]) if folders else begin(data, paradigm, agent, plan_session(paradigm, seed=4, trials=trials), Request(seed=4))
print("begun", flush=True)
Runner(session, agent).run()
"""


@pytest.mark.slow
def test_kills_lose_no_reply_and_change_no_answer(server: ScriptedServer, tmp_path: Path) -> None:
    trials, kills = 160, 12
    whole = plan_session(VSR, seed=4, trials=trials)
    random = np.random.RandomState(1)
    agent = _agent(server.base_url, concurrency=8)
    expected = begin(tmp_path / "undisturbed", VSR, agent, whole, Wanted(seed=4))
    Runner(expected, agent).run()
    with recording(server.root) as tap:
        killed = 0
        while True:
            process = subprocess.Popen([sys.executable, "-c", _PROGRAM, str(tmp_path / "killed"), tap.base_url, str(trials)], stdout=subprocess.PIPE)
            assert process.stdout is not None
            assert process.stdout.readline() == b"begun\n"
            try:
                process.wait(random.uniform(0.3, 1.2) if killed < kills else 300)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                killed += 1
                continue
            finally:
                process.stdout.close()
            break
        (folder,) = find_sessions([tmp_path / "killed"])
        sent = len(tap.requests)
    assert process.returncode == 0
    assert killed >= 5
    other = ["agent_settings_hash"]  # it carries no label here
    pd.testing.assert_frame_equal(_table(folder).drop(columns=other), _table(expected.folder).drop(columns=other))
    asks = sum(planned.levels["list_length"] for planned in whole)
    replies = [event for event in read_events(folder) if event["event"] == "reply"]
    assert len(replies) == asks
    assert asks <= sent <= asks + 3 * killed, "only requests in flight were paid for twice"
