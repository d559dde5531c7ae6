"""Faults of a single request, whether a repetition may help, and after how long."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final, Literal, Protocol

from ..messages import Taken
from .endpoint import EndpointError

#: what went wrong, in a word: the server wants fewer requests, failed, was cut off, took too long,
#: sent what is no reply, or a filter took it away
FaultWord = Literal["rate_limit", "server", "connection", "timeout", "garbage", "filter"]

#: the longest wait that a server may ask for; it is asked again then, whatever it said
LONGEST_ASKED_S: Final = 300.0
_FIRST_S: Final = 0.5
_LONGEST_S: Final = 60.0
#: the request, or a gateway on its way, took too long
_LATE: Final = frozenset({408, 504, 524})
#: so often a request is repeated while the server has never given a reply: it may not be there at
#: all
TRIES_OF_STRANGERS: Final = 2


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a request brought no reply.

    Parameters
    ----------
    word : the kind
    error : the sentence for the user, should nothing help
    busy : whether it says that there are too many requests
    wait_s : how long the server asked to wait; None when it said nothing
    begun : whether a reply may have been under way, which has to be paid for although it never came
    taken : the tokens that the server counted for it, where it told them
    """

    word: FaultWord
    error: EndpointError
    busy: bool = False
    wait_s: float | None = None
    begun: bool = False
    taken: Taken | None = None

    @property
    def stranger(self) -> bool:
        """True if the fault may mean that this is not a chat server at all."""
        return self.word in ("connection", "garbage")

    def pause(self, before: int, seed: str) -> float:
        """Seconds to wait before the request is sent again: what the server asked for, or else
        twice as long each time; with some chance, so that requests that failed together do not come
        back together.

        Parameters
        ----------
        before : how often it has failed before
        seed : of the chance
        """
        chance = random.Random(f"{seed} {before}").random()
        if self.wait_s is not None:
            return min(self.wait_s, LONGEST_ASKED_S) * (1 + 0.1 * chance)
        return min(_FIRST_S * 2 ** min(before, 30), _LONGEST_S) * (0.5 + 0.5 * chance)


class Departures(Protocol):
    """Observer of every departure of a request, before it leaves and when it is gone, and of
    those that came to nothing."""

    def leaves(self) -> None:
        """It leaves now, for the first time or again."""
        ...

    def gone(self) -> None:
        """The whole request has been sent."""
        ...

    def fails(self, fault: Fault, left: bool, in_doubt: bool) -> None:
        """It came to nothing; ``left``: whether it had left at all, ``in_doubt``: whether it is not
        known that it reached the server."""
        ...


def word_of_status(status: int) -> FaultWord:
    """The kind of a fault that the server has told by a status."""
    return "rate_limit" if status == 429 else "timeout" if status in _LATE else "server"


def may_be_paid(status: int) -> bool:
    """Return whether a request that was refused with a status may have been paid for: somebody
    between us and the model did not wait for its reply."""
    return status in _LATE


def asked_wait(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Return the seconds that a server asks to wait: ``retry-after-ms``, or ``Retry-After`` in
    seconds or as a date. None when it says nothing that can be read."""
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) / unit
        except ValueError:
            continue
        if 0 <= seconds < float("inf"):
            return seconds
    try:
        until = parsedate_to_datetime(headers.get("retry-after", ""))
    except ValueError:
        return None
    # a date without a zone is meant in UTC; the server's own clock counts, where it tells it
    until = until if until.tzinfo is not None else until.replace(tzinfo=UTC)
    try:
        since = parsedate_to_datetime(headers["date"]) if "date" in headers else None
    except ValueError:
        since = None
    since = since or now or datetime.now(UTC)
    since = since if since.tzinfo is not None else since.replace(tzinfo=UTC)
    return max(0.0, (until - since).total_seconds())
