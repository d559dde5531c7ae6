"""Who is let in: fakes take no places and keep nobody out, links cannot be made up, and silent
connections are closed."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from command_line import Run, command_line, output_of
from scripted_page import SCREEN, ScriptedPage, Wire, hello, until
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from spanlab.core.errors import SpanLabError
from spanlab.extensions.browser.participant.channel import PageEvent
from spanlab.extensions.browser.visits import serving as serving_module
from spanlab.extensions.browser.visits.admission import UNCONFIRMED_S, Admission, Tickets
from spanlab.extensions.browser.visits.messages import Hello
from spanlab.extensions.browser.visits.offers import StudyOffer, allowed
from spanlab.extensions.browser.visits.one_paradigm import ParadigmOffer
from spanlab.extensions.browser.visits.server import make_app, remote
from spanlab.extensions.browser.visits.serving import make_server, running
from spanlab.extensions.browser.visits.visits import Refusal, Visit, VisitDesk
from spanlab.sessions.studies.participants import people
from spanlab.sessions.studies.study import load_study

STUDY = """
study: athome
title: At home
paradigms: [{paradigm: vsr, set: {list_length: 2}, trials: 1, practice: false}]
people: 4
consent: {en: You take part of your own free will.}
"""


def offer_of(tmp_path: Path, more: str = "", text: str = STUDY) -> StudyOffer:
    (file := tmp_path / "athome.yaml").write_text(text + more, encoding="utf-8")
    (tmp_path / "data").mkdir(exist_ok=True)
    return StudyOffer.checked(load_study(file), tmp_path / "data")


def joined(
    desk: VisitDesk, name: str, send: Callable[[Any], None] = lambda message: None, address: str = "", **more: Any
) -> Visit | Refusal:
    return desk.join(Hello.model_validate(hello(name, **more)), send, address)


def registered(offer: StudyOffer) -> list[str | None]:
    return [person.name for person in people(offer.data / "athome")]


# -- places ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [STUDY, STUDY.replace("consent: {en: You take part of your own free will.}", "")])
def test_whoever_stops_at_the_first_page_has_no_place(tmp_path: Path, text: str) -> None:
    offer = offer_of(tmp_path, text=text)
    desk = VisitDesk(offer, print)
    heard: dict[str, list[Any]] = {}
    for number in range(6):
        said = heard.setdefault(f"fake{number}", [])
        assert isinstance(joined(desk, f"fake{number}", said.append), Visit)
    until(lambda: all(any(message.get("what") in ("choose", "page") for message in said) for said in heard.values()))
    assert registered(offer) == []
    assert offer.places() == (0, 4)
    visit = joined(desk, "honest")
    assert isinstance(visit, Visit)
    page = ScriptedPage(visit.channel)
    assert page.over.wait(120)
    assert registered(offer) == ["honest"]
    assert offer.places() == (1, 4)
    page.close()
    desk.close()
    assert registered(offer) == ["honest"]


def test_consent_is_recorded_with_the_place_and_a_refusal_leaves_it(tmp_path: Path) -> None:
    offer = offer_of(tmp_path)
    desk = VisitDesk(offer, print)

    class Refusing(ScriptedPage):
        def _do(self, message: Any) -> None:
            if message["what"] == "choose":
                self.tell(message["c"], "choice", {"name": "refuse"})
            else:
                super()._do(message)

    for name, kind in (("agrees", ScriptedPage), ("refuses", Refusing)):
        visit = joined(desk, name)
        assert isinstance(visit, Visit)
        page = kind(visit.channel)
        assert page.over.wait(120)
        page.close()
    desk.close()
    journals = {file.parts[-3]: file.read_text() for file in (offer.data / "athome").glob("*/session-1/battery.jsonl")}
    assert '"consent"' in journals["agrees"]
    assert '"refused"' in journals["refused-person-2"]
    assert "refuses" not in journals
    assert offer.places() == (1, 4)


# -- room ------------------------------------------------------------------------------------------


class Somebody:
    def __init__(self, since: float = 0.0, address: str = "", confirmed: bool = False) -> None:
        self.since, self.address, self.confirmed, self.over = since, address, confirmed, False

    def release(self) -> None:
        self.over = True


def test_unconfirmed_visits_keep_nobody_out_and_the_late_ones_go_first() -> None:
    now = [1000.0]
    admission = Admission(3, clock=lambda: now[0])
    visits = [Somebody(now[0]) for _ in range(2)]
    assert admission.has_room(visits, "")
    visits = [Somebody(now[0] - number) for number in range(3)]
    assert admission.has_room(visits, "")
    assert [visit.over for visit in visits] == [False, False, True], "the oldest of too many"
    visits = [Somebody(now[0] - UNCONFIRMED_S - 1), Somebody(now[0]), Somebody(now[0])]
    assert admission.has_room(visits, "")
    assert [visit.over for visit in visits] == [True, False, False]
    assert not admission.has_room([Somebody(now[0], confirmed=True) for _ in range(3)], "")


def test_one_address_takes_no_more_than_its_share() -> None:
    admission = Admission(100, most_of_address=2)
    here = [Somebody(address="192.0.2.1", confirmed=True) for _ in range(2)]
    assert not admission.has_room(here, "192.0.2.1")
    assert admission.has_room(here, "192.0.2.2")
    assert admission.has_room(here, ""), "nobody knows the address: behind a proxy that does not tell it"
    fakes = [Somebody(float(number), "192.0.2.3") for number in range(2)]
    assert admission.has_room(fakes, "192.0.2.3")
    assert [fake.over for fake in fakes] == [True, False]


def test_so_many_new_visits_in_a_minute() -> None:
    now = [0.0]
    admission = Admission(100, 2, clock=lambda: now[0])
    assert [admission.has_room([], "") for _ in range(3)] == [True, True, False]
    now[0] = 61.0
    assert admission.has_room([], "")


def test_a_page_that_was_released_begins_anew_when_somebody_does_something(tmp_path: Path) -> None:
    desk = VisitDesk(offer_of(tmp_path), print, most=1)
    said: list[Any] = []
    first = joined(desk, "slow", said.append)
    assert isinstance(first, Visit)
    until(lambda: any(message.get("what") == "choose" for message in said))
    assert isinstance(joined(desk, "next"), Visit)
    assert first.released
    until(lambda: first.over)
    assert not any(message.get("what") == "end" for message in said), "the page still shows what it showed"
    again = joined(desk, "slow", epoch=first.channel.epoch)
    assert isinstance(again, Visit)
    assert again is not first
    desk.close()


def test_the_line_of_a_page_that_was_released_ends_when_somebody_does_something(tmp_path: Path) -> None:
    desk, said = VisitDesk(offer_of(tmp_path), print, most=1), list[Any]()
    with running(make_server(desk), desk) as port:
        (wire := Wire(port, "slow")).attach(said.append, "a" * 24, 0)
        until(lambda: any(message.get("what") == "choose" for message in said))
        assert isinstance(joined(desk, "next"), Visit)
        wire.take(PageEvent("a:1", wire.epoch, said[-1]["c"], "choose", -1, {"name": "agree"}))
        assert wire.closed.wait(30)


def test_what_was_measured_at_one_device_is_not_of_another() -> None:
    here, there = (SimpleNamespace(facts={"browser": name}) for name in ("laptop", "tablet"))
    for screen, calibration in ((here, 1), (there, None)):
        Visit.shows_on(visit := SimpleNamespace(_page_screen=here, _calibration=1), screen)  # type: ignore[arg-type]
        assert visit._calibration == calibration


@pytest.mark.parametrize(
    ("address", "known"), [("127.0.0.1", ""), ("::1", ""), ("192.0.2.7", "192.0.2.7"), ("testclient", "")]
)
def test_addresses_of_this_computer_tell_nobody_apart(address: str, known: str) -> None:
    assert remote(address) == known


# -- links -----------------------------------------------------------------------------------------


def test_signed_links_let_in_and_no_other(tmp_path: Path, run: Run) -> None:
    offer = offer_of(tmp_path, "online: {admission: links}\n")
    printed = output_of(
        *run("study", "links", "athome.yaml", "--n", 3, "--address", "https://lab.example.org/", "--data", "data")
    )
    links = printed.split()
    assert len(set(links)) == 3
    assert all(link.startswith("https://lab.example.org/?participant=p-") for link in links)
    name, ticket = links[0].partition("participant=")[2].split("&ticket=")
    said: list[str] = []
    desk = VisitDesk(offer, said.append)
    for wrong in (
        {},
        {"ticket": ""},
        {"ticket": ticket[:-1] + ("0" if ticket[-1] != "0" else "1")},
        {"ticket": "é" * 32},
    ):
        refused = joined(desk, name, link=wrong)
        assert isinstance(refused, Refusal)
        assert refused.final
    assert isinstance(joined(desk, "p-000000000000", link={"ticket": ticket}), Refusal), (
        "a ticket is for one participant"
    )
    assert isinstance(joined(desk, name, link={"ticket": ticket}), Visit)
    assert len(said) == 2
    desk.close()
    assert run("study", "links", "athome.yaml", "--n", 1, "--data", "data")[1].split()[0] not in links
    key = tmp_path / "data" / "athome" / ".links.key"
    assert key.stat().st_mode & 0o077 == 0
    key.write_text("nothing")
    with pytest.raises(SpanLabError, match="cannot be used"):
        Tickets.of_study(offer.study, tmp_path / "data")


def test_links_that_are_made_at_the_same_time_have_the_same_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, waits = offer_of(tmp_path).study, iter((0.1, 0.4))
    monkeypatch.setattr("secrets.token_hex", lambda _: time.sleep(wait := next(waits)) or f"{10 * wait:064.0f}")
    with ThreadPoolExecutor(2) as pool:
        assert len({*pool.map(lambda _: Tickets.of_study(study, tmp_path / "data").sign("p-1"), range(2))}) == 1


def test_links_have_no_meaning_where_everybody_is_let_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    offer_of(tmp_path)
    status, _, err = command_line(tmp_path, monkeypatch, capsys)("study", "links", "athome.yaml", "--n", 1)
    assert status == 1
    assert "admission: links" in err


def test_a_list_of_participants(tmp_path: Path) -> None:
    (tmp_path / "ids.txt").write_text("# the first wave\nanna-1\nbert-2  # came late\n\n", encoding="utf-8")
    assert allowed(tmp_path / "ids.txt") == {"anna-1", "bert-2"}
    desk = VisitDesk(offer_of(tmp_path, "online: {admission: list, allow: ids.txt}\n"), print)
    assert isinstance(joined(desk, "anna-1"), Visit)
    assert isinstance(joined(desk, "carl-3"), Refusal)
    desk.close()


# -- connections -----------------------------------------------------------------------------------


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving_module, "HEAD_S", 0.3)


def closed(line: socket.socket) -> bool:
    line.settimeout(10)
    try:
        return line.recv(1) == b""
    except ConnectionError:
        return True


def test_a_connection_that_says_nothing_is_closed(tmp_path: Path, quick: None) -> None:
    desk = VisitDesk(ParadigmOffer.checked("vsr", tmp_path, trials=1), print)
    with running(make_server(desk), desk) as port:
        lines = [socket.create_connection(("127.0.0.1", port)) for _ in range(3)]
        lines[1].sendall(b"GET / HTTP/1.1\r\nHost: x\r\n")  # and never the rest
        assert all(map(closed, lines))
        with socket.create_connection(("127.0.0.1", port)) as line:
            line.sendall(b"GET /start HTTP/1.1\r\nHost: x\r\n\r\n")
            assert line.recv(15) == b"HTTP/1.1 200 OK"
            time.sleep(0.5)
            line.sendall(b"GET /start HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            assert b"HTTP/1.1 200 OK" in b"".join(iter(lambda: line.recv(65536), b""))


# -- proxies and addresses -------------------------------------------------------------------------


def test_a_proxy_that_drops_the_port_is_named_and_one_that_forwards_it_works(tmp_path: Path) -> None:
    said: list[str] = []
    desk = VisitDesk(ParadigmOffer.checked("vsr", tmp_path, trials=1), said.append)
    client = TestClient(make_app(desk))
    page = {"origin": "https://lab.example.org:8443"}
    for _ in range(2):
        with (
            pytest.raises(WebSocketDisconnect),
            client.websocket_connect("/visit", headers={**page, "host": "lab.example.org"}) as line,
        ):
            line.receive_json()
    (sentence,) = said
    assert "https://lab.example.org:8443" in sentence
    assert "proxy_set_header Host $http_host" in sentence
    for headers in (
        {"host": "lab.example.org:8443"},
        {"host": "127.0.0.1:8765", "x-forwarded-host": "lab.example.org:8443"},
    ):
        with client.websocket_connect("/visit", headers={**page, **headers}) as line:
            line.send_text(json.dumps({**hello(), "screen": SCREEN}))
            assert line.receive_json()["type"] == "welcome"
    desk.close()


def test_pictures_of_nobody_are_not_found(tmp_path: Path) -> None:
    desk = VisitDesk(ParadigmOffer.checked("vsr", tmp_path, trials=1), print)
    assert isinstance(joined(desk, "P01"), Visit)
    assert TestClient(make_app(desk)).get("/frame/%C3%A9/y.png").status_code == 404
    desk.close()
