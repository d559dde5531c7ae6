"""How far the sessions of a study were when they were read last: the status of thousands of sessions reads only those
that have changed. A file that can be thrown away; the records alone count."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

from ... import __version__
from ...core.atomic_files import make_folder, write_whole
from ...core.errors import SpanLabError
from ...core.json_values import as_object
from ...paradigms.identity import digest
from .visit_files import State, state_of


class KnownStates:
    """The progress of sessions, read anew where a record has another size or time than before.

    Parameters
    ----------
    data : data folder
    study : name of a study; what was read of its sessions is kept in ``.app/STUDY-status.json``
    """

    def __init__(self, data: Path, study: str) -> None:
        self._data, self._file = data, data / ".app" / f"{study}-status.json"
        self._before = self._kept()
        self._now: dict[str, Any] = {}

    def state(self, folder: Path) -> tuple[str, State] | None:
        """The progress of a paradigm's session, as :func:`state_of` returns it."""
        path, mark = folder.relative_to(self._data).as_posix(), _mark(folder)
        known: list[Any] = self._before.get(path, [None])
        if known[0] != mark:
            named = state_of(folder)
            if named is None or named[1].quiz is not None:
                return named
            name, state = named
            known = [mark, name, state.done, state.planned, state.finished, state.practice, state.checks]
        self._now[path] = known
        _, name, done, planned, finished, practice, (right, asked) = known
        return name, State(folder, done, planned, finished, practice, checks=(right, asked))

    def keep(self) -> None:
        """Keep what was read for the next time, where something is new and the folder can be written."""
        if self._now == self._before:
            return
        with suppress(OSError, SpanLabError):
            make_folder(self._file.parent, mode=0o700)
            content = {"digest": _digest(self._now), "sessions": self._now}
            write_whole(self._file, json.dumps(content).encode(), together=True, mode=0o600)

    def _kept(self) -> dict[str, Any]:
        with suppress(OSError, ValueError, RecursionError):
            kept = as_object(json.loads(self._file.read_text(encoding="utf-8")))
            sessions = as_object(kept.get("sessions"))
            if kept.get("digest") == _digest(sessions):
                return sessions
        return {}


def _digest(sessions: dict[str, Any]) -> str:
    """By which it is seen that a file is whole, and this version's."""
    return digest([__version__, sessions])


def _mark(folder: Path) -> list[int]:
    """Sizes and times of the files that change when a session goes on."""
    mark: list[int] = []
    for name in ("session.json", "events.jsonl"):
        with suppress(OSError):
            found = (folder / name).stat()
            mark += [found.st_size, found.st_mtime_ns]
    return mark
