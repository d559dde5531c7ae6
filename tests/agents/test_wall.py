"""The wall between what an agent may see and what is right: nothing goes through it but the
displays themselves."""

from __future__ import annotations

import ast
import dataclasses
import functools
import inspect
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from conditions import trials_for
from hypothesis import given, settings
from hypothesis import strategies as st
from paradigm_texts import ANSWERS
from session_tools import GO_NOGO, Saying, start, take
from wall_guesser import Example, advantage, examples

from spanlab.agents.at_once import BatchAgent
from spanlab.agents.base import Agent, Episode, Response, TrialContext
from spanlab.agents.chat.agent import ChatEpisode
from spanlab.agents.oracles import ChanceEpisode, OracleEpisode
from spanlab.agents.recorded import RecordedEpisode
from spanlab.agents.registry import make_agent
from spanlab.agents.window import WindowEpisode
from spanlab.core.agent_kinds import AgentKind
from spanlab.paradigms import (
    Paradigm,
    Percept,
    Step,
    Trial,
    Truth,
    compile_trial,
    list_paradigms,
    load_paradigm,
    percept_bytes,
    plan_session,
)
from spanlab.paradigms.language.schema import SessionDesign
from spanlab.sessions import Runner
from spanlab.sessions.session import brief
from spanlab.sessions.strategies.one_by_one import TrialSource, TrialTaker
from spanlab.stimuli import Stimulus
from spanlab.stimuli.render.pixels import render

PARADIGMS = list_paradigms()
#: Paradigms with answers that none of the library asks for: silence that means something; typed
#: ones, beside orders and dials.
OWN = {"gonogo": GO_NOGO, "answers": ANSWERS}
#: the wall is not seen to leak when guessing wins with a probability above this
SURE = 0.001


# -- what is handed over ---------------------------------------------------------------------------


def seeing_alone() -> list[type[Episode]]:
    """The episodes of every agent that is not an oracle, as far as they are installed."""
    found: list[type[Episode]] = [ChanceEpisode, RecordedEpisode, ChatEpisode]
    from spanlab.agents.human.participant import ParticipantEpisode

    found.append(ParticipantEpisode)
    if pytest.importorskip("torch"):
        from spanlab.agents.network.agent import NetworkEpisode

        found.append(NetworkEpisode)
    return found


def test_episodes_that_are_no_oracles_do_not_look_at_the_truth() -> None:
    """They have a place for it, as all have, which stays empty."""
    from spanlab.agents.human.simulated import SimulatedEpisode

    for episode in (*seeing_alone(), OracleEpisode, SimulatedEpisode):
        assert list(inspect.signature(episode.step).parameters) == ["self", "percept", "truth"], episode
        assert inspect.signature(episode.step).parameters["truth"].default is None
        looks = "truth" in episode.step.__code__.co_names or any(
            isinstance(node, ast.Name) and node.id == "truth"
            for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(episode.step))))
        )
        assert looks == (episode in (OracleEpisode, SimulatedEpisode)), episode


def test_the_runner_hands_the_truth_over_in_one_line_and_to_oracles_alone() -> None:
    from spanlab.agents import base
    from spanlab.sessions import participant_flow, replaying, run_trial, runner
    from spanlab.sessions.strategies import batches, concurrently, one_by_one

    lines = [line.strip() for line in inspect.getsource(run_trial).splitlines() if ".truth" in line]
    assert lines == ["response = await (episode.step(percept, step.truth) if oracle else episode.step(percept))"]
    others = [base, runner, batches, concurrently, one_by_one, participant_flow]
    calls = [
        ast.unparse(node)
        for module in (replaying, *others)
        for node in ast.walk(ast.parse(inspect.getsource(module)))
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("run_trial")
    ]
    assert calls == [
        "run_trial(steps, episode, TrialLog(lambda event: None, '', 1), Cues())",
        ("run_trial(steps, episode, log, self._cues(planned, steps, episode, journal), self.agent.kind.oracle)"),
    ]
    assert ".truth" not in "".join(map(inspect.getsource, others))


