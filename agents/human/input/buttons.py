"""Button boxes: ``button_1`` ... in place of keys; and the pulses of a scanner, which come as those
of a box do. A box that is not there stops a session before it begins.

Most USB boxes type keys and need no driver: ``keys:1+2+3+4``. Others send a byte for every press
over a serial port: ``serial:PORT@BAUD``.
"""

from __future__ import annotations

import re
import select
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar, cast, get_args

from typing_extensions import override

from ....core.errors import SpanLabError
from ....paradigms import ResponseKind
from ....paradigms.responses.keys import KEY_NAMES
from ..triggers.ports import BAUD, open_serial, port_and_baud, split_name
from .answering import Press, control_keys

Kind = Literal["keys", "serial"]
Sign = TypeVar("Sign", str, int)
_EXAMPLES = "keys:1+2+3+4 (a box that types) or serial:/dev/ttyUSB0@115200"
#: What a serial box sends for its buttons when nothing else is said.
PRESSES = "123456789"
#: The name of a scanner's pulse among presses.
PULSE = "pulse"


@dataclass(frozen=True, slots=True)
class BoxAddress:
    """A button box as it was named.

    Parameters
    ----------
    where : the keys that it types, joined by ``+``; or the serial port
    baud : of a serial port
    presses : the bytes that stand for a press of button 1, 2, ...
    pulses : whether it is no box: every press is a pulse of the scanner
    """

    kind: Kind
    where: str
    baud: int = BAUD
    presses: bytes = PRESSES.encode()
    pulses: bool = False

    def names(self, signs: Sequence[Sign]) -> dict[Sign, str]:
        """What the keys or bytes of the box are called."""
        return {sign: PULSE if self.pulses else f"button_{n}" for n, sign in enumerate(signs, start=1)}

    @property
    def typed(self) -> dict[str, str]:
        """The keys that it types, by their names; none where it types no keys."""
        return self.names(self.where.split("+")) if self.kind == "keys" else {}


def read_box(text: str) -> BoxAddress:
    """A button box by its name.

    Raises
    ------
    SpanLabError
        when it is not understood.
    """
    kind, where, settings = split_name(text, "button box", get_args(Kind), _EXAMPLES)
    if not where:
        raise SpanLabError(f"which {kind} box? Write {_EXAMPLES}")
    if kind == "keys":
        keys = where.split("+")
        if not KEY_NAMES.issuperset(keys) or len(set(keys)) < len(keys) or settings:
            raise SpanLabError(f"a box that types is named by its keys, each once, as in keys:1+2+3+4; found '{text}'")
        return BoxAddress(kind, where)
    where, baud = port_and_baud(where, text)
    name, _, presses = (settings or [f"presses={PRESSES}"])[-1].partition("=")
    if name != "presses" or len(settings) > 1:
        raise SpanLabError(
            f"a serial button box has no setting '{name}'; there is presses=BYTES, such as presses=abcd or"
            " presses=0x01+0x02"
        )
    return BoxAddress(cast(Kind, kind), where, baud, _bytes(presses, text))


def read_pulse(text: str) -> BoxAddress:
    """What sends the pulses of a scanner: a key, such as ``5``, or a serial port, named as that of a
    box.

    Raises
    ------
    SpanLabError
        when it is not understood.
    """
    return replace(read_box(f"keys:{text}" if text in KEY_NAMES else text), pulses=True)


def _bytes(presses: str, text: str) -> bytes:
    if re.fullmatch(r"0x[0-9a-fA-F]{2}(\+0x[0-9a-fA-F]{2})*", presses):
        codes = bytes(int(number, 16) for number in presses.split("+"))
    else:
        codes = presses.encode("latin-1", "ignore")
    if not codes or len(set(codes)) < len(codes):
        raise SpanLabError(
            "presses= gives the byte of each button, all different, such as presses=abcd or presses=0x01+0x02; found"
            f" '{text}'"
        )
    return codes


#: Keys that pages and the session itself need, and what each does.
_PAGES = {"escape": "pauses the session", "l": "leaves a session that is paused"}


def typed_keys(box: str) -> dict[str, str]:
    """The keys that a box types, each with its button; none where it types no keys."""
    return read_box(box).typed if box else {}


