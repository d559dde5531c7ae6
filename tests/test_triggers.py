"""Trigger codes: what a paradigm may declare, how ports are named, and what goes out over each of them. (Whole sessions are in ``test_lab_triggers.py``.)"""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import threading
import time
import tty
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from session_tools import GO_NOGO, AtTheWindow, Saying, SayingMind, WindowMind, start

from spanlab.agents.participant.triggers import parallel_port
from spanlab.agents.participant.triggers.address import Address, read_address
from spanlab.agents.participant.triggers.line import REST, Line, Sending
from spanlab.agents.participant.triggers.ports import PortLost
from spanlab.agents.protocol import Briefing, Response
from spanlab.errors import ParadigmError, SpanLabError
from spanlab.paradigms import Paradigm, Percept, load_paradigm, paradigm_from_data
from spanlab.paradigms.checking import check_paradigm
from spanlab.paradigms.triggers import Triggers, suggestion
from spanlab.paradigms.yaml_text import parse
from spanlab.sessions import Runner
from spanlab.sessions.record import read_events
from spanlab.sessions.study import load_study
from spanlab.sessions.triggers import parse_codes, trigger_request

CODES = "triggers: {trial_start: 1, phases: {probe: 20, feedback: {right: 31, wrong: 32}}, responses: {x: 51, '-': 52}, verdicts: {right: 61}}\n"


def paradigm(text: str = GO_NOGO + CODES) -> Paradigm:
    return paradigm_from_data(parse(text, "gonogo.yaml").data, "gonogo.yaml")


# -- what is declared --------------------------------------------------------------------------------------------------------------------------------


