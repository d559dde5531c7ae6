"""Trials several at once, in one event loop, and an end that loses none of their replies."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Awaitable, Callable, Coroutine, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from ...agents.at_once import ConcurrentAgent
from ...agents.interruptions import Stopped
from ...core.event_loop import ENDING, catching
from ...core.json_values import grouped
from ...paradigms import PlannedTrial
from ..practice import MachinePractice
from ..record.reader import trial_key
from ..trial_log import Judged
from .one_by_one import TrialTaker

_Trial = TypeVar("_Trial")


async def practise_and_recall(agent: ConcurrentAgent, taker: TrialTaker) -> None:
    """Lead a machine through practice where it takes some, and through what it remembers of an
    earlier part of the session."""
    session, state = taker.session, taker.state

    async def practise(planned: PlannedTrial) -> list[Judged]:
        return await (
            taker.recall(planned) if trial_key(True, planned.trial) in taker.log.done else taker.take(planned)
        )

    if agent.practises and taker.source.apart is not None:
        await MachinePractice(session, agent, state.practised, taker.recorder.write).lead(
            session, practise, taker.source.apart
        )
    if agent.remembers:
        planned = {trial_key(False, each.trial): each for each in session.plan}
        for key in taker.log.done:
            if key in planned:
                await taker.recall(planned[key])


async def concurrently(
    agent: ConcurrentAgent, taker: TrialTaker, pending: Sequence[PlannedTrial], tell: Callable[[], None]
) -> None:
    """Take trials, as many at once as the agent has places for; those of one conversation in
    sequence."""

    async def take(conversation: Sequence[PlannedTrial]) -> None:
        for planned in conversation:
            await taker.take_or_fail(planned)
            tell()

    await several(agent, _in_conversations(agent, pending, taker.state.failed), take)


def _in_conversations(
    agent: ConcurrentAgent, pending: Sequence[PlannedTrial], failed_before: Mapping[str, str]
) -> list[list[PlannedTrial]]:
    """Group trials that must be taken in sequence: those of a block, where the agent remembers
    them; trials that failed before then come last."""
    if not agent.remembers:
        return [[planned] for planned in pending]
    blocks = grouped(
        (planned.block, planned) for planned in sorted(pending, key=lambda trial: str(trial.trial) in failed_before)
    )
    return [blocks[block] for block in sorted(blocks)]


async def several(agent: ConcurrentAgent, trials: Sequence[_Trial], take: Callable[[_Trial], Awaitable[None]]) -> None:
    """Take trials in order, as many at once as the agent has places for.

    When one of them fails, no other begins and the agent is told to ask nothing new; what is under
    way ends, and is kept.

    Raises
    ------
    Exception
        the first that a trial has raised; those that were stopped because of it come back when the
        session goes on.
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
        while tasks:
            await asyncio.wait(tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    if faults:
        raise next((fault for fault in faults if not isinstance(fault, Stopped)), faults[0])


async def interruptible(agent: ConcurrentAgent, session: Coroutine[Any, Any, None], say: Callable[[str], None]) -> None:
    """Run a session, so that Ctrl-C finishes what is under way: once, and nothing new begins;
    twice, and it stops at once.

    So it is when a system or a scheduler ends the program (SIGTERM), or its terminal goes away
    (SIGHUP).

    Raises
    ------
    KeyboardInterrupt
        when Ctrl-C, or a signal that means the same, has stopped it.
    """
    if threading.current_thread() is not threading.main_thread():
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
def _counting(
    agent: ConcurrentAgent, running: asyncio.Future[None], say: Callable[[str], None]
) -> Generator[list[int]]:
    """Counter of Ctrl-C presses, and of signals with the same meaning, with their consequences."""
    loop = asyncio.get_running_loop()
    pressed: list[int] = []

    def press(number: int, frame: Any) -> None:
        pressed.append(number)
        if len(pressed) == 1:
            loop.call_soon_threadsafe(agent.stop, "the session was interrupted")
            with suppress(OSError):  # the terminal may be what went away
                say("finishing what is under way; Ctrl-C again stops at once")
        elif len(pressed) == 2:
            loop.call_soon_threadsafe(running.cancel)
        else:
            signal.default_int_handler(number, frame)

    with catching(press, "SIGINT", *ENDING):
        yield pressed
