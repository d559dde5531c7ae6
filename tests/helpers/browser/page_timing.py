"""How well a page in a real browser keeps time: displays against their plan, and keys that go down
at known moments against the times in the record.

Keys are pressed through Chromium's DevTools protocol. Its clock and Python's are the computer's
monotonic clock, and the browser tells when on that clock a page's own clock began. A key goes down
between the moment just before it is asked for and the moment at which the browser has answered.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from chromium import Chromium, Tab
from page_bench import served

from spanlab.analysis.data.timing import SessionTiming, session_timing
from spanlab.extensions.browser.visits.one_paradigm import ParadigmOffer
from spanlab.sessions.record.reader import read_events

#: Signs one after another, each with a window for the answer that stays open to its end.
SIGNS = """\
paradigm: page_timing
version: 1
title: Signs
factors:
  answers: [at_once, in_time]
draw:
  items: {several: {of: [go, stop], count: 25}}
timeline:
  - for: item in items
    do:
      - when: =answers == 'at_once'
        phase: ends_at_once
        show: [{text: =item, ms: 100}, {blank: {}, ms: 700}]
        ask: {choice: {options: [x, "-"], keys: [x, minus]}, answer: "='x' if item == 'go' else '-'", window_ms: 800}
      - when: =answers == 'in_time'
        phase: ends_in_time
        show: [{text: =item, ms: 100}, {blank: {}, ms: 700}]
        ask: {choice: {options: [x, "-"], keys: [x, minus]}, answer: "='x' if item == 'go' else '-'", ends: on_time}
instructions: {en: Press a key for every sign.}
designs:
  human: {repetitions: 2, interval: 500}
"""


@dataclass(slots=True)
class Injected:
    """A key that was pressed: asked for at ``before``, and the browser had answered at ``after`` (s
    on the monotonic clock)."""

    before: float
    after: float


@dataclass(slots=True)
class Kept:
    """What a visit says about the time that its page kept.

    Parameters
    ----------
    timing : as `spanlab timing` reads it
    late_ms : for each key, its time in the record minus the moment just before it was asked for
    bracket_ms : for each key, how long the browser took to answer
    heard_ms : for each step with presses, how long after a press the page heard of it, at most
    load : of the computer, at the beginning and at the end
    """

    timing: SessionTiming
    late_ms: list[float] = field(default_factory=list)
    bracket_ms: list[float] = field(default_factory=list)
    heard_ms: list[float] = field(default_factory=list)
    load: tuple[float, float] = (0.0, 0.0)


def began(tab: Tab) -> float:
    """When the clock of the page began, in s on the monotonic clock."""
    tab.ask("Performance.enable", timeDomain="timeTicks")
    return next(
        float(one["value"]) for one in tab.ask("Performance.getMetrics")["metrics"] if one["name"] == "NavigationStart"
    )


def press_at_random(tab: Tab, trials: int, seed: int) -> list[Injected]:
    """Take a visit, and press a key at a random moment while each question is open; returns the
    moments."""
    random, injected, last = np.random.RandomState(seed), list[Injected](), ""
    until = time.monotonic() + 120.0 * trials
    while time.monotonic() < until:
        waits, sheet = tab.evaluate(
            '[document.getElementById("stage").dataset.waits ?? "", document.getElementById("sheet").innerText]'
        )
        if "Thank you" in sheet:
            return injected
        if waits.startswith("answer") and waits != last:
            last = waits
            time.sleep(float(random.uniform(0.05, 0.55)))
            before = time.monotonic()
            tab.ask("Input.dispatchKeyEvent", type="keyDown", key="x", code="KeyX", windowsVirtualKeyCode=88, text="x")
            injected.append(Injected(before, time.monotonic()))
            tab.ask("Input.dispatchKeyEvent", type="keyUp", key="x", code="KeyX", windowsVirtualKeyCode=88)
        elif (place := tab.middle("#sheet [data-name=on]")) is not None:
            tab.click(*place)
        time.sleep(0.01)
    raise AssertionError("the visit does not end")


def measured(folder: Path, browser: Chromium, trials: int, seed: int = 1) -> Kept:
    """A visit of so many trials, 25 keys each."""
    (source := folder / "signs.yaml").write_text(SIGNS, encoding="utf-8")
    (data := folder / "data").mkdir()
    load = os.getloadavg()[0]
    with (
        served(ParadigmOffer.checked(str(source), data, trials=trials, practice=False)) as server,
        browser.window() as tab,
    ):
        tab.screen(1280, 800)
        tab.open(server.address("P01"))
        tab.until("document.querySelector('#sheet button') !== null")
        zero = began(tab)
        injected = press_at_random(tab, trials, seed)
    (session,) = data.iterdir()
    timing = session_timing(session)
    assert timing is not None
    kept = Kept(timing, load=(load, os.getloadavg()[0]))
    presses = []
    for event in read_events(session):
        if event["event"] == "step" and "ask" in event:
            notes: dict[str, Any] = dict(event["notes"] or {})
            presses += [
                zero + (event["shown"][0]["onset_ms"] + press["rt_ms"]) / 1000.0
                for press in [*event["raw"]["presses"], *notes.get("late", ())]
            ]
            if notes.get("heard_after_ms") is not None:
                kept.heard_ms.append(float(notes["heard_after_ms"]))
    for at in presses:
        nearest = min(injected, key=lambda one: abs(one.before - at))
        kept.late_ms.append((at - nearest.before) * 1000.0)
        kept.bracket_ms.append((nearest.after - nearest.before) * 1000.0)
    return kept


def spread(values: Sequence[float]) -> tuple[float, float, float]:
    """Median, 95th percentile and maximum."""
    return float(np.median(values)), float(np.percentile(values, 95)), float(max(values))
