"""Adaptive sessions: the staircase on its own, and in sessions of machines and people, whole and
interrupted."""

from __future__ import annotations

import itertools
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from command_line import Run, output_of
from hypothesis import given
from hypothesis import strategies as st
from session_tools import lasting

from spanlab.agents.at_once import BatchAgent
from spanlab.agents.base import Agent, Episode, Response, TrialContext
from spanlab.agents.window import PageContent, WindowAgent, WindowEpisode
from spanlab.core.agent_kinds import IDEAL, SIMULATED, AgentKind
from spanlab.core.errors import ParadigmError, SpanLabError
from spanlab.paradigms import Paradigm, Percept, Truth, load_paradigm, plan_session
from spanlab.paradigms.checking import check_paradigm
from spanlab.paradigms.design import session_design, staircase_rule
from spanlab.paradigms.responses import SerialOrder
from spanlab.sessions import Request, Runner, Session, begin, read_responses, read_session, reopen
from spanlab.sessions.record.reader import read_events, staircase_of, trials_left
from spanlab.sessions.record.staircase import Staircase, StaircaseRule
from spanlab.sessions.session import complete

LADDER = tuple(range(1, 13))


def rule(**other: Any) -> StaircaseRule:
    return StaircaseRule(
        **{
            **{"factor": "list_length", "stairs": LADDER, "start": 3, "up_after": 2, "down_after": 1, "trials": 200},
            **{"reversals": None, "share": 1.0, "leave_out": 2},
            **other,
        }
    )


# -- the staircase ---------------------------------------------------------------------------------


@given(span=st.integers(2, 10), start=st.integers(1, 12), up_after=st.integers(1, 4), down_after=st.integers(1, 4))
def test_an_observer_of_known_span_is_found(span: int, start: int, up_after: int, down_after: int) -> None:
    """Who always manages so many items and never one more is tracked between the two."""
    staircase = Staircase(rule(start=start, up_after=up_after, down_after=down_after, reversals=8))
    while not staircase.over:
        staircase.take(staircase.level <= span)
    assert staircase.span == span + 0.5
    assert set(staircase.turned_at[1:]) == {span, span + 1}


@pytest.mark.parametrize(("up_after", "share"), [(1, 0.5), (2, 0.5**0.5), (3, 0.5 ** (1 / 3))])
def test_staircases_settle_where_theory_says(up_after: int, share: float) -> None:
    """n correct trials in a row up, one other down: the level at which a trial is correct with
    probability 0.5 ** (1 / n) (Levitt, 1971)."""
    random = np.random.RandomState(5)
    found = []
    for _ in range(200):
        staircase = Staircase(rule(stairs=tuple(range(1, 31)), start=8, up_after=up_after, trials=120))
        while not staircase.over:
            staircase.take(bool(random.random_sample() < 1 / (1 + np.exp((staircase.level - 15) / 1.5))))
        assert staircase.span is not None
        found.append(staircase.span)
    assert np.mean(found) == pytest.approx(15 - 1.5 * np.log(share / (1 - share)), abs=0.35)
    assert np.std(found) < 1.2


@given(correct=st.lists(st.booleans(), max_size=60), up_after=st.integers(1, 3), down_after=st.integers(1, 3))
def test_steps_are_small_stay_inside_and_have_reasons(correct: list[bool], up_after: int, down_after: int) -> None:
    staircase = Staircase(rule(stairs=(2, 3, 5, 8), start=3, up_after=up_after, down_after=down_after))
    for one in correct:
        staircase.take(one)
    steps = [staircase.rule.stairs.index(level) for level in (*staircase.levels, staircase.level)]
    for number, (before, after) in enumerate(itertools.pairwise(steps), start=1):
        assert abs(after - before) <= 1
        if after != before:
            length = up_after if after > before else down_after
            assert correct[number - length : number] == [after > before] * length
            assert len(set(steps[number - length : number])) == 1, (
                "the trials that lead to a step were all at one level"
            )
    turns = [after - before for before, after in itertools.pairwise(steps) if after != before]
    assert len(staircase.turned_at) == sum(one != other for one, other in itertools.pairwise(turns))


@pytest.mark.parametrize(
    ("turned_at", "leave_out", "span"),
    [
        ([], 2, None),
        ([5, 3], 2, None),
        ([5, 3, 6], 2, None),
        ([5, 3, 6, 4], 2, 5),
        ([9, 1, 9, 6, 5], 2, 5.5),
        ([5, 4], 0, 4.5),
    ],
)
def test_the_span_is_the_mean_of_as_many_upper_as_lower_reversals(
    turned_at: list[int], leave_out: int, span: float | None
) -> None:
    assert Staircase(rule(leave_out=leave_out), turned_at=list(turned_at)).span == span


