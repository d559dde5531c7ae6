"""Attacks on the app, and accidents: strange requests, strange names, files that go while their
page is open, two apps on one folder."""

from __future__ import annotations

import json
import os
import shutil
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient

from ..gate import Gate
from ..index import SessionIndex
from ..job import ENDED, JOB
from ..jobs import Jobs
from ..server import application
from .test_app import BASE, CHAT, GOLDEN, HERE

EVIL = "\"><img src=x onerror=alert(1)> #?%&;'\n-"


def let_in(data: Path) -> TestClient:
    gate = Gate()
    client = TestClient(application(data, "en", gate), base_url=BASE, client=HERE, raise_server_exceptions=False)
    client.get(gate.link(""))
    return client


@pytest.fixture
def data(tmp_path: Path) -> Path:
    shutil.copytree(GOLDEN / CHAT, tmp_path / "data" / CHAT)
    return tmp_path / "data"


@pytest.mark.parametrize(
    "host",
    [
        "evil.example:8760",
        "127.0.0.1.evil.example:8760",
        "127.0.0.1",
        "evil.example",
        "127.0.0.1:8760.evil.example",
        "",
    ],
)
def test_a_name_that_was_made_to_point_here_is_refused(data: Path, host: str) -> None:
    client = let_in(data)
    assert client.get("/sessions").status_code == 200
    assert client.get("/sessions", headers={"host": host}).status_code == 403
    asked = {"paradigm": "vsr", "agents": ["ideal"], "only_command": True}
    assert (
        client.post("/jobs/replay", json=asked, headers={"host": host, "origin": f"http://{host}"}).status_code == 403
    )


@pytest.mark.parametrize(
    "token", ["", "x", "é", "\udcff".encode("utf-8", "surrogatepass").decode("latin-1"), "a" * 60_000]
)
def test_a_wrong_token_opens_nothing(data: Path, token: str) -> None:
    client = TestClient(application(data, "en", Gate()), base_url=BASE, client=HERE)
    assert client.get("/", params={"token": token}).status_code == 403
    assert client.get("/sessions", headers={"cookie": f"spanlab-app-8760={quote(token[:1000])}"}).status_code == 403
    assert client.options("/jobs/replay", headers={"origin": BASE}).status_code == 403


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_what_a_form_of_a_page_can_send_starts_nothing(data: Path, kind: str) -> None:
    """A form needs no script: the app takes JSON that is called JSON, and forms cannot say that."""
    client = let_in(data)
    body = json.dumps({"paradigm": "vsr", "agents": ["ideal"], "trials": 1})
    answer = client.post("/jobs/replay", content=body, headers={"origin": BASE, "content-type": kind})
    assert (answer.status_code, answer.json()) == (422, {"problem": "a page of the app asks in JSON"})
    assert Jobs(data).all() == []


@pytest.mark.sampled(1)
@pytest.mark.skipif(os.name != "posix", reason="elsewhere names cannot have such signs")
@pytest.mark.parametrize("name", [EVIL, "-rf", "x..", "ünï ☃", "a" * 200])
def test_a_session_folder_may_have_any_name(data: Path, name: str) -> None:
    shutil.move(data / CHAT, data / name)
    client = let_in(data)
    for address in ("/", "/sessions", "/sessions?search=vsr", "/paradigms/vsr", "/paradigms/vsr/live"):
        answer = client.get(address)
        assert answer.status_code == 200, address
        assert "<img src=x" not in answer.text or answer.headers["content-type"] == "application/json"
    link = f"/sessions/{quote(name)}/trials/1"
    assert link in client.get("/sessions").text
    assert client.get(link).status_code == 200
    asked = client.post("/jobs/compare", json={"sessions": [name], "only_command": True}, headers={"origin": BASE})
    assert asked.status_code == 200
    like = {"paradigm": "vsr", "agents": ["ideal"], "like": name, "only_command": True}
    assert client.post("/jobs/replay", json=like, headers={"origin": BASE}).status_code == 200


@pytest.mark.skipif(os.name != "posix", reason="elsewhere names are text")
def test_a_name_that_is_no_text_takes_no_page_away(data: Path) -> None:
    shutil.copytree(data / CHAT, os.fsdecode(bytes(data) + b"/\xff\xfe"))
    client = let_in(data)
    for address in (
        "/",
        "/sessions",
        "/paradigms/vsr/live",
        f"/sessions/{CHAT}/trials/1",
        "/paradigms/vsr/serial_position.svg",
    ):
        assert client.get(address).status_code == 200, address
    assert [line.path for line in SessionIndex(data).lines()] == [CHAT]


