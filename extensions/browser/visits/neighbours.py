"""What the workers of one server tell one another about their visits, by a row each in the list of places."""

# pyright: strict, reportImplicitOverride=true
from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from spanlab.sessions.studies import changing


@dataclass(frozen=True, slots=True)
class Presence:
    """Somebody who visits now.

    Parameters
    ----------
    connected : whether the page is connected
    place : where the participant is: the title of a page, ``trial``, ``questions``, ``last page``,
        or ``arriving``
    since : when the visit began (seconds since the epoch)
    address : of the browser; empty where nobody knows it
    confirmed : whether somebody has done something at the page
    """

    connected: bool
    place: str
    since: float
    address: str = ""
    confirmed: bool = False


def whose(participant: str, workers: int) -> int:
    """The worker to which a participant always comes."""
    return zlib.crc32(participant.encode()) % workers


class Neighbours:
    """The other workers of a server, as they told last.

    Parameters
    ----------
    folder : with the list of places
    mode : permissions of what is made there, as far as the system's mask leaves them
    number : of this worker
    workers : how many there are
    """

    def __init__(self, folder: Path, mode: int = 0o700, number: int = 0, workers: int = 1) -> None:
        self.number, self.workers = number, workers
        self.present: dict[str, Presence] = {}
        self.turned_away = 0
        self.notices: list[tuple[float, str]] = []
        self._folder, self._mode = folder, mode

    def exchange(self, present: Mapping[str, Presence], turned_away: int, notices: list[tuple[float, str]]) -> None:
        """Tell what is to be known of this worker, and read what the others have told."""
        known = {name: asdict(presence) for name, presence in present.items()}
        told = json.dumps({"present": known, "turned_away": turned_away, "notices": notices})
        with changing(self._folder, self._mode) as listed:
            rows = dict[int, str](listed.execute("SELECT * FROM visits").fetchall())
            if rows.pop(self.number, None) != told:  # a withdrawal removes it
                listed.execute("INSERT OR REPLACE INTO visits VALUES (?, ?)", (self.number, told))
        others: list[dict[str, Any]] = [*map(json.loads, rows.values())]
        self.present = {name: Presence(**one) for other in others for name, one in other["present"].items()}
        self.turned_away = sum(other["turned_away"] for other in others)
        self.notices = [(at, text) for other in others for at, text in other["notices"]]

    def forget(self) -> None:
        """Leave nothing of any worker: the server begins, or is over."""
        with changing(self._folder, self._mode) as listed:
            listed.execute("DELETE FROM visits")