def test_a_trial_is_correct_when_enough_of_its_items_are() -> None:
    def scores(*items: bool) -> list[dict[str, Any]]:
        return [{"correct": item, "correct_answer": 1} for item in items]

    intrusion = {"correct": False, "correct_answer": None}
    assert rule().correct(scores(True, True))
    assert not rule().correct(scores(True, False))
    assert rule(share=0.5).correct(scores(True, False))
    assert rule(share=2 / 3).correct([*scores(True, True, False), intrusion])
    assert not rule().correct([])


# -- sessions --------------------------------------------------------------------------------------


class Limited(Agent, Episode):
    """Recalls lists up to some length and gives a wrong answer to everything in longer ones; breaks
    off in its ``stops``-th trial."""

    kind: ClassVar[AgentKind] = IDEAL

    def __init__(self, span: int, stops: int | None = None) -> None:
        self.name = f"limited-{span}"
        self._span, self._stops, self._trials = span, stops, 0
        self.told: list[str] = []

    def page(self, page: PageContent) -> None:
        self.told.append(page.text)

    def start(self, context: TrialContext) -> Limited:
        self._trials += 1
        return self

    async def step(self, percept: Percept, truth: Truth | None = None) -> Response | None:
        if self._trials == self._stops:
            raise SpanLabError("the cable is out")
        if percept.ask is None:
            return None
        assert truth is not None
        assert isinstance(truth.answer, int)
        return Response(truth.answer if truth.levels["list_length"] <= self._span else (truth.answer + 1) % 9)


class Person(Limited, WindowAgent, WindowEpisode):  # type: ignore[misc]
    kind: ClassVar[AgentKind] = SIMULATED

    def start(self, context: TrialContext) -> Person:
        super().start(context)
        return self


class Batching(Limited, BatchAgent):
    """Would answer whole batches at once, which an adaptive session must not ask for."""

    def answer(self, contexts: Any, trials: Any, keep: Any = None) -> Any:
        raise AssertionError("an adaptive session cannot be answered ahead")


@pytest.fixture(scope="module")
def vsr() -> Paradigm:
    return load_paradigm("vsr")


def adaptive(data: Path, paradigm: Paradigm, agent: Any, trials: int | None = None, practice: bool = False) -> Session:
    plan = plan_session(paradigm, 1, session_design(paradigm, "span"), trials=trials)
    return begin(data, paradigm, agent, plan, Request(design="span", practice=practice))


def levels_of(session: Session) -> list[int]:
    starts = [
        event for event in read_events(session.folder) if event["event"] == "trial_start" and not event["practice"]
    ]
    return [start["levels"]["list_length"] for start in {start["trial"]: start for start in starts}.values()]


@pytest.mark.parametrize("taker", [Batching, Person])
def test_a_session_follows_the_staircase_and_tells_the_span(
    tmp_path: Path, vsr: Paradigm, taker: type[Limited]
) -> None:
    agent = taker(5)
    session = adaptive(tmp_path, vsr, agent)
    runner = Runner(session, agent)
    runner.run()
    levels = levels_of(session)
    assert levels == [3, 3, 4, 4, 5, 5, 6, *4 * [5, 5, 6], 5, 5]
    assert runner.span is not None
    assert (runner.span["span"], len(runner.span["reversals"])) == (5.5, 10)
    (told,) = [event for event in read_events(session.folder) if event["event"] == "span"]
    assert told == {"event": "span", **runner.span}
    assert complete(session.folder)
    table = read_responses(session.folder)
    assert table.groupby("trial").list_length.first().tolist() == levels
    assert (table.groupby("trial").size() == levels).all()


@pytest.mark.parametrize("stops", [1, 2, 7, 12])
@pytest.mark.parametrize("taker", [Limited, Person])
@pytest.mark.sampled(2)
def test_a_session_that_was_cut_off_climbs_the_same_stairs(
    tmp_path: Path, vsr: Paradigm, taker: type[Limited], stops: int
) -> None:
    whole = adaptive(tmp_path / "whole", vsr, taker(4))
    Runner(whole, taker(4)).run()
    broken = adaptive(tmp_path / "broken", vsr, taker(4))
    with pytest.raises(SpanLabError, match="cable"):
        Runner(broken, taker(4, stops)).run()
    assert not complete(broken.folder)
    assert trials_left(read_session(broken.folder), read_events(broken.folder)) == 40 - (stops - 1)
    runner = Runner(reopen(broken.folder), taker(4))
    runner.run()
    assert levels_of(broken) == levels_of(whole)
    assert runner.span == staircase_of(whole.info, read_events(whole.folder)).summary()  # type: ignore[union-attr]
    if taker is Limited:  # what people have seen of a trial that was cut off is replaced
        assert lasting(broken.folder).equals(lasting(whole.folder))


