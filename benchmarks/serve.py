"""300 visits of ``spanlab serve`` in one second: how long a page waits for its first page and for
acknowledgements, what a visit costs, and whether anything is lost; and how much longer others wait
for their next trial beside three pages that have everything drawn anew.

The server is a process of its own, and so are the pages: each has a real WebSocket, fetches its
frames, shows each display for its planned time, and answers after a time of its own, by which its
answers are recognised in the record. The assistant's page is open meanwhile. Server and pages share
the computer, maybe with other programs: so the processor time of the server is measured, too.

    python benchmarks/serve.py [VISITS]
    python benchmarks/serve.py hostile
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
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from websockets.asyncio.client import connect
from websockets.typing import Origin

VISITS, TRIALS, CANVAS_PX = 300, 3, 600
#: beside so many hostile pages so many others take so many trials
HOSTILE, OTHERS, OTHERS_TRIALS = 3, 8, 12
#: seconds in which all visits come; and in which a server that has started starts its processes,
#: too
WITHIN_S, START_S = 1.0, 6.0
FRAME_MS = 1000 / 60
SCREEN = {
    **{
        "canvas_px": CANVAS_PX,
        "column_px": 700,
        "high_px": 800,
        "letter_px": 18,
        "window_px": [1280, 800],
        "screen_px": [1280, 800],
        "pixel_ratio": 1.0,
    },
    **{"hz": 60.0, "measured": True, "touch": False, "fullscreen": True, "isolated": True, "browser": "benchmark"},
}


class Page:
    """A page that takes part in real time, and sends again what was not acknowledged when its line
    is cut."""

    #: whether a connection is for one request
    one_request = False

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
        #: seconds from the end of a trial until everything of the next one is there
        self.gaps: list[float] = []
        self._ended: float | None = None
        self.over, self.reconnects = False, 0
        self._trial: Mapping[str, Any] = {}
        self._loaded = asyncio.Event()
        self._fetched: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def visit(self, after_s: float = 0.0) -> None:
        """From the first hello to the last acknowledgement."""
        await asyncio.sleep(after_s)
        self._came = time.perf_counter()
        while not (self.over and not self.kept):
            try:
                async with connect(
                    self.address,
                    origin=Origin(f"http://127.0.0.1:{self.port}"),
                    max_size=2**24,
                    open_timeout=120,
                    ping_interval=None,
                ) as line:
                    self._line = line
                    hello = {
                        "type": "hello",
                        "participant": self.name,
                        "session": "",
                        "instance": self.instance,
                        "epoch": self.epoch,
                        "last": self.last,
                    }
                    await line.send(json.dumps({**hello, "screen": SCREEN}))
                    async for text in line:
                        await self._hear(json.loads(text))
                        if self.over and not self.kept:
                            return
            except OSError:
                pass
            self.reconnects += 1
            await asyncio.sleep(1.0)

    @property
    def address(self) -> str:
        """Of the line."""
        return f"ws://127.0.0.1:{self.port}/visit"

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
        event = {
            "type": "event",
            "id": f"{self.instance}:{self.count}",
            "epoch": self.epoch,
            "c": c,
            "kind": kind,
            "place": place,
            "body": body,
        }
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
            self._trial, self._loaded = message, asyncio.Event()
            loaded = self._loaded
            frames = {
                display["frame"] for step in message["steps"] for percept in step for display in percept["displays"]
            }
            await self._fetch(sorted(frames - self._fetched))
            self._fetched |= frames
            loaded.set()
        elif what == "begin":
            await self._loaded.wait()
            if self._ended is not None:
                self.gaps.append(time.perf_counter() - self._ended)
            await self._play()

    async def _fetch(self, names: list[str]) -> None:
        if not names:
            return
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        for name in names:
            if self.one_request:
                writer.close()
                reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
            writer.write(
                f"GET /frame/{self.secret}/{name}.png HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n\r\n".encode()
            )
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
                    {
                        "onset": at,
                        "end": at + frames * FRAME_MS,
                        "planned": None if display["ms"] is None else frames,
                        "frames": frames,
                        "dropped": 0,
                    }
                )
                at += frames * FRAME_MS
            if percept["ask"] is not None:
                _, x0, y0, x1, y1 = percept["ask"]["surface"]["regions"][0]
                presses.append({"device": "click", "x": (x0 + x1) / 2, "y": (y0 + y1) / 2, "t": onset + rt})
                self.answers.append(rt)
            await asyncio.sleep((at - onset) / 1000)
            await self._tell(
                trial["c"],
                "step",
                {"displays": displays, "presses": presses, "complete": percept["ask"] is not None},
                place,
            )
        self._ended = time.perf_counter()
        await self._tell(trial["c"], "end", {})


class HostilePage(Page):
    """A page whose window has another size for every trial, and which cuts each trial as soon as it
    begins."""

    sizes = 0

    async def _play(self) -> None:
        self.sizes += 1
        size = 800 + 2 * ((self.number * 97 + self.sizes * 13) % 400)
        await self._line.send(json.dumps({"type": "screen", "screen": {**SCREEN, "canvas_px": size}}))
        await self._tell(self._trial["c"], "cut", {"why": "resized"})


@dataclass(slots=True)
class Cost:
    """What a server costs.

    Parameters
    ----------
    processor_s : processor time of the server itself; of the processes that draw it is not part
    memory : bytes of the server and of the processes that draw
    """

    processor_s: float
    memory: int

    @classmethod
    def of(cls, pid: int) -> Cost:
        """The cost of a server until now, as Linux counts it."""
        times = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8").split()
        pages = sum(int(Path(f"/proc/{one}/statm").read_text(encoding="utf-8").split()[1]) for one in (pid, *children))
        return cls((int(times[11]) + int(times[12])) / os.sysconf("SC_CLK_TCK"), pages * os.sysconf("SC_PAGE_SIZE"))


@dataclass(slots=True)
class Costs:
    """What a server costs while it runs.

    Parameters
    ----------
    before : before anybody has come
    first_pages_s : its processor time when all had their first page
    most : bytes, at most
    """

    before: Cost
    first_pages_s: float = 0.0
    most: int = 0

    async def watch(self, pid: int, pages: Sequence[Page]) -> None:
        """Look at it every now and then."""
        while True:
            now = Cost.of(pid)
            self.most = max(self.most, now.memory)
            if not self.first_pages_s and all(page.first_page is not None for page in pages):
                self.first_pages_s = now.processor_s - self.before.processor_s
            await asyncio.sleep(0.25)


async def watch(port: int, token: str, times: list[float]) -> None:
    """The assistant's page."""
    while True:
        began = time.perf_counter()
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(
            f"GET /monitor/now HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n".encode()  # noqa: E501
        )
        assert b" 200 " in (await reader.read())[:20]
        writer.close()
        times.append(time.perf_counter() - began)
        await asyncio.sleep(3)


