"""The app on this computer: its gate, which lets in a browser here that was given the token and no page
of somebody else, and the server. Starlette and uvicorn are imported here and where pages are made."""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import re
import secrets
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from spanlab.core import SpanLabError

from .pages import AppPages
from .web import MissingError, RefusedError

SAFE = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src"
        " 'self'; frame-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
}
_HERE = re.compile(r"(?:127\.0\.0\.1|localhost|\[::1\]):\d{1,5}")


class Gate:
    """The token of one run of the app.

    A browser is let in by a link with the token, and from then on by a cookie that no other page
    can have sent. Requests that change something must also come from a page of the app itself;
    requests to another name of this computer are refused, so that no name of somebody else can
    point here.
    """

    def __init__(self) -> None:
        self._token = secrets.token_urlsafe(32)

    def link(self, address: str, page: str = "/") -> str:
        """The link that lets a browser in, and to a page of the app."""
        return f"{address}/?token={self._token}" + (f"&page={quote(page)}" if page != "/" else "")

    def around(self, app: ASGIApp) -> ASGIApp:
        """The application behind the gate."""

        async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                await app(scope, receive, send)
                return
            answer = self._answer(Request(scope, receive))
            if answer is None:
                await app(scope, receive, send)
            else:
                answer.headers.update(SAFE)
                await answer(scope, receive, send)

        return guarded

    def _answer(self, request: Request) -> Response | None:
        """Return what is answered in the app's place; None for whoever may come in."""
        host = request.headers.get("host", "")
        if (request.client is not None and not _loopback(request.client.host)) or not _HERE.fullmatch(host):
            return PlainTextResponse("The app is for this computer alone.", 403)
        if request.url.path == "/" and "token" in request.query_params:
            if not self._known(request.query_params["token"]):
                return _strange()
            page = request.query_params.get("page", "/")
            own = re.fullmatch(r"/(?:[^/\\\s][^\\\s]*)?", page)  # never one that leads elsewhere
            entered = RedirectResponse(page if own else "/", 303)
            entered.set_cookie(self._cookie(request), self._token, httponly=True, samesite="strict", path="/")
            return entered
        if not self._known(request.cookies.get(self._cookie(request), "")):
            return _strange()
        if request.method not in ("GET", "HEAD") and urlsplit(request.headers.get("origin", "")).netloc != host:
            return PlainTextResponse("This request does not come from a page of the app.", 403)
        return None

    def _known(self, token: str) -> bool:
        return hmac.compare_digest(token.encode(), self._token.encode())

    @staticmethod
    def _cookie(request: Request) -> str:
        """Cookies know no ports: two apps on one computer have cookies of different names."""
        return f"spanlab-app-{request.url.port or 80}"


def _strange() -> Response:
    return PlainTextResponse("Open the app by the link that 'spanlab app' has printed: it lets this browser in.", 403)


def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


async def _missing(request: Request, error: Exception) -> Response:
    return Response("There is nothing here.", 404, media_type="text/plain")


async def _refused(request: Request, error: Exception) -> Response:
    return JSONResponse({"problem": str(error)}, 422)


async def _fault(request: Request, error: Exception) -> Response:
    return Response("Something went wrong.", 500, media_type="text/plain")


def application(data: Path, language: str, gate: Gate, file: Path | None = None) -> ASGIApp:
    """The app behind its gate."""

    async def said(request: Request, error: Any) -> Response:
        return JSONResponse(error.said(language), 422)

    handlers = {
        MissingError: _missing,
        RefusedError: said,
        SpanLabError: _refused,
        ValueError: _refused,
        OSError: _refused,
        Exception: _fault,
        404: _missing,
        405: _missing,
    }
    pages = AppPages(data, language, file)

    @asynccontextmanager
    async def looking_ahead(app: Starlette) -> AsyncGenerator[None]:
        task = asyncio.create_task(run_in_threadpool(pages.look_ahead))
        yield
        task.cancel()

    return gate.around(_safe(Starlette(routes=pages.routes(), exception_handlers=handlers, lifespan=looking_ahead)))


def make_server(data: Path, port: int, language: str = "en", file: Path | None = None) -> tuple[uvicorn.Server, Gate]:
    """The server, which does not run yet, and its gate."""
    gate = Gate()
    return uvicorn.Server(
        uvicorn.Config(
            application(data, language, gate, file),
            host="127.0.0.1",
            port=port,
            log_level="error",
            server_header=False,
            timeout_graceful_shutdown=2,
        )
    ), gate


def _safe(app: ASGIApp) -> ASGIApp:
    """The application, whose answers say what browsers may do with them."""

    async def answered(scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                said = {name for name, _ in message["headers"]}
                message["headers"] += [
                    (name.encode(), value.encode()) for name, value in SAFE.items() if name.encode() not in said
                ]
            await send(message)

        await app(scope, receive, with_headers)

    return answered


def serve(server: uvicorn.Server, ready: Callable[[str], None]) -> None:
    """Serve until Ctrl-C; ``ready`` is called with the address as soon as the pages can be opened.

    Raises
    ------
    SpanLabError
        when nothing can listen there.
    """

    async def run() -> None:
        serving = asyncio.create_task(server.serve())
        while not server.started and not serving.done():
            await asyncio.sleep(0.02)
        if server.started:
            ready(f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}")
        await serving

    try:
        asyncio.run(run())
    except SystemExit:
        raise SpanLabError(
            f"nothing can listen on port {server.config.port}: is the app open already? Choose another port with --port"
        ) from None
    except KeyboardInterrupt:
        pass  # Ctrl-C, which the server has heeded already
