"""Whole sessions of a chat agent: several trials at once, an endpoint that fails half way, and the
same table in the end."""

from __future__ import annotations

import itertools
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from chat_chaos import session_table
from chat_servers import Answer, Request, Stub, forwarding, listening, stub
from effort import HANGS_S

from spanlab.agents.chat import ChatAgent, ChatSettings, Endpoint, RequestLimits
from spanlab.agents.payments import in_vain, refused
from spanlab.core.errors import SpanLabError
from spanlab.extensions.demonstration.scripted import LABEL, MODEL, ScriptedServer, demonstration_rules
from spanlab.paradigms import load_paradigm, plan_session
from spanlab.paradigms.language.schema import SessionDesign
from spanlab.sessions import Request as Wanted
from spanlab.sessions import Runner, begin, find_sessions, read_session, reopen
from spanlab.sessions.record.reader import read_events, read_transcript
from spanlab.sessions.record.transcript_file import TRANSCRIPTS

VSR = load_paradigm("vsr")
PLAN = plan_session(VSR, seed=4, trials=16, design=SessionDesign())
ASKS = sum(planned.levels["list_length"] for planned in PLAN)


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(demonstration_rules(lengths=())) as running:
        yield running


def _agent(base_url: str, concurrency: int) -> ChatAgent:
    return ChatAgent(
        MODEL,
        ChatSettings(label=LABEL),
        Endpoint(base_url, key_variable=None),
        RequestLimits(concurrency=concurrency, max_retries=0),
    )


