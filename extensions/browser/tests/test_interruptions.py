"""Servers and browsers that are killed, pages that are loaded anew, lines that are cut: nothing
acknowledged is lost, and nothing counts twice."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from chromium import Chromium, Lines, Tab, chromium, need_chromium
from hands import Decision, Hands
from page_bench import data_folder

from spanlab.paradigms import load_paradigm, plan_session
from spanlab.paradigms.language.schema import SessionDesign
from spanlab.sessions import read_responses
from spanlab.sessions.record.reader import read_events

pytestmark = pytest.mark.slow
VSR = load_paradigm("vsr")
ASK = next(
    step.percept.ask
    for step in plan_session(VSR, 1, design=SessionDesign(), trials=1)[0].compile(VSR, "corrected").steps
    if step.percept.ask is not None
)


@pytest.fixture
def browser(tmp_path: Path) -> Generator[Chromium]:
    with chromium(tmp_path / "chromium") as running:
        yield running


def opened(tab: Tab, address: str) -> Tab:
    tab.screen(900, 700)
    tab.open(address)
    tab.until("document.querySelector('#sheet button') !== null")
    return tab


# -- kills -----------------------------------------------------------------------------------------


def a_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


class Server:
    """``spanlab serve`` as a process of its own."""

    def __init__(self, data: Path, port: int, trials: int) -> None:
        self._arguments = [
            "serve",
            "vsr",
            "--trials",
            str(trials),
            "--no-practice",
            "--port",
            str(port),
            "--data",
            str(data),
        ]
        self._port = port
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "spanlab.cli", *self._arguments],
            stdout=subprocess.DEVNULL,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        while True:
            assert self.process.poll() is None
            try:
                socket.create_connection(("127.0.0.1", self._port), timeout=1).close()
                return
            except OSError:
                time.sleep(0.1)

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


@contextmanager
def running(data: Path, port: int, trials: int) -> Generator[Server]:
    server = Server(data, port, trials)
    try:
        yield server
    finally:
        server.kill()


def test_after_twenty_kills_of_server_and_browser_nothing_acknowledged_is_lost_and_nothing_counts_twice(
    tmp_path: Path,
) -> None:
    need_chromium()
    data, port, trials = data_folder(tmp_path), a_port(), 12
    address, random = f"http://127.0.0.1:{port}/?participant=P01", np.random.RandomState(5)
    kills = [str(kill) for kill in random.permutation(["server"] * 8 + ["reload"] * 6 + ["browser"] * 6)]
    done, sent, acknowledged = 0, dict[str, dict[str, Any]](), set[str]()

    def decided(command: int, step: int) -> Decision:
        return Decision(ASK, (command + step) % 9)

    def look_at(tab: Tab, lines: Lines) -> None:
        tab.evaluate("0")
        sent.update({one["id"]: one for one in lines.sent if one["type"] == "event"})
        acknowledged.update(name for one in lines.received if one["type"] == "ack" for name in one["n"])

    with running(data, port, trials) as server:
        browser = Chromium(tmp_path / "chromium")
        try:
            tab = browser.tab()
            lines = Lines(tab)
            opened(tab, address)
            while True:
                hands = Hands(tab, decided, by="mouse")
                after = time.monotonic() + float(random.uniform(1.0, 6.0))
                more = done < len(kills)
                hands.meanwhile = lambda look, after=after, more=more: (
                    more and look["stage"] and time.monotonic() > after
                )
                text = hands.go()
                look_at(tab, lines)
                if "Thank you" in text and done == len(kills):
                    break
                assert done < len(kills), text
                kill, done = kills[done], done + 1
                if kill == "server":
                    server.kill()
                    server.start()
                elif kill == "reload":
                    opened(tab, address)
                else:
                    browser.close()
                    (tmp_path / "chromium" / "DevToolsActivePort").unlink(missing_ok=True)
                    for lock in (tmp_path / "chromium").glob("Singleton*"):
                        lock.unlink()
                    browser = Chromium(tmp_path / "chromium")
                    tab = browser.tab()
                    lines = Lines(tab)
                    opened(tab, address)
            look_at(tab, lines)
        finally:
            browser.close()
    (folder,) = data.iterdir()
    events, responses = read_events(folder), read_responses(folder)
    # every trial once, each with all of its answers
    ends = [(event["trial"], event["attempt"]) for event in events if event["event"] == "trial_end"]
    assert sorted(int(trial) for trial, _ in ends) == list(range(1, trials + 1))
    assert not responses.duplicated(["trial", "ask"]).any()
    # whatever was acknowledged is in the record, or beside it where it came too late to count
    beside = folder / "unfinished.jsonl"
    kept = {json.loads(line)["event"] for line in beside.read_text().splitlines()} if beside.exists() else set()
    answered = [
        [round(press["rt_ms"], 2) for press in event["raw"]["presses"]]
        for event in events
        if event["event"] == "step" and "ask" in event and event["raw"]["presses"]
    ]
    for name in acknowledged - kept:
        event = sent.get(name)
        if event is not None and event["kind"] == "step" and event["body"]["presses"]:
            body = event["body"]
            times = [round(press["t"] - body["displays"][0]["onset"], 2) for press in body["presses"]]
            assert any(np.allclose(times, others, atol=0.02) for others in answered if len(others) == len(times)), (
                name,
                times,
            )
    assert len(acknowledged) > 3 * trials
