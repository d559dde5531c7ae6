"""What goes out over trigger ports: the line with its pulses, serial ports, parallel ports (by a
stand-in), LSL. (Sessions: ``test_sessions.py``.)"""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import threading
import time
import tty
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from effort import HANGS_S
from hypothesis import given, settings
from hypothesis import strategies as st

from spanlab.agents.human.triggers import ports
from spanlab.agents.human.triggers.ports import Address, PortLost, read_address
from spanlab.agents.human.triggers.sender import REST, Sending, TriggerSender
from spanlab.core.errors import SpanLabError

# -- the line --------------------------------------------------------------------------------------


class Wire:
    """A port that keeps what is written to it, and dies when told."""

    name = "wire"
    pulses = True
    heard = True

    def __init__(self) -> None:
        self.written: list[tuple[float, int]] = []
        self.dead = ""

    def write(self, code: int) -> None:
        if self.dead:
            raise PortLost(self.dead)
        self.written.append((time.perf_counter(), code))

    def check(self) -> None:
        if self.dead:
            raise PortLost(self.dead)

    def facts(self) -> dict[str, Any]:
        return {}

    def close(self) -> None:
        self.dead = self.dead or "closed"


@pytest.fixture
def wired(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., tuple[TriggerSender, Wire, list[str]]]]:
    lines: list[TriggerSender] = []

    def make(**settings: Any) -> tuple[TriggerSender, Wire, list[str]]:
        wire, said = Wire(), []
        monkeypatch.setattr("spanlab.agents.human.triggers.sender.open_port", lambda address: wire)
        lines.append(TriggerSender(Address("dry", **{"test": 0, **settings}), said.append))
        return lines[-1], wire, said

    yield make
    for line in lines:
        line.close()


def test_the_last_codes_of_a_trial_are_waited_for_whatever_their_pulses(wired: Any) -> None:
    line, wire, _ = wired(pulse_ms=150.0)
    for code in (7, 8, 9):
        line.soon(Sending(code))
    line.settle()
    assert [code for _, code in wire.written if code] == [7, 8, 9]


def test_a_code_stands_for_its_pulse_and_the_line_rests(wired: Any) -> None:
    line, wire, _ = wired(pulse_ms=4.0)
    sendings = [Sending(code) for code in (7, 8, 9)]
    for sending in sendings:
        line.soon(sending)
    line.settle(HANGS_S)
    assert [code for _, code in wire.written] == [7, 0, 8, 0, 9, 0]
    times = [at for at, _ in wire.written]
    for number, (before, after) in enumerate(itertools.pairwise(times)):
        assert after - before >= (REST if number % 2 else 0.004) - 0.0005
    assert all(sending.at is not None and sending.over is None for sending in sendings)


def test_what_belongs_to_a_flip_waits_for_nothing(wired: Any) -> None:
    line, wire, _ = wired(pulse_ms=200.0)
    line.soon(Sending(7))
    line.soon(Sending(8))
    flip = Sending(9)
    line.at_once(flip)
    assert flip.at is not None
    assert [code for _, code in wire.written] == [7, 9]
    assert flip.over is not None
    assert flip.over[0] == 7
    line.settle(HANGS_S)
    assert [code for _, code in wire.written] == [7, 9, 0, 8, 0]
    assert line.facts()["cut_short"] == 1


def test_a_code_may_be_held_back(wired: Any) -> None:
    line, wire, _ = wired(pulse_ms=1.0)
    until = time.perf_counter() + 0.03
    line.soon(Sending(7, not_before=until))
    line.settle(HANGS_S)
    assert wire.written[0][0] >= until


def test_without_pulses_codes_follow_one_another(wired: Any) -> None:
    line, wire, _ = wired(pulse_ms=0.0)
    for code in (7, 8):
        line.soon(Sending(code))
    line.at_once(Sending(9))
    line.settle(HANGS_S)
    assert [code for _, code in wire.written] == [7, 8, 9]
    assert "longest_pulse_ms" not in line.facts()