def test_pages_of_an_adaptive_session_do_not_say_how_many_trials_there_are(tmp_path: Path) -> None:
    (tmp_path / "short.yaml").write_text(
        "extends: vsr\nparadigm: short\n"
        + "designs: {span: {adaptive: {factor: list_length, start: 2, trials: 6}, breaks: {trials: 2, accuracy:"
        " true}}}\n",
        encoding="utf-8",
    )
    paradigm = load_paradigm(tmp_path / "short.yaml")
    agent = Person(2)
    session = adaptive(tmp_path, paradigm, agent)
    Runner(session, agent).run()
    pauses = [body for body in agent.told if "trials are done" in body]
    assert len(pauses) == 2
    assert not any(" of 6" in body for body in pauses)
    assert "100 %" in pauses[0]
    breaks = [event for event in read_events(session.folder) if event["event"] == "break"]
    assert [event["trials_done"] for event in breaks] == [2, 4]


def test_fewer_trials_may_be_asked_for(tmp_path: Path, vsr: Paradigm) -> None:
    session = adaptive(tmp_path, vsr, Limited(9), trials=4)
    Runner(session, Limited(9)).run()
    assert levels_of(session) == [3, 3, 4, 4]
    assert complete(session.folder)


def test_trials_that_leave_a_level_open_need_their_design(tmp_path: Path, vsr: Paradigm) -> None:
    plan = plan_session(vsr, 1, session_design(vsr, "span"))
    with pytest.raises(SpanLabError, match="leave list_length open, and the design 'human' does not decide"):
        begin(tmp_path, vsr, Limited(3), plan, Request(design="human"))


def test_a_record_that_contradicts_the_staircase_is_damaged(tmp_path: Path, vsr: Paradigm) -> None:
    session = adaptive(tmp_path, vsr, Limited(5), trials=5)
    Runner(session, Limited(5)).run()
    log = session.folder / "events.jsonl"
    log.write_text(log.read_text(encoding="utf-8").replace('"list_length":4', '"list_length":7'), encoding="utf-8")
    with pytest.raises(SpanLabError, match="trial 3 does not have the level"):
        trials_left(read_session(session.folder), read_events(session.folder))


def test_stairs_lead_from_easy_to_hard_in_the_order_of_the_file(tmp_path: Path) -> None:
    """Where a smaller level is harder, who is right goes down to it."""
    (tmp_path / "fine.yaml").write_text(
        "paradigm: fine\nversion: 1\ntitle: Fine\nfactors: {difference: [32, 16, 8, 4, 2, 1]}\n"
        "draw: {side: {one_of: {of: [left, right]}}}\n"
        "timeline:\n  - phase: probe\n    show: {blank: {}}\n"
        "    ask: {choice: {options: [left, right]}, answer: =side}\n"
        "instructions: {en: Which side?}\n"
        "designs: {human: {adaptive: {factor: difference, start: 16, trials: 30}}}\n",
        encoding="utf-8",
    )
    paradigm = load_paradigm(tmp_path / "fine.yaml")
    planned = staircase_rule(paradigm, "human", plan_session(paradigm, 1))
    assert planned is not None
    assert planned["stairs"] == [32, 16, 8, 4, 2, 1]
    for right, last in ((True, 1), (False, 32)):
        staircase = Staircase.begin(StaircaseRule.read(planned))  # type: ignore[arg-type]
        while not staircase.over:
            staircase.take(right)
        assert staircase.level == last
        assert staircase.summary()["highest_reached"] == (1 if right else 16)
    assert "is fine" in check_paradigm(tmp_path / "fine.yaml")


