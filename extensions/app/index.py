"""Index of what is recorded in a data folder: read once, kept beside the data, and read again
where a session has changed."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Set
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from spanlab.analysis.data.coding import asked_last
from spanlab.core import AgentKind, SpanLabError, kind_named, write_json
from spanlab.sessions.record import read_session, read_table

_VERSION = 4
#: data folders have sessions so deep (studies keep theirs deeper than others)
_DEPTH = 5


@dataclass(frozen=True, slots=True)
class SessionLine:
    """A session in a list.

    Parameters
    ----------
    path : of its folder, below the data folder
    state : by which it is seen that the record has changed
    session, paradigm, participant, agent, kind, created : as the record has them
    titles : of the paradigm, by language
    like : the session whose trials it repeats; empty for others
    seed : of the session
    planned, done : number of trials, practice left out
    right : the share of right answers, as the report averages them; None where none is scored
    unread : that of replies of a chat model that could not be read, which count as wrong
    if_guessed : how many were right if each of them is a guess; None where chance is unknown
    """

    path: str
    state: str
    session: str
    paradigm: str
    titles: dict[str, str]
    participant: str
    agent: str
    kind: str
    created: str
    like: str
    seed: int | None
    planned: int
    done: int
    right: float | None
    unread: float | None
    if_guessed: float | None

    @property
    def who(self) -> str:
        """The answerer, as lists name them."""
        return self.participant or self.agent

    def share_right(self, beside: str) -> str:
        """Return the share of right answers in per cent, with that of unread replies and the upper
        bound beside it.

        Parameters
        ----------
        beside : a sentence with ``right``, ``unread`` and ``if_guessed``
        """
        if self.right is None:
            return "–"
        if not self.unread:
            return f"{100 * self.right:.0f}%"
        guessed = "–" if self.if_guessed is None else f"{100 * self.if_guessed:.0f}"
        return beside.format(
            right=f"{100 * self.right:.0f}", unread=max(1, round(100 * self.unread)), if_guessed=guessed
        )

    @property
    def finished(self) -> bool:
        """True if all planned trials are taken."""
        return self.done >= self.planned


class SessionIndex:
    """The sessions of a data folder.

    Parameters
    ----------
    data : the folder; what was read is kept in ``.app/sessions.json`` below it, which can be
        deleted at any time
    """

    def __init__(self, data: Path) -> None:
        self.data = data
        self._file = data / ".app" / "sessions.json"
        self._lock = Lock()
        self._lines = self._kept()
        #: sessions that cannot be read, by path with their states, and folders that cannot be
        #: opened
        self._damaged: dict[str, str] = {}
        self._closed: list[str] = []

    def lines(self) -> list[SessionLine]:
        """All sessions as they are now, the newest first, without those that cannot be read
        (:meth:`unread`)."""
        with self._lock:
            closed: list[str] = []
            known = self._lines.keys() | self._damaged.keys()
            seen = {path: _state(f"{self.data}/{path}") for path in _folders(self.data, known, closed)}
            self._closed = sorted(closed)
            states = {path: line.state for path, line in self._lines.items()} | self._damaged
            changed = [path for path, state in seen.items() if states.get(path) != state]
            self._damaged = {path: state for path, state in self._damaged.items() if seen.get(path) == state}
            gone = self._lines.keys() - seen.keys()
            for path in gone:
                del self._lines[path]
            for path in changed:
                self._lines.pop(path, None)
                try:
                    self._lines[path] = _line(self.data, path, seen[path])
                except (SpanLabError, OSError, KeyError, ValueError, TypeError, AttributeError):
                    if (self.data / path).is_dir():  # and not one that has just gone
                        self._damaged[path] = seen[path]
            if changed or gone:
                self._keep()
            return sorted(self._lines.values(), key=lambda line: (line.created, line.path), reverse=True)

    def unread(self) -> list[str]:
        """The folders that could not be read when the sessions were listed last, as text."""
        with self._lock:
            return [*sorted(self._damaged), *map(_as_text, self._closed)]

    def of_paradigm(self, paradigm: str) -> list[SessionLine]:
        """The sessions of a paradigm."""
        return [line for line in self.lines() if line.paradigm == paradigm]

    def _kept(self) -> dict[str, SessionLine]:
        with suppress(OSError, ValueError, TypeError, KeyError, RecursionError):
            kept = json.loads(self._file.read_text(encoding="utf-8"))
            if kept["version"] == _VERSION:
                return {line["path"]: SessionLine(**line) for line in kept["sessions"]}
        return {}

    def _keep(self) -> None:
        with suppress(OSError, SpanLabError):  # a folder that cannot be written is read again next time
            self._file.parent.mkdir(0o700, parents=True, exist_ok=True)
            write_json(
                self._file,
                {"version": _VERSION, "sessions": [asdict(line) for line in self._lines.values()]},
                together=True,  # by several apps
            )


def _folders(data: Path, known: Set[str], closed: list[str]) -> Iterator[str]:
    """The folders of sessions, as paths below the data folder; those that are known are not opened, and
    links to folders elsewhere are not followed.

    Parameters
    ----------
    closed : gets the folders that cannot be opened, or whose names are no text
    """
    waiting = [("", 0)]
    while waiting:
        path, depth = waiting.pop()
        if path in known:
            yield path
            continue
        try:
            with os.scandir(data / path) as entries:
                names = {entry.name: entry.is_dir(follow_symlinks=False) for entry in entries}
        except FileNotFoundError:
            continue  # it has just gone
        except OSError:
            closed.append(path or str(data))
            continue
        if "session.json" in names and path:
            yield path
        elif depth < _DEPTH:
            for name in (name for name, folder in names.items() if folder and not name.startswith(".")):
                below = f"{path}/{name}" if path else name
                if not re.search("[\ud800-\udfff]", name):  # as pages and addresses need it
                    waiting.append((below, depth + 1))
                else:
                    closed.append(below)


def _as_text(name: str) -> str:
    """A name with signs in place of what is no text."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _state(folder: str) -> str:
    """Sizes and times of the files that change when a session goes on."""
    marks = []
    for name in ("session.json", "events.jsonl", "responses.csv"):
        with suppress(OSError):
            found = os.stat(f"{folder}/{name}")
            marks.append(f"{found.st_size}.{found.st_mtime_ns}")
    return " ".join(marks)


