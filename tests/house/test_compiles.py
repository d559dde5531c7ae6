"""A trial of a session is compiled once, however many parts of the program look at it: the check
before anybody sits down, the estimate, the runner."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from spanlab.agents.base import Agent
from spanlab.agents.oracles import IdealAgent
from spanlab.paradigms import Trial, compile_trial, load_paradigm, plan_session
from spanlab.paradigms.language.schema import SessionDesign
from spanlab.paradigms.paradigm import CompiledTrials
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


def test_only_the_trials_wanted_last_are_kept() -> None:
    paradigm = load_paradigm("vsr")
    planned = plan_session(paradigm, 1, SessionDesign(), levels={"list_length": 2}, trials=4)
    kept = CompiledTrials(keep=2)
    made: list[int] = []

    def trial(number: int) -> Trial:
        def make() -> Trial:
            made.append(number)
            return planned[number].compile(paradigm, "corrected")

        return kept.get(number, None, make)

    for number in (0, 1, 0, 2, 0, 1, 2):
        trial(number)
    assert made == [0, 1, 2, 1, 2]  # 1 went when 2 came, 2 when 1 came back, 0 when 2 came back


def test_trials_with_other_draws_are_other_trials() -> None:
    paradigm = load_paradigm("vsr")
    (planned,) = plan_session(paradigm, 1, SessionDesign(), levels={"list_length": 2}, trials=1)
    kept = CompiledTrials()
    trial = planned.compile(paradigm, "corrected")
    other = planned.compile(paradigm, "published")
    one, two = {"a": 1}, {"a": 1}
    assert kept.get("key", one, lambda: trial) is trial
    assert kept.get("key", two, lambda: other) is other
    assert kept.get("key", one, lambda: other) is trial
