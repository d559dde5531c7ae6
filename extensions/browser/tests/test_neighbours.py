"""Whoever sends or connects too much is told so, and the others take part as if nothing had been;
of two devices with one link, one is at the session."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest
from scripted_page import ScriptedPage, TrialPage, Wire, until

from spanlab.core.locale import sentence
from spanlab.extensions.browser.visits import server as server_module
from spanlab.extensions.browser.visits import visits as visits_module
from spanlab.extensions.browser.visits.one_paradigm import ParadigmOffer
from spanlab.extensions.browser.visits.server import MOST_CHARACTERS, UNREAD_BYTES
from spanlab.extensions.browser.visits.serving import make_server, running
from spanlab.extensions.browser.visits.visits import VisitDesk
from spanlab.sessions import read_responses
from spanlab.sessions.record.reader import read_events

TRIALS = 2


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def desk(data: Path) -> VisitDesk:
    data.mkdir()
    return VisitDesk(ParadigmOffer.checked("vsr", data, trials=TRIALS, practice=False), print)


@pytest.fixture
def port(desk: VisitDesk) -> Generator[int]:
    """A server of two trials, as ``spanlab serve`` runs it."""
    with running(make_server(desk), desk) as port:
        yield port


def session_of(data: Path, participant: str) -> Path:
    (folder,) = (folder for folder in data.iterdir() if f"-{participant.lower()}-" in folder.name)
    return folder


def whole(data: Path, participant: str) -> list[str]:
    """Of a session in which every trial was answered once: why trials were cut off."""
    events, responses = read_events(session_of(data, participant)), read_responses(session_of(data, participant))
    assert events[-1]["event"] == "session_end"
    assert sorted(event["trial"] for event in events if event["event"] == "trial_end") == [
        str(number + 1) for number in range(TRIALS)
    ]
    assert not responses.duplicated(["trial", "ask"]).any()
    return [event["why"] for event in events if event["event"] == "trial_cut"]


class Silent:
    """A page that hears, and does nothing."""

    def __init__(self, port: int, participant: str, instance: str = "b" * 24) -> None:
        self.wire, self.heard = Wire(port, participant), list[Any]()
        self.wire.attach(self.heard.append, instance, 0)
        until(lambda: self.heard or self.wire.closed.is_set())


def connects_on_and_on(page: Silent, port: int) -> None:
    for _ in range(20):
        if page.wire.refused is None:
            page.heard.clear()
            page.wire.attach(page.heard.append, "b" * 24, 0)
            until(lambda: page.heard or page.wire.closed.is_set())


def sends(text: str, times: int = 1) -> Callable[[Silent, int], None]:
    def send(page: Silent, port: int) -> None:
        for _ in range(times):
            page.wire.send(text)

    return send


EVENT = {"type": "event", "id": f"{'b' * 24}:1", "epoch": "other", "c": 1, "kind": "done", "place": -1, "body": {}}
TOO_MUCH: dict[str, tuple[Callable[[Silent, int], None], int, str, bool]] = {
    "a message that is too long": (
        sends(json.dumps({**EVENT, "body": {"x": "x" * MOST_CHARACTERS}})),
        1008,
        "stopped",
        True,
    ),
    "too many messages": (sends(json.dumps(EVENT), 2_600), 1008, "stopped", True),
    "a message that nobody reads": (sends("x" * (UNREAD_BYTES + 1)), 1009, "", True),
    "connecting on and on": (connects_on_and_on, 1000, "often", False),
}


@pytest.mark.parametrize("what", TOO_MUCH)
@pytest.mark.slow
def test_too_much_is_told_and_the_neighbour_finishes(
    data: Path, port: int, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    monkeypatch.setattr(visits_module, "_MOST_LINES", 10)
    monkeypatch.setattr(server_module, "_WITHIN_S", 1000.0)  # a busy computer takes longer than ten seconds for them
    act, code, key, final = TOO_MUCH[what]
    middle, over = threading.Event(), threading.Event()

    def waits(number: int) -> None:
        if number == 2:
            middle.set()
            assert over.wait(120)

    neighbour = TrialPage(wire := Wire(port, "quiet"))
    neighbour.before_trial = waits
    assert middle.wait(120)
    noisy = Silent(port, "noisy")
    act(noisy, port)
    assert noisy.wire.closed.wait(120)
    assert noisy.wire.code == code
    if key:
        assert noisy.wire.refused is not None
        assert noisy.wire.refused["texts"] == [sentence(f"online.{key}", "en")]
        assert noisy.wire.refused["final"] is final
    assert not wire.closed.is_set()
    over.set()
    assert neighbour.over.wait(120)
    neighbour.close()
    assert whole(data, "quiet") == []
    # and who has sent too much may come again, and goes on
    monkeypatch.setattr(visits_module, "_LINES_WITHIN_S", 0.0)
    again = ScriptedPage(Wire(port, "noisy"), "c" * 24)
    assert again.over.wait(120)
    again.close()
    assert whole(data, "noisy") == []


def test_connections_that_say_nothing_are_counted(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "most_lines", lambda most: 3)
    silent = [Silent(port, f"P{number}") for number in range(3)]
    assert all(page.wire.refused is None for page in silent)
    fourth = Silent(port, "P4")
    assert fourth.wire.closed.wait(120)
    assert (fourth.wire.code, fourth.wire.refused and fourth.wire.refused["texts"]) == (
        1013,
        [sentence("online.full", "en")],
    )
    assert fourth.wire.refused is not None
    assert not fourth.wire.refused["final"], "the page tries again by itself"
    silent[0].wire.detach(print)
    until(lambda: Silent(port, "P5").wire.refused is None)


def test_a_page_that_connects_anew_leaves_no_connection_behind(data: Path, port: int) -> None:
    first = Silent(port, "P01")
    second = Silent(port, "P01")  # the same page: its line was cut, and it knows that before the server
    assert first.wire.closed.wait(120)
    assert not second.wire.closed.is_set()
    second.wire.detach(print)


def test_of_two_devices_the_second_is_told_and_the_first_goes_on(data: Path, port: int) -> None:
    outcomes: list[Silent] = []

    def comes_in_between(number: int) -> None:
        outcomes.append(Silent(port, "P01"))
        assert outcomes[-1].wire.closed.wait(120)

    first = TrialPage(Wire(port))
    first.before_trial = comes_in_between
    assert first.over.wait(120)
    first.close()
    assert [page.wire.refused and page.wire.refused["title"] for page in outcomes] == ["Open somewhere else"] * TRIALS
    assert all(page.heard == [page.wire.refused] for page in outcomes), "the second learns nothing of the session"
    assert all(page.wire.refused is not None and not page.wire.refused["final"] for page in outcomes), (
        "it asks again by itself"
    )
    assert whole(data, "P01") == []
    assert not (session_of(data, "P01") / "unfinished.jsonl").exists()


def test_a_second_device_takes_over_in_the_middle_of_a_trial_when_the_first_has_gone(
    data: Path, desk: VisitDesk, port: int
) -> None:
    gone = threading.Event()

    def goes(number: int) -> None:
        if number == 2:
            first.channel.detach(print)
            gone.set()

    first = TrialPage(Wire(port))
    first.before_trial = goes
    assert gone.wait(120)
    until(lambda: not desk.present()["P01"].connected)
    second = ScriptedPage(Wire(port), "d" * 24)
    assert second.over.wait(120)
    second.close()
    assert set(whole(data, "P01")) == {"reloaded"}
    starts = [event for event in read_events(session_of(data, "P01")) if event["event"] == "trial_start"]
    assert len({event["seed"] for event in starts}) == len(starts), "nobody sees the same trial twice"
