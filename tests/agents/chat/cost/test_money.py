"""Money to the request: a program is killed again and again before a server that fails three times
in ten, and the account is the server's own count."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from chat_chaos import ANSWERS, CHAOS, session_table
from chat_program import PROGRAM
from chat_servers import Stub, stub

from spanlab.agents.chat import ChatAgent, ChatSettings, Endpoint, RequestLimits
from spanlab.paradigms import load_paradigm, plan_session
from spanlab.paradigms.language.schema import SessionDesign
from spanlab.sessions import Request, Runner, begin, find_sessions
from spanlab.sessions.record.reader import read_transcript
from spanlab.sessions.transcripts.transcript import Transcript

NBACK = load_paradigm("nback_verbal")


def _start(server: Stub, data: Path, blocks: int, concurrency: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", PROGRAM, str(data), server.base_url, str(blocks), str(concurrency)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def _killed_at(server: Stub, process: subprocess.Popen[str], answered: int) -> bool:
    """Kill a program when the server has given so many replies; False when it was over before."""
    while server.stats()["answered"] < answered:
        if process.poll() is not None:
            return False
        time.sleep(0.01)
    process.kill()
    return True


def _account_is_the_servers_count(tmp_path: Path, blocks: int, concurrency: int, moments: list[int]) -> None:
    with stub(answers=ANSWERS) as calm:
        agent = ChatAgent(
            "any",
            ChatSettings(reask=0),
            Endpoint(calm.base_url, key_variable=None),
            RequestLimits(concurrency=concurrency),
        )
        plan = plan_session(NBACK, seed=4, levels={"block_length": [24]}, trials=blocks, design=SessionDesign())
        undisturbed = begin(tmp_path / "calm", NBACK, agent, plan, Request(seed=4))
        Runner(undisturbed, agent).run()
    killed = 0
    with stub(answers=ANSWERS, faults=CHAOS, seed=7, delay_ms=20) as server:
        for moment in moments:
            process = _start(server, tmp_path / "killed", blocks, concurrency)
            killed += _killed_at(server, process, moment)
            process.communicate()
        process = _start(server, tmp_path / "killed", blocks, concurrency)
        assert process.communicate()[1] == ""
        assert process.returncode == 0
        stats = server.stats()
    assert killed == len(moments)
    (folder,) = find_sessions([tmp_path / "killed"])
    columns = session_table(folder).columns.difference(["agent_settings_hash"])
    assert session_table(folder)[columns].equals(session_table(undisturbed.folder)[columns])

    account, kinds = Transcript(folder).account(), stats["kinds"]
    in_flight = killed * concurrency
    # a kill may come in the microseconds between the two notes of a departure, and is named then
    assert account["requests"] - account["in_doubt"] <= stats["requests"] <= account["requests"]
    assert account["in_doubt"] <= max(1, killed // 5), "no kill leaves more than one in doubt, and few leave any"
    assert account["requests"] == account["replies"] + account["refused"] + account["paid_twice_at_most"]
    assert account["replies"] == 24 * blocks
    refusals = sum(kinds.get(kind, 0) for kind in ("429", "429-after", "429-ms", "500", "503"))
    assert refusals - in_flight <= account["refused"] <= refusals
    broken = sum(kinds.get(kind, 0) for kind in ("reset", "silent", "cut", "truncated", "hollow"))
    assert stats["answered"] - account["replies"] + broken <= account["paid_twice_at_most"], (
        "nothing that was paid for is left out"
    )
    assert account["paid_twice_at_most"] <= broken + in_flight, "and nothing is made up"
    assert sum("begun" in line for line in read_transcript(folder)) == account["requests"]


@pytest.mark.slow
def test_with_faults_and_kills_the_account_is_the_servers_own_count(tmp_path: Path) -> None:
    _account_is_the_servers_count(tmp_path, 3, 4, [25])


@pytest.mark.soak
@pytest.mark.slow
def test_3600_calls_with_faults_and_twenty_kills_are_counted_to_the_request(tmp_path: Path) -> None:
    _account_is_the_servers_count(
        tmp_path, 150, 30, sorted(np.random.RandomState(2).choice(3500, 20, replace=False).tolist())
    )
