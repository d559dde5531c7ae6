"""Visits: each a participant at a page, with a session that runs in a thread of its own."""

from __future__ import annotations

import secrets
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spanlab.agents import WindowAgent
from spanlab.agents.human.pages import Question
from spanlab.core import SpanLabError
from spanlab.core.atomic_files import append_line, check_room
from spanlab.core.errors import UnwritableError
from spanlab.core.locale import sentence
from spanlab.sessions import utc_now
from spanlab.stimuli.render import PaletteName

from ..participant.agent import BrowserParticipant
from ..participant.calibration import Calibration, calibration_words, read_calibration
from ..participant.channel import Channel, PageEvent, PageGone, PageIdle, Send, TooMuchError, Turns
from ..participant.frames import FrameStore
from ..participant.messages import COLOURS_OF_PAGES, words
from ..participant.screen import PageScreen
from .admission import Admission
from .messages import Hello
from .neighbours import Neighbours, Presence, whose
from .offers import End, LinkError, StudyOffer
from .one_paradigm import ParadigmOffer

#: something to take part in
Offer = ParadigmOffer | StudyOffer

#: events that came too late to count: in the folder of the session
UNFINISHED = "unfinished.jsonl"
#: seconds in which a server that stops waits for the sessions to be recorded
_FAREWELL_S = 10.0

#: seconds between two exchanges with other workers
_EXCHANGE_S = 1.0
#: seconds between two looks at whether a full disk has room again
_ROOM_S = 2.0
#: bytes of events of one session that came too late to count
_MOST_UNFINISHED = 16 * 2**20

#: so many different sentences about pages of somebody else are said
_MOST_SAID = 20
#: a page connects so often in so many seconds at most
_MOST_LINES, _LINES_WITHIN_S = 120, 60.0
#: so many sessions work at the same time: more would be no faster, since one thread of Python runs
#: at a time, and would be in the way of the server's own
_AT_WORK = 2

