"""Trigger ports by their names (``serial:/dev/ttyUSB0@115200``, ``parallel:0x378``, ``lsl:spanlab``,
``dry``; each with settings after commas), and all kinds of ports; the software of each is loaded
when a port is opened.

Serial ports (USB adapters included) send codes as single bytes. Parallel ports put them on their
eight data lines, through PsychoPy's driver (ppdev on Linux, inpout32 or inpoutx64 on Windows). A
stream of LSL (Lab Streaming Layer) takes them as samples: irregular, one channel of whole numbers,
each with LSL's own time.
"""

from __future__ import annotations

import errno
import os
import re
import socket
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

from typing_extensions import override

from ....core.errors import SpanLabError
from ....core.registry import nearest

Kind = Literal["serial", "parallel", "lsl", "dry"]

#: Width of a pulse: two samples or more of a recorder that takes 500 a second, and less than a
#: frame.
PULSE_MS = 5.0
BAUD = 115_200
MOST = 255
#: Name of the LSL stream when none is given.
STREAM = "spanlab"

_EXAMPLES = "serial:/dev/ttyUSB0@115200, serial:COM3, parallel:/dev/parport0, parallel:0x378, lsl:NAME or dry"
#: Settings after the commas: the field of an address, the kinds of ports that have it, how its value
#: is written and read, and what is expected.
_SETTINGS: Mapping[str, tuple[str, tuple[Kind, ...], str, Callable[[str], float | bool], str]] = {
    "pulse": (
        "pulse_ms",
        ("serial", "parallel", "dry"),
        r"[0-9]{1,3}(\.[0-9]{1,3})?",
        float,
        "expected pulse=MS, from 0 (the line is not put back) to 999; a marker of an LSL stream has no width",
    ),
    "test": ("test", get_args(Kind), r"[0-9]{1,3}", int, "expected test=CODE, from 0 (no test pulse) to 255"),
    "readback": (
        "readback",
        ("parallel",),
        "on|off",
        lambda value: value == "on",
        "expected readback=on or readback=off, for parallel ports: nothing else can be read back",
    ),
}


@dataclass(frozen=True, slots=True)
class Address:
    """A trigger port, and how it is to be used.

    Parameters
    ----------
    kind : serial, parallel, lsl or dry (nothing is connected; codes are recorded as if they had
        been sent)
    where : the serial port, the address of the parallel port, or the name of the LSL stream
    baud : of a serial port
    pulse_ms : how long a code stands before the line is put back to 0; 0 = it is not put back
    test : code of the pulse that is sent when the port is opened; 0 = none
    readback : whether a parallel port has to give back what was written to it
    """

    kind: Kind
    where: str = ""
    baud: int = BAUD
    pulse_ms: float = PULSE_MS
    test: int = MOST
    readback: bool = True


def split_name(text: str, what: str, kinds: Sequence[str], examples: str) -> tuple[str, str, list[str]]:
    """Kind, place and settings of a port or a box by its name: ``KIND[:WHERE][,SETTING=VALUE...]``.

    Raises
    ------
    SpanLabError
        when there is no such kind.
    """
    name, *settings = text.split(",")
    kind, _, where = name.partition(":")
    if kind not in kinds:
        raise SpanLabError(f"unknown {what} '{text}'{nearest(kind, kinds) or '; write ' + examples}")
    return kind, where, settings


def read_address(text: str) -> Address:
    """A port by its name: ``KIND[:WHERE[@BAUD]][,SETTING=VALUE...]``.

    Raises
    ------
    SpanLabError
        when it is not understood.
    """
    kind, where, settings = split_name(text, "trigger port", get_args(Kind), _EXAMPLES)
    where, baud = port_and_baud(where, text) if kind == "serial" else (where, BAUD)
    if kind in ("serial", "parallel") and not where:
        raise SpanLabError(f"which {kind} port? Write {_EXAMPLES}")
    if kind == "dry" and where:
        raise SpanLabError(f"a dry run has no place; write dry, and find its codes in the record (in '{text}')")
    return Address(
        cast(Kind, kind),
        where or (STREAM if kind == "lsl" else ""),
        baud,
        **_settings(text, kind, settings),  # type: ignore[arg-type]
    )