def test_codes_are_read_and_inherited_one_by_one(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text(GO_NOGO + CODES)
    (tmp_path / "other.yaml").write_text("extends: base.yaml\nparadigm: other\ntriggers: {trial_start: null, trial_end: 9, phases: {probe: 21}}\n")
    assert "fine" in check_paradigm(tmp_path / "base.yaml")
    codes = load_paradigm(tmp_path / "other.yaml").triggers
    assert codes is not None
    assert codes.meanings == {
        9: ["trial_end"],
        21: ["phases.probe"],
        51: ["responses.x"],
        52: ["responses.-"],
        61: ["verdicts.right"],
    }
    assert (codes.of_phase("probe", "right"), codes.of_phase("feedback", "right")) == (21, None)


def test_feedback_has_a_code_for_each_verdict() -> None:
    codes = paradigm().triggers
    assert codes is not None
    # as its displays: what holds for wrong answers holds for missed ones without a code of their own
    assert [codes.of_phase("feedback", verdict) for verdict in ("right", "wrong", "missed")] == [31, 32, 32]
    assert codes.of_response("x") == 51
    assert codes.of_response("y") is None


@pytest.mark.parametrize(
    ("triggers", "problem"),
    [
        ("{phases: {probe: 0}}", "triggers > phases > probe: expected a number from 1; found 0"),
        ("{phases: {probe: 256}}", "expected a number up to 255; found 256"),
        ("{phases: {probe: 2.5}}", "expected a whole number"),
        ("{phases: {probe: true}}", "expected a whole number"),
        ("{phases: {prob: 3}}", "there is no phase 'prob'; did you mean 'probe'?"),
        ("{phases: {probe: {right: 3}}}", "'probe' is no phase of feedback"),
        ("{phases: {feedback: {rigth: 3}}}", "expected 'right', 'wrong' or 'missed'"),
        ("{trial_start: 1, trial_end: 1}", "the code 1 stands for trial_start and for trial_end"),
        ("{responses: {x: 5, '-': 5}}", "the code 5 stands for responses.x and for responses.-"),
        ("{trial_start: 1, shared: [1]}", "does not stand for several things"),
        ("{trail_start: 1}", "unknown key 'trail_start'; did you mean 'trial_start'?"),
        ("{practice: true}", "no codes"),
        ("{responses: {y: 5}}", "no question takes the answer 'y'; there are x, -"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(triggers: str, problem: str, tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(GO_NOGO + f"triggers: {triggers}\n")
    with pytest.raises(ParadigmError) as error:
        check_paradigm(tmp_path / "p.yaml")
    assert problem in str(error.value)
    assert "p.yaml:" in str(error.value)


def test_codes_shared_on_purpose_are_fine() -> None:
    codes = paradigm(GO_NOGO + "triggers: {responses: {x: 5, '-': 5}, shared: [5]}\n").triggers
    assert codes is not None
    assert codes.meanings == {5: ["responses.x", "responses.-"]}


def test_a_timeline_that_asks_nothing_has_no_codes_for_answers() -> None:
    with pytest.raises(ParadigmError, match="nothing is asked"):
        paradigm(
            "paradigm: a\nversion: 1\ntitle: A\nset_size: 1\nlist_length: 1\ninstructions: {en: Look.}\n"
            "timeline: [{phase: look, show: {blank: {}, ms: 100}}]\ntriggers: {responses: 3}\n"
        )


def test_codes_change_for_one_session() -> None:
    asked = trigger_request(paradigm(), "dry", parse_codes(["phases.probe=99", "trial_start=none", "verdicts.wrong=62", "practice=true"]))
    codes = Triggers.model_validate(asked["codes"])
    assert (codes.of_phase("probe", "right"), codes.trial_start, codes.verdicts, codes.practice) == (99, None, {"right": 61, "wrong": 62}, True)
    assert codes.of_response("-") == 52
    assert asked["port"] == "dry"


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        (["phases.probe"], "NAME=CODE"),
        (["phases..probe=3"], "NAME=CODE"),
        (["phases.probe=3", "phases.probe=4"], "twice"),
        (["phases=3", "phases.probe=4"], "contradicts"),
        (["phases.prob=3"], "did you mean 'probe'"),
        (["phases.probe=51"], "responses.x"),
        (["phases.probe=word"], "phases.probe: expected a whole number"),
        (["trial_start.x=3"], "one code for all trial_start"),
    ],
)
def test_changes_that_do_not_fit_are_refused(changes: list[str], problem: str) -> None:
    with pytest.raises(SpanLabError) as error:
        trigger_request(paradigm(), "dry", parse_codes(changes))
    assert problem in str(error.value)


def test_without_codes_a_session_with_a_port_is_refused_and_some_are_proposed() -> None:
    bare = paradigm(GO_NOGO)
    with pytest.raises(SpanLabError) as error:
        trigger_request(bare, "dry")
    proposed = suggestion(bare.timeline)
    assert proposed in str(error.value)
    codes = paradigm(GO_NOGO + proposed + "\n").triggers  # it can be pasted
    assert codes is not None
    assert set(codes.phases) == {"fixation", "probe", "feedback"}


def test_a_study_changes_codes_for_a_paradigm(tmp_path: Path) -> None:
    (tmp_path / "gonogo.yaml").write_text(GO_NOGO + CODES)
    study = "study: small\ntitle: Small\nparadigms: [{{paradigm: ./gonogo.yaml, triggers: {{phases: {{{}: 99}}}}}}]\n"
    (tmp_path / "small.yaml").write_text(study.format("probe"))
    (taken,) = load_study(tmp_path / "small.yaml").paradigms
    asked = trigger_request(taken.paradigm, "dry", taken.entry.triggers)
    assert Triggers.model_validate(asked["codes"]).of_phase("probe", "right") == 99
    (tmp_path / "small.yaml").write_text(study.format("prob"))
    with pytest.raises(ParadigmError, match=r"small.yaml:3 .*triggers.*did you mean 'probe'"):
        load_study(tmp_path / "small.yaml")


# -- how ports are named -----------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("serial:/dev/ttyUSB0", Address("serial", "/dev/ttyUSB0")),
        ("serial:COM3@9600,pulse=10", Address("serial", "COM3", 9600, 10.0)),
        ("serial:/dev/serial/by-path/pci-0000:00:14.0@2:1-port0@19200", Address("serial", "/dev/serial/by-path/pci-0000:00:14.0@2:1-port0", 19200)),
        ("parallel:0x378,readback=off,test=0", Address("parallel", "0x378", test=0, readback=False)),
        ("lsl", Address("lsl", "spanlab")),
        ("lsl:my stream,lost=go_on", Address("lsl", "my stream", lost="go_on")),
        ("dry", Address("dry")),
        ("dry:codes.txt, pulse=2.5", Address("dry", "codes.txt", pulse_ms=2.5)),
    ],
)
def test_a_port_is_named(text: str, address: Address) -> None:
    assert read_address(text) == address


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "write serial:"),
        ("COM3", "write serial:"),
        ("seriall:COM3", "did you mean 'serial'"),
        ("serial", "which serial port?"),
        ("parallel:", "which parallel port?"),
        ("serial:COM3@fast", "found 'fast'"),
        ("serial:COM3@", "number of baud"),
        ("serial:COM3,pulse=-1", "expected pulse=MS"),
        ("serial:COM3,puls=1", "did you mean 'pulse'"),
        ("serial:COM3,test=256", "expected test=CODE"),
        ("serial:COM3,readback=on", "parallel"),
        ("lsl:x,pulse=5", "no width"),
        ("dry,lost=perhaps", "lost=stop or lost=go_on"),
    ],
)
def test_a_port_that_is_misnamed_is_told(text: str, problem: str) -> None:
    with pytest.raises(SpanLabError) as error:
        read_address(text)
    assert problem in str(error.value)


