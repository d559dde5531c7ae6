"""What an agent pays for: the journal of its replies, what a session costs, and what became of the
requests by the lines of the journal, all parts of a session together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from pathlib import Path


class Journal(Protocol):
    """Store of the replies that an episode has paid for, by trial; each is on disk before it is
    used."""

    def replies(self) -> Sequence[Mapping[str, Any]]:
        """Return what earlier attempts at the trial have kept, in order."""
        ...

    def begun(self, line: Mapping[str, Any]) -> None:
        """Note, without waiting, that a request leaves."""

    def gone(self, line: Mapping[str, Any]) -> None:
        """Note, without waiting, that all of a request has left."""

    def refused(self, line: Mapping[str, Any]) -> None:
        """Note, without waiting, that the server refused a request that had left: nobody pays for
        it."""

    def lost(self, line: Mapping[str, Any]) -> None:
        """Note, without waiting, that a request that had left came to nothing, although a reply may
        have been under way, which has to be paid for."""

    def unsent(self, line: Mapping[str, Any]) -> None:
        """Note, without waiting, that a request could not leave."""

    async def keep(self, line: Mapping[str, Any]) -> None:
        """Keep a reply; it is on the disk when this returns."""

    def note(self, event: Mapping[str, Any]) -> None:
        """Note something that happened: a ``note``, or an event that a package declares
        (``{"event": "its name", ...}``)."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Requests, tokens and money that a session takes.

    Parameters
    ----------
    numbers : for the record; fit for JSON
    sentence : the same in words, for whoever runs the session
    """

    numbers: Mapping[str, Any]
    sentence: str


class Ledger(Protocol):
    """Account of an agent's requests, from the record of a session, all parts of the session
    together."""

    @property
    def folder(self) -> Path:
        """The folder of the session."""
        ...

    @property
    def info(self) -> Mapping[str, Any]:
        """The content of ``session.json``."""
        ...

    @property
    def lines(self) -> Sequence[Mapping[str, Any]]:
        """The lines of the agent's :class:`Journal`, in order."""
        ...

    @property
    def replies(self) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        """The lines that keep a reply, by trial."""
        ...

    @property
    def failed(self) -> Mapping[str, str]:
        """The trials that could not be had, each with the reason."""
        ...


@dataclass(frozen=True, slots=True)
class InVain:
    """Departures without a reply that was kept, and without a refusal.

    Parameters
    ----------
    count : how many: all of those may have been paid for in vain
    in_doubt : of these, how many may or may not have reached the server: the program was killed
        while they left, or a connection was closed under them
    """

    count: int
    in_doubt: int


def in_vain(lines: Iterable[Mapping[str, Any]]) -> InVain:
    """Return how many times a request left without its reply being kept or refused."""
    under_way: dict[tuple[Any, ...], list[bool]] = {}  # whether each of them is gone
    lost = in_doubt = 0
    for line in lines:
        departures = under_way.setdefault((line["trial"], line["attempt"], line["ask"], line["request"]), [])
        if line.get("begun") is True:
            departures.append(False)
        elif not departures:
            continue
        elif line.get("gone") is True:
            departures[-1] = True
        elif line.get("lost") is True:
            departures.pop()
            lost += 1
            in_doubt += line.get("in_doubt") is True
        elif ("reply" in line and not line["reply"].get("cached")) or _is_refusal(line):
            departures.pop()
    in_flight = [has_left for departures in under_way.values() for has_left in departures]
    return InVain(lost + len(in_flight), in_doubt + in_flight.count(False))


def refused(lines: Iterable[Mapping[str, Any]]) -> int:
    """Return how many requests the server refused."""
    return sum(map(_is_refusal, lines))


def taken_in_vain(lines: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The tokens that the server counted for requests that came to nothing, where it told them."""
    return [line["taken"] for line in lines if line.get("lost") is True and isinstance(line.get("taken"), dict)]


def faults(lines: Iterable[Mapping[str, Any]]) -> Counter[str]:
    """Count the faults on the way to replies, by the word for each."""
    return Counter(str(line["fault"]) for line in lines if "fault" in line)


def _is_refusal(line: Mapping[str, Any]) -> bool:
    return line.get("refused") is True
