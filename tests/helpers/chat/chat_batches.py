"""A server that speaks the batch protocol of OpenAI: files, batches, output and error files,
expiry, cancelling; and chat completions beside."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from chat_servers import QuietHandler, served
from chat_stub import completion

#: what becomes of a line: a reply, or a status with a body, or an error without a status; None: it
#: is left out
Outcome = str | tuple[int, dict[str, Any]] | dict[str, Any] | None


@dataclass
class Made:
    """A batch as the server has it."""

    name: str
    file: str
    metadata: dict[str, str]
    lines: list[dict[str, Any]]
    state: str = "validating"
    looks: int = 0
    output: str = ""
    errors: str = ""


@dataclass
class BatchServer:
    """What the server does, and what it has heard.

    Parameters
    ----------
    outcome : what becomes of a line, by its number in the batch (from 0) and its body
    looks : how often a batch is looked at before it ends; None: never by itself
    ends_as : in which state it ends
    done : of an expired or cancelled batch, how many lines have a reply
    refusals : statuses with which the next requests are refused, by the path's end
    lists : whether it lists batches
    hangs_up : how many of the next batches are made without an answer to whoever made them
    tokens : that every request has, as the server counts
    """

    outcome: Callable[[int, dict[str, Any]], Outcome] = lambda number, body: "1"
    looks: int | None = 2
    ends_as: str = "completed"
    done: int = 0
    refusals: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    lists: bool = True
    hangs_up: int = 0
    tokens: int = 100
    base_url: str = ""
    files: dict[str, bytes] = field(default_factory=dict[str, bytes])
    batches: list[Made] = field(default_factory=list[Made])
    heard: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    asked_at_once: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    keys: set[str] = field(default_factory=set[str])
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def submitted(self) -> list[dict[str, Any]]:
        """The lines of all batches."""
        return [line for made in self.batches for line in made.lines]

    @property
    def replied(self) -> int:
        """How many replies were made, and have to be paid for."""
        return len(self.asked_at_once) + sum(
            '"status_code": 200' in line
            for made in self.batches
            if made.output
            for line in self.files[made.output].decode().splitlines()
        )

    def end(self, made: Made, state: str, done: int | None = None) -> None:
        """End a batch, with so many lines done."""
        made.state = state
        if state == "failed":
            return
        output, errors = [], []
        for number, line in enumerate(made.lines):
            found = (
                self.outcome(number, line["body"])
                if done is None or number < done
                else {"code": f"batch_{state}", "message": f"the batch is {state}"}
            )
            said: dict[str, Any] = {"id": f"r{number}", "custom_id": line["custom_id"], "response": None, "error": None}
            if isinstance(found, str):
                body = json.loads(completion(found, line["body"]["model"], self.tokens))
                output.append({**said, "response": {"status_code": 200, "request_id": "r", "body": body}})
            elif isinstance(found, tuple):
                (output if found[0] == 200 else errors).append(
                    {**said, "response": {"status_code": found[0], "request_id": "r", "body": found[1]}}
                )
            elif found is not None:
                errors.append({**said, "error": found})
        # in another order than they were asked
        for name, lines in (("output", output[::-1]), ("errors", errors)):
            if lines:
                self.files[f"file-{made.name}-{name}"] = "".join(json.dumps(line) + "\n" for line in lines).encode()
                setattr(made, name, f"file-{made.name}-{name}")

    def look(self, made: Made) -> None:
        """A batch gets on whenever it is looked at."""
        made.looks += 1
        if made.state == "cancelling":
            self.end(made, "cancelled", self.done)
        elif made.state in ("validating", "in_progress"):
            made.state = "in_progress"
            if self.looks is not None and made.looks >= self.looks:
                self.end(made, self.ends_as, None if self.ends_as == "completed" else self.done)

    def describe(self, made: Made) -> dict[str, Any]:
        """As the server tells of it."""
        errors = (
            {"data": [{"code": "token_limit_exceeded", "message": "Enqueued token limit reached"}], "object": "list"}
            if made.state == "failed"
            else None
        )
        return {
            "id": made.name,
            "object": "batch",
            "endpoint": "/v1/chat/completions",
            "completion_window": "24h",
            "created_at": 1,
            "input_file_id": made.file,
            "status": made.state,
            "metadata": made.metadata,
            "output_file_id": made.output or None,
            "error_file_id": made.errors or None,
            "errors": errors,
            "request_counts": {
                "total": len(made.lines),
                "completed": 1 if made.state == "in_progress" else len(made.lines),
                "failed": 0,
            },
        }

    def answer(self, method: str, path: str, body: bytes, kind: str) -> tuple[int, bytes]:
        """What is answered to a request."""
        end = path.rsplit("/", 1)[-1]
        if self.refusals.get(end):
            return self.refusals[end].pop(0), b'{"error": {"message": "not now"}}'
        match method, path.split("/")[2:]:
            case "POST", ["files"]:
                name = f"file-{len(self.files) + 1}"
                boundary = kind.partition("boundary=")[2].strip('"').encode()
                parts = [part.partition(b"\r\n\r\n") for part in body.split(b"--" + boundary)]
                self.files[name] = next(part[2].removesuffix(b"\r\n") for part in parts if b'name="file"' in part[0])
                assert any(b'name="purpose"' in part[0] and part[2].strip() == b"batch" for part in parts)
                return 200, json.dumps(
                    {
                        "id": name,
                        "object": "file",
                        "bytes": 1,
                        "created_at": 1,
                        "filename": "f",
                        "purpose": "batch",
                        "status": "ok",
                    }
                ).encode()
            case "GET", ["files", name, "content"]:
                return (200, self.files[name]) if name in self.files else (404, b"{}")
            case "POST", ["batches"]:
                asked = json.loads(body)
                assert (asked["endpoint"], asked["completion_window"]) == ("/v1/chat/completions", "24h")
                lines = [json.loads(line) for line in self.files[asked["input_file_id"]].splitlines()]
                assert len({line["custom_id"] for line in lines}) == len(lines)
                made = Made(
                    f"batch_{len(self.batches) + 1}", asked["input_file_id"], asked.get("metadata") or {}, lines
                )
                self.batches.append(made)
                return 200, json.dumps(self.describe(made)).encode()
            case "GET", ["batches"] if self.lists:
                return 200, json.dumps(
                    {"object": "list", "data": [self.describe(made) for made in self.batches[::-1]], "has_more": False}
                ).encode()
            case "GET", ["batches", name]:
                made = next(made for made in self.batches if made.name == name)
                self.look(made)
                return 200, json.dumps(self.describe(made)).encode()
            case "POST", ["batches", name, "cancel"]:
                made = next(made for made in self.batches if made.name == name)
                made.state = "cancelling"
                return 200, json.dumps(self.describe(made)).encode()
            case "POST", ["chat", "completions"]:
                asked = json.loads(body)
                self.asked_at_once.append(asked)
                found = self.outcome(0, asked)
                return 200, completion(found if isinstance(found, str) else "1", asked["model"], self.tokens)
        return 404, b'{"error": {"message": "no such thing here"}}'


@contextmanager
def batch_server(**options: Any) -> Iterator[BatchServer]:
    """The server, while it runs."""
    behaviour = BatchServer(**options)

    class Handler(QuietHandler):
        def _answer(self) -> None:
            raw = self.rfile.read(int(self.headers.get("content-length") or 0))
            path = self.path.partition("?")[0]
            with behaviour.lock:
                behaviour.heard.append((self.command, path))
                behaviour.keys.add(self.headers.get("authorization", ""))
                status, body = behaviour.answer(self.command, path, raw, self.headers.get("content-type", ""))
            if self.command == "POST" and path.endswith("/batches") and behaviour.hangs_up:
                behaviour.hangs_up -= 1
                self.close_connection = True
                self.connection.close()
                return
            try:
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
            except OSError:
                pass  # the client did not wait

        def do_GET(self) -> None:  # noqa: N802 - the name in the standard library
            self._answer()

        def do_POST(self) -> None:  # noqa: N802 - the name in the standard library
            self._answer()

    with served(Handler) as address:
        behaviour.base_url = f"{address}/v1"
        yield behaviour
