"""Servers on this machine for the tests of chat agents: the real one once per test process, a
recording proxy before it, and a stub for what it cannot do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


def real_cache() -> Path:
    """The cache of the user who runs the tests (the tests have a home of their own), so that the
    server is installed once and not per run."""
    return (
        Path(os.environ.get("XDG_CACHE_HOME") or Path(os.environ.get("REAL_HOME", Path.home())) / ".cache") / "spanlab"
    )


@dataclass
class Request:
    """A request as it arrived."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]


Answer = tuple[int, str, bytes]  # status, content type, body


@dataclass
class Tap:
    """What a proxy or stub has heard."""

    base_url: str
    requests: list[Request] = field(default_factory=list)


class QuietHandler(BaseHTTPRequestHandler):
    """One that writes no line a request."""

    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        """Write nothing."""


@contextmanager
def served(handler: type[QuietHandler]) -> Iterator[str]:
    """A server of this process, while it runs: its address."""

    class Server(ThreadingHTTPServer):
        request_queue_size = 128

        def handle_error(self, request: Any, client_address: Any) -> None:
            pass  # a client that was stopped in the middle of a request

    server = Server(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def listening(answer: Callable[[Request], Answer]) -> Iterator[Tap]:
    """A server that keeps every request and answers with ``answer``."""
    tap = Tap("")

    class Handler(QuietHandler):
        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers["content-length"]))
            request = Request(self.path, {name.lower(): value for name, value in self.headers.items()}, json.loads(raw))
            tap.requests.append(request)
            try:
                status, kind, body = answer(request)
                self.send_response(status)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
            except OSError:
                pass  # the client did not wait

    with served(Handler) as address:
        tap.base_url = f"{address}/v1"
        yield tap


def forwarding(root: str) -> Callable[[Request], Answer]:
    """What the server at ``root`` answers."""

    def forward(request: Request) -> Answer:
        passed = {
            name: value for name, value in request.headers.items() if name.startswith("x-") or name == "content-type"
        }
        try:
            with urllib.request.urlopen(
                urllib.request.Request(root + request.path, json.dumps(request.body).encode(), passed)
            ) as reply:
                return reply.status, reply.headers["content-type"], reply.read()
        except urllib.error.HTTPError as error:
            return error.code, error.headers["content-type"], error.read()

    return forward


@contextmanager
def recording(root: str) -> Iterator[Tap]:
    """A proxy before the server at ``root`` that keeps what goes through."""
    with listening(forwarding(root)) as tap:
        yield tap


class Stub:
    """The stub of ``chat_stub.py`` in a process of its own."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.base_url = f"{root}/v1"

    def stats(self) -> dict[str, Any]:
        """What it has heard so far."""
        with urllib.request.urlopen(f"{self.root}/stats") as reply:
            return json.load(reply)


@contextmanager
def stub(**options: Any) -> Iterator[Stub]:
    """A server that behaves as the options say (see ``chat_stub.Behaviour``)."""
    program = Path(__file__).with_name("chat_stub.py")
    process = subprocess.Popen(
        [sys.executable, str(program), json.dumps(options)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield Stub(f"http://127.0.0.1:{int(process.stdout.readline())}")
    finally:
        process.stdin.close()
        process.stdout.close()
        process.wait(10)
