"""The scripted server of the demonstration: its curves can be foretold, it sees words only, and it
goes when its owner goes."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from chat_servers import real_cache
from chat_trials import context
from effort import HANGS_S

from spanlab.agents.base import Response
from spanlab.agents.chat.servers.scripted import LABEL, ScriptedServer, install
from spanlab.core.errors import SpanLabError
from spanlab.paradigms import Paradigm, Trial, compile_trial, load_paradigm


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(cache=real_cache()) as running:
        yield running


def _answers(server: ScriptedServer, paradigm: Paradigm, trials: list[Trial]) -> list[list[Response]]:
    agent = server.agent()

    async def one(trial: Trial) -> list[Response]:
        episode = agent.start(context(trial, paradigm))
        return [response for step in trial.steps if (response := await episode.step(step.percept)) is not None]

    async def everyone() -> list[list[Response]]:
        try:
            return await asyncio.gather(*map(one, trials))
        finally:
            await agent.teardown()

    return asyncio.run(everyone())


@pytest.mark.parametrize("name", ["vsr", "sfr", "smu"])
@pytest.mark.slow
def test_it_gives_a_valid_answer_to_every_question_of_every_level(server: ScriptedServer, name: str) -> None:
    paradigm = load_paradigm(name)
    trials = [
        compile_trial(paradigm, levels, seed=seed, generator="corrected")
        for levels in paradigm.combinations()
        for seed in range(2)
    ]
    for trial, answers in zip(trials, _answers(server, paradigm, trials), strict=True):
        assert [answer.outcome for answer in answers] == ["answered"] * trial.asks
        correct = [step.truth.answer for step in trial.steps if step.percept.ask is not None]
        values = [answer.value for answer in answers]
        if name == "vsr":
            assert values == sorted(correct), "the occupied positions in reading order"  # type: ignore[type-var]
        elif name == "sfr":
            assert isinstance(values[0], tuple)
            assert isinstance(correct[0], tuple)
            assert values[0][0] == correct[0][-1], "the last red square"
        else:
            assert values == [4] * trial.asks, "the middle cell"


@pytest.mark.slow
def test_its_agent_is_labelled_as_what_it_is(server: ScriptedServer) -> None:
    agent = server.agent()
    assert agent.name == "chat:scripted"
    assert agent.settings()["label"] == LABEL == "scripted server, not a model"


@pytest.mark.slow
def test_it_gets_no_secret_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "not for it")
    with ScriptedServer([], cache=real_cache()) as running:
        assert running._process is not None
        if Path("/proc").exists():
            assert b"not for it" not in Path(f"/proc/{running._process.pid}/environ").read_bytes()


@pytest.mark.skipif(sys.platform == "win32", reason="kills by signal")
@pytest.mark.slow
def test_it_does_not_outlive_a_program_that_is_killed() -> None:
    code = (
        "import sys, time; from pathlib import Path; from spanlab.agents.chat.servers.scripted import ScriptedServer\n"
        "with ScriptedServer([], cache=Path(sys.argv[1])) as server: print(server.root, flush=True); time.sleep(60)"
    )
    owner = subprocess.Popen([sys.executable, "-c", code, str(real_cache())], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    root = owner.stdout.readline().strip()
    with urllib.request.urlopen(f"{root}/_fakellm/stats") as reply:
        assert reply.status == 200
    os.kill(owner.pid, signal.SIGKILL)
    owner.wait()
    owner.stdout.close()
    until = time.monotonic() + HANGS_S
    while time.monotonic() < until:
        try:
            urllib.request.urlopen(f"{root}/_fakellm/stats").close()
        except OSError:  # refused or reset: nobody is there
            return
        time.sleep(0.05)
    pytest.fail("the server is still there")


@pytest.mark.slow
def test_what_prevents_it_is_said_in_one_sentence(tmp_path: Path) -> None:
    with (
        pytest.raises(SpanLabError, match=r"did not start: .*rule\[0\]"),
        ScriptedServer([{"name": "x", "when": {"unheard_of": 1}}], cache=real_cache()),
    ):
        pass
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(SpanLabError, match=r"cannot write to .*; set XDG_CACHE_HOME"):
        install(blocked / "cache")


@pytest.mark.slow
def test_an_installation_without_network_is_said_in_one_sentence_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "0")
    with pytest.raises(SpanLabError, match=r"could not be installed into .*; connect to the network and try again"):
        install(tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == [], "nothing half done is left"
