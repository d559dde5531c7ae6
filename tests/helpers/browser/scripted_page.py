"""A page without a browser: it does what the server says at once, and answers every question in the
first way that there is."""

from __future__ import annotations

import json
import queue
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from typing import Any, Protocol

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect
from websockets.typing import Origin

from spanlab.extensions.browser.participant.channel import PageEvent
from spanlab.extensions.browser.participant.screen import ScreenReport

FRAME = 1000 / 60
SCREEN = {
    **{
        "canvas_px": 96,
        "column_px": 600,
        "high_px": 800,
        "letter_px": 16,
        "window_px": [800, 800],
        "screen_px": [800, 800],
        "pixel_ratio": 1.0,
    },
    **{"hz": 60.0, "measured": True, "touch": False, "fullscreen": False, "isolated": True, "browser": "scripted"},
}
SCREEN_REPORT = ScreenReport.model_validate(SCREEN)


def hello(participant: str = "P01", **more: Any) -> dict[str, Any]:
    """How a page introduces itself."""
    return {
        "type": "hello",
        "participant": participant,
        "session": "",
        "instance": "a" * 24,
        "epoch": "",
        "last": 0,
        "screen": SCREEN,
        **more,
    }


def until(what: Callable[[], object]) -> None:
    """Wait until something is true."""
    last = time.monotonic() + 120
    while not what():
        assert time.monotonic() < last
        time.sleep(0.01)


class Link(Protocol):
    """The link of a page to its session: a channel, or a real connection to a server."""

    epoch: str

    def attach(self, send: Callable[[Mapping[str, Any]], None], instance: str, last: int) -> None: ...
    def detach(self, send: Callable[[Mapping[str, Any]], None]) -> None: ...
    def take(self, event: PageEvent) -> None: ...


class Wire:
    """A real connection to a server, as a page has it."""

    def __init__(self, port: int, participant: str = "P01", session: str = "", browser: str = "scripted") -> None:
        self.epoch, self._port, self._participant = "", port, participant
        self._more = {"session": session, "screen": {**SCREEN, "browser": browser}}
        #: why the server does not let the page in or has ended the connection, and with which code
        #: it was closed
        self.refused: Mapping[str, Any] | None = None
        self.code: int | None = None
        self.closed = threading.Event()
        self._open = ExitStack()
        self._hearing: threading.Thread | None = None

    def attach(self, send: Callable[[Mapping[str, Any]], None], instance: str, last: int) -> None:
        address, origin = (
            f"ws://127.0.0.1:{self._port}/visit?participant={self._participant}",
            Origin(f"http://127.0.0.1:{self._port}"),
        )
        self._open.close()  # a page has one connection
        if self._hearing is not None:
            self._hearing.join(10)
        self.refused = self.code = None
        self._socket = self._open.enter_context(
            connect(address, origin=origin, max_size=2**24, open_timeout=60, ping_interval=None)
        )
        self.closed.clear()
        self._hearing = threading.Thread(target=self._hear, args=(send,), daemon=True)
        self._hearing.start()
        self.send(json.dumps(hello(self._participant, instance=instance, last=last, epoch=self.epoch, **self._more)))

    def _hear(self, send: Callable[[Mapping[str, Any]], None]) -> None:
        with suppress(ConnectionClosed):
            while True:
                message = json.loads(self._socket.recv())
                if message["type"] == "welcome":
                    self.epoch = message["epoch"]
                elif message["type"] == "refused":
                    self.refused = message
                send(message)
        self.code = self._socket.protocol.close_code
        self.closed.set()

    def send(self, text: str) -> None:
        with suppress(ConnectionClosed):
            self._socket.send(text)

    def take(self, event: PageEvent) -> None:
        told = {"epoch": event.epoch, "c": event.command, "kind": event.kind, "place": event.place, "body": event.body}
        self.send(json.dumps({"type": "event", "id": event.name, **told}))

    def detach(self, send: Callable[[Mapping[str, Any]], None]) -> None:
        self._open.close()


def press_for(surface: Mapping[str, Any], number: int) -> dict[str, Any]:
    """The press that gives one of the answers of a surface."""
    if surface["dial"] is not None:
        return {"device": "click", "x": surface["dial"]["x"] + surface["dial"]["radius"], "y": surface["dial"]["y"]}
    if surface["regions"]:
        _, x0, y0, x1, y1 = surface["regions"][number]
        return {"device": "click", "x": (x0 + x1) / 2, "y": (y0 + y1) / 2}
    return {"device": "key", "key": surface["keys"][number][0]}


