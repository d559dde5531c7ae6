"""Thousands of visits of a study that several workers serve, while workers are killed: whether anything is lost and the
places are given out exactly; and how long pages wait, as the server measures it.

    python benchmarks/workers.py [--visits N] [--at-once N] [--workers N] [--kill-every SECONDS]

Pages are those of ``serve.py``. A page whose worker is killed connects again, and goes on with the next trial.
"""

from __future__ import annotations

import argparse
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
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import serve
from websockets.exceptions import WebSocketException

TRIALS = 2
#: of pages; smaller than those of serve.py, so that drawing is not all that there is to do
CANVAS_PX = 300
STUDY = """\
study: many
title: Many people
paradigms: [{{paradigm: vsr, set: {{list_length: [3]}}, trials: {trials}, practice: false}}]
people: {people}
"""
#: in every process of the server: when a visit begins and an event comes, and how long it waits
MEASURED = """
import os, sys, threading, time
def watch():
    name = "spanlab.extensions.browser.participant.channel"
    until = time.monotonic() + 60
    while time.monotonic() < until:
        module = sys.modules.get(name)
        if hasattr(module, "Channel"):
            return patch(module.Channel)
        time.sleep(0.02)
def patch(channel):
    came, begun = {}, {}
    file = open(os.path.join(os.environ["MEASURED"], str(os.getpid())), "a", buffering=1)
    hear, acknowledge, add, attach = channel.hear, channel._acknowledge, channel._add, channel.attach
    def hear_(self, event):
        if event.kind in ("end", "done", "choice"):  # what a page waits for; a step is acknowledged with its trial
            came.setdefault(event.name, time.monotonic())
        return hear(self, event)
    def acknowledge_(self, names):
        for name in names:
            if name in came:
                print("ack", time.monotonic() - came.pop(name), file=file)
        return acknowledge(self, names)
    def attach_(self, send, instance, last):
        begun.setdefault(self.epoch, time.monotonic())
        return attach(self, send, instance, last)
    def add_(self, what, content):
        if begun.get(self.epoch):
            print("first", time.monotonic() - begun[self.epoch], file=file)
            begun[self.epoch] = 0.0
        return add(self, what, content)
    channel.hear, channel._acknowledge, channel._add, channel.attach = hear_, acknowledge_, add_, attach_
threading.Thread(target=watch, daemon=True).start()
"""


class Visitor(serve.Page):
    """A page that may come back to another process."""

    one_request = True

    def __init__(self, port: int, number: int) -> None:
        super().__init__(port, number)
        #: reaction times (ms) of the answers that the server has acknowledged
        self.acknowledged: list[float] = []

    async def visit(self, after_s: float = 0.0) -> None:
        """From the first hello to the last acknowledgement."""
        while not (self.over and not self.kept):
            try:
                await super().visit(after_s)
            except WebSocketException:
                self.reconnects += 1
                await asyncio.sleep(0.5)

    async def _hear(self, message: Mapping[str, Any]) -> None:
        if message["type"] == "welcome" and message["epoch"] != self.epoch:
            for task in self._tasks:
                task.cancel()
            self.last, self._ended = 0, None
        if message["type"] == "ack":
            self.acknowledged += [rt for name in message["n"] for rt in answers_in(self.kept.get(name, {}))]
        if message["type"] == "refused" and not message["final"]:
            return  # it is closed, and tries again
        await super()._hear(message)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None and not isinstance(error, (OSError, EOFError, WebSocketException, AssertionError)):
            print(f"{self.name}: {error!r}", file=sys.stderr)
            os._exit(1)

    @property
    def address(self) -> str:
        """Of the line."""
        return f"ws://127.0.0.1:{self.port}/visit?participant={self.name}"


def answers_in(event: Mapping[str, Any]) -> list[float]:
    """The reaction times (ms) that an event of a page tells."""
    body = event.get("body", {})
    return [round(press["t"] - body["displays"][0]["onset"], 1) for press in body.get("presses", ())]


def workers_of(pid: int) -> list[int]:
    """The processes that serve, of those that the server has started."""
    children = map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8").split())
    return [one for one in children if b"spawn_main" in Path(f"/proc/{one}/cmdline").read_bytes()]


async def take_all(port: int, pid: int, asked: argparse.Namespace) -> tuple[list[Visitor], int]:
    """All visits, so many at once; workers are killed meanwhile."""
    room, visitors, kills = asyncio.Semaphore(asked.at_once), [Visitor(port, n) for n in range(asked.visits)], 0

    async def come(visitor: Visitor) -> None:
        async with room:
            await visitor.visit(random.random())

    async def kill() -> None:
        nonlocal kills
        while asked.kill_every:
            await asyncio.sleep(asked.kill_every * (0.5 + random.random()))
            if found := workers_of(pid):
                os.kill(random.choice(found), signal.SIGKILL)
                kills += 1

    killing = asyncio.create_task(kill())
    await asyncio.gather(*map(come, visitors))
    killing.cancel()
    return visitors, kills


