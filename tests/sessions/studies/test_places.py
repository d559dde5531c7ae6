"""Places of a study: so many people and no more, balanced when they come all at once, and free
again when somebody has gone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from command_line import Run, output_of
from study_files import AtTheDoor, AwayError, Guest, refuses, study_in, take

from spanlab.core.atomic_files import only_writer
from spanlab.core.errors import SpanLabError
from spanlab.core.locale import sentence
from spanlab.extensions.browser.visits import offers
from spanlab.extensions.browser.visits.offers import End, StudyOffer
from spanlab.sessions.record import read_session
from spanlab.sessions.studies import participants
from spanlab.sessions.studies.monitoring import Monitor
from spanlab.sessions.studies.participants import DROPPED_OUT, REFUSED, Person, StudyFullError, find, people
from spanlab.sessions.studies.study import Study
from spanlab.sessions.studies.visit import VisitRequest, assigner, check_request, sit_down
from spanlab.sessions.studies.visit_files import JOURNAL, repeat, runs

STUDY = """
study: crowd
title: A crowd
paradigms:
  - {paradigm: sfr, set: {list_length: 1}, trials: 1, practice: false}
  - {paradigm: vsr, set: {list_length: 2}, trials: 1, practice: false}
order: latin_square
"""
GROUPS = "groups: [training, control]\n"
LONG_AGO = "2020-01-01T00:00:00.000+00:00"


def come(study: Study, data: Path, name: str, guest: Guest | None = None) -> End | None:
    """How the visit of somebody ends; None where a place was given and nothing else."""
    try:
        return StudyOffer(study, data).take(name, "", AtTheDoor(guest))
    except AwayError:
        return None


def all_at_once(arrive: Callable[[str], object], count: int) -> list[object]:
    """What becomes of so many who come at the same moment."""
    together, outcomes = threading.Barrier(count), list[object]()

    def arrives(name: str) -> None:
        together.wait()
        try:
            outcomes.append(arrive(name))
        except Exception as error:
            outcomes.append(error)

    threads = [threading.Thread(target=arrives, args=(f"p{n}",)) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    return outcomes


def ages(study: Study, data: Path, name: str) -> None:
    """Nothing is heard of somebody for years."""
    for path in (data / study.name / name).rglob("*.json*"):
        os.utime(path, (1e9, 1e9))


def orders(study: Study, everybody: Iterable[Person]) -> Counter[tuple[str, ...]]:
    return Counter((person.group, *(one.name for one in study.order_for(person.turn, 1))) for person in everybody)


@pytest.mark.slow
def test_of_forty_who_come_at_once_thirty_six_find_places_and_groups_and_orders_are_balanced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, data = study_in(tmp_path, STUDY + GROUPS + "people: 36\n"), tmp_path / "data"
    slowly(monkeypatch)
    outcomes = all_at_once(lambda name: come(study, data, name), 40)
    assert not [one for one in outcomes if isinstance(one, Exception)]
    assert sum(isinstance(one, End) and one.title == sentence("online.no_place_title", "en") for one in outcomes) == 4
    there = people(data / study.name)
    assert sorted(person.number for person in there) == list(range(1, 37))
    assert sorted((person.group, person.place) for person in there) == [
        (group, n) for group in ("control", "training") for n in range(1, 19)
    ]
    assert set(orders(study, there).values()) == {9}
    assert len(orders(study, there)) == 4


def slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between reading who is there and writing who comes, there is time for somebody else."""
    read = participants._listed

    def listed_slowly(*arguments: Any) -> list[Person]:
        there = read(*arguments)
        time.sleep(0.002)
        return there

    monkeypatch.setattr(participants, "_listed", listed_slowly)


def test_who_finds_no_place_is_told_before_anything_is_asked_and_gets_the_code_for_that(tmp_path: Path) -> None:
    full = "{code: FULL7, redirect: 'https://example.org/full'}"
    online = f"online: {{endings: {{completed: {{code: DONE}}, full: {full}}}}}\nfields: [age]\n"
    study, data = study_in(tmp_path, STUDY + "people: 1\n" + online), tmp_path / "data"
    assert come(study, data, "first") is None
    late = AtTheDoor()
    end = StudyOffer(study, data).take("late", "", late)
    assert (end.code, end.redirect, late.asked) == ("FULL7", "https://example.org/full", [])
    assert end.texts == (sentence("online.no_place", "en"),)
    assert find(data / study.name, "late") is None
    assert not (data / study.name / "late").exists()
    assert (
        "study is full (1 of 1 people)"
        in check_request(study, data, VisitRequest("late", fields={"age": "23"}))["participant"]
    )
    assert come(study, data, "first") is None, "who has a place comes back to it"
    assert sit_down(study, data, VisitRequest("pilot1", fields={"age": "23"}, kind="pilot"))[0].person.number == 1, (
        "pilots take nobody's place"
    )


