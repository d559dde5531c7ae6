"""What people and assistants decide on pages of a study: consent, and what becomes of practice that
was not passed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from command_line import Run, complaint, output_of
from lab_pages import easy, wrong
from session_tools import start
from study_files import STUDY, Guest, files, refuses, sit, study_in, take

from spanlab.agents.base import Response
from spanlab.core.atomic_files import read_lines
from spanlab.core.errors import SpanLabError
from spanlab.paradigms import Percept, plan_practice
from spanlab.sessions import Runner, Session, read_responses
from spanlab.sessions.practice import NotPassedError
from spanlab.sessions.record.reader import read_events
from spanlab.sessions.studies.battery import Battery, NoConsentError
from spanlab.sessions.studies.participants import people
from spanlab.sessions.studies.study import Study
from spanlab.sessions.studies.visit_files import states


def journal(folder: Path) -> list[dict[str, Any]]:
    return [dict(line) for line in read_lines(folder / "battery.jsonl")]


# -- consent ---------------------------------------------------------------------------------------


def test_who_does_not_agree_takes_nothing_and_it_is_on_record(study: Study, data: Path, run: Run) -> None:
    guest = refuses()
    with pytest.raises(NoConsentError, match="p01 does not agree to take part"):
        take(study, data, guest=guest)
    assert guest.offered == [("agree", "refuse")]
    assert [what for what in guest.happened if not what.startswith("page")] == []
    assert (
        guest.pages[-1]
        == "Thank you: You have not agreed to take part, so the session ends here. Please tell the experimenter."
    )
    (folder,) = (data / "pair" / "refused-person-1").iterdir()
    assert [line["event"] for line in journal(folder)] == ["begun", "refused"]
    assert not states(folder)
    out = output_of(*run("study", "status", study.file, "--data", data))
    assert f"consent refused {journal(folder)[-1]['at'][:10]}" in out


def test_who_refused_begins_anew_and_may_agree(study: Study, data: Path, run: Run) -> None:
    with pytest.raises(NoConsentError):
        take(study, data, guest=refuses())
    guest = Guest()
    visit = take(study, data, guest=guest)
    assert guest.offered == [("agree", "refuse")]
    assert [line["event"] for line in journal(visit.folder)] == ["begun", "consent", "finished"]
    assert visit.person.number == 2
    assert "consent refused" in run("study", "status", study.file, "--data", data)[1]


def asked(study: Study, data: Path, **wanted: Any) -> int:
    """How many times consent is asked in a session."""
    take(study, data, guest=(guest := Guest()), **wanted)
    return len(guest.offered)


def test_consent_is_asked_once_of_a_text(study: Study, data: Path, tmp_path: Path) -> None:
    assert asked(study, data) == 1
    assert asked(study, data, existing="resume") == 0
    assert asked(study, data, existing="new") == 0
    assert asked(study, data, session=2, language="de") == 1, "another text"
    assert asked(study, data, session=2, existing="new") == 0
    assert asked(study, data, participant="p02", session=2) == 1, "somebody else"
    (folder,) = (path for path in (data / "pair" / "p01").iterdir() if path.name == "session-2-run-2")
    assert [line.get("given_in") for line in journal(folder) if line["event"] == "consent"] == ["session-1"]
    changed = study_in(tmp_path, STUDY.replace("Do you agree?", "Do you agree to all of it?"))
    assert asked(changed, data, session=2, existing="new") == 1
    assert asked(study_in(tmp_path), data, session=2, existing="new") == 0


def test_a_refusal_at_the_command_line(run: Run, study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    from spanlab.agents.human import seating

    monkeypatch.setattr(seating, "seat", lambda *_: refuses())
    told = complaint(
        *run(
            "run",
            "study.yaml",
            "--participant",
            "p01",
            "--session",
            "2",
            "--field",
            "age=23",
            "--field",
            "sex=f",
            "--field",
            "hours=7",
        )
    )
    first, last = told.strip().splitlines()[-2:]
    assert first == "p01 does not agree to take part, so nothing began; the refusal is recorded (spanlab study status)"
    assert last == "To ask again, run the same command; nothing that identifies the participant is kept"


# -- practice that is not passed -------------------------------------------------------------------


class Learner(Guest):
    """Answers wrongly; the assistant decides so."""

    def __init__(self, decides: list[str]) -> None:
        super().__init__()
        self.decides, self.say = decides, wrong


def begun(tmp_path: Path, guest: Guest) -> Session:
    return start(tmp_path, easy(tmp_path, "stop"), guest, 1, practice=True)


def decisions(session: Session) -> list[Any]:
    return [
        event.get("decided", event.get("passed"))
        for event in read_events(session.folder)
        if event["event"].startswith("practice")
    ]


def test_the_assistant_may_go_on_regardless(tmp_path: Path) -> None:
    session = begun(tmp_path, guest := Learner(["go_on"]))
    Runner(session, guest).run()
    assert guest.offered == [("again", "go_on", "leave")]
    assert decisions(session) == [False, "go_on"]
    table = read_responses(session.folder)
    assert table[table.practice].trial.nunique() == 2
    assert (~table.practice).any()


def test_the_assistant_may_have_practice_once_more(tmp_path: Path) -> None:
    session = begun(tmp_path, guest := Learner(["again", "again", "go_on"]))
    Runner(session, guest).run()
    assert len(guest.offered) == 3
    assert decisions(session) == [False, "again", False, "again", False, "go_on"]
    table = read_responses(session.folder)
    practised = table[table.practice]
    assert practised.trial_id.nunique() == practised.trial.nunique() == 4, "other trials in each round"


def test_practice_may_be_passed_in_the_round_that_the_assistant_granted(tmp_path: Path) -> None:
    session = begun(tmp_path, guest := Learner(["again"]))
    third = plan_practice(session.paradigm, session.seed, 3)[0].compile(session.paradigm, "corrected")
    answers = iter([step.truth.answer for step in third.steps if step.percept.ask is not None])

    def learnt(percept: Percept, number: int) -> Response:
        return Response(next(answers, 0), 500.0) if guest.offered else wrong(percept, number)

    guest.say = learnt
    Runner(session, guest).run()
    assert decisions(session) == [False, "again", True]
    assert len(guest.offered) == 1


@pytest.mark.parametrize("before", [["leave"], ["again", "leave"]])
def test_who_leaves_is_asked_again_at_the_next_start(tmp_path: Path, before: list[str]) -> None:
    session = begun(tmp_path, guest := Learner(list(before)))
    with pytest.raises(NotPassedError):
        Runner(session, guest).run()
    trials = len(guest.seen)
    Runner(session, again := Learner(["go_on"])).run()
    assert again.offered == [("again", "go_on", "leave")]
    assert not [percepts for context, percepts in again.seen[:-1]], "no round of practice is taken twice"
    assert trials == 1 + len(before)
    assert decisions(session)[-2:] == ["leave", "go_on"]
    # what was decided holds at every later start
    Runner(session, later := Learner([])).run()
    assert later.offered == []


BLOCKED = """
study: blocked
title: Blocked
paradigms: [{paradigm: easy.yaml, trials: 1}, {paradigm: sfr, set: {list_length: 1}, trials: 1, practice: false}]
"""


def test_a_study_says_who_has_not_passed_and_goes_on_where_the_assistant_lets_it(
    tmp_path: Path, data: Path, run: Run
) -> None:
    easy(tmp_path, "stop")
    study = study_in(tmp_path, BLOCKED)
    with pytest.raises(NotPassedError):
        take(study, data, fields={}, guest=Learner(["leave"]))
    out = run("study", "status", study.file, "--data", data)[1]
    assert "easy: practice not passed" in out
    assert "went on" not in out
    visit = take(study, data, existing="resume", fields={}, guest=Learner(["go_on"]))
    assert [state.finished for state in states(visit.folder).values()] == [True, True]
    assert "easy: practice not passed, went on" in run("study", "status", study.file, "--data", data)[1]


def test_a_rehearsal_goes_on_to_what_comes(tmp_path: Path) -> None:
    session = begun(tmp_path, guest := Learner([]))
    Runner(session, guest).run()
    assert decisions(session) == [False, "go_on"]


# -- a start that fails ----------------------------------------------------------------------------


def test_a_start_that_fails_leaves_neither_folder_nor_number(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from spanlab.agents.human import seating

    class NoWindow(Guest):
        def open(self) -> None:
            raise SpanLabError("a canvas of 10 degrees does not fit")

    monkeypatch.setattr(seating, "seat", lambda *_: (sat.append(guest := NoWindow()), guest)[1])
    sat: list[NoWindow] = []
    study = study_in(tmp_path)
    answers = ("--field", "age=23", "--field", "sex=f", "--field", "hours=7")
    assert "a canvas of 10 degrees does not fit" in complaint(
        *run("run", "study.yaml", "--participant", "p01", "--session", "1", *answers)
    )
    assert sat[0].closed == 1
    (tmp_path / "own.yaml").write_text(
        "extends: vsr\nparadigm: own\nfactors: {list_length: [2, 3, 12]}\n", encoding="utf-8"
    )
    (tmp_path / "faulty.yaml").write_text(
        "study: pair\ntitle: S\nparadigms: [sfr, {paradigm: own.yaml, trials: 9}]\n", encoding="utf-8"
    )
    assert "cannot take 12 different ones of 9" in complaint(*run("run", "faulty.yaml", "--participant", "p01"))
    assert not (tmp_path / "data").exists()
    # nor does it spoil what is there
    Battery(sit(study, tmp_path / "data", "p02"), Guest()).run()
    before = files(tmp_path / "data")
    complaint(*run("run", "faulty.yaml", "--participant", "p01"))
    complaint(*run("run", "study.yaml", "--participant", "p03", "--session", "2", *answers))
    assert files(tmp_path / "data") == before
    assert [person.name for person in people(tmp_path / "data" / "pair")] == ["p02"]
