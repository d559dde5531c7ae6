"""Gate of the app: it lets in a browser on this computer that was given the token, and no page of
somebody else."""

from __future__ import annotations

import hmac
import ipaddress
import re
import secrets
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

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

    def link(self, address: str) -> str:
        """The link that lets a browser in."""
        return f"{address}/?token={self._token}"

    def around(self, app: ASGIApp) -> ASGIApp:
        """The application behind the gate."""

        async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                await app(scope, receive, send)
                return
            request = Request(scope, receive)
            answer = self._answer(request)
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
            entered = RedirectResponse("/", 303)
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
