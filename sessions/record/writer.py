"""Writing the record while a session runs: a thread writes, so that no timed frame ever waits for
the disk."""

from __future__ import annotations

import os
import threading
from asyncio import wrap_future
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, cast

from ...core.atomic_files import json_line, json_text, sync_folder
from ...core.errors import SpanLabError, UnwritableError
from .events import Event, Given, Note, Trigger
from .further_events import OWN_EVENTS
from .reader import event_damage, fitting, misfit
from .transcript_file import TRANSCRIPTS

EVENTS = "events.jsonl"
#: Whether every event is held against its model before it is written, as tests do. Types see to it
#: for all but what agents give, which is checked always.
CHECK_ALL = False
#: the file that a line goes to, and the line
_Line = tuple[str, Any]


class Recorder:
    """Appends events to ``events.jsonl``, and what was said to and by a chat model to
    ``transcripts.jsonl``; without ``events`` to the latter alone.

    ``write`` never waits, nor does ``note`` for the disk; ``commit``, ``committed`` and ``keep``
    return when everything before them is on the disk for sure. Whoever waits at the same time waits
    for the same writing: the disk is not asked once for each.

    Raises
    ------
    SpanLabError
        from any call, when the disk refuses, or an event is not what its model declares or not fit
        for JSON; nothing that was committed is lost.
    """

    def __init__(self, folder: Path, events: bool = True) -> None:
        self.path = folder / (EVENTS if events else TRANSCRIPTS)
        self._folder = folder
        self._files: dict[str, IO[bytes]] = {}
        # lines are written whole: by the thread, and those that must be there before a request
        # leaves by whoever sends it
        self._writing = threading.Lock()
        try:
            if events:
                self._files[EVENTS] = _opened(self.path)
            if (folder / TRANSCRIPTS).exists():
                self._files[TRANSCRIPTS] = _opened(folder / TRANSCRIPTS)
            sync_folder(folder)
        except OSError as error:
            raise UnwritableError(
                f"cannot write {self.path}: {error.strerror or error}; free some space, or check the disk"
            ) from None
        self._unsynced: set[str] = set()
        self._lines: deque[_Line] = deque()
        self._is_given = fitting(Given)
        self._failure: SpanLabError | None = None
        self._thread = ThreadPoolExecutor(1, "recorder")
        self._called = False
        self._over = False

    def _write_lines(self, sync: bool) -> None:
        """Write all lines that are there by now together. After a failure nothing more is written:
        the file stays the beginning of what happened, without holes."""
        self._called = False
        lines = [self._lines.popleft() for _ in range(len(self._lines))]
        if not self._failure:
            self._put(lines, sync)

    def _put(self, lines: Sequence[_Line], sync: bool) -> None:
        name = EVENTS
        try:
            texts: defaultdict[str, list[str]] = defaultdict(list)
            for name, line in lines:
                if name == EVENTS and (
                    CHECK_ALL or line.get("event") not in OWN_EVENTS or ("ask" in line and not self._is_given(line))
                ):
                    _check_event(line)
                texts[name].append(json_text(line))
            for name, several in texts.items():
                self._append(name, "\n".join((*several, "")).encode("ascii"))
            for name in sorted(self._unsynced) if sync else ():
                os.fsync(self._files[name].fileno())
            if sync:
                self._unsynced.clear()
        except OSError as error:
            self._fail(name, error)
        except (TypeError, ValueError) as error:
            self._failure = SpanLabError(
                f"what the agent gave cannot be recorded ({error}); this is a fault of the agent"
            )

    def _append(self, name: str, lines: bytes) -> None:
        with self._writing:
            if name not in self._files:
                self._files[name] = _opened(self._folder / name)
                sync_folder(self._folder)
            self._unsynced.add(name)
            rest = memoryview(lines)
            while rest:
                rest = rest[self._files[name].write(rest) :]

    def _fail(self, name: str, error: OSError) -> None:
        self._failure = UnwritableError(
            f"cannot write {self._folder / name}: {error.strerror or error}; free some space, or check the disk"
        )

    def write(self, event: Event) -> None:
        """Queue one event."""
        if self._failure:
            self._check()
        self._lines.append((EVENTS, event))
        if not self._called:  # a call that has not begun takes this line, too
            self._called = True
            self._thread.submit(self._write_lines, False)

    def note(self, line: Mapping[str, Any]) -> None:
        """Add one line to the transcript at once. It is not on the disk yet, but outlasts this
        program, however that ends."""
        self._check()
        try:
            self._append(TRANSCRIPTS, json_line(line))
        except OSError as error:
            self._fail(TRANSCRIPTS, error)
        self._check()

    def commit(self) -> None:
        """Wait until everything written so far is on the disk."""
        self.sync().result()
        self._check()

    async def committed(self, *lines: _Line) -> None:
        """Add these lines, and wait until everything is on the disk; other tasks go on meanwhile."""
        self._check()
        await wrap_future(self.sync(*lines))
        self._check()

    async def keep(self, line: Mapping[str, Any]) -> None:
        """Add a line to the transcript; it is on the disk when this returns."""
        await self.committed((TRANSCRIPTS, line))

    def sync(self, *lines: _Line) -> Future[None]:
        """Add these lines, and begin to put everything on the disk; the future is done when it is
        there."""
        self._lines.extend(lines)
        return self._thread.submit(self._write_lines, True)

    def _check(self) -> None:
        if self._failure is not None:
            raise type(self._failure)(str(self._failure))

    def finish(self) -> None:
        """Write what is left, as far as the disk takes it, and close the files."""
        if self._over:
            return
        self._over = True
        self.sync()
        self._thread.shutdown()
        for file in self._files.values():
            with suppress(OSError):  # the failure that lost it was reported by write or commit
                file.close()


