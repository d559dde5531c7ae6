"""Sessions of studies: who takes what and in which order, what is recorded, and that nothing that
is there is ever overwritten."""

# ruff: noqa: E501

from __future__ import annotations

import shlex
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import Run, complaint
from processes import killed_at, spawned
from study_files import FIELDS, STUDY, Guest, files, sit, study_in, take

from spanlab.core.errors import SpanLabError
from spanlab.sessions import find_sessions, read_responses, read_session
from spanlab.sessions.session import day_here
from spanlab.sessions.studies.battery import Battery
from spanlab.sessions.studies.participants import changing, people, register
from spanlab.sessions.studies.study import Study
from spanlab.sessions.studies.visit import VisitRequest, check_request
from spanlab.sessions.studies.visit_files import read_head, runs, states

# -- what happens ----------------------------------------------------------------------------------


def test_a_session_from_consent_to_the_end(study: Study, data: Path) -> None:
    guest = Guest()
    visit = take(study, data, guest=guest)
    assert visit.folder == data / "pair" / "p01" / "session-1"
    around = [what for what in guest.happened if not what.startswith("trial")]
    assert around[0] == "page: Consent"
    assert [what for what in around if "Break" in what] == ["page: Break 2 s"] * 2
    assert around.count("page: Thank you") == 1, "no paradigm thanks for itself"
    assert guest.pages[-1] == "Thank you: That is all for today.", "the debriefing comes after the last session"
    assert guest.closed == 1, "the window stays open between two paradigms"
    first = [what.removeprefix("trial: ") for what in guest.happened if what.startswith("trial")]
    assert first == [one.paradigm.name for one in visit.order for _ in one.plan(1)]
    last = Guest()
    take(study, data, session=2, guest=last)
    assert "It was about memory" in last.pages[-1]


def test_every_ordinary_session_says_of_which_study_it_is(study: Study, data: Path) -> None:
    visit = take(study, data, "p07", number="7", language="de")
    order = [one.name for one in study.order_for(7, 1)]
    for position, name in enumerate(order, start=1):
        info = read_session(states(visit.folder)[name].folder)
        assert info["study"] == {
            "study": "pair",
            "study_hash": study.hash,
            "session": 1,
            "run": 1,
            "paradigm": name,
            "order": order,
            "position": position,
            "participant_number": 7,
            "fields": {"age": 23, "sex": "f", "hours": 7.5},
        }
        assert (info["participant"], info["language"], info["pilot"]) == ("p07", "de", False)
        assert info["generator"] == ("published" if name == "long" else "corrected")
        assert info["seed"] == next(study.seeds_for(7, 1, name))
    assert len({info["seed"] for info in (read_session(folder) for folder in find_sessions([data]))}) == 3


def test_orders_go_by_number(study: Study, data: Path) -> None:
    orders = [[one.name for one in sit(study, data, f"p{n}").order] for n in range(1, 7)]
    assert len({tuple(order) for order in orders}) == 6  # two squares of three
    assert [person.number for person in people(data / "pair")] == [1, 2, 3, 4, 5, 6]


# -- numbers and identifiers -----------------------------------------------------------------------


def test_numbers_are_given_once(study: Study, data: Path) -> None:
    folder = data / "pair"
    asked = (("a", None), ("b", 3), ("c", None), ("d", None), ("a", None))
    assert [register(folder, name, "person", number).number for name, number in asked] == [1, 3, 2, 4, 1]
    with pytest.raises(SpanLabError, match="the number 3 belongs to b"):
        register(folder, "e", "person", 3)
    # pilots and rehearsals do not use up rows of the Latin square
    assert register(folder, "x", "pilot").number == 1
    assert [register(folder, "", "simulated").name for _ in range(2)] == ["simulated-1", "simulated-2"]


def test_a_list_of_people_that_cannot_be_trusted_is_damaged(data: Path) -> None:
    """Names and kinds become folders, also of people whom somebody else has written down."""
    endless = "WITH RECURSIVE n(x) AS (VALUES (1) UNION ALL SELECT x FROM n) SELECT x FROM n"
    views = ("ALTER TABLE people RENAME TO away", f"CREATE VIEW people AS {endless}")
    updates = [(f"UPDATE people SET {column} = '../x'",) for column in ("name", "kind", "number")]
    for hostile in (*updates, views, ()):
        register(data, "a", "person")
        with changing(data) as listed:
            for change in hostile:
                listed.execute(change)
        if not hostile:
            (data / "places.sqlite").write_bytes(b"not a database")
        for use in (people, lambda folder: register(folder, "b", "person")):
            with pytest.raises(SpanLabError, match=r"places.sqlite is damaged|views may not be indexed"):
                use(data)
        (data / "places.sqlite").unlink()
    for value in (10**30, "\ud800"):
        with pytest.raises(SpanLabError, match=r"places.sqlite is damaged"), changing(data) as listed:
            listed.execute("UPDATE people SET number = ?", (value,))


