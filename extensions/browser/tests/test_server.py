"""The server gives a page what it needs and nothing else: no traces, nothing of others, nothing to
strangers; and what a page cannot do is refused at start."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from command_line import command_line
from scripted_page import SCREEN
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from spanlab.agents.human import Participant
from spanlab.agents.window import WindowAgent
from spanlab.core.errors import SpanLabError
from spanlab.core.kit import page_files
from spanlab.core.locale import sentence
from spanlab.extensions.browser.participant.agent import check_answerable_at_page
from spanlab.extensions.browser.visits.board import MonitorBoard
from spanlab.extensions.browser.visits.offers import StudyOffer
from spanlab.extensions.browser.visits.one_paradigm import ParadigmOffer
from spanlab.extensions.browser.visits.server import make_app
from spanlab.extensions.browser.visits.visits import VisitDesk
from spanlab.paradigms import ResponseKind, Surface, load_paradigm, plan_session
from spanlab.sessions import Request, begin
from spanlab.sessions.studies.study import load_study

HERE = {"origin": "http://testserver", "host": "testserver"}


def hello(participant: str = "P01", page: str = "a", **more: Any) -> str:
    return json.dumps(
        {
            "type": "hello",
            "participant": participant,
            "session": "",
            "instance": page * 24,
            "epoch": "",
            "last": 0,
            "screen": SCREEN,
            **more,
        }
    )


def desk_for(data: Path, **more: Any) -> VisitDesk:
    data.mkdir(exist_ok=True)
    return VisitDesk(ParadigmOffer.checked("vsr", data, trials=1, practice=False), print, **more)


def until(socket: Any, what: str) -> dict[str, Any]:
    """The next message of a kind."""
    while True:
        message: dict[str, Any] = socket.receive_json()
        if message.get("what", message["type"]) == what:
            return message


def test_every_reply_forbids_what_the_page_does_not_need(tmp_path: Path) -> None:
    client = TestClient(make_app(desk_for(tmp_path)))
    for address in (
        "/",
        "/start",
        "/page/main.js",
        "/page/page.css",
        "/nowhere",
        "/page/..%2f..%2fagent.py",
        "/page/agent.py",
        "/frame/x/y.png",
        "/favicon.ico",
    ):
        reply = client.get(address)
        policy = reply.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert "Traceback" not in reply.text
        assert (reply.status_code == 404) == (
            address not in ("/", "/start", "/page/main.js", "/page/page.css", "/favicon.ico")
        )
    assert client.post("/").status_code == 404
    page = client.get("/").text + "".join(
        client.get(f"/page/{name}").text for name in ("main.js", "link.js", "pages.js", "trial.js", "page.css")
    )
    assert "http://" not in page
    assert "https://" not in page


def test_participants_reach_these_routes_and_no_others_and_nothing_of_the_app(tmp_path: Path) -> None:
    board = MonitorBoard(desk := desk_for(tmp_path))
    routes = {route.path for route in make_app(desk, board).routes}  # type: ignore[attr-defined]
    participants = {"/", "/start", "/favicon.ico", "/page/{name}", "/frame/{secret}/{name}.png", "/visit"}
    assert routes == participants | {"/monitor", "/monitor/now"}
    page, monitor = (
        {path.name for path in (files(f"spanlab.extensions.browser.{room}") / "page").iterdir()}
        for room in ("participant", "visits")
    )
    served = set(page_files("spanlab.extensions.browser.participant", "spanlab.extensions.browser.visits"))
    assert served == {
        *(name for name in page | monitor if not name.endswith(".d.ts")),
        *("kit.css", "kit.js", "OpenSans-Regular.ttf", "OpenSans-SemiBold.ttf"),
    }
    loads = "import sys, spanlab.extensions.browser.visits.serving; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", loads], capture_output=True, text=True, check=True).stdout.split()
    assert [name for name in loaded if name.startswith(("spanlab.extensions.app.", "jinja2"))] == []


def test_whoever_is_not_let_in_is_named_to_the_server(tmp_path: Path) -> None:
    said: list[str] = []
    client = TestClient(
        make_app(VisitDesk(ParadigmOffer.checked("vsr", tmp_path, trials=1, practice=False), said.append))
    )
    with client.websocket_connect("/visit", headers=HERE) as socket:
        socket.send_text(hello("Zoë"))
        assert socket.receive_json()["type"] == "refused"
    assert "its link does not say who takes part" in said[0]


def test_levels_of_a_served_paradigm_may_be_given(tmp_path: Path) -> None:
    chosen, request = ParadigmOffer.checked("vsr", tmp_path, levels={"list_length": [3]}, trials=2)._drawn("p1")
    assert {planned.levels["list_length"] for planned in chosen.plan} == {3}
    assert request.levels == {"list_length": [3]}
    with pytest.raises(SpanLabError, match="list_length"):
        ParadigmOffer.checked("vsr", tmp_path, levels={"list_length": [99]})


SCRIPTS = """
paradigm: afterwards
version: 1
title: {en: Questions, ar: أسئلة, hi: प्रश्न}
timeline:
  - phase: hard
    show: {blank: {}}
    ask: {rating: {to: 5}, prompt: {en: "Was it hard?", ar: "هل كان صعبًا؟", hi: "क्या यह कठिन था?"}}