def _check_event(event: Event) -> None:
    """Raise ValueError where an event of another package, or what an agent gave in one of ours, is
    not what its model declares."""
    whole = CHECK_ALL or event["event"] not in OWN_EVENTS
    if damage := event_damage(event) if whole else misfit(Given, event):
        raise ValueError(damage)


def _opened(path: Path) -> IO[bytes]:
    """A file to append lines to. A kill may have cut the last line: what follows the events begins
    on a line of its own, and says that the session was resumed. Of transcripts nobody has been told
    that such a line is there, and it goes."""
    file = path.open("ab+", buffering=0)
    if file.tell():
        file.seek(-1, os.SEEK_END)
        if file.read(1) != b"\n":
            if path.name == TRANSCRIPTS:
                file.seek(0)
                file.truncate(file.read().rfind(b"\n") + 1)
            else:
                file.write(b"\n")
    return file


class TrialJournal:
    """The journal of one trial: what an episode paid for is on the disk before it is used, and
    comes back after a kill."""

    def __init__(self, recorder: Recorder, key: str, attempt: int, earlier: Sequence[Mapping[str, Any]]) -> None:
        self._recorder, self._key, self._attempt, self._earlier = recorder, key, attempt, list(earlier)

    def replies(self) -> Sequence[Mapping[str, Any]]:
        """The replies saved in earlier attempts at this trial, in order: a line each, with at least
        ``request`` and ``reply``."""
        return self._earlier

    def begun(self, line: Mapping[str, Any]) -> None:
        """Note that a request leaves (``ask``, ``request``): without a line that keeps its reply,
        it may have been paid for in vain."""
        self._note(line, "begun")

    def gone(self, line: Mapping[str, Any]) -> None:
        """Note that all of a request has left (``ask``, ``request``): it reaches the server
        whatever becomes of this program."""
        self._note(line, "gone")

    def refused(self, line: Mapping[str, Any]) -> None:
        """Note that the server refused a request that had left (``ask``, ``request``, ``fault``):
        it was not paid for."""
        self._note(line, "refused")

    def lost(self, line: Mapping[str, Any]) -> None:
        """Note that a request that had left came to nothing (``ask``, ``request``, ``fault``,
        tokens ``taken`` where told, ``in_doubt`` where the server may not have it at all): it may
        have been paid for."""
        self._note(line, "lost")

    def unsent(self, line: Mapping[str, Any]) -> None:
        """Note that a request could not leave (``ask``, ``request``, ``fault``)."""
        self._note(line, "unsent")

    def _note(self, line: Mapping[str, Any], what: str) -> None:
        self._recorder.note({"trial": self._key, "attempt": self._attempt, **line, what: True})

    async def keep(self, line: Mapping[str, Any]) -> None:
        """Keep a reply (``ask``, ``request``, ``sent``, ``reply``); it is on the disk when this
        returns."""
        await self._recorder.keep({"trial": self._key, "attempt": self._attempt, **line})

    def trigger(self, sent: Mapping[str, Any]) -> None:
        """Note a trigger code that was sent."""
        self._recorder.write(cast(Trigger, {"event": "trigger", "trial": self._key, "attempt": self._attempt, **sent}))

    def note(self, event: Mapping[str, Any]) -> None:
        """Note something that happened: a ``note``, or an event that a package declares."""
        self._recorder.write(cast(Note, {"event": "note", "trial": self._key, "attempt": self._attempt, **event}))