@pytest.mark.parametrize(
    ("design", "message"),
    [
        ("{adaptive: {factor: list_lenght, start: 3}}", "no factor 'list_lenght'; did you mean 'list_length'"),
        ("{adaptive: {factor: list_length, start: 11}}", "11 is not a level of 'list_length'"),
        ("{factors: {list_length: [2, 3, 4]}, adaptive: {factor: list_length, start: 5}}", "one of the levels in use"),
        ("{adaptive: {factor: list_length, start: 9}}", "begins at list_length = 9, the last level in the file"),
        ("{adaptive: {factor: list_length, start: 3, trials: 12}}", "does not reach list_length = 9.* more than 12"),
        ("{adaptive: {factor: list_length, start: 3}, repetitions: 2, blocks: 3}", "leave out repetitions, blocks"),
        ("{adaptive: {factor: list_length}}", "'start' is missing"),
        ("{adaptive: {factor: list_length, start: 3, up: 2}}", "unknown key 'up'"),
        ("{adaptive: {factor: list_length, start: 3, share: 0}}", "a number above 0"),
    ],
)
@pytest.mark.slow
def test_mistakes_in_a_design_are_told(tmp_path: Path, design: str, message: str) -> None:
    (tmp_path / "mine.yaml").write_text(
        f"extends: vsr\nparadigm: mine\ndesigns: {{span: {design}}}\n", encoding="utf-8"
    )
    with pytest.raises(ParadigmError, match=message):
        check_paradigm(tmp_path / "mine.yaml")


@pytest.mark.slow
def test_the_command_line_tells_the_span(tmp_path: Path, run: Run) -> None:
    out = output_of(*run("replay", "vsrec", "--design", "span", "--agent", "capacity:4"))
    assert out.startswith("span: list length ")
    status, _, err = run("scores", "data")
    assert status == 1
    assert f"so its curves cannot be compared with others. S{out.splitlines()[0][1:]}." in " ".join(err.split())
    out = output_of(*run("replay", "sfr", "--design", "span", "--agent", "chance", "--trials", "5"))
    assert out.startswith("no span can be estimated")
    status, _, err = run("replay", "sfr", "--design", "span", "--agent", "ideal", "--set", "list_length=3")
    assert status == 1
    assert "leave out --set list_length" in err
    output_of(*run("replay", "--like", "data/vsrec-capacity-4-s1", "--agent", "ideal"))
    assert (tmp_path / "data" / "vsrec-ideal-s1").is_dir()


# -- span tests ------------------------------------------------------------------------------------


def span_test(**other: Any) -> Staircase:
    return Staircase.begin(
        StaircaseRule(
            **{
                "factor": "list_length",
                "stairs": LADDER,
                "start": 3,
                "trials": 200,
                "share": 1.0,
                "rule": "span",
                **other,
            }
        )
    )


@given(st.lists(st.booleans(), max_size=60), st.integers(1, 4), st.integers(1, 4))
def test_a_span_test_goes_on_while_lists_of_a_length_are_right(answers: list[bool], lists: int, failures: int) -> None:
    failures = min(failures, lists)
    test, given_answers = span_test(lists=lists, failures=failures), iter(answers)
    for correct in given_answers:
        if test.over:
            break
        test.take(correct)
    by_level = {
        level: [one for at, one in zip(test.levels, test.correct, strict=True) if at == level]
        for level in dict.fromkeys(test.levels)
    }
    assert test.levels == sorted(test.levels)
    passed = [level for level, taken in by_level.items() if len(taken) == lists and taken.count(False) < failures]
    assert test.span == max(passed, default=None)
    for level, taken in by_level.items():
        if level + 1 in by_level:
            assert level in passed, "the next length comes when this one was passed"
        assert taken.count(False) <= failures
    assert test.over == (any(taken.count(False) >= failures for taken in by_level.values()) or LADDER[-1] in passed)


@pytest.mark.parametrize(
    ("given_answer", "correct"),
    [("1 2 3", True), ("1 2 3 4", False), ("1 2", False), ("1 3 2", False), ("1 2 3 blank", True)],
)
def test_a_list_with_an_item_too_many_is_not_a_correct_one(given_answer: str, correct: bool) -> None:
    kind = SerialOrder.model_validate({"options": 9, "take": 3, "free": True, "layout": "3x3"})
    right, answer = kind.parse("1 2 3"), kind.parse(given_answer)
    assert right is not None
    assert rule(rule="span").correct([asdict(score) for score in kind.score(answer, right)]) == correct


def test_the_classical_rule_two_lists_a_length_and_an_end_after_two_failures() -> None:
    test = span_test()
    for correct in (True, True, False, True, True, False, False, False):
        assert not test.over
        test.take(correct)
    assert test.over
    assert test.levels == [3, 3, 4, 4, 5, 5, 6, 6]
    assert test.span == 5
    assert test.summary()["correct_trials"] == 4
    assert test.summary().get("rule") == "span"
    below = span_test()
    below.take(False)
    below.take(False)
    assert (below.over, below.span) == (True, None)
