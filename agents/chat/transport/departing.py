"""A request on its way: when it leaves, when it is gone, and whether anybody can know that it
arrived."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..cost.account import Held
from .faults import Departures


class Departing:
    """Follows a request on its way, and tells the account, and whoever keeps a journal, when it
    leaves and when it is gone.

    No server can answer a request before its body arrives. So a request leaves when the connection
    stands, the headers are sent and the body is next: what fails or is killed before that is not a
    departure. It is gone when all of the body was handed to the system, which delivers it whatever
    becomes of this program. In between, and where a connection was closed in order without a byte
    of a reply (as servers close idle ones, which may cross a request on its way), nobody here can
    know whether the server has it.

    Parameters
    ----------
    held : by the account
    departures : who is told besides
    """

    def __init__(self, held: Held, departures: Departures | None) -> None:
        self.held, self.departures = held, departures
        #: what kept the departure from being noted
        self.trouble: Exception | None = None
        self._is_request = self._gone = self._heard = self._closed = False

    @property
    def in_doubt(self) -> bool:
        """True if it left, and it is not known whether it reached the server."""
        return self.held.left and not self._heard and (self._closed or not self._gone)

    def follow(self, event: str, about: Mapping[str, Any]) -> None:
        """Take note of an event of the connection."""
        if event.endswith(".started") and "request" in about:
            self._is_request = about["request"].method == b"POST"  # and not what a proxy is asked
        if not self._is_request:
            return
        match event.partition(".")[2]:
            case "send_request_body.started":
                self.leaves()
            case "send_request_body.complete":
                self._goes()
            case "receive_response_headers.complete":
                self._heard = True
            case "receive_response_headers.failed":
                self._closed = _is_close(about["exception"])

    def leaves(self) -> None:
        """It leaves."""
        self._gone = self._heard = self._closed = False
        self._note(None if self.departures is None else self.departures.leaves)
        self.held.leaves()

    def heard(self) -> None:
        """All of it has left, and something came back."""
        self._goes()
        self._heard = True

    def _goes(self) -> None:
        self._gone = True
        self._note(None if self.departures is None else self.departures.gone)

    def _note(self, tell: Callable[[], None] | None) -> None:
        try:
            if tell is not None:
                tell()
        except Exception as error:
            self.trouble = error
            raise


def _is_close(error: BaseException) -> bool:
    """Return whether a connection was closed in order, and neither broken off nor used for
    something else."""
    import httpcore2

    return (
        isinstance(error, httpcore2.RemoteProtocolError) and error.__cause__ is None
    )  # else it is about something that came