@pytest.fixture(scope="module")
def undisturbed(server: ScriptedServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    agent = _agent(server.base_url, concurrency=1)
    session = begin(tmp_path_factory.mktemp("data"), VSR, agent, PLAN, Wanted(seed=4))
    Runner(session, agent).run()
    return session.folder


def test_trials_at_once_give_the_samesession_table(server: ScriptedServer, undisturbed: Path, tmp_path: Path) -> None:
    agent = _agent(server.base_url, concurrency=8)
    session = begin(tmp_path, VSR, agent, PLAN, Wanted(seed=4))
    Runner(session, agent).run()
    pd.testing.assert_frame_equal(session_table(session.folder), session_table(undisturbed))
    assert len(session_table(undisturbed)) == ASKS
    info = read_session(session.folder)
    assert (info["agent"], info["agent_kind"], info["label"], info["oracle"]) == ("chat:scripted", "chat", LABEL, False)
    assert info["apparatus"]["concurrency"] == 8


@pytest.mark.sampled(1)
@pytest.mark.parametrize("concurrency", [1, 4])
def test_an_endpoint_that_fails_loses_nothing_and_repeats_only_what_was_in_flight(
    server: ScriptedServer, undisturbed: Path, tmp_path: Path, concurrency: int
) -> None:
    forward = forwarding(server.root)
    failing = itertools.cycle([False] * 17 + [True])  # every eighteenth request is refused for good

    def moody(request: Request) -> Answer:
        return (402, "application/json", b'{"error": {"message": "pay first"}}') if next(failing) else forward(request)

    with listening(moody) as tap:
        agent = _agent(tap.base_url, concurrency)
        session, stops = begin(tmp_path, VSR, agent, PLAN, Wanted(seed=4)), 0
        while True:
            try:
                Runner(session, agent).run()
                break
            except SpanLabError as error:
                fault = str(error)
            assert "has no credit left (pay first)" in fault
            stops += 1
            session, agent = reopen(session.folder), _agent(tap.base_url, concurrency)
    assert stops >= 3
    pd.testing.assert_frame_equal(session_table(session.folder), session_table(undisturbed))
    lines = read_transcript(session.folder)
    kept = [(line["trial"], line["ask"]) for line in lines if "reply" in line]
    assert len(kept) == len(set(kept)) == ASKS, "no reply was paid for twice"
    # those under way were heard and kept, so that nothing is asked again but what was refused
    assert len(tap.requests) == sum("begun" in line for line in lines) == ASKS + refused(lines)
    assert stops <= refused(lines) <= stops * concurrency
    assert [event["paid_twice_at_most"] for event in read_events(session.folder) if event["event"] == "resumed"] == [
        0
    ] * stops, "nobody pays for a refusal"


# A process that is stopped in the middle

NBACK = load_paradigm("nback_verbal")
ANSWERS = ["m", "-", "I cannot say."]
_PROGRAM = """
import os, sys
from pathlib import Path
from spanlab.agents.chat import RequestLimits, ChatAgent, ChatSettings, Endpoint
from spanlab.paradigms import load_paradigm, plan_session
from spanlab.paradigms.language.schema import SessionDesign
from spanlab.sessions import Request, Runner, begin, find_sessions, reopen
data, base_url, blocks, concurrency = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
limits = RequestLimits(concurrency=concurrency)
if sys.argv[5:]:
    os.environ |= {"STUB_BASE_URL": base_url, "STUB_API_KEY": "none"}
    from spanlab.agents.chat.transport.inspect_hook import InspectHook
    agent = ChatAgent("any", ChatSettings(reask=0), request_limits=limits, hook=InspectHook("openai-api/stub/any"))
else:
    agent = ChatAgent("any", ChatSettings(reask=0), Endpoint(base_url, key_variable=None), limits)
paradigm = load_paradigm("nback_verbal")
plan = plan_session(paradigm, seed=4, levels={"block_length": [24]}, trials=blocks, design=SessionDesign())
folders = find_sessions([data]) if data.exists() and any(data.iterdir()) else []
session = reopen(folders[0]) if folders else begin(data, paradigm, agent, plan, Request(seed=4))
try:
    Runner(session, agent, say=lambda sentence: print(sentence, flush=True)).run()
except KeyboardInterrupt:
    sys.exit(130)
"""


def _start(server: Stub, data: Path, blocks: int, concurrency: int, inspect: bool = False) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", _PROGRAM, str(data), server.base_url, str(blocks), str(concurrency)]
    command += ["inspect"] * inspect
    hung_up = getattr(signal, "SIGHUP", None)
    before = (
        None if hung_up is None else signal.signal(hung_up, signal.SIG_DFL)
    )  # whoever runs these tests may ignore it (nohup), and children inherit that
    try:
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    finally:
        if hung_up is not None:
            signal.signal(hung_up, before)


def _when_answered(server: Stub, number: int, process: subprocess.Popen[str], what: str = "answered") -> bool:
    """Wait until the server has given so many replies; False when the process ends before."""
    while server.stats()[what] < number:
        if process.poll() is not None:
            return False
        time.sleep(0.01)
    return True


def _nback_agent(server: Stub, concurrency: int) -> ChatAgent:
    return ChatAgent(
        "any",
        ChatSettings(reask=0),
        Endpoint(server.base_url, key_variable=None),
        RequestLimits(concurrency=concurrency),
    )


def _run(
    data: Path, server: Stub, blocks: int, concurrency: int, progress: Callable[[int, int], None] | None = None
) -> Path:
    """The same session in this process."""
    agent = _nback_agent(server, concurrency)
    plan = plan_session(NBACK, seed=4, levels={"block_length": [24]}, trials=blocks, design=SessionDesign())
    session = begin(data, NBACK, agent, plan, Wanted(seed=4))
    Runner(session, agent, progress).run()
    return session.folder


def _undisturbed(data: Path, blocks: int, inspect: bool = False) -> pd.DataFrame:
    with stub(answers=ANSWERS) as server:
        if not inspect:
            return session_table(_run(data, server, blocks, 50))
        _start(server, data, blocks, 8, inspect).communicate()
    (folder,) = find_sessions([data])
    return session_table(folder)


def _kills(tmp_path: Path, blocks: int, concurrency: int, moments: Sequence[int], inspect: bool = False) -> None:
    expected, killed = _undisturbed(tmp_path / "undisturbed", blocks, inspect), 0
    with stub(answers=ANSWERS, delay_ms=20) as server:
        for moment in moments:
            process = _start(server, tmp_path / "killed", blocks, concurrency, inspect)
            if _when_answered(server, moment, process):
                process.kill()
                killed += 1
            process.communicate()
        process = _start(server, tmp_path / "killed", blocks, concurrency, inspect)
        assert process.communicate()[1] == "" or inspect, "inspect_ai may say something of its own"
        assert process.returncode == 0
        answered = server.stats()["answered"]
    assert killed == len(moments)
    (folder,) = find_sessions([tmp_path / "killed"])
    pd.testing.assert_frame_equal(session_table(folder), expected)
    lines = read_transcript(folder)
    kept = [(line["trial"], line["ask"]) for line in lines if "reply" in line]
    assert len(kept) == len(set(kept)) == 24 * blocks, "every reply once"
    assert answered - 24 * blocks <= in_vain(lines).count <= killed * concurrency, (
        "only requests in flight were repeated, and all of them are counted"
    )


@pytest.mark.slow
def test_kills_lose_no_reply_and_change_no_answer(tmp_path: Path) -> None:
    _kills(tmp_path, 8, 4, [30, 80, 150])


@pytest.mark.soak
@pytest.mark.slow
def test_twenty_kills_among_3600_calls_lose_no_reply_and_change_no_answer(tmp_path: Path) -> None:
    _kills(tmp_path, 150, 30, sorted(np.random.RandomState(1).choice(3500, 20, replace=False).tolist()))


@pytest.mark.slow
def test_ten_kills_of_a_session_through_inspect_lose_no_reply_and_change_no_answer(tmp_path: Path) -> None:
    pytest.importorskip("inspect_ai", reason="inspect_ai is not installed: nothing here shows that its bridge works")
    _kills(tmp_path, 25, 8, sorted(np.random.RandomState(2).choice(550, 10, replace=False).tolist()), inspect=True)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise there")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_the_end_of_a_program_or_of_its_terminal_is_as_ctrl_c(tmp_path: Path, number: signal.Signals) -> None:
    with stub(answers=ANSWERS, delay_ms=200) as server:
        process = _start(server, tmp_path / "stopped", 6, 4)
        _when_answered(server, 5, process)
        process.send_signal(number)
        assert process.communicate(timeout=HANGS_S) == ("finishing what is under way; Ctrl-C again stops at once\n", "")
        assert process.returncode == 130
        (folder,) = find_sessions([tmp_path / "stopped"])
        lines = read_transcript(folder)
        assert in_vain(lines).count == 0, "all that was under way is there"
        assert sum("reply" in line for line in lines) == server.stats()["answered"]
    assert read_events(folder)[-1]["event"] == "interrupted"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise there")
def test_ctrl_c_finishes_what_is_under_way_and_a_second_one_stops_at_once(tmp_path: Path) -> None:
    expected, data = _undisturbed(tmp_path / "undisturbed", 6), tmp_path / "stopped"
    with stub(answers=ANSWERS, delay_ms=300) as server:
        process = _start(server, data, 6, 4)
        _when_answered(server, 5, process)
        process.send_signal(signal.SIGINT)
        said, wrong = process.communicate(timeout=HANGS_S)
        assert (process.returncode, wrong) == (130, "")
        assert said == "finishing what is under way; Ctrl-C again stops at once\n"
        (folder,) = find_sessions([data])
        first = read_transcript(folder)
        assert in_vain(first).count == 0, "all that was under way is there"
        assert sum("reply" in line for line in first) == server.stats()["answered"]

    with stub(answers=ANSWERS, delay_ms=1500) as server:
        process = _start(server, data, 6, 4)
        _when_answered(server, 8, process, "requests")  # four are under way, whose replies are to take a while
        process.send_signal(signal.SIGINT)
        time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=HANGS_S)[1] == ""
        assert process.returncode == 130
        assert in_vain(read_transcript(folder)).count <= 4
        assert read_events(folder)[-1]["event"] == "interrupted"
    with stub(answers=ANSWERS) as server:
        Runner(reopen(folder), _nback_agent(server, 4)).run()
    pd.testing.assert_frame_equal(session_table(folder), expected)


