"""A disk that is full during a visit, and pages that send too much: nothing is acknowledged that is
not on the disk, and nobody takes more than a share."""

from __future__ import annotations

import errno
import json
import os
import resource
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from scripted_page import ScriptedPage, TrialPage, hello, until
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from spanlab.core.errors import UnwritableError
from spanlab.core.locale import sentence
from spanlab.extensions.browser.participant import channel as channel_module
from spanlab.extensions.browser.participant.agent import BrowserParticipant
from spanlab.extensions.browser.participant.channel import Channel, PageEvent, PageGone, TooMuchError
from spanlab.extensions.browser.participant.frames import FrameStore
from spanlab.extensions.browser.visits import server as server_module
from spanlab.extensions.browser.visits import visits as visits_module
from spanlab.extensions.browser.visits.messages import Hello
from spanlab.extensions.browser.visits.one_paradigm import ParadigmOffer
from spanlab.extensions.browser.visits.server import make_app
from spanlab.extensions.browser.visits.visits import Visit, VisitDesk
from spanlab.sessions import read_responses
from spanlab.sessions.record.reader import read_events

HERE = {"origin": "http://testserver", "host": "testserver"}


class FullDisk:
    """A disk that can be filled and emptied."""

    def __init__(self, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self.how, self._full, self._sync = how, False, os.fsync
        self._limit = resource.getrlimit(resource.RLIMIT_FSIZE)
        monkeypatch.setattr(os, "fsync", self._fsync)

    def _fsync(self, descriptor: int) -> None:
        if self._full and self.how == "sync":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._sync(descriptor)

    def fills(self, size: int) -> None:
        """No file grows beyond this size (write), or what is written does not reach the disk
        (sync)."""
        self._full = True
        if self.how == "write":
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, self._limit[1]))

    def is_emptied(self) -> None:
        self._full = False
        resource.setrlimit(resource.RLIMIT_FSIZE, self._limit)