def port_and_baud(where: str, text: str) -> tuple[str, int]:
    """A serial port and its rate: ``PORT[@BAUD]``.

    Parameters
    ----------
    text : of which it is a part, for messages

    Raises
    ------
    SpanLabError
        when the rate is not a possible one.
    """
    if "@" not in where:
        return where, BAUD
    port, _, rate = where.rpartition("@")
    if not re.fullmatch(r"[1-9][0-9]{2,7}", rate):
        raise SpanLabError(f"the rate of a serial port is a number of baud, such as 115200; found '{rate}' in '{text}'")
    return port, int(rate)


def _settings(text: str, kind: str, settings: list[str]) -> dict[str, float | bool]:
    values: dict[str, float | bool] = {}
    for setting in settings:
        name, _, value = setting.strip().partition("=")
        if name not in _SETTINGS:
            raise SpanLabError(
                "a trigger port has no setting"
                f" '{name}'{nearest(name, _SETTINGS) or '; there are ' + ', '.join(_SETTINGS)} (in '{text}')"
            )
        field, kinds, pattern, read, expected = _SETTINGS[name]
        if kind not in kinds or not re.fullmatch(pattern, value):
            raise SpanLabError(f"'{setting}' is not understood in '{text}': {expected}")
        values[field] = read(value)
    if not 0 <= values.get("test", 0) <= MOST:
        raise SpanLabError(f"the code of the test pulse is from 0 to {MOST}; found {values['test']:g} in '{text}'")
    return values


def open_serial(device: str, baud: int, what: str, **more: Any) -> Any:
    """An open serial port, for nobody else.

    Parameters
    ----------
    what : it is, for messages
    more : for pyserial

    Raises
    ------
    SpanLabError
        when it cannot be opened.
    """
    try:
        import serial
    except ImportError as error:
        raise SpanLabError(f"{what} needs pyserial; install it with: pip install 'spanlab[triggers]'") from error
    try:
        return serial.Serial(device, baud, exclusive=True if os.name == "posix" else None, **more)
    except (OSError, ValueError) as error:
        raise SpanLabError(
            f"{what} cannot be opened ({_reason(error)}); check the cable, your permissions (on Linux the group"
            " dialout) and the name: python -m serial.tools.list_ports shows those that there are"
        ) from None


#: Seconds for which the first byte may take to leave.
_DRAIN = 1.0


class PortLost(Exception):  # noqa: N818 - named as what happened
    """The port no longer takes codes; the message says why."""


class Port:
    """An open port, with a ``name`` for messages. ``write`` returns the time that was sent along
    with a code, where the port has such a time."""

    #: whether a code stands until 0 is written
    pulses = True
    name = ""

    def write(self, code: int) -> float | None:
        """Send a code (0 puts the line back). Never waits.

        Raises
        ------
        PortLost
            when it cannot be sent.
        """

    def check(self) -> None:
        """Check that the port is still there, as far as can be told without sending anything. Asked
        between trials, never between frames.

        Raises
        ------
        PortLost
            when it is not.
        """

    def facts(self) -> dict[str, Any]:
        """Facts for the record, fit for JSON."""
        return {}

    @property
    def heard(self) -> bool:
        """True if somebody takes the codes, as far as the port can know."""
        return True

    def close(self) -> None:
        """Release the port."""


class SerialPort(Port):
    """A serial port: 8 data bits, no parity, 1 stop bit, no flow control.

    Raises
    ------
    SpanLabError
        when it cannot be opened.
    """

    def __init__(self, device: str, baud: int) -> None:
        self.name = f"serial port {device}"
        self._baud = baud
        self._serial = open_serial(device, baud, f"the {self.name}", timeout=0, write_timeout=0)

    @override
    def write(self, code: int) -> None:
        try:
            # pyserial tries for ever where the system takes no byte at once, so on POSIX the byte
            # goes straight to the system
            written = (
                os.write(self._serial.fileno(), bytes([code]))
                if os.name == "posix"
                else self._serial.write(bytes([code]))
            )
        except BlockingIOError:
            written = 0
        except OSError as error:
            raise PortLost(_reason(error)) from None
        if not written:
            raise PortLost("it takes no more bytes")

    @override
    def check(self) -> None:
        try:
            self._serial.in_waiting  # noqa: B018 - asking is what shows that the port is gone
            end = time.monotonic() + _DRAIN
            while self._serial.out_waiting and time.monotonic() < end:
                time.sleep(0.001)
            if self._serial.out_waiting:
                raise PortLost("bytes do not leave it")
        except OSError as error:
            raise PortLost(_reason(error)) from None

    @override
    def facts(self) -> dict[str, Any]:
        return {"baud": self._baud}

    @override
    def close(self) -> None:
        with suppress(OSError):  # it may be gone already
            self._serial.close()