@contextmanager
def serving(visits: int, trials: int, data: Path) -> Generator[tuple[int, int, str]]:
    """A server of three trials of VSR each: its port, its process and the assistant's token."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    command = [
        sys.executable,
        "-m",
        "spanlab.cli",
        "serve",
        "vsr",
        "--trials",
        str(trials),
        "--no-practice",
        "--port",
        str(port),
    ]
    with (data.parent / f"{data.name}.log").open("w") as log:
        server = subprocess.Popen(
            [*command, "--most", str(visits), "--data", str(data)],
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        try:
            assert server.stdout is not None
            token = next(line for line in server.stdout if "/monitor#" in line).split("#")[1].strip()
            while socket.socket().connect_ex(("127.0.0.1", port)):
                time.sleep(0.1)
            time.sleep(START_S)
            yield port, server.pid, token
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(60)


async def take_all(port: int, visits: int, token: str, pid: int) -> tuple[list[Page], list[float], Costs]:
    """All visits within a second."""
    pages, times, costs = [Page(port, number) for number in range(visits)], list[float](), Costs(Cost.of(pid))
    watching = [asyncio.create_task(watch(port, token, times)), asyncio.create_task(costs.watch(pid, pages))]
    await asyncio.gather(*(page.visit(WITHIN_S * page.number / visits) for page in pages))
    for task in watching:
        task.cancel()
    return pages, times, costs


def measure(visits: int, trials: int, data: Path) -> tuple[list[Page], list[float], Costs]:
    """Take all visits, and check that the record has every answer once.

    Raises
    ------
    RuntimeError
        when something is lost, or was counted twice.
    """
    from spanlab.sessions import read_responses
    from spanlab.sessions.record.reader import find_sessions

    with serving(visits, trials, data) as (port, pid, token):
        pages, times, costs = asyncio.run(take_all(port, visits, token, pid))
    table = read_responses(data)
    if len(find_sessions([data])) != visits or table["trial_id"].nunique() != visits * trials:
        raise RuntimeError("sessions or trials are missing, or were counted twice")
    for page in pages:
        mine = table[table["participant"] == page.name]
        if sorted(mine["rt_ms"].round(1)) != sorted(round(rt, 1) for rt in page.answers):
            raise RuntimeError(f"answers of {page.name} are lost, or were counted twice")
    return pages, times, costs


async def take_beside(port: int, hostile: int) -> list[float]:
    """The gaps between trials of all others, beside so many hostile pages."""
    others = [Page(port, number) for number in range(OTHERS)]
    troublemakers = [asyncio.create_task(HostilePage(port, OTHERS + number).visit()) for number in range(hostile)]
    await asyncio.sleep(10.0 if hostile else 0.0)  # they are at it when the others come
    await asyncio.gather(*(page.visit(page.number * 0.7) for page in others))
    for task in troublemakers:
        task.cancel()
    return [gap for page in others for gap in page.gaps]


def measure_gaps(hostile: int, data: Path) -> list[float]:
    """The gaps between trials, on a server of its own."""
    with serving(OTHERS + hostile, OTHERS_TRIALS, data) as (port, _, _):
        return asyncio.run(take_beside(port, hostile))


def share(values: list[float], at: float) -> float:
    """A quantile."""
    return sorted(values)[min(len(values) - 1, int(at * len(values)))]


def report(visits: int) -> None:
    """Print how so many visits fared."""
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        pages, times, costs = measure(visits, TRIALS, Path(folder) / "data")
        took = time.perf_counter() - began
    waits, firsts = [wait for page in pages for wait in page.waits], [page.first_page or 0.0 for page in pages]
    gaps = [gap for page in pages for gap in page.gaps]
    print(
        f"{visits} visits in {WITHIN_S:g} s, {TRIALS} trials of VSR each in real time, canvas of {CANVAS_PX} px;"
        " nothing lost, nothing counted twice"
    )
    print(f"load while it ran: {os.getloadavg()[0]:.1f}")
    measured = {
        "until the first page": firsts,
        "acknowledgement of a trial": waits,
        "until the next trial": gaps,
        "state of all for the assistant": times,
    }
    for name, values in measured.items():
        for at in (0.5, 0.95, 1.0):
            print(f"{name}, {'median' if at == 0.5 else 'maximum' if at == 1 else 'p95'}\t{share(values, at)}\ts")
    print(f"processor time of the server until all had their first page\t{costs.first_pages_s}\ts")
    print(f"memory of a visit\t{(costs.most - costs.before.memory) / visits / 1e6}\tMB")
    print(f"lines that were cut\t{sum(page.reconnects for page in pages)}\t")
    print(f"answers\t{sum(len(page.answers) for page in pages)}\t")
    print(f"all of it\t{took}\ts")


def report_gaps() -> None:
    """Print how much longer others wait for their next trial beside hostile pages."""
    gaps: dict[int, list[float]] = {0: [], HOSTILE: []}
    with tempfile.TemporaryDirectory() as folder:
        for turn, hostile in enumerate((0, HOSTILE, HOSTILE, 0)):
            gaps[hostile] += measure_gaps(hostile, Path(folder) / str(turn))
            print(f"load while it ran: {os.getloadavg()[0]:.1f}")
    for at, name in ((0.5, "median"), (0.95, "p95")):
        alone, beside = share(gaps[0], at), share(gaps[HOSTILE], at)
        print(f"until the next trial, {OTHERS} pages alone, {name}\t{alone}\ts")
        print(f"until the next trial, beside {HOSTILE} hostile pages, {name}\t{beside}\ts")
        print(f"ratio, {name}\t{beside / alone}\t")


if __name__ == "__main__":
    if sys.argv[1:2] == ["hostile"]:
        report_gaps()
    else:
        report(*map(int, sys.argv[1:2] or [VISITS]))
