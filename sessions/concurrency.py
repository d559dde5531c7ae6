"""Several trials at once in one event loop, and an end that loses none of their replies."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Awaitable, Callable, Coroutine, Generator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from ..agents.base import Agent, ConcurrentAgent
from ..agents.interruptions import Stopped
from ..core.signals import ENDING, catching

_Trial = TypeVar("_Trial")


async def several(agent: ConcurrentAgent, trials: Sequence[_Trial], take: Callable[[_Trial], Awaitable[None]]) -> None:
    """Take trials in order, as many at once as the agent has places for.

    When one of them fails, no other begins and the agent is told to ask nothing new; what is under way ends, and is kept.

    Raises
    ------
    Exception
        the first that a trial has raised; those that were stopped because of it come back when the session goes on.
    """
    faults: list[Exception] = []

    async def one(trial: _Trial, begun: asyncio.Event) -> None:
        try:
            async with agent.slot():
                begun.set()
                await take(trial)
        except Exception as error:
            faults.append(error)
            agent.stop(str(error))
        finally:
            begun.set()

    tasks: set[asyncio.Task[None]] = set()
    try:
        for trial in trials:
            begun = asyncio.Event()
            tasks.add(task := asyncio.create_task(one(trial, begun)))
            task.add_done_callback(tasks.discard)
            await begun.wait()
            if faults:
                break
        agent.all_begun()
        while tasks:
            await asyncio.wait(tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    if faults:
        raise next((fault for fault in faults if not isinstance(fault, Stopped)), faults[0])


async def interruptible(agent: Agent, session: Coroutine[Any, Any, None], say: Callable[[str], None]) -> None:
    """Run a session, so that Ctrl-C finishes what is under way: once, and nothing new begins; twice, and it stops at once.

    So it is when a system or a scheduler ends the program (SIGTERM), or its terminal goes away (SIGHUP).

    Raises
    ------
    KeyboardInterrupt
        when Ctrl-C, or a signal that means the same, has stopped it.
    """
    if not isinstance(agent, ConcurrentAgent) or threading.current_thread() is not threading.main_thread():
        await session
        return
    running = asyncio.ensure_future(session)
    with _counting(agent, running, say) as pressed:
        try:
            await asyncio.wait([running])
        finally:
            if not running.done():
                running.cancel()
                await asyncio.gather(running, return_exceptions=True)
    if pressed and (running.cancelled() or isinstance(running.exception(), Stopped)):
        raise KeyboardInterrupt
    running.result()


@contextmanager
def _counting(agent: ConcurrentAgent, running: asyncio.Future[None], say: Callable[[str], None]) -> Generator[list[int]]:
    """How often Ctrl-C was pressed, or a signal came that means the same, and what follows from it."""
    loop = asyncio.get_running_loop()
    pressed: list[int] = []

    def press(number: int, frame: Any) -> None:
        pressed.append(number)
        if len(pressed) == 1:
            loop.call_soon_threadsafe(agent.stop, "the session was interrupted")
            with suppress(OSError):  # the terminal may be what went away
                say(f"{agent.stopping}; Ctrl-C again stops at once")
        elif len(pressed) == 2:
            loop.call_soon_threadsafe(running.cancel)
        else:
            signal.default_int_handler(number, frame)

    with catching(press, "SIGINT", *ENDING):
        yield pressed