# -- the line ----------------------------------------------------------------------------------------------------------------------------------------


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
def wired(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., tuple[Line, Wire, list[str]]]]:
    lines: list[Line] = []

    def make(**settings: Any) -> tuple[Line, Wire, list[str]]:
        wire, said = Wire(), []
        monkeypatch.setattr("spanlab.agents.participant.triggers.line.open_port", lambda address: wire)
        lines.append(Line(Address("dry", **{"test": 0, **settings}), said.append))
        return lines[-1], wire, said

    yield make
    for line in lines:
        line.close()


def test_a_code_stands_for_its_pulse_and_the_line_rests(wired: Any) -> None:
    line, wire, _ = wired(pulse_ms=4.0)
    sendings = [Sending(code) for code in (7, 8, 9)]
    for sending in sendings:
        line.soon(sending)
    line.settle(2)
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
    began = time.perf_counter()
    line.at_once(flip)
    assert flip.at is not None
    assert [code for _, code in wire.written] == [7, 9]
    assert flip.over is not None
    assert flip.over[0] == 7
    assert flip.at - began < 0.15  # not the pulse
    line.settle(2)
    assert [code for _, code in wire.written] == [7, 9, 0, 8, 0]
    assert line.facts()["cut_short"] == 1


def test_a_code_may_be_held_back(wired: Any) -> None:
    line, wire, _ = wired(pulse_ms=1.0)
    until = time.perf_counter() + 0.03
    line.soon(Sending(7, not_before=until))
    line.settle(2)
    assert wire.written[0][0] >= until


def test_without_pulses_codes_follow_one_another(wired: Any) -> None:
    line, wire, _ = wired(pulse_ms=0.0)
    for code in (7, 8):
        line.soon(Sending(code))
    line.at_once(Sending(9))
    line.settle(2)
    assert [code for _, code in wire.written] == [7, 8, 9]
    assert "longest_pulse_ms" not in line.facts()


@settings(max_examples=25)
@given(st.lists(st.tuples(st.booleans(), st.integers(1, 255), st.sampled_from([0.0, 0.0, 0.0008, 0.002])), min_size=1, max_size=12))
def test_every_code_is_on_the_wire_once_in_the_order_told(codes: list[tuple[bool, int, float]]) -> None:
    wire = Wire()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("spanlab.agents.participant.triggers.line.open_port", lambda address: wire)
        line = Line(Address("dry", test=0, pulse_ms=1.0), lambda sentence: None)
    sendings = []
    for flip, code, pause in codes:
        sendings.append(Sending(code))
        (line.at_once if flip else line.soon)(sendings[-1])
        time.sleep(pause)
    line.settle(2)
    line.close()
    told = [sending.code for sending in sorted(sendings, key=lambda sending: sending.at or 0)]
    assert [code for _, code in wire.written if code] == told
    queued = [sending.at for sending, (flip, _, _) in zip(sendings, codes, strict=True) if not flip]
    assert queued == sorted(queued)  # those that wait keep their order
    assert wire.written[-1][1] == 0
    cut = [sending for sending in sendings if sending.over is not None]
    assert sum(code == 0 for _, code in wire.written) == len(sendings) - len(cut) + 1  # one for each whole pulse, and one at the end


def test_a_port_that_dies_loses_codes_and_says_so_once(wired: Any) -> None:
    line, wire, said = wired()
    line.check()
    wire.dead = "unplugged"
    lost = [Sending(7), Sending(8)]
    line.at_once(lost[0])
    line.soon(lost[1])
    line.settle(2)
    assert all(sending.lost and sending.at is None for sending in lost)
    for _ in range(2):
        with pytest.raises(SpanLabError, match="unplugged"):
            line.check()
    assert len(said) == 1
    assert "stops when this trial is over" in said[0]


