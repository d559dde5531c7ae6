"""The server as a program: its limits, and its life beside other work of the same process. uvicorn
is imported here alone."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress

import uvicorn

from spanlab.core import SpanLabError

from .board import MonitorBoard
from .server import UNREAD_BYTES, make_app
from .silent import PromptHttp
from .visits import VisitDesk

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
    _allow_many_connections()
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


def _allow_many_connections() -> None:
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