@pytest.mark.parametrize("name", ["", "a b", "../x", "ä", "-x", "x" * 41, "con", "a/b", "."])
def test_identifiers_that_cannot_be_folders_are_refused(study: Study, data: Path, name: str) -> None:
    assert "participant" in check_request(study, data, VisitRequest(name, fields=FIELDS))
    assert not data.exists()


def test_identifiers_that_are_too_alike_and_other_kinds_are_refused(study: Study, data: Path) -> None:
    take(study, data, "p01")
    assert "differ only in capitals" in check_request(study, data, VisitRequest("P01", fields=FIELDS))["participant"]
    assert (
        "leave out --pilot"
        in check_request(study, data, VisitRequest("p01", "2", fields=FIELDS, kind="pilot"))["participant"]
    )
    assert (
        "has the number 1 permanently"
        in check_request(study, data, VisitRequest("p01", "2", "5", fields=FIELDS))["number"]
    )


def test_all_that_is_wrong_is_told_at_once(study: Study, data: Path) -> None:
    wrong = check_request(study, data, VisitRequest("a b", "3", "x", "fr", {"age": "old", "shoe": "42"}, "again"))
    assert set(wrong) == {"participant", "session", "number", "language", "existing", "age", "shoe", "sex", "hours"}


def test_what_was_asked_once_is_not_asked_again(study: Study, data: Path) -> None:
    take(study, data)
    assert set(check_request(study, data, VisitRequest("p01", "2"))) == {"hours"}
    assert take(study, data, session=2, fields={"hours": "6"}).fields == {"age": 23, "sex": "f", "hours": 6.0}


# -- data that are there ---------------------------------------------------------------------------


@pytest.mark.parametrize("existing", ["", "stop"])
def test_data_that_are_there_stop_a_session(study: Study, data: Path, existing: str) -> None:
    take(study, data)
    before = files(data)
    with pytest.raises(
        SpanLabError,
        match=r"(?s)p01 already has data of session 1 .*vsr 2/2.*resume continues it, new starts another one beside it, stop leaves it",
    ):
        sit(study, data, existing=existing)
    assert files(data) == before


def test_a_new_run_leaves_the_old_one_alone_and_has_other_trials(study: Study, data: Path) -> None:
    old = take(study, data)
    before = files(old.folder)
    new = take(study, data, existing="new")
    assert new.folder.name == "session-1-run-2"
    assert files(old.folder) == before
    seeds = [{read_session(state.folder)["seed"] for state in states(one.folder).values()} for one in (old, new)]
    assert not seeds[0] & seeds[1]
    assert take(study, data, existing="new").folder.name == "session-1-run-3"
    assert [path.name for path in runs(data / "pair", "p01")] == ["session-1", "session-1-run-2", "session-1-run-3"]


def test_nothing_is_left_to_resume_of_a_finished_session(study: Study, data: Path) -> None:
    take(study, data)
    guest = Guest()
    visit = take(study, data, existing="resume", guest=guest)
    assert not [what for what in guest.happened if what.startswith(("trial", "page: Consent"))]
    assert len(find_sessions([visit.folder])) == 3


class _LeaveError(SpanLabError):
    pass


def leave_at(n: int) -> Callable[[str], None]:
    """Leave when the ``n``-th thing is about to happen."""
    left = [n]

    def leaves(what: str) -> None:
        left[0] -= 1
        if left[0] == 0:
            raise _LeaveError("left")

    return leaves


def undisturbed(study: Study, data: Path) -> tuple[list[str], dict[Any, int]]:
    """What happens to p01, and how many rows each session has."""
    guest = Guest()
    take(study, data, guest=guest)
    return guest.happened, read_responses(data).groupby("session").size().to_dict()


@pytest.mark.slow
def test_a_battery_killed_at_every_third_moment_ends_as_if_nothing_had_happened(study: Study, tmp_path: Path) -> None:
    happened, rows = undisturbed(study, tmp_path / "whole")
    data, kills = tmp_path / "killed", 0
    for _ in range(len(happened)):
        status = spawned(killed_at, study.file, data, "resume", 3)
        if status == 0:
            break
        assert status == 9
        kills += 1
    assert kills >= 3
    assert read_responses(data).groupby("session").size().to_dict() == rows
    assert [person.number for person in people(data / "pair")] == [1]


def test_two_processes_cannot_run_the_same_session(study: Study, data: Path) -> None:
    first = sit(study, data)
    second = sit(study, data, existing="resume")

    def intrude(what: str) -> None:
        if what == "page: Consent":
            with pytest.raises(SpanLabError, match="in use by another process"):
                Battery(second, Guest()).run()

    Battery(first, Guest(intrude)).run()