def test_a_title_is_text_and_a_paradigm_of_somebody_has_no_dead_link(data: Path) -> None:
    file = data / CHAT / "session.json"
    info = json.loads(file.read_text(encoding="utf-8"))
    title = "<script>alert(1)</script><a href=javascript:alert(1)>"
    file.write_text(
        json.dumps({**info, "paradigm": "../<b>mine", "paradigm_title": title, "agent": "<i>it"}), encoding="utf-8"
    )
    client = let_in(data)
    for address in ("/", "/sessions", f"/sessions/{CHAT}/trials/1"):
        answer = client.get(address)
        for markup in ("<script>alert", "<a href=javascript", "<b>mine", "<i>it"):
            assert markup not in answer.text, address
        assert 'href="/paradigms/..' not in answer.text, "the app has no page of this paradigm"
    assert client.get("/sessions").text.count("&lt;script&gt;alert(1)") == 1


@pytest.mark.sampled(2)
@pytest.mark.parametrize("gone", ["session.json", "events.jsonl", "responses.parquet", "paradigm.yaml", ""])
def test_a_file_that_goes_while_its_page_is_open_is_no_fault(data: Path, gone: str) -> None:
    client = let_in(data)
    addresses = [
        "/",
        "/sessions",
        "/paradigms/vsr/live",
        f"/sessions/{CHAT}/trials/1",
        "/paradigms/vsr/serial_position.svg",
        "/paradigms/vsr/points?mark={}",
    ]
    for address in addresses:
        assert client.get(address).status_code in (200, 404)
    path = data / CHAT / gone
    if path.is_file():
        path.unlink()
    elif not gone:
        shutil.rmtree(path)
    for address in addresses:
        assert client.get(address).status_code in (200, 404, 422), (gone, address)
    shutil.rmtree(data)
    for address in addresses:
        assert client.get(address).status_code in (200, 404, 422), address


def test_two_apps_share_a_folder(data: Path) -> None:
    first, second = let_in(data), let_in(data)
    for number in range(6):
        shutil.copytree(GOLDEN / CHAT, data / f"more-{number}")
    with ThreadPoolExecutor(8) as pool:
        pages = [*pool.map(lambda number: (first, second)[number % 2].get("/sessions"), range(24))]
    assert {page.status_code for page in pages} == {200}
    assert all("7 found" in page.text for page in pages)
    assert len(SessionIndex(data).lines()) == 7
    job = Jobs(data).start(["--version"], "vsr")
    for client in (first, second):
        assert [one["name"] for one in client.get("/paradigms/vsr/live").json()["jobs"]] == [job.name]


def test_a_list_that_cannot_be_kept_is_shown_all_the_same(data: Path) -> None:
    (data / ".app" / "sessions.json" / "in the way").mkdir(parents=True)
    client = let_in(data)
    shutil.copytree(GOLDEN / CHAT, data / "more")
    page = client.get("/sessions")
    assert (page.status_code, "2 found" in page.text) == (200, True)


def test_a_job_whose_app_was_killed_before_it_began_can_be_ended(tmp_path: Path) -> None:
    folder = tmp_path / ".app" / "jobs" / "20260101-000000-000000"
    folder.mkdir(parents=True)
    (folder / JOB).write_text(
        json.dumps({"arguments": ["--version"], "paradigm": "vsr", "started": "2026-01-01T00:00:00", "address": ""}),
        encoding="utf-8",
    )
    jobs = Jobs(tmp_path)
    assert jobs.job(folder.name).state == "runs"
    jobs.stop(folder.name)
    assert jobs.job(folder.name).state == "stopped"
    assert json.loads((folder / ENDED).read_text(encoding="utf-8")) == {"code": -signal.SIGINT}


def test_a_damaged_job_hides_no_other(data: Path) -> None:
    job = Jobs(data).start(["--version"], "vsr")
    for name, text in (("00-empty", ""), ("01-list", "[]"), ("02-other", "{}")):
        folder = data / ".app" / "jobs" / name
        folder.mkdir()
        (folder / JOB).write_text(text, encoding="utf-8")
    client = let_in(data)
    for address in ("/", "/paradigms/vsr/live", "/reports"):
        assert client.get(address).status_code == 200, address
    assert [one.name for one in Jobs(data).all()] == [job.name]
