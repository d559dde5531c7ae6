"""The first page of a visit comes before anything that takes time: no session is begun, nothing is
drawn, and nobody waits for others who work."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from image_paradigms import write_faces
from scripted_page import ScriptedPage, hello, until

from spanlab.extensions.browser.participant.channel import Channel, PageEvent, Turns
from spanlab.extensions.browser.participant.drawing import Drawable, DrawingPool, FairQueue, Frame, draw_here, draw_png
from spanlab.extensions.browser.participant.frames import FrameStore
from spanlab.extensions.browser.visits.messages import Hello
from spanlab.extensions.browser.visits.one_paradigm import ParadigmOffer, SessionNames
from spanlab.extensions.browser.visits.visits import VisitDesk
from spanlab.paradigms import compile_trial, list_paradigms, load_paradigm
from spanlab.sessions.people import SessionSeed
from spanlab.stimuli.kinds.plain import Blank


class Page(ScriptedPage):
    """A page in this process, of a visit to a desk."""

    def __init__(self, desk: VisitDesk, participant: str = "P01") -> None:
        self.desk, self.participant, self.epoch = desk, participant, ""
        self.joined = threading.Event()
        super().__init__(self)  # type: ignore[arg-type]

    def attach(self, send: Any, instance: str, last: int) -> None:
        self.visit: Any = self.desk.join(Hello.model_validate(hello(self.participant, instance=instance)), self.hear)
        self.joined.set()

    def hear(self, message: Any) -> None:
        self.epoch = message.get("epoch", self.epoch)
        self.send(message)

    def detach(self, send: Any) -> None:
        self.visit.channel.detach(self.hear)

    def take(self, event: PageEvent) -> None:
        assert self.joined.wait(60)
        self.visit.channel.take(event)

    @property
    def pages(self) -> list[dict[str, Any]]:
        """The pages before the first trial."""
        told = [json.loads(line) for line in self.lines]
        before = itertools.takewhile(lambda message: message.get("what") != "trial", told)
        return [
            {name: message[name] for name in ("title", "text", "after", "footer")}
            for message in before
            if message.get("what") == "page"
        ]


class SilentPage(Page):
    """A page that hears, and does nothing."""

    def tell(self, *args: Any, **more: Any) -> None:
        return None


def pages_of(offer: ParadigmOffer) -> list[dict[str, Any]]:
    offer.data.mkdir(exist_ok=True)
    desk = VisitDesk(offer, print)
    page = Page(desk)
    until(lambda: any('"what": "trial"' in line for line in list(page.lines)))
    desk.close()
    page.close()
    return page.pages


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", list_paradigms())
def test_the_first_page_is_shown_once_and_the_others_are_as_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """With a seed each, so that levels differ: what is read before a session begins is what the
    session shows first."""
    for seed in (1, 2):
        monkeypatch.setattr(SessionNames, "seed", lambda names, paradigm, participant, seed=seed: SessionSeed(seed, 1))
        early = pages_of(offer := ParadigmOffer.checked(name, tmp_path / f"early{seed}", trials=2))
        with monkeypatch.context() as without:
            without.setattr(ParadigmOffer, "_first_page", lambda *_: None)
            assert early == pages_of(replace(offer, data=tmp_path / f"late{seed}"))


def test_no_session_is_begun_before_the_first_page_was_read(tmp_path: Path) -> None:
    drawn = list[Drawable]()

    def draw(drawable: Drawable, owner: str) -> Future[bytes]:
        drawn.append(drawable)
        return Future()  # it takes for ever

    desk = VisitDesk(
        ParadigmOffer.checked("vsr", tmp_path, trials=1, practice=False), print, frames=FrameStore(draw=draw)
    )
    pages = [SilentPage(desk, f"P{number:02}") for number in range(20)]
    until(lambda: all(page.pages for page in pages))
    assert list(tmp_path.iterdir()) == []
    assert len(drawn) == 1, "all of them see the same picture"
    desk.close()
    for page in pages:
        page.close()


# -- turns -----------------------------------------------------------------------------------------


def test_a_session_that_waits_for_its_page_lets_others_work() -> None:
    turns = Turns(1)
    first, second = (Channel(epoch, lambda event: True, turns=turns) for epoch in ("a", "b"))
    commands = [channel.command("page", {}) for channel in (first, second)]
    first.take(PageEvent("a:1", "a", commands[0], "done", -1, {}))
    first.wait(commands[0], "done")  # and works
    came = threading.Event()

    def works() -> None:
        second.wait(commands[1], "done")
        came.set()

    second.take(PageEvent("b:1", "b", commands[1], "done", -1, {}))
    threading.Thread(target=works, daemon=True).start()
    assert not came.wait(0.2)
    with first.turn.idle():
        assert came.wait(60)
        second.turn.end()
    first.turn.end()
    turns.acquire(begins=True)


def test_sessions_with_answers_go_before_one_that_prepares_what_comes_next() -> None:
    turns, order = Turns(1), list[str]()
    first, second = (Channel(epoch, lambda event: True, turns=turns) for epoch in ("a", "b"))
    with first.turn.idle():
        pass  # and it works
    second.turn._begun = True

    def answers() -> None:
        with second.turn.idle():
            order.append("waits")
        order.append("second")
        second.turn.end()

    thread = threading.Thread(target=answers, daemon=True)
    thread.start()
    until(lambda: turns._answering == 1)
    first.on_disk()
    order.append("first")
    thread.join(60)
    assert order == ["waits", "second", "first"]
    first.turn.end()


def test_nobody_waits_for_ever_for_the_first_pages_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spanlab.extensions.browser.participant.channel._PAGES_FIRST_S", 0.1)
    turns = Turns(1)
    reads, comes = (Channel(epoch, lambda event: True, turns=turns) for epoch in ("a", "b"))
    comes.turn.arrive()
    with reads.turn.idle():
        pass  # and it works, though the other one still waits
    comes.turn.end()
    reads.turn.end()


BLANK = Blank(colour="gray")


# -- drawing ---------------------------------------------------------------------------------------


class Drawers:
    """Whoever draws: what was begun is finished by hand."""

    def __init__(self) -> None:
        self.begun: list[tuple[Frame, Future[bytes]]] = []

    def submit(self, drawable: Any) -> Future[bytes]:
        self.begun.append((drawable, Future()))
        return self.begun[-1][1]

    def finish(self) -> None:
        next(future for _, future in self.begun if not future.done()).set_result(b"")

    @property
    def order(self) -> list[int]:
        return [drawable.size_px for drawable, _ in self.begun]


def drawn_in_turn(orders: Sequence[tuple[str, int]], seconds: float) -> list[int]:
    """The order in which a queue with one drawer draws things, each of which takes so long."""
    now, drawers = [0.0], Drawers()
    queue = FairQueue(1, drawers.submit, lambda: now[0])
    drawn = [queue.put(Frame(size), owner) for owner, size in orders]
    for _ in orders:
        now[0] += seconds
        drawers.finish()
    assert all(future.result() == b"" for future in drawn)
    return drawers.order


def test_whoever_has_much_drawn_waits_for_itself() -> None:
    assert drawn_in_turn([*(("much", size) for size in range(1, 9)), ("little", 100), ("other", 200)], 1.0) == [
        1,
        100,
        200,
        2,
        3,
        4,
        5,
        6,
        7,
        8,
    ]


def test_what_takes_little_is_drawn_in_the_order_in_which_it_was_wanted() -> None:
    assert drawn_in_turn([("a", 1), ("a", 2), ("b", 3), ("b", 4)], 0.01) == [1, 2, 3, 4]


def test_what_cannot_be_drawn_is_said_and_tried_again() -> None:
    drawers = Drawers()
    store = FrameStore(draw=lambda drawable, owner: drawers.submit(drawable))
    first, same = (store.frame(BLANK, 96, "published") for _ in range(2))
    assert first is same
    drawers.begun[0][1].set_exception(RuntimeError("no paint"))
    with pytest.raises(RuntimeError, match="no paint"):
        first.result(0)
    again = store.frame(BLANK, 96, "published")
    drawers.begun[1][1].set_result(b"painted")
    assert again.result(0) == b"painted"
    assert store.frame(BLANK, 96, "published").result(0) == b"painted"
    assert len(drawers.begun) == 2


def test_pictures_that_were_not_wanted_for_longest_go_first() -> None:
    sizes = {size: len(draw_here(Frame(size), "").result()) for size in (96, 98, 100)}
    store = FrameStore(room=sizes[96] + sizes[100])
    kept = [store.get(Frame(size)) for size in (96, 98)]
    assert store.get(Frame(96)) is kept[0]
    store.get(Frame(100))
    assert store.get(Frame(96)) is kept[0]
    assert store.get(Frame(98)) is not kept[1]


def test_processes_that_draw_find_the_images_of_a_paradigm(tmp_path: Path) -> None:
    paradigm = load_paradigm(write_faces(tmp_path))
    (shown, *_) = compile_trial(paradigm, paradigm.combinations({})[0]).steps[0].percept.displays
    with closing(DrawingPool(1)) as pool:
        assert pool(Frame(96, stimulus=shown.stimulus), "").result(60) == draw_png(Frame(96, stimulus=shown.stimulus))


KILLED = """
import os, signal
from spanlab.extensions.browser.participant.drawing import DrawingPool
if __name__ == "__main__":
    pool = DrawingPool(1)
    for future in pool.start():
        future.result()
    print(*pool._pool._processes, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such signal")
@pytest.mark.slow
def test_processes_that_draw_end_with_a_server_that_is_killed(tmp_path: Path) -> None:
    (script := tmp_path / "killed.py").write_text(KILLED)
    told = subprocess.run(
        [sys.executable, script], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False
    ).stdout

    def gone(process: int) -> bool:
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return True
        return False

    (drawing,) = map(int, told.split())
    until(lambda: gone(drawing))