class ScriptedPage:
    """A page that takes part by itself, in a thread.

    Parameters
    ----------
    typed : in answer to questions about the participant
    """

    def __init__(self, channel: Link, instance: str = "a" * 24, typed: Mapping[str, str] | None = None) -> None:
        self.channel, self.instance, self.typed = channel, instance, typed or {}
        #: every message, as it went over the line
        self.lines: list[str] = []
        self.acknowledged: set[str] = set()
        self.told: list[PageEvent] = []
        self.silent_after: int | None = None
        self._inbox: queue.SimpleQueue[Mapping[str, Any] | None] = queue.SimpleQueue()
        self._now, self._count = 1000.0, 0
        self._trial: Mapping[str, Any] = {}
        self._place = 0
        self.over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        self._line = self.send  # one object, by which the channel knows this page
        channel.attach(self._line, instance, 0)

    def send(self, message: Mapping[str, Any]) -> None:
        self.lines.append(json.dumps(message))
        self._inbox.put(message)

    def close(self) -> None:
        self.channel.detach(self._line)
        self._inbox.put(None)
        self._thread.join(10)

    def _run(self) -> None:
        while (message := self._inbox.get()) is not None:
            if message["type"] == "ack":
                self.acknowledged |= set(message["n"])
            elif message["type"] == "do":
                self._do(message)

    def tell(
        self, command: int, kind: str, body: Mapping[str, Any] | None = None, place: int = -1, epoch: str = ""
    ) -> PageEvent | None:
        if self.silent_after is not None and self._count >= self.silent_after:
            return None
        self._count += 1
        event = PageEvent(
            f"{self.instance}:{self._count}", epoch or self.channel.epoch, command, kind, place, body or {}
        )
        self.told.append(event)
        self.channel.take(event)
        return event

    def _do(self, message: Mapping[str, Any]) -> None:
        what, c = message["what"], message["c"]
        if what == "page":
            self.tell(c, "done")
        elif what == "form":
            self.tell(c, "form", {"typed": self.typed})
        elif what == "choose":
            self.tell(c, "choice", {"name": message["options"][0]["name"]})
        elif what == "trial":
            self._trial, self._place = message, message["first"]
        elif what == "begin":
            self._play()
        elif what == "verdict":
            self._step(message["show"])
            self._play()
        elif what == "end":
            self.over.set()

    def _play(self) -> None:
        steps, first = self._trial["steps"], self._trial["first"]
        while self._place < len(steps) and (self._place == first or len(steps[self._place]) == 1):
            self._step(self._trial["show"] if self._place == first else 0)
        if self._place == len(steps):
            self.tell(self._trial["c"], "end")

    def _step(self, which: int) -> None:
        percept = self._trial["steps"][self._place][which]
        ask, presses, displays, onset = percept["ask"], [], [], self._now
        if ask is not None:
            presses = self._answer(ask)
        for number, display in enumerate(percept["displays"]):
            ms = display["ms"] if display["ms"] is not None else 600.0
            if display["ms"] is None and ask is None:
                presses.append({"device": "key", "key": "space", "t": self._now + 400.0, "display": number})
            frames = max(1, round(ms / FRAME))
            planned = None if display["ms"] is None else frames
            displays.append(
                {
                    "onset": self._now,
                    "end": self._now + frames * FRAME,
                    "planned": planned,
                    "frames": frames,
                    "dropped": 0,
                }
            )
            self._now += frames * FRAME
        self.tell(
            self._trial["c"],
            "step",
            {"displays": displays, "presses": presses, "complete": ask is not None},
            self._place,
        )
        self._now = max(self._now, onset + 1)
        self._place += 1

    def _answer(self, ask: Mapping[str, Any]) -> list[dict[str, Any]]:
        surface, at = ask["surface"], self._now + 300.0
        many = 1 if not surface["several"] else surface["take"] or 1
        presses = [{**press_for(surface, number), "t": at + 20 * number} for number in range(many)]
        return [*presses, {"device": "key", "key": "return", "t": at + 20 * many}] if surface["several"] else presses


class TrialPage(ScriptedPage):
    """A page that does something before it tells the answers of a trial."""

    before_trial: Callable[[int], None] = staticmethod(lambda number: None)
    begun = 0

    def _play(self) -> None:
        if self._place == 0:
            self.begun += 1
            self.before_trial(self.begun)
        super()._play()
