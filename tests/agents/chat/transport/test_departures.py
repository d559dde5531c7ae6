"""When a request leaves: noted at the last moment before its body goes, with nothing in between,
and what nobody can know is named."""

from __future__ import annotations

import asyncio
import shutil
import signal
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from chat_program import PROGRAM
from chat_servers import stub
from chat_stub import completion, head

from spanlab.agents.chat import Endpoint, RequestLimits
from spanlab.agents.chat.messages import Message, Reply, Request, Text
from spanlab.agents.chat.transport.client import Client
from spanlab.agents.chat.transport.departure import Departures, Fault
from spanlab.agents.chat.transport.endpoint import certificates
from spanlab.agents.payments import InVain, in_vain
from spanlab.sessions import find_sessions
from spanlab.sessions.transcripts.transcript import Transcript

REPLY = completion("m", "any", 10)


class Watched(Departures):
    """Who is told of every departure, and counts what else the event loop does between a note that
    a request leaves and that it is gone."""

    def __init__(self) -> None:
        self.happened: list[str] = []
        self.between = 0
        self._turns = 0

    def leaves(self) -> None:
        self.happened.append("leaves")
        self._turns = 0
        asyncio.get_running_loop().call_soon(self._turn)

    def _turn(self) -> None:
        self._turns += 1

    def gone(self) -> None:
        self.happened.append("gone")
        self.between += self._turns

    def fails(self, fault: Fault, left: bool, in_doubt: bool) -> None:
        self.happened.append(f"{fault.word}{' in doubt' if in_doubt else ''}" if left else "unsent")


def _request(text: str) -> Request:
    return Request((Message("user", (Text(text),)),), identity=text[:9], conversation="one")


async def _ask(url: str, watched: Watched, *texts: str, **care: Any) -> list[Reply]:
    """The replies to some requests, one after the other on one connection where the server keeps
    it."""
    client = Client(Endpoint(url, key_variable=None), "any", RequestLimits(**{"timeout_s": 20, **care}))
    client._met = True
    try:
        return [await client.ask(_request(text), watched) for text in texts]
    finally:
        await client.aclose()


class Served:
    """A server that answers as it is told to: the whole requests that it has read, and the
    connections that it had."""

    def __init__(self, ends: Callable[[int], str]) -> None:
        self._ends = ends
        self.read = self.connections = 0
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                start = await reader.readuntil(b"\r\n\r\n")
                length = next(
                    int(line.split(b":")[1])
                    for line in start.lower().split(b"\r\n")
                    if line.startswith(b"content-length")
                )
                await reader.readexactly(length)
                self.read += 1
                end = self._ends(self.read)
                if end in ("answers", "answers and closes"):
                    writer.write(head(200, len(REPLY)) + REPLY)
                    await writer.drain()
                elif end == "babbles":
                    writer.write(b"who is there?\r\n\r\n")
                elif end == "breaks off":
                    writer.transport.abort() if writer.get_extra_info("ssl_object") else _reset(writer)
                    return
                if end != "answers":
                    return
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


def _reset(writer: asyncio.StreamWriter) -> None:
    import socket
    import struct

    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


@asynccontextmanager
async def _serving(ends: Callable[[int], str], context: ssl.SSLContext | None = None) -> AsyncIterator[Served]:
    served = Served(ends)
    server = await asyncio.start_server(served.serve, "127.0.0.1", 0, ssl=context)
    served.url = f"http{'s' if context else ''}://localhost:{server.sockets[0].getsockname()[1]}/v1"
    try:
        yield served
    finally:
        server.close()


def _run(ends: Callable[[int], str], *texts: str, context: ssl.SSLContext | None = None) -> tuple[Served, Watched]:
    watched = Watched()

    async def work() -> Served:
        async with _serving(ends, context) as served:
            assert [reply.content for reply in await _ask(served.url, watched, *texts)] == ["m"] * len(texts)
            return served

    return asyncio.run(work()), watched


def test_nothing_happens_between_the_note_that_a_request_leaves_and_its_last_byte() -> None:
    served, watched = _run(lambda number: "answers", *(f"{number} " + "x" * 5000 * number for number in range(8)))
    assert watched.happened == ["leaves", "gone"] * 8
    assert watched.between == 0, "no other task is given a turn"
    assert (served.read, served.connections) == (8, 1), "and the connection is kept"


