"""Writing the record while a session runs: a thread writes, so that no timed frame ever waits for the disk."""

from __future__ import annotations

import json
import os
import queue
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..errors import SpanLabError
from .disk import sync_folder

_STOP = object()


class Recorder:
    """Appends events to ``events.jsonl``.

    ``write`` never waits; ``commit`` returns when everything before it is on the disk for sure.

    Raises
    ------
    SpanLabError
        from any call, when the disk refuses or an event is not fit for JSON; nothing that was committed is lost.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / "events.jsonl"
        try:
            self._file = self.path.open("ab+")
            if self._file.tell():
                # A kill may have cut the last line: what follows begins on a line of its own.
                self._file.seek(-1, os.SEEK_END)
                if self._file.read(1) != b"\n":
                    self._file.write(b"\n")
            sync_folder(folder)
        except OSError as error:
            raise SpanLabError(f"cannot write {self.path}: {error.strerror or error}") from None
        self._queue: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._failure = ""
        self._thread = threading.Thread(target=self._run, name="recorder", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while True:
            item = self._queue.get()
            if item is _STOP:
                return
            # After a failure nothing more is written: the file stays the beginning of what happened, without holes.
            if not self._failure:
                try:
                    self._put(item)
                except OSError as error:
                    self._failure = f"cannot write {self.path}: {error.strerror or error}; make room, or see to the disk"
                except (TypeError, ValueError) as error:
                    self._failure = f"what the agent gave cannot be recorded ({error}); this is a fault of the agent"
            if isinstance(item, threading.Event):
                item.set()

    def _put(self, item: Any) -> None:
        if isinstance(item, threading.Event):
            self._file.flush()
            os.fsync(self._file.fileno())
        else:
            self._file.write(json.dumps(item, separators=(",", ":"), allow_nan=False).encode("ascii") + b"\n")

    def write(self, event: Mapping[str, Any]) -> None:
        """Queue one event."""
        self._check()
        self._queue.put(event)

    def commit(self) -> None:
        """Wait until everything written so far is on the disk."""
        done = threading.Event()
        self._queue.put(done)
        done.wait()
        self._check()

    def sync(self) -> None:
        """Have everything written so far put on the disk soon, without waiting for it."""
        self._check()
        self._queue.put(threading.Event())

    def _check(self) -> None:
        if self._failure:
            raise SpanLabError(self._failure)

    def close(self) -> None:
        """Write what is left, as far as the disk takes it, and close the file."""
        if self._thread.is_alive():
            self._queue.put(threading.Event())
            self._queue.put(_STOP)
            self._thread.join()
            with suppress(OSError):  # the failure that lost it was reported by write or commit
                self._file.close()


class TrialJournal:
    """The journal of one trial: what a mind paid for is on the disk before it is used, and comes back after a kill."""

    def __init__(self, recorder: Recorder, key: str, attempt: int, earlier: Sequence[Mapping[str, Any]]) -> None:
        self._recorder, self._key, self._attempt, self._earlier = recorder, key, attempt, list(earlier)

    def replies(self) -> Sequence[Mapping[str, Any]]:
        """The replies stored by earlier attempts at this trial, in order."""
        return self._earlier

    def store(self, reply: Mapping[str, Any]) -> None:
        """Store a reply; it is on the disk when this returns."""
        self._recorder.write({"event": "reply", "trial": self._key, "attempt": self._attempt, "reply": dict(reply)})
        self._recorder.commit()

    def trigger(self, sent: Mapping[str, Any]) -> None:
        """Note a trigger code that was sent."""
        self._recorder.write({"event": "trigger", "trial": self._key, "attempt": self._attempt, **sent})

    def note(self, event: Mapping[str, Any]) -> None:
        """Note something that happened."""
        self._recorder.write({"event": "note", "trial": self._key, "attempt": self._attempt, **event})
