"""The batches of a session on the disk: what is submitted, what came back, and what of that was
used; a kill at any moment leaves nothing that is paid for twice.

Folder ``batches`` of a session: ``batches.jsonl`` says what happened, a line each, on the disk
before anything relies on it. What a batch brought is kept as it came (``001-output.jsonl``,
``001-errors.jsonl``).
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from ....core.atomic_files import append_line, read_lines, write_whole
from ....core.errors import SpanLabError
from ....core.json_values import grouped
from ..messages import Request, chained

FOLDER = "batches"
_LOG = "batches.jsonl"

#: ``prepared``: nothing is submitted yet; ``submitting``: nobody here knows whether it is;
#: ``submitted``: it is at the provider; ``ended``: what it brought is kept; ``dropped``: it was
#: never submitted, or refused as a whole; ``given_up``: what it brought, if anything, is lost
State = Literal["prepared", "submitting", "submitted", "ended", "dropped", "given_up"]


def line_name(request: Request) -> str:
    """The name of a request in a batch, the same whenever a trial asks it; it tells nothing but
    that."""
    return chained(request.identity, ["batch", request.trial_seed])


@dataclass(frozen=True, slots=True)
class Result:
    """Result of a batch for one request.

    Parameters
    ----------
    batch : name of the batch
    status, body : of the server's answer; None where there is none
    error : what is said in its place
    """

    batch: str
    status: int | None = None
    body: bytes = b""
    error: Mapping[str, Any] | None = None


@dataclass
class Batch:
    """One batch.

    Parameters
    ----------
    number : from 1
    lines : names of its requests
    token : tells it from all others at the provider
    cost, tokens : what it takes at most, as far as that can be foreseen
    state : how far it is
    name, file : of the batch and of its input file at the provider
    doubts : how often it was not known whether it was submitted
    twice : of batches that were submitted in its place by accident, how many requests they have
    ended_as : in which state it has ended, in the provider's words
    used : names of requests whose faults are on record
    """

    number: int
    lines: Sequence[str]
    token: str
    cost: float | None
    tokens: float
    state: State = "prepared"
    name: str = ""
    file: str = ""
    doubts: int = 0
    twice: int = 0
    ended_as: str = ""
    used: set[str] = field(default_factory=set[str])


class BatchStore:
    """The batches of one session.

    Parameters
    ----------
    session : its folder; nothing is written before there is a batch

    Raises
    ------
    SpanLabError
        when the record of the batches cannot be read.
    """

    def __init__(self, session: Path) -> None:
        self.session, self._folder = session, session / FOLDER
        self.batches: list[Batch] = []
        self._results: dict[int, dict[str, Result]] = {}
        for line in read_lines(self._folder / _LOG):
            try:
                self._apply(line)
            except (KeyError, TypeError, IndexError, ValueError):
                raise SpanLabError(f"{self._folder / _LOG} is damaged; restore the file from a copy") from None

    def _apply(self, event: Mapping[str, Any]) -> None:
        what = event["event"]
        if what == "prepared":
            self.batches.append(
                Batch(int(event["batch"]), list(event["lines"]), event["token"], event["cost"], float(event["tokens"]))
            )
            return
        batch = self.batches[int(event["batch"]) - 1]
        match what:
            case "uploaded":
                batch.file = event["file"]
            case "submitting":
                batch.state = "submitting"
                batch.doubts += 1
            case "submitted":
                batch.state, batch.name = "submitted", event["name"]
            case "ended" | "dropped" | "given_up":
                batch.state, batch.ended_as = what, event.get("state", "")
            case "twice":
                batch.twice += int(event["requests"])
            case "used":
                batch.used.update(event["lines"])
            case _:
                raise ValueError(what)

    def _note(self, batch: Batch, event: str, **more: Any) -> None:
        line = {"event": event, "batch": batch.number, **more}
        append_line(self._folder / _LOG, line)
        self._apply(line)

    # -- before it is at the provider --------------------------------------------------------------

    def prepare(self, lines: Mapping[str, bytes], cost: float | None, tokens: float) -> Batch:
        """Write the file of a new batch.

        Parameters
        ----------
        lines : by the name of each request its line
        """
        self._folder.mkdir(exist_ok=True)
        number = len(self.batches) + 1
        event = {
            "event": "prepared",
            "batch": number,
            "token": uuid.uuid4().hex,
            "cost": cost,
            "tokens": tokens,
            "lines": list(lines),
        }
        write_whole(
            self._folder / f"{number:03d}-requests.jsonl",
            b"".join(line + b"\n" for line in lines.values()),
            "free some space, or check the disk",
        )
        append_line(self._folder / _LOG, event)
        self._apply(event)
        return self.batches[-1]

    def requests_file(self, batch: Batch) -> Path:
        """The file to upload."""
        return self._folder / f"{batch.number:03d}-requests.jsonl"

    def uploaded(self, batch: Batch, file: str) -> None:
        """Its file is at the provider, which costs nothing."""
        self._note(batch, "uploaded", file=file)

    def submitting(self, batch: Batch) -> None:
        """It is going to be submitted now."""
        self._note(batch, "submitting")

    def submitted(self, batch: Batch, name: str) -> None:
        """It is at the provider; its requests are kept with their replies."""
        self._note(batch, "submitted", name=name)
        self.requests_file(batch).unlink(missing_ok=True)

    def drop(self, batch: Batch, why: str) -> None:
        """It was not submitted, or refused as a whole: its requests are free again."""
        self._note(batch, "dropped", why=why)
        self.requests_file(batch).unlink(missing_ok=True)

    # -- at its end --------------------------------------------------------------------------------

    def end(self, batch: Batch, state: str, output: bytes, errors: bytes) -> None:
        """Keep what it brought."""
        for name, content in (("output", output), ("errors", errors)):
            write_whole(
                self._folder / f"{batch.number:03d}-{name}.jsonl", content, "free some space, or check the disk"
            )
        self._note(batch, "ended", state=state)

    def give_up(self, batch: Batch) -> None:
        """Count it as lost: its requests may have been paid for, and are free again."""
        self._note(batch, "given_up")

    def note_twice(self, batch: Batch, other: str, requests: int) -> None:
        """Another batch with the same requests was submitted, too."""
        self._note(batch, "twice", name=other, requests=requests)

    def use(self, lines: Iterable[tuple[str, Result]]) -> None:
        """Take results as used, which are faults that are on record: whoever asks again gets
        another one."""
        by_name = grouped((result.batch, line) for line, result in lines)
        for batch in self.batches:
            if batch.name in by_name:
                self._note(batch, "used", lines=by_name[batch.name])

    # -- what there is -----------------------------------------------------------------------------

    @property
    def open(self) -> list[Batch]:
        """Batches that have not ended."""
        return [batch for batch in self.batches if batch.state in ("prepared", "submitting", "submitted")]

    def result(self, line: str) -> Result | None:
        """Return the unused result for a request; None if there is none."""
        for batch in reversed(self.batches):
            if batch.state == "ended" and line not in batch.used and line in (found := self._results_of(batch)):
                return found[line]
        return None

    def _results_of(self, batch: Batch) -> Mapping[str, Result]:
        """Results of a batch, by the names of requests. Of those that it says nothing of, one that
        was cut short has done nothing."""
        if batch.number not in self._results:
            cut = (
                None
                if batch.ended_as == "completed"
                else {"code": f"batch_{batch.ended_as}", "message": f"the batch is {batch.ended_as}"}
            )
            found = {line: Result(batch.name, error=cut) for line in batch.lines}
            told: set[str] = set()
            for kind in ("output", "errors"):
                path = self._folder / f"{batch.number:03d}-{kind}.jsonl"
                try:
                    content = path.read_bytes()
                except OSError as error:
                    raise SpanLabError(
                        f"cannot read {path}: {error.strerror or error}; restore it from a copy"
                    ) from None
                for name, result in _results(content, batch.name):
                    if name in found and name not in told:
                        found[name] = result
                        told.add(name)
            self._results[batch.number] = found
        return self._results[batch.number]

    def lost(self) -> int:
        """The number of requests that may have been paid for without a usable reply: of batches
        that were given up, or submitted twice."""
        return sum(
            batch.twice + (len(batch.lines) - len(batch.used) if batch.state == "given_up" else 0)
            for batch in self.batches
        )

    def in_batches(self, replies: Mapping[str, int]) -> dict[str, Any] | None:
        """The requests at the provider, and its unused results, for an account; None if there are
        none.

        Parameters
        ----------
        replies : how many replies of a batch are on record, by its name
        """
        requests, cost, tokens, names = 0, 0.0, 0.0, []
        for batch in self.batches:
            if batch.state not in ("submitting", "submitted", "ended"):
                continue
            left = len(batch.lines) - len(batch.used) - replies.get(batch.name, 0)
            if left > 0:
                requests += left
                cost += (batch.cost or 0.0) * left / len(batch.lines)
                tokens += batch.tokens * left / len(batch.lines)
                names.append(batch.name)
        if not requests:
            return None
        known = any(batch.cost is not None for batch in self.batches)
        return {
            "requests": requests,
            "cost_at_most": cost if known else None,
            "tokens_at_most": round(tokens),
            "names": names,
        }


def _results(content: bytes, batch: str) -> Iterable[tuple[str, Result]]:
    """The lines of a file that came back; what cannot be read counts as not there."""
    for line in content.split(b"\n"):
        try:
            found: Any = json.loads(line.decode("utf-8-sig", "replace"))
        except (ValueError, RecursionError):
            continue
        if not isinstance(found, dict) or not isinstance(found.get("custom_id"), str):
            continue
        response, error = found.get("response"), found.get("error")
        if isinstance(error, str) and error:
            error = {"message": error}
        status = response.get("status_code") if isinstance(response, dict) else None
        if isinstance(response, dict) and isinstance(status, int):
            yield found["custom_id"], Result(batch, status, _body(response.get("body")))
        elif isinstance(error, dict):
            yield found["custom_id"], Result(batch, error=error)


def _body(body: Any) -> bytes:
    return body.encode("utf-8", "replace") if isinstance(body, str) else json.dumps(body).encode("ascii")
