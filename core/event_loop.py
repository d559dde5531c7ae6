"""Coroutines run to their end from ordinary functions, also inside a running event loop, as notebooks have one."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

_Result = TypeVar("_Result")

#: seconds between two looks at whether Ctrl-C was pressed, while a thread works
_LOOK_S = 0.1


def run_to_end(work: Coroutine[Any, Any, _Result]) -> _Result:
    """Run a coroutine and return its result. If an event loop is running already, it gets its own thread and loop;
    Ctrl-C cancels it there.

    Raises
    ------
    Exception
        what the coroutine raises
    KeyboardInterrupt
        when Ctrl-C has stopped it
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    return _run_in_thread(work)


def _run_in_thread(work: Coroutine[Any, Any, _Result]) -> _Result:
    results: list[_Result] = []
    faults: list[BaseException] = []
    tasks: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[_Result]]] = []

    async def watched() -> _Result:
        task = asyncio.ensure_future(work)
        tasks.append((asyncio.get_running_loop(), task))
        return await task

    def carry_out() -> None:
        try:
            results.append(asyncio.run(watched()))
        except BaseException as fault:
            faults.append(fault)

    thread = threading.Thread(target=contextvars.copy_context().run, args=(carry_out,), name="spanlab session")
    thread.start()
    interrupted = False
    while thread.is_alive():
        try:
            thread.join(_LOOK_S)
        except KeyboardInterrupt:
            interrupted = True
            for loop, task in tasks:
                if not loop.is_closed():
                    loop.call_soon_threadsafe(task.cancel)
    if interrupted:
        raise KeyboardInterrupt
    if faults:
        raise faults[0]
    return results[0]