def check(folder: Path, visitors: list[Visitor], places: int) -> None:
    """Hold the record against what the pages have told.

    Raises
    ------
    AssertionError
        when something was lost, or counted twice, or a place was.
    """
    from spanlab.sessions import read_responses
    from spanlab.sessions.studies import people

    listed = people(folder / "data" / "many")
    assert len(listed) == places == len({person.name for person in listed}), f"{len(listed)} people"
    assert sorted(person.place for person in listed) == list(range(1, places + 1))
    table = read_responses(folder / "data")
    assert table["trial_id"].nunique() == places * TRIALS, f"{table['trial_id'].nunique()} trials"
    recorded = {name: Counter(rows["rt_ms"].round(1)) for name, rows in table.groupby("participant")}
    assert recorded.keys() == {person.name for person in listed}
    late: dict[str, Counter[float]] = {}
    of_study = folder / "data" / "many"
    for file in of_study.rglob("unfinished.jsonl"):
        for line in map(json.loads, file.read_text(encoding="utf-8").splitlines()):
            late.setdefault(file.relative_to(of_study).parts[0], Counter()).update(answers_in(line))
    for visitor in visitors:
        told, kept = Counter(round(rt, 1) for rt in visitor.answers), recorded.get(visitor.name, Counter[float]())
        assert not kept - told, f"{visitor.name}: recorded and never told: {kept - told}"
        assert all(many == 1 for many in kept.values()), f"{visitor.name}: counted twice"
        lost = set(visitor.acknowledged) - {*kept, *late.get(visitor.name, ())}
        assert not lost, f"{visitor.name}: acknowledged and lost: {lost}"


def share(values: list[float], at: float) -> float:
    """A quantile; nothing of nothing."""
    return serve.share(values, at) if values else float("nan")


def main() -> None:
    """Serve, visit, kill, check and print."""
    serve.SCREEN["canvas_px"] = CANVAS_PX
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--visits", type=int, default=2000)
    parser.add_argument("--at-once", type=int, default=100)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--kill-every", type=float, default=0.0)
    asked = parser.parse_args()
    places = asked.visits * 9 // 10
    with tempfile.TemporaryDirectory() as place, socket.socket() as free:
        folder, measured = Path(place), Path(place) / "measured"
        measured.mkdir()
        (folder / "sitecustomize.py").write_text(MEASURED, encoding="utf-8")
        (folder / "study.yaml").write_text(STUDY.format(trials=TRIALS, people=places), encoding="utf-8")
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
        free.close()
        server = subprocess.Popen(
            [
                *(sys.executable, "-m", "spanlab", "serve", "study.yaml", "--workers", str(asked.workers)),
                *("--port", str(port), "--most", str(2 * asked.at_once)),
            ],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=(folder / "told").open("w"),
            env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": place, "MEASURED": str(measured)},
        )
        assert server.stdout is not None
        server.stdout.readline()
        time.sleep(serve.START_S)
        began, load = time.monotonic(), os.getloadavg()[0]
        visitors, kills = asyncio.run(take_all(port, server.pid, asked))
        took = time.monotonic() - began
        server.send_signal(signal.SIGTERM)
        server.wait(60)
        check(folder, visitors, places)
        lines = [line.split() for file in measured.iterdir() for line in file.read_text().splitlines()]
        faults = [line for line in (folder / "told").read_text().splitlines() if "begins anew" not in line]
    print(
        f"{asked.visits} visits, {asked.at_once} at once, {asked.workers} workers, {kills} of them killed, {took:.0f} s"
    )
    print(f"load {load:.1f} before, {os.getloadavg()[0]:.1f} after; {places} places, all taken once; nothing lost")
    for what, name in (("ack", "acknowledgement"), ("first", "first page")):
        values = [float(seconds) for kind, seconds in lines if kind == what]
        shares = ", ".join(f"{label} {share(values, at):.3f}" for label, at in (("median", 0.5), ("p95", 0.95)))
        print(f"{name} at the server (s): {shares}, most {share(values, 1):.3f}, of {len(values)}")
    waits, firsts = [one for v in visitors for one in v.waits], [v.first_page or 0.0 for v in visitors]
    print(f"at the pages: acknowledgement p95 {share(waits, 0.95):.3f}, first page p95 {share(firsts, 0.95):.3f}")
    print(f"lines cut {sum(visitor.reconnects for visitor in visitors)}", *faults[:5], sep="\n")


if __name__ == "__main__":
    main()
