"""The server that pages talk to: the page itself, its pictures, and a line for each visit.
Starlette is imported here alone."""

from __future__ import annotations

import asyncio
import ipaddress
import json
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from spanlab.core import SpanLabError
from spanlab.core.kit import page_files
from spanlab.core.locale import sentence

from ..participant.channel import BEAT_S, REPLACED, TooMuchError
from .board import MonitorBoard
from .messages import Event, Hello, read_message
from .visits import Refusal, Visit, VisitDesk

#: a message of a page has no more characters than this; what is many times as long (bytes) is not
#: even read
MOST_CHARACTERS, UNREAD_BYTES = 256 * 1024, 2**20
#: a page sends so many messages, with so many characters in all, in so many seconds at most: those
#: of a whole trial, after the line was cut for that long
_MOST_MESSAGES, _MOST_TEXT, _WITHIN_S = 2_500, 4 * 2**20, 10.0
#: a page says who it is within so many seconds
_HELLO_S = 15.0

_SAFE = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self';"
        " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-embedder-policy": "require-corp",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
}


def make_app(desk: VisitDesk, board: MonitorBoard | None = None) -> Starlette:
    """The application that serves one offer.

    Parameters
    ----------
    board : what the assistant's page shows; there is no such page without one
    """
    pages, lines = _Pages(desk), _Lines(desk)

    async def fault(request: Request, error: Exception) -> Response:
        return Response("Something went wrong.", 500, headers=_SAFE, media_type="text/plain")

    @asynccontextmanager
    async def beating(app: Starlette) -> AsyncGenerator[None]:
        task = asyncio.create_task(beat())
        yield
        task.cancel()

    async def beat() -> None:
        while True:
            desk.turns.beat()
            await asyncio.sleep(BEAT_S)

    return Starlette(
        lifespan=beating,
        routes=[
            Route("/", pages.index),
            Route("/start", pages.start),
            Route("/favicon.ico", pages.icon),
            Route("/page/{name}", pages.file),
            Route("/frame/{secret}/{name}.png", pages.picture),
            WebSocketRoute("/visit", lines.visit),
            *(() if board is None else _board_routes(board, pages)),
        ],
        exception_handlers={
            404: lambda request, error: _nothing(),
            405: lambda request, error: _nothing(),
            Exception: fault,
        },
    )


class _Pages:
    """The files of the pages, and the pictures of visits."""

    def __init__(self, desk: VisitDesk) -> None:
        self._desk = desk
        self._files = page_files("spanlab.extensions.browser.participant", "spanlab.extensions.browser.visits")
        forms_to = " ".join(desk.offer.forms_to) or "'none'"
        policy = _SAFE["content-security-policy"].replace("form-action 'none'", f"form-action {forms_to}")
        self._safe = {**_SAFE, "content-security-policy": policy}

    def named(self, name: str) -> Response:
        """A file of the pages."""
        if name not in self._files:
            return _nothing()
        content, media_type = self._files[name]
        return Response(content, media_type=media_type, headers=self._safe)

    async def index(self, request: Request) -> Response:
        """The page of a participant."""
        return self.named("index.html")

    async def file(self, request: Request) -> Response:
        """A file that a page names."""
        return self.named(str(request.path_params["name"]))

    async def icon(self, request: Request) -> Response:
        """There is none."""
        return Response(None, 204, headers=_SAFE)

    async def start(self, request: Request) -> Response:
        """Send what a page needs before it connects."""
        wanted = self._desk.offer.wanted
        if wanted["needed"] and not any(request.query_params.get(name) for name in wanted["identifiers"]):
            self._desk.notices.say_once(_UNNAMED)
        return JSONResponse(self._desk.start(), headers=_SAFE)

    async def picture(self, request: Request) -> Response:
        """A picture that a visit shows now."""
        drawn = self._desk.picture(str(request.path_params["secret"]), str(request.path_params["name"]))
        if drawn is None:
            return _nothing()
        content = await asyncio.shield(asyncio.wrap_future(drawn))  # others may wait for the same picture
        return Response(content, media_type="image/png", headers=_SAFE)


def _board_routes(board: MonitorBoard, pages: _Pages) -> list[Route]:
    """The routes of the assistant's page."""

    async def monitor(request: Request) -> Response:
        return pages.named("monitor.html")

    async def now(request: Request) -> Response:
        if not board.admits(request.headers.get("authorization", "")):
            return _nothing()
        return JSONResponse(await run_in_threadpool(board.now), headers=_SAFE)

    return [Route("/monitor", monitor), Route("/monitor/now", now)]


class _Lines:
    """The connections of all pages, in the order in which they came."""

    def __init__(self, desk: VisitDesk) -> None:
        self._desk, self._lines = desk, dict[_Line, None]()

    async def visit(self, socket: WebSocket) -> None:
        """Serve a connection, where there is room for it."""
        line = _Line(self._desk, socket)
        if len(self._lines) >= most_lines(self._desk.most) and not self._make_room():
            await line.turn_away()
            return
        self._lines[line] = None
        try:
            await line.serve()
        finally:
            self._lines.pop(line, None)

    def _make_room(self) -> bool:
        """End the oldest connection whose page has not said who takes part; false where there is
        none."""
        silent = next((line for line in self._lines if not line.introduced), None)
        if silent is None:
            return False
        self._lines.pop(silent)
        silent.drop()
        return True


def remote(host: str) -> str:
    """An address that tells people apart; empty for this computer, which is also where a proxy may
    be that tells none."""
    try:
        return "" if ipaddress.ip_address(host).is_loopback else host
    except ValueError:
        return ""


