"""The line between a session and its page: what is acknowledged is on the disk, and each event
counts once."""

from __future__ import annotations

from pathlib import Path

import pytest
from scripted_page import SCREEN_REPORT, ScriptedPage

from spanlab.agents.interruptions import TrialCut
from spanlab.extensions.browser.participant.agent import BrowserParticipant
from spanlab.extensions.browser.participant.channel import Channel, PageEvent, PageGone
from spanlab.extensions.browser.participant.frames import FrameStore
from spanlab.paradigms import load_paradigm, plan_session
from spanlab.paradigms.language.schema import SessionDesign
from spanlab.sessions import Request, Runner, begin, read_responses
from spanlab.sessions.session import Session, reopen

VSR = load_paradigm("vsr")
PLAN = plan_session(VSR, seed=4, levels={"list_length": [2]}, trials=4, design=SessionDesign())


class Heard:
    """Keeps what a page is sent."""

    def __init__(self) -> None:
        self.messages: list[dict[str, object]] = []

    def __call__(self, message: object) -> None:
        self.messages.append(dict(message))  # type: ignore[call-overload]

    def acknowledged(self) -> list[str]:
        return [name for message in self.messages if message["type"] == "ack" for name in message["n"]]  # type: ignore[attr-defined]


def event(
    number: int, command: int, kind: str = "done", epoch: str = "e", place: int = -1, page: str = "a"
) -> PageEvent:
    return PageEvent(f"{page * 24}:{number}", epoch, command, kind, place, {"number": number})


def test_an_event_is_acknowledged_when_the_session_has_come_back_and_not_before() -> None:
    channel, page = Channel("e", lambda one: None), Heard()
    channel.attach(page, "a" * 24, 0)
    first = channel.command("choose", {})
    channel.take(event(1, first, "choice"))
    assert channel.wait(first, "choice") == {"number": 1}
    assert page.acknowledged() == []
    channel.take(event(1, first, "choice"))  # sent again, since nothing was acknowledged
    assert page.acknowledged() == []
    read = channel.command("page", {})
    assert page.acknowledged() == ["a" * 24 + ":1"]
    channel.take(event(1, first, "choice"))  # the acknowledgement was lost
    assert page.acknowledged() == ["a" * 24 + ":1"] * 2
    channel.take(event(2, read))
    channel.wait(read, "done")
    assert page.acknowledged()[2:] == ["a" * 24 + ":2"], "nothing is recorded of a page that was read"


def test_what_comes_too_late_is_kept_before_it_is_acknowledged() -> None:
    kept: list[PageEvent] = []
    page = Heard()

    def keep(one: PageEvent) -> None:
        assert page.acknowledged() == []
        kept.append(one)

    channel = Channel("new", keep)
    channel.attach(page, "a" * 24, 0)
    command = channel.command("page", {})
    channel.take(event(7, command, epoch="old"))
    assert [one.body for one in kept] == [{"number": 7}]
    assert page.acknowledged() == ["a" * 24 + ":7"]
    channel.take(event(7, command, epoch="old"))
    assert len(kept) == 1


def test_a_page_that_was_loaded_anew_cuts_the_trial_off_and_one_that_has_lost_the_line_does_not() -> None:
    kept: list[PageEvent] = []
    channel, page = Channel("e", kept.append), Heard()
    channel.attach(page, "a" * 24, 0)
    trial = channel.command("trial", {})
    channel.detach(page)
    other = Heard()
    channel.attach(other, "b" * 24, 0)
    assert [message["what"] for message in other.messages] == ["trial"], (
        "nothing of the trial was seen: the new page takes it"
    )
    begin_ = channel.add("begin", {"trial": trial}, begins=True)
    channel.detach(other)
    channel.attach(other, "b" * 24, begin_)
    channel.take(event(1, trial, "step", place=0, page="b"))
    assert channel.wait(trial, "step", 0) == {"number": 1}
    channel.detach(other)
    channel.attach(Heard(), "c" * 24, 0)
    with pytest.raises(TrialCut, match="reloaded"):
        channel.wait(trial, "step", 1)
    channel.take(event(2, trial, "step", place=1, page="b"))
    assert [one.place for one in kept] == [1], "a step of a trial that does not count is kept beside the record"
    channel.command("page", {})
    assert channel.belongs_to("c" * 24)


def test_a_session_does_not_wait_for_ever_for_a_page_that_is_gone() -> None:
    channel = Channel("e", lambda one: None, patience_s=0.0)
    with pytest.raises(PageGone, match="closed"):
        channel.wait(channel.command("page", {}), "done")
    channel = Channel("e", lambda one: None)
    channel.close("the server stopped")
    with pytest.raises(PageGone, match="stopped"):
        channel.wait(channel.command("page", {}), "done")


def taken(session: Session, channel: Channel) -> None:
    Runner(session, BrowserParticipant(channel, FrameStore(), SCREEN_REPORT.screen)).run()


def test_a_visit_is_an_ordinary_session_and_every_event_of_it_is_acknowledged(tmp_path: Path) -> None:
    channel = Channel("e" * 24, lambda one: pytest.fail(f"{one} came too late"))
    page = ScriptedPage(channel)
    session = begin(
        tmp_path,
        VSR,
        BrowserParticipant(channel, FrameStore(), SCREEN_REPORT.screen),
        PLAN,
        Request(seed=4, participant="P01", source="vsr"),
    )
    taken(session, channel)
    channel.command("end", {})
    assert page.over.wait(10)
    page.close()
    assert page.acknowledged == {one.name for one in page.told}
    responses = read_responses(session.folder)
    assert len(responses) == 8
    assert set(responses.agent_kind) == {"participant"}
    assert responses.rt_ms.eq(300.0).all()
    assert responses.trial_dropped_frames.eq(0).all()
    assert session.info["agent_settings"]["window"] == "browser"
    assert reopen(session.folder).info["apparatus"]["pixel_ratio"] == 1.0