def test_a_session_may_be_meant_to_go_on_without(wired: Any) -> None:
    line, wire, said = wired(lost="go_on")
    wire.dead = "unplugged"
    line.check()
    assert "goes on without them" in said[0]


def test_a_dead_port_is_found_by_its_test_pulse(monkeypatch: pytest.MonkeyPatch) -> None:
    wire = Wire()
    wire.dead = "no bytes leave it"
    monkeypatch.setattr("spanlab.agents.participant.triggers.line.open_port", lambda address: wire)
    with pytest.raises(SpanLabError, match="nothing was begun"):
        Line(Address("dry"), lambda sentence: None)


# -- serial ports ------------------------------------------------------------------------------------------------------------------------------------

posix = pytest.mark.skipif(os.name != "posix", reason="needs pseudo-terminals")


@posix
def test_a_serial_port_carries_bytes_as_they_are() -> None:
    master, slave = os.openpty()
    tty.setraw(slave)
    line = Line(read_address(f"serial:{os.ttyname(slave)}@57600,pulse=1,test=200"), lambda sentence: None)
    for code in (1, 3, 10, 13, 17, 19, 26, 127, 255):  # some of them would steer a terminal
        line.soon(Sending(code))
        line.settle(2)
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
    line = Line(read_address(f"serial:{os.ttyname(slave)}"), lambda sentence: None)
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
    line = Line(read_address(f"serial:{os.ttyname(slave)},pulse=0"), lambda sentence: None)
    longest = 0.0
    for _ in range(200_000):
        began = time.perf_counter()
        line.at_once(Sending(9))
        longest = max(longest, time.perf_counter() - began)
        if line.lost:
            break
    assert line.lost == "it takes no more bytes"
    assert longest < 0.5
    line.close()
    os.close(master)
    os.close(slave)


@posix
def test_two_programs_do_not_share_a_serial_port() -> None:
    master, slave = os.openpty()
    line = Line(read_address(f"serial:{os.ttyname(slave)}"), lambda sentence: None)
    with pytest.raises(SpanLabError, match="another program uses it"):
        Line(read_address(f"serial:{os.ttyname(slave)}"), lambda sentence: None)
    line.close()
    os.close(master)
    os.close(slave)


def test_a_serial_port_that_is_not_there_is_told_with_what_to_do() -> None:
    with pytest.raises(SpanLabError) as error:
        Line(read_address("serial:/dev/ttyNOWHERE7"), lambda sentence: None)
    assert "cannot be opened" in str(error.value)
    assert "dialout" in str(error.value)


# -- parallel ports (by a stand-in: there is none here) ----------------------------------------------------------------------------------------------


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
    monkeypatch.setattr(parallel_port, "_driver", lambda: one)
    return one


def test_a_parallel_port_is_written_to_and_put_back(driver: type[StandIn]) -> None:
    line = Line(read_address("parallel:/dev/parport0,pulse=1"), lambda sentence: None)
    line.at_once(Sending(20))
    line.settle(2)
    line.check()
    port: Any = line.port
    stand_in = port._port
    line.close()
    assert (stand_in.address, stand_in.written[:5]) == ("/dev/parport0", [0, 255, 0, 20, 0])
    assert set(stand_in.written[5:]) == {0}


def test_an_address_at_which_no_port_answers_is_found_out(driver: type[StandIn]) -> None:
    driver.floating = 255  # what is read where nothing is: it would pass for the test code alone
    with pytest.raises(SpanLabError, match="0 was written to it and 255 read back"):
        Line(read_address("parallel:0"), lambda sentence: None)
    Line(read_address("parallel:0,readback=off"), lambda sentence: None).close()


def test_a_parallel_port_that_fails_is_told(driver: type[StandIn]) -> None:
    line = Line(read_address("parallel:0"), lambda sentence: None)
    driver.fails = "No such device"
    line.at_once(Sending(3))
    with pytest.raises(SpanLabError, match="No such device"):
        line.check()
    with pytest.raises(SpanLabError, match="cannot be opened"):
        Line(read_address("parallel:0"), lambda sentence: None)
    line.close()


