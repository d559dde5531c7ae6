"""Sessions of trials whose draws are given: kept in the record, and the same trials after a kill,
for other agents, and for recorded answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import Run, complaint
from session_tools import AtTheWindow, Saying, lasting, start, take

from spanlab.agents.base import Response
from spanlab.agents.network.agent import NetworkAgent
from spanlab.agents.oracles import Chance, IdealAgent
from spanlab.core.errors import SpanLabError
from spanlab.paradigms import Paradigm, Percept, PlannedTrial, load_paradigm, plan_session
from spanlab.paradigms.compile import drawn_values
from spanlab.paradigms.language.schema import SessionDesign
from spanlab.sessions import Runner, read_responses, reopen, same_trials
from spanlab.sessions.replaying import recorded_agent


@pytest.fixture(scope="module")
def vsr() -> Paradigm:
    return load_paradigm("vsr")


def given_plan(paradigm: Paradigm, trials: int = 6) -> list[PlannedTrial]:
    """A session's trials with the draws of quite other ones."""
    plan = plan_session(paradigm, 1, SessionDesign(), trials=trials)
    return [
        PlannedTrial(
            one.block,
            one.trial,
            one.levels,
            one.seed,
            draws=drawn_values(paradigm, one.levels, 1000 + n),
            name=f"train_{n:06d}",
        )
        for n, one in enumerate(plan)
    ]


def test_agents_get_the_given_trials(tmp_path: Path, vsr: Paradigm) -> None:
    plan = given_plan(vsr)
    given_session = take(tmp_path, vsr, IdealAgent(), plan)
    drawn = take(
        tmp_path, vsr, IdealAgent(), [PlannedTrial(one.block, one.trial, one.levels, one.seed) for one in plan]
    )
    slots = [slot for one in plan for slot in (one.draws or {})["slots"]]
    table = read_responses(given_session.folder)
    assert [json.loads(answer) for answer in table["correct_answer"]] == slots
    assert table["correct"].all()
    assert not table["trial_id"].isin(read_responses(drawn.folder)["trial_id"]).any()
    assert (table["seed"].to_numpy() == read_responses(drawn.folder)["seed"].to_numpy()).all()


@pytest.mark.slow
def test_a_network_sees_them_in_batches_as_in_steps(tmp_path: Path, vsr: Paradigm) -> None:
    plan = given_plan(vsr)
    batches = take(tmp_path, vsr, NetworkAgent("laptop"), plan)
    drawn = take(
        tmp_path,
        vsr,
        NetworkAgent("laptop"),
        [PlannedTrial(one.block, one.trial, one.levels, one.seed) for one in plan],
    )
    assert (
        read_responses(batches.folder)["correct_answer"].to_list()
        == read_responses(take(tmp_path, vsr, Chance(), plan).folder)["correct_answer"].to_list()
    )
    assert read_responses(batches.folder)["answer"].to_list() != read_responses(drawn.folder)["answer"].to_list()


def test_the_record_holds_what_was_given_and_nothing_for_other_trials(tmp_path: Path, vsr: Paradigm) -> None:
    plan = given_plan(vsr, 2)
    ordinary = plan_session(vsr, 1, SessionDesign(), trials=1)[0]
    session = start(tmp_path, vsr, IdealAgent(), [*plan, PlannedTrial(1, 3, ordinary.levels, ordinary.seed)])
    stored = json.loads((session.folder / "session.json").read_text(encoding="utf-8"))["plan"]
    assert [set(trial) - {"block", "trial", "levels", "seed", "practice", "interval_ms"} for trial in stored] == [
        {"draws", "name"},
        {"draws", "name"},
        set(),
    ]
    assert [trial["draws"] for trial in stored[:2]] == [one.draws for one in plan]
    assert same_trials(session.folder).plan == session.plan == reopen(session.folder).plan