#: what is said where a page is refused whose link does not say who takes part
_UNNAMED = (
    "a page was not let in: its link does not say who takes part, in 1 to 40 letters, digits, hyphens and underscores"
)


def most_lines(most: int) -> int:
    """Return how many connections there are at most, where so many people may take part at the same
    time: also those that have not said yet who they are."""
    return 4 * most + 200


def _nothing() -> Response:
    return Response("There is nothing here.", 404, headers=_SAFE, media_type="text/plain")


def _foreign(origin: str, host: str) -> str:
    """Return what is said when a page is refused that seems to be somebody else's; behind a proxy
    it often is not."""
    return (
        f"a page of {origin[:200] or 'nobody'} was refused, because its request is for {host[:200] or 'nobody'}. Behind"
        " a reverse proxy, pass on the address that the browser has asked for, with its port (nginx: proxy_set_header"
        " Host $http_host)"
    )


class _Line:
    """The connection of one page."""

    def __init__(self, desk: VisitDesk, socket: WebSocket) -> None:
        self._desk, self._socket = desk, socket
        self._loop = asyncio.get_running_loop()
        self._out: asyncio.Queue[Mapping[str, Any]] = asyncio.Queue()
        self._window = (time.monotonic(), 0, 0)
        #: whether the page has said who takes part
        self.introduced = False
        self._ended = False
        self._reading: asyncio.Task[Any] | None = None
        #: of the browser, as far as a proxy tells it; empty where nobody knows
        self.address = remote(socket.client.host if socket.client is not None else "")

    def send(self, message: Mapping[str, Any]) -> None:
        """Have a message sent, from whatever thread."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._out.put_nowait, message)

    async def serve(self) -> None:
        """Until the page goes away, or sends what no page of ours sends."""
        headers = self._socket.headers
        origin, hosts = headers.get("origin", ""), [headers.get(name, "") for name in ("host", "x-forwarded-host")]
        if not origin or urlsplit(origin).netloc not in hosts:
            self._desk.notices.say_once(_foreign(origin, hosts[0]))
            await self._socket.close(1008)  # a page of somebody else
            return
        await self._socket.accept()
        visit: Visit | None = None
        send = self.send  # one object, by which the channel knows this line
        writing = asyncio.create_task(self._write())
        try:
            async with asyncio.timeout(_HELLO_S):
                self._reading = asyncio.create_task(self._socket.receive_text())
                hello = read_message(await self._reading)
            if not isinstance(hello, Hello):
                self._desk.notices.say_once(_UNNAMED)
                await self._refuse("refused")
                return
            self.introduced = True
            joined = await run_in_threadpool(self._desk.join, hello, send, self.address)
            if isinstance(joined, Refusal):
                await self._socket.send_json(
                    {"type": "refused", "title": joined.title, "texts": [joined.text], "final": joined.final}
                )
                await self._socket.close(1000)
                return
            visit = joined
            while not visit.released:  # who was, begins anew
                text = await self._socket.receive_text()
                message = None if len(text) > MOST_CHARACTERS else read_message(text)
                if self._too_much(len(text)) or message is None or isinstance(message, Hello):
                    await self._refuse("stopped")
                    return
                if isinstance(message, Event):
                    event = message.event()
                    if not visit.channel.hear(event):
                        await run_in_threadpool(visit.channel.keep, event)  # the disk may be slow
                else:
                    visit.shows_on(message.screen.screen())
        except TimeoutError:
            await self._socket.close(1002)  # it does not say who it is
        except asyncio.CancelledError:
            if self._reading is None or not self._reading.cancelled():
                raise
            await self._socket.close(1013)  # others need its place
        except (WebSocketDisconnect, RuntimeError, KeyError):
            pass  # the page is gone, or sent bytes
        except TooMuchError:
            await self._refuse("stopped")
        except SpanLabError:
            await self._socket.close(1011)  # the disk refuses: nothing is acknowledged, and the page sends it again
        finally:
            if visit is not None:
                visit.channel.detach(send)
            writing.cancel()

    def drop(self) -> None:
        """End the connection of a page that has not said who takes part, so that another one finds
        room."""
        if self._reading is not None:
            self._reading.cancel()

    async def turn_away(self) -> None:
        """Tell the page that there are too many; it tries again by itself."""
        await self._socket.accept()
        title, text = (sentence(f"online.{name}", self._desk.offer.language) for name in ("no_room_title", "full"))
        await self._socket.send_json({"type": "refused", "title": title, "texts": [text], "final": False})
        await self._socket.close(1013)

    def _too_much(self, size: int) -> bool:
        """Return whether the page sends more than a page does, with a message of this size."""
        since, count, sizes = self._window
        now = time.monotonic()
        self._window = (now, 1, size) if now - since > _WITHIN_S else (since, count + 1, sizes + size)
        return self._window[1] > _MOST_MESSAGES or self._window[2] > _MOST_TEXT

    async def _refuse(self, key: str) -> None:
        self._ended = True
        title, text = (sentence(f"online.{name}", self._desk.offer.language) for name in (f"{key}_title", key))
        await self._socket.send_json({"type": "refused", "title": title, "texts": [text], "final": True})
        await self._socket.close(1008)

    async def _write(self) -> None:
        while True:
            message = await self._out.get()
            if self._ended:
                return
            try:
                if message["type"] == REPLACED:
                    await self._socket.close(1000)
                    return
                await self._socket.send_text(json.dumps(message, ensure_ascii=False, allow_nan=False))
            except (RuntimeError, WebSocketDisconnect):
                return
