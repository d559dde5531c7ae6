"""The server as a program: its limits, those of connections that say nothing among them, and its life
beside other work of the same process. uvicorn is imported here alone."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from typing import Any

import uvicorn
from typing_extensions import override
from uvicorn.protocols.http.h11_impl import H11Protocol

from spanlab.core import SpanLabError

from .board import MonitorBoard
from .server import UNREAD_BYTES, make_app
from .visits import VisitDesk

#: A connection has sent the head of its request within so many seconds.
HEAD_S = 10.0
#: So many connections of one address, and so many in all, may be silent for longer than this (s).
#: The oldest goes when there is another one. Many honest pages may come in the same second, and
#: behind a proxy all have its address.
GRACE_S, MOST_OF_ADDRESS, MOST_SILENT = 3.0, 100, 400


class Silence:
    """The connections that have not said yet what they want.

    Parameters
    ----------
    clock : in seconds
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._lines: dict[object, tuple[float, str, Callable[[], object]]] = {}
        self._clock = clock

    def add(self, line: object, address: str, give_up: Callable[[], object]) -> None:
        """Take note of a connection; the oldest one is given up where too many say nothing."""
        now = self._clock()
        late = [one for one in self._lines.values() if now - one[0] > GRACE_S]
        of_address = [one for one in late if one[1] == address]
        if len(of_address) >= MOST_OF_ADDRESS:
            of_address[0][2]()
        elif len(late) >= MOST_SILENT:
            late[0][2]()
        self._lines[line] = now, address, give_up

    def remove(self, line: object) -> None:
        """It has spoken, or is gone."""
        self._lines.pop(line, None)


_silence = Silence()


class PromptHttp(H11Protocol):
    """A connection that is closed when it does not say what it wants."""

    @override
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._waits = self.loop.call_later(HEAD_S, self._give_up)
        address = self.client[0] if self.client else ""
        _silence.add(self, address, self._give_up)

    @override
    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.scope is not None:  # pyright: ignore[reportUnnecessaryComparison]
            self._has_spoken()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._has_spoken()
        super().connection_lost(exc)

    def _has_spoken(self) -> None:
        self._waits.cancel()
        _silence.remove(self)

    def _give_up(self, *_: Any) -> None:
        self._has_spoken()
        self.transport.abort()


#: a server that stops waits so long for what is under way (s)
_GRACE_S = 2


def make_server(
    desk: VisitDesk, board: MonitorBoard | None = None, host: str = "127.0.0.1", port: int = 0
) -> uvicorn.Server:
    """The server of a desk, which does not run yet.

    Parameters
    ----------
    board : what the assistant's page shows; there is no such page without one
    port : to listen on; a free one for 0
    """
    allow_many_connections()
    config = uvicorn.Config(
        make_app(desk, board),
        host=host,
        port=port,
        log_level="error",
        ws_max_size=UNREAD_BYTES,
        ws_ping_interval=5.0,
        ws_ping_timeout=10.0,
        ws_per_message_deflate=False,  # pictures are most of what is sent, and are small already; a line would cost more memory and time  # noqa: E501
        http=PromptHttp,
        timeout_graceful_shutdown=_GRACE_S,
        server_header=False,
    )
    return uvicorn.Server(config)


def allow_many_connections() -> None:
    """Let the process have as many connections as the system allows it; some systems begin with
    256."""
    if sys.platform == "win32":  # which has no such limit
        return
    import resource

    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def port_of(server: uvicorn.Server) -> int:
    """The port on which a server listens."""
    return int(server.servers[0].sockets[0].getsockname()[1])


@contextmanager
def running(server: uvicorn.Server, desk: VisitDesk) -> Generator[int]:
    """Serve in a thread until the block is left; gives the port. All sessions end with it.

    Raises
    ------
    SpanLabError
        when the server does not start.
    """
    thread = threading.Thread(target=server.run, name="server", daemon=True)
    thread.start()
    while not server.started:
        if not thread.is_alive():
            raise SpanLabError(f"nothing can listen on {server.config.host} port {server.config.port}")
        time.sleep(0.02)
    try:
        yield port_of(server)
    finally:
        desk.close()
        server.should_exit = True
        thread.join(10 * _GRACE_S)
