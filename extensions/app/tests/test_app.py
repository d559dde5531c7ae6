"""The app: who may talk to it, what its pages show and never show, what its buttons run, and that
nothing is lost with it."""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
from starlette.testclient import TestClient

import spanlab
from spanlab.analysis.data import load
from spanlab.analysis.means import unit_means
from spanlab.api.starting import Kind
from spanlab.core import SpanLabError
from spanlab.core.locale import sentences
from spanlab.paradigms import compile_trial, load_paradigm
from spanlab.sessions.record import read_events

from .. import index as index_module
from .. import jobs as jobs_module
from ..asking import estimate, replay_arguments, resume_arguments, serve_arguments, served, window_arguments
from ..index import SessionIndex
from ..jobs import Job, Jobs
from ..server import Gate, application
from ..shown import look_at, played

GOLDEN = Path(__file__).resolve().parents[3] / "tests" / "golden" / "record"
HERE, BASE = ("127.0.0.1", 50000), "http://127.0.0.1:8760"
CHAT, UNREAD = "vsr-chat-scripted-s31", "nback_verbal-chat-scripted-s33"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A data folder with a session of a chat model."""
    shutil.copytree(GOLDEN / CHAT, tmp_path / "data" / CHAT)
    return tmp_path / "data"


@pytest.fixture
def gate() -> Gate:
    return Gate()


def cut_short(session: Path) -> None:
    """Leave a session as it is before its last trial has ended."""
    events = (session / "events.jsonl").read_text("utf-8")
    (session / "events.jsonl").write_text(events[: events.rindex("\n", 0, events.rindex("trial_end")) + 1], "utf-8")
    for table in session.glob("responses.*"):
        table.unlink()


def tell(session: Path, **values: object) -> None:
    """Change what the record of a session says."""
    (session / "session.json").write_text(
        json.dumps(json.loads((session / "session.json").read_text("utf-8")) | values), encoding="utf-8"
    )


def let_in(data: Path, language: str = "en", **more: Any) -> TestClient:
    """A browser that was let in to the app of a data folder."""
    gate = Gate()
    client = TestClient(application(data, language, gate), base_url=BASE, client=HERE, **more)
    client.get(gate.link(""))
    return client


@pytest.fixture
def client(folder: Path) -> TestClient:
    """A browser that was let in."""
    return let_in(folder)


def test_only_a_browser_with_the_token_is_let_in(folder: Path, gate: Gate) -> None:
    stranger = TestClient(application(folder, "en", gate), base_url=BASE, client=HERE)
    for address in ("/", "/paradigms", "/sessions", f"/sessions/{CHAT}/trials/1", "/page/app.js", "/?token=guessed"):
        answer = stranger.get(address)
        assert (answer.status_code, CHAT in answer.text) == (403, False), address
    entered = stranger.get(gate.link(""), follow_redirects=False)
    assert (entered.status_code, entered.headers["location"]) == (303, "/")
    assert "HttpOnly" in entered.headers["set-cookie"]
    assert "SameSite=strict" in entered.headers["set-cookie"]
    assert stranger.get("/").status_code == 200


def test_other_computers_and_other_names_of_this_one_are_refused(folder: Path, gate: Gate) -> None:
    for name, computer in ((BASE, ("192.0.2.7", 50000)), ("http://evil.example:8760", HERE)):
        stranger = TestClient(application(folder, "en", gate), base_url=name, client=computer)
        assert stranger.get(gate.link("")).status_code == 403


@pytest.mark.parametrize(
    ("origin", "status"),
    [(BASE, 200), ("http://evil.example", 403), ("http://127.0.0.1:9999", 403), ("null", 403), (None, 403)],
)
def test_no_page_of_somebody_else_changes_anything(
    client: TestClient, folder: Path, origin: str | None, status: int
) -> None:
    asked = {"paradigm": "vsr", "agents": ["ideal"], "only_command": True}
    assert (
        client.post("/jobs/replay", json=asked, headers=({} if origin is None else {"origin": origin})).status_code
        == status
    )
    assert not (folder / ".app" / "jobs").exists()


@pytest.mark.parametrize(
    ("odd", "said"), [({"agents": 5}, "list of names"), ({"agents": ["ideal"], "trials": "²"}, "number of trials")]
)
def test_what_no_page_asks_is_refused_in_a_sentence(client: TestClient, odd: dict[str, Any], said: str) -> None:
    refused = client.post("/jobs/replay", json={"paradigm": "vsr", **odd}, headers={"origin": BASE})
    assert (refused.status_code, said in refused.text) == (422, True)


def test_a_trial_that_is_played_has_no_answer_and_is_nobody_s(client: TestClient) -> None:
    pictures = client.get("/paradigms/vsr/play", params={"list_length": "4"}).json()
    assert {key for one in pictures for key in one} == {"source", "ms", "self_paced", "phase", "asks", "words"}
    assert sum(one["asks"] for one in pictures) == 4
    seen = {one.source for number in range(3) for one in played(load_paradigm("vsr"), {"list_length": 4}, number)}
    assert len(seen) > 8  # other trials, other pictures
    assert client.get("/paradigms/vsr/play", params={"list_length": "99"}).status_code == 422
    assert client.get("/paradigms/vsr/play", params={"list_length": "4a"}).status_code == 422
    assert client.get("/paradigms/vsr/play", params={"list_length": "4", "number": "²"}).status_code == 200


def test_german_pages_have_german_titles_factors_levels_phases_and_refusals(folder: Path, gate: Gate) -> None:
    shutil.copytree(GOLDEN.parent / "sessions" / "finished" / UNREAD, folder / UNREAD)
    german = TestClient(application(folder, "de", gate), base_url=BASE, client=HERE)
    for address, said in {
        gate.link("", "/sessions"): "Visuelle serielle Wiedergabe",
        "/paradigms/cd": "Veränderungen entdecken</h1>.*Farbe.*Anzahl",
        f"/sessions/{CHAT}/trials/1": 'Visuelle serielle Wiedergabe.*Listenlänge: 2.*Darbietung.*class="did right"',
        "/paradigms/vsr/play?list_length=2": "Darbietung",
        "/replies/data/table": "Listenlänge 2",
        f"/sessions/{UNREAD}/trials/1": "lesbar</span></span> keine gültige Antwort",
        f"/replies/data/{UNREAD}/1": "lesbar</span> keine gültige Antwort.*nicht gelesen",
        f"/sessions/{CHAT}/trials/9": f"{CHAT} hat keinen fertigen Durchgang 9",
        f"/replies/data/{CHAT}/1": "Visuelle serielle Wiedergabe.*rect class=.{1,3}did right",
    }.items():
        assert re.search(said, html.unescape(german.get(address).text), re.S), address
    for paradigm in map(load_paradigm, spanlab.list_paradigms()):
        levels = {level for one in paradigm.factors.values() for level in one.levels if type(level) is str}
        phases = {step.percept.phase for step in compile_trial(paradigm, paradigm.combinations()[0], 0).steps}
        words = {*paradigm.factors, *phases, *paradigm.domains, *paradigm.functions, *filter(str.islower, levels)}
        assert {f"word.{word}" for word in words} <= sentences("de").keys(), paradigm.name
    said = [text for key, text in sentences("de").items() if key.startswith("word.")]
    assert len({*said}) == len(said), "two factors of one trial would be one"
    assert f"spanlab transcript {folder / CHAT}" in german.get(f"/sessions/{CHAT}/trials/1").text


def test_replies_that_could_not_be_read_stand_beside_what_is_right(client: TestClient, folder: Path) -> None:
    """24 of 24 replies: 0 % right, which says nothing of memory; half of them if guessed."""
    shutil.copytree(GOLDEN.parent / "sessions" / "finished" / UNREAD, folder / UNREAD)
    shown = "0% (100% unread; 50% if guessed)"
    assert shown in client.get("/sessions").text
    assert shown in client.get("/paradigms/nback_verbal/live").text
    assert ">50%<" in client.get("/paradigms/vsr/live").text


@pytest.mark.parametrize("paradigm", ["vsr", "digit_span"])
def test_what_is_right_is_averaged_as_in_the_report(tmp_path: Path, paradigm: str) -> None:
    """Within trials first: long lists count no more than short ones."""
    folder = spanlab.replay(paradigm, "capacity:3", trials=12, data=tmp_path, say=lambda _: None).folder
    assert SessionIndex(tmp_path).lines()[0].right == pytest.approx(unit_means(load([folder]).scored.main).mean(0))


def test_what_is_right_is_shown_only_when_a_trial_is_finished(client: TestClient, folder: Path) -> None:
    address = f"/sessions/{CHAT}/trials/2"
    assert client.get(address).status_code == 200
    cut_short(folder / CHAT)
    answer = client.get(address)
    assert (answer.status_code, answer.json()["problem"]) == (422, f"{CHAT} has no finished trial 2")
    assert 'data-kind="resume"' in client.get("/paradigms/vsr/live").text
    asked, own = {"paradigm": "vsr", "session": CHAT, "only_command": True}, {"origin": BASE}
    place = client.post("/jobs/resume", json=asked, headers=own).json()[
        "server"
    ]  # to be looked at, as it may be anybody's
    assert client.post("/jobs/resume", json={**asked, "server": place}, headers=own).json() == {
        "command": f"OPENAI_BASE_URL=http://127.0.0.1:46025/v1 spanlab resume {folder / CHAT}"
    }


def test_a_paradigm_of_one_s_own_has_a_page_on_which_its_sessions_go_on(tmp_path: Path) -> None:
    """With its file, and without it: a session has a copy of its own, and a record may name any file."""
    file, data = spanlab.new(Kind.PARADIGM, "my_letters", output=tmp_path / "lab").file, tmp_path / "lab" / "data"
    elsewhere = str(shutil.copy(file, tmp_path))
    session = spanlab.replay(str(file), "capacity:3", trials=2, data=data, say=lambda _: None).folder
    cut_short(session)
    # what cannot be rebuilt hides no other session
    tell(shutil.copytree(session, data / "damaged"), paradigm_data={}, created="2099-01-01T00:00:00Z")
    client, asked = let_in(data, headers={"origin": BASE}), {"paradigm": "my_letters", "session": session.name}
    assert 'href="/paradigms/my_letters"' in client.get("/sessions").text
    for source, place in (("my_letters.yaml", "lab"), (elsewhere, "paradigms"), ("gone.yaml", "paradigms")):
        tell(session, paradigm_source=source)
        assert 'id="levels"' in client.get("/paradigms/my_letters").text
        assert client.get("/paradigms/my_letters/play").json()[0]["source"].startswith("data:image/png")
        new = client.post("/jobs/replay", json={**asked, "agents": ["ideal"], "only_command": True}).json()["command"]
        assert (load_paradigm(new.split()[2]).name, Path(new.split()[2]).parent.name) == ("my_letters", place)
    assert 'data-kind="resume"' in client.get("/paradigms/my_letters/live").text
    name = client.post("/jobs/resume", json=asked).json()["name"]
    assert ended(lambda: Jobs(data).job(name)).state == "done"
    assert ">2 / 2<" in client.get("/paradigms/my_letters/live").text
    tell(session, apparatus={"window": "browser"})
    arguments, _ = resume_arguments(asked, data, SessionIndex(data).lines(), 9000)
    assert load_paradigm(arguments[1]).name == "my_letters"


def test_a_trial_side_by_side(folder: Path) -> None:
    shutil.copytree(folder / CHAT, folder / "again")
    looked = look_at(folder, CHAT, "1", [("again", "the same"), (CHAT, "itself")], "scripted")
    assert [(taker.who, taker.key) for taker in looked.takers] == [("scripted", "1"), ("the same", "1")]
    lines = [
        event
        for event in read_events(folder / CHAT)
        if event["event"] == "step" and "ask" in event and event["trial"] == "1"
    ]
    assert len(looked.questions) == len(lines) == 2
    for given, line in zip(looked.takers[0].answers, lines, strict=True):
        assert given.mark == ("right" if line["scores"][0]["correct"] else "wrong")
        assert given.reply == line["raw"]
    assert [role for role, _ in looked.takers[0].conversation] == [
        "system",
        "user",
        "assistant",
        "user",
        "assistant",
    ]
    assert (looked.before, looked.after) == ("", "2")


def test_answers_and_names_are_text_and_no_markup(client: TestClient, folder: Path) -> None:
    events = folder / CHAT / "events.jsonl"
    events.write_text(
        re.sub(r'"raw":"[^"]*"', '"raw":"<script>alert(1)</script>"', events.read_text(encoding="utf-8")),
        encoding="utf-8",
    )
    page = client.get(f"/sessions/{CHAT}/trials/1").text
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)" in page


def test_the_index_is_read_once_and_can_be_deleted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (line,) = SessionIndex(folder).lines()
    assert (line.paradigm, line.path, line.planned, line.done, line.right) == ("vsr", CHAT, 2, 2, 0.5)
    read: list[Path] = []
    reads = index_module.read_session
    monkeypatch.setattr(index_module, "read_session", lambda path: (read.append(path), reads(path))[1])
    kept = SessionIndex(folder)
    assert (kept.lines(), read) == ([line], [])
    shutil.copytree(folder / CHAT, folder / "deep" / "er" / "again")
    assert {one.path for one in kept.lines()} == {CHAT, "deep/er/again"}
    assert len(read) == 1
    (folder / ".app" / "sessions.json").write_text("damaged", encoding="utf-8")
    assert {one.path for one in SessionIndex(folder).lines()} == {CHAT, "deep/er/again"}
    shutil.rmtree(folder / CHAT)
    assert [one.path for one in kept.lines()] == ["deep/er/again"]
    (folder / "deep" / "er" / "again" / "session.json").unlink()
    assert kept.lines() == [], "a folder that was a session is none any more"


def test_what_buttons_run(folder: Path) -> None:
    lines = SessionIndex(folder).lines()
    asked: dict[str, Any] = {"paradigm": "vsr", "participant": "anna", "trials": "5"}
    arguments, address = serve_arguments(asked, folder, lines, "de", 9000)
    assert arguments == [
        "serve",
        "vsr",
        "--port",
        "9000",
        "--most",
        "2",
        "--data",
        str(folder),
        "--trials",
        "5",
        "--no-practice",
        "--language",
        "de",
    ]
    assert address == "http://127.0.0.1:9000/?participant=anna-1"
    assert window_arguments({**asked, "trials": "all", "practice": "on"}, folder, lines, "en") == [
        "run", "vsr", "--participant", "anna-1", "--data", str(folder),
    ]  # fmt: skip
    assert replay_arguments({"paradigm": "vsr", "like": CHAT, "agents": ["ideal", "network:laptop"]}, folder, lines) == [  # noqa: E501
        "replay", "--like", str(folder / CHAT), "--agent", "ideal", "--agent", "network:laptop", "--data", str(folder),
    ]  # fmt: skip
    chat = {"paradigm": "vsr", "agents": ["chat:m@p"], "settings": "temperature=0\n", "max_tokens": "1000"}
    assert replay_arguments(chat, folder, lines)[2:] == [
        "--trials", "5", "--agent", "chat:m@p", "--chat", "temperature=0", "--max-tokens", "1000", "--data", str(folder),  # noqa: E501
    ]  # fmt: skip
    assert estimate({"paradigm": "vsr", "agents": ["ideal"]}, folder, lines) == []


def test_a_few_trials_have_the_levels_of_the_trial_on_the_page(folder: Path) -> None:
    """Five of all lengths are one or two of each, and their curve says nothing. What decides what is
    right is drawn as ever."""
    asked: dict[str, Any] = {
        "paradigm": "vsr",
        "trials": "5",
        "levels": {"list_length": 5, "feature": "colour", "set_size": 4},
        "agents": ["ideal"],
    }
    assert replay_arguments(asked, folder, [])[2:6] == ["--trials", "5", "--set", "list_length=5"]
    assert "--set" not in replay_arguments({**asked, "trials": "all"}, folder, [])
    assert "--set" not in replay_arguments({**asked, "levels": {"list_length": 99}}, folder, [])
    assert replay_arguments({**asked, "paradigm": "cd"}, folder, [])[4:6] == ["--set", "set_size=4"]


@pytest.mark.parametrize(
    ("asked", "agent", "shown", "secret"),
    [
        ({"chat": "m"}, "chat:m", {}, {}),
        ({"chat": "m", "server": "ollama", "key": "k"}, "chat:m@ollama", {}, {}),
        ({"chat": "chat:m@vllm"}, "chat:m@vllm", {}, {}),
        ({"chat": "m", "server": "gemini", "key": "k"}, "chat:m@gemini", {}, {"GEMINI_API_KEY": "k"}),
        (
            {"chat": "m", "server": "http://localhost:1/v1", "key": "k"},
            "chat:m",
            {"OPENAI_BASE_URL": "http://localhost:1/v1"},
            {"OPENAI_API_KEY": "k"},
        ),
    ],
)
def test_a_model_has_a_name_a_server_and_a_key_that_is_kept_nowhere(
    asked: dict[str, Any], agent: str, shown: dict[str, str], secret: dict[str, str], folder: Path
) -> None:
    asked = {"paradigm": "vsr", **asked}
    said = estimate(asked, folder, [])  # before any limit is set, and without a key
    assert len(said) == 1
    assert "requests in 5 conversations" in said[0]
    assert served(asked) == (shown, secret)
    assert agent in replay_arguments({**asked, "max_tokens": "9"}, folder, [])
    assert agent in replay_arguments({**asked, "only_command": True}, folder, []), "a limit is asked for at the start"
    jobs = Jobs(folder)
    name = jobs.start(["list", "--providers"], "", "", *served(asked)).name
    job = ended(lambda: jobs.job(name))
    for variable in secret:
        assert f"{variable} (set)" in job.printed
    assert job.command == " ".join([*(f"{key}={value}" for key, value in shown.items()), "spanlab list --providers"])
    assert not [file for file in (folder / ".app").rglob("*") if file.is_file() and b'"k"' in file.read_bytes()]


def test_free_models_need_no_limit_and_unfinished_sessions_go_on(folder: Path) -> None:
    for free in (
        {"chat": "m", "server": "ollama"},
        {"chat": "m", "server": "http://127.0.0.1:8080/v1"},
        {"chat": "hf/x"},
        {"chat": "llama3@ollama, chat:m@vllm"},
    ):
        assert "--max-tokens" not in replay_arguments({"paradigm": "vsr", **free}, folder, [])
    lines = SessionIndex(folder).lines()
    for server in ("", "ollama", "http://evil.example/v1"):
        with pytest.raises(SpanLabError, match=r"its model was asked at http://127\.0\.0\.1:46025/v1\. Look"):
            resume_arguments({"session": CHAT, "server": server}, folder, lines, 9000)
    with pytest.raises(SpanLabError, match="no longer exists"):
        resume_arguments({"session": "../other"}, folder, lines, 9000)
    tell(folder / CHAT, participant="anna-1", language="de", apparatus={"window": "browser"})
    arguments, address = resume_arguments({"session": CHAT}, folder, lines, 9000)
    assert (arguments[:2], address) == (["serve", "vsr"], "http://127.0.0.1:9000/?participant=anna-1")
    assert arguments[-2:] == ["--language", "de"]


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({"agents": []}, "choose who takes the trials"),
        ({"agents": ["--data"]}, "is not the name of an agent"),
        ({"agents": ["chat:m@p"]}, "set a limit for the chat model"),
        ({"chat": "m", "server": "gemini"}, "set a limit for the chat model"),
        ({"agents": ["chat:m"], "server": "ollama"}, "set a limit for the chat model"),
        ({"chat": "inspect/openai/m", "server": "http://127.0.0.1:1/v1"}, "set a limit for the chat model"),
        ({"agents": ["chat:m@p"], "max_tokens": "many"}, "the limit is a number of tokens"),
        ({"agents": ["chat:m@p"], "settings": "--data x"}, "a setting is NAME=VALUE"),
        ({"agents": ["ideal"], "like": "../elsewhere"}, "that session no longer exists"),
        ({"agents": ["ideal"], "trials": "0"}, "the number of trials is 1 to"),
    ],
)
def test_what_is_asked_wrongly_is_said(asked: dict[str, Any], why: str, folder: Path) -> None:
    with pytest.raises(SpanLabError, match=why):
        replay_arguments({"paradigm": "vsr", **asked}, folder, SessionIndex(folder).lines())


def test_a_code_that_is_an_option_is_refused(folder: Path) -> None:
    with pytest.raises(SpanLabError, match="a code of a participant has letters"):
        window_arguments({"paradigm": "vsr", "participant": "--data=/"}, folder, [], "en")


def ended(look: Callable[[], Job]) -> Job:
    """A job when it does not run any more."""
    while (job := look()).state == "runs":
        time.sleep(0.05)
    return job


def job_of(data: Path, **about: object) -> Path:
    """The folder of a job that nobody has started here."""
    (folder := data / ".app" / "jobs" / "20260101-000000-000000").mkdir(parents=True, exist_ok=True)
    job = {"arguments": ["serve"], "paradigm": "vsr", "started": "2026-01-01T00:00:00", "address": "", **about}
    (folder / "job.json").write_text(json.dumps(job), encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("command", "status", "state"),
    [([], "sleeping", "runs"), ([], "zombie", "failed"), (["a", "b"], "running", "failed")],
)
def test_a_job_that_has_hardly_begun_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str], status: str, state: str
) -> None:
    """A process has no command line in its first moment; another process may have its number later."""
    folder = job_of(tmp_path, process=os.getpid())
    monkeypatch.setattr(psutil.Process, "cmdline", lambda process: command)
    monkeypatch.setattr(psutil.Process, "status", lambda process: status)
    monkeypatch.setattr(psutil.Process, "wait", lambda process, timeout: None)
    assert Jobs(tmp_path).job(folder.name).state == state


def test_a_job_that_ends_while_it_is_looked_at_has_not_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = job_of(tmp_path, process=os.getpid())

    def end(about: object, where: Path) -> None:
        (folder / "ended.json").write_text('{"code": 0}', encoding="utf-8")

    monkeypatch.setattr(jobs_module, "_process", end)
    assert Jobs(tmp_path).job(folder.name).state == "done"


def test_a_job_is_a_command_that_says_how_it_ended(tmp_path: Path) -> None:
    jobs = Jobs(tmp_path)
    fine, wrong = jobs.start(["--version"], "vsr"), jobs.start(["check", "nothing.yaml"], "vsr")
    first, second = ended(lambda: jobs.job(fine.name)), ended(lambda: jobs.job(wrong.name))
    assert (first.state, first.command, first.printed.startswith("spanlab ")) == ("done", "spanlab --version", True)
    assert second.state == "failed"
    assert "nothing.yaml" in second.printed
    assert [job.name for job in Jobs(tmp_path).all()] == [wrong.name, fine.name]


@pytest.mark.slow
def test_pages_in_both_languages_and_figures(client: TestClient, folder: Path) -> None:
    assert "Ein Experiment für Menschen und Maschinen" in let_in(folder, "de").get("/").text
    for address in ("/", "/sessions", f"/sessions/{CHAT}/trials/1"):
        assert client.get(address).status_code == 200
    live = client.get("/paradigms/vsr/live").text
    assert ">2 / 2<" in live
    assert '<option value="serial_position">' in live
    drawn = client.get("/paradigms/vsr/serial_position.svg", params={"theme": "dark"})
    assert (drawn.status_code, drawn.headers["content-type"]) == (200, "image/svg+xml")
    for nothing in (
        "/paradigms/none",
        "/paradigms/vsr/none.svg",
        "/sessions/none/trials/1",
        "/page/server.py",
        "/page/..%2fserver.py",
    ):
        assert client.get(nothing).status_code in (404, 422), nothing
    assert (
        json.loads(client.post("/jobs/replay", content="[", headers={"origin": BASE}).text)["problem"]
        == "a page of the app asks in JSON"
    )
