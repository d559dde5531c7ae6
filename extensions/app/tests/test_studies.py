"""Studies in the app: what the pages do is what the commands do; and a journey in a browser from nothing
to the report of the first participant."""

from __future__ import annotations

import json
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import pytest
import yaml
from chromium import chromium
from starlette.testclient import TestClient
from study_files import AwayError, Guest, take

import spanlab
from spanlab.core import SpanLabError
from spanlab.sessions import find_sessions
from spanlab.sessions.studies import monitoring

from ..index import SessionIndex
from ..jobs import Jobs
from ..server import Gate, application
from ..studies import Studies
from ..web import free_port
from .test_app import BASE, job_of, let_in
from .test_journey import push, the_app


@pytest.fixture
def studies(tmp_path: Path) -> Studies:
    (tmp_path / "data").mkdir()
    made = Studies(SessionIndex(tmp_path / "data"), Jobs(tmp_path / "data"))
    made.make("lab", "Memory in the lab")
    return made


def served(studies: Studies, host: str, port: int) -> None:
    """Say that the study is being served, without a server."""
    job_of(
        studies.data,
        arguments=["serve", "--host", host, "--port", str(port)],
        paradigm="study:lab",
        address=f"http://127.0.0.1:{port}/",
    )


def test_a_form_and_a_text_are_the_same_file_and_the_check_is_the_command(studies: Studies) -> None:
    text = studies.file("lab").read_text("utf-8")
    said = studies.draft("lab", {"text": text})
    assert (said["data"]["title"], "# names in the library" in text) == ("Memory in the lab", True)
    assert said["said"] == spanlab.check(studies.file("lab")).lines
    begins = {"name": "begins", "label": {"en": "12:30"}, "type": "choice", "choices": ["yes", "no", "on", "1e5"]}
    changed = {**said["data"], "title": "2026-11-28", "sessions": 2, "paradigms": ["vsr"], "fields": [begins]}
    from_form = studies.draft("lab", {"data": changed, "save": True})
    assert (from_form["data"], from_form["wrong"]) == (changed, [])
    plain = from_form["text"].replace("'", "").replace("1e5", "'1e5'")  # words to us, though not in YAML 1.1
    assert studies.draft("lab", {"text": plain})["data"] == changed
    assert studies.file("lab").read_text("utf-8") == from_form["text"]
    assert [*studies.study("lab").fields[0].labels("en")] == begins["choices"]


def test_each_language_has_its_own_texts_and_none_is_lost(studies: Studies) -> None:
    data = studies.draft("lab", {"text": studies.file("lab").read_text("utf-8")})

    def form(texts: dict[str, Any], *languages: str) -> dict[str, Any]:
        return studies.draft("lab", {"data": {**data["data"], "languages": [*languages]}, "texts": texts})

    german = form(data["texts"], "de")
    assert (german["wrong"], [*german["data"]["consent"]]) == ([], ["de"])
    assert german["data"]["breaks"] == {"text": {"de": "Bitte ruhen Sie sich kurz aus."}, "seconds": 20}
    texts = {page: data["texts"][page] | german["texts"][page] for page in data["texts"]}  # as the page keeps them
    assert form(texts, "de", "en")["data"]["consent"] == {
        "de": german["data"]["consent"]["de"],
        "en": data["data"]["consent"]["en"],
    }
    without = form({**texts, "consent": {"de": texts["consent"]["de"], "en": ""}}, "en", "de")
    assert (without["data"]["consent"], len(without["data"]["debrief"])) == ({"de": texts["consent"]["de"]}, 2)
    assert "consent" not in form({**texts, "consent": {"de": "", "en": " "}}, "en", "de")["data"]


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
    assert studies.draft("lab", {"text": text, "save": True})["wrong"][0].startswith(said)
    assert studies.file("lab").read_text("utf-8") == before
    assert sorted(file.name for file in studies.folder.iterdir()) == ["data", "lab.yaml"]
    (studies.folder / ".lab.yaml.part").mkdir()  # the disk is full, or the folder may not be written
    with pytest.raises(SpanLabError, match=r"lab\.yaml"):
        studies.draft("lab", {"text": f"# mine\n{before}", "save": True})
    (studies.folder / ".lab.yaml.part").rmdir()
    assert studies.file("lab").read_text("utf-8") == before
    if "lab" in text:  # it was written elsewhere, and can be repaired here
        studies.file("lab").write_text(text, encoding="utf-8")
        assert said in studies.now("lab")["problem"]
        assert studies.draft("lab", {"text": before.replace("[age", "[vision, age"), "save": True})["wrong"] == []
        assert [name for name, _ in studies.now("lab")["fields"]] == ["vision", "age", "handedness"]