def _line(data: Path, path: str, state: str) -> SessionLine:
    folder = data / path
    info = read_session(folder)
    progress = _progress(folder, kind_named(info["agent_kind"]))
    plan, title = info["plan"], info["paradigm_data"].get("title", info["paradigm"])
    planned = sum(not trial.get("practice", False) for trial in plan) if isinstance(plan, list) else progress["done"]
    return SessionLine(
        path=path,
        state=state,
        session=info["session"],
        paradigm=info["paradigm"],
        titles=title if title and isinstance(title, dict) else {"en": str(title)},
        participant=info["participant"],
        agent=info["agent"],
        kind=info["agent_kind"],
        created=info["created"],
        like=info["like"],
        seed=info["seed"],
        planned=planned,
        **progress,
    )


def _progress(folder: Path, kind: AgentKind) -> dict[str, Any]:
    """Return how far a session is and how right its answers are, practice left out: ``done``,
    ``right``, ``unread`` and ``if_guessed`` of a :class:`SessionLine`."""
    table = read_table(
        folder, ["trial", "practice", "phase", "ask", "correct", "correct_answer", "outcome", "chance"]
    ).to_pandas()
    table = table[~table["practice"].astype(bool)].assign(unit_trial=table["trial"])
    scored = table[table["correct_answer"].notna() & table["correct"].notna()]
    scored = scored[asked_last(scored)]
    right, lost = scored["correct"].astype(float), scored["outcome"].eq("invalid")
    lost &= kind.converses or kind.role == "script"
    shares = {
        "right": right,
        "unread": lost.astype(float),
        "if_guessed": right.mask(lost, scored["chance"].astype(float)),
    }
    return {"done": int(table["trial"].nunique())} | {
        name: float(one.groupby(scored["unit_trial"]).mean().mean()) if len(one) and one.notna().all() else None
        for name, one in shares.items()
    }