# -- LSL ---------------------------------------------------------------------------------------------------------------------------------------------

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
    line = Line(read_address(f"lsl:{name}"), lambda sentence: None)
    inlet = subprocess.Popen([sys.executable, "-c", INLET, name], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    timer = threading.Timer(60, inlet.kill)
    timer.start()
    assert inlet.stdout is not None
    assert inlet.stdout.readline() == "open\n"
    deadline = time.monotonic() + 10
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
    assert inlet.wait(20) == 0
    timer.cancel()
    line.close()


# -- the runner --------------------------------------------------------------------------------------------------------------------------------------


class Wired(AtTheWindow):
    """A person without a window whose minds keep what they are told about codes."""

    def __init__(self, answer: Callable[[Percept, int], Response]) -> None:
        super().__init__(answer)
        self.marked: list[Triggers] = []
        self.verdicts: list[str] = []
        self.asked_ready = 0
        self.broken_from = 10**6

    def ready(self) -> None:
        self.asked_ready += 1
        if self.asked_ready >= self.broken_from:
            raise SpanLabError("the port is dead")

    def start(self, briefing: Briefing) -> WiredMind:
        self.seen.append((briefing, []))
        return WiredMind(self, self.seen[-1][1])


class WiredMind(WindowMind):
    def mark(self, codes: Triggers, write: Callable[[Mapping[str, Any]], None]) -> None:
        self._agent.marked.append(codes)  # type: ignore[attr-defined]
        write({"step": 1, "code": 20, "for": "phase", "what": "probe", "flip_ms": 1.0, "sent_ms": 1.1, "delay_ms": 0.1})

    def judged(self, verdict: str) -> None:
        self._agent.verdicts.append(verdict)  # type: ignore[attr-defined]


def says_x(percept: Percept, number: int) -> Response:
    return Response("x")


def test_codes_are_handed_out_but_not_in_practice(tmp_path: Path) -> None:
    one = paradigm()
    agent = Wired(says_x)
    session = start(tmp_path, one, agent, 3, practice=True, extra={"triggers": trigger_request(one, "dry")})
    Runner(session, agent).run()
    practised = len(agent.seen) - 3
    assert practised > 0
    assert agent.marked == [one.triggers] * 3
    events = [event for event in read_events(session.folder) if event["event"] == "trigger"]
    assert [event["trial"] for event in events] == ["1", "2", "3"]
    assert len(agent.verdicts) == 3 * (practised + 3)  # each question, judged by the runner
    assert set(agent.verdicts) == {"right", "wrong"}


def test_codes_in_practice_where_they_are_wanted(tmp_path: Path) -> None:
    one = paradigm()
    agent = Wired(says_x)
    session = start(tmp_path, one, agent, 1, practice=True, extra={"triggers": trigger_request(one, "dry", {"practice": True})})
    Runner(session, agent).run()
    assert len(agent.marked) == len(agent.seen)


def test_a_dead_port_stops_before_there_is_a_session(tmp_path: Path) -> None:
    agent = Wired(says_x)
    agent.broken_from = 1
    with pytest.raises(SpanLabError, match="the port is dead"):
        start(tmp_path, paradigm(), agent, 3)
    assert list(tmp_path.iterdir()) == []


def test_a_port_that_dies_stops_between_trials(tmp_path: Path) -> None:
    agent = Wired(says_x)
    session = start(tmp_path, paradigm(), agent, 3)
    agent.broken_from = agent.asked_ready + 1 + 2  # when it begins, before the first trial, and no more
    with pytest.raises(SpanLabError, match="the port is dead"):
        Runner(session, agent).run()
    events = read_events(session.folder)
    assert [event["event"] for event in events][-2:] == ["trial_end", "interrupted"]
    assert sum(event["event"] == "trial_end" for event in events) == 1


def test_machines_are_told_neither_codes_nor_verdicts(tmp_path: Path) -> None:
    told: list[str] = []

    class Curious(SayingMind):
        def judged(self, verdict: str) -> None:
            told.append(verdict)

    class Machine(Saying):
        def start(self, briefing: Briefing) -> SayingMind:
            return Curious(self, [])

    one = paradigm()
    machine = Machine(says_x)
    session = start(tmp_path, one, machine, 2, extra={"triggers": trigger_request(one, "dry")})
    Runner(session, machine).run()
    assert told == []


def test_a_misspelt_answer_among_the_changes_stops_before_there_is_a_session(tmp_path: Path) -> None:
    one = paradigm()
    with pytest.raises(SpanLabError, match="no question takes the answer 'z'"):
        start(tmp_path, one, Wired(says_x), 1, extra={"triggers": trigger_request(one, "dry", {"responses": {"z": 77}})})
    assert list(tmp_path.iterdir()) == []
