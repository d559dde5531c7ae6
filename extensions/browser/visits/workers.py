"""Several processes that serve one offer behind one port. Whoever visits comes to the same one every time; when one
ends, another takes its place, and its sessions go on from their records."""

# pyright: strict, reportImplicitOverride=true
from __future__ import annotations

import asyncio
import ipaddress
import itertools
import multiprocessing
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from urllib.parse import unquote

import uvicorn

from spanlab.core import SpanLabError

from .neighbours import whose
from .serving import HEAD_S, Silence, allow_many_connections, port_of

#: runs a worker, given its number and a function that runs its server
Work = Callable[[int, Callable[[uvicorn.Server], None]], None]
#: workers that stop have so many seconds for their sessions
_END_S = 15.0
#: seconds between two looks at whether all workers are there
_LOOK_S = 0.2
#: bytes that are passed on at once
_PIECE = 64 * 1024
_PICTURE, _VISIT = re.compile(rb"/frame/(\d+)-"), re.compile(rb"/visit\?participant=([^& ]*)")


class _Worker:
    """A process that serves some of the visits, and the port on which it listens."""

    def __init__(self, number: int, work: Work) -> None:
        self.number, self._work = number, work
        self.begin()

    def begin(self) -> None:
        """Start the process."""
        spawn = multiprocessing.get_context("spawn")
        self._line, theirs = spawn.Pipe()
        self.port = 0
        self.process = spawn.Process(target=_run, args=(self.number, self._work, theirs), name=f"worker {self.number}")
        self.process.start()
        theirs.close()

    def listens(self) -> bool:
        """Return whether it has said on which port it listens."""
        with suppress(EOFError, OSError):
            if not self.port and self._line.poll():
                self.port = self._line.recv()
        return self.port > 0

    def end(self) -> None:
        """Have it record its sessions, and end."""
        self._line.close()


def _run(number: int, work: Work, line: Connection) -> None:
    """The life of a worker: it ends with the line to the process that has started it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for that process

    def run(server: uvicorn.Server) -> None:
        threading.Thread(target=_accompany, args=(server, line), daemon=True).start()
        server.run()

    work(number, run)


def _accompany(server: uvicorn.Server, line: Connection) -> None:
    while not server.started:
        time.sleep(_LOOK_S)
    with suppress(EOFError, OSError):
        line.send(port_of(server))
        line.recv()
    server.should_exit = True


class Gate:
    """The one port: hands every connection on to a worker.

    A connection is for one request, or for the line of one page, so that all of it belongs to one worker.

    Parameters
    ----------
    workers : how many
    work : runs one of them
    say : takes sentences for whoever has started the server
    """

    def __init__(self, workers: int, work: Work, say: Callable[[str], None]) -> None:
        self._workers = [_Worker(number, work) for number in range(workers)]
        self._turn, self._say = itertools.count(), say
        self._silence = Silence()

    @contextmanager
    def _open(self) -> Generator[None]:
        try:
            yield
        finally:
            for worker in self._workers:
                worker.end()
            until = time.monotonic() + _END_S
            for worker in self._workers:
                worker.process.join(max(0.0, until - time.monotonic()))
                worker.process.kill()

    async def serve(self, host: str, port: int, started: Callable[[], None] = lambda: None) -> None:
        """Serve until Ctrl-C.

        Raises
        ------
        SpanLabError
            when a worker does not begin.
        OSError
            when nothing can listen there.
        """
        allow_many_connections()
        with self._open():
            while not all(worker.listens() for worker in self._workers):
                self._check_beginning()
                await asyncio.sleep(_LOOK_S)
            over = asyncio.Event()
            if sys.platform != "win32":  # where Ctrl-C is an exception
                for sign in (signal.SIGINT, signal.SIGTERM):
                    asyncio.get_running_loop().add_signal_handler(sign, over.set)
            async with await asyncio.start_server(self._come, host, port, limit=_PIECE, backlog=2048) as server:
                started()
                while not over.is_set():
                    self._look()
                    with suppress(TimeoutError):
                        await asyncio.wait_for(over.wait(), _LOOK_S)
                server.close()

    def _check_beginning(self) -> None:
        for worker in self._workers:
            if not worker.process.is_alive():
                raise SpanLabError(f"worker {worker.number} does not begin; its reason stands above")

    def _look(self) -> None:
        """Have somebody take the place of every worker that has ended."""
        for worker in self._workers:
            if not worker.listens() and worker.process.is_alive():
                continue  # it begins
            if not worker.process.is_alive():
                self._say(f"worker {worker.number} has ended ({worker.process.exitcode}) and begins anew")
                worker.begin()

    def _whose(self, request: bytes) -> _Worker:
        """The worker for a request, by its first line."""
        if (picture := _PICTURE.search(request)) is not None:
            return self._workers[int(picture[1][:4]) % len(self._workers)]
        if (visit := _VISIT.search(request)) is not None:
            return self._workers[whose(unquote(visit[1].decode("ascii", "replace")), len(self._workers))]
        if b" /monitor" in request:
            return self._workers[0]
        ready = [worker for worker in self._workers if worker.port] or self._workers
        return ready[next(self._turn) % len(ready)]

    async def _come(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve a connection."""
        address = str((writer.get_extra_info("peername") or ("",))[0])
        inner: asyncio.StreamWriter | None = None
        try:
            self._silence.add(writer, address, writer.transport.abort)
            async with asyncio.timeout(HEAD_S):
                head = await reader.readuntil(b"\r\n\r\n")
            self._silence.remove(writer)
            worker = self._whose(head.partition(b"\r\n")[0])
            answers, inner = await asyncio.open_connection("127.0.0.1", worker.port)
            inner.write(_passed_on(head, address))
            await asyncio.wait(
                [asyncio.create_task(_pass(reader, inner)), asyncio.create_task(_pass(answers, writer))],
                return_when=asyncio.FIRST_COMPLETED,
            )
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # it said nothing, or the worker is not there: the page tries again
        finally:
            self._silence.remove(writer)
            for end in (writer, inner):
                if end is not None:
                    end.close()


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while piece := await reader.read(_PIECE):
            writer.write(piece)
            await writer.drain()


def _passed_on(head: bytes, address: str) -> bytes:
    """The head of a request as a worker gets it: it is the only one of its connection, unless that becomes a line;
    and where the browser is somewhere else, with its address."""
    lines = head[:-4].split(b"\r\n")
    names = [line.partition(b":")[0].strip().lower() for line in lines]
    further: list[bytes] = []
    gone: set[bytes] = set()
    if b"upgrade" not in names:
        gone.add(b"connection")
        further.append(b"connection: close")
    if not _on_this_computer(address):
        gone.add(b"x-forwarded-for")
        further.append(b"x-forwarded-for: " + address.encode())
    kept = [line for name, line in zip(names, lines, strict=True) if name not in gone]
    return b"\r\n".join([*kept, *further]) + b"\r\n\r\n"


def _on_this_computer(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return True
