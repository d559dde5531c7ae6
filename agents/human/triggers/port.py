"""The base class of all ports that take trigger codes."""

from __future__ import annotations

from typing import Any, Protocol


class PortLost(Exception):  # noqa: N818 - named as what happened
    """The port no longer takes codes; the message says why."""


class Port(Protocol):
    """An open port.

    Attributes
    ----------
    name : how messages call it
    pulses : whether a code stands until 0 is written
    heard : whether somebody takes the codes, as far as the port can know
    """

    name: str
    pulses: bool

    @property
    def heard(self) -> bool: ...

    def write(self, code: int) -> float | None:
        """Send a code (0 puts the line back). Never waits. Gives the time that was sent along with
        it, where the port has such a time.

        Raises
        ------
        PortLost
            when it cannot be sent.
        """
        ...

    def check(self) -> None:
        """Check that the port is still there, as far as can be told without sending anything. Asked
        between trials, never between frames.

        Raises
        ------
        PortLost
            when it is not.
        """
        ...

    def facts(self) -> dict[str, Any]:
        """Facts for the record, fit for JSON."""
        ...

    def close(self) -> None:
        """Release the port."""
        ...
