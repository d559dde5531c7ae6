"""300 visits of ``spanlab serve`` at once: how long a page waits for its first page and for acknowledgements, and whether anything is lost.

The server is a process of its own, and so are the pages: each has a real WebSocket, fetches its frames, shows each display for its planned time, and answers
after a time of its own, by which its answers are recognised in the record. The assistant's page is open meanwhile. Server and pages share the computer.

    python benchmarks/serve.py [VISITS]
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from websockets.asyncio.client import connect
from websockets.typing import Origin

VISITS, TRIALS, CANVAS_PX = 300, 3, 600
FRAME_MS = 1000 / 60
SCREEN = {
    **{"canvas_px": CANVAS_PX, "column_px": 700, "high_px": 800, "letter_px": 18, "window_px": [1280, 800], "screen_px": [1280, 800], "pixel_ratio": 1.0},
    **{"hz": 60.0, "measured": True, "touch": False, "fullscreen": True, "isolated": True, "browser": "benchmark"},
}


class Page:
    """A page that takes part in real time, and sends again what was not acknowledged when its line is cut."""

    def __init__(self, port: int, number: int) -> None:
        self.port, self.number, self.name = port, number, f"visit{number:04d}"
        self.instance = f"{number:024x}"
        self.epoch, self.last, self.secret, self.count = "", 0, "", 0
        self.kept: dict[str, dict[str, Any]] = {}
        self.sent_at: dict[str, tuple[float, str]] = {}
        #: seconds from sending the end of a trial to its acknowledgement; and until the first page
        self.waits: list[float] = []
        self.first_page: float | None = None
        #: reaction times of all answers (ms)
        self.answers: list[float] = []
        self.over, self.reconnects = False, 0
        self._trial: Mapping[str, Any] = {}
        self._fetched: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def visit(self) -> None:
        """From the first hello to the last acknowledgement."""
        self._came = time.perf_counter()
        while not (self.over and not self.kept):
            try:
                async with connect(
                    f"ws://127.0.0.1:{self.port}/visit", origin=Origin(f"http://127.0.0.1:{self.port}"), max_size=2**24, open_timeout=120, ping_interval=None
                ) as line:
                    self._line = line
                    hello = {"type": "hello", "participant": self.name, "session": "", "instance": self.instance, "epoch": self.epoch, "last": self.last}
                    await line.send(json.dumps({**hello, "screen": SCREEN}))
                    async for text in line:
                        await self._hear(json.loads(text))
                        if self.over and not self.kept:
                            return
            except OSError:
                pass
            self.reconnects += 1
            await asyncio.sleep(1.0)

    async def _hear(self, message: Mapping[str, Any]) -> None:
        kind = message["type"]
        if kind == "welcome":
            self.epoch, self.secret = message["epoch"], message["secret"]
            for event in self.kept.values():
                await self._line.send(json.dumps(event))
        elif kind == "ack":
            for name in message["n"]:
                self.kept.pop(name, None)
                at, of = self.sent_at.pop(name, (0.0, ""))
                if of == "end":
                    self.waits.append(time.perf_counter() - at)
        elif kind == "refused":
            raise RuntimeError(f"{self.name} was refused: {message['texts']}")
        elif kind == "do" and message["c"] > self.last:
            self.last = message["c"]
            self.over = message["what"] == "end"
            task = asyncio.create_task(self._do(message))
            self._tasks.add(task)
            task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None and not isinstance(error, OSError):
            print(f"{self.name}: {error!r}", file=sys.stderr)
            os._exit(1)

    async def _tell(self, c: int, kind: str, body: Mapping[str, Any], place: int = -1) -> None:
        self.count += 1
        event = {"type": "event", "id": f"{self.instance}:{self.count}", "epoch": self.epoch, "c": c, "kind": kind, "place": place, "body": body}
        self.kept[event["id"]] = event
        self.sent_at[event["id"]] = time.perf_counter(), kind
        await self._line.send(json.dumps(event))

    async def _do(self, message: Mapping[str, Any]) -> None:
        what, c = message["what"], message["c"]
        if what in ("page", "choose") and self.first_page is None:
            self.first_page = time.perf_counter() - self._came
        if what == "page":
            await asyncio.sleep(0.5 + random.random())
            await self._tell(c, "done", {})
        elif what == "choose":
            await asyncio.sleep(0.5 + random.random())
            await self._tell(c, "choice", {"name": message["options"][0]["name"]})
        elif what == "trial":
            self._trial = message
            frames = {display["frame"] for step in message["steps"] for percept in step for display in percept["displays"]}
            await self._fetch(sorted(frames - self._fetched))
            self._fetched |= frames
        elif what == "begin":
            await self._play()

    async def _fetch(self, names: list[str]) -> None:
        if not names:
            return
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        for name in names:
            writer.write(f"GET /frame/{self.secret}/{name}.png HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n\r\n".encode())
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            assert " 200 " in head, head
            await reader.readexactly(int(head.split("content-length: ")[1].split("\r")[0]))
        writer.close()

    async def _play(self) -> None:
        trial = self._trial
        for place, (percept,) in enumerate(trial["steps"]):
            onset = time.perf_counter() * 1000
            displays, presses, at = [], [], onset
            rt = 300.0 + self.number + len(self.answers) * 0.5
            for display in percept["displays"]:
                ms = display["ms"] if display["ms"] is not None else rt + 50
                frames = max(1, round(ms / FRAME_MS))
                displays.append(
                    {"onset": at, "end": at + frames * FRAME_MS, "planned": None if display["ms"] is None else frames, "frames": frames, "dropped": 0}
                )
                at += frames * FRAME_MS
            if percept["ask"] is not None:
                _, x0, y0, x1, y1 = percept["ask"]["surface"]["regions"][0]
                presses.append({"device": "click", "x": (x0 + x1) / 2, "y": (y0 + y1) / 2, "t": onset + rt})
                self.answers.append(rt)
            await asyncio.sleep((at - onset) / 1000)
            await self._tell(trial["c"], "step", {"displays": displays, "presses": presses, "complete": percept["ask"] is not None}, place)
        await self._tell(trial["c"], "end", {})


async def watch(port: int, token: str, times: list[float]) -> None:
    """The assistant's page."""
    while True:
        began = time.perf_counter()
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"GET /monitor/now HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n".encode())
        assert b" 200 " in (await reader.read())[:20]
        writer.close()
        times.append(time.perf_counter() - began)
        await asyncio.sleep(3)