@pytest.mark.parametrize("oracle", [False, True])
def test_only_the_kind_decides_who_is_handed_the_truth(tmp_path: Path, oracle: bool) -> None:
    """Not what an episode would take: one that asks for the truth gets none where its agent is not
    a declared oracle."""
    handed: list[Truth | None] = []

    class Asking(Episode):
        async def step(self, percept: Percept, truth: Truth | None = None) -> Response | None:
            handed.append(truth)
            return None if percept.ask is None else Response(percept.ask.kind.guess(np.random.RandomState(1)))

    class Curious(Agent):
        kind = AgentKind("curious", oracle=oracle)

        def start(self, context: TrialContext) -> Asking:
            return Asking()

    session = take(tmp_path, load_paradigm("vsr"), Curious(), 2)
    assert handed
    assert all(isinstance(truth, Truth) == oracle for truth in handed)
    assert session.info["oracle"] is oracle


class Spy(Saying):
    """Keeps everything that the runner hands over, in every way that there is."""

    def __init__(self) -> None:
        super().__init__(lambda percept, number: Response(percept.ask.kind.guess(self.random)))  # type: ignore[union-attr]
        self.random = np.random.RandomState(1)
        self.handed: list[Any] = []

    def start(self, *arguments: Any, **named: Any) -> Any:
        self.handed.append((arguments, named))
        return SpyEpisode(self)

    def instructions_for(self, *arguments: Any, **named: Any) -> None:
        self.handed.append((arguments, named))

    def check_trial(self, *arguments: Any, **named: Any) -> None:
        self.handed.append((arguments, named))

    def check_questions(self, *arguments: Any, **named: Any) -> None:
        self.handed.append((arguments, named))

    async def setup(self, *arguments: Any, **named: Any) -> None:
        assert not named
        (journal,) = arguments
        assert not journal.replies()


class BatchSpy(Spy, BatchAgent):
    """Answers many trials at once."""

    def answer(self, *arguments: Any, **named: Any) -> Any:
        self.handed.append((arguments, named))
        _, trials = arguments
        return [[None if percept.ask is None else self.say(percept, 1) for percept in percepts] for percepts in trials]


class SpyEpisode(WindowEpisode):
    """Of a machine, although it would take what only people are told."""

    def __init__(self, spy: Spy) -> None:
        self._spy = spy

    async def step(self, *arguments: Any, **named: Any) -> Any:
        self._spy.handed.append((arguments, named))
        (percept,) = arguments
        return None if percept.ask is None else self._spy.say(percept, 1)

    def prepare(self, *arguments: Any, **named: Any) -> None:
        raise AssertionError("machines get no display ahead of time")

    def announce_next(self, *arguments: Any, **named: Any) -> None:
        raise AssertionError("machines are not told what comes next")

    def judged(self, *arguments: Any, **named: Any) -> None:
        raise AssertionError("machines are not told what became of an answer")


def reachable(value: Any) -> Iterator[Any]:
    """Everything that can be reached from a value by attributes, items and members."""
    seen: dict[int, Any] = {}
    waiting = [value]
    while waiting:
        one: Any = waiting.pop()
        if id(one) in seen or isinstance(one, (type, str, bytes, int, float)) or one is None:
            continue
        seen[id(one)] = one
        yield one
        if isinstance(one, Mapping):
            waiting += [*one.keys(), *one.values()]
        elif isinstance(one, (Sequence, set, frozenset)):
            waiting += one
        elif callable(one) and not hasattr(one, "__dict__"):
            continue
        slots = [name for cls in inspect.getmro(type(one)) for name in getattr(cls, "__slots__", ())]
        inside = [
            *getattr(one, "__dict__", {}),
            *slots,
            "__self__",
            "__closure__",
            "__wrapped__",
            "cell_contents",
            "func",
            "args",
            "keywords",
        ]
        waiting += [getattr(one, name, None) for name in inside if name != "__weakref__"]


@pytest.mark.sampled(25)
@pytest.mark.parametrize("batches", [False, True], ids=["steps", "batches"])
@pytest.mark.parametrize("name", [*PARADIGMS, *OWN])
def test_nothing_that_an_agent_is_handed_leads_to_the_truth(tmp_path: Path, name: str, batches: bool) -> None:
    paradigm = paradigm_of(name, tmp_path)
    spy = BatchSpy() if batches else Spy()
    take(tmp_path / "data", paradigm, spy, min(12, len(paradigm.combinations())))
    assert spy.handed
    assert not any(named for _, named in spy.handed)
    for one in reachable(spy.handed):
        assert not isinstance(one, (Truth, Trial, Step, Paradigm, Runner, TrialSource, TrialTaker)), (
            "an agent must not be able to reach this"
        )
        assert type(one).__module__.split(".")[0] in {
            "spanlab",
            "builtins",
            "pydantic_core",
        }, f"what is {type(one)} doing in a percept?"