def typed(selector: str, value: str) -> str:
    """What types a value into a field of a page."""
    return (
        f"(() => {{ const one = document.querySelector({json.dumps(selector)}); one.value = {json.dumps(value)};"
        " for (const kind of ['input', 'change']) one.dispatchEvent(new Event(kind, {bubbles: true})); })()"
    )


@pytest.mark.slow
def test_the_form_is_shut_while_it_does_not_show_the_file(tmp_path: Path) -> None:
    """Before the file is read, and where it cannot be: what is changed there takes the file's place."""
    (tmp_path / "lab.yaml").write_text("study: lab\ntitle: [", encoding="utf-8")
    with chromium(tmp_path / "profile") as browser, the_app(tmp_path / "data") as link, browser.tab() as tab:
        tab.open(f"{link}&page=/studies/lab")
        shut = "document.querySelector('[inert]')?.querySelectorAll('#form, #questions').length"
        tab.until(f"!!document.querySelector('#told .problem') && {shut} === 2", 60)
        tab.evaluate(typed("#text", "study: lab\ntitle: Ours\nparadigms: [vsr]"))
        tab.until(f"document.querySelector('#form [name=title]').value === 'Ours' && {shut} === undefined", 60)


@pytest.mark.slow
def test_nothing_that_is_typed_in_the_form_is_lost_or_changed(tmp_path: Path) -> None:
    (file := tmp_path / "lab.yaml").write_text(
        "study: lab\ntitle: Ours\nparadigms: [{paradigm: vsr, as: vsr_2}]", encoding="utf-8"
    )
    with chromium(tmp_path / "profile") as browser, the_app(tmp_path / "data") as link, browser.tab() as tab:
        tab.open(f"{link}&page=/studies/lab")
        tab.until("document.querySelector('#form [name=title]')?.value === 'Ours'", 60)
        for people, problem in (("1.000", "!!"), ("20", "!")):
            tab.evaluate(typed("#form [name=people]", people))
            told = f"{problem}document.querySelector('#told .problem')"
            tab.until(f"{told} && document.querySelector('#text').value.includes({people!r})", 60)
        tab.evaluate("document.querySelector('#form [name=add]').value = 'vsr'")
        tab.evaluate("document.querySelector('#add-task').click()")
        tab.until("document.querySelector('#text').value.includes('vsr_3')", 60)
        leaves = "(() => { const one = new Event('beforeunload', {cancelable: true}); return dispatchEvent(one); })()"
        assert tab.evaluate(leaves) is False
        tab.evaluate(f"document.querySelector('#save').click(); {typed('#form [name=title]', 'Second')}")
        tab.until("document.querySelector('#text').value.includes('Second')", 60)
        assert ("Ours" in file.read_text("utf-8"), tab.evaluate(leaves)) == (True, False)
        tab.evaluate("document.querySelector('#save').click()")
        tab.until(leaves, 60)
        assert "Second" in file.read_text("utf-8")


def test_files_of_windows_editors_are_read(studies: Studies) -> None:
    (studies.folder / "lab_exclusions.yaml").write_bytes("exclude: [] # müde".encode("latin-1"))
    assert "exclude" in studies.exclusions("lab")
    studies.file("lab").write_bytes(b"\xef\xbb\xbfstudy: lab\ntitle: x\nparadigms: [vsr]\n")
    assert studies.names() == ["lab"]


def test_questions_become_a_paradigm_of_the_study(studies: Studies) -> None:
    asked = {"questions": "Was it hard?\nDid you sleep?", "points": "5", "low": "no", "languages": ["en", "de"]}
    names = [studies.add_questions("lab", asked)["file"] for _ in range(2)]
    assert names == ["lab_questions.yaml", "lab_questions_2.yaml"]
    said = studies.draft("lab", {"text": studies.file("lab").read_text("utf-8")})
    data = {**said["data"], "paradigms": ["vsr", names[0]], "languages": ["de", "en"]}
    assert studies.draft("lab", {"data": data, "texts": said["texts"], "save": True})["wrong"] == []
    (studies.folder / "My-Study 2.yml").write_text("study: mine\ntitle: [x\n", encoding="utf-8")
    assert studies.names() == ["My-Study 2", "lab"], "questions are no study"
    with pytest.raises(SpanLabError, match="at least one question"):
        studies.add_questions("lab", {"questions": "\n"})
    with pytest.raises(SpanLabError, match="by an editor or another page"):
        studies.draft("lab", {"data": data, "since": said["since"], "save": True})