@settings(max_examples=25)
@given(
    st.lists(
        st.tuples(st.booleans(), st.integers(1, 255), st.sampled_from([0.0, 0.0, 0.0008, 0.002])),
        min_size=1,
        max_size=12,
    )
)
def test_every_code_is_on_the_wire_once_in_the_order_told(codes: list[tuple[bool, int, float]]) -> None:
    wire = Wire()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("spanlab.agents.human.triggers.sender.open_port", lambda address: wire)
        line = TriggerSender(Address("dry", test=0, pulse_ms=1.0), lambda sentence: None)
    sendings = []
    for flip, code, pause in codes:
        sendings.append(Sending(code))
        (line.at_once if flip else line.soon)(sendings[-1])
        time.sleep(pause)
    line.settle(HANGS_S)
    line.close()
    told = [sending.code for sending in sorted(sendings, key=lambda sending: sending.at or 0)]
    assert [code for _, code in wire.written if code] == told
    queued = [sending.at for sending, (flip, _, _) in zip(sendings, codes, strict=True) if not flip]
    assert queued == sorted(queued)  # those that wait keep their order
    assert wire.written[-1][1] == 0
    cut = [sending for sending in sendings if sending.over is not None]
    assert (
        sum(code == 0 for _, code in wire.written) == len(sendings) - len(cut) + 1
    )  # one for each whole pulse, and one at the end


def test_a_port_that_dies_loses_codes_and_says_so_once(wired: Any) -> None:
    line, wire, said = wired()
    line.check()
    wire.dead = "unplugged"
    lost = [Sending(7), Sending(8)]
    line.at_once(lost[0])
    line.soon(lost[1])
    line.settle(HANGS_S)
    assert all(sending.lost and sending.at is None for sending in lost)
    for _ in range(2):
        with pytest.raises(SpanLabError, match="unplugged"):
            line.check()
    assert len(said) == 1
    assert "stops when this trial is over" in said[0]


def test_a_dead_port_is_found_by_its_test_pulse(monkeypatch: pytest.MonkeyPatch) -> None:
    wire = Wire()
    wire.dead = "no bytes leave it"
    monkeypatch.setattr("spanlab.agents.human.triggers.sender.open_port", lambda address: wire)
    with pytest.raises(SpanLabError, match="nothing was begun"):
        TriggerSender(Address("dry"), lambda sentence: None)


# -- serial ports ----------------------------------------------------------------------------------

posix = pytest.mark.skipif(os.name != "posix", reason="needs pseudo-terminals")


@posix
def test_a_serial_port_carries_bytes_as_they_are() -> None:
    master, slave = os.openpty()
    tty.setraw(slave)
    line = TriggerSender(read_address(f"serial:{os.ttyname(slave)}@57600,pulse=1,test=200"), lambda sentence: None)
    for code in (1, 3, 10, 13, 17, 19, 26, 127, 255):  # some of them would steer a terminal
        line.soon(Sending(code))
        line.settle(HANGS_S)
    line.close()
    arrived = b""
    while len(arrived) < 20:
        arrived += os.read(master, 64)
    assert [byte for byte in arrived if byte] == [200, 1, 3, 10, 13, 17, 19, 26, 127, 255]
    os.close(master)
    os.close(slave)


@posix
def test_a_serial_port_that_is_pulled_out_is_lost() -> None:
    master, slave = os.openpty()
    line = TriggerSender(read_address(f"serial:{os.ttyname(slave)}"), lambda sentence: None)
    os.close(slave)
    os.close(master)
    with pytest.raises(SpanLabError, match="takes no more trigger codes"):
        line.check()
    gone = Sending(9)
    line.at_once(gone)
    assert gone.lost
    line.close()


@posix
def test_a_serial_port_that_takes_no_more_bytes_holds_nobody_up() -> None:
    """A pseudo-terminal whose far end is not read takes some thousand bytes, and then none."""
    master, slave = os.openpty()
    tty.setraw(slave)
    line = TriggerSender(read_address(f"serial:{os.ttyname(slave)},pulse=0"), lambda sentence: None)
    for _ in range(200_000):
        line.at_once(Sending(9))  # one that waited for room would wait for ever
        if line.lost:
            break
    assert line.lost == "it takes no more bytes"
    line.close()
    os.close(master)
    os.close(slave)


@posix
def test_two_programs_do_not_share_a_serial_port() -> None:
    master, slave = os.openpty()
    line = TriggerSender(read_address(f"serial:{os.ttyname(slave)}"), lambda sentence: None)
    with pytest.raises(SpanLabError, match="another program uses it"):
        TriggerSender(read_address(f"serial:{os.ttyname(slave)}"), lambda sentence: None)
    line.close()
    os.close(master)
    os.close(slave)


