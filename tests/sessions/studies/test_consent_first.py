"""Consent comes before every question about a participant, at the window and in a browser; of who
refuses, nothing that was typed stays on the disk."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from study_files import STUDY, AwayError, Guest, refuses, sit, study_in, take

from spanlab.core.errors import SpanLabError
from spanlab.extensions.browser.visits.offers import StudyOffer
from spanlab.sessions import find_sessions, read_session
from spanlab.sessions.studies.battery import Battery, NoConsentError
from spanlab.sessions.studies.participants import changing, people
from spanlab.sessions.studies.study import Study
from spanlab.sessions.studies.visit import Visit
from spanlab.sessions.studies.visit_files import read_head

#: what is typed about the participant, and the words by which it is found: none that a hash or a
#: time could hold by chance
TYPED = {"age": "97", "sex": "f", "hours": "7,5371946281", "note": "my name is Anna Zweig"}
WORDS = (b"5371946281", b"Anna", b"Zweig", b"my name")


def kept(folder: Path) -> set[bytes]:
    """The words that stand in any byte below a folder, or in a name."""
    content = b"\n".join(
        str(path.relative_to(folder)).encode() + (path.read_bytes() if path.is_file() else b"")
        for path in folder.rglob("*")
    )
    return {word for word in WORDS if word in content}


def test_of_who_refuses_nothing_that_was_typed_stays(study: Study, data: Path) -> None:
    with pytest.raises(NoConsentError):
        take(study, data, guest=refuses(), fields=TYPED)
    assert (data / "pair" / "refused-person-1" / "session-1" / "battery.jsonl").exists()
    assert kept(data) == set()


@pytest.mark.parametrize("name", ["unmistakable-7f3", "7"])
@pytest.mark.parametrize(
    ("killed", "ended"), [(False, None), (True, None), (False, AwayError), (False, KeyboardInterrupt)]
)
def test_of_who_refuses_the_identifier_does_not_stay(
    study: Study, data: Path, name: str, killed: bool, ended: type[BaseException] | None
) -> None:
    def leaves(what: str) -> None:
        if ended and "Thank you" in what:
            raise ended

    take(study, data, "p02", fields=TYPED)
    (job := data / ".app" / "jobs" / "20260101-000000-000000").mkdir(parents=True)
    (job / "job.json").write_text(
        json.dumps({"arguments": ["run", "--participant", name, "--field", "age=23"]}), encoding="utf-8"
    )
    with pytest.raises(NoConsentError):
        take(study, data, name, guest=refuses(leaves))
    assert not [*job.iterdir()], "the app has started the session with what was typed"
    if killed:  # before the list was written
        with changing(data / "pair") as listed:
            listed.execute("UPDATE people SET name = ? WHERE name = 'refused-person-2'", (name,))
        take(study, data, "p03")
    assert not (data / "pair" / name).exists()
    for path in data.rglob("*"):
        text = f"{path.name}\n" + (path.read_text("utf-8", "replace") if path.is_file() else "")
        assert f'"participant":"{name}"' not in text.replace(" ", "")
        assert name == "7" or name not in text
    assert [person.number for person in people(data / "pair")] == ([1, 2, 3] if killed else [1, 2])


def test_who_has_agreed_before_keeps_the_data(study: Study, data: Path) -> None:
    take(study, data, fields=TYPED)
    other = study_in(data.parent, STUDY.replace("Do you agree?", "Do you still agree?"))
    with pytest.raises(NoConsentError):
        take(other, data, session=2, guest=refuses())
    assert len(find_sessions([data / "pair" / "p01"])) == 3


def test_what_was_typed_is_kept_once_the_participant_agrees(study: Study, data: Path) -> None:
    visit = take(study, data, fields=TYPED)
    assert kept(data) == set(WORDS)
    wanted = {"age": 97, "sex": "f", "hours": 7.5371946281, "note": "my name is Anna Zweig"}
    assert read_head(visit.folder)["fields"] == wanted
    assert all(read_session(folder)["study"]["fields"] == wanted for folder in find_sessions([data]))


def test_nothing_is_kept_before_the_answer_however_the_session_stops(study: Study, data: Path) -> None:
    class LeftError(SpanLabError):
        pass

    def leaves(what: str) -> None:
        if what == "page: Consent":
            raise LeftError

    with pytest.raises(LeftError):
        take(study, data, guest=Guest(leaves), fields=TYPED)
    assert kept(data) == set()
    assert read_head(take(study, data, existing="resume", fields=TYPED).folder)["fields"]["age"] == 97


def test_who_goes_on_before_the_questions_has_to_answer_them(study: Study, data: Path) -> None:
    sit(study, data)
    with pytest.raises(SpanLabError, match="age: this is required"):
        sit(study, data, existing="resume", fields={})
    take(study, data, existing="resume", fields=TYPED)
    take(study, data, existing="resume", fields={})  # they were answered


def test_the_questions_come_after_consent_and_only_then(study: Study, data: Path) -> None:
    happened: list[str] = []

    class Asked(Guest):
        def _happens(self, what: str) -> None:
            happened.append(what)
            super()._happens(what)

    def ask(visit: Visit) -> Mapping[str, Any]:
        happened.append("questions")
        return {"age": 97}

    Battery(sit(study, data, asked_later=True, fields={}), Asked(), ask=ask).run()
    assert happened[:2] == ["page: Consent", "questions"]
    Battery(sit(study, data, session=2, asked_later=True, fields={}), Asked(), ask=ask).run()
    assert happened.count("page: Consent") == 1, "agreed before"
    assert happened.count("questions") == 2
    guest = refuses()
    happened.clear()
    with pytest.raises(NoConsentError):
        Battery(sit(study, data, "p02", asked_later=True, fields={}), guest, ask=ask).run()
    assert happened == []


def test_a_study_without_consent_asks_at_once(tmp_path: Path, data: Path) -> None:
    consent = next(line for line in STUDY.splitlines(keepends=True) if line.startswith("consent"))
    visit = sit(study_in(tmp_path, STUDY.replace(consent, "")), data, fields=TYPED)
    assert read_head(visit.folder)["fields"]["age"] == 97


# -- at a page -------------------------------------------------------------------------------------


def at_the_page(tmp_path: Path, data: Path, refusing: bool) -> list[Mapping[str, Any]]:
    """What the page of a participant is told, who types all of it at every form."""
    from scripted_page import ScriptedPage, Wire

    from spanlab.extensions.browser.visits.serving import make_server, running
    from spanlab.extensions.browser.visits.visits import VisitDesk

    class Page(ScriptedPage):
        def _do(self, message: Mapping[str, Any]) -> None:
            if message["what"] == "choose" and refusing:
                message = {**message, "options": message["options"][::-1]}
            super()._do(message)

    data.mkdir()
    desk = VisitDesk(StudyOffer.checked(study_in(tmp_path), data), print)
    with running(make_server(desk), desk) as port:
        page = Page(Wire(port), typed={**TYPED, "language": "de"})
        assert page.over.wait(120)
        page.close()
    return [
        message
        for line in page.lines
        if (message := json.loads(line)).get("what") in ("form", "choose", "trial", "end")
    ]


def test_a_page_asks_for_consent_before_anything_about_the_participant(tmp_path: Path, data: Path) -> None:
    told = at_the_page(tmp_path, data, refusing=False)
    assert [one["what"] for one in told][:4] == ["form", "choose", "form", "trial"]
    assert [[question["name"] for question in one["questions"]] for one in told if one["what"] == "form"] == [
        ["language"],
        ["age", "sex", "hours", "note"],
    ]
    assert told[2]["questions"][2]["label"] == "Stunden Schlaf", "in the language of the session"
    assert kept(data) == set(WORDS)


def test_a_page_whose_participant_refuses_asks_nothing_and_nothing_is_kept(tmp_path: Path, data: Path) -> None:
    told = at_the_page(tmp_path, data, refusing=True)
    assert [one["what"] for one in told] == ["form", "choose", "end"]
    assert [question["name"] for question in told[0]["questions"]] == ["language"]
    assert kept(data) == set()
