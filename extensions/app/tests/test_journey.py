"""A way in a real browser, with real keys: watch a trial, take five, let a network and an observer
take the same ones, see curves, look at a trial."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from chromium import Chromium, Tab, chromium
from hands import Decision, Hands

from spanlab.paradigms import compile_trial, load_paradigm
from spanlab.sessions import find_sessions, read_session
from spanlab.sessions.record import read_events

pytestmark = pytest.mark.slow


@contextmanager
def the_app(data: Path, *more: str) -> Generator[str]:
    """The app as a program; gives the link that it prints."""
    process = subprocess.Popen(
        [sys.executable, "-m", "spanlab", "app", "--data", str(data), "--port", "0", "--no-browser", *more],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        assert process.stdout is not None
        link = re.search(r"http://\S+", process.stdout.readline())
        assert link is not None
        yield link.group()
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(30)


def take(browser: Chromium, address: str) -> None:
    """Take all trials at a page of visual serial recall, with the keys of places."""
    ask = next(
        step.percept.ask
        for step in compile_trial(load_paradigm("vsr"), {"list_length": 4}, 0).steps
        if step.percept.ask is not None
    )
    with browser.tab() as tab:
        tab.open(address)
        tab.until("!!document.getElementById('stage')")
        Hands(tab, lambda command, step: Decision(ask, ask.kind.guess(np.random.RandomState(0)), 0.3, 0.1)).go()


def push(tab: Tab, selector: str) -> None:
    """Click an element of the page with the mouse."""
    tab.evaluate(f"document.querySelector({json.dumps(selector)}).scrollIntoView({{block: 'center'}})")
    place = tab.middle(selector)
    assert place is not None, selector
    tab.click(*place)


def test_from_the_first_page_to_curves_of_me_a_network_and_an_observer(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with chromium(tmp_path / "profile") as browser, the_app(data) as link, browser.tab() as tab:
        tab.open(link)
        tab.until("!!document.querySelector('.job') && document.readyState === 'complete'")
        push(tab, ".job")
        tab.until("document.querySelectorAll('.wall li').length > 30", 240)
        tab.evaluate("document.querySelector('[name=search]').focus()")
        for key in "serial":
            tab.press(key)
        tab.until("document.querySelectorAll('.wall li:not([hidden])').length < 10")
        push(tab, ".wall a[href='/paradigms/vsr']")
        tab.until("document.querySelector('#display')?.src.startsWith('data:')")
        push(tab, "#play")
        tab.until("Number(document.querySelector('#moment').value) > 1")
        push(tab, "#take button[data-kind=take]")
        take(browser, tab.until("document.querySelector('#jobs a.button')?.href", 120))
        tab.ask("Page.bringToFront")
        tab.until("document.querySelector('#progress tbody')?.innerText.includes('5 / 5')", 120)
        assert (
            tab.evaluate("document.querySelector('#replay [name=like]').selectedOptions[0].textContent") == "me-1 (5)"
        )
        push(tab, "#replay button.main")
        tab.until(
            "[...document.querySelectorAll('#progress tbody tr')].filter((row) => row.innerText.includes('5 /"
            " 5')).length === 3",
            240,
        )
        tab.until("document.querySelectorAll('#figure svg a').length > 10", 120)
        push(tab, "#progress tbody tr:last-child a")
        tab.until("!!document.querySelector('.strip img')")
        assert tab.evaluate("document.querySelectorAll('.strip img').length") >= 3
        heads = tab.evaluate("[...document.querySelectorAll('thead th')].slice(2).map((head) => head.textContent)")
        assert {*heads} == {"me-1", "network:laptop", "capacity:4"}
        assert tab.complaints == []
    sessions = {read_session(folder)["agent"] or "me": folder for folder in find_sessions([data])}
    trials = [
        [event["trial_id"] for event in read_events(folder) if event["event"] == "trial_start"]
        for folder in sessions.values()
    ]
    assert len(sessions) == 3
    assert trials[0] == trials[1] == trials[2]
    assert len(trials[0]) == 5
