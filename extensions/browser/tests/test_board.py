"""The assistant's page: what it shows is what the monitor shows, and nobody reads it without the
token."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from chromium import chromium
from command_line import Run, output_of
from scripted_page import SCREEN
from starlette.testclient import TestClient
from study_files import AtTheDoor, Guest, study_in

from spanlab.analysis.data.timing import timing_in_short
from spanlab.core.atomic_files import read_lines
from spanlab.core.errors import SpanLabError
from spanlab.extensions.browser.visits import board as board_module
from spanlab.extensions.browser.visits.board import MonitorBoard
from spanlab.extensions.browser.visits.offers import StudyOffer
from spanlab.extensions.browser.visits.one_paradigm import ParadigmOffer
from spanlab.extensions.browser.visits.server import make_app
from spanlab.extensions.browser.visits.visits import VisitDesk
from spanlab.sessions.studies.monitoring import Monitor, describe_standings, standings, table_of

STUDY = """
study: online
title: Memory at home
paradigms:
  - {paradigm: sfr, set: {list_length: 1}, trials: 1, practice: false}
  - {paradigm: vsr, set: {list_length: 2}, trials: 1, practice: false}
consent: {en: Do you agree?}
people: 4
online: {endings: {completed: {code: C0DE42}}, drop_out_minutes: 30}
"""
HERE = {"origin": "http://testserver", "host": "testserver"}


def leaves(what: str) -> None:
    if what == "trial: vsr":
        raise SpanLabError("the page was closed")


def somebody_of_each_kind(tmp_path: Path) -> StudyOffer:
    """One who finishes, one who leaves in the middle, and one who refuses."""
    offer = StudyOffer(study_in(tmp_path, STUDY), tmp_path / "data")
    offer.take("finishes", "", AtTheDoor(Guest()))
    with pytest.raises(SpanLabError, match="the page was closed"):
        offer.take("leaves", "", AtTheDoor(Guest(leaves)))
    refuses = Guest()
    refuses.decides = ["refuse"]
    offer.take("refuses", "", AtTheDoor(refuses))
    return offer


def test_the_page_shows_what_the_monitor_shows(tmp_path: Path, run: Run) -> None:
    offer = somebody_of_each_kind(tmp_path)
    shown = MonitorBoard(VisitDesk(offer, print), timing_in_short).now()
    seen = Monitor(offer.study, offer.data, timing_in_short).look(shown["at"])
    table = table_of(seen, shown["at"], everything=True)
    assert [row["cells"] for row in shown["rows"]] == [list(row) for row in reversed(table.rows)]
    assert shown["header"] == list(table.header)
    assert shown["counts"] == [["interrupted", 1], ["refused", 1], ["finished", 1]]
    assert describe_standings(standings(seen)) == "1 interrupted, 1 refused, 1 finished"
    assert shown["places"] == (2, 4), "who refuses has no place"
    cells = [dict(zip(shown["header"], row["cells"], strict=True)) for row in shown["rows"]]
    codes = [row["code"] for row in cells if row["code"]]
    assert len(codes) == 1
    assert codes[0].startswith("C0DE42, ")
    (given,) = [
        line
        for line in read_lines(offer.data / "online" / "finishes" / "session-1" / "battery.jsonl")
        if line["event"] == "code"
    ]
    assert given["code"] == "C0DE42"
    assert {row["timing"] for row in cells if row["state"] == "finished"} == {"cannot be judged"}, (
        "a guest has no screen"
    )
    later = table_of(Monitor(offer.study, offer.data).look(time.time() + 3600), time.time(), everything=True)
    assert later.states.count("dropped out") == 1
    assert "online: 1 interrupted, 1 refused, 1 finished" in run("study", "monitor", "study.yaml", "--once")[1]


def test_nothing_is_readable_without_the_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = VisitDesk(somebody_of_each_kind(tmp_path), print)
    board, compared = MonitorBoard(desk), list[tuple[bytes, bytes]]()
    compare = board_module.secrets.compare_digest

    def watched(a: bytes, b: bytes) -> bool:
        compared.append((a, b))
        return compare(a, b)

    monkeypatch.setattr(board_module.secrets, "compare_digest", watched)
    client = TestClient(make_app(desk, board))
    shell = client.get("/monitor").text + client.get("/page/monitor.js").text + client.get("/page/monitor.css").text
    for private in ("Memory at home", "finishes", "C0DE42", board.token):
        assert private not in shell
    wrong = [
        "",
        board.token,
        f"Bearer {board.token[:-1]}",
        f"Bearer {board.token}x",
        "Bearer ",
        f"bearer {board.token}",
        "Bearer ÿ",
    ]
    refused = [client.get("/monitor/now", headers={b"authorization": value.encode("latin-1")}) for value in wrong]
    refused += [
        client.get(f"/monitor/now?token={board.token}"),
        client.get(f"/monitor/now?authorization=Bearer {board.token}"),
    ]
    assert {(reply.status_code, reply.text) for reply in refused} == {(404, "There is nothing here.")}
    assert len(compared) == len(refused), "every one is compared in constant time"
    reply = client.get("/monitor/now", headers={"authorization": f"Bearer {board.token}"})
    assert reply.status_code == 200
    assert "finishes" in reply.text
    for answer in (*refused, reply, client.get("/monitor")):
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["referrer-policy"] == "no-referrer"
    assert MonitorBoard(desk).token != board.token
    bare = TestClient(make_app(desk))
    assert (
        bare.get("/monitor").status_code,
        bare.get("/monitor/now", headers={"authorization": "Bearer "}).status_code,
    ) == (404, 404)


def test_who_is_at_which_page_is_seen_before_anything_is_recorded(tmp_path: Path) -> None:
    desk = VisitDesk(ParadigmOffer.checked("vsr", tmp_path, trials=1, practice=False), print)
    board = MonitorBoard(desk)
    with TestClient(make_app(desk, board)).websocket_connect("/visit", headers=HERE) as socket:
        hello = {
            "type": "hello",
            "participant": "P01",
            "session": "",
            "instance": "a" * 24,
            "epoch": "",
            "last": 0,
            "screen": SCREEN,
        }
        socket.send_text(json.dumps(hello))
        while socket.receive_json().get("what") != "page":
            pass
        shown = board.now()
        assert shown["pages"] == 1
        assert shown["rows"] == [], "no session begins before somebody has read its first page"
        (row,) = shown["arriving"]
        assert (row["participant"], row["page"]) == ("P01", "Visual Serial Recall")
    desk.close()


def test_the_address_is_printed_at_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    monkeypatch.setattr("uvicorn.Server.run", lambda self: setattr(self, "started", True))
    printed = output_of(*run("serve", "vsr", "--data", tmp_path / "data"))
    assert "http://127.0.0.1:8765/monitor#" in printed
    assert len(printed.split("/monitor#")[1].strip()) >= 43


@pytest.mark.slow
def test_the_token_is_in_no_address_that_the_browser_asks_for(tmp_path: Path) -> None:
    from page_bench import Served

    made = Served(ParadigmOffer.checked("vsr", tmp_path, trials=1), "ideal", board=True)
    assert made.board is not None
    try:
        with chromium(tmp_path / "chromium") as browser, browser.tab() as tab:
            tab.open(f"http://127.0.0.1:{made.port}/monitor#{made.board.token}")
            tab.until("document.getElementById('when')?.textContent.startsWith('as of')")
            assert tab.evaluate("location.href").endswith("/monitor"), "nor does the address bar show it"
            asked = tab.evaluate("performance.getEntriesByType('resource').map((one) => one.name).join(' ')")
            assert "/monitor/now" in asked
            assert made.board.token not in asked
            assert not tab.complaints
            tab.evaluate("sessionStorage.clear()")
            tab.open(f"http://127.0.0.1:{made.port}/monitor?again")
            tab.until("document.body !== null && document.body.innerText.includes('Please open the address')")
    finally:
        made.close()