@pytest.mark.parametrize("stop_after", range(6))
def test_interrupted_it_goes_on_with_the_given_trials(tmp_path: Path, vsr: Paradigm, stop_after: int) -> None:
    plan = given_plan(vsr)
    whole = take(tmp_path / "whole", vsr, Chance(), plan)
    cut = start(tmp_path / "cut", vsr, Chance(), plan)

    def stop(done: int, total: int) -> None:
        if done == stop_after:
            raise KeyboardInterrupt

    if stop_after:
        with pytest.raises(KeyboardInterrupt):
            Runner(cut, Chance(), stop).run()
    log = cut.folder / "events.jsonl"
    if log.exists():
        log.write_bytes(log.read_bytes()[:-150])  # a kill in the middle of a line
    Runner(reopen(cut.folder), Chance()).run()
    assert lasting(cut.folder).equals(lasting(whole.folder))


def test_other_agents_take_the_same_trials_and_recorded_answers_fit(tmp_path: Path, vsr: Paradigm) -> None:
    first = take(tmp_path, vsr, Chance(), given_plan(vsr))
    like = take(tmp_path, vsr, IdealAgent(), same_trials(first.folder).plan, like=first.name)
    assert read_responses(like.folder)["trial_id"].to_list() == read_responses(first.folder)["trial_id"].to_list()
    again = take(tmp_path, vsr, recorded_agent(f"recorded:{first.folder}"), same_trials(first.folder).plan)
    assert read_responses(again.folder)["correct"].to_list() == read_responses(first.folder)["correct"].to_list()
    other = same_trials(take(tmp_path, vsr, Chance(), 6).folder).plan
    with pytest.raises(SpanLabError):
        take(tmp_path, vsr, recorded_agent(f"recorded:{first.folder}"), other)


def test_people_take_them_too_after_ordinary_practice(tmp_path: Path, vsr: Paradigm) -> None:
    def answer(percept: Percept, number: int) -> Response:
        return Response(0, 100.0, "1")

    session = take(tmp_path, vsr, AtTheWindow(answer), given_plan(vsr, 2), practice=True)
    table = read_responses(session.folder)
    assert table["practice"].any()
    slots = [slot for one in session.plan for slot in (one.draws or {})["slots"]]
    assert [json.loads(one) for one in table[~table["practice"]]["correct_answer"]] == slots


def test_what_cannot_be_compiled_is_told_before_anybody_begins(tmp_path: Path, vsr: Paradigm) -> None:
    plan = given_plan(vsr)
    bad = PlannedTrial(1, 7, plan[-1].levels, 7, draws={**(plan[-1].draws or {}), "slots": [0]})
    for agent in (IdealAgent(), Saying(lambda percept, number: Response(0))):
        with pytest.raises(SpanLabError, match="the draw 'slots' that was given: expected a list"):
            start(tmp_path, vsr, agent, [*plan, bad])
    assert not tmp_path.exists() or not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda trial: trial.update(draws=[1]), "'draws' has the wrong form"),
        (lambda trial: trial.update(name=7), "'name' has the wrong form"),
    ],
)
def test_damaged_draws_are_told(
    tmp_path: Path, vsr: Paradigm, change: Callable[[dict[str, Any]], None], told: str, run: Run
) -> None:
    session = start(tmp_path, vsr, IdealAgent(), given_plan(vsr))
    path = session.folder / "session.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    change(content["plan"][3])
    path.write_text(json.dumps(content), encoding="utf-8")
    assert told in complaint(*run("resume", session.folder))


def test_draws_of_another_trial_in_the_record_are_told(tmp_path: Path, vsr: Paradigm, run: Run) -> None:
    session = start(tmp_path, vsr, IdealAgent(), given_plan(vsr))
    path = session.folder / "session.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    content["plan"][3]["draws"]["slots"] = [10]
    path.write_text(json.dumps(content), encoding="utf-8")
    assert "the draw 'slots' that was given" in complaint(*run("resume", session.folder))