#: makes somebody who sits at a page; others than people in tests
Seat = Callable[[Channel, FrameStore, Callable[[], PageScreen], PaletteName], WindowAgent]


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a page is not let in.

    Parameters
    ----------
    title, text : for the participant
    final : whether it does not help to try again
    """

    title: str
    text: str
    final: bool = False


#: where somebody is who does what the server has said; for everything else the title says it
_PLACES = {
    "": "arriving",
    "trial": "trial",
    "form": "questions",
    "end": "last page",
    "language": "arriving",
    "wait": "between trials",
}


class Visit:
    """A participant at a page. It is the host of the session that its thread runs.

    Parameters
    ----------
    say : takes sentences for whoever has started the server
    turn_away : called when there is no place for the participant
    after : the visit of the same participant before this one, which ends before this one begins
    worker : number of the worker that serves it
    """

    def __init__(
        self,
        offer: Offer,
        hello: Hello,
        frames: FrameStore,
        seat: Seat,
        say: Callable[[str], None],
        patience_s: float,
        turn_away: Callable[[], None],
        after: Visit | None = None,
        clock: Callable[[], float] = time.monotonic,
        address: str = "",
        turns: Turns | None = None,
        worker: int = 0,
    ) -> None:
        self.participant = hello.participant
        #: of the browser; empty where nobody knows it
        self.address = address
        #: what the link says besides
        self.link: Mapping[str, str] = hello.link
        #: names the visit in the addresses of its pictures: nobody else can guess it
        self.secret = f"{worker}-{secrets.token_urlsafe(24)}"
        self._page_screen = hello.screen.screen()
        self._calibration: Calibration | None = None
        self.channel = Channel(secrets.token_hex(12), self._keep, patience_s, offer.drop_out_s, clock, turns)
        self._offer, self._session, self._frames, self._seat, self._say = offer, hello.session, frames, seat, say
        self._agent: WindowAgent | None = None
        self._folder: Path | None = None
        self._early: list[PageEvent] = []
        self._language = offer.language
        self._began = time.time()
        self.since, self.released = clock(), False
        self._turn_away, self._after = turn_away, after
        self._keeping = threading.Lock()
        self._joined: deque[float] = deque(maxlen=_MOST_LINES) if after is None else after._joined
        self.thread = threading.Thread(target=self._run, name=f"visit of {hello.participant}", daemon=True)

    @property
    def screen(self) -> PageScreen:
        """The screen of the page, as it was told last and measured by the participant."""
        return self._page_screen if self._calibration is None else self._page_screen.calibrated(self._calibration)

    def shows_on(self, screen: PageScreen) -> None:
        """Take note of the screen of the page; what was measured at another device is not of it."""
        if screen.facts["browser"] != self._page_screen.facts["browser"]:
            self._calibration = None
        self._page_screen = screen

    @property
    def confirmed(self) -> bool:
        """True if somebody has done something at the page."""
        return self.channel.acted

    def release(self) -> None:
        """End a visit at whose page nobody has done anything, so that others find room. The page
        begins anew when somebody does."""
        self.released = True
        self.channel.close("nobody has done anything at the page")

    @property
    def presence(self) -> Presence:
        """Presence of the participant."""
        what, title = self.channel.doing
        return Presence(
            self.channel.in_use,
            _PLACES.get(what, title),
            self._began,
            self.address,
            self.channel.acted and not self.over,
        )

    def may_join(self) -> bool:
        """Return whether the page may connect once more; it is counted."""
        now = time.monotonic()
        if len(self._joined) == _MOST_LINES and now - self._joined[0] < _LINES_WITHIN_S:
            return False
        self._joined.append(now)
        return True

    @property
    def over(self) -> bool:
        """True if the session is over, for whatever reason."""
        return self.thread.ident is not None and not self.thread.is_alive()

    def picture(self, name: str) -> Future[bytes] | None:
        """A picture of the trial or page that is shown now, as soon as it is drawn; None for
        anything else."""
        return self._agent.picture(name) if isinstance(self._agent, BrowserParticipant) else None

    def is_for(self, session: str) -> bool:
        """Return whether a link with this session leads here."""
        return (session or "1") == (self._session or "1")

    def _run(self) -> None:
        try:
            self._visit()
        finally:
            self.channel.turn.end()

    def _visit(self) -> None:
        if self._after is not None:
            self._after.thread.join()
            self._after = None
        self.channel.turn.arrive()
        while True:
            try:
                end = self._offer.take(self.participant, self._session, self)
                break
            except PageGone as error:
                if self.released:
                    return  # nothing was told, and the page is asked to connect anew
                self._say(f"{self.participant}: {error}")
                late = (
                    self._offer.timed_out(self.participant, self.link, self._language)
                    if isinstance(error, PageIdle)
                    else None
                )
                end = late or End(*self._words("gone"))
            except UnwritableError as error:
                self._say(f"{self.participant}: {error} (the visit goes on by itself when there is room again)")
                if not self._wait_for_room():
                    return
                continue
            except LinkError as error:
                self._say(f"{self.participant}: {error}")
                end = End(*self._words("refused"))
            except SpanLabError as error:
                self._say(f"{self.participant}: {error}")
                end = End(*self._words("stopped"))
            except Exception:
                # the page learns that it happened, and nothing else
                self._say(
                    f"{self.participant}: the session stopped because of a fault in the"
                    f" program\n{traceback.format_exc()}"
                )
                end = End(*self._words("stopped"))
            if not self._set_aside():
                return
            break
        if self._folder is None:
            self._keep_early()  # there is no record that they could belong to
        language = end.language or self._language
        texts = words(language)
        if end.code_label:
            texts["code"] = end.code_label
        content = {
            "title": end.title,
            "code": end.code,
            "redirect": end.redirect,
            "post": end.post,
            "at_once": bool(end.redirect) and not end.post,
            "language": language,
            "words": texts,
        }
        self.channel.command("end", {**content, "texts": list(end.texts)})

    def _set_aside(self) -> bool:
        """Keep what was told and is not recorded; false where the page goes away before that is
        possible."""
        try:
            self.channel.set_aside()
        except UnwritableError:
            return self._wait_for_room()
        return True

    def _wait_for_room(self) -> bool:
        """Tell the participant that nothing can be saved, and wait until the disk takes something
        again; false where the page goes away before that.

        Nothing that it has told is acknowledged meanwhile, so the page keeps it.
        """
        title, (text,) = self._words("no_room")
        self.channel.hold(title, text)
        try:
            while True:
                self.channel.pause(_ROOM_S)
                try:
                    check_room(self._offer.data)
                    self.channel.set_aside()
                    return True
                except UnwritableError:
                    continue
        except PageGone as error:
            self._say(f"{self.participant}: {error}")
            return False

    def _words(self, key: str) -> tuple[str, tuple[str, ...]]:
        return sentence(f"online.{key}_title", self._language), (sentence(f"online.{key}", self._language),)

    # -- the host of the session -------------------------------------------------------------------

    def seat(self, palette: PaletteName, language: str) -> WindowAgent:
        """Somebody at the page."""
        self._language = language
        self._agent = self._seat(self.channel, self._frames, lambda: self.screen, palette)
        return self._agent

    def ask(self, title: str, questions: Iterable[Question], wrong: Mapping[str, str]) -> Mapping[str, str]:
        """Ask questions about the participant, and give what is typed."""
        content: dict[str, Any] = {
            "title": title,
            "questions": [
                {name: getattr(question, name) for name in ("name", "label", "value", "required", "hint")}
                | {"choices": [*question.choices.items()]}
                for question in questions
            ],
            "wrong": dict(wrong),
            "language": self._language,
            "words": words(self._language),
            "colours": COLOURS_OF_PAGES,
        }
        typed = self.channel.wait(self.channel.command("form", content), "form").get("typed")
        if not isinstance(typed, dict):
            return {}
        return {name: value for name, value in typed.items() if isinstance(name, str) and isinstance(value, str)}  # pyright: ignore[reportUnknownVariableType]

    def calibrate(self, what: Sequence[str], canvas_deg: float | None, language: str) -> None:
        """Have the participant measure the screen with a card, and the distance of the eyes by the
        blind spot."""
        self._language = language
        content = {
            "measures": list(what),
            "title": sentence("calibration.title", language),
            "calibration": calibration_words(language),
        }
        command = self.channel.command(
            "calibrate", {**content, "language": language, "words": words(language), "colours": COLOURS_OF_PAGES}
        )
        self._calibration = read_calibration(self.channel.wait(command, "calibrated"), canvas_deg)

    def recorded_in(self, folder: Path) -> None:
        """The folder of the record, from now on; what came before anybody knew it is kept there."""
        with self._keeping:
            self._folder = folder
        self._keep_early()

    def _keep_early(self) -> None:
        while self._early:
            if self._folder is not None:
                self._keep(self._early[0])
            self.channel.acknowledge(self._early.pop(0))

    def turned_away(self) -> None:
        """There is no place for the participant."""
        self._turn_away()

    def _keep(self, event: PageEvent) -> bool:
        """Keep what came too late to count beside the record; false where nobody knows yet where
        that is."""
        if event.kind not in ("step", "end", "cut"):
            return True
        with self._keeping:
            if self._folder is None:
                if all(event.name != other.name for other in self._early):
                    self._early.append(event)
                return False
            file = self._folder / UNFINISHED
            if file.exists() and file.stat().st_size > _MOST_UNFINISHED:
                raise TooMuchError(f"{file} contains more than a page can have reported")
            append_line(file, {"at": utc_now(), "epoch": event.epoch, **event.as_json()})
        return True


class Notices:
    """Sentences for whoever has started the server.

    Parameters
    ----------
    write : shows them
    """

    def __init__(self, write: Callable[[str], None]) -> None:
        #: the last ones, with the time (seconds since the epoch)
        self.last: deque[tuple[float, str]] = deque(maxlen=50)
        self._write = write
        self._once: set[str] = set()

    def say(self, text: str) -> None:
        """Say something."""
        self.last.append((time.time(), text))
        self._write(text)

    def say_once(self, text: str) -> None:
        """Say something that was not said before."""
        if text not in self._once:
            self._once.add(text)
            if len(self._once) <= _MOST_SAID:
                self.say(text)


class VisitDesk:
    """Everybody who visits.

    Parameters
    ----------
    offer : what there is to take part in
    say : takes sentences for whoever has started the server
    most : visits at the same time
    most_new : new visits in a minute; ten times as many as there may be at the same time if not
        given
    patience_s : for how long a session waits for a page that is gone
    clock : the server's own clock (s), by which the times of pages are judged
    frames : the server's frames; drawn in this process if not given
    neighbours : the other workers of the server; there are none if not given
    """

    def __init__(
        self,
        offer: Offer,
        say: Callable[[str], None],
        seat: Seat = BrowserParticipant,
        most: int = 60,
        most_new: int | None = None,
        patience_s: float = 600.0,
        clock: Callable[[], float] = time.monotonic,
        frames: FrameStore | None = None,
        neighbours: Neighbours | None = None,
    ) -> None:
        self.offer = offer
        #: the sentences for whoever has started the server
        self.notices = Notices(say)
        #: people who were told that there is no place for them, since the server was started
        self.turned_away = 0
        self.most = most
        self.admission = Admission(most, most_new, clock=clock)
        self._seat, self._patience = seat, patience_s
        self._frames = frames or FrameStore()
        self._clock = clock
        self._lock = threading.Lock()
        #: of sessions that work
        self.turns = Turns(_AT_WORK)
        self._visits: dict[str, Visit] = {}
        self._over = threading.Event()
        self.neighbours = neighbours or Neighbours(*offer.exchange)
        if neighbours is not None:
            threading.Thread(target=self._exchange, name="neighbours", daemon=True).start()

    def _exchange(self) -> None:
        """Tell the other workers who visits here, and listen to them."""
        while not self._over.wait(_EXCHANGE_S):
            with suppress(SpanLabError):  # the disk is full: they hear of it later
                self.neighbours.exchange(self._present(), self.turned_away, [*self.notices.last])

    def _turned_away(self) -> None:
        with self._lock:
            self.turned_away += 1

    def present(self) -> dict[str, Presence]:
        """Return who visits now, by identifier: here, and at other workers."""
        return self.neighbours.present | self._present()

    def _present(self) -> dict[str, Presence]:
        with self._lock:
            visits = {name: visit for name, visit in self._visits.items() if not visit.over or visit.channel.in_use}
        return {name: visit.presence for name, visit in visits.items()}

    def start(self) -> dict[str, Any]:
        """Return what a page needs before it connects."""
        language = self.offer.language
        return {
            "title": self.offer.title,
            "language": language,
            "words": words(language),
            "colours": COLOURS_OF_PAGES,
            **self.offer.wanted,
        }

    def join(self, hello: Hello, send: Send, address: str = "") -> Visit | Refusal:
        """Connect a page with the visit of its participant, which begins if there is none.

        Parameters
        ----------
        address : of the browser; empty where nobody knows it
        """

        def refusal(key: str, title: str = "refused_title", final: bool = False) -> Refusal:
            self.notices.say_once(f"{hello.participant} was not let in: {sentence(f'online.{key}', 'en')}")
            return Refusal(
                sentence(f"online.{title}", self.offer.language), sentence(f"online.{key}", self.offer.language), final
            )

        if whose(hello.participant, self.neighbours.workers) != self.neighbours.number:
            return refusal("refused", final=True)  # no page of ours comes here
        screen = hello.screen.screen()
        if screen.small and not self.offer.phones:
            return refusal("phone", "phone_title", final=True)
        if not self.offer.admits(hello.participant, hello.link):
            return refusal("refused", final=True)
        with self._lock:
            visit = self._visits.get(hello.participant)
            if visit is not None and visit.channel.in_use and not visit.channel.belongs_to(hello.instance):
                return refusal("elsewhere", "elsewhere_title")
            if visit is not None and not visit.may_join():
                return refusal("often", "no_room_title")
            elsewhere = visit is not None and not visit.over and not visit.is_for(hello.session)
            if visit is None or elsewhere or visit.released or (visit.over and hello.epoch != visit.channel.epoch):
                self._visits = {
                    name: other for name, other in self._visits.items() if not other.over or other.channel.in_use
                }
                others = [other for other in self._visits.values() if other is not visit]
                elsewhere = [one.address for one in self.neighbours.present.values() if one.confirmed]
                if not self.admission.has_room(others, address, elsewhere):
                    return refusal("full", "no_room_title")
                if visit is not None:
                    visit.channel.close("the link of another session was opened")  # it would wait for its page
                visit = Visit(
                    self.offer,
                    hello,
                    self._frames,
                    self._seat,
                    self.notices.say,
                    self._patience,
                    self._turned_away,
                    visit,
                    self._clock,
                    address,
                    self.turns,
                    self.neighbours.number,
                )
                self._visits[hello.participant] = visit
            visit.shows_on(screen)
            send({"type": "welcome", "epoch": visit.channel.epoch, "secret": visit.secret})
            visit.channel.attach(send, hello.instance, hello.last if hello.epoch == visit.channel.epoch else 0)
            if visit.thread.ident is None:
                visit.thread.start()
        return visit

    def picture(self, secret: str, name: str) -> Future[bytes] | None:
        """A picture that the visit with this secret shows now, as soon as it is drawn."""
        with self._lock:
            visit = next(
                (one for one in self._visits.values() if secrets.compare_digest(one.secret.encode(), secret.encode())),
                None,
            )
        return None if visit is None else visit.picture(name)

    def close(self) -> None:
        """End all sessions: each is recorded up to its last finished trial, and can be resumed."""
        self._over.set()
        with self._lock:
            visits = list(self._visits.values())
        for visit in visits:
            visit.channel.close("the server stopped")
        until = time.monotonic() + _FAREWELL_S
        for visit in visits:
            if visit.thread.ident is not None:
                visit.thread.join(max(0.0, until - time.monotonic()))
