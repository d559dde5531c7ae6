"""What is interrupted for people: nothing finished is lost, and nobody sees the same stimuli again."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from effort import HANGS_S
from session_tools import AtTheWindow, Guessing, Saying, start, starts, take

from spanlab.agents.base import Response
from spanlab.agents.human.seating import parse_simulate
from spanlab.agents.oracles import IdealAgent
from spanlab.core.errors import SpanLabError
from spanlab.paradigms import Paradigm, Percept, PlannedTrial, load_paradigm, plan_session
from spanlab.paradigms.compile import drawn_values
from spanlab.paradigms.design import replacement
from spanlab.paradigms.language.schema import SessionDesign
from spanlab.sessions import Runner, Session, read_responses, reopen, same_trials
from spanlab.sessions.replaying import recorded_agent


def left_and_resumed(data: Path, paradigm: Paradigm, *leaves: int, trials: Any = 3, **options: Any) -> Session:
    """A session of a person who leaves after so many answers, again and again, and comes back each
    time."""
    session = start(data, paradigm, AtTheWindow(Guessing()), trials, **options)
    for answers in leaves:
        with pytest.raises(SpanLabError, match="gone"):
            Runner(reopen(session.folder), AtTheWindow(Guessing(answers))).run()
    Runner(reopen(session.folder), AtTheWindow(Guessing())).run()
    return session


@pytest.fixture(scope="module")
def nback() -> Paradigm:
    return load_paradigm("nback_verbal")


def test_half_a_block_is_not_shown_again(tmp_path: Path, nback: Paradigm) -> None:
    """The second block is left in its middle, twice: a whole one follows, of the same condition and
    length, with other letters each time."""
    length = len(
        [
            step
            for step in plan_session(nback, 1, SessionDesign(), trials=3)[0].compile(nback, "corrected").steps
            if step.percept.ask
        ]
    )
    session = left_and_resumed(tmp_path, nback, length + 10, 5)
    attempts = [(event["trial"], event["attempt"]) for event in starts(session.folder)]
    assert attempts == [("1", 1), ("2", 1), ("2", 2), ("2", 3), ("3", 1)]
    second = starts(session.folder)[1:4]
    assert len({event["trial_id"] for event in second}) == len({event["seed"] for event in second}) == 3
    assert all(event["levels"] == second[0]["levels"] for event in second), "the levels of random factors too"
    letters = [repr(drawn_values(nback, event["levels"], event["seed"] or 0)) for event in second]
    assert len(set(letters)) == 3
    table = read_responses(session.folder)
    assert table[table["trial"] == 2]["trial_id"].unique().tolist() == [second[2]["trial_id"]]
    assert len(table[table["trial"] == 2]) == second[0]["levels"]["block_length"]
    whole = take(tmp_path / "whole", nback, AtTheWindow(Guessing()), 3)
    assert (
        table[table["trial"] != 2]["trial_id"].tolist()
        == (other := read_responses(whole.folder))[other["trial"] != 2]["trial_id"].tolist()
    )


def test_replacements_follow_from_the_session_alone(nback: Paradigm) -> None:
    plan = plan_session(nback, 7, SessionDesign(), trials=8)
    again = [replacement(nback, planned, 7, attempt) for planned in plan for attempt in range(2, 30)]
    assert again == [replacement(nback, planned, 7, attempt) for planned in plan for attempt in range(2, 30)]
    seeds = [planned.seed for planned in plan] + [planned.seed for planned in again]
    assert len(set(seeds)) == len(seeds)
    assert {planned.seed for planned in again}.isdisjoint(
        replacement(nback, planned, 8, attempt).seed for planned in plan for attempt in range(2, 30)
    )
    assert replacement(nback, PlannedTrial(1, 1, plan[0].levels, 1, practice=True), 7, 2).seed not in seeds


def test_practice_that_was_left_is_replaced_too(tmp_path: Path) -> None:
    first, again = starts(left_and_resumed(tmp_path, load_paradigm("vsr"), 1, practice=True).folder)[:2]
    assert (first["trial"], first["attempt"], again["trial"], again["attempt"]) == ("p1", 1, "p1", 2)
    assert first["levels"] == again["levels"]
    assert first["trial_id"] != again["trial_id"]


def test_trials_that_were_given_come_again(tmp_path: Path) -> None:
    vsr = load_paradigm("vsr")
    plan = [
        PlannedTrial(1, n, {"list_length": 3}, n, draws=drawn_values(vsr, {"list_length": 3}, 50 + n)) for n in (1, 2)
    ]
    session = left_and_resumed(tmp_path, vsr, 4, trials=plan)
    assert [(event["trial"], event["attempt"]) for event in starts(session.folder)] == [("1", 1), ("2", 1), ("2", 2)]
    assert len({event["trial_id"] for event in starts(session.folder)}) == 2


def test_machines_get_the_very_trials_that_the_person_finished(tmp_path: Path) -> None:
    vsr = load_paradigm("vsr")
    person = left_and_resumed(tmp_path, vsr, 4, 1, levels={"list_length": 3})
    like = same_trials(person.folder)
    machine = take(tmp_path, vsr, IdealAgent(), like.plan)
    assert read_responses(machine.folder)["trial_id"].tolist() == read_responses(person.folder)["trial_id"].tolist()
    again = take(tmp_path, vsr, recorded_agent(f"recorded:{person.folder}"), like.plan)
    assert read_responses(again.folder)["answer"].tolist() == read_responses(person.folder)["answer"].tolist()


def test_machines_take_an_interrupted_trial_as_it_was(tmp_path: Path) -> None:
    session = start(tmp_path, load_paradigm("vsr"), Saying(Guessing()), 3)
    with pytest.raises(SpanLabError, match="gone"):
        Runner(session, Saying(Guessing(4))).run()
    Runner(reopen(session.folder), Saying(Guessing())).run()
    assert read_responses(session.folder)["seed"].unique().tolist() == [planned.seed for planned in session.plan]


def test_what_a_person_has_begun_to_see_is_on_the_disk(tmp_path: Path) -> None:
    """After a kill in the middle of a trial it is known that it had begun."""
    seen: list[bytes] = []
    session: Session

    def look(percept: Percept, number: int) -> Response:
        path, end = session.folder / "events.jsonl", time.monotonic() + HANGS_S
        while b'"trial_start"' not in path.read_bytes() and time.monotonic() < end:
            time.sleep(0.005)
        seen.append(path.read_bytes())
        return Guessing()(percept, number)

    session = start(tmp_path, load_paradigm("vsr"), AtTheWindow(look), 1)
    Runner(session, AtTheWindow(look)).run()
    assert b'"trial_start"' in seen[0]
    assert b'"trial_end"' not in seen[0]


# -- rehearsals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("simulate", "meant"),
    [
        ("ideal", ("ideal", 1.0)),
        ("ideal@8", ("ideal", 8.0)),
        ("capacity:5@0.5", ("capacity:5", 0.5)),
        ("capacity@100", ("capacity", 100.0)),
    ],
)
def test_observer_and_speed_of_a_rehearsal(simulate: str, meant: tuple[str, float]) -> None:
    assert parse_simulate(simulate) == meant


@pytest.mark.parametrize("speed", ["", "0", "fast", "nan", "1000"])
def test_speeds_that_are_none(speed: str) -> None:
    with pytest.raises(SpanLabError, match=r"a number from 0\.1 to 100, such as capacity@8"):
        parse_simulate(f"capacity@{speed}")
