"""Admission: how many visits there may be, of everybody and of one address; and links that
nobody can make up."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from spanlab.core import SpanLabError, make_folder, only_writer, write_whole
from spanlab.sessions.studies import Study

#: A visit at whose page nobody has done anything is kept for so many seconds, if others need the
#: room.
UNCONFIRMED_S = 60.0
#: So many people of one address, such as a laboratory behind one router, may take part at the same
#: time.
MOST_OF_ADDRESS = 40
#: in the folder of a study: the key with which its links are signed
KEY_FILE = ".links.key"
#: characters of a ticket, in base 16
_TICKET = 32
_MINUTE_S = 60.0


class AdmittedVisit(Protocol):
    """Visit as admission knows it."""

    address: str
    since: float

    @property
    def confirmed(self) -> bool:
        """True if somebody has done something at its page."""
        ...

    @property
    def over(self) -> bool:
        """True if it is over."""
        ...

    def release(self) -> None:
        """End it, so that others find room."""
        ...


class Admission:
    """Limits to the visits of a server. Visits at which nobody has done anything never keep anybody
    else out.

    Parameters
    ----------
    most : people who take part at the same time; as many visits again may be unconfirmed
    most_new : new visits in a minute
    most_of_address : people of one address, at the same time
    clock : of the server (s)
    """

    def __init__(
        self,
        most: int,
        most_new: int | None = None,
        most_of_address: int = MOST_OF_ADDRESS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._most, self._most_new, self._of_address = most, most_new or 10 * most, most_of_address
        self._clock = clock
        self._begun: deque[float] = deque()

    def has_room(self, visits: Sequence[AdmittedVisit], address: str, elsewhere: Sequence[str] = ()) -> bool:
        """Make room for one more visit if that is possible; it is counted.

        Parameters
        ----------
        visits : all others
        address : of the one that comes; empty where nobody knows
        elsewhere : the addresses of people whom other workers serve
        """
        now = self._clock()
        while self._begun and now - self._begun[0] > _MINUTE_S:
            self._begun.popleft()
        here = [visit for visit in visits if not visit.over]
        confirmed = [visit for visit in here if visit.confirmed]
        addresses = [*elsewhere, *(visit.address for visit in confirmed)]
        if (
            len(addresses) >= self._most
            or len(self._begun) >= self._most_new
            or (address and addresses.count(address) >= self._of_address)
        ):
            return False
        waiting = sorted((visit for visit in here if not visit.confirmed), key=lambda visit: visit.since)
        self._make_room(waiting, address, now)
        self._begun.append(now)
        return True

    def _make_room(self, waiting: Sequence[AdmittedVisit], address: str, now: float) -> None:
        """Release unconfirmed visits, the oldest first: those of an address with too many, and
        where there are too many in all."""
        of_address = [visit for visit in waiting if address and visit.address == address]
        if len(of_address) >= self._of_address:
            of_address[0].release()
            return
        if len(waiting) < self._most:
            return
        late = [visit for visit in waiting if now - visit.since > UNCONFIRMED_S]
        if late:
            for visit in late:
                visit.release()
            return
        # Whoever sends many is behind most of them.
        counts = Counter(visit.address for visit in waiting)
        max(waiting, key=lambda visit: (counts[visit.address], -visit.since)).release()


class Tickets:
    """Signatures for the identifiers of a study. Nobody without the key can make one.

    Parameters
    ----------
    study : its name
    key : secret bytes
    """

    def __init__(self, study: str, key: bytes) -> None:
        self._study, self._key = study, key

    @classmethod
    def of_study(cls, study: Study, data: Path) -> Tickets:
        """The tickets of a study, with the key in its data folder, which is made when it is
        missing.

        Raises
        ------
        SpanLabError
            when the key cannot be read or written.
        """
        file = data / study.name / KEY_FILE
        try:
            if not file.exists():
                make_folder(file.parent, mode=study.mode)
                with only_writer(file.parent, patience_s=20):
                    if not file.exists():
                        write_whole(file, secrets.token_hex(32).encode(), mode=0o600)
            key = bytes.fromhex(file.read_text(encoding="ascii"))
        except (OSError, ValueError) as error:
            raise SpanLabError(f"the key of the links in {file} cannot be used ({error})") from None
        if len(key) != 32:
            raise SpanLabError(
                f"the key of the links in {file} is damaged: restore it from a copy, or remove it and make new links"
            )
        return cls(study.name, key)

    def sign(self, participant: str) -> str:
        """The ticket of a participant."""
        return hmac.new(self._key, f"{self._study}\n{participant}".encode(), hashlib.sha256).hexdigest()[:_TICKET]

    def fits(self, participant: str, ticket: str) -> bool:
        """Return whether this is the ticket of the participant."""
        return hmac.compare_digest(self.sign(participant).encode(), ticket.encode())