def test_a_serial_port_that_is_not_there_is_told_with_what_to_do() -> None:
    with pytest.raises(SpanLabError) as error:
        TriggerSender(read_address("serial:/dev/ttyNOWHERE7"), lambda sentence: None)
    assert "cannot be opened" in str(error.value)
    assert "dialout" in str(error.value)


# -- parallel ports (by a stand-in: there is none here) --------------------------------------------


class StandIn:
    """Takes the place of PsychoPy's driver: a register that may float, or be gone."""

    floating: int | None = None
    fails = ""

    def __init__(self, address: int | str) -> None:
        self.address, self.register = address, 0
        self.written: list[int] = []
        if self.fails:
            raise OSError(self.fails)

    def setData(self, value: int) -> None:  # noqa: N802 - PsychoPy's name
        if self.fails:
            raise OSError(self.fails)
        self.register = value
        self.written.append(value)

    def readData(self) -> int:  # noqa: N802
        return self.register if self.floating is None else self.floating


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> type[StandIn]:
    one = type("Driver", (StandIn,), {})
    monkeypatch.setattr(ports, "_driver", lambda: one)
    return one


def test_a_parallel_port_is_written_to_and_put_back(driver: type[StandIn]) -> None:
    line = TriggerSender(read_address("parallel:/dev/parport0,pulse=1"), lambda sentence: None)
    line.at_once(Sending(20))
    line.settle(HANGS_S)
    line.check()
    port: Any = line.port
    stand_in = port._port
    line.close()
    assert (stand_in.address, stand_in.written[:5]) == ("/dev/parport0", [0, 255, 0, 20, 0])
    assert set(stand_in.written[5:]) == {0}


def test_an_address_at_which_no_port_answers_is_found_out(driver: type[StandIn]) -> None:
    driver.floating = 255  # what is read where nothing is: it would pass for the test code alone
    with pytest.raises(SpanLabError, match="0 was written to it and 255 read back"):
        TriggerSender(read_address("parallel:0"), lambda sentence: None)
    TriggerSender(read_address("parallel:0,readback=off"), lambda sentence: None).close()


def test_a_parallel_port_that_fails_is_told(driver: type[StandIn]) -> None:
    line = TriggerSender(read_address("parallel:0"), lambda sentence: None)
    driver.fails = "No such device"
    line.at_once(Sending(3))
    with pytest.raises(SpanLabError, match="No such device"):
        line.check()
    with pytest.raises(SpanLabError, match="cannot be opened"):
        TriggerSender(read_address("parallel:0"), lambda sentence: None)
    line.close()


# -- LSL -------------------------------------------------------------------------------------------

INLET = """
import sys
import pylsl
(found,) = pylsl.resolve_byprop("name", sys.argv[1], 1, 30) or [None]
inlet = pylsl.StreamInlet(found)
inlet.open_stream(10)
print("open", flush=True)
for _ in range(3):
    (code,), at = inlet.pull_sample(20)
    print(code, repr(at), flush=True)
print(found.type(), found.channel_format() == pylsl.cf_int32, found.nominal_srate(), flush=True)
"""


def test_another_program_gets_every_code_with_its_time() -> None:
    pytest.importorskip("pylsl")
    name = f"spanlab-test-{os.getpid()}"
    line = TriggerSender(read_address(f"lsl:{name}"), lambda sentence: None)
    inlet = subprocess.Popen(
        [sys.executable, "-c", INLET, name], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    timer = threading.Timer(HANGS_S, inlet.kill)
    timer.start()
    assert inlet.stdout is not None
    assert inlet.stdout.readline() == "open\n"
    deadline = time.monotonic() + HANGS_S
    while not line.facts()["recorded_by_somebody"] and time.monotonic() < deadline:
        time.sleep(0.01)
    sendings = [Sending(code) for code in (10, 20, 255)]
    line.at_once(sendings[0])
    line.soon(sendings[1])
    line.at_once(sendings[2])
    arrived = [inlet.stdout.readline().split() for _ in sendings]
    assert [int(code) for code, _ in arrived] == [10, 20, 255]
    assert [float(at) for _, at in arrived] == pytest.approx([sending.stamp for sending in sendings], abs=1e-6)
    assert inlet.stdout.readline().split() == ["Markers", "True", "0.0"]
    assert inlet.wait(HANGS_S) == 0
    timer.cancel()
    line.close()
