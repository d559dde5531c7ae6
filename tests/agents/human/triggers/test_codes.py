"""Trigger codes: what a paradigm and a study may declare, how ports are named, and what the runner
does. (Whole sessions: ``test_sessions.py``.)"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from session_tools import GO_NOGO, AtTheWindow, Saying, SayingAtWindow, SayingEpisode, start

from spanlab.agents.base import Response, TrialContext
from spanlab.agents.human.triggers.ports import Address, read_address
from spanlab.core.errors import ParadigmError, SpanLabError
from spanlab.paradigms import Paradigm, Percept, load_paradigm
from spanlab.paradigms.checking import check_paradigm
from spanlab.paradigms.language.yaml_source import parse
from spanlab.paradigms.paradigm import paradigm_from_data
from spanlab.paradigms.triggers import Triggers, suggestion
from spanlab.sessions import Runner
from spanlab.sessions.record.reader import read_events
from spanlab.sessions.triggers import trigger_request

CODES = (
    "triggers: {trial_start: 1, phases: {probe: 20, feedback: {right: 31, wrong: 32}}, responses: {x: 51, '-': 52},"
    " verdicts: {right: 61}}\n"
)


def paradigm(text: str = GO_NOGO + CODES) -> Paradigm:
    return paradigm_from_data(parse(text, "gonogo.yaml").data, "gonogo.yaml")


# -- what is declared ------------------------------------------------------------------------------


def test_codes_are_read_and_inherited_one_by_one(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text(GO_NOGO + CODES)
    (tmp_path / "other.yaml").write_text(
        "extends: base.yaml\nparadigm: other\ntriggers: {trial_start: null, trial_end: 9, phases: {probe: 21}}\n"
    )
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
    # as its displays: what holds for wrong answers holds for missed ones without a code of their
    # own
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
        ("{phases: {probe: {right: 3}}}", "'probe' is not a phase of feedback"),
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


def test_a_study_changes_codes() -> None:
    asked = trigger_request(
        paradigm(), "dry", {"phases": {"probe": 99}, "trial_start": None, "verdicts": {"wrong": 62}, "practice": True}
    )
    codes = Triggers.model_validate(asked["codes"])
    assert (codes.of_phase("probe", "right"), codes.trial_start, codes.verdicts, codes.practice) == (
        99,
        None,
        {"right": 61, "wrong": 62},
        True,
    )
    assert codes.of_response("-") == 52
    assert asked["port"] == "dry"


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"phases": {"prob": 3}}, "did you mean 'probe'"),
        ({"phases": {"probe": 51}}, "responses.x"),
        ({"phases": {"probe": "word"}}, "phases.probe: expected a whole number"),
        ({"trial_start": {"x": 3}}, "one code for all trial_start"),
    ],
)
def test_changes_that_do_not_fit_are_refused(changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(SpanLabError) as error:
        trigger_request(paradigm(), "dry", changes)
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


# -- how ports are named ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("serial:/dev/ttyUSB0", Address("serial", "/dev/ttyUSB0")),
        ("serial:COM3@9600,pulse=10", Address("serial", "COM3", 9600, 10.0)),
        (
            "serial:/dev/serial/by-path/pci-0000:00:14.0@2:1-port0@19200",
            Address("serial", "/dev/serial/by-path/pci-0000:00:14.0@2:1-port0", 19200),
        ),
        ("parallel:0x378,readback=off,test=0", Address("parallel", "0x378", test=0, readback=False)),
        ("lsl", Address("lsl", "spanlab")),
        ("lsl:my stream", Address("lsl", "my stream")),
        ("dry", Address("dry")),
        ("dry, pulse=2.5", Address("dry", pulse_ms=2.5)),
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
        ("serial:COM3,test=256", "from 0 to 255; found 256"),
        ("serial:COM3,readback=on", "parallel"),
        ("lsl:x,pulse=5", "no width"),
        ("dry:codes.txt", "a dry run has no place"),
        ("serial:COM3,test=2x", "expected test=CODE"),
    ],
)
def test_a_port_that_is_misnamed_is_told(text: str, problem: str) -> None:
    with pytest.raises(SpanLabError) as error:
        read_address(text)
    assert problem in str(error.value)


# -- the runner ------------------------------------------------------------------------------------


class Wired(AtTheWindow):
    """A person without a window whose episodes keep what they are told about codes."""

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

    def start(self, context: TrialContext) -> WiredEpisode:
        self.seen.append((context, []))
        return WiredEpisode(self, self.seen[-1][1])


class WiredEpisode(SayingAtWindow):
    _agent: Wired

    def mark(self, codes: Triggers, write: Callable[[Mapping[str, Any]], None]) -> None:
        self._agent.marked.append(codes)
        write({"step": 1, "code": 20, "for": "phase", "what": "probe", "flip_ms": 1.0, "sent_ms": 1.1, "delay_ms": 0.1})

    def judged(self, verdict: str) -> None:
        self._agent.verdicts.append(verdict)


def says_x(percept: Percept, number: int) -> Response:
    return Response("x")


def test_codes_are_handed_out_but_not_in_practice(tmp_path: Path) -> None:
    one, agent = paradigm(), Wired(says_x)
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
    one, agent = paradigm(), Wired(says_x)
    session = start(
        tmp_path, one, agent, 1, practice=True, extra={"triggers": trigger_request(one, "dry", {"practice": True})}
    )
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

    class Curious(SayingAtWindow):
        def judged(self, verdict: str) -> None:
            told.append(verdict)

    class Machine(Saying):
        def start(self, context: TrialContext) -> SayingEpisode:
            return Curious(self, [])

    one, machine = paradigm(), Machine(says_x)
    Runner(start(tmp_path, one, machine, 2, extra={"triggers": trigger_request(one, "dry")}), machine).run()
    assert told == []


def test_a_misspelt_answer_among_the_changes_stops_before_there_is_a_session(tmp_path: Path) -> None:
    one = paradigm()
    with pytest.raises(SpanLabError, match="no question takes the answer 'z'"):
        start(
            tmp_path, one, Wired(says_x), 1, extra={"triggers": trigger_request(one, "dry", {"responses": {"z": 77}})}
        )
    assert list(tmp_path.iterdir()) == []
