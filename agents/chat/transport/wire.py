"""Connections on which a request leaves within the call that sends it: no other task comes between the note that it leaves and its last byte."""

from __future__ import annotations

import asyncio
import select
import ssl
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import httpcore2
from typing_extensions import override

if TYPE_CHECKING:
    import httpx2

#: a host with addresses of several kinds is tried at the next one after so long
_NEXT_ADDRESS_S = 0.25
#: how often it is looked whether the system has taken the rest of what was written
_LOOK_S = 0.005


def send_at_once(client: httpx2.AsyncClient) -> None:
    """Have a client's connections, those to proxies too, send within the call.

    It has no option for that. Where a version of it keeps its connections elsewhere, they stay as they are: requests are noted all the same, and are in doubt
    for a turn of the event loop instead of some microseconds.
    """
    for transport in (getattr(client, "_transport", None), *getattr(client, "_mounts", {}).values()):
        pool = getattr(transport, "_pool", None)
        if isinstance(getattr(pool, "_network_backend", None), httpcore2.AsyncNetworkBackend):
            pool._network_backend = _Network()  # type: ignore[union-attr]


class _Network(httpcore2.AnyIOBackend):
    """Opens connections of the running asyncio event loop."""

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        local = None if local_address is None else (local_address, 0)
        async with _translate_errors(httpcore2.ConnectTimeout, httpcore2.ConnectError, timeout):
            reader, writer = await asyncio.open_connection(host, port, local_addr=local, happy_eyeballs_delay=_NEXT_ADDRESS_S)
        for option in socket_options or ():
            writer.get_extra_info("socket").setsockopt(*option)
        return _Wire(reader, writer)


class _Wire(httpcore2.AsyncNetworkStream):
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        # what the connection is made of: itself, and the encryption that it goes through
        self._layers: list[asyncio.WriteTransport] = [writer.transport]

    @override
    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        async with _translate_errors(httpcore2.ReadTimeout, httpcore2.ReadError, timeout):
            return await self._reader.read(max_bytes)

    @override
    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        if not buffer:
            return
        async with _translate_errors(httpcore2.WriteTimeout, httpcore2.WriteError, timeout):
            if self._writer.is_closing():
                raise ConnectionResetError("the connection is closed")
            self._writer.write(buffer)
            await self._writer.drain()
            while any(layer.get_write_buffer_size() for layer in self._layers):  # more than the system takes at once
                await asyncio.sleep(_LOOK_S)
                await self._writer.drain()

    @override
    async def aclose(self) -> None:
        self._writer.close()
        await asyncio.sleep(0)
        self._writer.transport.abort()

    @override
    async def start_tls(self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None) -> httpcore2.AsyncNetworkStream:
        try:
            async with _translate_errors(httpcore2.ConnectTimeout, httpcore2.ConnectError, timeout):
                await self._writer.start_tls(ssl_context, server_hostname=server_hostname)
        except BaseException:
            self._writer.transport.abort()
            raise
        self._layers.append(self._writer.transport)
        return self

    @override
    def get_extra_info(self, info: str) -> Any:
        match info:
            case "ssl_object" | "socket":
                return self._writer.get_extra_info(info)
            case "client_addr":
                return self._writer.get_extra_info("sockname")
            case "server_addr":
                return self._writer.get_extra_info("peername")
            case "is_readable":  # of an idle connection: whether the server has closed it
                return self._reader.at_eof() or self._writer.is_closing() or _readable(self._writer.get_extra_info("socket"))
        return None


@asynccontextmanager
async def _translate_errors(late: type[Exception], broken: type[Exception], timeout: float | None) -> AsyncGenerator[None]:
    """Exceptions of the system in the words of those who send requests."""
    try:
        async with asyncio.timeout(timeout):
            yield
    except TimeoutError as error:
        raise late(str(error)) from error
    except OSError as error:
        raise broken(str(error)) from error


def _readable(socket: Any) -> bool:
    """Whether something can be read from a socket, its end included."""
    if socket is None or socket.fileno() < 0:
        return True
    try:
        poll = select.poll()
    except AttributeError:  # not everywhere
        return bool(select.select([socket.fileno()], [], [], 0)[0])
    poll.register(socket.fileno(), select.POLLIN)
    return bool(poll.poll(0))
