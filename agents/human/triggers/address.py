"""Names of trigger ports: ``serial:/dev/ttyUSB0@115200``, ``parallel:0x378``, ``lsl:spanlab``,
``dry``; each with settings after commas."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, cast, get_args

from ....core.errors import SpanLabError
from ....core.registry import nearest

Kind = Literal["serial", "parallel", "lsl", "dry"]
#: What becomes of the session when the port dies in it.
Lost = Literal["stop", "go_on"]

#: Width of a pulse: two samples or more of a recorder that takes 500 a second, and less than a
#: frame.
PULSE_MS = 5.0
BAUD = 115_200
TEST = 255
#: Name of the LSL stream when none is given.
STREAM = "spanlab"

_EXAMPLES = "serial:/dev/ttyUSB0@115200, serial:COM3, parallel:/dev/parport0, parallel:0x378, lsl:NAME or dry"
_SETTINGS = ("pulse", "test", "lost", "readback")


@dataclass(frozen=True, slots=True)
class Address:
    """A trigger port, and how it is to be used.

    Parameters
    ----------
    kind : serial, parallel, lsl or dry (nothing is connected; codes are recorded as if they had
        been sent)
    where : the serial port, the address of the parallel port, the name of the LSL stream, or the
        file that a dry run writes
    baud : of a serial port
    pulse_ms : how long a code stands before the line is put back to 0; 0 = it is not put back
    test : code of the pulse that is sent when the port is opened; 0 = none
    lost : whether a port that dies in the session stops it after the trial, or the session goes on
        without codes
    readback : whether a parallel port has to give back what was written to it
    """

    kind: Kind
    where: str = ""
    baud: int = BAUD
    pulse_ms: float = PULSE_MS
    test: int = TEST
    lost: Lost = "stop"
    readback: bool = True


def read_address(text: str) -> Address:
    """A port by its name: ``KIND[:WHERE[@BAUD]][,SETTING=VALUE...]``.

    Raises
    ------
    SpanLabError
        when it is not understood.
    """
    name, *settings = text.split(",")
    kind, _, where = name.partition(":")
    if kind not in get_args(Kind):
        raise SpanLabError(f"unknown trigger port '{text}'{nearest(kind, get_args(Kind)) or '; write ' + _EXAMPLES}")
    where, baud = port_and_baud(where, text) if kind == "serial" else (where, BAUD)
    if kind in ("serial", "parallel") and not where:
        raise SpanLabError(f"which {kind} port? Write {_EXAMPLES}")
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


def _settings(text: str, kind: str, settings: list[str]) -> dict[str, float | int | str | bool]:
    values: dict[str, float | int | str | bool] = {}
    for setting in settings:
        name, _, value = setting.strip().partition("=")
        if name not in _SETTINGS:
            raise SpanLabError(
                "a trigger port has no setting"
                f" '{name}'{nearest(name, _SETTINGS) or '; there are ' + ', '.join(_SETTINGS)} (in '{text}')"
            )
        if name == "pulse" and kind != "lsl" and re.fullmatch(r"[0-9]{1,3}(\.[0-9]{1,3})?", value):
            values["pulse_ms"] = float(value)
        elif name == "test" and re.fullmatch(r"[0-9]{1,3}", value) and int(value) <= 255:
            values["test"] = int(value)
        elif name == "lost" and value in get_args(Lost):
            values["lost"] = value
        elif name == "readback" and kind == "parallel" and value in ("on", "off"):
            values["readback"] = value == "on"
        else:
            raise SpanLabError(f"'{setting}' is not understood in '{text}': {_expected(name, kind)}")
    return values


def _expected(name: str, kind: str) -> str:
    if name == "pulse" and kind == "lsl":
        return "a marker of an LSL stream has no width"
    if name == "readback" and kind != "parallel":
        return "only what is written to a parallel port can be read back"
    return {
        "pulse": "expected pulse=MS, from 0 (the line is not put back) to 999",
        "test": "expected test=CODE, from 0 (no test pulse) to 255",
        "lost": "expected lost=stop or lost=go_on",
        "readback": "expected readback=on or readback=off",
    }[name]