def _reason(error: Exception) -> str:
    number = getattr(error, "errno", None)
    if number is None:
        return str(error)
    return "another program uses it" if number in (errno.EAGAIN, errno.EBUSY) else os.strerror(number)


class ParallelPort(Port):
    """A parallel port by its device (``/dev/parport0``) or address (``0x378``).

    Parameters
    ----------
    readback : whether what is written has to be there when it is read back: Windows writes to
        addresses where no port is, and says nothing

    Raises
    ------
    SpanLabError
        when it cannot be opened.
    """

    def __init__(self, where: str, readback: bool) -> None:
        self.name = f"parallel port {where}"
        self._readback = readback
        driver = _driver()
        try:
            self._port: Any = driver(address=_address(where))
            self._port.setData(0)
        except Exception as error:  # drivers raise whatever they like
            raise SpanLabError(
                f"the {self.name} cannot be opened ({error or type(error).__name__}); {_ADVICE}"
            ) from None
        self._standing = 0

    @override
    def write(self, code: int) -> None:
        try:
            self._port.setData(code)
        except Exception as error:
            raise PortLost(str(error) or type(error).__name__) from None
        self._standing = code

    @override
    def check(self) -> None:
        if not self._readback:
            return
        try:
            read = int(self._port.readData())
        except Exception as error:
            raise PortLost(str(error) or type(error).__name__) from None
        if read != self._standing:
            raise PortLost(
                f"{self._standing} was written to it and {read} read back; where a card cannot give back what it sends,"
                " add ,readback=off"
            )

    @override
    def facts(self) -> dict[str, Any]:
        return {"readback": self._readback}

    @override
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
        raise SpanLabError(
            f"triggers over a parallel port need PsychoPy ({error}); install it with: pip install 'spanlab[lab]'"
        ) from error
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


class LslOutlet(Port):
    """A stream of markers, which does not die: whoever records it may come and go.

    Raises
    ------
    SpanLabError
        when pylsl or its library cannot be loaded, or the stream cannot be made.
    """

    pulses = False

    def __init__(self, stream: str) -> None:
        self.name = f"LSL stream {stream}"
        try:
            import pylsl
        except (ImportError, RuntimeError, OSError) as error:  # without its library, pylsl raises RuntimeError
            raise SpanLabError(
                f"triggers over LSL need pylsl ({str(error).splitlines()[0]}); install it with: pip install"
                " 'spanlab[triggers]'"
            ) from error
        self._now = pylsl.local_clock
        try:
            # the same source whenever it comes back on this computer, so that recorders take up the
            # stream again
            info = pylsl.StreamInfo(
                stream, "Markers", 1, pylsl.IRREGULAR_RATE, pylsl.cf_int32, f"spanlab-{stream}-{socket.gethostname()}"
            )
            self._outlet: Any = pylsl.StreamOutlet(info)
        except Exception as error:  # pylsl raises its own kinds
            raise SpanLabError(
                f"the {self.name} cannot be opened ({error}); check the network and lsl_api.cfg"
            ) from None
        self._version = str(pylsl.library_version())

    @override
    def write(self, code: int) -> float:
        at = self._now()
        self._outlet.push_sample([code], at, True)
        return at

    @override
    def facts(self) -> dict[str, Any]:
        return {
            "liblsl": self._version,
            "configuration": os.environ.get("LSLAPICFG", ""),
            "recorded_by_somebody": self.heard,
        }

    @property
    @override
    def heard(self) -> bool:
        return bool(self._outlet.have_consumers())

    @override
    def close(self) -> None:
        self._outlet = None


class DryPort(Port):
    """Takes every code and sends none."""

    name = "dry run"


def open_port(address: Address) -> Port:
    """Open a port.

    Raises
    ------
    SpanLabError
        when it cannot be opened, or what it needs is not installed.
    """
    if address.kind == "serial":
        return SerialPort(address.where, address.baud)
    if address.kind == "parallel":
        return ParallelPort(address.where, address.readback)
    if address.kind == "lsl":
        return LslOutlet(address.where)
    return DryPort()