def check_box(box: str, kinds: Iterable[ResponseKind], pages: Mapping[str, str], pulses: bool = False) -> None:
    """Check that no key means two things: a button of a box that types, and something else.

    Parameters
    ----------
    box : as it was named; or what sends ``pulses`` of a scanner
    kinds : questions with the keys of the session
    pages : keys of pages of this session, and what each does

    Raises
    ------
    SpanLabError
        with the first key that does.
    """
    typed = read_pulse(box).typed if pulses else typed_keys(box)
    what = "a pulse of the scanner" if pulses else f"a button of the box ({box})"
    for kind in kinds if typed else ():
        surface = kind.surface()
        if pulses and surface.ordered is not None and surface.ordered.written:
            pages = {**pages, **dict.fromkeys(typed, "is written in an open question")}
        answers = {key: f"gives the answer '{kind.label(value)}'" for key, value in surface.keys}
        pages = {**pages, **control_keys(surface), **answers}
    for key, does in {**pages, **_PAGES}.items():
        if key in typed:
            raise SpanLabError(
                f"the key '{key}' would mean two things: {what}, and it {does}; let it type other keys, such as"
                " keys:f5+f6+f7+f8, or give those answers other keys"
            )


class Box:
    """An open button box: one that types keys, which is read, and timed, like the keyboard."""

    def __init__(self, address: BoxAddress) -> None:
        self._names = address.typed

    def check(self) -> None:
        """Raise SpanLabError when it is gone; a keyboard does not tell whether a box is there."""

    def with_buttons(self, presses: Sequence[Press]) -> list[Press]:
        """The presses of the keyboard, and those of the box since the last call."""
        return [
            replace(press, key=self._names.get(press.key, press.key)) if press.device == "key" else press
            for press in presses
        ]

    def facts(self) -> dict[str, Any]:
        """The facts for the record."""
        return {"box": "keys", "keys": list(self._names), "timed_by": "the keyboard"}

    def close(self) -> None:
        """Leave the box."""


class SerialBox(Box):
    """A box that sends a byte for every press over a serial port. A thread waits for the bytes, so
    that each is dated when it arrives.

    Raises
    ------
    SpanLabError
        when the port cannot be opened.
    """

    def __init__(self, address: BoxAddress, now: Callable[[], float]) -> None:
        self._address, self._now = address, now
        self._buttons = address.names(address.presses)
        self._lost: str = ""
        self._arrived: list[tuple[float, int]] = []
        self._lock = threading.Lock()
        self._open = True
        self._port = open_serial(address.where, address.baud, f"the button box at {address.where}", timeout=0.05)
        self._port.reset_input_buffer()
        self._thread = threading.Thread(target=self._listen, name="buttons", daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        try:
            while self._open:
                if hasattr(select, "poll"):  # where ports are files, the thread sleeps until a byte arrives
                    ready, _, _ = select.select([self._port.fileno()], [], [], 0.2)
                    if not ready:
                        continue
                received = self._port.read(max(1, self._port.in_waiting))
                at = time.perf_counter()  # only the main thread asks PsychoPy's clock
                with self._lock:
                    self._arrived += [(at, byte) for byte in received]
        except Exception as error:  # the box was unplugged; pyserial and the system raise several kinds
            if self._open:
                self._lost = str(error) or type(error).__name__

    @override
    def check(self) -> None:
        if self._lost:
            raise SpanLabError(f"the button box at {self._address.where} has gone ({self._lost}); plug it in again")

    @override
    def with_buttons(self, presses: Sequence[Press]) -> list[Press]:
        with self._lock:
            arrived, self._arrived = self._arrived, []
        if not arrived:
            return list(presses)
        offset = self._now() - time.perf_counter()
        return [
            *presses,
            *(Press("key", at + offset, key=self._buttons[byte]) for at, byte in arrived if byte in self._buttons),
        ]

    @override
    def facts(self) -> dict[str, Any]:
        return {
            "box": "serial",
            "port": self._address.where,
            "baud": self._address.baud,
            "timed_by": "arrival of the byte",
        }

    @override
    def close(self) -> None:
        self._open = False
        self._thread.join(1)
        self._port.close()


def open_box(address: BoxAddress, now: Callable[[], float]) -> Box:
    """Open a button box; ``now`` is PsychoPy's clock.

    Raises
    ------
    SpanLabError
        when it is not there.
    """
    return Box(address) if address.kind == "keys" else SerialBox(address, now)
