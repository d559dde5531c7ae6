"""The opening of whichever port is wanted; each kind of port has a module of its own."""

from __future__ import annotations

from .address import Address
from .port import Port


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
