"""Studies in the app: what the pages do is what the commands do; and a journey in a browser from nothing
to the report of the first participant."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from chromium import chromium
from starlette.testclient import TestClient

import spanlab
from spanlab.core import SpanLabError
from spanlab.sessions import find_sessions

from ..server import Gate, application
from ..studies import Studies
from .test_journey import push, the_app

BASE = "http://127.0.0.1:8760"


@pytest.fixture
def studies(tmp_path: Path) -> Studies:
    (tmp_path / "data").mkdir()
    made = Studies(tmp_path / "data")
    made.make("lab", "Memory in the lab")
    return made


def test_a_form_and_a_text_are_the_same_file_and_the_check_is_the_command(studies: Studies) -> None:
    assert studies.names() == ["lab"]
    text = studies.file("lab").read_text("utf-8")
    said = studies.draft("lab", {"text": text})
    assert (said["data"]["title"], said["wrong"]) == ("Memory in the lab", [])
    assert said["said"] == spanlab.check(studies.file("lab")).lines
    changed = {**said["data"], "sessions": 2, "paradigms": ["vsr"], "consent": {"en": "One.\n\nTwo.\n"}}
    from_form = studies.draft("lab", {"data": changed, "save": True})
    assert yaml.safe_load(from_form["text"]) == changed
    assert studies.file("lab").read_text("utf-8") == from_form["text"]
    study = studies.study("lab")
    assert (len(study.sessions), study.consent) == (2, {"en": "One.\n\nTwo.\n"})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("study: lab\ntitle: x\nlanguages: [en]\nparadigms: [vsrr]\n", "lab.yaml:4 paradigms item 1"),
        ("study: lab\ntitle x\n", "lab.yaml:2 not valid YAML"),
        ("study: [", "lab.yaml:"),
    ],
)
def test_faults_are_told_by_line_and_not_saved(studies: Studies, text: str, said: str) -> None:
    before = studies.file("lab").read_text("utf-8")
    found = studies.draft("lab", {"text": text, "save": True})
    assert found["wrong"][0].startswith(said)
    assert studies.file("lab").read_text("utf-8") == before
    assert sorted(file.name for file in studies.folder.iterdir()) == ["data", "lab.yaml"]


def test_questions_become_a_paradigm_of_the_study(studies: Studies) -> None:
    asked = {"questions": "Was it hard?\nDid you sleep?", "points": "5", "low": "no", "high": "yes"}
    names = [studies.add_questions("lab", asked) for _ in range(2)]
    assert names == ["lab_questions.yaml", "lab_questions2.yaml"]
    data = studies.draft("lab", {"text": studies.file("lab").read_text("utf-8")})["data"]
    assert studies.draft("lab", {"data": {**data, "paradigms": ["vsr", names[0]]}, "save": True})["wrong"] == []
    assert studies.names() == ["lab"], "questions are no study"
    with pytest.raises(SpanLabError, match="at least one question"):
        studies.add_questions("lab", {"questions": "\n"})


def test_buttons_are_commands_and_nobody_leaves_by_one_word(studies: Studies) -> None:
    file, data = str(studies.file("lab")), str(studies.data)
    asked: dict[str, Any] = {"study": "lab", "participant": "P01", "session": "1", "field_age": "23"}
    run = ["run", file, "--participant", "P01", "--session", "1", "--field", "age=23", "--data", data]
    assert studies.command("study-run", asked, 1) == (run, "")
    assert studies.command("study-run", {"study": "lab"}, 1)[0] == ["run", file, "--data", data]
    assert studies.command("study-run", {**asked, "simulate": "on"}, 1)[0][2:4] == ["--simulate", "capacity@20"]
    serve, address = studies.command("study-serve", {"study": "lab", "network": "on"}, 9000)
    assert (serve[2:6], address) == (["--host", "0.0.0.0", "--port", "9000"], "http://127.0.0.1:9000/")
    studies.keep_exclusions("lab", "rules: []\n")
    assert "--exclude" in studies.command("study-scores", {"study": "lab"}, 1)[0]
    for kind, wrong in (
        ("study-run", {"study": "../lab"}),
        ("study-run", {**asked, "participant": "--data=/"}),
        ("study-resume", {"study": "lab", "visit": "../.."}),
        ("study-export", {"study": "lab", "format": "-o"}),
        ("study-other", {"study": "lab"}),
    ):
        with pytest.raises(SpanLabError):
            studies.command(kind, wrong, 1)
    with pytest.raises(SpanLabError, match="a second time"):
        studies.act("lab", {"what": "withdraw", "participant": "P01", "again": "P"})
    with pytest.raises(SpanLabError, match="has no participant 'P01'"):
        studies.act("lab", {"what": "withdraw", "participant": "P01", "again": "P01"})


def test_links_are_those_of_the_command(studies: Studies) -> None:
    with pytest.raises(SpanLabError, match="admission: links"):
        studies.links("lab", {"n": "2"})
    data = studies.draft("lab", {"text": studies.file("lab").read_text("utf-8")})["data"]
    assert not studies.draft("lab", {"data": {**data, "online": {"admission": "links"}}, "save": "yes"})["wrong"]
    made = studies.links("lab", {"n": "2", "address": "http://lab.example/"})
    assert [one["link"].partition("?")[0] for one in made] == ["http://lab.example/"] * 2
    assert len({one["link"] for one in made if "ticket=" in one["link"]}) == 2
    assert len({one["picture"] for one in made if one["picture"].startswith("data:image/svg+xml")}) == 2
    with pytest.raises(SpanLabError, match="number of links"):
        studies.links("lab", {"n": "0"})


def test_pages_of_studies_are_behind_the_gate(studies: Studies) -> None:
    gate = Gate()
    stranger = TestClient(application(studies.data, "en", gate), base_url=BASE, client=("127.0.0.1", 50000))
    assert stranger.get("/studies/lab").status_code == 403
    stranger.get(gate.link(""))
    assert stranger.get("/studies/lab").status_code == 200
    assert stranger.get("/studies/other").status_code == 404
    draft = {"text": "study: lab", "save": True}
    assert stranger.post("/studies/lab/draft", json=draft, headers={"origin": "http://evil.example"}).status_code == 403
    assert stranger.post("/studies/lab/draft", json=draft).status_code == 403
    own = {"origin": BASE}
    assert stranger.post("/studies/lab/draft", json=draft, headers=own).json()["wrong"]
    assert (
        stranger.post("/jobs/compare", json={"study": "lab"}, headers=own).json()["problem"]
        == "nobody has taken part yet"
    )
    live = stranger.get("/studies/lab/live").json()
    assert (live["people"], live["jobs"]) == ([], [])


@pytest.mark.slow
@pytest.mark.usefixtures("screen")
def test_from_nothing_to_the_report_of_the_first_participant(tmp_path: Path) -> None:
    """Two tasks and a questionnaire, without a terminal and without YAML, in less than five minutes."""
    data = tmp_path / "data"
    began = time.monotonic()

    def typed(selector: str, value: str) -> str:
        return (
            f"(() => {{ const one = document.querySelector({json.dumps(selector)}); one.value = {json.dumps(value)};"
            " for (const kind of ['input', 'change']) one.dispatchEvent(new Event(kind, {bubbles: true})); })()"
        )

    fine = "document.querySelector('#told')?.innerText.includes('is fine')"
    with chromium(tmp_path / "profile") as browser, the_app(data) as link, browser.tab() as tab:
        tab.open(link)
        tab.until("!!document.querySelector('.job')")
        push(tab, ".job[href='/studies']")
        tab.until("!!document.querySelector('#new-study') && document.readyState === 'complete'")
        tab.evaluate(typed("#new-study [name=title]", "My first study"))
        push(tab, "#new-study button")
        tab.until(f"location.pathname === '/studies/my_first_study' && {fine}", 60)
        push(tab, "#tasks li:nth-child(2) button[aria-label^=Remove]")
        tab.until("document.querySelectorAll('#tasks li').length === 1")
        tab.evaluate(typed("#form [name=add]", "digit_span"))
        tab.until("document.querySelectorAll('#tasks li').length === 2", 30)
        for number, levels in enumerate(("list_length=2", "direction=forward; list_length=2")):
            tab.evaluate(typed(f"[name=trials-{number}]", "2"))
            tab.evaluate(typed(f"[name=levels-{number}]", levels))
            tab.evaluate(f"document.querySelector('[name=practice-{number}]').click()")
        tab.evaluate("document.querySelector('#questions').closest('details').open = true")
        tab.evaluate(typed("#questions [name=questions]", "Was it hard?"))
        push(tab, "#questions button")
        tab.until("document.querySelectorAll('#tasks li').length === 3", 30)
        push(tab, "#save")
        tab.until("document.querySelector('#save').textContent === 'Saved'", 60)
        tab.evaluate("document.querySelector('[name=simulate]').click()")
        push(tab, "button[data-kind=study-run]")
        tab.until("document.querySelector('#jobs')?.innerText.includes('Running')", 30)
        tab.until("!document.querySelector('#jobs').innerText.includes('Running')", 240)
        assert "Finished" in tab.evaluate("document.querySelector('#jobs').innerText"), tab.evaluate(
            "document.querySelector('#jobs').innerText"
        )
        tab.until("document.querySelectorAll('#sessions tbody tr').length >= 3", 30)
        assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
        push(tab, "#report-of-study button")
        tab.until("!!document.querySelector('#inside')", 240)
        assert tab.complaints == []
    assert time.monotonic() - began < 300
    assert len(find_sessions([data])) == 3
    written = yaml.safe_load((tmp_path / "my_first_study.yaml").read_text("utf-8"))
    task = {"paradigm": "digit_span", "trials": 2, "set": {"direction": "forward", "list_length": 2}, "practice": False}
    assert written["paradigms"][1:] == [task, "my_first_study_questions.yaml"]
