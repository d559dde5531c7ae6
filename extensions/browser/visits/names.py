"""The names of the sessions in a data folder: looked up now and then, since that takes the longer
the more there are."""

# pyright: strict
from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

from spanlab.sessions import SessionSeed, seed_for, session_names

#: Sessions that others have begun are known after so many seconds.
_FRESH_S = 10.0


class SessionNames:
    """The names of all sessions in a folder.

    Parameters
    ----------
    clock : in seconds
    """

    def __init__(self, data: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._data, self._clock = data, clock
        self._names: dict[str, None] = {}
        self._until = -1.0
        self._seeds: set[int] = set()
        self._lock = threading.RLock()

    def now(self) -> list[str]:
        """All names."""
        with self._lock:
            if self._clock() >= self._until:
                self._names |= dict.fromkeys(session_names(self._data))
                self._until = self._clock() + _FRESH_S
            return list(self._names)

    def add(self, name: str) -> None:
        """Take note of a session that has begun."""
        with self._lock:
            self._names[name] = None

    def seed(self, paradigm: str, participant: str) -> SessionSeed:
        """Draw a seed that no other session has, nor gets one while this server runs."""
        with self._lock:
            while (drawn := seed_for(self._data, paradigm, participant, self.now())).seed in self._seeds:
                pass
            self._seeds.add(drawn.seed)
            return drawn
