"""Page of the assistant: the sessions as ``spanlab study monitor`` has them, and who is at a
page now. Only whoever has the token sees it."""

from __future__ import annotations

import secrets
import threading
import time
from typing import Any

from spanlab.sessions.studies import table_of
from spanlab.sessions.studies.monitoring import STATES, Judge, duration, standing_by_person, standings

from .neighbours import Presence
from .visits import VisitDesk

#: The records are looked at every so many seconds, and for this share of the time at most: whoever
#: takes part comes first.
_EVERY_S, _SHARE = 2.0, 0.1


class MonitorBoard:
    """The state of everything that a server offers.

    Parameters
    ----------
    judge : gives the verdict on the timing of a session
    token : who has it may see the page; made anew if not given
    """

    def __init__(self, desk: VisitDesk, judge: Judge | None = None, token: str = "") -> None:
        self.token = token or secrets.token_urlsafe(32)
        self._desk, self._watch = desk, desk.offer.watch(judge)
        self._looking = threading.Lock()
        self._last: dict[str, Any] = {}
        self._next_at = 0.0

    def admits(self, authorization: str) -> bool:
        """Return whether a request carries the token (``Bearer TOKEN``). How long this takes tells
        nothing about the token."""
        return secrets.compare_digest(authorization.encode(), f"Bearer {self.token}".encode())

    def now(self) -> dict[str, Any]:
        """Return what the page shows, fit for JSON; the same as before where the records were
        looked at a moment ago."""
        if not self._looking.acquire(blocking=not self._last):
            return self._last  # somebody else is looking
        try:
            began = time.monotonic()
            if began >= self._next_at:
                self._last = self._look()
                took = time.monotonic() - began
                self._next_at = time.monotonic() + max(_EVERY_S, took * (1 - _SHARE) / _SHARE)
            return self._last
        finally:
            self._looking.release()

    def _look(self) -> dict[str, Any]:
        now = time.time()
        sessions, present = self._watch.look(now), self._desk.present()
        table, counts, stands = (
            table_of(sessions, now, everything=True),
            standings(sessions),
            standing_by_person(sessions),
        )
        latest = {one.participant: at for at, one in enumerate(sessions)}
        rows: list[dict[str, Any]] = []
        for at, (one, state, cells) in enumerate(zip(sessions, table.states, table.rows, strict=True)):
            page = _page(present.get(one.participant)) if latest[one.participant] == at else ""
            rows.append({"state": state, "standing": stands[one.participant], "cells": list(cells), "page": page})
        arriving = [
            {"participant": name, "page": _page(visitor), "since": f"{duration(now - visitor.since)} ago"}
            for name, visitor in present.items()
            if name not in latest
        ]
        notices = sorted([*self._desk.notices.last, *self._desk.neighbours.notices], reverse=True)
        return {
            "title": self._desk.offer.title,
            "at": now,
            "counts": [[state, counts[state]] for state in STATES if counts[state]],
            "pages": sum(visitor.connected for visitor in present.values()),
            "places": self._desk.offer.places(),
            "turned_away": self._desk.turned_away + self._desk.neighbours.turned_away,
            "header": list(table.header),
            "rows": rows[::-1],
            "arriving": arriving,
            "messages": [[at, text.splitlines()[0]] for at, text in notices[:20]],
        }


def _page(visitor: Presence | None) -> str:
    """Say where somebody is: at the page, or away from it."""
    if visitor is None:
        return "closed"
    return visitor.place if visitor.connected else f"line cut ({visitor.place})"
