"""Attacks on the app, and accidents: strange requests, strange names, files that go while their
page is open, two apps on one folder."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

import pytest
from effort import HANGS_S
from starlette.testclient import TestClient

from spanlab.core import SpanLabError

from .. import jobs as jobs_module
from ..curves import Curves
from ..index import SessionIndex
from ..jobs import ENDED, JOB, PRINTED, Jobs
from ..reports import Reports
from .test_app import BASE, CHAT, GOLDEN, job_of, let_in, tell

EVIL = "\"><img src=x onerror=alert(1)> #?%&;'\n-"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    shutil.copytree(GOLDEN / CHAT, tmp_path / "data" / CHAT)
    return tmp_path / "data"


@pytest.fixture
def client(data: Path) -> TestClient:
    """A browser in which a fault of the app is an answer."""
    return let_in(data, raise_server_exceptions=False)


@pytest.mark.sampled(1)
@pytest.mark.skipif(os.name != "posix", reason="elsewhere names cannot have such signs")
@pytest.mark.parametrize("name", [EVIL, "-rf", "x..", "ünï ☃", "a" * 200])
def test_a_session_folder_may_have_any_name(client: TestClient, data: Path, name: str) -> None:
    shutil.move(data / CHAT, data / name)
    for address in ("/", "/sessions", "/sessions?search=vsr", "/paradigms/vsr", "/paradigms/vsr/live"):
        answer = client.get(address)
        assert answer.status_code == 200, address
        assert "<img src=x" not in answer.text or answer.headers["content-type"] == "application/json"
    link = f"/sessions/{quote(name)}/trials/1"
    assert link in client.get("/sessions").text
    assert client.get(link).status_code == 200
    for sessions, status in ([name], 200), ([[]], 422), (5, 422):
        asked = {"sessions": sessions, "only_command": True}
        assert client.post("/jobs/compare", json=asked, headers={"origin": BASE}).status_code == status
    asked = {"paradigm": "vsr", "agents": ["ideal"], "like": name, "only_command": True}
    assert client.post("/jobs/replay", json=asked, headers={"origin": BASE}).status_code == 200


@pytest.mark.skipif(os.name != "posix", reason="elsewhere names are text")
def test_a_name_that_is_no_text_takes_no_page_away(client: TestClient, data: Path) -> None:
    shutil.copytree(data / CHAT, os.fsdecode(bytes(data) + b"/\xff\xfe"))
    for address in (
        "/",
        "/sessions",
        "/paradigms/vsr/live",
        f"/sessions/{CHAT}/trials/1",
        "/paradigms/vsr/serial_position.svg",
    ):
        assert client.get(address).status_code == 200, address
    assert [line.path for line in SessionIndex(data).lines()] == [CHAT]


@pytest.mark.parametrize("odd", [{"created": "yesterday"}, {"paradigm_data": {"title": {}}}])
def test_words_of_a_foreign_record_take_no_page_away(client: TestClient, data: Path, odd: dict[str, object]) -> None:
    tell(data / CHAT, **odd)
    assert [client.get(address).status_code for address in ("/", "/sessions")] == [200, 200]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("gone", ["session.json", "events.jsonl", "responses.parquet", "paradigm.yaml", ""])
def test_a_file_that_goes_while_its_page_is_open_is_no_fault(client: TestClient, data: Path, gone: str) -> None:
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


def test_a_job_whose_app_was_killed_before_it_began_can_be_ended(tmp_path: Path) -> None:
    folder, jobs = job_of(tmp_path), Jobs(tmp_path)
    assert jobs.job(folder.name).state == "runs"
    jobs.stop(folder.name)
    assert jobs.job(folder.name).state == "stopped"
    assert json.loads((folder / ENDED).read_text(encoding="utf-8")) == {"code": -signal.SIGINT}


def test_a_damaged_report_is_named(data: Path) -> None:
    name = "0123456789abcdef"
    for folder, text in (
        (data / ".app" / "jobs" / "20260101-000000-000000" / JOB, {"arguments": ["compare", f"x/{name}"]}),
        (data / ".app" / "reports" / name / "chosen.json", []),
    ):
        folder.parent.mkdir(parents=True)
        whole = {"paradigm": "", "started": "", "address": "", **text} if isinstance(text, dict) else text
        folder.write_text(json.dumps(whole), encoding="utf-8")
    said = let_in(data, raise_server_exceptions=False).get("/reports").text
    assert f"Folders that could not be read (1): <code>.app/reports/{name}</code>" in said
    assert f'href="/reports/{name}"' not in said


@pytest.mark.skipif(os.name != "posix", reason="elsewhere names are text")
@pytest.mark.parametrize("address", ["/", "/sessions"])
def test_a_folder_that_cannot_be_read_is_named(client: TestClient, data: Path, address: str) -> None:
    assert "could not be read" not in client.get(address).text
    os.mkdir(os.fsdecode(bytes(data) + b"/n\xff"))
    for number, text in enumerate(("{", "[]", '{"plan": 3}', "\0")):
        (folder := data / f"damaged-{number}").mkdir()
        (folder / "session.json").write_text(text, encoding="utf-8")
    for _ in range(2):  # what was damaged before stays damaged
        said = client.get(address).text
        for words in ("Folders that could not be read (5):", "<code>damaged-0</code>", "<code>n\\xff</code>"):
            assert words in said
    shutil.rmtree(data / "damaged-0")
    shutil.copytree(GOLDEN / CHAT, data / "damaged-1", dirs_exist_ok=True)
    said = client.get(address).text
    assert "Folders that could not be read (3):" in said
    assert "<code>damaged-1</code>" not in said


def test_a_folder_that_cannot_be_written_shows_everything_and_starts_nothing(data: Path) -> None:
    """A file stands where the app keeps what it has: nothing can be kept there, whoever runs this."""
    (data / ".app").write_text("in the way", encoding="utf-8")
    client = let_in(data, raise_server_exceptions=False)
    for address in ("/", "/paradigms", "/sessions", "/reports", "/paradigms/vsr/live", f"/sessions/{CHAT}/trials/1"):
        assert client.get(address).status_code == 200, address
    for kind, asked in (("replay", {"paradigm": "vsr", "agents": ["ideal"], "trials": 1}), ("compare", {})):
        answer = client.post(f"/jobs/{kind}", json=asked, headers={"origin": BASE})
        assert answer.status_code == 422, kind
        assert "cannot" in answer.json()["problem"], kind
        assert ".app" in answer.json()["problem"], kind


def test_a_full_disk_starts_nothing_and_loses_nothing(
    client: TestClient, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise SpanLabError("cannot write job.json: No space left on device")

    before = {path: path.read_bytes() for path in (data / CHAT).rglob("*") if path.is_file()}
    monkeypatch.setattr(jobs_module, "write_json", full)
    answer = client.post(
        "/jobs/replay", json={"paradigm": "vsr", "agents": ["ideal"], "trials": 1}, headers={"origin": BASE}
    )
    assert (answer.status_code, "No space left" in answer.json()["problem"]) == (422, True)
    for address in ("/", "/sessions", "/reports", "/paradigms/vsr/live"):
        assert client.get(address).status_code == 200, address
    assert Jobs(data).all() == []
    assert {path: path.read_bytes() for path in (data / CHAT).rglob("*") if path.is_file()} == before


def test_two_apps_that_start_something_in_the_same_moment_start_both(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Still(datetime):
        @classmethod
        def now(cls, tz: object = None) -> datetime:
            return datetime(2026, 1, 1, tzinfo=UTC)

    monkeypatch.setattr(jobs_module, "datetime", Still)
    first, second = Jobs(data).start(["--version"], "vsr"), Jobs(data).start(["--help"], "vsr")
    assert first.name != second.name
    assert [job.arguments for job in Jobs(data).all()] == [("--help",), ("--version",)]
    assert (data / ".app").stat().st_mode & 0o077 == 0


def test_a_report_that_is_asked_for_twice_at_once_is_made_once(client: TestClient, data: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        answers = [*pool.map(lambda _: client.post("/jobs/compare", json={}, headers={"origin": BASE}), range(4))]
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.json()["name"] for answer in answers}) == 1
    Jobs(data).stop(answers[0].json()["name"])


# -- a data folder is data, whoever wrote it -------------------------------------------------------


@pytest.mark.parametrize("process", [0, -1, 1, pytest.param(os.getpid(), id="own"), 2**40, 10**30, "x", None, [3]])
def test_the_number_of_another_process_ends_nothing(data: Path, process: object) -> None:
    folder, jobs = job_of(data, process=process), Jobs(data)
    assert jobs.job(folder.name).state == "failed"
    jobs.stop(folder.name)
    assert let_in(data, raise_server_exceptions=False).get("/paradigms/vsr/live").status_code == 200


@pytest.mark.parametrize("host", ["https://evil.example", "http://evil.example", "https://127.0.0.1", "javascript:"])
def test_an_address_elsewhere_is_no_button(client: TestClient, data: Path, host: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        folder = job_of(data, address=f"{host}:{port}/?participant=p")
        assert Jobs(data).job(folder.name).state == "runs"
        assert "<a class=" not in client.get("/paradigms/vsr/live").text
        (folder / JOB).write_text((folder / JOB).read_text("utf-8").replace(host, "http://127.0.0.1"), encoding="utf-8")
        assert (
            f'<a class="button" href="http://127.0.0.1:{port}/?participant=p"' in client.get("/paradigms/vsr/live").text
        )


def test_an_address_without_a_port_takes_no_page_away(data: Path) -> None:
    job_of(data, address="http://127.0.0.1:99999999/")
    assert let_in(data, raise_server_exceptions=False).get("/paradigms/vsr/live").status_code == 200


def test_links_out_of_the_data_folder_are_not_followed(data: Path, tmp_path: Path) -> None:
    shutil.copytree(data / CHAT, tmp_path / "elsewhere")
    (data / "link").symlink_to(tmp_path / "elsewhere")
    assert [line.path for line in SessionIndex(data).lines()] == [CHAT]
    name = "0123456789abcdef"
    report = data / ".app" / "reports" / name
    (report / "figures").mkdir(parents=True)
    (tmp_path / "secret").write_text("secret", encoding="utf-8")
    (report / "figures" / "a.csv").symlink_to(tmp_path / "secret")
    (report / "report.html").symlink_to(tmp_path / "secret")
    (job_of(data, arguments=["compare", f"x/{name}"]) / PRINTED).symlink_to(tmp_path / "secret")
    (tmp_path / "chosen").write_text('{"sessions": {"secret": ""}}', encoding="utf-8")
    (report / "chosen.json").symlink_to(tmp_path / "chosen")
    reports = Reports(data, Jobs(data), Curves(data))
    with pytest.raises(OSError, match="is no file"):
        reports.file(name, "figures/a.csv")
    assert (reports.page(name), reports.all(), reports.unread()) == ("", [], [name])
    assert [job.printed for job in Jobs(data).all()] == [""]


@pytest.mark.skipif(os.name != "posix", reason="Windows has no such files")
@pytest.mark.parametrize("name", [JOB, PRINTED, ENDED])
def test_what_is_no_ordinary_file_of_a_job_is_not_waited_for(data: Path, name: str) -> None:
    (file := job_of(data) / name).unlink(missing_ok=True)
    os.mkfifo(file)
    (looking := threading.Thread(target=Jobs(data).all, daemon=True)).start()
    looking.join(HANGS_S)
    assert not looking.is_alive()
