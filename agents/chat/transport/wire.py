"""Connections on which a request leaves within the call that sends it: no other task comes between
the note that it leaves and its last byte."""

from __future__ import annotations

import asyncio
import select
import ssl
import sys
import zlib
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

import httpcore2
from typing_extensions import override

if TYPE_CHECKING:
    import httpx2

#: a host with addresses of several kinds is tried at the next one after so long
_NEXT_ADDRESS_S = 0.25
#: how often it is looked whether the system has taken the rest of what was written
_LOOK_S = 0.005
#: how often a server may send a request elsewhere
_MOST_REDIRECTIONS = 20
#: the only headers that another server is told than the one that was asked: none of the user's
_FOR_ANYBODY = frozenset({"accept", "accept-encoding", "content-type"})
#: no reply is longer than so many bytes, compressed or not
MOST_BYTES = 8_000_000
#: so many times a body is compressed at the most
_MOST_LAYERS = 3


class UnreadableError(Exception):
    """What a server sent cannot be a reply; the message is the end of a sentence."""


#: of an answer that is longer than any reply
_TOO_LONG = f"sent more than {MOST_BYTES // 1_000_000} MB, which no reply has"


@dataclass(frozen=True, slots=True)
class Answer:
    """A server's answer of any kind: its status, headers by names in small letters, and body."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Line:
    """Connections to one server, over which requests go as they are: a client that builds, checks
    and follows each of them takes most of the time of one.

    Proxies of the environment and certificates are those of that client, whose pools of connections
    these are.

    Parameters
    ----------
    client : the client whose settings hold
    timeout_s : for each step of a request
    """

    def __init__(self, client: httpx2.AsyncClient, timeout_s: float) -> None:
        send_at_once(client)
        self._client = client
        self._timeout = dict.fromkeys(("connect", "read", "write", "pool"), timeout_s)
        self._pools: dict[str, Any] = {}

    async def post(
        self, url: str, headers: Mapping[str, str], content: bytes, follow: Callable[[str, Mapping[str, Any]], None]
    ) -> Answer:
        """Send a request, again where the server says so.

        Parameters
        ----------
        headers : by names in small letters
        follow : told how far it is

        Raises
        ------
        httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.TimeoutException
            when nothing came back.
        UnreadableError
            when more came back than any reply has, or it cannot be unpacked.
        """
        answer = await self._send(url, headers, content, follow)
        for _ in range(_MOST_REDIRECTIONS):
            place = answer.headers.get("location")
            if answer.status not in (307, 308) or place is None or urlsplit(urljoin(url, place)).scheme[:4] != "http":
                break
            before, url = url, urljoin(url, place)
            if urlsplit(before)[:2] != urlsplit(url)[:2]:  # another server is not told the key
                headers = {name: value for name, value in headers.items() if name in _FOR_ANYBODY}
            answer = await self._send(url, headers, content, follow)
        return answer

    async def _send(
        self, url: str, headers: Mapping[str, str], content: bytes, follow: Callable[[str, Mapping[str, Any]], None]
    ) -> Answer:
        async def trace(event: str, about: Mapping[str, Any]) -> None:
            follow(event, about)

        sent = [(name.encode("ascii"), value.encode("ascii")) for name, value in headers.items()]
        host = urlsplit(url).netloc.encode("ascii")
        request = httpcore2.Request(
            "POST",
            url,
            headers=[(b"host", host), *sent, (b"content-length", str(len(content)).encode("ascii"))],
            content=content,
            extensions={"trace": trace, "timeout": self._timeout},
        )
        response = await self._pool(url).handle_async_request(request)
        try:
            body = bytearray()
            async for part in response.stream:
                body += part
                if len(body) > MOST_BYTES:
                    raise UnreadableError(_TOO_LONG)
        finally:
            await response.aclose()
        response_headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers}
        return Answer(
            response.status, response_headers, _decoded(bytes(body), response_headers.get("content-encoding", ""))
        )

    def _pool(self, url: str) -> Any:
        """The connections over which a request to this address goes: to the server, or to a proxy."""
        where = urlsplit(url)
        key = f"{where.scheme}://{where.netloc}"
        if key not in self._pools:
            import httpx2

            transport: Any = self._client._transport_for_url(httpx2.URL(url))
            self._pools[key] = transport._pool
        return self._pools[key]

    async def aclose(self) -> None:
        """Close all connections."""
        await self._client.aclose()


def _decoded(body: bytes, encodings: str) -> bytes:
    """A body as it was before it was compressed.

    Raises
    ------
    UnreadableError
        when it cannot be read, or is longer than any reply is.
    """
    layers = [name.strip().lower() for name in encodings.split(",") if name.strip().lower() not in ("", "identity")]
    for layer in reversed(layers[-_MOST_LAYERS:]):
        if layer not in ("gzip", "x-gzip", "deflate"):
            raise UnreadableError(f"sent a reply that is compressed as {layer}, which was not asked for")
        body = _inflated(body, layer)
    return body


def _inflated(body: bytes, encoding: str) -> bytes:
    """A body that was compressed once: a stream of zlib or gzip, several of them one after the
    other, or one without a head, as some servers send."""
    found = bytearray()
    window = zlib.MAX_WBITS | 32 if encoding != "deflate" or body[:1] == b"\x78" else -zlib.MAX_WBITS
    try:
        while body:
            stream = zlib.decompressobj(window)
            found += stream.decompress(body, MOST_BYTES + 1 - len(found))
            if len(found) > MOST_BYTES:
                raise UnreadableError(_TOO_LONG)
            if not stream.eof:
                raise zlib.error("the stream is cut off")
            body = stream.unused_data
    except zlib.error as error:
        if found:  # what follows a whole stream is padding
            return bytes(found)
        raise UnreadableError(f"sent a reply that is compressed ({encoding}) and cannot be read") from error
    return bytes(found)


def send_at_once(client: httpx2.AsyncClient) -> None:
    """Have a client's connections, those to proxies too, send within the call.

    It has no option for that. Where a version of it keeps its connections elsewhere, they stay as
    they are: requests are noted all the same, and are in doubt for a turn of the event loop instead
    of some microseconds.
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
            reader, writer = await asyncio.open_connection(
                host, port, local_addr=local, happy_eyeballs_delay=_NEXT_ADDRESS_S
            )
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
    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.AsyncNetworkStream:
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
                return (
                    self._reader.at_eof()
                    or self._writer.is_closing()
                    or _readable(self._writer.get_extra_info("socket"))
                )
        return None


@asynccontextmanager
async def _translate_errors(
    late: type[Exception], broken: type[Exception], timeout: float | None
) -> AsyncGenerator[None]:
    """Exceptions of the system in the words of those who send requests."""
    try:
        async with asyncio.timeout(timeout):
            yield
    except TimeoutError as error:
        raise late(str(error)) from error
    except OSError as error:
        raise broken(str(error)) from error


def _readable(socket: Any) -> bool:
    """Return whether something can be read from a socket, its end included."""
    if socket is None or socket.fileno() < 0:
        return True
    if sys.platform == "win32":  # which has no poll
        return bool(select.select([socket.fileno()], [], [], 0)[0])
    poll = select.poll()
    poll.register(socket.fileno(), select.POLLIN)
    return bool(poll.poll(0))