def test_two_drafts_at_once_are_two(studies: Studies, monkeypatch: pytest.MonkeyPatch) -> None:
    check, inner = spanlab.check, list[dict[str, Any]]()

    def beside(file: Path, *, details: bool) -> Any:
        monkeypatch.setattr(spanlab, "check", check)
        with ThreadPoolExecutor(1) as thread:
            inner.append(thread.submit(studies.draft, "lab", {"text": "study: ["}).result())
        return check(file, details=details)

    monkeypatch.setattr(spanlab, "check", beside)
    assert studies.draft("lab", {"text": studies.file("lab").read_text("utf-8")})["wrong"] == []
    assert inner[0]["wrong"]


def test_buttons_are_commands_and_nobody_leaves_by_one_word(studies: Studies) -> None:
    file, data = str(studies.file("lab")), str(studies.data)
    asked: dict[str, Any] = {"study": "lab", "participant": "P01", "session": "1", "field_age": "23"}
    run = ["run", file, "--participant", "P01", "--session", "1", "--field", "age=23", "--data", data]
    assert studies.command("study-run", asked) == (run, "")
    assert studies.command("study-run", {**asked, "language": "de"})[0] == [*run[:6], "--language", "de", *run[6:]]
    assert studies.command("study-run", {"study": "lab"})[0] == ["run", file, "--data", data]
    assert studies.command("study-run", {**asked, "simulate": "on"})[0][2:4] == ["--simulate", "capacity@20"]
    port = free_port()
    served(studies, "127.0.0.1", port)
    serve, address = studies.command("study-serve", {"study": "lab", "network": "on", "only_command": True})
    assert (serve[2:6], address) == (["--host", "0.0.0.0", "--port", str(port)], f"http://127.0.0.1:{port}/")
    for kind, wrong in (
        ("study-serve", {"study": "lab"}),  # which is being served
        ("study-run", {"study": "../lab"}),
        ("study-run", {**asked, "participant": "--data=/"}),
        ("study-resume", {"study": "lab", "visit": "../.."}),
        ("study-export", {"study": "lab", "format": "-o"}),
        ("study-other", {"study": "lab"}),
    ):
        with pytest.raises(SpanLabError):
            studies.command(kind, wrong)
    with pytest.raises(SpanLabError, match="a second time"):
        studies.act("lab", {"what": "withdraw", "participant": "P01", "again": "P"})
    with pytest.raises(SpanLabError, match="has no participant 'P01'"):
        studies.act("lab", {"what": "withdraw", "participant": "P01", "again": "P01"})


def test_who_takes_part_is_seen_read_once_and_looked_after(studies: Studies, monkeypatch: pytest.MonkeyPatch) -> None:
    """A session that has not gone on is not read and judged again."""
    tasks = "".join(f"  - {{paradigm: {name}, trials: 1, practice: false}}\n" for name in ("vsr", "sfr"))
    studies.file("lab").write_text(f"study: lab\ntitle: L\nlanguages: [en]\nparadigms:\n{tasks}", encoding="utf-8")

    def leaves(what: str) -> None:
        if what == "trial: sfr":
            raise AwayError

    take(studies.study("lab"), studies.data, fields={})
    with pytest.raises(AwayError):
        take(studies.study("lab"), studies.data, "p02", fields={}, guest=Guest(leaves))
    read, reads = list[Path](), monitoring.read_events
    monkeypatch.setattr(monitoring, "read_events", lambda folder: (read.append(folder), reads(folder))[1])
    now = studies.now("lab")
    assert (len(read), len(now["people"]), now["visits"]) == (4, 2, ["p01/session-1", "p02/session-1"])
    assert (studies.now("lab")["people"], len(read)) == (now["people"], 4)
    assert (
        now["summary"] == str(spanlab.study_status(studies.file("lab"), data=studies.data)).partition("\n\n")[2] != ""
    )
    told = spanlab.study_monitor(studies.file("lab"), data=studies.data, everything=True).to_dict()["sessions"]
    assert [row | {"last sign": ""} for row in now["sessions"]] == [row | {"last sign": ""} for row in told]
    asked, folder = {"study": "lab", "visit": "p02/session-1"}, studies.data / "lab" / "p02"
    assert studies.command("study-resume", {**asked, "skip": "sfr", "reason": "ill"}) == (
        ["resume", str(folder / "session-1"), "--skip", "sfr", "--reason", "ill"],
        "",
    )
    assert studies.act("lab", {**asked, "what": "note", "text": "a fire alarm"})["said"]
    assert "a fire alarm" in (folder / "session-1" / "notes.jsonl").read_text("utf-8")
    assert studies.act("lab", {"what": "withdraw", "participant": "p02", "again": "p02"})["said"]
    assert (folder.exists(), "withdrew" in studies.now("lab")["people"][1]["note"]) == (False, True)


