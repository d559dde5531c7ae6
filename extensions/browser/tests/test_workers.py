"""Several workers behind one port: everybody comes to the same one every time, places are given out exactly, and what a
killed worker had is gone on with."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Generator
from pathlib import Path

import pytest
from scripted_page import ScriptedPage, Wire, hello, until
from session_tools import command
from study_files import study_in

from spanlab.core.locale import sentence
from spanlab.extensions.browser.visits.messages import Hello
from spanlab.extensions.browser.visits.neighbours import Neighbours, Presence, whose
from spanlab.extensions.browser.visits.one_paradigm import ParadigmOffer
from spanlab.extensions.browser.visits.visits import Refusal, Visit, VisitDesk
from spanlab.extensions.browser.visits.workers import _passed_on
from spanlab.sessions import read_responses
from spanlab.sessions.studies import people

STUDY = """\
study: two
title: Two workers
paradigms: [{paradigm: vsr, set: {list_length: [2]}, trials: 2, practice: false}]
people: 3
"""


def named(worker: int, beginning: str = "p") -> str:
    """An identifier whose visits a worker of two serves."""
    return next(name for n in range(99) if whose(name := f"{beginning}{n}", 2) == worker)


def test_each_worker_serves_its_own_visits_alone(tmp_path: Path) -> None:
    desk = VisitDesk(
        ParadigmOffer.checked("vsr", tmp_path, trials=1), print, neighbours=Neighbours(tmp_path, number=1, workers=2)
    )
    here, other = (desk.join(Hello.model_validate(hello(named(worker))), lambda message: None, "") for worker in (1, 0))
    assert isinstance(here, Visit)
    assert here.secret.startswith("1-")
    assert isinstance(other, Refusal)
    desk.close()


def test_workers_count_the_people_of_all(tmp_path: Path) -> None:
    neighbours = [Neighbours(tmp_path, number=number, workers=2) for number in (0, 1)]
    neighbours[0].exchange({"a": Presence(True, "trial", 0.0, "1.2.3.4", True)}, 2, [(5.0, "said")])
    neighbours[1].exchange({"b": Presence(True, "arriving", 0.0)}, 1, [])
    assert neighbours[1].present == {"a": Presence(True, "trial", 0.0, "1.2.3.4", True)}
    assert (neighbours[1].turned_away, neighbours[1].notices) == (2, [(5.0, "said")])
    neighbours[1].forget()  # as a withdrawal does: the worker tells it again, though nothing is new to it
    neighbours[0].exchange({"a": Presence(True, "trial", 0.0, "1.2.3.4", True)}, 2, [(5.0, "said")])
    neighbours[1].exchange({"b": Presence(True, "arriving", 0.0)}, 1, [])
    assert {*neighbours[1].present} == {"a"}
    desk = VisitDesk(ParadigmOffer.checked("vsr", tmp_path, trials=1), print, most=1, neighbours=neighbours[1])
    assert isinstance(desk.join(Hello.model_validate(hello(named(1))), lambda message: None), Refusal)
    assert {*desk.present()} == {"a"}
    desk.close()
    neighbours[0].forget()
    assert b"1.2.3.4" not in (tmp_path / "places.sqlite").read_bytes()


@pytest.mark.parametrize(
    ("head", "address", "passed_on"),
    [
        (["GET / HTTP/1.1", "Connection: keep-alive"], "127.0.0.1", ["GET / HTTP/1.1", "connection: close"]),
        (
            ["GET /visit HTTP/1.1", "Upgrade: websocket", "Connection: Upgrade", "X-Forwarded-For: 9.9.9.9"],
            "2.2.2.2",
            ["GET /visit HTTP/1.1", "Upgrade: websocket", "Connection: Upgrade", "x-forwarded-for: 2.2.2.2"],
        ),
        (
            ["GET / HTTP/1.1", "X-Forwarded-For: 9.9.9.9"],  # of a proxy on this computer
            "::1",
            ["GET / HTTP/1.1", "X-Forwarded-For: 9.9.9.9", "connection: close"],
        ),
    ],
)
def test_a_request_is_passed_on_with_its_address(head: list[str], address: str, passed_on: list[str]) -> None:
    whole, expected = ("\r\n".join([*lines, "", ""]).encode() for lines in (head, passed_on))
    assert _passed_on(whole, address) == expected


@pytest.fixture
def served(tmp_path: Path) -> Generator[tuple[int, int]]:
    """A server of two workers: its port and its process."""
    study_in(tmp_path, STUDY)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    arguments = command("serve", "study.yaml", "--workers", "2", "--port", str(port))
    with subprocess.Popen(arguments, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        assert "http://" in server.stdout.readline()
        yield port, server.pid
        server.send_signal(signal.SIGTERM)
        assert server.wait(60) == 0
    assert b'"present"' not in (tmp_path / "data" / "two" / "places.sqlite").read_bytes()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="workers are found in /proc")
def test_places_are_exact_and_nothing_is_lost_where_workers_are_killed(tmp_path: Path, served: tuple[int, int]) -> None:
    port, pid = served
    names = [named(0, "a"), named(1, "b"), named(0, "c")]
    pages = [ScriptedPage(Wire(port, name)) for name in names[:2]]
    pages[1].silent_after = 4  # in its first trial
    assert pages[0].over.wait(120)
    until(lambda: pages[1]._count == 4)
    children = map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8").split())
    workers = [one for one in children if b"spawn_main" in Path(f"/proc/{one}/cmdline").read_bytes()]
    for worker in workers:
        os.kill(worker, signal.SIGKILL)
    time.sleep(1)
    again: list[ScriptedPage] = []

    def back() -> bool:
        try:
            again.append(ScriptedPage(Wire(port, names[1]), instance="b" * 24))
        except Exception:  # the worker begins
            time.sleep(0.5)
        return bool(again)

    until(back)
    assert again[0].over.wait(120)
    others = [ScriptedPage(Wire(port, name)) for name in (names[2], named(1, "d"))]
    assert all(page.over.wait(120) for page in others)
    assert sorted(person.place for person in people(tmp_path / "data" / "two")) == [1, 2, 3]
    told = [page.lines[-1] for page in others]
    assert sum(sentence("online.no_place_title", "en") in line for line in told) == 1
    table = read_responses(tmp_path / "data")
    assert table["participant"].nunique() == 3
    assert not table.duplicated(["participant", "trial", "ask"]).any()
    assert len(table) == 3 * 2 * 2
    for page in (*pages, *again, *others):
        page.close()