def test_a_session_goes_on_as_it_was_begun_when_the_study_file_has_changed(
    study: Study, data: Path, tmp_path: Path
) -> None:
    with pytest.raises(_LeaveError):
        take(study, data, guest=Guest(leave_at(6)))
    changed = study_in(
        tmp_path,
        STUDY.replace("order: latin_square", "order: fixed")
        .replace("trials: 1", "trials: 9")
        .replace("Rest.", "Sleep."),
    )
    visit = take(changed, data, existing="resume", guest=Guest())
    assert visit.study.hash == study.hash
    assert {state.planned for state in states(visit.folder).values()} == {1, 2}
    assert {read_session(state.folder)["study"]["study_hash"] for state in states(visit.folder).values()} == {
        study.hash
    }
    assert read_head(sit(changed, data, "p02").folder)["study_hash"] == changed.hash


def test_a_fault_in_the_last_paradigm_shows_before_the_first_one(tmp_path: Path, data: Path) -> None:
    (tmp_path / "own.yaml").write_text(
        "extends: vsr\nparadigm: own\nfactors: {list_length: [2, 3, 12]}\n", encoding="utf-8"
    )
    study = study_in(tmp_path, "study: s\ntitle: S\nparadigms: [sfr, {paradigm: own.yaml, trials: 9}]\n")
    guest = Guest()
    with pytest.raises(SpanLabError, match="cannot take 12 different ones of 9"):
        take(study, data, guest=guest, fields={})
    assert not guest.happened


# -- the command line ------------------------------------------------------------------------------

TYPED: list[tuple[str, list[str]]] = [
    ("run study.yaml", ["pair cannot begin (there is no display for the dialog: DISPLAY is not set):", "--participant: this is required", "--session: expected a number from 1 to 2", "--field age=...: this is required (a whole number from 1 to 120)", "--field sex=...: this is required (one of f, m, x, unsaid)", "--field hours=...: this is required (a number from 0 to 24)"]),
    ("run study.yaml --no-dialog --participant a --session 1 --field age=9 --field age=8", ["--field takes NAME=VALUE, each name once"]),
    ("run study.yaml --participant a --session 9 --field age=9 --field sx=f --number 0", ["--session: expected a number from 1 to 2; found '9'", "--field sx=...: the study does not ask 'sx'; did you mean 'sex'?", "--number: a participant's number is a whole number from 1; found 0"]),
    ("run study.yaml --participant a --session 1 --seed 3 --set list_length=3", ["leave out --set and --seed: the study file says that"]),
    ("run vsr --participant a --session 1 --existing new", ["leave out --session and --existing: vsr is not a study file"]),
    ("run study.yaml --participant a --session 1 --existing over", ["--existing: expected resume, new or stop; found 'over'"]),
    ("run study.yaml --participant a --session 1 --field age=9 --field sex=f --field hours=7", ["there is no display (DISPLAY is not set)"]),
    ("study status vsr", ["cannot read vsr"]),
    ("study withdraw study.yaml p01", ["pair has no participant 'p01'"]),
]  # fmt: skip


@pytest.mark.parametrize(("typed", "said"), TYPED, ids=[typed for typed, _ in TYPED])
def test_a_mistake_is_told(run: Run, study: Study, typed: str, said: list[str]) -> None:
    told = complaint(*run(*typed.split()))
    for sentence in said:
        assert sentence in told
    assert not Path("data").exists(), "nothing has begun"


# -- keys and displays -----------------------------------------------------------------------------


def test_sides_change_once_every_order_has_come(tmp_path: Path, data: Path) -> None:
    study = study_in(tmp_path, STUDY.replace("order:", "keys: counterbalanced\norder:"))
    assert [study.keys_for(f"p{n}", n)["swapped"] for n in range(1, 25)] == 2 * (6 * [False] + 6 * [True])
    visit = take(study, data, "p7", number="7")
    assert {read_session(state.folder)["keys"]["swapped"] for state in states(visit.folder).values()} == {True}
    fixed = study_in(tmp_path, STUDY.replace("order: latin_square", "keys: {sides: counterbalanced}\norder: fixed"))
    assert [fixed.keys_for(f"p{n}", n)["swapped"] for n in range(1, 5)] == [False, True, False, True]


def test_a_display_file_that_is_not_there_is_told_before_anything_begins(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "s.yaml").write_text(
        "study: s\ntitle: S\nparadigms: [sfr]\ndisplay: lab/room1.yaml\n", encoding="utf-8"
    )
    monkeypatch.setenv("DISPLAY", ":4711")
    assert "there is no display file at lab/room1.yaml" in complaint(*run("run", "s.yaml", "--participant", "a"))
    assert not Path("data").exists()