def test_a_drop_out_leaves_the_place_after_the_declared_time_and_may_have_it_again(tmp_path: Path) -> None:
    study, data = study_in(tmp_path, STUDY + "people: 2\nonline: {drop_out_minutes: 90}\n"), tmp_path / "data"
    take(study, data, "stays", guest=Guest(), fields={})
    sit_down(study, data, VisitRequest("gone"), now=lambda: LONG_AGO)
    folder = data / study.name
    assert [(one.name, one.place) for one in people(folder)] == [("stays", 1), ("gone", 2)]
    assert come(study, data, "third") is not None, "its files are new: it has given a sign"
    ages(study, data, "gone")
    ages(study, data, "stays")
    with only_writer(runs(folder, "gone")[0]):
        assert come(study, data, "third") is not None, (
            "a session that runs is no drop-out, however long nothing is written"
        )
    assert come(study, data, "third") is None
    everybody = {str(one.name): one for one in people(folder)}
    assert (everybody["third"].number, everybody["third"].place) == (3, 2), (
        "a number of its own, and the place with its order"
    )
    assert (everybody["gone"].takes_part, everybody["gone"].why) == (False, DROPPED_OUT)
    assert everybody["stays"].takes_part, "who has finished keeps the place"
    assert study.order_for(everybody["third"].turn, 1) == study.order_for(everybody["gone"].turn, 1)
    end = come(study, data, "gone")
    assert end is not None
    assert end.title == sentence("online.no_place_title", "en")
    more = study_in(tmp_path, STUDY + "people: 3\nonline: {drop_out_minutes: 90}\n")
    assert come(more, data, "gone") is None
    back = find(folder, "gone")
    assert back is not None
    assert (back.takes_part, back.number, back.place) == (True, 2, 2)
    assert come(more, data, "fourth") is not None, "the time begins anew when somebody comes back"


def test_who_refuses_leaves_the_place_at_once(tmp_path: Path) -> None:
    study, data = study_in(tmp_path, STUDY + "people: 1\nconsent: {en: Do you agree?}\n"), tmp_path / "data"

    end = come(study, data, "no", refuses())
    assert end is not None
    assert (end.code, end.texts) == ("", (sentence("study.refused", "en"),))
    assert find(data / study.name, "no") is None, "who refuses is known by a number alone"
    (refused,) = people(data / study.name)
    assert (refused.takes_part, refused.why) == (False, REFUSED)
    assert come(study, data, "no", refuses()) is not None, "somebody may think again, as long as there is room"
    assert come(study, data, "yes", Guest()) is not None
    thanked = come(study, data, "no", Guest())
    assert thanked is not None
    assert thanked.title == sentence("online.no_place_title", "en")
    assert [(one.name, one.takes_part) for one in people(data / study.name)] == [
        ("refused-person-1", False),
        ("refused-person-2", False),
        ("yes", True),
    ]


def test_people_without_places_count_by_their_numbers(tmp_path: Path) -> None:
    study, data = study_in(tmp_path, STUDY), tmp_path / "data"
    sit_down(study, data, VisitRequest("p01"))
    assert [one.place for one in people(data / study.name)] == [0]
    limited = study_in(tmp_path, STUDY + "people: 2\n")
    sit_down(limited, data, VisitRequest("p02"))
    assert [one.turn for one in people(data / study.name)] == [1, 2]
    with pytest.raises(StudyFullError):
        assigner(limited, data)(people(data / study.name), "person", 3)


def test_status_says_how_many_places_are_taken_and_who_has_gone(tmp_path: Path, run: Run) -> None:
    study, data = study_in(tmp_path, STUDY + "people: 2\nonline: {drop_out_minutes: 90}\n"), tmp_path / "data"
    sit_down(study, data, VisitRequest("gone"), now=lambda: LONG_AGO)
    ages(study, data, "gone")
    for name in ("p02", "p03"):
        assert come(study, data, name) is None
    printed = output_of(*run("study", "status", "study.yaml"))
    assert "places: 2 of 2 taken" in printed
    assert "dropped out" in next(line for line in printed.splitlines() if " gone " in line)


