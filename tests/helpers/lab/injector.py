"""Presses keys through XTEST at given times, in a process of its own: ``python injector.py <
plan.json > done.json``.

The plan: ``start`` (s on the monotonic clock), ``codes`` (X keycodes), and ``touches`` as [seconds
from the start, number of the code, seconds held]; touches at the same time go out together. Told
are, for each touch, when the press was handed over and acknowledged, and when the X server says
that it happened.
"""

from __future__ import annotations

import heapq
import json
import os
import sys
import threading
import time
from contextlib import suppress
from typing import Any


def spin(until: float) -> None:
    """Wait on the monotonic clock, the last millisecond awake."""
    while (left := until - time.monotonic()) > 0:
        if left > 0.0015:
            time.sleep(left - 0.001)


def listen(times: dict[int, list[int]], ready: threading.Event, down: int) -> Any:
    """Note the server's own time (ms) of every press, from its record extension."""
    from Xlib import display
    from Xlib.ext import record
    from Xlib.protocol import rq

    control, data = display.Display(), display.Display()
    wanted = {
        "core_requests": (0, 0),
        "core_replies": (0, 0),
        "ext_requests": (0, 0, 0, 0),
        "ext_replies": (0, 0, 0, 0),
        "delivered_events": (0, 0),
        "device_events": (down, down),
        "errors": (0, 0),
        "client_started": False,
        "client_died": False,
    }
    context = data.record_create_context(0, [record.AllClients], [wanted])

    def take(reply: Any) -> None:
        if reply.category == record.StartOfData:
            ready.set()
        rest: Any = reply.data
        field: Any = rq.EventField(None)  # type: ignore[arg-type]
        while reply.category == record.FromServer and len(rest):
            event, rest = field.parse_binary_value(rest, data.display, None, None)
            times.setdefault(event.detail, []).append(event.time)

    def work() -> None:
        with suppress(Exception):  # it ends with the process
            data.record_enable_context(context, take)

    threading.Thread(target=work, daemon=True).start()
    return control, context


def main() -> None:
    plan = json.load(sys.stdin)
    with suppress(PermissionError, OSError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(60))
    from Xlib import X, display
    from Xlib.ext import xtest

    server = display.Display()
    times: dict[int, list[int]] = {}
    ready = threading.Event()
    kept = listen(times, ready, X.KeyPress)
    ready.wait(300)
    due: list[tuple[float, int, int, int]] = []
    for number, (at, code, held) in enumerate(plan["touches"]):
        heapq.heappush(due, (at, 0, number, plan["codes"][code]))
        heapq.heappush(due, (at + held, 1, number, plan["codes"][code]))
    done: dict[int, tuple[float, float]] = {}
    while due:
        together = [heapq.heappop(due)]
        while due and due[0][0] == together[0][0]:
            together.append(heapq.heappop(due))
        spin(plan["start"] + together[0][0])
        before = time.monotonic()
        for _, up, _, code in together:
            xtest.fake_input(server, X.KeyRelease if up else X.KeyPress, code)
        server.sync()
        after = time.monotonic()
        done |= {number: (before, after) for _, up, number, _ in together if not up}
    time.sleep(0.3)
    order = {code: iter(stamps) for code, stamps in times.items()}
    by_time = sorted(done, key=lambda number: (done[number][0], number))
    stamps = {number: next(order[plan["codes"][plan["touches"][number][1]]], None) for number in by_time}
    print(json.dumps([[*done[number], stamps[number]] for number in sorted(done)]))
    del kept


if __name__ == "__main__":
    main()
