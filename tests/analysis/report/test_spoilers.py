"""The top of a page names what spoils the rest: each line with a case in which it is there, and one
that is nearly so in which it is not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from analysis_tables import mixed, responses
from report_page import read
from session_tools import AtTheWindow, take

from spanlab.agents import Response
from spanlab.analysis.data.scoring import score_table
from spanlab.analysis.data.sessions import Conduct, SessionFacts, conduct_of
from spanlab.analysis.data.style import name_agents
from spanlab.analysis.report import folder, lab
from spanlab.analysis.report.lab import UNREAD, Timed, TimingPart, spoilers
from spanlab.analysis.report.page import compare
from spanlab.paradigms import load_paradigm

NOBODY = score_table(pd.DataFrame()).items
PERSON = SessionFacts(
    folder=Path("vsr-P01"),
    name="vsr-P01",
    kind="participant",
    agent="participant",
    participant="P01",
    paradigm="vsr",
    label="",
    oracle=False,
    pilot=False,
    title="",
    instructions="",
    human="",
    trials=12,
    planned=12,
    started="",
    finished=True,
    timing=None,
    protocol="practice with feedback and one sitting",
)


def person(name: str, **changes: Any) -> SessionFacts:
    return replace(PERSON, name=f"vsr-{name}", participant=name, **changes)


def timed(*verdicts: str) -> TimingPart:
    sessions = tuple(
        Timed(f"vsr-P0{number}", f"P0{number}", verdict, "", ()) for number, verdict in enumerate(verdicts, start=1)
    )
    return TimingPart("", "", sessions, (), "")


def answers(**people: str) -> pd.DataFrame:
    """Scored items of people in paradigms, and of a network in vsr."""
    tables = [
        responses(
            lambda *_: 0.6,
            kind="participant",
            agent="participant",
            participant=name,
            paradigm=paradigm,
            lengths=(3,),
            repetitions=2,
        )
        for name, where in people.items()
        for paradigm in where.split()
    ]
    return score_table(
        name_agents(mixed(*tables, responses(lambda *_: 0.4, agent="net", lengths=(3,), repetitions=2)))
    ).items


def test_a_page_without_faults_says_nothing() -> None:
    assert spoilers([person("P01"), person("P02")], answers(P01="vsr", P02="vsr"), timed("pass", "pass")) == []
    assert spoilers([], NOBODY, None) == []


# -- timing ----------------------------------------------------------------------------------------


def test_sessions_off_plan_stand_at_the_top() -> None:
    (line,) = spoilers([], NOBODY, timed("look", "pass", "look"))
    assert line == "The timing of 2 of 3 sessions did not pass: P01, P03. The section on timing gives the details."
    (line,) = spoilers([], NOBODY, timed("unknown"))
    assert line.startswith("The timing of 1 of 1 session did not pass (of 1 it is unknown): P01.")


def test_sessions_on_plan_and_displays_that_nobody_saw_are_not_mentioned() -> None:
    assert spoilers([], NOBODY, timed("pass", "pass", "pass")) == []
    unseen = Timed("vsr-sim", "sim", "look", "", (), simulated=True)
    assert spoilers([], NOBODY, TimingPart("", "", (unseen,), (), "")) == []
    of_both = TimingPart("", "", (unseen, Timed("vsr-P01", "P01", "look", "", ())), (), "")
    assert spoilers([], NOBODY, of_both)[0].startswith("The timing of 1 of 1 session did not pass: P01.")


# -- how people's sessions went --------------------------------------------------------------------


def test_people_who_did_not_pass_are_named() -> None:
    sessions = [
        person("P01", conduct=Conduct(practice=False)),
        person("P02", conduct=Conduct(quiz=False, checks=1, checked=3)),
        person("P03"),
    ]
    (line,) = spoilers(sessions, NOBODY, None)
    assert (
        line == "Practice, a quiz or attention checks were not passed in 2 of 3 sessions of people: "
        "P01 (practice not passed), P02 (quiz not passed, 1 of 3 attention checks right)."
    )


def test_people_who_passed_are_not_mentioned() -> None:
    assert (
        spoilers(
            [person("P01", conduct=Conduct(practice=True, quiz=True, checks=3, checked=3)), person("P02")], NOBODY, None
        )
        == []
    )


def test_cuts_and_reloads_are_named() -> None:
    sessions = [
        person("P01", conduct=Conduct(cuts={"paused": 2, "reloaded": 1})),
        person("P02", conduct=Conduct(resumed=1)),
        person("P03"),
    ]
    (line,) = spoilers(sessions, NOBODY, None)
    assert (
        line == "Trials were cut off, or the session was interrupted, in 2 of 3 sessions of people: "
        "P01 (2 trials paused, 1 trial cut off by reloading the page), P02 (resumed 1 time)."
    )


def test_undisturbed_sessions_are_not_mentioned() -> None:
    model = replace(PERSON, kind="chat", participant="", protocol="", conduct=Conduct(resumed=3))
    assert spoilers([person("P01"), model], NOBODY, None) == [], "a machine's answers are the same after it went on"


def test_how_a_session_went_follows_from_its_events() -> None:
    session = {"paradigm_data": {"attention_checks": ["check"]}}
    done = {"trial": "1", "attempt": 1}
    checked = {"event": "step", "ask": 1, "phase": "check", "scores": [{"correct": False, "correct_answer": 1}], **done}
    events: Any = [
        {"event": "practice", "passed": False},
        {"event": "trial_cut", "why": "paused", **done},
        {"event": "trial_cut", "why": "paused", **done},
        {"event": "resumed"},
        checked,
        {**checked, "scores": [{"correct": True, "correct_answer": 1}]},
        {"event": "trial_end", **done},
    ]
    assert conduct_of(session, events) == Conduct(practice=False, checks=1, checked=2, cuts={"paused": 2}, resumed=1)
    assert conduct_of(session, [*events, {"event": "practice", "passed": True}]).practice is True
    assert conduct_of({}, []) == Conduct()


# -- who answered ----------------------------------------------------------------------------------


def test_a_single_person_is_said_to_be_one() -> None:
    assert spoilers([], answers(P01="vsr"), None) == [
        "A single person took part: nothing here says how people differ, or what others would do."
    ]
    assert spoilers([], answers(P01="vsr cd", P02="vsr"), None)[0].startswith(
        "A single person took part in cd: nothing here"
    )


def test_two_people_or_none_are_not() -> None:
    assert spoilers([], answers(P01="vsr", P02="vsr"), None) == spoilers([], answers(), None) == []


def test_simulated_participants_are_not_people() -> None:
    simulated = responses(
        lambda *_: 0.6, kind="simulated", agent="simulated:capacity", participant="S1", lengths=(3,), repetitions=2
    )
    items = score_table(name_agents(simulated)).items
    assert spoilers([], items, None) == [
        "Simulated participant (capacity): no person answered there, or pressed a key."
    ]


def test_people_and_models_are_not_called_simulated() -> None:
    items = mixed(
        answers(P01="vsr", P02="vsr"),
        *(
            responses(lambda *_: 0.6, kind=kind, agent=kind, lengths=(3,), repetitions=2)
            for kind in ("chat", "ideal", "chance")
        ),
    )
    assert spoilers([], score_table(items).items, None) == []


@pytest.fixture
def read_by() -> pd.DataFrame:
    """100 answers of a model."""
    return responses(lambda *_: 0.6, kind="chat", agent="chat:model", lengths=(5,), repetitions=20).astype(
        {"answer": object}
    )


def unread(table: pd.DataFrame, many: int) -> list[str]:
    table.loc[: many - 1, ["outcome", "answer", "correct"]] = ["invalid", None, False]
    return spoilers([], score_table(table).items, None)


def test_a_share_of_unread_answers_is_named(read_by: pd.DataFrame) -> None:
    assert UNREAD == 0.05
    assert unread(read_by, 5) == [
        "Answers that could not be read, or were not allowed, count as wrong: chat:model 5% (57% to 58% right) of all"
        " answers."
    ]


def test_an_unread_answer_now_and_then_is_not_mentioned(read_by: pd.DataFrame) -> None:
    assert unread(read_by, 4) == []


# -- on the page -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_page_begins_with_what_spoils_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A person's session at a window that is off plan: said before any number, and gone when it is
    on plan."""
    monkeypatch.setattr(folder, "save", lambda *_: [])
    take(
        tmp_path / "data",
        load_paradigm("vsr"),
        AtTheWindow(lambda percept, number: Response(3, 500.0)),
        2,
        participant="P01",
    )
    verdicts = {"look": False, "pass": True}
    for verdict, clean in verdicts.items():
        monkeypatch.setattr(
            lab, "_timed", lambda facts, verdict=verdict: Timed(facts.name, facts.participant, verdict, "", ())
        )
        text = read(compare([tmp_path / "data"], tmp_path / verdict)).text
        before = text[text.index("Before you read on") : text.rindex("At a glance")]
        assert ("The timing of 1 of 1 session did not pass: P01." not in before) is clean
        assert "A single person took part: nothing here says how people differ" in before
