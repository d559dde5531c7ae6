"""Where a link leads: to its own session, to the last page in the participant's language; and a
link that cannot be right says so."""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

import pytest
from chromium import chromium
from scripted_page import ScriptedPage, TrialPage, Wire, until
from study_files import study_in

from spanlab.core.locale import sentence
from spanlab.extensions.browser.visits.offers import StudyOffer
from spanlab.extensions.browser.visits.serving import make_server, running
from spanlab.extensions.browser.visits.visits import VisitDesk
from spanlab.sessions.studies.participants import people, register, withdraw
from spanlab.sessions.studies.visit_files import completed

STUDY = """
study: links
title: Links
languages: [en, de]
paradigms:
  - {paradigm: vsr, set: {list_length: 2}, trials: 2, practice: false}
sessions: [[vsr], [vsr]]
online: {endings: {completed: {code: C0DE42, redirect: 'https://example.org/done'}}}
"""
QUIZ = """
paradigm: understood
version: 1
title: {en: A question, de: Eine Frage}
timeline:
  - phase: order
    show: {blank: {}}
    ask: {choice: {options: ["yes", "no"]}, answer: 'no', prompt: {en: Is it so?, de: Ist es so?}}
instructions: {en: Please answer., de: Bitte antworten Sie.}
translations: {de: {"yes": ja, "no": nein}}
quiz: {otherwise: leave}
"""


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (folder := tmp_path / "data").mkdir()
    return folder


@pytest.fixture
def offer(tmp_path: Path, data: Path) -> StudyOffer:
    return StudyOffer.checked(study_in(tmp_path, STUDY), data)


@pytest.fixture
def port(offer: StudyOffer) -> Generator[int]:
    desk = VisitDesk(offer, print)
    with running(make_server(desk), desk) as port:
        yield port


def last_page(port: int, participant: str = "P01", session: str = "", language: str = "de") -> Mapping[str, Any]:
    """The last page of a visit from its beginning to its end."""
    page = ScriptedPage(Wire(port, participant, session), typed={"language": language})
    assert page.over.wait(120)
    page.close()
    return next(message for line in page.lines if (message := json.loads(line)).get("what") == "end")


def test_who_comes_back_reads_the_last_page_in_the_language_of_the_session(port: int) -> None:
    first, again = last_page(port), last_page(port)
    told = {"title", "texts", "code", "redirect", "language", "words"}
    assert again["language"] == "de"
    assert {name: again[name] for name in told} == {name: first[name] for name in told}


@pytest.mark.parametrize("order", ["understood, vsr", "vsr, understood"])
def test_who_has_not_passed_a_quiz_reads_so_again_and_nothing_is_recorded_of_it(
    tmp_path: Path, data: Path, order: str
) -> None:
    (tmp_path / "understood.yaml").write_text(QUIZ, encoding="utf-8")
    text = (
        STUDY.replace("paradigms:\n", "paradigms:\n  - {paradigm: understood.yaml}\n").replace("[[vsr]", f"[[{order}]")
        + "people: 1\n"
    )
    desk = VisitDesk(StudyOffer.checked(study_in(tmp_path, text), data), print)
    with running(make_server(desk), desk) as port:
        first = last_page(port, "P01")
        register(data / "links", "P02", "person")  # the place is taken
        kept, again = people(data / "links"), last_page(port, "P01")
    assert again["texts"] == first["texts"] == [sentence("session.quiz_left", "de")]
    assert (again["code"], again["language"]) == ("", "de")
    assert people(data / "links") == kept


@pytest.mark.parametrize(
    ("participant", "session"),
    [("P01", "3"), ("p01", ""), ("nul", ""), ("P02", ""), ("Refused-person-1", "")],
    ids=["no such session", "other capitals", "a name that Windows reserves", "withdrawn", "a refusal"],
)
def test_a_link_that_cannot_be_right_says_so(data: Path, port: int, participant: str, session: str) -> None:
    register(folder := data / "links", "P01", "person")
    withdraw(folder, register(folder, "P02", "person"), 0)
    end = last_page(port, participant, session)
    assert (end["title"], end["texts"]) == (sentence("online.refused_title", "en"), [sentence("online.refused", "en")])
    assert end["code"] == end["redirect"] == ""


def test_the_link_of_another_session_leads_there_while_the_first_waits_for_its_page(data: Path, port: int) -> None:
    first = TrialPage(Wire(port), typed={"language": "de"})
    first.silent_after = 2  # the questions, and the instructions
    until(lambda: first.begun)
    first.close()
    last_page(port, session="2")
    assert not completed(data / "links" / "P01" / "session-1")
    assert completed(data / "links" / "P01" / "session-2")
    last_page(port)
    assert completed(data / "links" / "P01" / "session-1")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("?participant=&PROLIFIC_PID=5f12ab", "5f12ab"),
        ("?participant=P01&PROLIFIC_PID=5f12ab", "P01"),
        ("?PROLIFIC_PID=5f12ab&session=2", "5f12ab"),
        ("?participant=P01%20", "P01"),
    ],
)
def test_an_empty_identifier_hides_no_other_and_blanks_around_it_do_not_count(
    tmp_path: Path, port: int, query: str, named: str
) -> None:
    with chromium(tmp_path / "profile") as browser, browser.window() as tab:
        tab.open(f"http://127.0.0.1:{port}/{query}")
        tab.until("document.querySelector('#sheet button') !== null")
        identifiers = "fetch('/start').then((start) => start.json()).then((start) => start.identifiers)"
        assert (
            tab.evaluate(
                f"Promise.all([import('/page/link.js'), {identifiers}]).then(([link, names]) =>"
                " link.whoTakesPart(names))"
            )
            == named
        )
        assert tab.evaluate("location.search") == query
