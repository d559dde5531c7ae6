"""Codes on the eight data lines of a parallel port, through PsychoPy's driver (ppdev on Linux, inpout32 or inpoutx64 on Windows)."""

from __future__ import annotations

import os
import sys
from typing import Any

from ....core.errors import SpanLabError
from .port import PortLost


class ParallelPort:
    """A parallel port by its device (``/dev/parport0``) or address (``0x378``).

    Parameters
    ----------
    readback : whether what is written has to be there when it is read back: Windows writes to addresses where no port is, and says nothing

    Raises
    ------
    SpanLabError
        when it cannot be opened.
    """

    pulses = True
    heard = True

    def __init__(self, where: str, readback: bool) -> None:
        self.name = f"parallel port {where}"
        self._readback = readback
        driver = _driver()
        try:
            self._port: Any = driver(address=_address(where))
            self._port.setData(0)
        except Exception as error:  # drivers raise whatever they like
            raise SpanLabError(f"the {self.name} cannot be opened ({error or type(error).__name__}); {_ADVICE}") from None
        self._standing = 0

    def write(self, code: int) -> None:
        try:
            self._port.setData(code)
        except Exception as error:
            raise PortLost(str(error) or type(error).__name__) from None
        self._standing = code

    def check(self) -> None:
        if not self._readback:
            return
        try:
            read = int(self._port.readData())
        except Exception as error:
            raise PortLost(str(error) or type(error).__name__) from None
        if read != self._standing:
            raise PortLost(f"{self._standing} was written to it and {read} read back; where a card cannot give back what it sends, add ,readback=off")

    def facts(self) -> dict[str, Any]:
        return {"readback": self._readback}

    def close(self) -> None:
        self._port = None


_ADVICE = (
    "check its address in the device manager, and that inpoutx64.dll can be found"
    if sys.platform == "win32"
    else "load ppdev (sudo modprobe -r lp; sudo modprobe ppdev) and see that you may write to it (group lp)"
)


def _driver() -> Any:
    if sys.platform == "darwin":
        raise SpanLabError("there are no parallel ports on macOS; use serial: or lsl:")
    os.environ.setdefault("PSYCHOPYNOPACKAGES", "1")  # else PsychoPy rewrites PYTHONPATH and PATH
    try:
        from psychopy import parallel
    except ImportError as error:
        raise SpanLabError(f"triggers over a parallel port need PsychoPy ({error}); install it with: pip install 'spanlab[lab]'") from error
    if parallel.ParallelPort is None:
        raise SpanLabError("PsychoPy finds no driver for parallel ports; put inpoutx64.dll beside python.exe")
    return parallel.ParallelPort


def _address(where: str) -> int | str:
    """A number on Windows, a device elsewhere."""
    try:
        number = int(where, 0)
    except ValueError:
        return where
    return number if sys.platform == "win32" else f"/dev/parport{number}"