def test_a_body_that_the_system_does_not_take_at_once_is_gone_when_all_of_it_is() -> None:
    served, watched = _run(lambda number: "answers", "x" * 30_000_000)
    assert watched.happened == ["leaves", "gone"]
    assert watched.between > 0, "it takes a while"
    assert served.read == 1


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for this machine, with its key in the same file."""
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl here")
    file = tmp_path_factory.mktemp("tls") / "localhost.pem"
    about = (
        "-x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost -addext"
        " subjectAltName=DNS:localhost"
    )
    subprocess.run(
        ["openssl", "req", *about.split(), "-keyout", file.with_suffix(".key"), "-out", file],
        check=True,
        capture_output=True,
    )
    return file


def test_so_it_is_on_an_encrypted_connection(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, certificate.with_suffix(".key"))
    ends = ["answers", "answers", "breaks off", "answers and closes", "answers", "answers"]
    served, watched = _run(
        lambda number: ends[number - 1], *(f"{number} " + "x" * 40_000 * number for number in range(5)), context=context
    )
    assert [one for one in watched.happened if one not in ("leaves", "gone")] in (
        ["connection"],
        ["connection in doubt"],
    )
    assert watched.happened.count("leaves") == watched.happened.count("gone") == served.read == 6
    assert watched.between == 0
    assert served.connections == 3
    served, watched = _run(lambda number: "answers", "x" * 20_000_000, context=context)
    assert watched.between > 0, "what the system does not take at once is gone when all of it is"


def test_so_it_is_through_a_proxy(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the proxy itself is asked is not a departure."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, certificate.with_suffix(".key"))
    watched, asked = Watched(), []

    async def passing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append((await reader.readuntil(b"\r\n\r\n")).split()[0])
        there = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await asyncio.gather(_pass_on(reader, there[1]), _pass_on(there[0], writer))

    async def work() -> Served:
        nonlocal port
        async with _serving(lambda number: "answers", context) as served:
            port = int(served.url.split(":")[2].partition("/")[0])
            proxy = await asyncio.start_server(passing, "127.0.0.1", 0)
            monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{proxy.sockets[0].getsockname()[1]}")
            await _ask(served.url, watched, "one", "two " + "x" * 50_000)
            proxy.close()
            return served

    port = 0
    assert asyncio.run(work()).read == 2
    assert asked == [b"CONNECT"]
    assert (watched.happened, watched.between) == (["leaves", "gone"] * 2, 0)


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65_536):
        writer.write(data)
    writer.close()


@pytest.mark.parametrize(
    ("end", "said"),
    [("closes", "connection in doubt"), ("breaks off", "connection"), ("babbles", "connection")],
    ids=["closes", "breaks off", "babbles"],
)
@pytest.mark.parametrize("kept", [False, True], ids=["new", "kept"])
def test_a_connection_that_is_closed_in_order_without_a_reply_leaves_a_request_in_doubt(
    end: str, said: str, kept: bool
) -> None:
    """Servers close idle connections so, and a request may be on its way to them then: whether this
    one was read nobody here can know."""
    place = 2 if kept else 1
    served, watched = _run(lambda number: end if number == place else "answers", *(["first"] if kept else []), "second")
    assert watched.happened == [*(["leaves", "gone"] if kept else []), "leaves", "gone", said, "leaves", "gone"]
    assert served.read == watched.happened.count("leaves")


def test_a_connection_that_the_server_has_closed_is_not_used_again() -> None:
    served, watched = _run(lambda number: "answers and closes", *map(str, range(6)))
    assert watched.happened == ["leaves", "gone"] * 6
    assert served.read == served.connections == 6


def test_what_is_in_doubt_is_told_by_the_notes() -> None:
    of = {"trial": "1", "attempt": 1, "ask": 1, "request": "r"}
    begun, gone, reply = {**of, "begun": True}, {**of, "gone": True}, {**of, "sent": [], "reply": {}}
    lost = {**of, "lost": True, "fault": "timeout"}
    for lines, wanted in (
        ([begun, gone, reply], InVain(0, 0)),
        ([begun], InVain(1, 1)),
        ([begun, gone], InVain(1, 0)),  # killed while it waited for the reply
        ([begun, gone, lost, begun, gone, reply], InVain(1, 0)),
        ([begun, gone, {**lost, "in_doubt": True}, begun, gone, reply], InVain(1, 1)),
        ([begun, gone, {**of, "refused": True}, begun], InVain(1, 1)),
        ([begun, gone, begun, gone, reply], InVain(1, 0)),  # sent elsewhere
        ([{**of, "unsent": True}, reply], InVain(0, 0)),
        ([begun, lost, begun, reply, {**begun, "ask": 2}], InVain(2, 1)),
    ):
        assert in_vain(lines) == wanted


_DIES = """
import os, signal, sys
from spanlab.sessions.record.writer import Recorder
note, count = Recorder.note, 0
def dies(self, line):
    global count
    count += line.get(sys.argv[5]) is True
    if sys.argv[5] == "begun" or count < 9:
        note(self, line)
    if count == 9:
        os.kill(os.getpid(), signal.SIGKILL)
Recorder.note = dies
"""


@pytest.mark.slow
@pytest.mark.parametrize(("at", "reached"), [("begun", 8), ("gone", 9)])
def test_a_kill_between_the_two_notes_is_named(tmp_path: Path, at: str, reached: int) -> None:
    """Between the first note and the first byte, and between the last byte and the second note."""
    with stub() as server:
        command = [sys.executable, "-c", _DIES + PROGRAM, str(tmp_path / "data"), server.base_url, "1", "1", at]
        killed = subprocess.run(command, capture_output=True, text=True, check=False)
        assert killed.returncode == -signal.SIGKILL, killed.stderr
        assert server.stats()["requests"] == reached
    (folder,) = find_sessions([tmp_path / "data"])
    account = Transcript(folder).account()
    assert (account["requests"], account["replies"], account["paid_twice_at_most"], account["in_doubt"]) == (9, 8, 1, 1)


def test_clients_share_the_certificates_that_the_environment_names(
    certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = certificates()
    assert certificates() is usual
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    (only,) = certificates().get_ca_certs()
    assert only not in usual.get_ca_certs()
