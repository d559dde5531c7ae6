"""Coroutines run to their end from ordinary functions, also inside a running event loop, as
notebooks have one; and signals that end a program as Ctrl-C does."""

from __future__ import annotations

import asyncio
import contextvars
import signal
import threading
from collections.abc import Callable, Coroutine, Generator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

_Result = TypeVar("_Result")

#: seconds between two looks at whether Ctrl-C was pressed, while a thread works
_LOOK_S = 0.1


def run_to_end(work: Coroutine[Any, Any, _Result]) -> _Result:
    """Run a coroutine and return its result. If an event loop is running already, it gets its own
    thread and loop; Ctrl-C cancels it there.

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
    runner = asyncio.Runner()

    def carry_out() -> _Result:
        with runner:
            return runner.run(work)

    with ThreadPoolExecutor(1, "spanlab session") as thread:
        done = thread.submit(contextvars.copy_context().run, carry_out)
        try:
            while not done.done():
                wait([done], _LOOK_S)
        except KeyboardInterrupt:
            with suppress(RuntimeError):  # it may be over by now
                loop = runner.get_loop()
                for task in asyncio.all_tasks(loop):
                    loop.call_soon_threadsafe(task.cancel)
            raise
    return done.result()


#: sent when a system or a scheduler ends the program, and when its terminal goes away
ENDING = ("SIGTERM", "SIGHUP")


@contextmanager
def catching(handler: Callable[[int, Any], object] | signal.Handlers, *names: str) -> Generator[None]:
    """Have signals handled by a function until the block ends. Outside the main thread nothing
    changes.

    Parameters
    ----------
    names : of the signals; those that this system does not know, or that a parent wants to have
        ignored (nohup), are passed over
    """
    numbers = [number for name in names if (number := getattr(signal, name, None)) is not None]
    here = threading.current_thread() is threading.main_thread()
    before = {number: old for number in numbers if here and (old := signal.getsignal(number)) is not signal.SIG_IGN}
    for number in before:
        signal.signal(number, handler)
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)


def ending_as_ctrl_c() -> Any:
    """Have the signals that end a program stop what runs as Ctrl-C does: by a
    ``KeyboardInterrupt``, so that it is recorded and can go on."""
    return catching(signal.default_int_handler, *ENDING)
