"""The protocol of agents: what a misspelt or mistaken agent is told, and that one of another
package is one small file."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
from session_tools import Saying, SayingEpisode, start, take

from spanlab.agents import (
    AGENTS,
    Agent,
    AgentKind,
    BatchAgent,
    Response,
    TrialContext,
    WindowAgent,
    make_agent,
)
from spanlab.agents.registry import AgentRegistry
from spanlab.core.agent_kinds import AGENT_GROUP, KINDS, NETWORK, PARTICIPANT, kind_named
from spanlab.core.errors import SpanLabError
from spanlab.paradigms import Percept, load_paradigm

VSR = load_paradigm("vsr")


# -- when a class is made --------------------------------------------------------------------------


def made(base: type, **members: Any) -> type:
    """A class with these members."""
    return type("Mine", (base,), members)


@pytest.mark.parametrize(
    ("base", "members", "told"),
    [
        (Agent, {"kind": "mine"}, r"the kind of Mine is 'mine'; expected an AgentKind, such as AgentKind\('mine'\)"),
        (Agent, {"kind": PARTICIPANT}, "agents at a window, and no others, are subclasses of WindowAgent"),
        (WindowAgent, {"kind": NETWORK}, "agents at a window, and no others, are subclasses of WindowAgent"),
    ],
)
def test_a_kind_that_cannot_be_is_refused_with_what_is_expected(base: type, members: dict[str, Any], told: str) -> None:
    with pytest.raises(TypeError, match=told):
        made(base, **members)


# -- when it runs ----------------------------------------------------------------------------------


class Giving(Saying):
    """Gives what it is told to give at each question, whatever that is."""

    def __init__(self, given: Any) -> None:
        super().__init__(lambda percept, number: given)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (
            3,
            (
                r"the agent gave 3 \(int\) in step \d+; expected a Response, such as Response\(3\), or None where"
                r" nothing is asked"
            ),
        ),
        (
            {"answer": 3},
            r"the agent gave \{'answer': 3\} \(dict\) in step \d+; expected a Response, or None where nothing is asked",
        ),
        (None, r"the agent did not answer in step \d+"),
        (Response({1}), r"the agent answered \{1\} \(set\) in step \d+; allowed is a whole number from 0 to 8"),  # type: ignore[arg-type]
        (
            Response(1, outcome="right"),  # type: ignore[arg-type]
            r"the agent gave the outcome 'right' \(str\) in step \d+; there are answered, omitted, invalid",
        ),
        (Response(1, rt_ms="fast"), r"the reaction time 'fast' \(str\)"),  # type: ignore[arg-type]
        (Response(1, rt_ms=-5), r"the reaction time -5 \(int\) in step \d+; expected a number of ms from the onset"),
        (Response(1, rt_ms=float("nan")), r"the reaction time nan \(float\)"),
        (Response(1, notes=["late"]), r"the agent gave notes \['late'\] \(list\)"),  # type: ignore[arg-type]
        (Response(1, raw={1}), "what the agent gave cannot be recorded"),
    ],
)
def test_an_agent_that_gives_the_wrong_thing_is_told_what_is_expected(tmp_path: Path, given: Any, told: str) -> None:
    with pytest.raises(SpanLabError, match=told) as error:
        take(tmp_path, VSR, Giving(given), 1)
    assert "fault of the agent" in str(error.value)


def test_a_number_of_numpy_is_told_as_one(tmp_path: Path) -> None:
    import numpy as np

    with pytest.raises(SpanLabError, match=r"the agent answered .*3.* \(numpy\.int64\) in step"):
        take(tmp_path, VSR, Giving(Response(np.int64(3))), 1)  # type: ignore[arg-type]


def test_an_episode_that_is_none_is_told(tmp_path: Path) -> None:
    class Begins(Saying):
        def start(self, context: TrialContext) -> Any:
            return "an episode"

    with pytest.raises(
        SpanLabError, match=r"saying began a trial with 'an episode' \(str\); expected an Episode from start\(\)"
    ):
        take(tmp_path, VSR, Begins(lambda *_: Response(0)), 1)


def test_an_oracle_whose_episode_takes_no_truth_is_told(tmp_path: Path) -> None:
    class Blind(SayingEpisode):
        async def step(self, percept: Percept) -> Response | None:  # type: ignore[override]
            return None

    class Oracle(Saying):
        kind = AgentKind("seer", oracle=True)

        def start(self, context: TrialContext) -> Blind:
            return Blind(self, [])

    with pytest.raises(SpanLabError, match=r"'seer', which is an oracle, and Blind\.step takes no truth"):
        take(tmp_path, VSR, Oracle(lambda *_: Response(0)), 1)


@pytest.mark.parametrize(
    ("answers", "told"),
    [
        (None, "batch gave None; expected"),
        ([[Response(0)]], r"batch gave \[\[Response.* for each of the 4 trials"),
        ("none", r"gave 'none' \(str\); expected"),
    ],
)
def test_a_batch_with_answers_too_few_is_told(tmp_path: Path, answers: Any, told: str) -> None:
    class Batch(Saying, BatchAgent):
        def answer(self, contexts: Any, trials: Any, keep: Any = None) -> Any:
            return answers

    with pytest.raises(SpanLabError, match=told):
        take(tmp_path, VSR, Batch(lambda *_: Response(0), "batch"), 4)


@pytest.mark.parametrize("settings", [{"sizes": {1, 2}}, {"rate": float("nan")}, ["depth"]])
def test_settings_that_no_record_takes_leave_no_session_behind(tmp_path: Path, settings: Any) -> None:
    class Set(Saying):
        def settings(self) -> Any:
            return settings

    with pytest.raises(SpanLabError, match="the settings of saying"):
        start(tmp_path, VSR, Set(lambda *_: Response(0)), 1)
    assert not list(tmp_path.iterdir())


# -- kinds and names -------------------------------------------------------------------------------


def test_every_agent_that_ships_has_a_kind_of_the_table() -> None:
    assert [kind.name for kind in AGENTS.kinds()][:7] == [
        "chance",
        "ideal",
        "capacity",
        "precision",
        "network",
        "chat",
        "simulated",
    ]
    for kind in AGENTS.kinds()[:5]:
        cls = AGENTS.class_of(kind.name)
        assert cls is not None
        assert cls.kind is kind
        assert kind in KINDS
        assert kind.help


def test_a_kind_that_nobody_knows_is_a_model_and_comes_last() -> None:
    unknown = kind_named("elsewhere")
    assert (unknown.role, unknown.oracle, unknown.described) == ("model", False, "elsewhere")
    assert unknown.order >= max(kind.order for kind in KINDS)


@pytest.mark.parametrize(
    ("cls", "told"),
    [
        (made(Agent, kind=AgentKind("mine")), "Mine does not define start"),
        (made(Agent, start=Saying.start), "Mine declares no kind"),
        (made(Agent, start=Saying.start, kind=AgentKind("chat")), "'chat' is a kind of SpanLab's own"),
        (dict, "is not a subclass of Agent"),
    ],
)
def test_classes_that_cannot_be_registered(cls: Any, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        AGENTS.register(cls)


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("chanse", "unknown agent 'chanse'; did you mean 'chance'"),
        ("ideal:3", "the agent 'ideal' takes nothing after a colon; found 'ideal:3'"),
    ],
)
def test_names_of_agents_that_are_none(spec: str, told: str) -> None:
    with pytest.raises(SpanLabError, match=told):
        make_agent(spec)


# -- an agent of another package -------------------------------------------------------------------


class Elsewhere(Saying):
    """An agent of another package."""

    kind = AgentKind("elsewhere")


def test_a_package_that_cannot_be_loaded_leaves_the_agents_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    agents = AgentRegistry()
    broken = EntryPoint("nope", "no_such_module:Nope", AGENT_GROUP)
    monkeypatch.setattr(agents, "_waiting", [broken, EntryPoint("elsewhere", f"{__name__}:Elsewhere", AGENT_GROUP)])
    assert agents.class_of("elsewhere") is Elsewhere
    agents = AgentRegistry()
    monkeypatch.setattr(agents, "_waiting", [broken, EntryPoint("lab", f"{__name__}:Elsewhere", AGENT_GROUP)])
    assert agents.class_of("elsewhere") is Elsewhere, "also where the entry point has another name"
    with pytest.raises(SpanLabError, match="the agent 'nope' cannot be loaded"):
        agents.class_of("nope")


# -- one way ---------------------------------------------------------------------------------------