def test_the_walk_finds_what_is_hidden() -> None:
    """The test above would see a truth in any of these places."""
    trial = compile_trial(load_paradigm("vsr"), {"list_length": 2}, 1)
    truth, percept = trial.steps[-1].truth, trial.steps[-1].percept
    hidden = [
        [truth],
        {"a": (truth,)},
        {truth.answer: trial},
        functools.partial(print, truth),
        lambda: truth,
        trial.steps[-1],
        type("Box", (), {})(),
    ]
    hidden[-1].inner = truth  # type: ignore[attr-defined]
    for place in hidden:
        assert any(isinstance(one, Truth) for one in reachable((percept, place)))
    assert not any(isinstance(one, Truth) for one in reachable((percept, TrialContext("a", "b", "en", "c", ()))))


def test_an_oracle_is_handed_the_truth_beside_the_percept_and_the_record_says_so(tmp_path: Path) -> None:
    class Oracle(Spy):
        kind: ClassVar[AgentKind] = AgentKind("spy", oracle=True)

        def start(self, *arguments: Any, **named: Any) -> Any:
            class Handed(SpyEpisode):
                async def step(self, percept: Percept, truth: Truth | None = None) -> Any:
                    assert isinstance(truth, Truth)
                    assert not any(isinstance(one, Truth) for one in reachable(percept))
                    return Response(truth.answer) if percept.ask is not None else None

            return Handed(self)

    assert take(tmp_path, load_paradigm("smu"), Oracle(), 8).info["oracle"] is True


def paradigm_of(name: str, folder: Path) -> Paradigm:
    if name not in OWN:
        return load_paradigm(name)
    (file := folder / f"{name}.yaml").write_text(OWN[name], encoding="utf-8")
    return load_paradigm(file)


# -- equal displays, equal percepts ----------------------------------------------------------------


_LOOKS: dict[Any, bytes] = {}


def looks(stimulus: Stimulus) -> bytes:
    if stimulus not in _LOOKS:
        _LOOKS[stimulus] = render(stimulus.scene()).tobytes()
    return _LOOKS[stimulus]


def untimed(percept: Percept) -> Percept:
    """Without its times: whether these tell anything is asked below."""
    return dataclasses.replace(
        percept, displays=tuple(dataclasses.replace(display, ms=None) for display in percept.displays)
    )


def of_one_look(trials: Sequence[Trial]) -> dict[Any, list[Step]]:
    """Steps that look the same and ask the same, in the same condition."""
    groups: dict[Any, list[Step]] = {}
    for trial in trials:
        for step in trial.steps:
            percept = step.percept
            question = (
                (percept.ask.kind.question(), percept.ask.kind.surface()) if percept.ask is not None else percept.phase
            )
            look = tuple(looks(display.stimulus) for display in percept.displays)
            groups.setdefault((str(dict(trial.levels)), question, look), []).append(step)
    return groups


def differences(steps: Sequence[Step]) -> tuple[set[bytes], set[str]]:
    percepts = {percept_bytes(untimed(step.percept)) for step in steps}
    words = {"\n".join(display.stimulus.words() for display in step.percept.displays) for step in steps}
    return percepts, words


def same_where_it_looks_the_same(name: str, seed: int, which: int) -> None:
    """Over many trials of one condition: for everything that looks the same there is one percept
    and one text, however the answers differ."""
    paradigm = load_paradigm(name)
    combinations = paradigm.combinations()
    levels = combinations[which % len(combinations)]
    for steps in of_one_look([compile_trial(paradigm, levels, seed + n) for n in range(6)]).values():
        percepts, words = differences(steps)
        assert len(percepts) == len(words) == 1


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", PARADIGMS)
@settings(max_examples=4, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**53), which=st.integers(0, 10**6))
def test_what_looks_the_same_and_asks_the_same_is_the_same(name: str, seed: int, which: int) -> None:
    same_where_it_looks_the_same(name, seed, which)


