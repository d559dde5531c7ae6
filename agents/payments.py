"""What an agent pays for: the journal of its replies, and what a session costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