instructions: {en: Please answer., ar: أجب من فضلك., hi: कृपया उत्तर दें।}
designs: {human: {repetitions: 1}}
"""


@pytest.mark.parametrize("language", ["ar", "hi"])
def test_a_browser_sets_pages_in_scripts_that_the_window_cannot_set(tmp_path: Path, language: str) -> None:
    (file := tmp_path / "afterwards.yaml").write_text(SCRIPTS, encoding="utf-8")
    ParadigmOffer.checked(str(file), tmp_path, language=language)
    paradigm = load_paradigm(file)
    request = Request(1, "corrected", "p1", language=language)
    with pytest.raises(SpanLabError, match="cannot be shown"):
        begin(tmp_path, paradigm, Participant(), plan_session(paradigm, 1, trials=1), request)


def test_strangers_are_not_let_in(tmp_path: Path) -> None:
    client = TestClient(make_app(desk_for(tmp_path)))
    for headers in ({"origin": "http://elsewhere.example", "host": "testserver"}, {"host": "testserver"}):
        with pytest.raises(WebSocketDisconnect), client.websocket_connect("/visit", headers=headers) as socket:
            socket.receive_json()
    nonsense = [
        "nothing",
        json.dumps({"type": "event"}),
        hello("../../etc"),
        hello("a" * 41),
        hello(""),
        hello(instance="short"),
        hello(screen={**SCREEN, "canvas_px": 10**9}),
        hello(more=1),
    ]
    for message in nonsense:
        with client.websocket_connect("/visit", headers=HERE) as socket:
            socket.send_text(message)
            refused = socket.receive_json()
            assert refused["type"] == "refused"
            assert refused["final"]
            assert (refused["title"], refused["texts"]) == (
                "This link does not work",
                [sentence("online.refused", "en")],
            )
            assert "Traceback" not in json.dumps(refused)
    assert not any(tmp_path.iterdir())


def test_a_second_tab_is_told_and_pictures_belong_to_their_visit(tmp_path: Path) -> None:
    desk = desk_for(tmp_path)
    client = TestClient(make_app(desk))
    with client.websocket_connect("/visit", headers=HERE) as first:
        first.send_text(hello())
        secret, page = until(first, "welcome")["secret"], until(first, "page")
        name = page["example"]["frame"]
        with client.websocket_connect("/visit", headers=HERE) as second:
            second.send_text(hello(page="b"))
            told = second.receive_json()
            assert (told["type"], told["final"]) == ("refused", False)
            assert "another tab" in told["texts"][0]
        with client.websocket_connect("/visit", headers=HERE) as other:
            other.send_text(hello("P02"))
            assert until(other, "welcome")["secret"] != secret
            assert client.get(f"/frame/{secret}/{name}.png").headers["content-type"] == "image/png"
            assert (
                client.get(f"/frame/{secret[:-1]}{'y' if secret.endswith('x') else 'x'}/{name}.png").status_code == 404
            )
            assert client.get(f"/frame/{secret}/{'0' * 32}.png").status_code == 404
    with client.websocket_connect("/visit", headers=HERE) as again:
        again.send_text(hello(page="b"))  # the first tab is closed
        assert until(again, "welcome")["secret"] == secret
        assert until(again, "page")["title"] == page["title"]
    desk.close()


def test_there_are_no_more_visits_than_wanted(tmp_path: Path) -> None:
    desk = desk_for(tmp_path, most=1)
    client = TestClient(make_app(desk))
    with (
        client.websocket_connect("/visit", headers=HERE) as first,
        client.websocket_connect("/visit", headers=HERE) as second,
    ):
        first.send_text(hello())
        epoch, c = until(first, "welcome")["epoch"], until(first, "page")["c"]
        done = {"type": "event", "id": f"{'a' * 24}:1", "epoch": epoch, "c": c, "kind": "done", "place": -1, "body": {}}
        first.send_text(json.dumps(done))
        until(first, "ack")
        second.send_text(hello("P02"))
        assert "too many" in second.receive_json()["texts"][0]
    desk.close()


def test_a_fault_is_told_to_whoever_runs_the_server_and_not_to_the_page(tmp_path: Path) -> None:
    said: list[str] = []

    def broken(*given: Any) -> WindowAgent:
        raise ZeroDivisionError("a secret of the house")

    desk = VisitDesk(ParadigmOffer.checked("vsr", tmp_path, trials=1), said.append, broken)
    client = TestClient(make_app(desk))
    with client.websocket_connect("/visit", headers=HERE) as socket:
        socket.send_text(hello())
        end = until(socket, "end")
    assert end["title"] == "The session has stopped"
    assert "secret of the house" not in json.dumps(end)
    assert "secret of the house" in said[0]
    desk.close()


# -- what is offered -------------------------------------------------------------------------------


STUDY = """
study: online
title: Online
paradigms: [vsr]
"""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("display: screen.yaml\n", "display"),
        ("keys: {own: {1: button_1}}\n", "button box"),
        ("online: {endings: {completed: {code: 'two words'}}}\n", "code"),
        ("online: {endings: {completed: {redirect: 'javascript:alert(1)'}}}\n", "redirect"),
    ],
)
def test_what_a_page_cannot_do_is_refused_at_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], text: str, reason: str
) -> None:
    (file := tmp_path / "online.yaml").write_text(STUDY + text)
    monkeypatch.setattr("uvicorn.Server.run", lambda self: pytest.fail("it was not refused"))
    status, _, complaint = command_line(tmp_path, monkeypatch, capsys)("serve", file, "--data", tmp_path / "data")
    assert status == 1
    assert reason in complaint
    assert not (tmp_path / "data").exists()


def test_trigger_codes_of_a_study_are_refused(tmp_path: Path) -> None:
    (file := tmp_path / "online.yaml").write_text(
        STUDY.replace("[vsr]", "[{paradigm: vsr, triggers: {phases: {present: 7}}}]")
    )
    with pytest.raises(SpanLabError, match="no port for trigger codes"):
        StudyOffer.checked(load_study(file), tmp_path)


def test_questions_with_any_number_of_marks_are_refused() -> None:
    class Open(ResponseKind):
        name = "open"

        def surface(self) -> Surface:
            return Surface(several=True)

    with pytest.raises(SpanLabError, match="open number of marks"):
        check_answerable_at_page([Open()])
