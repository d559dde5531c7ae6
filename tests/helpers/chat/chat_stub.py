"""A small chat server for what no real one offers: delays, faults at random, ``Retry-After``, cut
connections, garbage, huge replies, slow drips.

    python chat_stub.py '{"delay_ms": 20, "faults": {"500": 0.1, "reset": 0.05}, "seed": 1}'

It prints its address and serves until its standard input closes. What it answers depends on the
request alone, whatever came before: the first options that it is given in turn. Which fault befalls
a request depends on the request and on how often it has come.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import socket
import struct
import sys
import threading
from collections import Counter
from typing import Any

REASONS = {
    200: "OK",
    400: "Bad Request",
    401: "Unauthorized",
    429: "Too Many Requests",
    500: "Internal Server Error",
    503: "Service Unavailable",
}


class Behaviour:
    """What the server does, and what it has heard.

    Parameters
    ----------
    delay_ms : before every answer
    faults : kinds of faults with their probabilities
    answers : what is replied, one of these
    fixed : kinds of faults by model name: every request for this model has it, as often as
        ``fixed_times`` (0: always)
    busy_over : so many requests under way are the most; any further is refused with 429
    per_second : so many tokens of a bucket a second; refused with 429 beyond
    """

    def __init__(self, options: dict[str, Any]) -> None:
        self.delay = options.get("delay_ms", 0) / 1000
        self.faults: dict[str, float] = options.get("faults", {})
        self.answers: list[str] = options.get("answers", ["m", "-"])
        self.fixed: dict[str, str] = options.get("fixed", {})
        self.fixed_times: int = options.get("fixed_times", 0)
        self.busy_over: int = options.get("busy_over", 0)
        self.retry_after: str = options.get("retry_after", "0.2")
        self.seed = options.get("seed", 0)
        self.times: Counter[bytes] = Counter()
        self.answered: Counter[bytes] = Counter()
        self.kinds: Counter[str] = Counter()
        self.under_way = 0
        self.most_under_way = 0

    def fault(self, body: bytes, model: str) -> str:
        """What befalls this request; empty when nothing does."""
        key = hashlib.sha256(body).digest()
        self.times[key] += 1
        if model in self.fixed:
            return self.fixed[model] if not self.fixed_times or self.times[key] <= self.fixed_times else ""
        draw = (
            int.from_bytes(hashlib.sha256(f"{self.seed} {self.times[key]}".encode() + key).digest()[:6], "big") / 2**48
        )
        for kind, share in self.faults.items():
            draw -= share
            if draw < 0:
                return kind
        return ""

    def reply(self, body: bytes, request: dict[str, Any]) -> bytes:
        """The reply to a request."""
        key = hashlib.sha256(body).digest()
        self.answered[key] += 1
        return completion(self.answers[key[0] % len(self.answers)], request.get("model", ""), len(body) // 4)

    def stats(self) -> dict[str, Any]:
        """What was heard so far."""
        return {
            "requests": self.times.total(),
            "different": len(self.times),
            "answered": self.answered.total(),
            "answered_again": self.answered.total() - len(self.answered),
            "kinds": dict(self.kinds),
            "most_under_way": self.most_under_way,
        }


def completion(content: str, model: str, tokens: int) -> bytes:
    """A reply as chat servers send it."""
    return json.dumps(
        {
            "id": "1",
            "object": "chat.completion",
            "created": 0,
            "model": model,
            "choices": [{"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": tokens, "completion_tokens": 1, "total_tokens": tokens + 1},
        }
    ).encode()


class Connection(asyncio.Protocol):
    """One connection of a client."""

    def __init__(self, behaviour: Behaviour) -> None:
        self._behaviour = behaviour
        self._buffer = bytearray()
        self._transport: asyncio.Transport | None = None
        self._busy = False
        self._tasks: set[asyncio.Task[None]] = set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        for task in self._tasks:
            task.cancel()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        self._next()

    def _next(self) -> None:
        if self._busy:
            return
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            return
        head = bytes(self._buffer[:end]).decode("latin-1")
        length = next(
            (int(line.split(":")[1]) for line in head.split("\r\n") if line.lower().startswith("content-length:")), 0
        )
        if len(self._buffer) < end + 4 + length:
            return
        body = bytes(self._buffer[end + 4 : end + 4 + length])
        del self._buffer[: end + 4 + length]
        if head.startswith("GET"):
            self._send(200, json.dumps(self._behaviour.stats()).encode())
            self._next()
            return
        self._busy = True
        task = asyncio.get_running_loop().create_task(self._answer(body))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer(self, body: bytes) -> None:
        behaviour = self._behaviour
        request = json.loads(body)
        kind = behaviour.fault(body, request.get("model", ""))
        if not kind and behaviour.busy_over and behaviour.under_way >= behaviour.busy_over:
            kind = "429"
        behaviour.kinds[kind or "ok"] += 1
        if kind in ("429", "429-after", "429-ms"):
            self._finish(
                429,
                error("slow down"),
                {
                    "429": "",
                    "429-after": f"retry-after: {behaviour.retry_after}\r\n",
                    "429-ms": "retry-after-ms: 150\r\n",
                }[kind],
            )
            return
        behaviour.under_way += 1
        behaviour.most_under_way = max(behaviour.most_under_way, behaviour.under_way)
        try:
            if behaviour.delay:
                await asyncio.sleep(behaviour.delay)
        finally:
            behaviour.under_way -= 1
        await self._befall(kind, body, request)

    async def _befall(self, kind: str, body: bytes, request: dict[str, Any]) -> None:
        """Answer, with what befalls the answer."""
        transport = self._transport
        if transport is None:
            return
        match kind:
            case "":
                self._finish(200, self._behaviour.reply(body, request))
            case "400" | "401" | "500" | "503":
                self._finish(int(kind), error(f"this is a {kind}"))
            case "reset":
                transport.get_extra_info("socket").setsockopt(
                    socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
                )
                transport.abort()
            case "cut":  # in the middle of the body
                reply = completion("m", "", 1)
                transport.write(head(200, len(reply)) + reply[: len(reply) // 2])
                transport.close()
            case "truncated":
                self._finish(200, completion("m", "", 1)[:40])
            case "bytes":
                self._finish(200, completion("m", "", 1).replace(b'"m"', b'"\xff\xfe\xc3"'))
            case "hollow":
                self._finish(200, b'{"choices": []}')
            case "told":
                self._finish(200, b'{"error": {"message": "the provider is gone", "code": 502}}')
            case "told-403":
                self._finish(200, b'{"error": {"message": "not in your country", "code": 403}}')
            case "page":
                self._finish(200, b"<html>Welcome</html>")
            case "silent":
                await asyncio.sleep(3600)
            case "drip":
                transport.write(head(200, 100_000))
                while self._transport is not None:
                    transport.write(b" ")
                    await asyncio.sleep(0.05)
            case "big":
                self._behaviour.answered[hashlib.sha256(body).digest()] += 1
                self._finish(200, completion("m" + " " * 7_000_000, "", 1))

    def _finish(self, status: int, body: bytes, headers: str = "") -> None:
        self._send(status, body, headers)
        self._busy = False
        self._next()

    def _send(self, status: int, body: bytes, headers: str = "") -> None:
        if self._transport is not None:
            self._transport.write(head(status, len(body), headers) + body)


def head(status: int, length: int, headers: str = "") -> bytes:
    """The head of an answer."""
    return (
        f"HTTP/1.1 {status} {REASONS[status]}\r\ncontent-type: application/json\r\ncontent-length:"
        f" {length}\r\n{headers}\r\n".encode("latin-1")
    )


def error(message: str) -> bytes:
    """The body of a refusal."""
    return json.dumps({"error": {"message": message}}).encode()


async def main(options: dict[str, Any]) -> None:
    """Serve until standard input closes."""
    behaviour = Behaviour(options)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(behaviour), "127.0.0.1", 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    over = asyncio.Event()

    def wait() -> None:
        sys.stdin.read()
        loop.call_soon_threadsafe(over.set)

    threading.Thread(target=wait, daemon=True).start()
    await over.wait()


if __name__ == "__main__":
    asyncio.run(main(json.loads(sys.argv[1])))
