"""Chromium for tests: skipped where there is none, with a clock for its pages that does not depend
on how busy the computer is."""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from spanlab.core.errors import SpanLabError
from spanlab.extensions.browser.participant import chromium as chromium_module
from spanlab.extensions.browser.participant.chromium import Chromium, Tab
from spanlab.extensions.browser.participant.hands import Clock

__all__ = ["Chromium", "Lines", "Tab", "Warp", "chromium", "need_chromium"]


def need_chromium() -> None:
    """Skip the test where there is no browser."""
    try:
        chromium_module.find_chromium()
    except SpanLabError as error:
        pytest.skip(str(error))


@contextmanager
def chromium(folder: Path) -> Generator[Chromium]:
    """A browser that ends with the test; the test is skipped where there is none."""
    need_chromium()
    with chromium_module.chromium(folder) as running:
        yield running


#: A clock for a page that does not depend on how busy the computer is: refreshes of exactly 1/60 s
#: follow one another as fast as they are drawn, and time stands still from 24 frames after
#: something is waited for on (400 ms, as at the virtual window) until the hands have done it, and
#: set ``released``.
WARP = """(() => {
  const period = 1000 / 60, draw = new Map(), stamps = new WeakMap();
  let now = 1000, count = 0, presses = 0, waits = "", since = 0;
  globalThis.released = globalThis.held = "";
  performance.now = () => now;
  Object.defineProperty(Event.prototype, "timeStamp", { get() {
    if (!stamps.has(this)) stamps.set(this, now + 0.001 * ++presses);
    return stamps.get(this);
  } });
  globalThis.requestAnimationFrame = (call) => { draw.set(++count, call); return count; };
  globalThis.cancelAnimationFrame = (number) => draw.delete(number);
  const channel = new MessageChannel();
  const again = () => channel.port2.postMessage(0);
  channel.port1.onmessage = () => {
    const shown = document.getElementById("stage")?.dataset.waits ?? "";
    if (shown !== waits) { waits = shown; since = 0; }
    globalThis.held = /^(answer|on) /.test(waits) && since >= 24 && globalThis.released !== waits ? waits : "";
    if (globalThis.held || !draw.size) { setTimeout(again, 4); return; }
    [now, since, presses] = [now + period, since + 1, 0];
    const calls = [...draw.values()];
    draw.clear();
    for (const call of calls) call(now);
    if (waits) again(); else setTimeout(again, 8); // between trials nothing is in a hurry
  };
  again();
})()"""


class Warp(Clock):
    """A clock of their own for the pages that are opened in a tab from now on: see :data:`WARP`."""

    def __init__(self, tab: Tab) -> None:
        tab.ask("Page.addScriptToEvaluateOnNewDocument", source=WARP)

    def wait(self, tab: Tab, waits: str, seconds: float) -> None:
        """Until time stands still."""
        tab.until(f"globalThis.held === {json.dumps(waits)}")

    def done(self, tab: Tab, waits: str) -> None:
        """Time goes on."""
        tab.evaluate(f"globalThis.released = {json.dumps(waits)}")


class Lines:
    """What goes over the WebSockets of a tab."""

    def __init__(self, tab: Tab) -> None:
        self.sent: list[dict[str, Any]] = []
        self.received: list[dict[str, Any]] = []
        tab.listener = self._hear

    def _hear(self, message: Mapping[str, Any]) -> None:
        if message.get("method") in ("Network.webSocketFrameSent", "Network.webSocketFrameReceived"):
            (self.sent if message["method"].endswith("Sent") else self.received).append(
                json.loads(message["params"]["response"]["payloadData"])
            )
