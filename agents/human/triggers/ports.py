"""What takes the codes: one class for each kind of port, and the opening of whichever is wanted."""

from __future__ import annotations

from typing import Any, Protocol

from .address import Address


class PortLost(Exception):  # noqa: N818 - named as what happened
    """The port does not take codes any more; the message says why."""


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
        """Send a code (0 puts the line back). Never waits. Gives the time that was sent along with it, where the port has such a time.

        Raises
        ------
        PortLost
            when it cannot be sent.
        """
        ...

    def check(self) -> None:
        """Whether the port is still there, as far as can be told without sending anything. Asked between trials, never between frames.

        Raises
        ------
        PortLost
            when it is not.
        """
        ...

    def facts(self) -> dict[str, Any]:
        """What is worth recording, fit for JSON."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...


def open_port(address: Address) -> Port:
    """Open a port.

    Raises
    ------
    SpanLabError
        when it cannot be opened, or what it needs is not installed.
    """
    if address.kind == "serial":
        from .serial_port import SerialPort

        return SerialPort(address.where, address.baud)
    if address.kind == "parallel":
        from .parallel_port import ParallelPort

        return ParallelPort(address.where, address.readback)
    if address.kind == "lsl":
        from .lsl import LslOutlet

        return LslOutlet(address.where)
    from .dry import DryPort

    return DryPort(address.where)