def test_rules_leave_out_data_of_reports_scores_and_exports(studies: Studies) -> None:
    taken = {
        agent: spanlab.replay("vsr", agent, trials=2, data=studies.data / "lab" / agent, say=lambda _: None).folder
        for agent in ("ideal", "chance")
    }
    (studies.data / "lab-csv").mkdir()
    asked = {"study": "lab", "format": "csv", "only_command": "yes"}
    export = ["export", "csv", str(studies.data / "lab"), "-o", str(studies.data / "lab-csv_2")]
    assert studies.command("study-export", asked)[0] == export
    with pytest.raises(SpanLabError, match=r"lab_exclusions\.yaml:1"):
        studies.keep_exclusions("lab", {"text": "rules: []\n"})
    assert studies.exclusions("lab") == ""
    studies.keep_exclusions(
        "lab",
        {"text": "exclude:\n  - {leave_out: sessions, where: accuracy, below: 0.9, whose: machines, reason: weak}\n"},
    )
    assert studies.command("study-export", asked)[0] == [*export[:2], str(taken["ideal"]), *export[3:]]
    assert "--exclude" in studies.command("study-scores", asked)[0]
    report = let_in(studies.data, headers={"origin": BASE}).post("/jobs/compare", json=asked)
    assert f"--exclude {studies.folder / 'lab_exclusions.yaml'}" in report.json()["command"]


def test_links_are_those_of_the_command(studies: Studies, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SpanLabError, match="admission: links"):
        studies.links("lab", {"n": "2"})
    data = studies.draft("lab", {"text": studies.file("lab").read_text("utf-8")})["data"]
    assert not studies.draft("lab", {"data": {**data, "online": {"admission": "links"}}, "save": "yes"})["wrong"]
    made = studies.links("lab", {"n": "2", "address": "http://lab.example/"})["links"]
    assert [one["link"].partition("?")[0] for one in made] == ["http://lab.example/"] * 2
    assert len({one["link"] for one in made if "ticket=" in one["link"]}) == 2
    assert len({one["picture"] for one in made if one["picture"].startswith("data:image/svg+xml")}) == 2
    assert not studies.draft("lab", {"data": data, "save": "yes"})["wrong"]
    (one,) = studies.links("lab", {"n": "2", "address": "http://lab.example/"})["links"]
    assert (one["link"], one["picture"][:18]) == ("http://lab.example/", "data:image/svg+xml")
    assert not studies.draft("lab", {"data": {**data, "online": {"identifier": "PID"}}, "save": "yes"})["wrong"]
    with pytest.raises(SpanLabError, match="admission: links"):
        studies.links("lab", {"n": "2", "address": "http://lab.example/"})
    assert not studies.draft("lab", {"data": {**data, "online": {"admission": "links"}}, "save": "yes"})["wrong"]
    monkeypatch.setattr(socket.socket, "connect", lambda *_: None)
    monkeypatch.setattr(socket.socket, "getsockname", lambda _: ("192.0.2.7", 1))
    for host, seen in (("127.0.0.1", "127.0.0.1"), ("0.0.0.0", "192.0.2.7")):
        served(studies, host, 9123)
        assert studies.links("lab", {})["links"][0]["link"].startswith(f"http://{seen}:9123/?")
    with pytest.raises(SpanLabError, match="number of links"):
        studies.links("lab", {"n": "0"})


def test_the_app_opens_at_a_study_whose_data_are_beside_it(studies: Studies, monkeypatch: pytest.MonkeyPatch) -> None:
    opened, commands = list[Any](), cast("Any", spanlab)
    monkeypatch.setattr("spanlab.extensions.app.command._open", lambda *given: opened.append(given[4:]))
    commands.app(studies.file("lab"), data=studies.data)
    assert opened == [("/studies/lab", None)]
    with pytest.raises(SpanLabError, match=f"add --data {studies.folder / 'data'}"):
        commands.app(studies.file("lab"), data=studies.data / "deeper")