# What was kept


def _stop(done: int, total: int) -> None:
    raise SpanLabError("enough")


@pytest.fixture(scope="module")
def _half(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, pd.DataFrame]:
    """A session that was stopped when its first trial was over; and the table of one that was not."""
    data = tmp_path_factory.mktemp("half")
    with stub(answers=ANSWERS) as server:
        whole = session_table(_run(data / "whole", server, 3, 2))
        with pytest.raises(SpanLabError, match="enough"):
            _run(data / "half", server, 3, 2, _stop)
    return find_sessions([data / "half"])[0], whole


@pytest.fixture
def half(_half: tuple[Path, pd.DataFrame], tmp_path: Path) -> tuple[Path, pd.DataFrame]:
    """A copy of it."""
    return shutil.copytree(_half[0], tmp_path / _half[0].name), _half[1]


def _forget_events(folder: Path) -> None:
    """As if nothing but the replies had come to the disk."""
    events = folder / "events.jsonl"
    events.write_text(events.read_text().splitlines()[0] + "\n")


def _go_on(folder: Path) -> int:
    """Finish a session; how many requests that takes."""
    with stub(answers=ANSWERS) as server:
        agent = ChatAgent(
            "any", ChatSettings(reask=0), Endpoint(server.base_url, key_variable=None), RequestLimits(concurrency=2)
        )
        Runner(reopen(folder), agent).run()
        return server.stats()["requests"]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("cut", [1, 20, 200])
def test_a_transcript_that_was_cut_off_loses_the_last_line_alone(half: tuple[Path, pd.DataFrame], cut: int) -> None:
    folder, expected = half
    file = folder / TRANSCRIPTS
    whole = file.read_bytes()
    _forget_events(folder)
    file.write_bytes(whole[:-cut])
    kept = sum("reply" in line for line in read_transcript(folder))
    assert kept == 47
    assert _go_on(folder) == 72 - kept
    pd.testing.assert_frame_equal(session_table(folder), expected)
    assert sum("reply" in line for line in read_transcript(folder)) == 72


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('"ask":1,', "", "'ask' is missing"),
        ('"trial":"1"', '"trial":1', "'trial' has the wrong form"),
        ('"trial":"1"', '"trial":"x"', "'trial' has the wrong form"),
        ('"reply":{', '"reply":[', "restore the file"),
    ],
)
def test_a_damaged_transcript_is_named(half: tuple[Path, pd.DataFrame], old: str, new: str, says: str) -> None:
    folder, _ = half
    file = folder / TRANSCRIPTS
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new, 1))
    with pytest.raises(
        SpanLabError, match=rf"transcripts.jsonl:\d+ is damaged.*{says}|transcripts.jsonl:\d+ is damaged; {says}"
    ):
        _go_on(folder)
