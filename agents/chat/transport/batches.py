"""Requests that go together: gathered until every trial under way waits for a reply, submitted as
one batch, and given their replies when it has ended.

One batch of a session is under way at a time. What is submitted is on the disk before and after
(:mod:`.batch_store`), so that a session that was killed waits for the batch that it had submitted,
and submits no request again that may be answered there.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ....core.errors import SpanLabError
from ...interruptions import Stopped
from ..cost.account import Account, Held
from ..messages import Reply
from .batch_api import URL, BatchApi, BatchStatus
from .batch_store import Batch, BatchStore, Result
from .endpoint import EndpointError
from .faults import Fault
from .request_limits import RequestLimits

#: of OpenAI: requests in a batch, and bytes of its file, with room left
_MOST_REQUESTS: Final = 50_000
_MOST_BYTES: Final = 150_000_000
_FIRST_POLL_S: Final = 1.0
_LONGEST_POLL_S: Final = 60.0
#: how often it is looked for a batch of which it is not known whether it was submitted
_LOOKS: Final = 3


@dataclass(frozen=True, slots=True)
class Waiting:
    """A request that waits for its reply.

    Parameters
    ----------
    name : in a batch
    body : as it would be sent alone
    held : by the account
    take : what a result is, a reply or a fault; it is on record when this returns
    """

    name: str
    body: bytes
    held: Held
    take: Callable[[Result], Reply | Fault]

    @property
    def line(self) -> bytes:
        """Its line in the file of a batch."""
        return b'{"custom_id":"%b","method":"POST","url":"%b","body":%b}' % (
            self.name.encode("ascii"),
            URL.encode("ascii"),
            self.body,
        )


class _Places:
    """Places for trials, of which so many are under way at the same time as a batch has requests."""

    def __init__(self) -> None:
        self.taken = 0
        #: whether no further trial is going to begin by itself
        self.all_begun = False
        self._queue: list[asyncio.Future[None]] = []

    @property
    def nobody_comes(self) -> bool:
        """True if no trial begins before one that is under way has ended."""
        return self.all_begun or bool(self._queue)

    async def free(self, queued: Callable[[], None]) -> None:
        """Wait in the queue until a place is left.

        Parameters
        ----------
        queued : called when the trial stands in the queue
        """
        left: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.append(left)
        queued()
        try:
            await left
        finally:
            self._queue.remove(left)

    def leave(self) -> None:
        """Leave a place to the first in the queue."""
        self.taken -= 1
        for first in self._queue[:1]:
            if not first.done():
                first.set_result(None)

    def close(self, reason: Exception) -> None:
        """Send everybody in the queue away."""
        for left in self._queue:
            if not left.done():
                left.set_exception(reason)


class Batches:
    """The batches of one chat agent in one session.

    Parameters
    ----------
    api : of the server
    request_limits : how the server is treated
    account : holds what a batch may take
    """

    def __init__(self, api: BatchApi, request_limits: RequestLimits, account: Account) -> None:
        self._api, self._request_limits, self._account = api, request_limits, account
        self._store: BatchStore | None = None
        self._waiting: dict[str, tuple[Waiting, asyncio.Future[Reply | Fault]]] = {}
        self._places = _Places()
        self._stopping = ""
        self._stopped = asyncio.Event()
        self._working: asyncio.Task[None] | None = None
        self._poll_s = 0.0
        self._status: BatchStatus | None = None
        self._cancelled = ""
        #: takes sentences for whoever waits
        self.say: Callable[[str], None] = lambda sentence: None

    @property
    def store(self) -> BatchStore:
        """The store on the disk."""
        if self._store is None:
            raise SpanLabError("batches belong to a session, whose folder has their record: run the agent in a session")
        return self._store

    def take_up(self, session: Path) -> None:
        """Go on with the batches of a session."""
        self._store = BatchStore(session)

    async def end_all(self) -> None:
        """Fetch what batches of earlier parts of the session brought, since requests are sent one
        by one from now on.

        Raises
        ------
        SpanLabError
            when one has not ended.
        """
        for batch in self.store.open:
            await self._settle(batch)
        for batch in self.store.open:
            if not (status := await self._api.status(batch.name)).ended:
                raise SpanLabError(
                    f"{_requests(len(batch.lines))} of this session {'is' if len(batch.lines) == 1 else 'are'} in batch"
                    f" {batch.name}, which is {status.state.replace('_', ' ')}: continue with --batch, or cancel it"
                    f" first (spanlab batch {self.store.session} --cancel)"
                )
            await self._fetch(batch, status)

    async def states(self) -> list[tuple[Batch, BatchStatus | None]]:
        """Every batch of the session; of those under way how far they are."""
        for batch in self.store.open:
            await self._settle(batch)
        open_now = self.store.open
        return [
            (batch, await self._api.status(batch.name) if batch in open_now else None) for batch in self.store.batches
        ]

    async def cancel(self) -> list[tuple[Batch, BatchStatus]]:
        """Have the batches under way cancelled."""
        return [
            (batch, await self._api.cancel(batch.name))
            for batch, status in await self.states()
            if status is not None and not status.ended
        ]

    def give_up(self) -> list[Batch]:
        """Count the batches under way as lost, whatever becomes of them; their requests are free
        again."""
        given_up = self.store.open
        for batch in given_up:
            self.store.give_up(batch)
        return given_up

    # -- places ------------------------------------------------------------------------------------

    @asynccontextmanager
    async def place(self) -> AsyncGenerator[None]:
        """A place for one trial; there are as many as requests in a batch."""
        self._check()
        while self._places.taken >= self._most:
            await self._places.free(self._look_round)
        self._places.taken += 1
        try:
            yield
        finally:
            self._places.leave()
            self._look_round()

    @property
    def _most(self) -> int:
        return self._request_limits.batch_requests or _MOST_REQUESTS

    def all_begun(self) -> None:
        """No further trial is going to begin by itself."""
        self._places.all_begun = True
        self._look_round()

    def stop(self, why: str) -> None:
        """Submit nothing and wait for nothing from now on; batches that are under way stay so."""
        self._stopping = self._stopping or why
        self._stopped.set()
        self._places.close(Stopped(self._stopping))
        self._give(Stopped(self._stopping))

    def _check(self) -> None:
        if self._stopping:
            raise Stopped(self._stopping)

    @property
    def tally(self) -> str:
        """State of the batch under way in a few words; empty when there is none."""
        status = self._status
        return (
            ""
            if status is None
            else f"batch {status.state.replace('_', ' ')}, {status.done:,} of {status.total:,} done"
        )

    def under_way(self) -> str:
        """A sentence on what goes on at the provider now that this program does not wait for it, in
        a sentence; empty when nothing does."""
        batch = (
            next((batch for batch in self._store.open if batch.state != "prepared"), None)
            if self._store is not None
            else None
        )
        if batch is None:
            return ""
        done = (
            f", {self._status.done:,} done when last looked at"
            if self._status is not None and self._status.name == batch.name
            else ""
        )
        return (
            f"batch {batch.name or f'number {batch.number}'} continues at {self._api.where}"
            f" ({_requests(len(batch.lines))}{done}), and its replies have to be paid for. spanlab resume"
            f" {self.store.session} fetches them; spanlab batch {self.store.session} shows its state, and with --cancel"
            " cancels it"
        )

    # -- one request -------------------------------------------------------------------------------

    async def outcome(self, waiting: Waiting) -> Reply | Fault:
        """The reply to a request, or why there is none, when its batch has ended.

        Raises
        ------
        Stopped
            when nothing is waited for any more.
        EndpointError
            when no batch can be submitted.
        """
        self._check()
        future: asyncio.Future[Reply | Fault] = asyncio.get_running_loop().create_future()
        self._waiting[waiting.name] = waiting, future
        self._look_round()
        try:
            return await future
        finally:
            self._waiting.pop(waiting.name, None)
            waiting.held.release()

    # -- all of them -------------------------------------------------------------------------------

    @property
    def _quiet(self) -> bool:
        """True when every trial under way waits for a reply, and no other begins."""
        waiting = sum(not future.done() for _, future in self._waiting.values())
        return waiting > 0 and waiting >= self._places.taken and self._places.nobody_comes

    def _look_round(self) -> None:
        if self._quiet and not self._stopping and (self._working is None or self._working.done()):
            self._working = asyncio.get_running_loop().create_task(self._work())

    async def _work(self) -> None:
        """Submit and wait until replies are there."""
        try:
            while self._quiet and not self._stopping:
                self._deliver()
                if not self._quiet:
                    return
                if not (under_way := self.store.open):
                    await self._submit([waiting for waiting, _ in self._waiting.values()])
                elif under_way[0].state != "submitted":
                    await self._settle(under_way[0])
                else:
                    await self._wait_for(under_way[0])
        except Exception as error:
            self._give(error)
        except BaseException:
            self._give(Stopped("the session was interrupted"))
            raise

    def _give(self, error: Exception) -> None:
        """Have everybody who waits get an error."""
        for _, future in self._waiting.values():
            if not future.done():
                future.set_exception(
                    error
                    if isinstance(error, SpanLabError)
                    else SpanLabError(f"the batch failed: {type(error).__name__}: {error}")
                )

    def _deliver(self) -> None:
        """Give out what came."""
        faulty: list[tuple[str, Result]] = []
        for name, (waiting, future) in self._waiting.items():
            if not future.done() and (result := self.store.result(name)) is not None:
                outcome = waiting.take(result)
                if isinstance(outcome, Fault):
                    faulty.append((name, result))
                future.set_result(outcome)
        self.store.use(faulty)

    async def _submit(self, wanting: Sequence[Waiting]) -> None:
        """Submit a batch of as many requests as it may have."""
        if self._cancelled:
            raise EndpointError(
                f"batch {self._cancelled} was cancelled; its replies are kept, and the other requests are submitted"
                " when the session continues"
            )
        size, fitting = 0, 0
        for waiting in wanting[: self._most]:
            size += len(waiting.line) + 1
            if fitting and size > _MOST_BYTES:
                break
            fitting += 1
        count = self._account.hold_batch([waiting.held for waiting in wanting], fitting)
        if not count:
            raise EndpointError(wanting[0].held.refused_alone())
        chosen = wanting[:count]
        cost, tokens = self._account.sum_of([waiting.held for waiting in chosen])
        batch = self.store.prepare({waiting.name: waiting.line for waiting in chosen}, cost, tokens)
        try:
            file = await self._api.upload(self.store.requests_file(batch))
            self.store.uploaded(batch, file)
            self._check()
        except SpanLabError as error:
            self.store.drop(batch, str(error))
            raise
        self.store.submitting(batch)
        try:
            name = await self._api.create(file, batch.token)
        except EndpointError as error:
            if not error.begun:
                self.store.drop(batch, str(error))
                raise
            if not await self._found(batch, _LOOKS):
                raise
        else:
            self.store.submitted(batch, name)
        self._status, self._poll_s = None, 0.0
        share = (
            "" if self._account.prices is None else f", at {self._account.prices.batch_share:.0%} of the usual price"
        )
        left = (
            ""
            if self._request_limits.batch == "leave"
            else f" Ctrl-C leaves it there; spanlab resume {self.store.session} then fetches its replies."
        )
        self.say(
            f"{_requests(count)} submitted as batch {batch.name} to {self._api.where}{share}. A batch may take up to 24"
            f" hours.{left}"
        )

    async def _settle(self, batch: Batch) -> None:
        """Find out what became of a batch that an earlier part of the session did not finish
        submitting."""
        if batch.state == "prepared":
            self.store.drop(batch, "the program ended before it was submitted")
        elif batch.state == "submitting":
            await self._found(batch, 1)

    async def _found(self, batch: Batch, looks: int) -> bool:
        """Look whether a batch is at the provider, of which that is not known; one that is not
        there is dropped.

        Raises
        ------
        SpanLabError
            when the provider does not tell.
        """
        for look in range(looks):
            if look:
                await self._sleep(_FIRST_POLL_S)
            try:
                found = await self._api.find(batch.file, batch.token)
            except EndpointError as error:
                raise SpanLabError(
                    f"batch number {batch.number} ({_requests(len(batch.lines))}) may or may not have been submitted,"
                    f" and {self._api.where} does not say ({error}). If your provider's page does not show it, spanlab"
                    f" batch {self.store.session} --give-up submits its requests again; they then count as possibly"
                    " paid for twice"
                ) from None
            if found:
                self.store.submitted(batch, found[0].name)
                await self._cancel_others(batch, found[1:])
                return True
        self.store.drop(batch, "it is not among the batches of the provider")
        return False

    async def _cancel_others(self, batch: Batch, others: Sequence[BatchStatus]) -> None:
        """Cancel batches that were submitted in the place of another one, and count their requests."""
        for other in others:
            self.store.note_twice(batch, other.name, len(batch.lines))
            self.say(
                f"WARNING: batch {other.name} has the same requests as another one; it is cancelled, and its"
                f" {len(batch.lines):,} requests may be paid for"
            )
            with suppress(EndpointError):
                await self._api.cancel(other.name)

    async def _wait_for(self, batch: Batch) -> None:
        """Look at a batch once: fetch what it brought when it has ended, else wait for a while."""
        for waiting, _ in self._waiting.values():
            if waiting.name in batch.lines:
                self._account.under_way.add(waiting.held)
        status = await self._looked_at(batch)
        if status is None:
            return
        self._status = status
        if status.ended:
            await self._fetch(batch, status)
        elif self._request_limits.batch == "leave":
            raise Stopped(
                f"batch {batch.name} is {status.state.replace('_', ' ')} ({status.done:,} of"
                f" {status.total or len(batch.lines):,} requests done) and was not waited for"
            )
        else:
            await self._sleep(self._next_poll())

    async def _looked_at(self, batch: Batch) -> BatchStatus | None:
        """Return the state of a batch; None when it stops mattering. A server that cannot be
        reached for a while is asked again."""
        failed = 0
        while not self._stopping:
            try:
                return await self._api.status(batch.name)
            except EndpointError as error:
                failed += 1
                if error.permanent or failed > self._request_limits.max_retries:
                    raise
            await self._sleep(self._next_poll())
        return None

    async def _fetch(self, batch: Batch, status: BatchStatus) -> None:
        """Keep what a batch brought.

        Raises
        ------
        EndpointError
            when it was refused as a whole.
        """
        self._status = None
        if status.state == "failed":
            self.store.drop(batch, status.said or "failed")
            many = "; smaller batches may be accepted: --care batch_requests=500" if "limit" in status.said else ""
            raise EndpointError(
                f"{self._api.where} refused batch {batch.name} as a whole"
                f" ({status.said or 'it does not say why'}){many}"
            )
        output, errors = await self._api.content(status.output), await self._api.content(status.errors)
        self.store.end(batch, status.state, output, errors)
        if status.state == "cancelled":
            self._cancelled = batch.name
        elif status.state != "completed":
            self.say(
                f"batch {batch.name} is {status.state}: {status.done:,} of {_requests(len(batch.lines))} had a reply,"
                " and the others are submitted again"
            )
        for stray in self.store.batches:
            if stray.state == "dropped" and stray.doubts and not stray.twice:
                with suppress(EndpointError):
                    await self._cancel_others(stray, await self._api.find(stray.file, stray.token))

    def _next_poll(self) -> float:
        longest = self._request_limits.batch_poll_s or _LONGEST_POLL_S
        self._poll_s = min(longest, self._poll_s * 1.5 if self._poll_s else _FIRST_POLL_S)
        return self._poll_s

    async def _sleep(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stopped.wait()

    async def aclose(self) -> None:
        """Close the connections, when what is being submitted is on record."""
        if self._working is not None:
            await asyncio.gather(self._working, return_exceptions=True)
        await self._api.aclose()


def _requests(count: int) -> str:
    return f"{count:,} request{'s' * (count != 1)}"