def test_pages_of_studies_are_behind_the_gate(studies: Studies) -> None:
    gate = Gate()
    stranger = TestClient(application(studies.data, "en", gate), base_url=BASE, client=("127.0.0.1", 50000))
    assert stranger.get("/studies/lab").status_code == 403
    stranger.get(gate.link(""))
    assert "without its comments" in stranger.get("/studies/lab").text
    assert " inert>" in stranger.get("/studies/lab").text, "the form is shut until the file is read"
    lines = studies.file("lab").read_text(encoding="utf-8").splitlines()
    studies.file("lab").write_text("\n".join(line.partition("#")[0] for line in lines), encoding="utf-8")
    assert "without its comments" not in stranger.get("/studies/lab").text
    (studies.folder / "ansi.yaml").write_bytes("study: ansi\ntitle: Gedächtnis\n".encode("cp1252"))
    assert "Ged\ufffdchtnis" in stranger.get("/studies/ansi").text
    with pytest.raises(SpanLabError, match="not in UTF-8"):
        studies.draft("ansi", {"text": "study: ansi\ntitle: Ged\ufffdchtnis\n", "save": True})
    assert stranger.get("/studies/other").status_code == 404
    draft = {"text": "study: lab", "save": True}
    assert stranger.post("/studies/lab/draft", json=draft).status_code == 403
    stranger.headers["origin"] = BASE
    assert stranger.post("/studies/lab/draft", json=draft).json()["wrong"]
    assert stranger.post("/jobs/compare", json={"study": "lab"}).json()["problem"] == "nobody has taken part yet"
    assert "Nobody has taken part yet" in stranger.get("/studies/lab/live").text


@pytest.mark.slow
@pytest.mark.usefixtures("screen")
def test_from_nothing_to_the_report_of_the_first_participant(tmp_path: Path) -> None:
    """Two tasks and a questionnaire, without a terminal and without YAML, in less than five minutes."""
    data, began = tmp_path / "data", time.monotonic()

    fine = "document.querySelector('#told')?.innerText.includes('is fine')"
    with chromium(tmp_path / "profile") as browser, the_app(data) as link, browser.tab() as tab:
        tab.open(link)
        tab.until("!!document.querySelector('.job') && document.readyState === 'complete'")
        push(tab, ".job[href='/studies']")
        tab.until("!!document.querySelector('#new-study') && document.readyState === 'complete'")
        tab.evaluate(typed("#new-study [name=title]", "My first study"))
        push(tab, "#new-study button")
        tab.until(f"location.pathname === '/studies/my_first_study' && {fine}", 60)
        tab.evaluate(
            "(() => { const one = document.querySelector('#text'); one.value = one.value.replace('My first', 'My own');"
            " one.dispatchEvent(new Event('input')); })()"
        )
        tab.until(f"document.querySelector('#form [name=title]').value === 'My own study' && {fine}", 60)
        for languages in ("de, en", "en, de", "de", "en"):  # each has a box of its own, and none is lost
            tab.evaluate(typed("#form [name=languages]", languages))
            boxes = "[...document.querySelectorAll('#consent textarea')].map((one) => one.lang)"
            tab.until(f"{boxes}.join(', ') === '{languages}' && {fine}", 60)
        push(tab, "#tasks li:nth-child(2) button[aria-label^=Remove]")
        tab.until("document.querySelectorAll('#tasks li').length === 1")
        assert tab.evaluate("!!document.activeElement.closest('#tasks')"), "whoever removes a task stays at the list"
        tab.evaluate(typed("#form [name=add]", "digit_span"))
        push(tab, "#add-task")
        tab.until("document.querySelectorAll('#tasks li').length === 2", 30)
        for number, levels in enumerate(("list_length=2", "direction=forward; list_length=2")):
            tab.evaluate(typed(f"[name=trials-{number}]", "2"))
            tab.evaluate(typed(f"[name=levels-{number}]", levels))
            tab.evaluate(f"document.querySelector('[name=practice-{number}]').click()")
        tab.evaluate("document.querySelector('#questions').closest('details').open = true")
        tab.evaluate(typed("#questions [name=questions]", "Was it hard?"))
        push(tab, "#questions button")
        tab.until("document.querySelectorAll('#tasks li').length === 3", 30)
        push(tab, "button[data-kind=study-run]")
        tab.until(f"document.querySelector('#told').innerText.startsWith('Save') && {fine}", 10)
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
        push(tab, "#report-of-study button")
        tab.until("!!document.querySelector('#inside')", 240)
        assert tab.complaints == []
    assert time.monotonic() - began < 300
    assert len(find_sessions([data])) == 3
    written = yaml.safe_load((tmp_path / "my_first_study.yaml").read_text("utf-8"))
    assert [*written["consent"]] == ["en"]
    assert written["paradigms"][1:] == [
        {"paradigm": "digit_span", "trials": 2, "set": {"direction": "forward", "list_length": 2}, "practice": False},
        "my_first_study_questions.yaml",
    ]
