"""Honest sessions in a real browser: whatever happens to the page, the line or the computer,
nothing that they report is called impossible."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("uvicorn", reason="a part of a bare installation")

from chromium import Chromium, Tab, chromium
from page_bench import Served, data_folder, hands_of, served

from spanlab.extensions.browser.visits.one_paradigm import ParadigmOffer
from spanlab.sessions import read_responses
from spanlab.sessions.record.reader import read_events

pytestmark = pytest.mark.slow
#: so many sessions of each kind; 8 give 40
SESSIONS = int(os.environ.get("SPANLAB_HONEST_SESSIONS", "1"))


@pytest.fixture
def browser(tmp_path: Path) -> Generator[Chromium]:
    with chromium(tmp_path / "chromium") as running:
        yield running


def opened(tab: Tab, address: str) -> None:
    tab.screen(900, 700)
    tab.open(address)
    tab.until("document.querySelector('#sheet button') !== null")


def idle(tab: Tab, server: Served) -> None:
    hands_of(tab, server).go(240)


def throttled(tab: Tab, server: Served) -> None:
    tab.ask("Emulation.setCPUThrottlingRate", rate=6)
    hands_of(tab, server).go(400)


def offline(tab: Tab, server: Served) -> None:
    """For twenty seconds there is no network; the page plays on."""
    hands = hands_of(tab, server)
    hands.meanwhile = lambda look: look["stage"]
    hands.go(120)
    tab.ask("Network.enable")
    tab.ask("Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=-1, uploadThroughput=-1)
    server.cut_lines()
    until = time.monotonic() + 20
    hands.meanwhile = lambda look: time.monotonic() > until
    hands.go(60)
    tab.ask("Network.emulateNetworkConditions", offline=False, latency=0, downloadThroughput=-1, uploadThroughput=-1)
    hands.meanwhile = lambda look: False
    hands.go(240)


def far(tab: Tab, server: Served) -> None:
    """A slow line with a long way."""
    tab.ask("Network.enable")
    tab.ask(
        "Network.emulateNetworkConditions",
        offline=False,
        latency=300,
        downloadThroughput=100_000,
        uploadThroughput=50_000,
    )
    hands_of(tab, server).go(400)


def reloaded(tab: Tab, server: Served) -> None:
    hands = hands_of(tab, server)
    hands.meanwhile = lambda look: look["waits"].startswith("answer")
    hands.go(120)
    opened(tab, server.address("P01"))
    hands_of(tab, server).go(240)


@pytest.mark.parametrize("number", range(SESSIONS))
@pytest.mark.parametrize("happens", [idle, throttled, offline, far, reloaded])
def test_nothing_that_an_honest_page_reports_is_impossible(
    tmp_path: Path, browser: Chromium, happens: Callable[[Tab, Served], Any], number: int
) -> None:
    data = data_folder(tmp_path)
    name = ("sternberg", "vsr", "cd", "digit_span")[number % 4]
    with served(ParadigmOffer.checked(name, data, trials=2, practice=False), "ideal") as server, browser.tab() as tab:
        opened(tab, server.address("P01"))
        happens(tab, server)
    (folder,) = data.iterdir()
    table = read_responses(folder)
    assert sorted(set(table["trial"])) == [1, 2]
    assert set(table["trial_implausible"]) == {""}
    steps = [event for event in read_events(folder) if event["event"] == "step"]
    assert not any(
        {**(event.get("notes") or {}), **(event.get("happened") or {})}.get("implausible") for event in steps
    )
    if log := os.environ.get("SPANLAB_DELAYS"):
        with open(log, "a", encoding="utf-8") as file:
            for event in steps:
                notes = {**(event.get("notes") or {}), **(event.get("happened") or {})}
                file.write(f"{happens.__name__} {name} {notes['reported_after_ms']} {notes['reported_late_ms']}\n")