@pytest.fixture(params=["sync", "write"])
def disk(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[FullDisk]:
    made = FullDisk(str(request.param), monkeypatch)
    yield made
    made.is_emptied()


def joined(desk: VisitDesk, participant: str = "P01") -> Visit:
    visit = desk.join(Hello.model_validate(hello(participant)), lambda message: None)
    assert isinstance(visit, Visit)
    return visit


def test_a_full_disk_is_told_nothing_is_acknowledged_and_the_visit_goes_on_when_there_is_room(
    tmp_path: Path, disk: FullDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(visits_module, "_ROOM_S", 0.05)
    said = list[str]()
    desk = VisitDesk(ParadigmOffer.checked("vsr", tmp_path, trials=3, practice=False), said.append)

    def fills(number: int) -> None:
        if number == 2:
            (folder,) = tmp_path.iterdir()
            disk.fills((folder / "events.jsonl").stat().st_size + 150)  # in the middle of a line

    visit = joined(desk)
    page = TrialPage(visit.channel)
    page.before_trial = fills
    until(lambda: any(sentence("online.no_room", "en") in line for line in page.lines))
    (folder,) = tmp_path.iterdir()
    assert "goes on by itself" in said[0]
    told_before = [event for event in page.told if event.name in page.acknowledged and event.kind == "step"]
    finished = [event["trial"] for event in read_events(folder) if event["event"] == "trial_end"]
    assert finished == ["1"] or (disk.how == "sync" and finished == ["1", "2"]), (
        "what was written may reach the disk later, but nobody knows that yet"
    )
    assert len({event.command for event in told_before}) == 1, "only what belongs to the first trial is acknowledged"
    unacknowledged = {event.name for event in page.told} - page.acknowledged
    assert unacknowledged, "answers of the second trial are the page's to keep"
    if disk.how == "sync":  # a small file of its own may still find room otherwise
        with pytest.raises(UnwritableError):
            visit.channel.take(PageEvent("late:1", "earlier", 1, "step", 0, {}))
    time.sleep(0.2)
    assert not (unacknowledged & page.acknowledged)
    disk.is_emptied()
    assert page.over.wait(120)
    assert {event.name for event in page.told} - page.acknowledged == set()
    responses = read_responses(folder)
    assert sorted(set(responses["trial"])) == [1, 2, 3]
    assert not responses.duplicated(["trial", "ask"]).any()
    beside = [json.loads(line)["event"] for line in (folder / "unfinished.jsonl").read_text().splitlines()]
    steps = {event.name for event in page.told if event.name in unacknowledged and event.kind == "step"}
    assert steps <= set(beside), "what belongs to the trial that was cut off is kept beside the record"
    page.close()
    desk.close()


# -- sizes and rates -------------------------------------------------------------------------------


def event(number: int, epoch: str, c: int = 10**8, **body: Any) -> str:
    return json.dumps(
        {
            "type": "event",
            "id": f"{'a' * 24}:{number}",
            "epoch": epoch,
            "c": c,
            "kind": "done",
            "place": -1,
            "body": body,
        }
    )


def test_events_of_one_trial_and_events_beside_the_record_are_limited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channel_module, "_MOST_PENDING", 5)
    monkeypatch.setattr(channel_module, "_MOST_NAMES", 3)
    channel = Channel("e", lambda event: None)
    command = channel.command("trial", {})

    def told(number: int) -> PageEvent:
        return PageEvent(f"p:{number}", "e", command, "step", number, {})

    for number in range(5):
        channel.take(told(number))
    with pytest.raises(TooMuchError):
        channel.take(told(5))
    channel.command("page", {})
    assert len(channel._acknowledged) == 3  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(channel_module, "_MOST_PENDING", 1000)  # the trial of the visit may have more than five steps
    monkeypatch.setattr(visits_module, "_MOST_UNFINISHED", 100)
    desk = VisitDesk(ParadigmOffer.checked("vsr", tmp_path, trials=1, practice=False), print)
    visit = joined(desk)
    page = ScriptedPage(visit.channel)
    assert page.over.wait(120)
    visit.channel.take(PageEvent("b:1", "another", 1, "step", 0, {"long": "x" * 100}))
    with pytest.raises(TooMuchError):
        visit.channel.take(PageEvent("b:2", "another", 1, "step", 0, {}))
    page.close()
    desk.close()


def test_new_visits_are_limited_in_each_minute_and_a_silent_line_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = VisitDesk(ParadigmOffer.checked("vsr", tmp_path, trials=1, practice=False), print, most=50, most_new=2)
    outcomes = [desk.join(Hello.model_validate(hello(f"P{n}")), lambda message: None) for n in range(3)]
    assert [isinstance(one, Visit) for one in outcomes] == [True, True, False]
    desk.close()
    monkeypatch.setattr(server_module, "_HELLO_S", 0.05)
    with (
        TestClient(make_app(desk)).websocket_connect("/visit", headers=HERE) as socket,
        pytest.raises(WebSocketDisconnect),
    ):
        socket.receive_json()


def test_what_comes_before_the_record_is_known_is_acknowledged_when_it_is_kept(tmp_path: Path) -> None:
    desk = VisitDesk(ParadigmOffer.checked("vsr", tmp_path / "data", trials=1), print)
    visit = Visit(
        desk.offer, Hello.model_validate(hello()), FrameStore(), BrowserParticipant, print, 600.0, lambda: None
    )
    acknowledged = list[str]()
    visit.channel.attach(
        lambda message: acknowledged.extend(message["n"]) if message["type"] == "ack" else None, "a", 0
    )
    early = PageEvent("b:1", "before", 7, "step", 2, {})
    for _ in range(2):
        visit.channel.take(early)
    assert acknowledged == []
    visit.recorded_in(tmp_path)
    assert acknowledged == ["b:1"]
    visit.channel.take(early)
    (line,) = [json.loads(line) for line in (tmp_path / "unfinished.jsonl").read_text().splitlines()]
    assert line["event"] == "b:1"


def test_a_visit_in_which_nothing_happens_for_the_declared_time_is_over() -> None:
    channel = Channel("e", lambda event: None, idle_s=0.05)
    channel.attach(lambda message: None, "a", 0)
    with pytest.raises(PageGone, match="nothing has happened at the page"):
        channel.wait(channel.command("page", {}), "done")
