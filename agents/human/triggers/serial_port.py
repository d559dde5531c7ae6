"""Codes as single bytes over a serial port (USB adapters included)."""

from __future__ import annotations

import errno
import os
import time
from contextlib import suppress
from typing import Any

from ....core.errors import SpanLabError
from .port import PortLost

#: Seconds for which the first byte may take to leave.
_DRAIN = 1.0


class SerialPort:
    """A serial port: 8 data bits, no parity, 1 stop bit, no flow control.

    Raises
    ------
    SpanLabError
        when it cannot be opened.
    """

    pulses = True
    heard = True

    def __init__(self, device: str, baud: int) -> None:
        try:
            import serial
        except ImportError as error:
            raise SpanLabError("triggers over a serial port need pyserial; install it with: pip install 'spanlab[triggers]'") from error
        self.name = f"serial port {device}"
        self._baud = baud
        self._lost = (OSError, serial.SerialException)
        try:
            self._serial: Any = serial.Serial(device, baud, timeout=0, write_timeout=0, exclusive=True if os.name == "posix" else None)
        except (OSError, ValueError, serial.SerialException) as error:
            raise SpanLabError(f"the {self.name} cannot be opened ({_reason(error)}); {_advice(device)}") from None

    def write(self, code: int) -> None:
        try:
            # pyserial tries for ever where the system takes no byte at once, so on POSIX the byte goes straight to the system
            taken = os.write(self._serial.fileno(), bytes([code])) if os.name == "posix" else self._serial.write(bytes([code]))
        except BlockingIOError:
            taken = 0
        except self._lost as error:
            raise PortLost(_reason(error)) from None
        if not taken:
            raise PortLost("it takes no more bytes")

    def check(self) -> None:
        try:
            self._serial.in_waiting  # noqa: B018 - asking is what shows that the port is gone
            end = time.monotonic() + _DRAIN
            while self._serial.out_waiting and time.monotonic() < end:
                time.sleep(0.001)
            if self._serial.out_waiting:
                raise PortLost("bytes do not leave it")
        except self._lost as error:
            raise PortLost(_reason(error)) from None

    def facts(self) -> dict[str, Any]:
        return {"baud": self._baud}

    def close(self) -> None:
        with suppress(*self._lost):  # it may be gone already
            self._serial.close()


def _reason(error: Exception) -> str:
    number = getattr(error, "errno", None)
    if number is None:
        return str(error)
    return "another program uses it" if number in (errno.EAGAIN, errno.EBUSY) else os.strerror(number)


def _advice(device: str) -> str:
    """What to do, with the ports that there are."""
    try:
        from serial.tools.list_ports import comports

        there = sorted(str(port.device) for port in comports())
    except Exception:  # listing ports is help, not more
        there = []
    found = [name for name in there if name != device][:8]
    return (
        "check the cable, the name and your permissions (on Linux the group dialout); "
        f"{'found here: ' + ', '.join(found) if found else 'no other serial port was found here'}"
    )