async def take_all(port: int, visits: int, token: str) -> tuple[list[Page], list[float]]:
    """All visits at once."""
    pages, times = [Page(port, number) for number in range(visits)], list[float]()
    watching = asyncio.create_task(watch(port, token, times))
    await asyncio.gather(*(page.visit() for page in pages))
    watching.cancel()
    return pages, times


def measure(visits: int, trials: int, data: Path) -> tuple[list[Page], list[float]]:
    """Take all visits, and check that the record has every answer once.

    Raises
    ------
    RuntimeError
        when something is lost, or was counted twice.
    """
    from spanlab.sessions import read_responses
    from spanlab.sessions.record.reader import find_sessions

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    command = [sys.executable, "-m", "spanlab.cli", "serve", "vsr", "--trials", str(trials), "--no-practice", "--port", str(port)]
    server = subprocess.Popen(
        [*command, "--most", str(visits), "--data", str(data)], stdout=subprocess.PIPE, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )
    try:
        assert server.stdout is not None
        token = next(line for line in server.stdout if "/monitor#" in line).split("#")[1].strip()
        while socket.socket().connect_ex(("127.0.0.1", port)):
            time.sleep(0.1)
        pages, times = asyncio.run(take_all(port, visits, token))
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(30)
    table = read_responses(data)
    if len(find_sessions([data])) != visits or table["trial_id"].nunique() != visits * trials:
        raise RuntimeError("sessions or trials are missing, or were counted twice")
    for page in pages:
        mine = table[table["participant"] == page.name]
        if sorted(mine["rt_ms"].round(1)) != sorted(round(rt, 1) for rt in page.answers):
            raise RuntimeError(f"answers of {page.name} are lost, or were counted twice")
    return pages, times


def share(values: list[float], at: float) -> float:
    """A quantile."""
    return sorted(values)[min(len(values) - 1, int(at * len(values)))]


def main(visits: int = VISITS) -> None:
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        pages, times = measure(visits, TRIALS, Path(folder))
        took = time.perf_counter() - began
    waits, firsts = [wait for page in pages for wait in page.waits], [page.first_page or 0.0 for page in pages]
    print(f"{visits} visits at once, {TRIALS} trials of VSR each in real time, canvas of {CANVAS_PX} px; nothing lost, nothing counted twice")
    print(f"load while it ran: {os.getloadavg()[0]:.1f}")
    for name, values in (("until the first page", firsts), ("acknowledgement of a trial", waits), ("state of all for the assistant", times)):
        for at in (0.5, 0.95, 1.0):
            print(f"{name}, {'median' if at == 0.5 else 'maximum' if at == 1 else 'p95'}\t{share(values, at)}\ts")
    print(f"lines that were cut\t{sum(page.reconnects for page in pages)}\t")
    print(f"answers\t{sum(len(page.answers) for page in pages)}\t")
    print(f"all of it\t{took}\ts")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
