"""A trial of a session is compiled once, however many parts of the program look at it: the check
before anybody sits down, the estimate, the runner."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from spanlab.agents.base import Agent
from spanlab.agents.oracles import IdealAgent
from spanlab.paradigms import Trial, compile_trial, load_paradigm, plan_session
from spanlab.paradigms.compile import drawn_values
from spanlab.paradigms.language.schema import SessionDesign
from spanlab.sessions import Request, Runner, begin

TRIALS = 4


def agent_of(kind: str, stack: ExitStack) -> Agent:
    if kind == "network":
        from spanlab.agents.network.agent import NetworkAgent

        return NetworkAgent("laptop")
    if kind == "chat":
        from spanlab.agents.chat.scripted import ScriptedServer

        return stack.enter_context(ScriptedServer()).agent()
    if kind == "person":
        from spanlab.agents.human import SimulatedParticipant, virtual_screen

        stack.enter_context(virtual_screen())
        return SimulatedParticipant("ideal", seed=1, speed=10.0, say=lambda sentence: None)
    return IdealAgent()


def compiles(kind: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Counter[tuple[str, int]]:
    """How often each trial was compiled for one session, by levels and seed."""
    made: Counter[tuple[str, int]] = Counter()

    def counted(paradigm: Any, levels: Any, seed: int, *others: Any) -> Trial:
        made[(repr(levels), seed)] += 1
        return compile_trial(paradigm, levels, seed, *others)

    monkeypatch.setattr("spanlab.paradigms.compile.compile_trial", counted)
    paradigm = load_paradigm("vsr")
    plan = plan_session(paradigm, 3, SessionDesign(interval=200.0), {"list_length": [2, 3]}, trials=TRIALS)
    with ExitStack() as stack:
        agent = agent_of(kind, stack)
        session = begin(folder, paradigm, agent, plan, Request(3))
        Runner(session, agent).run()
    assert len(session.plan) == TRIALS
    return made


@pytest.mark.sampled(1)
@pytest.mark.parametrize("kind", ["ideal", "network", "chat", pytest.param("person", marks=pytest.mark.slow)])
def test_each_trial_of_a_session_is_compiled_once(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = compiles(kind, tmp_path, monkeypatch)
    assert len(made) == TRIALS
    assert set(made.values()) == {1}


def test_only_the_trials_compiled_last_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    paradigm = load_paradigm("vsr")
    plan = plan_session(paradigm, 1, SessionDesign(), levels={"list_length": 2}, trials=4)
    monkeypatch.setattr("spanlab.paradigms.compile.KEPT_TRIALS", 2)
    trials = [planned.compile(paradigm, "corrected") for planned in plan]
    again = [planned.compile(paradigm, "corrected") for planned in plan[2:]]
    assert again[0] is trials[2]
    assert again[1] is trials[3]
    first = plan[0].compile(paradigm, "corrected")
    assert first == trials[0]
    assert first is not trials[0]
    assert len(paradigm.compiled) == 2


def test_trials_with_other_draws_are_other_trials() -> None:
    paradigm = load_paradigm("vsr")
    planned, other = plan_session(paradigm, 1, SessionDesign(), levels={"list_length": 2}, trials=2)
    drawn = [drawn_values(paradigm, one.levels, one.seed) for one in (planned, other)]
    one, again, two = (
        replace(planned, draws=draws).compile(paradigm, "corrected") for draws in (drawn[0], drawn[0], drawn[1])
    )
    assert one is again
    for found, drawn_alike in ((one, planned), (two, other)):
        expected = drawn_alike.compile(paradigm, "corrected")
        assert [step.percept for step in found.steps] == [step.percept for step in expected.steps]