def test_who_closes_the_last_page_has_done_everything(tmp_path: Path) -> None:
    study, data = study_in(tmp_path, STUDY + "people: 1\nonline: {drop_out_minutes: 90}\n"), tmp_path / "data"
    journal = take(study, data, "p01", fields={}).folder / JOURNAL
    lines = journal.read_text("utf-8").splitlines(keepends=True)
    journal.write_text("".join(line for line in lines if '"finished"' not in line), encoding="utf-8")
    ages(study, data, "p01")
    (person,), places = people(data / study.name), assigner(study, data)
    assert replace(places, clock=lambda: time.time() + 10**6)._why_gone(data / study.name, person) == ""


@pytest.mark.parametrize(("completion", "wanted"), [("only_if_plausible", "ASK"), ("always", "DONE")])
def test_times_that_cannot_be_true_may_end_with_another_code(tmp_path: Path, completion: str, wanted: str) -> None:
    endings = "{completed: {code: DONE}, implausible: {code: ASK}}"
    online = f"online: {{completion: {completion}, endings: {endings}}}\n"
    study, data = study_in(tmp_path, STUDY + online), tmp_path / "data"
    visit = take(study, data, "p01", fields={})
    offer = StudyOffer(study, data)
    assert offer._over(visit.folder, "p01", {}).code == "DONE"  # type: ignore[union-attr]
    events = sorted(visit.folder.glob("*/events.jsonl"))[0]
    lines = [json.loads(line) for line in events.read_text("utf-8").splitlines()]
    for line in lines:
        if line["event"] == "step":
            line["happened"] = {"implausible": ["before its displays"]}
    events.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    assert offer._over(visit.folder, "p01", {}).code == wanted  # type: ignore[union-attr]
    notes = [session.note for session in Monitor(study, data).look(time.time())]
    assert any("not ended as completed" in note for note in notes) == (completion == "only_if_plausible")
    repeat(visit.folder, read_session(events.parent)["study"]["paradigm"], "bad times")  # set aside: it counts no more
    assert offer._end("en", visit.folder, "p01", {}).code == "DONE"


def test_who_loses_the_last_place_while_beginning_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To somebody whom another process of the server lets in."""
    study, data = study_in(tmp_path, STUDY + "people: 1\n"), tmp_path / "data"

    def beaten(study: Study, data: Path, request: VisitRequest) -> Any:
        participants.register(data / study.name, "other", "person", assign=assigner(study, data))
        return sit_down(study, data, request)

    monkeypatch.setattr(offers, "sit_down", beaten)
    thanked = come(study, data, "late", Guest())
    assert thanked is not None
    assert thanked.title == sentence("online.no_place_title", "en")
    assert [one.name for one in people(data / study.name)] == ["other"]


REGISTERS = """
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from spanlab.sessions.studies.participants import register
print("here", flush=True)
sys.stdin.readline()
with ThreadPoolExecutor(6) as pool:
    list(pool.map(lambda n: register(Path(sys.argv[1]), f"{sys.argv[2]}-{n}", "person"), range(24)))
"""


def test_processes_of_several_threads_give_everybody_another_number(tmp_path: Path) -> None:
    """A thread that opens and closes the list must not end the locks of others in its process."""
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    programs = [
        subprocess.Popen([sys.executable, "-c", REGISTERS, str(tmp_path), f"p{number}"], **pipes) for number in range(3)
    ]
    for program in programs:
        assert program.stdout is not None
        assert program.stdout.readline() == "here\n"
    for program in programs:
        assert program.stdin is not None
        program.stdin.write("\n")
        program.stdin.flush()
    for program in programs:
        program.communicate(timeout=120)
    assert [program.returncode for program in programs] == [0, 0, 0]
    assert sorted(person.number for person in people(tmp_path)) == list(range(1, 73))


def test_a_list_that_another_program_holds_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(participants, "_PATIENCE_S", 0.0)
    held, told = participants.changing(tmp_path), pytest.raises(SpanLabError, match="another program holds it")
    with held, told, participants.changing(tmp_path):
        pass