@pytest.fixture
def guests(monkeypatch: pytest.MonkeyPatch) -> list[Guest]:
    """Who sits down when the command line asks somebody to: these, in turn."""
    from spanlab.agents.human import seating

    waiting: list[Guest] = []
    monkeypatch.setattr(seating, "seat", lambda *_: waiting.pop(0))
    return waiting


def test_the_command_from_beginning_to_end(run: Run, study: Study, guests: list[Guest]) -> None:
    answers = ("--participant", "p01", "--field", "age=23", "--field", "sex=f", "--field", "hours=7")
    guests += [Guest(leave_at(3)), Guest(), Guest()]
    told = complaint(
        *run("run", "study.yaml", "--session", "2", *answers, "--data", "deep/er", "--language", "de", "--number=4")
    )
    assert "spanlab: p01 (number 4), session 2: cells" in told
    assert "spanlab: p01 has not finished session 1" in told
    told = complaint(*run("run", "study.yaml", "--session", "2", "--data", "deep/er", *answers))
    assert "--existing: p01 already has data of session 2" in told
    status, out, told = run(
        "run",
        "study.yaml",
        "--data",
        "deep/er",
        "--participant",
        "p01",
        "--session",
        "2",
        "--existing",
        "resume",
        "--language",
        "en",
        "--field",
        "age=24",
    )
    assert status == 0
    assert out == "deep/er/pair/p01/session-2\n"
    assert "session 2 goes on: cells" in told
    for words in ("entries about the participant stay as they were", "it goes on in the language in which it began"):
        assert words in told
    status, out, told = run(
        "run", "study.yaml", "--data", "deep/er", "--participant", "p01", "--session", "2", "--existing", "resume"
    )
    assert (status, out) == (0, "nothing to do: session 2 of p01 is finished\n")
    assert not Path("data").exists()


def test_the_last_line_is_the_command_that_goes_on(run: Run, study: Study, guests: list[Guest]) -> None:
    answers = (
        "--field",
        "age=23",
        "--field=sex=f",
        "--field",
        "hours=7",
        "--no-dialog",
        "--participant=p01",
        "--session",
        "1",
    )
    guests += [Guest(leave_at(4)), Guest()]
    told = complaint(*run("run", "study.yaml", *answers, "--data", "da ta", "--pilot"))
    line = told.splitlines()[-1]
    assert line == "The finished trials are safe. Continue with: spanlab resume 'da ta/pair/p01/session-1'"
    status, out, _ = run(*shlex.split(line.partition("spanlab ")[2]))
    assert (status, out) == (0, "da ta/pair/p01/session-1\n")
    assert {read_session(folder)["pilot"] for folder in find_sessions(["da ta"])} == {True}


def test_a_number_without_seeds_is_refused_before_it_is_given(study: Study, data: Path) -> None:
    with pytest.raises(SpanLabError, match="the study has seeds for 87381 participants; found 87382"):
        sit(study, data, number="87382")
    assert not data.exists()
    sit(study, data, number="87381")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Jürgen", "found 'ü'"),
        ("p😀", "found '😀'"),
        ("p 1", "found a blank"),
        ("p\n1", "found a line break"),
        ("-x", "begins with a letter or digit; found '-'"),
        ("a" * 41, "found 41 characters"),
        ("con", "Windows reserves the name 'con'"),
        ("Refused-person-1", "'Refused-person-1' stands for somebody who has refused"),
        ("", "this is required"),
    ],
)
def test_what_is_wrong_with_an_identifier_is_said(study: Study, data: Path, name: str, said: str) -> None:
    assert said in check_request(study, data, VisitRequest(name, fields=FIELDS))["participant"]


def test_a_session_whose_head_is_lost_is_neither_taken_over_nor_overwritten(study: Study, data: Path) -> None:
    (take(study, data).folder / "battery.json").unlink()
    before = files(data)
    with pytest.raises(
        SpanLabError, match=r"session-1 has data, but no battery\.json, which names the participant; restore that file"
    ):
        sit(study, data)
    assert files(data) == before


class Settled(Guest):
    """Says how it sits."""

    def __init__(self, palette: str, leaves: Callable[[str], None] = lambda what: None) -> None:
        super().__init__(leaves)
        self._settings = {"palette": palette}


def test_who_goes_on_with_other_settings_is_told_which(study: Study, data: Path) -> None:
    with pytest.raises(_LeaveError):
        take(study, data, guest=Settled("dark", leave_at(3)))
    with pytest.raises(SpanLabError, match=r"palette was dark and is light\): give the settings it began with"):
        take(study, data, existing="resume", guest=Settled("light"))
    take(study, data, existing="resume", guest=Settled("dark"))


def test_days_are_those_of_the_clock_on_the_wall(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Pacific/Auckland")
    time.tzset()
    try:
        assert day_here("2026-03-02T20:30:00.000+00:00") == "2026-03-03"
    finally:
        monkeypatch.undo()
        time.tzset()