@pytest.mark.slow
@pytest.mark.soaked(14)
@pytest.mark.parametrize("name", PARADIGMS)
@settings(max_examples=40, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**53), which=st.integers(0, 10**6))
def test_what_looks_the_same_and_asks_the_same_is_the_same_in_many_trials(name: str, seed: int, which: int) -> None:
    same_where_it_looks_the_same(name, seed, which)


def test_typed_answers_orders_and_dials_are_asked_for_alike_whatever_is_right(tmp_path: Path) -> None:
    """What is asked for in other words, with other keys or with another legend in some trials would
    tell something of their answers."""
    paradigm = paradigm_of("answers", tmp_path)
    trials = [compile_trial(paradigm, levels, seed) for levels in paradigm.combinations() for seed in range(60)]
    percepts: dict[str, set[bytes]] = {}
    answers: dict[str, set[str]] = {}
    for trial in trials:
        for step in trial.steps:
            if step.percept.ask is not None:
                of_phase = f"{step.percept.phase} {step.percept.ask.kind.start if step.percept.phase == 'dial' else trial.levels}"  # type: ignore[attr-defined]  # noqa: E501
                percepts.setdefault(of_phase, set()).add(percept_bytes(untimed(step.percept)))
                answers.setdefault(step.percept.phase, set()).add(str(step.truth.answer))
    assert all(len(asked) == 1 for asked in percepts.values())
    assert {phase: len(different) >= 5 for phase, different in answers.items()} == dict.fromkeys(
        ("order", "typed", "dial"), True
    )


@pytest.mark.parametrize("name", ["vsr", "sfr", "smu"])
def test_the_same_look_does_stand_for_different_answers(name: str) -> None:
    """So that the test above compares what differs in its truth only."""
    paradigm = load_paradigm(name)
    trials = [compile_trial(paradigm, levels, seed) for levels in paradigm.combinations()[2:5] for seed in range(8)]
    several = [group for group in of_one_look(trials).values() if len({str(step.truth.answer) for step in group}) > 1]
    assert len(several) >= 3


def test_lists_in_another_order_are_probed_with_the_same_percepts(tmp_path: Path) -> None:
    """Two trials of serial recall that show the same patterns at the same places and differ only in
    which one came when."""
    shown = compile_trial(load_paradigm("vsr"), {"list_length": 4}, 3)
    patterns = [list(step.percept.displays[0].stimulus.filled) for step in shown.steps[:4]]  # type: ignore[attr-defined]
    slots, trials = [step.truth.answer for step in shown.steps[4:]], []
    for number, order in enumerate(([0, 1, 2, 3], [2, 0, 3, 1], [3, 2, 1, 0])):
        file = tmp_path / f"fixed{number}.yaml"
        drawn = f"draw: {{patterns: {[patterns[n] for n in order]}, slots: {[slots[n] for n in order]}}}"
        file.write_text(
            f"extends: vsr\nparadigm: fixed\nfactors: {{list_length: [4]}}\npractice: null\ndesigns: null\n{drawn}\n",
            encoding="utf-8",
        )
        trials.append(compile_trial(load_paradigm(file), {"list_length": 4}, 0))
    assert len({tuple(step.truth.answer for step in trial.steps[4:]) for trial in trials}) == 3
    assert len({percept_bytes(step.percept) for trial in trials for step in trial.steps[4:]}) == 1
    assert len({step.percept.for_machine.stimulus.words() for trial in trials for step in trial.steps[4:]}) == 1
    presented = [[percept_bytes(step.percept) for step in trial.steps[:4]] for trial in trials]
    assert sorted(presented[0]) == sorted(presented[1]) == sorted(presented[2])
    assert presented[0] != presented[1] != presented[2]


# -- nothing but the displays tells ----------------------------------------------------------------


def gathered(
    data: Path,
    paradigm: Paradigm,
    trials: int,
    tamper: Callable[[Trial, TrialContext], tuple[Trial, TrialContext]] | None = None,
) -> list[Example]:
    """Every question of a session, with what the runner would have handed over; ``tamper`` may
    plant a leak."""
    agent = make_agent("chance")
    session = start(data, paradigm, agent, plan_session(paradigm, 2, SessionDesign(), trials=trials))
    source = TrialSource(session, agent, {})
    found: list[Example] = []
    for planned in session.plan:
        trial = source.compile(planned)
        context = source.context(planned, trial)
        found += examples(*(tamper(trial, context) if tamper is not None else (trial, context)))
    return found


@pytest.mark.sampled(2)
@pytest.mark.soaked(44)
@pytest.mark.parametrize("questions", [600, pytest.param(1500, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", [*PARADIGMS, "answers"])
def test_nothing_outside_the_displays_tells_the_answer(tmp_path: Path, name: str, questions: int) -> None:
    """Question, legend, names of phases, numbers of steps, lengths of words, names of keys, times
    and the agent's seed: a reader of all these does not beat the best blind guess."""
    paradigm = paradigm_of(name, tmp_path)
    found = gathered(tmp_path / "data", paradigm, trials_for(paradigm, questions))
    assert len(found) > 0.8 * questions
    assert len({example.answer for example in found}) > 1
    found = found[:: max(1, len(found) // questions)]
    for way, p in advantage(found).items():
        assert p > SURE, f"{way}: the answer can be guessed without looking"


def first_answer(trial: Trial) -> int:
    answer = next(step.truth.answer for step in trial.steps if step.truth.answer is not None)
    first = answer[0] if isinstance(answer, tuple) else answer
    assert first is not None
    return int(first)


def with_phase(trial: Trial, context: TrialContext) -> tuple[Trial, TrialContext]:
    """The phase is named after whether the answer is in the left half."""

    def named(step: Step) -> Step:
        answer = step.truth.answer
        value = answer[0] if isinstance(answer, tuple) else answer
        return (
            step
            if value is None
            else dataclasses.replace(step, percept=dataclasses.replace(step.percept, phase=f"probe{int(value) % 2}"))
        )

    return dataclasses.replace(trial, steps=tuple(map(named, trial.steps))), context


def with_first_ms(trial: Trial, context: TrialContext) -> tuple[Trial, TrialContext]:
    """The first display is a little longer the larger the first answer is."""
    first, ms = trial.steps[0], 500.0 + first_answer(trial)
    longer = dataclasses.replace(
        first.percept, displays=(dataclasses.replace(first.percept.displays[0], ms=ms), *first.percept.displays[1:])
    )
    return dataclasses.replace(trial, steps=(dataclasses.replace(first, percept=longer), *trial.steps[1:])), context


def with_seed(trial: Trial, context: TrialContext) -> tuple[Trial, TrialContext]:
    """The agent's seed goes with the first answer, four times of five."""
    return trial, dataclasses.replace(
        context, seed=context.seed // 9 * 9 + (first_answer(trial) if trial.seed % 5 else 0)
    )


@pytest.mark.sampled(1)
@pytest.mark.parametrize("leak", [with_phase, with_first_ms, with_seed])
def test_the_guesser_would_find_a_leak(
    tmp_path: Path, leak: Callable[[Trial, TrialContext], tuple[Trial, TrialContext]]
) -> None:
    assert min(advantage(gathered(tmp_path, load_paradigm("smu"), 500, leak)).values()) < SURE


def test_the_guesser_would_find_a_leak_in_a_file(tmp_path: Path) -> None:
    """A timeline in which the pattern is shown longer when it belongs to the right."""
    (file := tmp_path / "leaky.yaml").write_text(
        """
extends: vsr
paradigm: leaky
timeline:
  - for: (pattern, slot) in zip(patterns, slots)
    phase: present
    show: {matrix: {grid: 6, filled: =pattern, colour: green}, ms: "=1550 + slot % 3"}
  - for: slot in slots
    phase: probe
    show: {pattern_array: {grid: 6, cells: =display, colour: green}}
    ask: {choice: {options: 9, layout: 3x3}, answer: =slot}
""",
        encoding="utf-8",
    )
    assert min(advantage(gathered(tmp_path, load_paradigm(file), 200)).values()) < SURE


def test_what_is_known_before_a_trial_does_not_tell_how_long_its_list_is() -> None:
    running, agent = load_paradigm("running_span"), make_agent("chance")
    trials = [compile_trial(running, {"set_size": 3, "more": more}, 1) for more in (0, 3)]
    assert len({brief(agent, running, "en", trial).kinds for trial in trials}) == 1
